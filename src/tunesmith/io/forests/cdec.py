"""cdec's forests, one per line, as JSON.

A line is an object with ``id``, ``features`` (names), ``nodes`` (categories, in topological order,
the goal last) and ``edges``: ``head``, ``tails``, ``e`` (words; ``[k]`` is the k-th tail, from 0),
``span`` (which words of the source the head covers) and ``feats`` (index, value, index, value
...). ``source``, ``references`` and ``covered`` (how many words each node covers, instead of
spans) are written where they are known, and read. Without ``id`` it is the number of lines before.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Ids, Ints
from tunesmith.data.candidates import GroupId
from tunesmith.data.forests import ForestArrays, Forests, cut
from tunesmith.data.raw_forest import RawForest
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError
from tunesmith.io.forests.base import FOREST_FORMATS, ForestFormat, Numbering
from tunesmith.io.forests.cdec_kernels import read_edges
from tunesmith.io.streams import Source, writing
from tunesmith.io.text.tokens import Interner

EDGES = re.compile(r'"edges"\s*:\s*\[')
#: Half of a surrogate pair, which may have its other half beside it.
HALF = re.compile(r"\\u[dD][89a-fA-F]")
#: What wrong JSON may raise where right JSON is taken for granted.
WRONG = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError)


class ForestFaultError(ValueError):
    """What is wrong with a forest, said in full."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(problem)


@FOREST_FORMATS.register("cdec-forest")
class CdecForests(ForestFormat):
    """cdec's forests as JSON lines."""

    suffixes = (".jsonl",)
    holds = frozenset({"references", "sources"})

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line that is not empty is an object with nodes."""
        line = head.lstrip().partition(b"\n")[0]
        return line.startswith(b"{") and b'"nodes"' in line

    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield one forest per line."""
        quick = _Quick(names, words)
        for line, text in source.lines():
            forest = None if HALF.search(text) else quick.forest(text, line)
            if forest is not None:
                yield forest
                continue
            record = parsed(text, source.name, line)
            try:
                yield _forest(record, line, names, words)
            except WRONG as error:
                fault = error if isinstance(error, ForestFaultError) else _fault(record)
                raise FormatError(source.name, line, fault.problem, fault.remedy) from None

    def write(self, forests: Forests, path: str | os.PathLike[str]) -> None:
        """Write one forest per line; the first line has the names of all features."""
        words = [_written(word) for word in forests.vocabulary]
        with writing(path) as file:
            for s in range(forests.groups):
                file.write(_line(forests, s, words).encode() + b"\n")


def parsed(text: str, name: str, line: int | None, pairs: Any = None) -> Any:
    """Return what JSON stands for; an error names the file and the line."""
    try:
        value = json.loads(text, object_pairs_hook=pairs)
        if HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        problem = "a text holds half of a surrogate pair"
        raise FormatError(name, line, problem, "write valid Unicode") from None
    except json.JSONDecodeError as error:
        problem = f"this is no complete JSON ({error.msg.lower()})"
        raise FormatError(name, line, problem, "write or copy the file again") from None
    except RecursionError:
        problem = "the JSON is nested too deeply"
        raise FormatError(name, line, problem, "write or copy the file again") from None
    except ValueError:
        # Python's limit against numbers that take long to read.
        problem = f"a number has more than {sys.get_int_max_str_digits()} digits"
        raise FormatError(name, line, problem, "give a shorter one") from None
    return value


class _Quick:
    """Reads what is plain with kernels; all else is for :func:`_forest`, which takes longer."""

    def __init__(self, names: Numbering, words: Numbering) -> None:
        self._names, self._words = names, words
        self._interner = Interner()
        self._ids = np.zeros(0, np.int32)

    def forest(self, text: str, line: int) -> RawForest | None:
        """Return the forest of a line, None if it is not plain or wrong."""
        # No text has this in it: there its quotes have a backslash before them.
        mark = EDGES.search(text)
        if mark is None:
            return None
        data = text.encode()
        begin = len(text[: mark.end()].encode())
        result = read_edges(data, begin, self._interner)
        if result is None:
            return None
        edges, end = result
        try:
            record = json.loads(data[:begin] + data[end - 1 :])
            if record["edges"] != []:
                return None
            feature_names = texts(record["features"])
            nodes = len(_a_list(record["nodes"]))
            if len(edges.places) and edges.places.max() >= len(feature_names):
                return None
            # Only now: a line that is read again must not have left any numbers behind.
            new = self._interner.words(len(self._ids))
            self._ids = np.append(self._ids, [self._words[word] for word in new]).astype(np.int32)
            numbers = np.array([self._names[name] for name in feature_names], np.int32)
            is_word = edges.words >= 0  # there may be none yet
            edges.words[is_word] = self._ids[edges.words[is_word]]
            return RawForest(
                record_id(record.get("id", line - 1)),
                nodes,
                nodes - 1,
                edges.heads,
                edges.ends[:, 0].copy(),
                edges.tails,
                edges.ends[:, 1].copy(),
                numbers[edges.places],
                edges.values,
                edges.ends[:, 2].copy(),
                edges.words,
                _covered(record, edges.heads, nodes, edges.covered),
                line=line,
                source=_source(record),
                references=_references(record, self._words),
            )
        except (*WRONG, RecursionError):
            return None


