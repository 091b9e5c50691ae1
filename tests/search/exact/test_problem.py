"""What an exact search sees of a tuning set."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import Loss, candidate_set, tuning_set
from tests.helpers.search.brute_force import random_tuning
from tunesmith.search.exact.problem import Problem
from tunesmith.tasks.lists import TuningSet

SEEDS = st.integers(0, 2**32 - 1)


def features_of(tuning):
    """Return the features [N, D] in the set's order."""
    features = tuning.candidates.features
    return np.column_stack([features.dense.T, features.sparse.toarray()])


def test_of_equal_candidates_the_first_read_stands_for_all():
    # Ranking cannot prefer the second candidate, so what it would gain is out of reach.
    features = [[[1.0, 0.0], [1.0, -0.0], [0.0, 2.0], [0.0, 2.0]], [[0.0, 1.0], [1.0, 0.0]]]
    problem = Problem.of(tuning_set(features, [[1.0, 9.0, 3.0, 0.0], [0.0, 1.0]]))
    assert problem.candidate.tolist() == [2, 0, 5, 4]
    gains = [1.0 / 2 * value for value in (0.0, 2.0, 0.0, 1.0)]
    assert (problem.loss * problem.unit).tolist() == pytest.approx(gains)
    assert problem.top == pytest.approx((3.0 + 1.0) / 2)


def test_near_candidates_of_the_same_loss_are_kin():
    # The second is the first with other rounding; the fourth is as near to the third, but loses
    # more; the fifth loses the same as the sixth and is far away.
    tiny = 1e-6
    features = [[[0.0, 0.0], [tiny, 0.0], [1.0, 0.0], [1.0, tiny], [0.0, 1.0], [0.0, -1.0]]]
    problem = Problem.of(tuning_set(features, [[2.0, 2.0, 1.0, 0.0, 0.5, 0.5]]))
    assert problem.candidate.tolist() == [0, 1, 2, 4, 5, 3]
    assert problem.kin[0] == problem.kin[1] >= 0
    assert problem.kin[2:].tolist() == [-1] * 4


def test_near_candidates_are_found_through_others():
    chain = [[0.4e-4 * k] for k in range(6)]  # the ends are farther apart than what is near
    problem = Problem.of(tuning_set([[*chain, [-1.0], [1.0]]], [[1.0] * 6 + [0.0] * 2]))
    assert problem.spread[0] == pytest.approx(0.5, rel=0.01)
    assert problem.candidate.tolist() == [*range(6), 6, 7]
    assert len({*problem.kin[:6].tolist()}) == 1
    assert problem.kin[6:].tolist() == [-1, -1]


def test_groups_in_which_nothing_can_be_lost_are_left_out():
    features = [[[1.0], [2.0]], [[1.0], [2.0]], [[1.0]], [[5.0], [5.0]]]
    problem = Problem.of(tuning_set(features, [[2.0, 2.0], [0.0, 1.0], [7.0], [0.0, 1.0]]))
    assert problem.groups.tolist() == [1]
    assert problem.size == 1
    assert problem.combinations == 2
    # They still count in the score: of the last, the first is read, with 0.
    assert problem.score(0) == pytest.approx((2.0 + 1.0 + 7.0 + 0.0) / 4)


def test_nothing_to_choose():
    problem = Problem.of(tuning_set([[[1.0], [1.0]], [[3.0]]], [[1.0, 2.0], [3.0]]))
    assert problem.size == 0
    assert problem.combinations == 1
    assert problem.score(0) == pytest.approx(2.0)


