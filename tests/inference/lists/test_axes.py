"""Axes of features against numpy, and whatever the features are mixed by."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.tiers import examples
from tests.helpers.tuners.collinear import collinear_set
from tunesmith.inference.lists.axes import MOST_AXES, axes_of_rows, eigenvectors
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.space.constraints import Constraints
from tunesmith.search.space.space import Space


def axes_of(rows, start):
    return axes_of_rows(lambda v, chosen: rows[v, chosen], len(rows), start)


def scores(seed: int, variables: int, groups: int = 30):
    """Draw skewed scores of candidates, and where groups begin."""
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(rng.integers(1, 12, groups))])
    shapes = rng.uniform(0.5, 3.0, (variables, 1))
    return rng.gamma(shapes, size=(variables, start[-1])), start, rng


def centred(rows, start):
    """Take the mean of each group off, group by group."""
    parts = [rows[:, a:b] for a, b in itertools.pairwise(start)]
    return np.concatenate([part - part.mean(axis=1, keepdims=True) for part in parts], axis=1)


@settings(max_examples=examples(200, interpreted=20))
@given(seed=st.integers(0, 10**6), variables=st.integers(1, 8))
def test_scores_along_axes_are_not_correlated(seed, variables):
    rows, start, rng = scores(seed, variables)
    axes = axes_of(rows, start)
    along = axes.vectors @ centred(rows, start)
    covariance = along @ along.T / rows.shape[1]
    np.testing.assert_allclose(covariance, np.eye(variables), atol=1e-8)
    weights = rng.standard_normal(variables)
    np.testing.assert_allclose(axes.vectors.T @ (axes.duals @ weights), weights, atol=1e-8)


@settings(max_examples=examples(200, interpreted=20))
@given(seed=st.integers(0, 10**6), variables=st.integers(2, 6))
def test_mixed_features_have_the_same_axes(seed, variables):
    rows, start, rng = scores(seed, variables, 200)
    rotation, _ = np.linalg.qr(rng.standard_normal((variables, variables)))
    mix = rotation * np.exp(rng.uniform(-3, 3, variables))
    plain = axes_of(rows, start).vectors @ rows
    same = axes_of(np.ascontiguousarray(mix @ rows), start).vectors @ (mix @ rows)
    # Axes whose second scatters are almost equal are free to turn.
    second = eigenvalues_of_second_scatter(rows, start)
    if np.diff(second).max() < -1e-3:
        np.testing.assert_allclose(centred(same, start), centred(plain, start), atol=1e-5)


def eigenvalues_of_second_scatter(rows, start):
    """Return them by numpy, descending."""
    away = centred(rows, start)
    values, vectors = np.linalg.eigh(away @ away.T / away.shape[1])
    white = (vectors / np.sqrt(values)).T @ away
    lengths = np.square(white).sum(axis=0)
    keep = lengths > 1e-12
    second = (white[:, keep] / lengths[keep]) @ white[:, keep].T / away.shape[1]
    return np.linalg.eigvalsh(second)[::-1]


@settings(max_examples=examples(200, interpreted=20))
@given(seed=st.integers(0, 10**6), size=st.integers(1, 12))
def test_eigenvectors_are_those_of_numpy(seed, size):
    half = np.random.default_rng(seed).standard_normal((size, size))
    matrix = half @ half.T
    values, vectors = eigenvectors(matrix)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1], atol=1e-9)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, matrix, atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-9)


def test_what_says_nothing_new_has_no_axis():
    rows, start, _ = scores(3, 3)
    of_groups = np.repeat(np.arange(len(start) - 1.0), np.diff(start))
    wide = np.vstack([rows, rows[0] - 2 * rows[1], of_groups, np.zeros(rows.shape[1])])
    axes = axes_of(wide, start)
    assert axes.vectors.shape == (3, 6)
    assert (axes.vectors[:, 4:] == 0).all()
    assert (axes.duals[:, 4:] == 0).all()
    along = axes.vectors @ centred(wide, start)
    np.testing.assert_allclose(along @ along.T / rows.shape[1], np.eye(3), atol=1e-8)


def test_an_outlier_leaves_the_others_their_axes():
    rows, start, _ = scores(5, 3)
    rows[0, 7] = -1e6
    along = axes_of(rows, start).vectors @ centred(rows, start)
    np.testing.assert_allclose(along @ along.T / rows.shape[1], np.eye(3), atol=1e-6)


def test_sparse_features_and_constants_are_on_no_axis():
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((20, 5, 4))
    tuning = tuning_set(vectors, rng.random((20, 5)), sparse_columns=(3,))
    hypotheses = ListHypotheses(tuning)
    axes = hypotheses.axes(Space.free(tuning.names).coordinates())
    assert axes.vectors.shape == (3, 4)
    assert (axes.vectors[:, 3] == 0).all()
    assert not axes.are_all
    fixed = Space.of(tuning.names, np.ones(4), Constraints(fixed=(("f0", 1.0), ("f3", 0.0))))
    axes = hypotheses.axes(fixed.coordinates())
    assert axes.vectors.shape == (2, 2)
    assert axes.are_all


def test_tied_weights_are_one_variable():
    tuning = collinear_set(2, 30)
    space = Space.of(tuning.names, np.ones(5), Constraints(ties=("f0=f1",)))
    axes = tuning.hypotheses().axes(space.coordinates())
    assert axes.vectors.shape == (4, 4)
    rows = [tuning.candidates.features.dot(space.spread_out(axis)) for axis in axes.vectors]
    along = centred(np.array(rows), tuning.candidates.start)
    np.testing.assert_allclose(along @ along.T / along.shape[1], np.eye(4), atol=1e-7)


@pytest.mark.parametrize("count", [1, MOST_AXES + 1])
def test_one_feature_or_very_many_have_no_axes(count):
    rng = np.random.default_rng(1)
    tuning = tuning_set(rng.standard_normal((3, 4, count)), rng.random((3, 4)))
    assert tuning.hypotheses().axes(Space.free(tuning.names).coordinates()) is None


def test_a_very_large_set_is_looked_at_in_part(monkeypatch):
    rows, start, _ = scores(7, 3, 400)
    whole = axes_of(rows, start).vectors @ rows
    monkeypatch.setattr("tunesmith.inference.lists.axes.MOST_NUMBERS", rows.size // 2)
    part = axes_of(rows, start).vectors @ rows
    assert not np.array_equal(whole, part)
    sizes = centred(part, start).std(axis=1)
    np.testing.assert_allclose(sizes, 1.0, atol=0.3)