def _forest(record: dict[str, Any], line: int, names: Numbering, words: Numbering) -> RawForest:
    edges = record["edges"]
    nodes = len(_a_list(record["nodes"]))
    heads = whole([edge["head"] for edge in edges])
    tails = [edge["tails"] for edge in edges]
    feats = [edge["feats"] for edge in edges]
    flat = list(chain.from_iterable(feats))
    feature_ids = np.array([names[text] for text in texts(record["features"])], np.int32)
    places = whole(flat[::2])
    if len(places) and not 0 <= places.min() <= places.max() < len(feature_ids):
        raise ValueError
    sizes = [len(_a_list(f)) for f in feats]
    if any(size % 2 for size in sizes):
        raise ValueError
    lengths, ids = _sides([edge["e"] for edge in edges], words)
    return RawForest(
        record_id(record.get("id", line - 1)),
        nodes,
        nodes - 1,
        heads,
        offsets([len(_a_list(t)) for t in tails]),
        whole(list(chain.from_iterable(tails))),
        offsets(sizes) // 2,
        feature_ids[places],
        numbers(flat[1::2]),
        offsets(lengths),
        ids,
        _covered(record, heads, nodes, _spans(edges)),
        line=line,
        source=_source(record),
        references=_references(record, words),
    )


def _sides(sides: list[list[Any]], words: Numbering) -> tuple[list[int], Ids]:
    """Return lengths and ids of target sides."""
    flat = list(chain.from_iterable(sides))
    slots = whole([slot for part in flat if type(part) is list for slot in part])
    if len(slots) and not 0 <= slots.min() <= slots.max() < 1 << 30:
        raise ValueError
    if any(type(part) is list and len(part) != 1 for part in flat):
        raise ValueError
    plain = texts([part for part in flat if type(part) is not list])
    if " ".join(plain).split() != plain:
        # A word may hold what is white space for us alone, as a no-break space.
        sides = [
            list(chain.from_iterable(p.split() if type(p) is str else [p] for p in side))
            for side in sides
        ]
        flat = list(chain.from_iterable(sides))
    ids = [words[part] if type(part) is str else -1 - part[0] for part in flat]
    return [len(_a_list(side)) for side in sides], np.array(ids, np.int32)


def _spans(edges: list[dict[str, Any]]) -> Ints:
    """Return how many words each hyperedge covers, -1 where nothing is said."""
    with_span = [k for k, edge in enumerate(edges) if edge.get("span") is not None]
    spans = [_a_list(edges[k]["span"]) for k in with_span]
    if any(len(span) != 2 for span in spans):
        raise ValueError
    bounds = whole(list(chain.from_iterable(spans)))
    lengths = np.full(len(edges), -1, np.int64)
    lengths[with_span] = bounds[1::2] - bounds[::2]
    if (bounds < 0).any() or (bounds >= 1 << 30).any() or (lengths[with_span] < 0).any():
        raise ValueError
    return lengths


def _covered(record: dict[str, Any], heads: Ints, nodes: int, by_edge: Ints) -> Ids:
    """Return how many words each node covers, -1 where nothing is said."""
    covered = np.full(nodes, -1, np.int32)
    if "covered" in record:
        counts = whole(record["covered"])
        if len(counts) != nodes or ((counts < -1) | (counts >= 1 << 30)).any():
            raise ForestFaultError("'covered' is not a number for each node", "give one for each")
        covered[:] = counts
        return covered
    known = (heads >= 0) & (heads < nodes) & (by_edge >= 0)  # what is outside is found later
    covered[heads[known]] = by_edge[known]
    return covered


def _references(record: dict[str, Any], words: Numbering) -> tuple[Ids, ...]:
    lines = texts(record.get("references", []))
    return tuple(np.array(words.split(text), np.int32) for text in lines)


def _source(record: dict[str, Any]) -> str | None:
    source = record.get("source")
    if source is not None and not isinstance(source, str):
        raise ForestFaultError("'source' is no text", "give a text")
    return source


