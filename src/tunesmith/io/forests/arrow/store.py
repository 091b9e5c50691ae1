"""Forests on disk, read in blocks by any number of threads.

They are read, not mapped: what has been read does not stay in memory, and a set may be far larger
than it. Everything in the file is checked before a kernel sees it, each time that it is read.
"""

from __future__ import annotations

import itertools
import os
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Flags, Floats, Ids, Ints
from tunesmith.data.candidates import FileDigest, GroupId, References, pack_texts
from tunesmith.data.forests import Block, ForestArrays, Forests
from tunesmith.data.raw_forest import MOST_TAILS, names_each_tail_once
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError
from tunesmith.io.forests.arrow.layout import (
    COUNTS_KEY,
    NUMBERS,
    SCHEMA,
    SCHEMA_KEY,
    Layout,
    Opened,
    forest_schema,
    layout_of,
)
from tunesmith.io.tables.arrow import arrow
from tunesmith.io.tables.arrow_types import first_line
from tunesmith.kernels import kernel

#: What a reader of damaged files may run into.
DAMAGE = (ValueError, LookupError, OverflowError, struct.error, OSError)

FINE, WRONG_SIZES, WRONG_TAILS, WRONG_WORDS, WRONG_FEATURES, WRONG_NUMBERS = range(6)
PROBLEMS = {
    WRONG_SIZES: "its arrays do not fit together",
    WRONG_TAILS: "its nodes are not in order",
    WRONG_WORDS: "its target sides do not fit together",
    WRONG_FEATURES: "its features do not fit together",
    WRONG_NUMBERS: "a number is not finite",
}


@dataclass(frozen=True, repr=False, eq=False)
class StoredForests(Forests):
    """Forests on disk; see :class:`tunesmith.data.forests.Forests`.

    Attributes
    ----------
    file, layout
        Where they are.
    rows : int64[S]
        The row of each forest in the file.
    counts
        How many statistics each hyperedge has.
    name
        What errors call the file.
    """

    ids: tuple[GroupId, ...]
    edges: Ints
    names: tuple[str, ...]
    vocabulary: tuple[str, ...]
    references: References | None
    sources: tuple[str, ...] | None
    files: tuple[FileDigest, ...]
    file: Opened = field(repr=False)
    layout: Layout = field(repr=False)
    rows: Ints = field(repr=False)
    counts: int = 0
    name: str = "temporary file"

    @property
    def bytes_per_edge(self) -> float:
        """What a hyperedge takes in memory, on average."""
        size = {name: int(sizes.sum()) for name, sizes in self.layout.size.items()}
        # Offsets have 64 bits in memory.
        wide = 8 * (size["node_edges"] + 3 * size["edge_tails"])
        arrays = ("covered", "tails", "feature_ids", "feature_values", "words", "counts")
        whole = wide + sum(size[name] * NUMBERS[name].itemsize for name in arrays)
        return whole / max(1, size["edge_tails"])

    def block(self, first: int, last: int) -> Block:
        """Read some of the forests; whatever the file says of them is checked."""
        try:
            arrays = _read(self.file, self.layout, self.rows[first:last], self.counts)
            code = _check(*arrays, len(self.names), len(self.vocabulary))
            if code != FINE:
                raise ValueError(PROBLEMS[code])
        except DAMAGE as error:
            raise damaged(self.name, error) from None
        return Block(arrays, 0, last - first)


def damaged(name: str, error: Exception) -> FormatError:
    """Say that one of our files is not as we wrote it."""
    problem = f"the Arrow data are damaged ({first_line(error)})"
    return FormatError(name, None, problem, "write the file again")


def _read(file: Opened, layout: Layout, rows: Ints, counts: int) -> ForestArrays:
    """Read the arrays of some rows and put them one after the other."""
    size = {name: layout.size[name][rows] for name in NUMBERS}
    values = {
        name: _values(file, layout.begin[name][rows], size[name], kind)
        for name, kind in NUMBERS.items()
    }
    edges = size["edge_tails"]
    fit = (
        (size["node_edges"] > 0).all()
        and (size["covered"] == size["node_edges"]).all()
        and (size["edge_features"] == edges).all()
        and (size["edge_words"] == edges).all()
        and (size["feature_ids"] == size["feature_values"]).all()
        and (size["counts"] == edges * counts).all()
    )
    totals = {
        "node_edges": edges,
        "edge_tails": size["tails"],
        "edge_features": size["feature_ids"],
        "edge_words": size["words"],
    }
    starts = {}
    for name, total in totals.items():
        counted = values.pop(name)
        starts[name] = start = offsets(counted)
        # What a row's sizes add up to is what the row has.
        added = np.diff(start[offsets(size[name])])
        fit = fit and not (counted < 0).any() and (added == total).all()
    if not fit:
        raise ValueError(PROBLEMS[WRONG_SIZES])
    return ForestArrays(
        offsets(size["node_edges"]),
        starts["node_edges"],
        starts["edge_tails"],
        values["tails"],
        starts["edge_features"],
        values["feature_ids"],
        values["feature_values"],
        starts["edge_words"],
        values["words"],
        values["covered"],
        values["counts"].reshape(int(edges.sum()), counts),
    )


def _values(file: Opened, begin: Ints, size: Ints, kind: np.dtype[Any]) -> NDArray[Any]:
    """Read the lists that begin at some bytes; those that follow one another at once."""
    values = np.empty(int(size.sum()), kind)
    place = offsets(size)
    jumps = np.flatnonzero(begin[1:] != begin[:-1] + size[:-1] * kind.itemsize) + 1
    for lo, hi in itertools.pairwise([0, *jumps.tolist(), len(begin)]):
        if lo < hi:
            file.read_into(values[place[lo] : place[hi]], int(begin[lo]))
    return values


