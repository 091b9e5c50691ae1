"""A hunt for weights that beat what was proven, among problems that are hard on numbers."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest

from tests.helpers.builders import Loss, Mean, tuning_set
from tests.helpers.search.exact_checks import winner_of
from tests.helpers.tiers import examples
from tests.helpers.tuners.scores import sign_of
from tunesmith.errors import TunesmithError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.search.exact import search as exact
from tunesmith.search.exact.extreme import BAND, TOLERANCE
from tunesmith.search.exact.problem import Problem
from tunesmith.tuners.certify import certify
from tunesmith.tuners.lp_mert import LPMERT
from tunesmith.tuners.mert.mert import MERT

#: Problems, in shares of so many, each of which is one test.
PROBLEMS, SHARE = 2000, 5
#: Weights that are drawn for each problem.
DRAWN = 200
LIMITS = [1, 2, 3, 5, 8, 13, 21, 10**6]
#: Seconds for a certificate: none at all, or most often enough. The bound holds in any case.
SECONDS = [1e-9, 0.05, 2.0]
#: Ways to search, and groups and features up to which each is taken, so that few groups take the
#: ways of many: a tree, blocks, blocks and then a tree, bisection.
WAYS = {"tree": (), "blocks": (0, 0, 0), "both": (0, 96, 0), "bisection": (0, 96, 6)}


def hard_features(rng):
    """Return features of a few groups, with one or more of the usual difficulties."""
    width = int(rng.integers(1, 5))
    blocks = []
    for _ in range(rng.integers(1, 5)):
        size = int(rng.integers(2, 9))
        whole = rng.random() < 0.4
        block = rng.integers(-2, 3, (size, width)) if whole else rng.standard_normal((size, width))
        block = block.astype(float)
        if rng.random() < 0.6:  # near-twins
            for _ in range(rng.integers(1, 4)):
                one, other = rng.integers(size, size=2)
                apart = 10.0 ** rng.uniform(-12, -2) * rng.standard_normal(width)
                block[one] = block[other] + apart * (rng.random(width) < 0.7)
        if rng.random() < 0.2:  # an outlier
            place = rng.integers(size), rng.integers(width)
            block[place] = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(2, 7)
        blocks.append(block)
    if width > 1 and rng.random() < 0.3:  # collinear features
        source, target = rng.permutation(width)[:2]
        factor, noise = rng.standard_normal(), rng.choice([0.0, 1e-9, 1e-6])
        for block in blocks:
            block[:, target] = factor * block[:, source]
            block[:, target] += noise * rng.standard_normal(len(block))
    scales = 10.0 ** rng.uniform(-3, 3, width) if rng.random() < 0.5 else np.ones(width)
    return [block * scales for block in blocks]


def hard_problem(rng):
    """Return a set whose losses are small, usual or large, whole numbers or not."""
    blocks = hard_features(rng)
    size = rng.choice([1e-4, 1.0, 1e4])
    whole = rng.random() < 0.5
    values = [
        size * (rng.integers(0, 5, len(b)).astype(float) if whole else rng.random(len(b)))
        for b in blocks
    ]
    if rng.random() < 0.1:
        values[0][0] = -1e6
    metric = (Mean, Loss)[rng.integers(2)]()
    listed = [value.tolist() for value in values]
    return tuning_set([b.tolist() for b in blocks], listed, metric=metric), size


def weights_all_around(tuning, rng):
    """Return weights drawn at random: for features as they are, scaled, and near to ties."""
    rows = np.concatenate([tuning.candidates.features.dense.T])
    groups = [rows[lo:hi] for lo, hi in itertools.pairwise(tuning.candidates.start)]
    spread = np.median(np.abs(rows - np.median(rows, axis=0)), axis=0)
    spread[spread == 0.0] = 1.0
    drawn = rng.standard_normal((DRAWN, rows.shape[1]))
    drawn[::2] /= spread
    for k in range(0, DRAWN, 5):  # between two candidates that hardly differ in score
        group = groups[rng.integers(len(groups))]
        one, other = rng.integers(len(group), size=2)
        apart = (group[one] - group[other]) / 1.0
        square = float(apart @ apart)
        if square > 0.0:
            away = rng.choice([1e-4, 1e-3, 1e-2]) * rng.choice([-1.0, 1.0])
            drawn[k] -= (drawn[k] @ apart) / square * apart * (1.0 + away)
    return drawn


def beats(tuning, problem, weights, bound, size):
    """Tell whether weights that count score above a bound by more than rounding."""
    sign = 1.0 if tuning.metric.higher_is_better else -1.0
    score = tuning.score(best(tuning.candidates, weights))
    if sign * (score - bound) <= 1e-7 * max(size, abs(bound), 1e-4):
        return False
    vector = problem.vector(weights)
    vector /= np.linalg.norm(vector)
    leads = [winner_of(problem, group, vector)[1] for group in range(problem.size)]
    # Between features that differ by rounding alone a climb may find a way that nobody can keep.
    return min(leads) > TOLERANCE * (1 - BAND)


def take_way(patch, way):
    """Have few groups searched in one of the ways."""
    names = "ONE_TREE", "NO_TREE", "MOST_FEATURES"
    for name, most in zip(names, WAYS[way], strict=False):
        patch.setattr(exact, name, most)


@pytest.mark.parametrize("share", range(examples(PROBLEMS // SHARE)))
def test_no_weights_beat_a_bound(monkeypatch, share):
    for number in range(share * SHARE, (share + 1) * SHARE):
        rng = np.random.default_rng([number, 25])
        tuning, size = hard_problem(rng)
        problem = Problem.of(tuning)
        search, limit = ("cones", "lazy")[rng.random() < 0.2], int(rng.choice(LIMITS))
        take_way(monkeypatch, [*WAYS][number % len(WAYS)])
        # With one vector that lies on many ties the bisection of four features has no end.
        seconds = 5.0 if limit == 10**6 else None
        result = LPMERT(search=search, test_limit=limit, time_limit=seconds).fit(tuning, rng=1)
        climbed = MERT(restarts=3, walks=1).fit(tuning, rng=number).weights
        drawn = weights_all_around(tuning, rng)
        every = [*drawn, np.array([climbed[name] for name in tuning.names])]
        given = dict(zip(tuning.names, drawn[0].tolist(), strict=True))
        certified = certify(tuning, given, time_limit=float(rng.choice(SECONDS)))
        for proof in (result.certificate, certified.certificate):
            bound = proof.get("clear_bound", proof["bound"])
            assert not any(beats(tuning, problem, one, bound, size) for one in every), number
            assert proof["optimal"] is (proof["gap"] == 0.0 and "tie" not in proof), number
        if result.certificate["optimal"]:
            best_score = result.score
            assert not any(beats(tuning, problem, one, best_score, size) for one in every), number


@pytest.mark.long
@pytest.mark.parametrize("share", range(examples(PROBLEMS // SHARE)))
def test_no_weights_of_a_region_beat_its_bound(monkeypatch, share):
    boxes = 0
    for number in range(share * SHARE, (share + 1) * SHARE):
        rng = np.random.default_rng([number, 26])
        tuning, size = hard_problem(rng)
        problem = Problem.of(tuning)
        take_way(monkeypatch, [*WAYS][number % len(WAYS)])
        drawn = weights_all_around(tuning, rng)
        given, seconds = drawn[0], float(rng.choice(SECONDS))
        named = dict(zip(tuning.names, given.tolist(), strict=True))
        degrees = float(rng.choice([0.1, 5.0, 30.0, 89.0]))
        proof = certify(tuning, named, within=degrees, time_limit=seconds).certificate
        bound = proof.get("clear_bound", proof["bound"])
        for one in within_angle(given, drawn, problem.spread, degrees, rng):
            assert not beats(tuning, problem, one, bound, size), number
        share_of = float(rng.choice([0.01, 0.3, 0.9]))
        proof = {"bound": sign_of(tuning) * np.inf}
        with contextlib.suppress(TunesmithError):  # less room than the tolerance
            proof = certify(tuning, named, box=share_of, time_limit=seconds).certificate
            boxes += 1
        bound = proof.get("clear_bound", proof["bound"])
        for one in given * (1.0 + share_of * rng.uniform(-0.999, 0.999, drawn.shape)):
            assert not beats(tuning, problem, one, bound, size), number
    assert boxes > 0


def within_angle(given, drawn, spread, degrees, rng):
    """Return weights in the directions of others, brought within an angle of given ones."""
    middle = given * spread / np.linalg.norm(given * spread)
    away = drawn * spread
    away -= np.outer(away @ middle, middle)
    lengths = np.linalg.norm(away, axis=1, keepdims=True)
    radians = np.radians(degrees) * rng.uniform(0.0, 0.999, lengths.shape)
    away = np.where(lengths > 1e-9, away / np.maximum(lengths, 1e-300), 0.0)
    return (np.cos(radians) * middle + np.sin(radians) * away) / spread
