"""Which groups come together: all of them once, and those that exclude each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.search.exact_checks import flat_tuning
from tests.helpers.tiers import examples
from tunesmith.parallel.local import threads
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.cones.grouping import Grouping
from tunesmith.search.exact.incumbent import Incumbent
from tunesmith.search.exact.problem import Problem


@settings(max_examples=examples(60, interpreted=5))
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 3))
def test_all_groups_once_and_what_they_lose_together(seed, size, sample):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12))
    losses = rng.integers(0, 5, (sample, count))
    grouping = Grouping(rng.standard_normal((sample, 2)), losses)
    groups = rng.permutation(count + 5)[:count] % count
    groups = np.unique(groups)
    blocks = grouping.blocks(groups, size)
    assert sorted(np.concatenate(blocks)) == sorted(groups)
    assert all(len(block) == size for block in blocks[:-1])
    if not sample:
        assert grouping.beyond(blocks[0], blocks[-1]) == 0.0
        return
    for a, b in itertools.combinations(range(count), 2):
        least = min(row[a] + row[b] for row in losses) - losses[:, a].min() - losses[:, b].min()
        assert grouping.beyond(np.array([a]), np.array([b])) == least
    good = grouping.good_for(groups, 1)
    at = int(np.flatnonzero((grouping.vectors == good[0]).all(axis=1))[0])
    assert losses[at, groups].sum() == losses[:, groups].sum(axis=1).min()


def test_groups_that_exclude_each_other_come_together():
    # Of each pair one wants a weight above 0 and the other one below; pairs have features apart.
    width = 4
    blocks, values = [], []
    for sign in (1.0, -1.0):
        for k in range(width):
            points = np.zeros((2, width))
            points[0, k], points[1, k] = sign, -sign
            blocks.append(points.tolist())
            values.append([1.0, 0.0])
    problem = Problem.of(tuning_set(blocks, values))
    grouping = Grouping.of(problem, [], SearchLimits())
    pairs = grouping.blocks(np.arange(2 * width), 2)
    assert {tuple(sorted(pair.tolist())) for pair in pairs} == {
        (k, k + width) for k in range(width)
    }
    assert grouping.beyond(np.array([0]), np.array([width])) == problem.loss.max()


@pytest.mark.parametrize("cosine", [-1.0, 0.95])
def test_a_sample(cosine):
    rng = np.random.default_rng(3)
    problem = Problem.of(flat_tuning(rng, 12))
    aim = np.array([1.0, 0.0])
    samples = []
    for count in (1, 2):
        with threads(count):
            about = problem, [Incumbent(aim, 0)], SearchLimits()
            samples.append(Grouping.of(*about, aim, cosine))
    assert (samples[0].vectors == samples[1].vectors).all()
    assert (samples[0].excess >= 0.0).all()
    assert (samples[0].excess.min(axis=0) == 0.0).all()
    assert len({*map(tuple, samples[0].vectors.tolist())}) > 10
    assert (samples[0].vectors @ aim >= cosine).all()
    assert len(Grouping.of(problem, [], SearchLimits(seconds=0.0)).vectors) == 0
