from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import UsageError
from tunesmith.tuners.pro.acceptance import ACCEPTANCES, AcceptAll, Greatest, RandomAcceptance
from tunesmith.tuners.pro.pairs import Pairs, Rivals


def random_pairs(seed: int, count: int) -> tuple[Pairs, Rivals]:
    rng = np.random.default_rng(seed)
    # Few values: many differences are the same.
    rivals = Rivals(rng.integers(0, 5, 12) / 4.0)
    pairs = Pairs.of(*rng.integers(12, size=(2, count)), rivals.values)
    return pairs, rivals


@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(1, 30))
def test_greatest_in_the_order_of_the_sample(seed, count, most):
    pairs, rivals = random_pairs(seed, count)
    apart = [
        float(rivals.values[i] - rivals.values[j])
        for i, j in zip(pairs.better, pairs.worse, strict=True)
    ]
    expected = sorted(range(len(apart)), key=lambda k: (-apart[k], k))[:most]
    found = Greatest(most).accept(pairs, rivals, np.random.default_rng(1))
    assert found.tolist() == expected


@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(1, 30))
def test_random_ones_without_repetition(seed, count, most):
    pairs, rivals = random_pairs(seed, count)
    found = RandomAcceptance(most).accept(pairs, rivals, np.random.default_rng(seed)).tolist()
    assert len(found) == len(set(found)) == min(most, len(pairs))
    assert set(found) <= set(range(len(pairs)))


def test_random_ones_are_equally_likely():
    pairs, rivals = Pairs(np.arange(1, 9), np.zeros(8, np.int64)), Rivals(np.arange(9.0))
    rng = np.random.default_rng(2)
    times = 4000
    counts = np.zeros(8)
    for _ in range(times):
        counts[RandomAcceptance(3).accept(pairs, rivals, rng)] += 1
    assert np.abs(counts - times * 3 / 8).max() <= 5 * np.sqrt(times * 3 / 8 * 5 / 8)


def test_all():
    pairs, rivals = random_pairs(1, 20)
    found = AcceptAll().accept(pairs, rivals, np.random.default_rng(1))
    assert found.tolist() == list(range(len(pairs)))


def test_options():
    assert ACCEPTANCES.create("greatest:pairs=3") == Greatest(3)
    assert ACCEPTANCES.create("random") == RandomAcceptance(50)
    for name in ("greatest", "random"):
        with pytest.raises(UsageError, match=f"pairs of acceptance '{name}' is 0; give 1"):
            ACCEPTANCES.create(f"{name}:pairs=0")
