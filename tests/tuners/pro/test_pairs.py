from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.tuners.pro.pairs import SAMPLERS, Pairs, Rivals, Uniform, numbered_pairs


def rivals_of(size: int) -> Rivals:
    return Rivals(np.zeros(size))


@given(st.integers(2, 40))
def test_numbers_stand_for_every_pair_once(size):
    lower, upper = numbered_pairs(np.arange(size * (size - 1) // 2))
    expected = {(i, j) for i, j in itertools.combinations(range(size), 2)}
    assert sorted(zip(lower.tolist(), upper.tolist(), strict=True)) == sorted(expected)


@given(st.integers(2, 2**31), st.integers(-2, 2), st.integers(0, 2**31))
def test_numbers_of_very_long_lists(upper, beside, further):
    # Around triangular numbers, where a rounded root goes wrong, and anywhere.
    for number in (max(0, upper * (upper - 1) // 2 + beside), upper * 7 + further):
        lower, higher = (int(place[0]) for place in numbered_pairs(np.array([number])))
        expected = (1 + math.isqrt(1 + 8 * number)) // 2
        assert (higher, lower) == (expected, number - expected * (expected - 1) // 2)


@given(st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_a_short_list_gives_every_pair_once(size, seed):
    drawn = Uniform(size * (size - 1) // 2 or 1).sample(
        rivals_of(size), np.random.default_rng(seed)
    )
    found = sorted(zip(*(places.tolist() for places in drawn), strict=True))
    assert found == sorted(itertools.combinations(range(size), 2))


@given(st.integers(3, 60), st.integers(0, 2**32 - 1), st.data())
def test_of_a_long_list_no_pair_is_drawn_twice(size, seed, data):
    most = data.draw(st.integers(1, size * (size - 1) // 2 - 1))
    first, second = Uniform(most).sample(rivals_of(size), np.random.default_rng(seed))
    found = list(zip(first.tolist(), second.tolist(), strict=True))
    assert 1 <= len(found) <= most
    assert len(set(found)) == len(found)
    assert all(0 <= i < j < size for i, j in found)


@pytest.mark.parametrize("pairs", [9, 30])
def test_all_pairs_are_equally_likely_and_in_any_order(pairs):
    # 5 candidates have 10 pairs; 9 of them are drawn with replacement, or all are taken.
    rng = np.random.default_rng(1)
    rounds = 6000
    counts, firsts = np.zeros((5, 5)), np.zeros((5, 5))
    for _ in range(rounds):
        lower, upper = Uniform(pairs).sample(rivals_of(5), rng)
        counts[lower, upper] += 1
        firsts[lower[0], upper[0]] += 1
    chance = 1 - 0.9**9 if pairs == 9 else 1.0
    inside = np.triu_indices(5, 1)
    five_sigma = 5 * np.sqrt(rounds * chance * (1 - chance)) + 1e-9
    assert np.abs(counts[inside] - rounds * chance).max() <= five_sigma
    assert np.abs(firsts[inside] - rounds / 10).max() <= 5 * np.sqrt(rounds * 0.09)


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), min_size=2, max_size=9),
    st.integers(0, 2**32 - 1),
)
def test_the_better_comes_first_and_equals_are_left_out(values, seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(len(values), size=(2, 20))
    found = Pairs.of(first, second, np.array(values))
    expected = []
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        if values[i] > values[j]:
            expected.append((i, j))
        elif values[j] > values[i]:
            expected.append((j, i))
    assert list(zip(found.better.tolist(), found.worse.tolist(), strict=True)) == expected
    apart = found.differences(np.array(values))
    assert apart.tolist() == [values[i] - values[j] for i, j in expected]
    assert (apart > 0).all()


def test_some_of_the_pairs():
    pairs = Pairs(np.array([3, 4, 5]), np.array([0, 1, 2]))
    for which in (np.array([True, False, True]), np.array([0, 2])):
        assert (pairs[which].better.tolist(), pairs[which].worse.tolist()) == ([3, 5], [0, 2])


def test_options():
    assert SAMPLERS.create("uniform:pairs=7") == Uniform(7)
    with pytest.raises(UsageError, match=r"pairs of sampler 'uniform' is 0; give 1 or more"):
        SAMPLERS.create("uniform:pairs=0")
    with pytest.raises(UnknownNameError, match="unknown sampler"):
        SAMPLERS.create("unifrom")


def test_a_sampler_of_ones_own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\n"
        "from tunesmith.tuners.pro.pairs import Sampler\n"
        "class Neighbours(Sampler):\n"
        "    def sample(self, rivals, rng):\n"
        "        places = np.arange(len(rivals) - 1)\n"
        "        return places, places + 1\n"
        "class Nothing: ...\n"
    )
    made = SAMPLERS.create(f"{path}:Neighbours")
    assert made.sample(rivals_of(3), np.random.default_rng(1))[1].tolist() == [1, 2]
    with pytest.raises(TunesmithError, match="Nothing is no Sampler"):
        SAMPLERS.create(f"{path}:Nothing")