@given(SEEDS)
def test_losses_of_winners_are_their_scores(seed):
    rng = np.random.default_rng(seed)
    tuning = random_tuning(rng)
    problem, rows = Problem.of(tuning), features_of(tuning)
    start = tuning.candidates.start
    for _ in range(5):
        weights = rng.standard_normal(rows.shape[1])
        scores = rows @ weights
        winners = np.array([lo + scores[lo:hi].argmax() for lo, hi in itertools.pairwise(start)])
        vector, lost, clear = problem.vector(weights), 0, True
        for group, whole in enumerate(problem.groups):
            ranked = vector @ problem.block(group)
            point = problem.start[group] + ranked.argmax()
            clear &= bool(np.diff(np.sort(ranked))[-1] > 1e-9)
            if clear:
                own, other = rows[problem.candidate[point]], rows[winners[whole]]
                assert own.tolist() == other.tolist()
            lost += int(problem.loss[point])
        assert np.allclose(problem.weights(vector), weights)
        if clear:
            # Of candidates that are alike the first is the winner, whatever rounding says.
            first = [
                next(i for i in range(start[g], start[g + 1]) if (rows[i] == rows[w]).all())
                for g, w in enumerate(winners)
            ]
            assert problem.score(lost) == pytest.approx(tuning.score(np.array(first)), abs=1e-7)


@given(SEEDS)
def test_nothing_lost_is_the_oracle(seed):
    tuning = random_tuning(np.random.default_rng(seed))
    problem, rows, start = Problem.of(tuning), features_of(tuning), tuning.candidates.start
    # Without the duplicates, which no ranking can prefer, any candidate may be the best.
    distinct = [
        [i for i in range(lo, hi) if not any((rows[i] == rows[j]).all() for j in range(lo, i))]
        for lo, hi in itertools.pairwise(start)
    ]
    sign = 1.0 if tuning.metric.higher_is_better else -1.0
    best = np.array(
        [
            max(group, key=lambda i: sign * tuning.metric.score(tuning.stats[i]))
            for group in distinct
        ]
    )
    assert problem.score(0) == pytest.approx(tuning.score(best), abs=1e-9)


@pytest.mark.parametrize(("metric", "words"), [("wer", 7), ("ter", 7), ("cer", 21)])
def test_losses_of_error_rates_are_counts(metric, words):
    texts = ["a b c", "a x c", "x x x x", "the cat sat down", "the cat", "a cat sat down"]
    features = [[[0.0], [1.0], [2.0]], [[0.0], [1.0], [2.0]]]
    references = [["a b c"], ["the cat sat down"]]
    tuning = TuningSet(candidate_set(features, (), texts, references), metric)
    problem = Problem.of(tuning)
    errors = tuning.stats[:, 0]
    for point, group in enumerate(np.repeat([0, 1], 3)):
        least = errors[3 * group : 3 * group + 3].min()
        lost = errors[problem.candidate[point]] - least
        assert problem.loss[point] * problem.unit == pytest.approx(lost / words)
    # No finer than the counts themselves: sums of losses are exact.
    assert problem.loss.max() <= errors.max()


def test_a_part_has_the_points_of_its_groups():
    rng = np.random.default_rng(0)
    blocks = [rng.standard_normal((n, 3)).tolist() for n in (4, 2, 5, 3)]
    values = [rng.random(len(block)).tolist() for block in blocks]
    problem = Problem.of(tuning_set(blocks, values, metric=Loss()))
    part = problem.part([3, 1])
    assert part.groups.tolist() == [3, 1]
    assert part.size == 2
    assert part.combinations == 6
    for new, old in enumerate([3, 1]):
        assert part.block(new).tolist() == problem.block(old).tolist()
        at, whole = (slice(p.start[g], p.start[g + 1]) for p, g in ((part, new), (problem, old)))
        assert part.loss[at].tolist() == problem.loss[whole].tolist()
        assert part.candidate[at].tolist() == problem.candidate[whole].tolist()
        assert part.loss[at][0] == 0
        assert (np.diff(part.loss[at]) >= 0).all()


def test_points_are_centred_and_scaled():
    rng = np.random.default_rng(0)
    blocks = [(rng.standard_normal((30, 2)) * [5.0, 100.0] + [7.0, -3.0]).tolist() for _ in "ab"]
    problem = Problem.of(tuning_set(blocks, [rng.random(30).tolist() for _ in "ab"]))
    assert problem.block(0).mean(axis=1) == pytest.approx([0.0, 0.0], abs=1e-12)
    pooled = np.concatenate([problem.block(g) for g in (0, 1)], axis=1)
    assert np.sqrt((pooled**2).mean(axis=1)) == pytest.approx([1.0, 1.0], rel=0.1)