@kernel
def _check(
    node_start: Ints,
    edge_start: Ints,
    tail_start: Ints,
    tails: Ids,
    feature_start: Ints,
    feature_ids: Ids,
    feature_values: Floats,
    word_start: Ints,
    words: Ids,
    covered: Ids,
    counts: Floats,
    names: int,
    vocabulary: int,
) -> int:
    """Return what is wrong with forests whose arrays have the right sizes.

    Every node has a hyperedge, and its tails come before it: so it has a derivation. Every node
    but the last is a tail: so it is in a derivation of the goal.
    """
    for s in range(node_start.shape[0] - 1):
        first, nodes = node_start[s], node_start[s + 1] - node_start[s]
        used = np.zeros(nodes, np.bool_)
        for n in range(nodes):
            lo, hi = edge_start[first + n], edge_start[first + n + 1]
            if lo == hi or covered[first + n] < -1:
                return WRONG_SIZES
            for e in range(lo, hi):
                for k in range(tail_start[e], tail_start[e + 1]):
                    if not 0 <= tails[k] < n:
                        return WRONG_TAILS
                    used[tails[k]] = True
        for n in range(nodes - 1):
            if not used[n]:
                return WRONG_TAILS
    code = _check_sides(tail_start, word_start, words, vocabulary)
    if code != FINE:
        return code
    for e in range(feature_start.shape[0] - 1):
        before = -1
        for k in range(feature_start[e], feature_start[e + 1]):
            if not before < feature_ids[k] < names:
                return WRONG_FEATURES
            before = feature_ids[k]
    for k in range(feature_values.shape[0]):
        if not np.isfinite(feature_values[k]):
            return WRONG_NUMBERS
    for e in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            if not np.isfinite(counts[e, k]):
                return WRONG_NUMBERS
    return FINE


@kernel
def _check_sides(tail_start: Ints, word_start: Ints, words: Ids, vocabulary: int) -> int:
    """Return whether target sides name each tail once, and words that there are."""
    used: Flags = np.zeros(MOST_TAILS, np.bool_)
    for e in range(tail_start.shape[0] - 1):
        arity = tail_start[e + 1] - tail_start[e]
        if arity > MOST_TAILS:
            return WRONG_WORDS
        if not names_each_tail_once(words, word_start[e], word_start[e + 1], arity, used):
            return WRONG_WORDS
    for k in range(words.shape[0]):
        if words[k] >= vocabulary:
            return WRONG_WORDS
    return FINE


def open_forests(descriptor: int, name: str, files: tuple[FileDigest, ...] = ()) -> StoredForests:
    """Open a file of our own; the descriptor is closed with the set."""
    file = Opened(descriptor, name)
    pa = arrow()
    try:
        with os.fdopen(os.dup(descriptor), "rb") as again:
            schema = pa.ipc.open_file(pa.PythonFile(again)).schema
        metadata = schema.metadata or {}
        text = metadata.get(COUNTS_KEY, b"").decode()
        counts = int(text) if text.isdigit() and len(text) < 5 else -1
        if metadata.get(SCHEMA_KEY) != SCHEMA or counts < 0:
            raise ValueError("these are no forests of ours")
        if not schema.equals(forest_schema(pa, counts)):
            raise ValueError("its columns are not those of forests")
        return _stored(file, layout_of(file), counts, name, files)
    except (pa.ArrowException, *DAMAGE) as error:
        raise damaged(name, error) from None


def _stored(
    file: Opened, layout: Layout, counts: int, name: str, files: tuple[FileDigest, ...]
) -> StoredForests:
    """Put the set together; its arrays are checked when they are read."""
    names = tuple(text for row in layout.texts["new_names"] for text in row)
    words = tuple(text for row in layout.texts["new_words"] for text in row)
    ids = tuple(map(_id, layout.ids, layout.id_is_number))
    if not ids:
        raise ValueError("there is no forest in it")
    if any(len(set(texts)) != len(texts) for texts in (names, words, ids)):
        raise ValueError("a name, a word or an id comes twice")
    if " ".join(words).split() != list(words):
        raise ValueError("a word has white space in it")
    sources = layout.texts["source"]
    if any(len(row_sources) > 1 for row_sources in sources):
        raise ValueError("a forest has two sources")
    references = _held_references(layout.references, len(words))
    return StoredForests(
        ids,
        layout.size["edge_tails"],
        names,
        words,
        references,
        tuple(row_sources[0] for row_sources in sources) if all(sources) else None,
        files,
        file,
        layout,
        np.arange(len(ids)),
        counts,
        name,
    )


def _id(text: str, is_number: int) -> GroupId:
    if not is_number:
        return text
    if not text.removeprefix("-").isdecimal() or str(int(text)) != text:
        raise ValueError("an id is no number")
    return int(text)


def _held_references(rows: list[list[Ids]], words: int) -> References | None:
    if not any(rows):
        return None
    if not all(rows):
        raise ValueError("some forests have references and others have none")
    texts = pack_texts([text for row in rows for text in row])
    if len(texts.ids) and not 0 <= int(texts.ids.min()) <= int(texts.ids.max()) < words:
        raise ValueError("a word is not there")
    return References(offsets([len(row) for row in rows]), texts)
