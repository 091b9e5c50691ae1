"""Sentences that are held out: every one once, parts of equal size, documents whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.inference.forest_sets import one_node_forests
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.fitting.folds import LEAST, Folds, clusters_of, hold_out

SIZES = st.integers(LEAST, 300)


def parts(folds: Folds) -> list[list[int]]:
    return [folds.held_out(k).tolist() for k in range(folds.count)]


def assert_partition(folds: Folds, groups: int) -> None:
    """Each group is held out once, and is in the rest of all other parts."""
    assert sorted(group for part in parts(folds) for group in part) == list(range(groups))
    for k, part in enumerate(parts(folds)):
        assert part
        assert part == sorted(part)
        assert sorted([*part, *folds.rest(k).tolist()]) == list(range(groups))


@given(SIZES, st.integers(2, 12))
def test_folds_are_a_partition_of_equal_parts(groups, count):
    if groups < count:
        with pytest.raises(UsageError, match="cannot be split"):
            Folds.of(groups, count)
        return
    folds = Folds.of(groups, count)
    assert_partition(folds, groups)
    sizes = [len(part) for part in parts(folds)]
    assert max(sizes) - min(sizes) <= 1
    assert parts(Folds.of(groups, count)) == parts(folds)


def test_they_are_dealt_at_random():
    # Neighbouring sentences are often of one document: blocks and strides would be bad folds.
    first, second = parts(Folds.of(100, 2))
    assert {group % 2 for group in first} == {0, 1}
    assert min(second) < 50 < max(second)
    assert min(first) < 50 < max(first)
    assert parts(Folds.of(101, 2))[0] != first


@given(st.data(), st.integers(2, 6))
def test_clusters_stay_together(data, count):
    labels = data.draw(st.lists(st.integers(0, 20), min_size=count, max_size=120))
    clusters = np.array(labels, np.float64) / 3.0
    if len(set(labels)) < count:
        with pytest.raises(UsageError, match="too few"):
            Folds.of(len(labels), count, clusters)
        return
    folds = Folds.of(len(labels), count, clusters)
    assert_partition(folds, len(labels))
    for label in set(labels):
        own = {int(folds.fold[k]) for k, other in enumerate(labels) if other == label}
        assert len(own) == 1
    # No part is larger than the others by more than a cluster, or something smaller would have
    # gone elsewhere.
    sizes = np.bincount(folds.fold, minlength=count)
    assert sizes.max() - sizes.min() <= np.bincount(labels).max()
    assert parts(Folds.of(len(labels), count, clusters)) == parts(folds)


@given(st.integers(2, 6), st.integers(1, 8), st.integers(1, 6))
def test_clusters_of_one_size_make_equal_parts(count, each, size):
    clusters = np.repeat(np.arange(count * each, dtype=float), size)
    folds = Folds.of(len(clusters), count, clusters)
    assert np.bincount(folds.fold).tolist() == [each * size] * count


def test_splits_are_parts_of_the_set(real):
    tuning = real["tune"].part(range(20))
    folds = Folds.of(20, 3)
    ids = tuning.candidates.ids
    for k, (rest, groups, held_out) in enumerate(folds.splits(tuning)):
        assert groups.tolist() == folds.held_out(k).tolist()
        assert held_out.candidates.ids == tuple(ids[g] for g in groups)
        assert rest.candidates.ids == tuple(ids[g] for g in folds.rest(k))


# A part that is held out once


@given(st.integers(2, 400), st.floats(0.01, 0.99))
def test_a_share_is_held_out(groups, share):
    if round(share * groups) in (0, groups):
        with pytest.raises(UsageError, match="leaves nothing"):
            hold_out(groups, share)
        return
    rest, held_out = hold_out(groups, share)
    assert sorted([*rest.tolist(), *held_out.tolist()]) == list(range(groups))
    assert abs(len(held_out) - share * groups) <= 0.5
    assert rest.tolist() == sorted(rest.tolist())
    assert held_out.tolist() == sorted(held_out.tolist())
    assert hold_out(groups, share)[1].tolist() == held_out.tolist()


def test_what_is_held_out_is_drawn_at_random():
    _, held_out = hold_out(1000, 0.2)
    assert len(held_out) == 200
    assert 60 <= (held_out < 500).sum() <= 140


# What says which sentences stay together


@pytest.fixture
def documents() -> TuningSet:
    """Six sentences of three documents; the feature ``f1`` has the document too."""
    document = [7.0, 7.0, 2.5, 2.5, 2.5, 9.0]
    groups = [[[float(k), d], [0.0, d]] for k, d in enumerate(document)]
    made = tuning_set(groups, [[1.0, 0.0]] * 6)
    column = np.repeat(document, 2)
    different = np.arange(12.0)
    columns = {"document": column, "different": different}
    candidates = replace(made.candidates, columns=columns)
    return TuningSet(candidates, made.metric, made.stats)


@pytest.mark.parametrize("name", ["document", "f1"])
def test_a_column_or_a_feature_tells_clusters(documents, name):
    assert clusters_of(documents, name).tolist() == [7.0, 7.0, 2.5, 2.5, 2.5, 9.0]


def test_a_sparse_feature_tells_clusters():
    groups = [[[1.0, d], [0.0, d]] for d in (0.0, 3.0, 3.0, 0.0)]
    tuning = tuning_set(groups, [[1.0, 0.0]] * 4, sparse_columns=[1])
    assert clusters_of(tuning, "f1").tolist() == [0.0, 3.0, 3.0, 0.0]


def test_what_tells_no_clusters(documents):
    with pytest.raises(UnknownNameError, match="fold column 'documents'; did you mean document"):
        clusters_of(documents, "documents")
    for name in ("different", "f0"):
        with pytest.raises(UsageError, match="differs within a sentence; give one"):
            clusters_of(documents, name)
    forests, _, _ = one_node_forests(1, groups=4, size=3)
    with pytest.raises(UsageError, match="belongs to lists; "):
        clusters_of(ForestTuning(forests, "bleu"), "document")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Folds.of(100, 1),
        lambda: Folds.of(100, 0),
        lambda: Folds.of(3, 2),
        lambda: Folds.of(5, 6),
        lambda: Folds.of(6, 3, np.array([1.0, 1.0, 2.0, 2.0, 2.0, 1.0])),
        lambda: hold_out(10, 0.0),
        lambda: hold_out(10, 1.0),
        lambda: hold_out(10, float("nan")),
        lambda: hold_out(2, 0.1),
        lambda: hold_out(10, 0.99),
    ],
)
def test_errors_are_one_line_with_a_remedy(wrong):
    with pytest.raises(TunesmithError) as caught:
        wrong()
    text = str(caught.value)
    assert "\n" not in text
    problem, _, remedy = text.partition("; ")
    assert problem
    assert "give" in remedy
