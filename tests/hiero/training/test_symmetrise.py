"""Symmetrisation against the programme of the papers, in plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import TunesmithError
from tunesmith.hiero.training.symmetrise import WAYS, symmetrised

Points = set[tuple[int, int]]  # of target and source words
NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


def koehn(direct: list[int], inverse: list[int], way: str) -> Points:
    """Follow the pseudo-code of Koehn et al. (2005) word by word."""
    e2f = {(e, f) for e, f in enumerate(direct) if f >= 0}
    f2e = {(e, f) for f, e in enumerate(inverse) if e >= 0}
    if way == "union":
        return e2f | f2e
    alignment = e2f & f2e
    if way == "intersection":
        return alignment
    places = list(itertools.product(range(len(direct)), range(len(inverse))))

    def e_aligned(e: int) -> bool:
        return any(p[0] == e for p in alignment)

    def f_aligned(f: int) -> bool:
        return any(p[1] == f for p in alignment)

    while True:
        before = len(alignment)
        for e, f in places:
            if (e, f) in alignment:
                for de, df in NEIGHBOURS:
                    new = (e + de, f + df)
                    free = not e_aligned(new[0]) or not f_aligned(new[1])
                    if free and new in e2f | f2e:
                        alignment.add(new)
        if len(alignment) == before:
            break
    if way == "grow-diag":
        return alignment
    for one in (e2f, f2e):
        for e, f in places:
            if way == "grow-diag-final":
                free = not e_aligned(e) or not f_aligned(f)
            else:
                free = not e_aligned(e) and not f_aligned(f)
            if free and (e, f) in one:
                alignment.add((e, f))
    return alignment


@st.composite
def both_ways(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    targets, sources = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    direct = st.lists(st.integers(-1, sources - 1), min_size=targets, max_size=targets)
    inverse = st.lists(st.integers(-1, targets - 1), min_size=sources, max_size=sources)
    return draw(direct), draw(inverse)


@pytest.mark.parametrize("way", WAYS)
@given(several=st.lists(both_ways(), min_size=1, max_size=4))
def test_as_in_the_papers(way: str, several: list[tuple[list[int], list[int]]]) -> None:
    found = symmetrised(
        np.array([x for direct, _ in several for x in direct], np.int32),
        np.array([x for _, inverse in several for x in inverse], np.int32),
        np.cumsum([0, *(len(inverse) for _, inverse in several)]),
        np.cumsum([0, *(len(direct) for direct, _ in several)]),
        way,
    )
    assert len(found) == len(several)
    for k, (direct, inverse) in enumerate(several):
        own = found.places[found.start[k] : found.start[k + 1]].tolist()
        assert own == sorted([f, e] for e, f in koehn(direct, inverse, way))


def test_ways_differ() -> None:
    # Two words are linked both ways; "union" alone takes links between linked words.
    direct, inverse = [0, 1, 0, 3], [0, 1, 1, -1]
    sizes = {way: len(koehn(direct, inverse, way)) for way in WAYS}
    assert sizes["intersection"] < sizes["grow-diag"] < sizes["grow-diag-final"] <= sizes["union"]


def test_an_unknown_way() -> None:
    none = np.zeros(1, np.int32)
    with pytest.raises(TunesmithError, match="unknown way to symmetrise 'grow'; did you mean"):
        symmetrised(none, none, np.array([0, 1]), np.array([0, 1]), "grow")
