"""Small lattices for tests of formats: drawn, as arcs, and all their paths by enumeration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from tests.helpers.forests import derivations, forest_set, vector
from tunesmith.data.candidates import GroupId
from tunesmith.data.forests import ForestArrays, ForestSet, joined
from tunesmith.errors import FormatError
from tunesmith.io.forests.base import FileOrder, ForestFormat, Numbering
from tunesmith.io.streams import Source

#: Words and features of one path; features that are 0 are left out.
Reading = tuple[tuple[str, ...], tuple[tuple[str, float], ...]]

WORDS = ("a", "b", "don't", 'say"', "back\\slash", "é", "x#y", "[1]")


@dataclass(frozen=True)
class Drawn:
    """Arcs from, to, word or None, values; state 0 is the start, the last the end."""

    states: int
    arcs: list[tuple[int, int, str | None, dict[str, float]]]

    def paths(self) -> Counter[Reading]:
        """Return all paths, without regard to how any reader sees them."""
        found: Counter[Reading] = Counter()

        def go(state: int, words: tuple[str, ...], total: dict[str, float]) -> None:
            if state == self.states - 1:
                found[words, shown(total)] += 1
            for source, target, word, values in self.arcs:
                if source == state:
                    more = {k: total.get(k, 0.0) + values.get(k, 0.0) for k in {*total, *values}}
                    go(target, words if word is None else (*words, word), more)

        go(0, (), {})
        return found


def shown(total: dict[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((name, value) for name, value in total.items() if value != 0.0))


@st.composite
def drawn_lattice(
    draw: st.DrawFn, names: Sequence[str], words: Sequence[str] = WORDS, most: int = 5
) -> Drawn:
    """Draw a lattice: from every state the end can be reached, not every state from the start.

    Values are multiples of 2^-24 below 4, so that sums are exact in any order.
    """
    states = draw(st.integers(2, most))
    arcs = []
    for source in range(states - 1):
        for target in draw(st.lists(st.integers(source + 1, states - 1), min_size=1, max_size=3)):
            word = draw(st.none() | st.sampled_from(list(words)))
            values = {name: draw(st.floats(-3, 3, width=16)) for name in names}
            arcs.append((source, target, word, values))
    return Drawn(states, arcs)


@dataclass(frozen=True)
class Read:
    """What a format made of a file."""

    ids: list[GroupId]
    forests: list[ForestArrays]
    names: list[str]
    words: list[str]

    def paths(self, k: int = 0) -> Counter[Reading]:
        """Return words and features of all derivations."""
        return readings(self.forests[k], self.names, self.words)

    def edges(self, k: int = 0) -> list[list[tuple]]:
        """Return the hyperedges of each node, in their order, with names and words as texts."""
        return edges_of(self.forests[k], self.names, self.words)

    def as_set(self) -> ForestSet:
        """Return it as a set."""
        return ForestSet(
            tuple(self.ids), joined(self.forests), tuple(self.names), tuple(self.words)
        )


def read_text(reader: ForestFormat, text: str | bytes, name: str = "file") -> Read:
    """Read a text, recognised as what it is."""
    data = text.encode() if isinstance(text, str) else text
    return read_source(reader, Source(name, data))


def read_path(reader: ForestFormat, path: Path) -> Read:
    """Read a file, recognised as what it is."""
    return read_source(reader, Source(path))


def read_source(reader: ForestFormat, source: Source) -> Read:
    names, words = Numbering(), Numbering()
    order = FileOrder(source.name)
    pairs = [(raw.id, order.ordered(raw)) for raw in reader.read(source, names, words)]
    return Read([i for i, _ in pairs], [arrays for _, arrays in pairs], list(names), list(words))


def readings(arrays: ForestArrays, names: Sequence[str], words: Sequence[str]) -> Counter[Reading]:
    """Return words and features of all derivations of one forest."""
    found: Counter[Reading] = Counter()
    for tree in derivations(arrays):
        values = vector(arrays, tree, len(names))
        total = dict(zip(names, values.tolist(), strict=True))
        found[tuple(words[w] for w in tree.words), shown(total)] += 1
    return found


def edges_of(arrays: ForestArrays, names: Sequence[str], words: Sequence[str]) -> list[list[tuple]]:
    """Return tails, target side and features of the hyperedges of each node of one forest."""
    found = []
    for lo, hi in zip(arrays.edge_start[:-1], arrays.edge_start[1:], strict=True):
        rows = []
        for e in range(lo, hi):
            tails = arrays.tails[arrays.tail_start[e] : arrays.tail_start[e + 1]].tolist()
            side = arrays.words[arrays.word_start[e] : arrays.word_start[e + 1]].tolist()
            span = slice(arrays.feature_start[e], arrays.feature_start[e + 1])
            ids, values = arrays.feature_ids[span].tolist(), arrays.feature_values[span].tolist()
            total = {names[k]: v for k, v in zip(ids, values, strict=True)}
            rows.append((tails, [words[w] if w >= 0 else w for w in side], shown(total)))
        found.append(rows)
    return found


def named_set(
    forests: Sequence[ForestArrays], names: Sequence[str], words: Sequence[str] = WORDS
) -> ForestSet:
    """Return forests as a set with these names and words."""
    plain = forest_set(list(forests), len(names), len(words))
    return ForestSet(plain.ids, plain.arrays, tuple(names), tuple(words))


def is_lattice(arrays: ForestArrays) -> bool:
    """Tell whether hyperedges have at most one tail, which comes before all words."""
    for e in range(len(arrays.tail_start) - 1):
        side = arrays.words[arrays.word_start[e] : arrays.word_start[e + 1]]
        if np.flatnonzero(side < 0).tolist() not in ([], [0]):
            return False
    return True


@st.composite
def damaged(draw: st.DrawFn, text: str) -> bytes:
    """Draw a text in which some bytes are missing, doubled or others."""
    data = bytearray(text.encode())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(at + 4, len(data))))
        data[at:end] = draw(st.sampled_from(PARTS)) or data[at:end] * 2
    return bytes(data)


#: What readers look for, and what they do not expect; the empty one doubles what is there.
PARTS = [
    *(c.encode() for c in "()[]{}'\"\\,=#|:.- \t\r\n019eéJISEWNL"),
    *(b"", b"\xff", b"\0", b"nan", b"1e999", b"99999999999999999999", b"[null]", b"|||", b"\n\n"),
]


def check_damaged(reader: ForestFormat, data: bytes) -> None:
    """Read what is damaged: it is refused with one line, or is a forest all the same."""
    try:
        found = read_text(reader, data)
    except FormatError as error:
        shown = str(error)
    else:
        shown = "file; fine" if found.forests else "no forest"
    assert shown.startswith("file")
    assert "; " in shown
