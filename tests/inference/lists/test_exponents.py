"""Winners along an exponent, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tiers import examples
from tunesmith.inference.lists.exponents import envelope_of_exponents
from tunesmith.search.line.search import totals_along

SPAN = (-1.0, 3.0)
#: Rounding may put a change a little aside.
ASIDE = 1e-9


def drawn(seed, sign):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, rng.integers(1, 5))
    start = np.concatenate([[0], np.cumsum(sizes)])
    count = start[-1]
    scores = rng.choice([rng.normal(size=count) * 5, rng.integers(-3, 4, count).astype(float)])
    if sign:
        scores = sign * (np.abs(scores) + 0.1)
    others = np.zeros(count) if sign else np.round(rng.normal(size=count), int(rng.integers(0, 4)))
    lengths = rng.integers(1, 6, count).astype(float)
    stats = rng.integers(0, 1000, (count, 2)).astype(np.int32)
    return scores, others, lengths, start, stats


def total_at(problem, exponent):
    """Return the sum of the winners' statistics, and whether they win by more than rounding."""
    scores, others, lengths, start, stats = problem
    values = scores / lengths**exponent + others
    total, clear = np.zeros(2), True
    for lo, hi in itertools.pairwise(start):
        best = lo + int(np.argmax(values[lo:hi]))
        total += stats[best]
        near = np.abs(values[lo:hi] - values[best]) < 1e-12
        clear &= len({tuple(row) for row in stats[lo:hi][near].tolist()}) == 1
    return total, clear


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, -1]))
def test_every_interval_has_the_winners_of_its_middle(seed, sign):
    problem = drawn(seed, sign)
    envelope = envelope_of_exponents(*problem, SPAN)
    edges, totals = totals_along(envelope)
    assert ((edges > SPAN[0]) & (edges <= SPAN[1])).all()
    ends = [SPAN[0], *edges, SPAN[1]]
    for (low, high), total in zip(itertools.pairwise(ends), totals, strict=True):
        if high - low > ASIDE:
            expected, clear = total_at(problem, 0.5 * (low + high))
            assert not clear or total.tolist() == expected.tolist()
    for exponent in np.random.default_rng(seed).uniform(*SPAN, 100):
        if np.abs(edges - exponent).min(initial=np.inf) > ASIDE:
            expected, clear = total_at(problem, exponent)
            found = totals[int(np.searchsorted(edges, exponent))]
            assert not clear or found.tolist() == expected.tolist()


@settings(max_examples=examples(100))
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, -1]))
def test_scores_of_one_sign_change_where_the_closed_form_says(seed, sign):
    """There s_i / l_i^α = s_j / l_j^α at α = log(s_i / s_j) / log(l_i / l_j)."""
    problem = drawn(seed, sign)
    scores, _, lengths, start, _ = problem
    crossings = []
    for lo, hi in itertools.pairwise(start):
        for i, j in itertools.combinations(range(lo, hi), 2):
            if lengths[i] != lengths[j]:
                ratio = np.log(scores[i] / scores[j]) / np.log(lengths[i] / lengths[j])
                crossings.append(ratio)
    edges, _ = totals_along(envelope_of_exponents(*problem, SPAN))
    for edge in edges:
        assert np.abs(np.array(crossings) - edge).min() < 1e-12 * 100
