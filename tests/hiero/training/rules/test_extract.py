"""Extraction against the definition, in plain Python."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.helpers.hiero.aligned_text import (
    Pair,
    Rule,
    arrays_of,
    counted,
    extractions,
    pairs,
    phrases_of,
)
from tunesmith.errors import UsageError
from tunesmith.hiero.training.rules.extract import (
    BITS,
    ONE,
    PAD,
    Extraction,
    Shape,
    extract,
    initial_phrases,
)


def rule_of_row(row: list[int], shape: Shape) -> Rule:
    source = [s for s in row[: shape.source] if s != PAD]
    target = [t for t in row[shape.source : shape.sides] if t != PAD]
    bits = [
        bit
        for bit in range(shape.source * shape.target)
        if row[shape.sides + bit // BITS] >> bit % BITS & 1
    ]
    links = frozenset((bit // shape.target, bit % shape.target) for bit in bits)
    return tuple("X" if s == -1 else s for s in source), tuple(target), links


def extracted(several: list[Pair], limits: Extraction, room: int) -> dict[Rule, tuple[int, int]]:
    """Extract with little room, so that the kernel has to go on several times."""
    shape = limits.shape
    counts: Counter[Rule] = Counter()
    times: Counter[Rule] = Counter()
    state = np.zeros(3, np.int64)
    while state[0] < len(several):
        room = max(room, int(state[2]))
        rows, numbers = np.empty((room, shape.width), np.int32), np.empty((room, 2), np.int64)
        first = int(state[0])
        extract(arrays_of(several), first, len(several), limits.limits, shape, rows, numbers, state)
        for row, number in zip(
            rows[: state[1]].tolist(), numbers[: state[1]].tolist(), strict=True
        ):
            rule = rule_of_row(row, shape)
            counts[rule] += number[0]
            times[rule] += number[1]
    return {rule: (counts[rule], times[rule]) for rule in counts}


#: The second target word has no link, and may belong to either neighbour.
SHARED = Pair((0, 1, 2), (0, 1, 2, 1), frozenset({(0, 0), (1, 3), (2, 2)}))


@given(pair=pairs(), limits=extractions)
def test_initial_phrases(pair: Pair, limits: Extraction) -> None:
    links = np.array(sorted(pair.links), np.int32).reshape(-1, 2)
    found = initial_phrases(links, len(pair.source), len(pair.target), limits.limits)
    assert sorted(map(tuple, found.tolist())) == sorted(phrases_of(pair, limits))


@given(
    several=st.lists(pairs(), min_size=1, max_size=3), limits=extractions, room=st.integers(1, 60)
)
@example(several=[SHARED], limits=Extraction(max_phrase=4, tight=False), room=500)
def test_rules(several: list[Pair], limits: Extraction, room: int) -> None:
    found, expected = extracted(several, limits, room), counted(several, limits)
    assert found.keys() == expected.keys()
    for rule, (count, times) in expected.items():
        assert found[rule][1] == times
        assert abs(Fraction(found[rule][0], int(ONE)) - count) < Fraction(times, int(ONE))


def test_an_example_by_hand() -> None:
    # "den Hut nehmen" is "take the hat", aligned word by word.
    pair = Pair((0, 1, 2), (3, 4, 2), frozenset({(0, 1), (1, 2), (2, 0)}))
    found = extracted([pair], Extraction(max_phrase=3), 100)
    rules = {rule[:2] for rule in found}
    assert (("X", 2), (3, -1)) in rules
    assert ((0, "X", 2), (3, 4, -1)) in rules
    assert (("X", 1, "X"), (-2, -1, 2)) in rules
    assert ((0, 1), (4, 2)) in rules
    assert (("X", "X", 2), (3, -1, -2)) not in rules  # neighbours
    assert ((1, 2), (3, 2)) not in rules  # its words are no phrase: "the" lies between
    assert (("X",), (-1,)) not in rules
    # "den" and "the" is the only rule of that pair: it has the whole count.
    assert found[(0,), (4,), frozenset({(0, 0)})] == (ONE, 1)


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_phrase", 0), ("max_symbols", 0), ("max_nonterminals", 3), ("min_gap", 0)],
)
def test_impossible_limits(option: str, value: int) -> None:
    flag = option.replace("_", "-")
    with pytest.raises(UsageError, match=f"--{flag} is {value}; give a number from"):
        Extraction(**{option: value})
