"""Shufflings against enumeration, and whether p is what it says."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tiers import examples
from tunesmith.parallel.local import threads
from tunesmith.significance import resampling
from tunesmith.significance.chance import p_value
from tunesmith.significance.resampling import bootstrap_sums, shuffled_sums, swapped_sums


def powers(sentences: int, first: int, second: int) -> tuple[Any, Any]:
    """Statistics of two systems whose sums tell which outputs were added up."""
    values = 2.0 ** np.arange(sentences * (first + second))
    pool = values.reshape(sentences, first + second, 1)
    return pool[:, :first], pool[:, first:]


def by_pairs(first: Any, second: Any) -> dict[float, float]:
    """Return the probability of each sum if runs are paired at random and swapped by coins."""
    runs = first.shape[1]
    of_sentence = []
    for a, b in zip(first[:, :, 0], second[:, :, 0], strict=True):
        found: Counter[float] = Counter()
        for order in itertools.permutations(range(runs)):
            for coins in itertools.product((False, True), repeat=runs):
                found[sum(b[order[k]] if coins[k] else a[k] for k in range(runs))] += 1
        of_sentence.append(found)
    return joint(of_sentence)


def by_dealing(first: Any, second: Any) -> dict[float, float]:
    """Return the probability of each sum if outputs are dealt out anew."""
    pools = np.concatenate([first, second], axis=1)[:, :, 0]
    hands = [Counter(map(sum, itertools.combinations(p, first.shape[1]))) for p in pools]
    return joint(hands)


def joint(of_sentence: list[Counter[float]]) -> dict[float, float]:
    """Return the probability of each sum over independent sentences."""
    found: Counter[float] = Counter()
    for parts in itertools.product(*(held.items() for held in of_sentence)):
        found[sum(value for value, _ in parts)] += int(np.prod([count for _, count in parts]))
    total = sum(found.values())
    return {value: count / total for value, count in found.items()}


@pytest.mark.long
@pytest.mark.parametrize("runs", [(2, 2), (3, 3), (3, 2), (1, 2), (2, 1)])
def test_every_shuffling_is_as_likely_as_it_should_be(runs: tuple[int, int]) -> None:
    first, second = powers(2, *runs)
    wanted = by_pairs(first, second) if runs[0] == runs[1] else by_dealing(first, second)
    trials = 40000
    one, other = shuffled_sums(first, second, trials, seed=3)
    assert ((one + other) == first.sum() + second.sum()).all()
    found = Counter(one[:, 0].tolist())
    assert found.keys() == wanted.keys()
    for value, probability in wanted.items():
        deviation = (probability * (1 - probability) / trials) ** 0.5
        assert abs(found[value] / trials - probability) < 5.5 * deviation


@pytest.mark.parametrize("seed", range(6))
def test_p_over_replicates_is_that_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(3, 2, 1)), rng.normal(0.3, size=(3, 2, 1))
    both = first.sum() + second.sum()
    real = abs(first.sum() - second.sum())
    wanted = sum(p for s, p in by_pairs(first, second).items() if abs(2 * s - both) > real + 1e-9)
    one, other = shuffled_sums(first, second, 40000, seed)
    found = p_value(np.abs(one - other)[:, 0], real, 1e-9)
    assert found == pytest.approx(wanted, abs=0.015)


@given(st.integers(1, 90), st.integers(1, 60), st.integers(0, 2**40), st.integers(1, 4000))
@settings(max_examples=examples(40))
def test_steps_change_nothing(sentences: int, trials: int, seed: int, at_once: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 9, (2, sentences, 2))
    # What sacrebleu draws, all at once.
    drawn = np.random.default_rng(seed).choice(sentences, (trials, sentences), replace=True)
    coins = np.random.default_rng(seed).integers(2, size=(trials, sentences), dtype=bool)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resampling, "AT_ONCE", at_once)
        patch.setattr(resampling, "COINS_AT_ONCE", at_once)
        sums = bootstrap_sums(first, trials, seed)
        one, other = swapped_sums(first, second, trials, seed)
    assert (sums == first[drawn].sum(axis=1)).all()
    assert (one == coins @ first + ~coins @ second).all()
    assert (other == ~coins @ first + coins @ second).all()


def test_threads_change_nothing() -> None:
    first, second = np.random.default_rng(1).normal(size=(2, 30, 3, 2))
    with threads(1):
        one = shuffled_sums(first, second, 100, 5)[0]
    with threads(3):
        other = shuffled_sums(first, second, 100, 5)[0]
    assert (one == other).all()


@pytest.mark.parametrize("runs", [(1, 1), (3, 3), (2, 3)])
def test_p_is_uniform_where_there_is_no_difference(runs: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    found = []
    for seed in range(300):
        first, second = (rng.normal(size=(40, count, 1)) for count in runs)
        if runs == (1, 1):
            one, other = swapped_sums(first[:, 0], second[:, 0], 199, seed + 1)
        else:
            one, other = shuffled_sums(first, second, 199, seed + 1)
        sizes = np.array([40.0 * runs[0], 40.0 * runs[1]])
        samples = np.abs(one / sizes[0] - other / sizes[1])[:, 0]
        found.append(p_value(samples, abs(first.sum() / sizes[0] - second.sum() / sizes[1])))
    for level in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9):
        share = float(np.mean(np.array(found) <= level))
        assert abs(share - level) < 4 * (level * (1 - level) / 300) ** 0.5 + 0.005


SMALL = """
import warnings
import numpy as np
from tunesmith.significance.resampling import bootstrap_sums, shuffled_sums, swapped_sums

warnings.simplefilter("ignore", RuntimeWarning)  # unsigned numbers overflow by design
first, second = np.random.default_rng(4).integers(0, 9, (2, 9, 3, 2))
found = [*shuffled_sums(first, second, 6, 5), *shuffled_sums(first[:, :2], second, 6, 5)]
found += [*swapped_sums(first[:, 0], second[:, 0], 6, 5), bootstrap_sums(first[:, 0], 6, 5)]
print([sums.tolist() for sums in found])
"""


@pytest.mark.long
def test_kernels_run_as_plain_python() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", SMALL],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in "01"
    ]
    assert printed[0] == printed[1]
