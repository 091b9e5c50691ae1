"""Slow readers of lists; see ``fuzz.files.plain``."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from fuzz.files.plain_text import (
    NUMBER,
    Forbidden,
    Unclear,
    all_lines,
    group_id,
    lines_of,
    number,
    once,
)
from fuzz.files.seeds import Seed

#: The text, the features that are not 0, and the columns of a candidate.
Record = tuple[str, tuple[tuple[str, float], ...], tuple[tuple[str, float], ...]]
Records = dict[int | str, list[Record]]


def record(text: str, features: Mapping[str, float], columns: Mapping[str, float]) -> Record:
    """Return a candidate in a form that can be compared."""
    given = tuple(sorted((name, value) for name, value in features.items() if value != 0.0))
    return " ".join(text.split()), given, tuple(sorted(columns.items()))


def put(records: Records, group: int | str, candidate: Record) -> None:
    """Add a candidate to its group, unless it is there."""
    known = records.setdefault(group, [])
    if candidate not in known:
        known.append(candidate)


def records_of(found: Any) -> Records:
    """Return what a set holds in the same form."""
    records: Records = {}
    names, dense = found.features.dense_names, found.features.dense
    sparse = found.features.sparse.tocsr()
    for g, i in enumerate(found.ids):
        for k in range(found.start[g], found.start[g + 1]):
            features = {name: float(dense[d, k]) for d, name in enumerate(names)}
            for at in range(sparse.indptr[k], sparse.indptr[k + 1]):
                name = found.features.sparse_names[sparse.indices[at]]
                features[name] = float(sparse.data[at])
            columns = {name: float(values[k]) for name, values in found.columns.items()}
            text = " ".join(found.vocabulary[w] for w in found.texts[k])
            records.setdefault(i, []).append(record(text, features, columns))
    return records


def _fields(line: str) -> list[list[str]]:
    """Split a line at tokens that are ``|||``."""
    fields: list[list[str]] = [[]]
    for token in line.split():
        if token == "|||":
            fields.append([])
        else:
            fields[-1].append(token)
    return fields


def bars(seed: Seed, files: Mapping[str, bytes], skipped: int = 0) -> Records:
    """Read what Moses and those who write alike write."""
    records: Records = {}
    widths: dict[str, int] = {}
    for line in lines_of(files[seed.first]):
        fields = _fields(line)
        if len(fields) < 3 + skipped:
            raise Forbidden("a line has too few fields")
        if len(fields[0]) != 1:
            raise Forbidden("a line has no id")
        if re.search(r"[^\S \t\r]", line):
            raise Unclear  # such white space is in names, and between words
        values = _named_values(fields[2 + skipped])
        for name, own in values.items():
            if widths.setdefault(name, len(own)) != len(own):
                raise Forbidden(f"'{name}' has another number of values")
        features: dict[str, float] = {}
        for name, own in values.items():
            for k, value in enumerate(own, 1):
                once(features, name if len(own) == 1 else f"{name}_{k}", value)
        put(records, group_id(fields[0][0]), record(" ".join(fields[1]), features, {}))
    return records


def _named_values(tokens: list[str]) -> dict[str, list[float]]:
    """Read ``Name= value value`` and ``name=value``; values alone have the name ``feature``."""
    if tokens and all("=" not in token for token in tokens):
        return {"feature": [number(token) for token in tokens]}
    found: dict[str, list[float]] = {}
    name = None
    for token in tokens:
        if "=" not in token:
            if name is None and found:
                raise Unclear  # after name=value
            if name is None:
                raise Forbidden(f"'{token[:40]}' stands before any name")
            found[name].append(number(token))
            continue
        name, _, value = token.partition("=")
        if not name or "=" in value:
            raise Unclear
        if name in found:
            raise Forbidden(f"'{name[:40]}' stands twice")
        found[name] = [number(value)] if value else []
        name = None if value else name
    if not all(found.values()):
        raise Forbidden("a name has no value")
    return found


def marian(seed: Seed, files: Mapping[str, bytes]) -> Records:
    """Read Marian's lists without alignments."""
    every = [_fields(line) for line in lines_of(files[seed.first])]
    # What has no names may be an alignment, after which the score is missing.
    if any(len(one) != 4 or not any("=" in token for token in one[2]) for one in every):
        raise Unclear
    return bars(seed, files)


