"""Small lattices, written in PLF, and all their paths by enumeration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st


@dataclass(frozen=True)
class LatticeArc:
    """An arc; its word is empty if it has none."""

    source: int
    target: int
    word: str
    scores: tuple[float, ...]


@dataclass(frozen=True)
class LatticePath:
    """The words of a path, and the sums of its arcs' scores."""

    words: tuple[str, ...]
    scores: tuple[float, ...]


def plf_of(arcs: Sequence[LatticeArc], goal: int) -> str:
    """Write a lattice as Moses reads it."""
    columns = []
    for node in range(goal):
        column = ""
        for arc in arcs:
            if arc.source == node:
                fields = [repr(arc.word or "*EPS*"), *map(repr, arc.scores)]
                column += f"({','.join(fields)},{arc.target - arc.source}),"
        columns.append(f"({column}),")
    return f"({''.join(columns)})"


def paths_of(arcs: Sequence[LatticeArc], goal: int) -> list[LatticePath]:
    """Return all paths from node 0 to the goal."""
    size = len(arcs[0].scores)

    def after(node: int) -> Iterator[LatticePath]:
        if node == goal:
            yield LatticePath((), (0.0,) * size)
        for arc in arcs:
            if arc.source == node:
                for rest in after(arc.target):
                    words = (arc.word,) if arc.word else ()
                    sums = (a + b for a, b in zip(arc.scores, rest.scores, strict=True))
                    yield LatticePath((*words, *rest.words), tuple(sums))

    return list(after(0))


@st.composite
def drawn_lattices(
    draw: st.DrawFn, words: Sequence[str], size: int, nearest: bool = False
) -> tuple[list[LatticeArc], int]:
    """Draw a lattice and its goal; all paths have words, and there are not many of them.

    With ``nearest``, arcs have words and lead to the next node: all paths are as long.
    """
    goal = draw(st.integers(1, 4))
    arcs = []
    for _ in range(draw(st.integers(1, 9))):
        source = draw(st.integers(0, goal - 1))
        target = source + 1 if nearest else draw(st.integers(source + 1, goal))
        word = draw(st.sampled_from(words if nearest else ["", *words]))
        scores = tuple(draw(st.integers(-4, 4)) / 4 for _ in range(size))
        arcs.append(LatticeArc(source, target, word, scores))
    paths = paths_of(arcs, goal)
    assume(paths and len(paths) <= 12 and all(path.words for path in paths))
    return arcs, goal
