from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.tuners.pro.pairs import Pairs, Rivals
from tunesmith.tuners.pro.selection import (
    SELECTIONS,
    DifferenceSelection,
    Everything,
    Length,
    Outliers,
    Stochastic,
)


@st.composite
def groups(draw):
    """Draw candidates with their values and lengths, and pairs of them."""
    size = draw(st.integers(2, 12))
    # Multiples of 1/64: differences and limits are exact.
    values = draw(st.lists(st.integers(0, 64), min_size=size, max_size=size))
    lengths = draw(st.lists(st.integers(0, 60), min_size=size, max_size=size))
    assume(len(set(values)) > 1)
    rivals = Rivals(np.array(values) / 64.0, np.array(lengths, float))
    places = np.triu_indices(size, 1)
    return rivals, Pairs.of(*places, rivals.values)


def kept(selection, rivals, pairs):
    found = selection.keep(pairs, rivals, np.random.default_rng(1))
    assert found.dtype == np.bool_
    return found.tolist()


def members(pairs):
    return list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True))


@given(groups())
def test_all(group):
    rivals, pairs = group
    assert kept(Everything(), rivals, pairs) == [True] * len(pairs)


@given(groups(), st.integers(0, 40), st.integers(0, 40))
def test_difference(group, least, more):
    rivals, pairs = group
    low, high = least / 64.0, (least + more) / 64.0
    apart = [rivals.values[i] - rivals.values[j] for i, j in members(pairs)]
    assert kept(DifferenceSelection(low), rivals, pairs) == [low <= d for d in apart]
    if more:
        assert kept(DifferenceSelection(low, high), rivals, pairs) == [
            low <= d <= high for d in apart
        ]


@given(groups(), st.integers(0, 30))
def test_length(group, most):
    rivals, pairs = group
    expected = [abs(rivals.lengths[i] - rivals.lengths[j]) <= most for i, j in members(pairs)]
    assert kept(Length(most), rivals, pairs) == expected


@given(groups(), st.sampled_from(["score", "length"]), st.floats(0.3, 3.0))
def test_outliers(group, of, deviations):
    rivals, pairs = group
    values = (rivals.values if of == "score" else rivals.lengths).tolist()
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    away = [abs(v - mean) - deviations * deviation for v in values]
    assume(all(abs(a) > 1e-9 for a in away) or deviation == 0)
    is_near = [a <= 1e-12 for a in away]
    expected = [is_near[i] and is_near[j] for i, j in members(pairs)]
    assert kept(Outliers(of, deviations), rivals, pairs) == expected


def test_a_single_one_among_few_is_no_outlier():
    # Of n candidates one alone is √(n − 1) deviations away at most: 2 for 5.
    for size, is_seen in ((5, False), (7, True)):
        rivals = Rivals(np.array([1.0] * (size - 1) + [0.0]))
        pairs = Pairs.of(np.zeros(1, np.int64), np.array([size - 1]), rivals.values)
        assert kept(Outliers("score", 2.0), rivals, pairs) == [not is_seen]


@pytest.mark.parametrize("of", ["score", "length"])
def test_stochastic_keeps_with_the_probability_of_the_difference(of):
    rng = np.random.default_rng(3)
    rivals = Rivals(rng.normal(size=6), rng.integers(5, 30, 6).astype(float))
    values = (rivals.values if of == "score" else rivals.lengths).tolist()
    variance = statistics.pvariance(values)
    times = 20_000
    for i, j in [(0, 1), (2, 5), (3, 4)]:
        pairs = Pairs(np.full(times, i), np.full(times, j))
        share = Stochastic(of).keep(pairs, rivals, rng).mean()
        chance = math.exp(-((values[i] - values[j]) ** 2) / (4 * variance))
        assert abs(share - chance) <= 5 * math.sqrt(chance * (1 - chance) / times) + 1e-9


def test_stochastic_where_all_lengths_are_equal():
    rivals = Rivals(np.array([0.0, 0.5, 1.0]), np.full(3, 7.0))
    pairs = Pairs.of(*np.triu_indices(3, 1), rivals.values)
    assert kept(Stochastic("length"), rivals, pairs) == [True] * 3


@pytest.mark.parametrize(
    ("selection", "needs"),
    [
        ("all", False),
        ("difference", False),
        ("length", True),
        ("outliers", False),
        ("outliers:of=length", True),
        ("stochastic", False),
        ("stochastic:of=length", True),
    ],
)
def test_who_needs_lengths(selection, needs):
    made = SELECTIONS.create(selection)
    assert made.needs_lengths is needs
    rivals = Rivals(np.array([0.0, 1.0]))
    pairs = Pairs(np.array([1]), np.array([0]))
    if needs:
        with pytest.raises(TunesmithError, match="lengths are not known"):
            made.keep(pairs, rivals, np.random.default_rng(1))
    else:
        assert len(made.keep(pairs, rivals, np.random.default_rng(1))) == 1


@pytest.mark.parametrize(
    ("spec", "error", "problem"),
    [
        ("difference:least=-1", UsageError, "give 0 or more"),
        ("difference:most=0", UsageError, "10 points are 0.1"),
        ("difference:least=0.2,most=0.1", UsageError, "10 points are 0.1"),
        ("length:most=-1", UsageError, "give 0 or more"),
        ("outliers:deviations=0", UsageError, "give a number above 0"),
        ("outliers:of=words", UnknownNameError, "length or score"),
        ("stochastic:of=words", UnknownNameError, "length or score"),
        ("difference:most=nan", UsageError, "finite number"),
        ("lenght", UnknownNameError, "length"),
    ],
)
def test_bad_options(spec, error, problem):
    with pytest.raises(error, match=problem):
        SELECTIONS.create(spec)


@pytest.mark.parametrize("make", [lambda: Outliers("words"), lambda: Stochastic("words")])
def test_bad_quantities_in_python(make):
    with pytest.raises(UnknownNameError, match="length"):
        make()
