"""Forests with a metric: what is checked, what is dense, what a signature tells."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.forests import Edge, forest_arrays, forest_set
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.lists.rerank import rerank
from tunesmith.metrics.scored_forests import MOST_DENSE, ForestOptions
from tunesmith.tasks.forests import ForestTuning


def forest(*features: int):
    """Return a forest of two hyperedges, the first of which has some features."""
    edges: list[Edge] = [(0, [], [0], dict.fromkeys(features, 1.0)), (0, [], [1], {})]
    return forest_arrays(edges, 0)


def tuning(*forests, features: int, **options):
    held = forest_set(list(forests), features, 2, [[[0]]] * len(forests))
    return ForestTuning(held, "bleu", ForestOptions(**options))


def test_of_few_features_all_are_dense():
    assert tuning(forest(0), forest(1), features=MOST_DENSE).dense.all()


def test_of_many_features_those_are_dense_that_half_of_the_forests_have():
    many = MOST_DENSE + 1
    held = tuning(forest(0, 7), forest(0, 9), forest(7, 0), forest(0, 200), features=many)
    assert np.flatnonzero(held.dense).tolist() == [0, 7]


def test_features_that_are_left_out_are_not_counted():
    many = MOST_DENSE + 2
    held = tuning(forest(0, 7), forest(0, 9), features=many).with_features(drop="f0")
    assert len(held.names) == many - 1
    # Both of the others are in half of the forests.
    assert [held.names[k] for k in np.flatnonzero(held.dense)] == ["f7", "f9"]


def test_a_signature_tells_how_forests_were_searched_and_pruned():
    plain, pruned = (tuning(forest(0), features=1, pruning=p) for p in ("", "beam:5"))
    assert plain.signature() != pruned.signature()
    assert "forests:rerank|kbest:100|pruned:beam:5" in pruned.signature()
    assert "nrefs:1" in plain.signature()


def test_metrics_of_single_candidates_are_refused():
    held = forest_set([forest(0)], 1, 2, [[[0]]])
    with pytest.raises(UsageError, match="needs a score for each candidate"):
        ForestTuning(held, "column:comet")


def test_references_are_needed():
    with pytest.raises(TunesmithError, match="give --references"):
        ForestTuning(forest_set([forest(0)], 1, 2), "bleu")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"search": "exact"}, UnknownNameError),
        ({"lists": "all"}, UnknownNameError),
        ({"size": 0}, UsageError),
    ],
)
def test_options_are_checked(options, error):
    with pytest.raises(error):
        ForestOptions(**options)


def test_the_best_texts_of_forests_as_of_lists():
    held = forest_set([forest(0), forest(0)], 1, 2)
    assert rerank(held, {"f0": 1.0}) == ["w0", "w0"]
    assert rerank(held, {"f0": -1.0}) == ["w1", "w1"]


def test_a_path_is_no_forest():
    with pytest.raises(UsageError, match="read some with read_forests"):
        ForestTuning("tune.jsonl.gz", "bleu")
