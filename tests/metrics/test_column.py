from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tunesmith.data.columns import with_columns
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.metrics.base import METRICS
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT


def with_column(groups, values, name="comet"):
    return replace(candidate_set(groups), columns={name: np.array(values, float)})


def small(seed=0, groups=12, size=5):
    rng = np.random.default_rng(seed)
    features = rng.integers(-9, 10, (groups, size, 3)).tolist()
    return with_column(features, rng.integers(0, 1000, groups * size) / 7)


def test_the_tuned_score_is_the_mean_of_the_column_of_the_winners():
    candidates = small()
    result = MERT(restarts=3).fit(TuningSet(candidates, "column:comet"), rng=1)
    chosen = best(candidates, result.weights.aligned(candidates.features.names))
    mean = sum(candidates.columns["comet"][i] for i in chosen) / candidates.groups
    assert result.score == pytest.approx(mean, abs=1e-12)
    assert result.score > result.initial_score
    assert result.metric == "column:comet"
    assert result.oracle_exact


def test_less_is_better_for_a_cost():
    candidates = small(1)
    result = MERT(restarts=3).fit(TuningSet(candidates, "cost:comet"), rng=1)
    groups = np.split(candidates.columns["comet"], candidates.start[1:-1])
    assert result.oracle_score == pytest.approx(np.mean([g.min() for g in groups]))
    assert result.oracle_score <= result.score < result.initial_score


def test_a_missing_column_is_named_with_its_neighbours():
    with pytest.raises(TunesmithError, match=r"needs the column 'comt' \(near: comet\)"):
        TuningSet(small(), "column:comt")
    with pytest.raises(UsageError, match="write column:NAME"):
        METRICS.create("column")


@given(st.integers(0, 1000), st.sampled_from([(), (1,), (0, 2)]))
def test_a_feature_becomes_a_column_and_leaves_the_model(seed, sparse):
    rng = np.random.default_rng(seed)
    values = rng.integers(-2, 3, (3, 4, 3)).astype(float)
    values[:, :, 1] = rng.choice([-2.0, -1.0, 1.0, 2.0], (3, 4))
    candidates = candidate_set(values.tolist(), sparse)
    moved = with_columns(candidates, ["f1"])
    assert moved.columns["f1"].tolist() == values[:, :, 1].ravel().tolist()
    assert set(moved.features.names) == {"f0", "f2"}
    for weights in rng.normal(size=(3, 2)):
        by_name = dict(zip(moved.features.names, weights, strict=True))
        full = [by_name.get(n, 0.0) for n in candidates.features.names]
        assert moved.features.dot(weights).tolist() == pytest.approx(
            candidates.features.dot(np.array(full)).tolist()
        )
    assert with_columns(moved, ["f1"]) is moved


def test_a_sparse_feature_with_gaps_is_no_column():
    candidates = candidate_set([[[1.0, 2.0], [3.0, 0.0], [4.0, 0.0]]], [1])
    with pytest.raises(TunesmithError, match=r"'f1' is missing \(for 2 candidates\)"):
        with_columns(candidates, ["f1"])


def test_an_unknown_column_is_an_error():
    with pytest.raises(UnknownNameError, match="f1"):
        with_columns(candidate_set([[[1.0, 2.0]]]), ["f11"])


def test_a_column_in_a_tiny_unit_is_tuned_as_well():
    candidates = small(2)
    tiny = replace(candidates, columns={"comet": candidates.columns["comet"] * 2.0**-40})
    large, little = (
        MERT(restarts=3).fit(TuningSet(c, "column:comet"), rng=1) for c in (candidates, tiny)
    )
    assert little.score == pytest.approx(large.score * 2.0**-40, rel=1e-9)
