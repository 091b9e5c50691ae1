"""JSON lines: one group a line, with its source, references and candidates.

``{"id": 0, "source": "...", "references": ["..."], "candidates": [{"text": "...",
"features": {"lm": -1.5}, "metrics": {"comet": 0.8}}]}``

Lines with one candidate each are read by :mod:`tunesmith.io.tables.json_rows`.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import EVERYTHING, FORMATS, CandidateFormat
from tunesmith.io.lists.evaluation.lm_eval import LmEvalFormat
from tunesmith.io.lists.evaluation.mbrs import MbrsFormat
from tunesmith.io.lists.evaluation.openai import OpenAiFormat
from tunesmith.io.lists.json_groups import groups_of
from tunesmith.io.lists.speech.nemo_manifest import NemoManifestFormat
from tunesmith.io.missing import REMEDY, Missing
from tunesmith.io.streams import Source
from tunesmith.io.tables.json_rows import add_rows
from tunesmith.io.text.json_lines import json_lines
from tunesmith.io.text.tokens import tokenize_kept
from tunesmith.parallel.local import ahead

#: Formats whose lines are objects of certain keys.
OTHERS = (LmEvalFormat, MbrsFormat, NemoManifestFormat, OpenAiFormat)
#: The greatest number; NaN is neither above nor below its negative.
LARGEST = sys.float_info.max


@FORMATS.register("jsonl")
class JsonLinesFormat(CandidateFormat):
    """JSON lines, one group or one candidate per line; groups are written."""

    suffixes = (".jsonl",)
    holds = EVERYTHING

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the text begins with an object, and not with another format's."""
        is_object = head.lstrip().startswith(b"{")
        return is_object and not any(other.recognises(head) for other in OTHERS)

    def read(self, source: Source, collector: Collector) -> None:
        """Add all candidates to the collector."""
        lines = json_lines(source)
        for some in lines:
            first = next(some.objects(), None)
            if first is not None:
                break
        else:
            raise FormatError(
                source.name, None, "there is no group in it", "give one JSON object per line"
            )
        every = itertools.chain([some], lines)
        if "candidates" not in first[1]:
            add_rows(every, source.name, collector)
            return
        for lines_read, groups in ahead(groups_of, every):
            if groups is not None:
                groups.add_to(collector, source.name)
                continue
            for number, group in lines_read.objects():
                _Group(group, source.name, number).add_to(collector)

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Write groups, with the candidates of each in the order given."""
        features = candidates.features
        by_row = features.sparse.tocsr()
        ordered = iter(order)
        for g, name in enumerate(candidates.ids):
            entries = []
            for _ in range(candidates.start[g], candidates.start[g + 1]):
                i = next(ordered)
                lo, hi = by_row.indptr[i], by_row.indptr[i + 1]
                values = dict(zip(features.dense_names, features.dense[:, i].tolist(), strict=True))
                for k in range(lo, hi):
                    values[features.sparse_names[by_row.indices[k]]] = float(by_row.data[k])
                entry: dict[str, Any] = {"text": candidates.original(i), "features": values}
                if not math.isnan(scores[i]):
                    entry["score"] = float(scores[i])
                if candidates.columns:
                    entry["metrics"] = {n: float(c[i]) for n, c in candidates.columns.items()}
                entries.append(entry)
            group: dict[str, Any] = {"id": name}
            if candidates.sources is not None:
                group["source"] = candidates.sources[g]
            if candidates.references is not None:
                group["references"] = candidates.reference_texts(g)
            group["candidates"] = entries
            yield json.dumps(group, ensure_ascii=False)


class _Group:
    """One line."""

    def __init__(self, group: dict[str, Any], path: str, number: int) -> None:
        self.group = group
        self.path = path
        self.number = number

    def _error(self, problem: str, remedy: str) -> FormatError:
        return FormatError(self.path, self.number, problem, remedy)

    def add_to(self, collector: Collector) -> None:
        """Hand the group over."""
        group_id = self._id()
        candidates = self._list("candidates", self.group.get("candidates"), dict)
        if not candidates:
            raise self._error(f"group '{group_id}' has no candidates", "leave such groups out")
        came = [self._text(c.get("text", "")) for c in candidates]
        texts, originals = tokenize_kept(came, collector.vocabulary)
        rows, columns, values, missing = self._features(candidates, collector)
        group = collector.groups([group_id])
        nonzero = values != 0
        collector.add_piece(
            Piece(
                np.repeat(group, len(candidates)),
                texts,
                np.zeros(0, np.int64),
                np.zeros((0, len(candidates))),
                rows[nonzero],
                columns[nonzero],
                values[nonzero],
                *np.unique(columns, return_counts=True),
                self._metrics(candidates, collector),
                f"{self.path}:{self.number}",
                originals,
                missing,
                _totals(candidates) if collector.keep_rows else None,
            )
        )
        collector.note_place(group_id, (self.path, self.number))
        references = self.group.get("references")
        if references is not None:
            reference_texts = self._list("references", references, str)
            if not reference_texts:
                raise self._error("'references' is empty", "give one at least, or leave it out")
            collector.add_reference_texts(group_id, reference_texts, (self.path, self.number))
        if "source" in self.group:
            self._text(self.group["source"])
            collector.add_source(group_id, self.group["source"])

    def _id(self) -> GroupId:
        group_id = self.group.get("id")
        if isinstance(group_id, bool) or not isinstance(group_id, int | str):
            raise self._error("the group has no id", "give a number or text as 'id'")
        if isinstance(group_id, str):
            self._check_characters(group_id)
        return group_id

    def _list(self, key: str, value: object, kind: type[Any]) -> list[Any]:
        if not isinstance(value, list) or not all(isinstance(x, kind) for x in value):
            contents = "objects" if kind is dict else "texts"
            raise self._error(f"'{key}' is not a list of {contents}", f"give a list of {contents}")
        return value

    def _text(self, text: object) -> str:
        if not isinstance(text, str):
            raise self._error(f"a text is {json.dumps(text)}", "put texts in quotes")
        self._check_characters(text)
        return text

    def _check_characters(self, text: str) -> None:
        if "\0" in text:
            raise self._error("a text holds a NUL character", "write text alone")
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                problem = "a text or name holds half of a surrogate pair"
                raise self._error(problem, "write valid Unicode") from None

    def _features(
        self, candidates: list[Any], collector: Collector
    ) -> tuple[Any, Any, Any, dict[int, Ints]]:
        gaps = collector.reading.gaps
        by_candidate = [self._numbers("features", c.get("features"), gaps) for c in candidates]
        names = list(dict.fromkeys(name for m in by_candidate for name in m))
        names = list(filter(collector.reading.is_feature, names))
        self._check_characters("".join(names))
        column = dict(zip(names, collector.columns(names).tolist(), strict=True))
        known = set(names)
        lacking: dict[int, list[int]] = {}
        maps: list[dict[str, float]] = []
        for row, numbers in enumerate(by_candidate):
            maps.append({n: v for n, v in numbers.items() if n in known and v is not None})
            for name, value in numbers.items():
                if value is None and name in known and gaps.of(name) != "zero":
                    lacking.setdefault(column[name], []).append(row)
        rows = np.repeat(np.arange(len(maps)), [len(m) for m in maps])
        columns = np.array([column[name] for m in maps for name in m], np.int64)
        values = np.array([v for m in maps for v in m.values()], np.float64)
        missing = {c: np.array(lacking_rows, np.int64) for c, lacking_rows in lacking.items()}
        return rows, columns, values, missing

    def _metrics(self, candidates: list[Any], collector: Collector) -> dict[str, Any]:
        gaps = collector.reading.gaps
        maps = [self._numbers("metrics", c.get("metrics", {}), gaps) for c in candidates]
        for m in maps:
            if m.keys() != maps[0].keys():
                raise self._error(
                    "the candidates have different metrics", "give all candidates the same ones"
                )
        self._check_characters("".join(maps[0]))
        return {name: np.array([m[name] for m in maps], np.float64) for name in maps[0]}

    def _numbers(self, key: str, values: object, gaps: Missing) -> dict[str, float | None]:
        """Return numbers by name, None where one may be missing."""
        if not isinstance(values, dict):
            raise self._error(f"a candidate has no '{key}'", f'give "{key}": {{"name": number}}')
        for name, value in values.items():
            if value is None or value != value:  # noqa: PLR0124
                if gaps.of(name) != "error":
                    values[name] = None
                    continue
                if value is None:
                    raise self._error(f"'{name}' in '{key}' is missing", REMEDY)
            if isinstance(value, bool) or not isinstance(value, int | float):
                problem = f"'{name}' in '{key}' is {json.dumps(value)}, not a number"
                raise self._error(problem, "give a number")
            if not -LARGEST <= value <= LARGEST:
                problem = f"'{name}' in '{key}' is {_short(value)}, which is not finite"
                raise self._error(problem, "give finite numbers or drop the candidate")
        return values


def _totals(candidates: list[Any]) -> Floats:
    """Return the scores of candidates, NaN where there is none."""
    scores = [c.get("score") for c in candidates]
    is_score = [isinstance(s, int | float) and -LARGEST <= s <= LARGEST for s in scores]
    return np.array([s if ok else math.nan for s, ok in zip(scores, is_score, strict=True)], float)


def _short(value: float) -> str:
    return str(value) if isinstance(value, float) else "a whole number beyond 1e308"