def record_id(value: object) -> GroupId:
    """Return an id as a file has it."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ForestFaultError(
            f"the id {value!r} is neither a number nor a text", "give one of these"
        )
    return value


def _a_list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError
    return value


def whole(values: list[Any]) -> Ints:
    """Return whole numbers; anything else is a TypeError."""
    if not set(map(type, _a_list(values))) <= {int}:
        raise TypeError
    return np.array(values, np.int64)


def numbers(values: list[Any]) -> NDArray[np.float64]:
    """Return numbers; anything else is a TypeError."""
    if not set(map(type, _a_list(values))) <= {int, float}:
        raise TypeError
    return np.array(values, np.float64)


def texts(values: list[Any]) -> list[str]:
    """Return texts; anything else is a TypeError."""
    if not set(map(type, _a_list(values))) <= {str}:
        raise TypeError
    return values


def _fault(record: Any) -> ForestFaultError:
    """Find out what is wrong with a forest."""
    lists = ("features", "nodes", "edges")
    if not isinstance(record, dict) or any(type(record.get(name)) is not list for name in lists):
        return ForestFaultError(
            "this is no object with the lists 'features', 'nodes' and 'edges'", "give them"
        )
    for count, edge in enumerate(record["edges"], 1):
        if not isinstance(edge, dict):
            return ForestFaultError(f"hyperedge {count} is no object", "give an object")
        for name, (right, expected) in _PARTS.items():
            if not right(edge.get(name), len(record["features"])):
                return ForestFaultError(
                    f"'{name}' of hyperedge {count} is not {expected}", f"give {expected}"
                )
    if any(not isinstance(text, str) for text in record["features"]):
        return ForestFaultError("a name among 'features' is no text", "give texts")
    return ForestFaultError(
        "'references' or 'covered' is no list as it should be", "write it again"
    )


def _is_whole(value: object, most: int = 1 << 30) -> bool:
    return type(value) is int and 0 <= value < most


def _are_whole(value: object) -> bool:
    return type(value) is list and all(_is_whole(k) for k in value)


def _is_side(value: object, _: int) -> bool:
    return type(value) is list and all(
        isinstance(part, str) or (_are_whole(part) and len(part) == 1) for part in value
    )


def _are_feats(value: object, features: int) -> bool:
    return (
        type(value) is list
        and len(value) % 2 == 0
        and all(_is_whole(k, features) for k in value[::2])
        and all(type(v) in {int, float} and abs(v) < 1e308 for v in value[1::2])
    )


def _is_span(value: object, _: int) -> bool:
    return value is None or (
        _are_whole(value) and isinstance(value, list) and len(value) == 2 and value[0] <= value[1]
    )


_PARTS: dict[str, tuple[Any, str]] = {
    "head": (lambda found, _: _is_whole(found), "a node's number"),
    "tails": (lambda found, _: _are_whole(found), "a list of nodes' numbers"),
    "e": (_is_side, "a list of words and of tails, as [0]"),
    "feats": (_are_feats, "a list of index, value, index, value ... with indices into 'features'"),
    "span": (_is_span, "where the words begin and end that it covers"),
}


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _line(forests: Forests, s: int, words: list[str]) -> str:
    """Return a forest as it is written; ``words`` are the tokens as JSON."""
    a = cut(forests.block(s, s + 1))
    used: Iterable[int] = range(len(forests.names)) if s == 0 else np.unique(a.feature_ids).tolist()
    place = {k: i for i, k in enumerate(used)}
    nodes = int(a.node_start[1])
    record: dict[str, Any] = {
        "id": forests.ids[s],
        "features": [forests.names[k] for k in place],
        "nodes": ["X"] * (nodes - 1) + ["Goal"],
    }
    if (a.covered >= 0).any():
        record["covered"] = a.covered.tolist()
    if forests.sources is not None:
        record["source"] = forests.sources[s]
    if forests.references is not None:
        span = range(*forests.references.group_start[s : s + 2])
        record["references"] = [forests.join(forests.references.texts[r]) for r in span]
    return f'{_written(record)[:-1]},"edges":[{",".join(_edges(a, place, words))}]}}'


def _edges(a: ForestArrays, place: dict[int, int], words: list[str]) -> Iterator[str]:
    def rows(start: Ints, values: list[str]) -> list[str]:
        return [",".join(values[lo:hi]) for lo, hi in itertools.pairwise(start.tolist())]

    heads = np.repeat(np.arange(int(a.node_start[1])), np.diff(a.edge_start)).tolist()
    sides = [words[w] if w >= 0 else f"[{-1 - w}]" for w in a.words.tolist()]
    # A float as Python prints it is JSON, and reads back as the same.
    pairs = zip(a.feature_ids.tolist(), a.feature_values.tolist(), strict=True)
    feats = [f"{place[k]},{v!r}" for k, v in pairs]
    columns = (
        heads,
        rows(a.tail_start, list(map(str, a.tails.tolist()))),
        rows(a.word_start, sides),
        rows(a.feature_start, feats),
    )
    for head, tails, side, pair_list in zip(*columns, strict=True):
        yield f'{{"head":{head},"tails":[{tails}],"e":[{side}],"feats":[{pair_list}]}}'
