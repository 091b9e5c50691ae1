"""The envelope against evaluation of every line, in exact arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Mean, candidate_set
from tests.helpers.inference.envelopes import envelope_by_hand, list_envelope, winner_at
from tests.helpers.tiers import examples
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.envelope import BLOCK, extremes_of, winners_of
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.tasks.lists import TuningSet

small = st.integers(-4, 4)
groups_of_lines = st.lists(
    st.lists(st.tuples(small, small), min_size=1, max_size=9), min_size=1, max_size=3
)


@settings(max_examples=examples(1000))
@given(groups_of_lines)
@example([[(0, 0)]])
@example([[(0, 0), (0, 0)]])
@example([[(1, 0), (1, 2), (0, 5), (1, 2), (-1, 5)]])
@example([[(-1, 0), (0, 0), (1, 0)]])
@example([[(-2, 0), (-1, 1), (0, 2), (1, 1), (2, 0)]])
def test_breakpoints_and_winners_are_those_of_exact_arithmetic(groups):
    start, total, found = list_envelope(groups)
    expected, first = [], []
    for g, lines in enumerate(groups):
        leftmost, changes = envelope_by_hand(lines)
        first.append(start[g] + leftmost)
        expected += [(float(x), int(start[g] + a), int(start[g] + b)) for x, a, b in changes]
    assert found == sorted(expected)
    assert np.flatnonzero(total).tolist() == sorted(first)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 7, BLOCK, BLOCK + 1, 5 * BLOCK + 3]))
def test_large_groups_of_real_numbers(seed, size):
    rng = np.random.default_rng(seed)
    slopes, scores = rng.standard_normal((2, size))
    slopes = np.round(slopes, 1) if seed % 2 else slopes
    lines = list(zip(slopes.tolist(), scores.tolist(), strict=True))
    _, _, found = list_envelope([lines])
    edges = [x for x, _, _ in found]
    assert edges == sorted(edges)
    middles = [-1e3, *((a + b) / 2 for a, b in itertools.pairwise(edges)), 1e3]
    order = [a for _, a, _ in found] + [b for _, _, b in found][-1:]
    if edges:
        assert [winner_at(lines, m) for m in middles] == order


@given(st.lists(st.lists(small, min_size=1, max_size=200), min_size=1, max_size=4))
def test_the_winner_is_the_first_of_the_highest(groups):
    start = np.concatenate([[0], np.cumsum([len(g) for g in groups])])
    scores = np.array([x for g in groups for x in g], float)
    expected = [start[g] + group.index(max(group)) for g, group in enumerate(groups)]
    assert winners_of(scores, start).tolist() == expected


@given(st.lists(st.lists(small, min_size=1, max_size=20), min_size=1, max_size=4))
def test_extremes_are_first_and_last_of_least_and_greatest(groups):
    start = np.concatenate([[0], np.cumsum([len(g) for g in groups])])
    values = np.array([x for g in groups for x in g], float)
    ends = extremes_of(values, start, np.arange(len(groups)))
    for g, group in enumerate(groups):
        reverse = group[::-1]
        expected = [
            group.index(min(group)),
            len(group) - 1 - reverse.index(min(group)),
            group.index(max(group)),
            len(group) - 1 - reverse.index(max(group)),
        ]
        assert (ends[:, g] - start[g]).tolist() == expected


@pytest.mark.parametrize("sparse", [[], [0], [0, 1, 2]])
@given(seed=st.integers(0, 10_000))
def test_lists_follow_a_line_whatever_the_storage(sparse, seed):
    """Totals along a line are those of an exact choice between the breakpoints."""
    rng = np.random.default_rng(seed)
    groups = [rng.integers(-2, 3, (rng.integers(1, 6), 3)).tolist() for _ in range(4)]
    stats = rng.integers(0, 9, (sum(map(len, groups)), 2))
    tuning = TuningSet(candidate_set(groups, sparse), Mean(), stats)
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(rng.integers(-2, 3, 3).astype(float))
    directions = [Direction.along(int(rng.integers(3)), "f")]
    directions.append(Direction.of(rng.integers(-2, 3, 3) + 0.5, "any"))
    for direction in directions:
        found = hypotheses.envelope(point, direction)
        order = np.argsort(found.at, kind="stable")
        edges = found.at[order]
        totals = found.total + np.concatenate([[[0, 0]], np.cumsum(found.change[order], axis=0)])
        middles = np.concatenate([[-1e3], (edges[:-1] + edges[1:]) / 2, [1e3]])
        wide = np.concatenate([[True], np.diff(edges) > 1e-9, [True]])
        if len(edges) == 0:
            middles, wide = np.array([1e3, -1e3]), np.array([True, True])
            totals = np.concatenate([totals, totals])
        for gamma, total in zip(middles[wide], totals[wide], strict=True):
            names = tuning.candidates.features.names
            chosen, done = [], 0
            for vectors in groups:
                lines = [
                    tuple(
                        sum(Fraction(w[names.index(f"f{d}")]) * h for d, h in enumerate(v))
                        for w in (direction.vector(3), point.weights)
                    )
                    for v in vectors
                ]
                chosen.append(done + winner_at(lines, Fraction(gamma)))
                done += len(vectors)
            assert total.tolist() == stats[chosen].sum(axis=0).tolist()
        moved = hypotheses.move(point, direction, 0.37)
        fresh = hypotheses.point(point.weights + 0.37 * direction.vector(3))
        np.testing.assert_allclose(moved.cache.scores, fresh.cache.scores, atol=1e-12)


def test_spread_is_the_pooled_deviation_within_groups():
    rng = np.random.default_rng(0)
    groups = [rng.standard_normal((5, 3)), rng.standard_normal((7, 3)) + 10]
    groups[0][:, 2] = groups[1][:, 2] = 4.0
    centred = np.concatenate([g - g.mean(axis=0) for g in groups])
    expected = np.sqrt((centred**2).mean(axis=0))
    expected[2] = 1.0
    for sparse in ([], [0, 1, 2]):
        tuning = TuningSet(candidate_set(groups, sparse), Mean(), np.ones((12, 2)))
        np.testing.assert_allclose(ListHypotheses(tuning).spread(), expected, rtol=1e-7)


@pytest.mark.parametrize("sparse", [[], [1]])
def test_rounding_is_no_spread(sparse):
    rng = np.random.default_rng(0)
    groups = [
        np.column_stack([rng.standard_normal(9), np.full(9, 0.1 + 0.013 * g)]) for g in range(50)
    ]
    tuning = TuningSet(candidate_set(groups, sparse), Mean(), np.ones((450, 2)))
    assert ListHypotheses(tuning).spread()[1] == 1.0
