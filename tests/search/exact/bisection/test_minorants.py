"""Linear bounds of what groups lose: against vectors drawn, and against an example by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.tiers import examples
from tunesmith.search.exact.bisection.minorants import linear_bound


def bound_of(groups, where, error=0.0):
    """Return the bound for groups of (losses ascending, scores [D, M] under the corners)."""
    losses = np.concatenate([loss - loss[0] for loss, _ in groups])
    scores = np.ascontiguousarray(np.concatenate([scores for _, scores in groups], axis=1))
    begin = np.cumsum([0, *(len(loss) for loss, _ in groups)])
    errors = np.full(len(groups), error)
    at = np.empty(len(losses))
    return linear_bound(scores, losses, begin, len(groups), errors, where, np.inf, at)


def lost_at(groups, places):
    """Return what places, as weights of the corners [P, D], lose beyond the least of each group."""
    total = np.zeros(len(places))
    for loss, scores in groups:
        total += (loss - loss[0])[(places @ scores).argmax(axis=1)]
    return total


def random_groups(rng, size):
    groups = []
    for _ in range(rng.integers(1, 40)):
        many = int(rng.integers(2, 7))
        whole = rng.random() < 0.5
        loss = rng.integers(0, 4, many).astype(float) if whole else rng.random(many)
        scores = rng.standard_normal((size, many))
        if rng.random() < 0.3:
            scores = rng.integers(-2, 3, (size, many)).astype(float)
        if rng.random() < 0.1:
            loss *= 1e12
        if rng.random() < 0.1:
            scores *= 1e6
        groups.append((np.sort(loss), scores))
    return groups


@pytest.mark.parametrize("seed", range(examples(300, interpreted=5)))
def test_no_place_loses_less(seed):
    rng = np.random.default_rng([seed, 11])
    size = int(rng.integers(2, 7))
    groups = random_groups(rng, size)
    places = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0])), 500)
    lost = lost_at(groups, places)
    bound = bound_of(groups, rng.dirichlet(np.ones(size)))
    assert 0.0 <= bound <= lost.min()
    # Where the least is lost is where the bound is tightest.
    where = 0.9 * places[lost.argmin()] + 0.1 / size
    assert bound_of(groups, where / where.sum()) <= lost.min()


def test_two_groups_that_exclude_each_other():
    # At x between two corners the first loses 0 from 0.8 on and 1 before, the second mirrored.
    # Their convex envelopes, 1 - x / 0.8 and 1 - (1 - x) / 0.8, are 0.375 at the middle.
    loss = np.array([0.0, 1.0])
    groups = [
        (loss, np.array([[-0.8, 0.0], [0.2, 0.0]])),
        (loss, np.array([[0.2, 0.0], [-0.8, 0]])),
    ]
    assert bound_of(groups, np.array([0.5, 0.5])) == pytest.approx(0.75)
    assert bound_of(groups, np.array([0.7, 0.3])) == pytest.approx(0.75, abs=0.1)


def test_an_error_of_scores_is_taken_off():
    loss = np.array([0.0, 1.0])
    groups = [
        (loss, np.array([[-0.8, 0.0], [0.2, 0.0]])),
        (loss, np.array([[0.2, 0.0], [-0.8, 0]])),
    ]
    exact, safe = (bound_of(groups, np.array([0.5, 0.5]), error) for error in (0.0, 1e-3))
    assert safe == pytest.approx(exact - 2 * 1e-3 / 0.8)


def test_a_group_whose_best_wins_everywhere_adds_nothing():
    groups = [(np.array([0.0, 1.0]), np.array([[1.0, 0.0], [1.0, 0.0]]))]
    assert bound_of(groups, np.array([0.5, 0.5])) == 0.0
