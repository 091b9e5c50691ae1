"""Sentences that are decoded when a learner comes to them, against the same forests at hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.inference.forest_sets import drawn_set, one_node_forests
from tests.helpers.parallel.pickling import PicklingEngine
from tests.helpers.tiers import examples
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.forests.examples import ForestExamples
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.parallel.engine import working_on
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet
from tunesmith.tasks.live import LiveTuning
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.online.mira import MIRA

SEEDS = st.integers(0, 2**32 - 1)


class Stored:
    """Forests that are there, given one by one as if they had been decoded."""

    def __init__(self, forests):
        self.held = forests
        self.names = forests.names
        self.files = ()
        self.asked = []

    @property
    def reference_counts(self):
        return self.held.references.counts.tolist()

    def __len__(self):
        return self.held.groups

    def forests(self, weights, which):
        self.asked.append((weights, list(which)))
        return self.held if len(which) == len(self) else self.held.with_groups(which)


def live(forests, metric="bleu", **options):
    start = Weights(forests.names, np.zeros(len(forests.names)))
    source = Stored(forests)
    return source, LiveTuning(source, start, metric, ForestOptions(**options))


def equal(one, other):
    if one is None or other is None:
        assert one is other
        return
    assert one.features.tolist() == other.features.tolist()
    assert one.values.tolist() == other.values.tolist()
    assert one.stats.tolist() == other.stats.tolist()
    assert one.gain == other.gain


@settings(max_examples=examples(25))
@given(SEEDS, st.sampled_from(["rerank", "linear", "kbest"]), st.sampled_from(["bleu", "wer"]))
def test_a_sentence_answers_as_its_forest_does(seed, search, metric):
    forests, candidates, rng = one_node_forests(seed)
    scorer = objective_of("document").begin(TuningSet(candidates, metric), "examples")
    _, tuning = live(forests, metric, search=search)
    ours = tuning.examples()
    theirs = ForestExamples(ForestTuning(forests, metric, ForestOptions(search=search)))
    assert (ours.names, ours.groups) == (theirs.names, theirs.groups)
    weights = rng.normal(size=3)
    for group in range(forests.groups):
        one, other = ours.example(group, scorer), theirs.example(group, scorer)
        equal(one.best(weights), other.best(weights))
        for factor in (1.0, -1.0, 0.2):
            equal(one.augmented(weights, factor), other.augmented(weights, factor))
        for among in (None, 2):
            equal(one.oracle(weights, among), other.oracle(weights, among))
        equal(one.reference(weights), other.reference(weights))
        risk, other_risk = one.risk(weights, 0.7), other.risk(weights, 0.7)
        assert risk.gain == other_risk.gain
        assert risk.slope.tolist() == other_risk.slope.tolist()
        scorer.add(one.best(weights).stats)


@settings(max_examples=examples(25))
@given(drawn_set(), SEEDS)
def test_a_set_answers_as_its_forests_do(forests, seed):
    rng = np.random.default_rng(seed)
    source, tuning = live(forests)
    fixed = ForestTuning(forests, "bleu")
    one, other = rng.normal(size=(2, len(forests.names)))
    assert tuning.score_at(one) == fixed.score_at(one)
    assert tuning.winners(one).stats.tolist() == fixed.winners(one).stats.tolist()
    assert tuning.changed_choices(one, other) == fixed.changed_choices(one, other)
    assert tuning.oracle_at(one) == fixed.oracle_at(one)
    assert tuning.usual_lists(one).stats.tolist() == fixed.usual_lists(one).stats.tolist()
    assert tuning.dense.tolist() == fixed.dense.tolist()
    # The outputs of some weights are made once.
    asked = len(source.asked)
    tuning.score_at(one)
    assert len(source.asked) == asked


def test_a_sentence_is_decoded_once_under_the_weights_of_the_first_question():
    forests, candidates, _ = one_node_forests(3)
    scorer = objective_of("document").begin(TuningSet(candidates, "bleu"), "examples")
    source, tuning = live(forests)
    example = tuning.examples().example(2, scorer)
    assert source.asked == []
    weights = np.array([1.0, 2.0, 3.0])
    example.best(weights)
    weights[0] = -5.0  # as learners change theirs
    example.augmented(weights, 1.0)
    ((seen, which),) = source.asked
    assert dict(seen) == {"f0": 1.0, "f1": 2.0, "f2": 3.0}
    assert which == [2]


def test_some_features_take_part():
    forests, _, _ = one_node_forests(4)
    source, tuning = live(forests)
    some = tuning.with_features(drop="f1")
    assert some.names == ("f0", "f2")
    assert tuning.with_features() is tuning
    weights = np.array([1.0, -2.0])
    assert some.score_at(weights) == tuning.score_at(np.array([1.0, 0.0, -2.0]))
    # The decoder hears nothing of the others.
    assert dict(source.asked[0][0]) == {"f0": 1.0, "f2": -2.0}


def test_wrong_uses():
    forests, _, _ = one_node_forests(5)
    _, tuning = live(forests)
    with pytest.raises(UsageError, match="mert learns from whole sets"):
        MERT().fit(tuning)
    with pytest.raises(UsageError, match="needs a score for each candidate"):
        live(forests, "column:comet")
    assert "live|forests:rerank" in tuning.signature()
    assert tuning.signature().endswith("nrefs:1")


def test_some_sentences_tell_what_is_usual_of_a_large_set(monkeypatch):
    monkeypatch.setattr("tunesmith.tasks.live.ENOUGH", 3)
    forests, _, _ = one_node_forests(3)
    assert forests.groups > 3
    source, tuning = live(forests)
    few = tuning.usual
    ((_, which),) = source.asked
    assert few.groups == 3
    assert which == sorted(which)
    assert (which[0], which[-1]) == (0, forests.groups - 1)


def test_one_learner_sends_no_single_sentence_to_others():
    forests, _, _ = one_node_forests(3)
    _, tuning = live(forests)
    start = np.array([1.0, 2.0, 3.0])
    engine = PicklingEngine()
    with working_on(engine):
        learning = MIRA().start_training(tuning, start, np.random.default_rng(1))
        asked = len(engine.maps)
        found = learning.epoch(0).weights
    assert len(engine.maps) == asked
    alone = MIRA().start_training(tuning, start, np.random.default_rng(1))
    assert found.tolist() == alone.epoch(0).weights.tolist()