def joshua(seed: Seed, files: Mapping[str, bytes]) -> Records:
    """Read Joshua's lists: either all lines have names, or none."""
    named = {"=" in line for line in lines_of(files[seed.first])}
    if len(named) > 1:
        raise Unclear
    return bars(seed, files)


def named(seed: Seed, files: Mapping[str, bytes]) -> Records:
    """Read lists in which values have names."""
    for line in lines_of(files[seed.first]):
        fields = _fields(line)
        if len(fields) > 2 and fields[2] and all("=" not in token for token in fields[2]):
            raise Forbidden("a value stands before any name")
    return bars(seed, files)


def _per_source(seed: Seed, count: int) -> int:
    """Return how many candidates a source has, of which there are so many in all."""
    size = int(seed.options["format"].partition("=")[2])
    if count % size:
        raise Forbidden("the lines are no multiple")
    return size


def nemo(seed: Seed, files: Mapping[str, bytes]) -> Records:
    """Read text, tab, score."""
    lines = lines_of(files[seed.first])
    if len(lines) < len(all_lines(files[seed.first])):
        raise Unclear
    size = _per_source(seed, len(lines))
    records: Records = {}
    for k, line in enumerate(lines):
        text, tab, value = line.rpartition("\t")
        if not tab:
            raise Forbidden("a line has no tab")
        put(records, k // size, record(text, {"score": number(value.strip())}, {}))
    return records


def parallel(seed: Seed, files: Mapping[str, bytes]) -> Records:
    """Read hypotheses with score files beside."""
    texts = all_lines(files[seed.first])
    size = _per_source(seed, len(texts))
    scores: dict[str, list[float]] = {}
    for name in seed.options["scores"].split():
        lines = all_lines(files[name])
        if not all(line.strip() for line in lines):
            raise Unclear
        if len(lines) != len(texts):
            raise Forbidden("there are more or fewer scores than candidates")
        scores[name.partition(".")[0]] = [number(line.strip()) for line in lines]
    records: Records = {}
    for k, text in enumerate(texts):
        features = {name: values[k] for name, values in scores.items()}
        put(records, k // size, record(text, features, {}))
    return records


def jsonl(seed: Seed, files: Mapping[str, bytes]) -> Records:
    """Read a JSON object a line: a group, or, where the first has no candidates, a candidate."""
    lines = lines_of(files[seed.first])
    if any("\r" in line for line in lines):
        raise Unclear  # it may end a line, too
    objects = [_object(line) for line in lines]
    return _groups(objects) if "candidates" in objects[0] else _rows(objects)


def _groups(objects: list[dict[str, Any]]) -> Records:
    records: Records = {}
    for found in objects:
        group = found.get("id")
        if isinstance(group, bool) or not isinstance(group, int | str):
            raise Forbidden("an id is neither a number nor a text")
        if not isinstance(found.get("candidates"), list) or not found["candidates"]:
            raise Forbidden("a group has no candidates")
        for one in found["candidates"]:
            if not isinstance(one, dict) or not isinstance(one.get("features"), dict):
                raise Forbidden("a candidate has no features")
            text, metrics = one.get("text", ""), one.get("metrics", {})
            if not isinstance(text, str) or not isinstance(metrics, dict):
                raise Unclear
            put(records, group, record(text, _numbers(one["features"]), _numbers(metrics)))
    return records


def _rows(objects: list[dict[str, Any]]) -> Records:
    """Read one candidate per object."""
    records: Records = {}
    _refuse_gaps(objects)
    for found in objects:
        given = {name: value for name, value in found.items() if value is not None}
        for name, value in given.items():
            if isinstance(value, dict) or (isinstance(value, list) and name != "references"):
                raise Forbidden(f"'{name[:40]}' is nested")
        group, text = given.get("id"), given.get("text", "")
        if isinstance(group, bool) or not isinstance(group, int | str):
            raise Unclear if isinstance(group, float) else Forbidden("an id is missing")
        if not isinstance(text, str):
            raise Forbidden("a text is no text")
        special = {"id", "text", "source", "references"}
        values = {
            name: float(value) if isinstance(value, bool) else value
            for name, value in given.items()
            if name not in special and not name.startswith("reference")
        }
        if any(re.match(r"__index_level_|Unnamed:", name) for name in values):
            raise Unclear  # the index of a frame is left out
        columns = {name: v for name, v in values.items() if name.startswith("metrics.")}
        features = {
            name.removeprefix("features."): v
            for name, v in values.items()
            if name not in columns and not isinstance(v, str)
        }
        scores = {name.removeprefix("metrics."): v for name, v in _numbers(columns).items()}
        place = _cell_id(group) if isinstance(group, str) else group
        put(records, place, record(text, _numbers(features), scores))
    return records


def _refuse_gaps(rows: list[dict[str, Any]]) -> None:
    """Refuse null among numbers, and features that only some rows leave out.

    A feature that most rows leave out is sparse, and 0 there.
    """
    given: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            given.setdefault(name, []).append(value)
    for name, values in given.items():
        if name == "id" or not any(isinstance(value, int | float) for value in values):
            continue
        if any(isinstance(value, str) for value in values):
            raise Unclear  # a column of texts is left out
        if None in values or len(rows) / 2 <= len(values) < len(rows):
            raise Forbidden(f"'{name[:40]}' is missing")


def _object(line: str) -> dict[str, Any]:
    """Return a JSON object whose keys all differ."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) < len(found):
            raise Unclear
        return dict(found)

    try:
        found = json.loads(line, object_pairs_hook=pairs)
    except ValueError as error:
        raise Forbidden("a line is no JSON") from error
    if not isinstance(found, dict):
        raise Forbidden("a line is no object")
    return found


def _numbers(found: Mapping[str, Any]) -> dict[str, float]:
    values = {}
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Forbidden(f"'{name[:40]}' is no number")
        try:
            values[name] = float(value)
        except OverflowError as error:
            raise Forbidden(f"'{name[:40]}' is too large") from error
        if not math.isfinite(values[name]):
            raise Forbidden(f"'{name[:40]}' is not finite")
    return values


def table(seed: Seed, files: Mapping[str, bytes], delimiter: str = ",") -> Records:
    """Read one row per candidate; columns that are not all numbers are left out."""
    text = files[seed.first].decode()
    if '"' in text or "\r" in text or "\x00" in text:
        raise Unclear  # quotes are read by the same module there
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    names = rows[0]
    if len(set(names)) < len(names) or any(len(row) != len(names) for row in rows):
        raise Unclear
    special = {"id", "text", "source", "reference", "references"}
    records: Records = {}
    for row in rows[1:]:
        cells = dict(zip(names, row, strict=True))
        features, columns = {}, {}
        for name, cell in cells.items():
            if name in special or name.startswith("reference"):
                continue
            value = cell.strip()
            if name.startswith("metrics."):
                columns[name.removeprefix("metrics.")] = number(value)
            elif value in ("", "true", "false", "True", "False") or not value[-1:].isdigit():
                raise Unclear
            elif NUMBER.fullmatch(value) is None:
                raise Unclear  # a column of texts is left out
            else:
                features[name.removeprefix("features.")] = number(value)
        put(records, _cell_id(cells["id"]), record(cells.get("text", ""), features, columns))
    return records


def _cell_id(text: str) -> int | str:
    if text.isascii() and text.isdigit() and len(text) <= 18 and str(int(text)) == text:
        return int(text)
    if not text or text != text.strip():
        raise Unclear
    return text


def kaldi(seed: Seed, files: Mapping[str, bytes]) -> Records:
    """Read an archive of words, and the files of scores beside it."""
    names = [name for name in files if name not in {seed.first, "text"}]
    scores = {name: _archive(files[name]) for name in names}
    records: Records = {}
    for key, text in _archive(files[seed.first]).items():
        group, dash, place = key.rpartition("-")
        if not dash or not place.isdigit() or not place.isascii():
            raise Unclear
        features = {}
        for name, held in scores.items():
            if key not in held:
                raise Unclear  # it may not be taken for a file of scores
            features[name] = number(held[key].strip())
        put(records, group, record(text, features, {}))
    return records


def _archive(data: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines_of(data):
        parts = line.split(maxsplit=1)
        if parts[0] in found:
            raise Forbidden(f"'{parts[0][:40]}' stands twice")
        found[parts[0]] = parts[1] if len(parts) > 1 else ""
    return found


LISTS: dict[str, Callable[[Seed, Mapping[str, bytes]], Records]] = {
    "moses": named,
    "cdec": named,
    "joshua": joshua,
    "marian": marian,
    "travatar": lambda seed, files: bars(seed, files, 1),
    "nemo": nemo,
    "parallel": parallel,
    "jsonl": jsonl,
    "csv": table,
    "tsv": lambda seed, files: table(seed, files, "\t"),
    "kaldi": kaldi,
}
