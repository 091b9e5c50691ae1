"""Certificates held against features and values as they are given, and what reranking chooses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.helpers.builders import tuning_set
from tests.helpers.tiers import examples
from tunesmith.inference.lists.hypotheses import best
from tunesmith.search.exact.problem import Problem
from tunesmith.tuners.certify import certify
from tunesmith.tuners.lp_mert import LPMERT
from tunesmith.tuners.mert.mert import MERT

SETS = examples(60, interpreted=6)
TOLERANCE = 1e-6


def twins(rng, values):
    """Write some candidates twice, with other rounding: of the same value, or of another."""
    points = rng.integers(-3, 4, (len(values), 2)).astype(float)
    for i in rng.choice(len(values), 3):
        j = rng.integers(len(values))
        points[j] = points[i] + rng.choice([0.0, 1e-15, 1e-9, 1e-7, 1e-5, 1e-4], 2)
        if rng.random() < 0.7:
            values[j] = values[i]
    return points


def outlier(rng, values):
    points = rng.standard_normal((len(values), 2))
    points[rng.integers(len(values))] *= 10.0 ** rng.integers(2, 8)
    return points


def sentinel(rng, values):
    """Have a value that stands for a failure, far from all others."""
    for size in rng.choice([1e3, 1e6, 1e9], rng.integers(1, 3)):
        values[rng.integers(len(values))] = -size * rng.uniform(0.3, 1.0)
    return rng.standard_normal((len(values), 2))


def raw(rng, kind):
    features, values = [], []
    for _ in range(rng.integers(2, 5)):
        own = rng.choice([rng.random(7), rng.integers(0, 3, 7).astype(float)])
        features.append(kind(rng, own).tolist())
        values.append(own.tolist())
    return features, values


def weights_that_count(features, values, rng):
    """Yield weights all around, and those between which a winner changes, if their leads count."""
    groups = [np.array(group) for group in features]
    spread = np.sqrt(
        sum(((g - g.mean(axis=0)) ** 2).sum(axis=0) for g in groups) / sum(map(len, groups))
    )
    spread[spread == 0.0] = 1.0
    ties = [0.0]
    for group in groups:
        for a, b in itertools.combinations(group / spread, 2):
            ties += [np.arctan2(*(b - a)) + np.pi / 2 * k for k in range(4)]
    ties = np.sort(np.mod(ties, 2 * np.pi))
    for angle in (ties + np.append(ties[1:], 2 * np.pi + ties[0])) / 2:
        vector = np.array([np.cos(angle), np.sin(angle)])
        leads = [np.inf]
        for group, own in zip(groups, values, strict=True):
            scores = group / spread @ vector
            top = int(scores.argmax())
            others = np.array(own) != own[top]
            leads += (scores[top] - scores[others]).tolist()
        if min(leads) >= 1.01 * TOLERANCE:
            yield vector / spread


@pytest.mark.parametrize("kind", [twins, outlier, sentinel])
def test_no_weights_that_count_are_better_than_the_bound(kind):
    proven = 0
    for seed in range(SETS):
        rng = np.random.default_rng([seed, 7])
        features, values = raw(rng, kind)
        tuning = tuning_set(features, values)
        problem = Problem.of(tuning)
        result = LPMERT(test_limit=int(rng.choice([3, 10**6]))).fit(tuning, rng=1)
        proof = result.certificate
        given = certify(tuning, result.start, time_limit=60.0)
        every = list(weights_that_count(features, values, rng))
        scores = [tuning.score(best(tuning.candidates, weights)) for weights in every]
        size = max(abs(value) for group in values for value in group)
        least = 1e-9 * max(1.0, size) / len(values) + problem.size * problem.unit
        assert max(scores, default=-np.inf) <= proof["bound"] + least
        assert max(scores, default=-np.inf) <= given.certificate["bound"] + least
        assert proof["best"] == pytest.approx(result.score)
        if proof["optimal"]:
            proven += 1
            assert max(scores, default=-np.inf) <= result.score + least
            assert MERT().fit(tuning, rng=1).score <= result.score + least or kind is not sentinel
    assert proven > (SETS / 4 if SETS >= 60 else 0)
