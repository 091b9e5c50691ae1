"""Forests as line searches and gradients see them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.helpers.inference.forest_sets import SEEDS, one_node_forests, options, rows_of
from tests.helpers.tiers import examples
from tunesmith.inference.forests.lists import kbest_lists
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet

FEW = settings(max_examples=examples(10))
#: What hyperedges cannot count.
OTHERS = ["wer", "chrf", "bleu:tokenize=intl"]


@pytest.mark.parametrize("metric", OTHERS)
@FEW
@given(SEEDS)
def test_expectations_of_other_metrics_are_those_of_lists(metric, seed):
    forests, _, rng = one_node_forests(seed, size=6)
    ours = ForestTuning(forests, metric, options("rerank", 3)).hypotheses()
    weights, vectors = rng.normal(size=3), rng.normal(size=(1, 3))
    theirs = ListHypotheses(TuningSet(kbest_lists(forests, weights, 3), metric))
    point = ours.point(weights)
    step = Direction.of(rng.normal(size=3), "any")
    for one in (point, ours.move(point, step, 0.5), ours.scaled(point, 2.0)):
        # The lists stay those of the beginning; what wins is that of the forests.
        other = theirs.point(one.weights)
        assert ours.deviation(one) == theirs.deviation(other)
        (found,) = ours.expected([one], [1.5])
        (wanted,) = theirs.expected([other], [1.5])
        assert (found.gain, found.gain_deviation) == (wanted.gain, wanted.gain_deviation)
        assert found.gradient.tolist() == wanted.gradient.tolist()
        covariance = ours.covariance([found], vectors)
        assert covariance.tolist() == theirs.covariance([wanted], vectors).tolist()
        assert one.gain == ours.point(one.weights).gain


@pytest.mark.parametrize("metric", OTHERS)
@FEW
@given(SEEDS)
def test_lists_are_renewed_at_other_weights(metric, seed):
    forests, _, rng = one_node_forests(seed, size=6)
    ours = ForestTuning(forests, metric, options("rerank", 2)).hypotheses()
    first = ours.renewed(np.zeros(3))
    weights = rng.normal(size=3)
    second = ours.renewed(weights, first)
    assert isinstance(second, ListHypotheses)
    held = second.tuning.candidates
    # All that was there and all that is best now is there, and nothing else.
    own = [rows_of(lists) for lists in (first.tuning.candidates, kbest_lists(forests, weights, 2))]
    assert {*map(tuple, rows_of(held))} == {*map(tuple, np.vstack(own))}
    counted = TuningSet(held, metric).stats
    assert second.tuning.stats.tolist() == counted.tolist()
    # So what wins on the lists is what wins on the forests.
    assert second.point(weights).total.tolist() == ours.point(weights).total.tolist()


def test_where_all_derivations_count_nothing_is_renewed():
    forests, candidates, _ = one_node_forests(1)
    for tuning in (ForestTuning(forests, "bleu"), TuningSet(candidates, "wer")):
        hypotheses = tuning.hypotheses()
        assert hypotheses.renewed(np.ones(3)) is hypotheses
        assert hypotheses.renewed(np.zeros(3), hypotheses) is hypotheses
