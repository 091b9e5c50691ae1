"""What is held out of the tuning set, the verdict on it, the baseline and the scale of weights."""

from __future__ import annotations

import itertools
import json
import signal
from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.builders import Loss, tuning_set
from tests.helpers.inference.forest_sets import one_node_forests, options
from tests.helpers.loop.forest_toy import ForestToy
from tests.helpers.loop.live import TUNE, live
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.interruption import Interruption, interruptible, whole_or_nothing
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.auto import Auto
from tunesmith.tuners.base import Outcome, Tuner
from tunesmith.tuners.fitting.folds import Folds, hold_out
from tunesmith.tuners.fitting.verdict import PairedStatistics, judge
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.online.perceptron import Perceptron
from tunesmith.tuners.pro.pro import PRO

CHEAP = MERT(restarts=0, walks=0)
TUNERS = [CHEAP, pytest.param(PRO(iterations=2), marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def some(real):
    return real["tune"].part(range(60))


def chosen_stats(tuning, weights):
    """Return the statistics of what weights choose, by numpy alone."""
    features = tuning.candidates.features
    values = np.array([weights.get(name, 0.0) for name in features.dense_names]) @ features.dense
    start = tuning.candidates.start
    winners = [a + int(np.argmax(values[a:b])) for a, b in itertools.pairwise(start)]
    return tuning.stats[winners]


def by_hand(tuner, tuning, folds, start, metric, dev=None, rng=1):
    """Tune on the rest of each fold, and score what the fold's own sentences have."""
    groups, before, after = [], [], []
    for k in range(folds.count):
        held = folds.held_out(k)
        result = tuner.fit(tuning.part(folds.rest(k)), start, dev, rng)
        part = tuning.part(held)
        groups += held.tolist()
        before.append(chosen_stats(part, result.start))
        after.append(chosen_stats(part, result.weights))
    order = np.argsort(groups)
    statistics = PairedStatistics(
        np.concatenate(before)[order], np.concatenate(after)[order], folds.fold
    )
    return judge(metric, statistics, "folds")


# Cross-validation


@pytest.mark.parametrize("tuner", TUNERS)
@pytest.mark.parametrize("given", [True, False])
def test_cross_validation_is_what_one_would_do_by_hand(some, start, tuner, given):
    begin = start if given else None
    result = tuner.fit(some, begin, rng=3, folds=3)
    expected = by_hand(tuner, some, Folds.of(60, 3), begin, some.metric, rng=3)
    assert result.verdict == expected
    assert (result.verdict.on, result.verdict.sentences) == ("folds", 60)


def test_folds_leave_the_weights_alone(some, start):
    alone = CHEAP.fit(some, start, rng=2)
    result = CHEAP.fit(some, start, rng=2, folds=3)
    assert result.weights == alone.weights
    assert (result.score, result.history) == (alone.score, alone.history)
    assert alone.verdict.recommendation == "no-held-out-data"
    assert alone.verdict.gain is None


@pytest.mark.long
def test_an_algorithm_with_folds_of_its_own_is_cross_validated_too(some, start):
    tuner = Auto(member=("mert:restarts=0,walks=0",), parts=2)
    result = tuner.fit(some, start, rng=1, folds=2)
    own = tuner.fit(some, start, rng=1)
    assert result.weights == own.weights
    assert own.verdict.on == result.verdict.on == "folds"
    expected = by_hand(tuner, some, Folds.of(60, 2), start, some.metric)
    assert result.verdict == expected
    assert result.verdict != own.verdict


def test_a_development_set_chooses_in_each_fold(some, real, start):
    tuner = MIRA(epochs=2, pick="dev")
    dev = real["test"].part(range(20))
    result = tuner.fit(some, start, dev, rng=1, folds=2)
    assert result.verdict == by_hand(tuner, some, Folds.of(60, 2), start, some.metric, dev)


def test_features_that_are_left_out_are_so_in_each_fold(some, start):
    names = tuple(n for n in some.names if not n.startswith(("LM", "Lexical")))
    begin = {name: start[name] for name in names}
    result = CHEAP.fit(some, begin, rng=1, folds=2, drop=["LM*", "Lexical*"])
    fewer = some.with_features(names, ())
    assert result.verdict == by_hand(CHEAP, fewer, Folds.of(60, 2), begin, some.metric)


def test_documents_stay_in_one_fold(some, start):
    document = np.repeat(np.arange(60) // 7, np.diff(some.candidates.start)).astype(float)
    candidates = replace(some.candidates, columns={"document": document})
    tuning = TuningSet(candidates, some.metric, some.stats)
    result = CHEAP.fit(tuning, start, rng=1, folds=3, fold_column="document")
    folds = Folds.of(60, 3, np.arange(60) // 7)
    assert result.verdict == by_hand(CHEAP, tuning, folds, start, some.metric)
    assert result.verdict != CHEAP.fit(tuning, start, rng=1, folds=3).verdict


def test_an_error_rate():
    rng = np.random.default_rng(1)
    quality = rng.random((40, 4))
    groups = [[[q, n] for q, n in zip(own, rng.normal(size=4), strict=True)] for own in quality]
    tuning = tuning_set(groups, (1.0 - quality).tolist(), metric=Loss())
    result = CHEAP.fit(tuning, {"f0": -1.0, "f1": 0.1}, folds=4)
    assert result.verdict.recommendation == "use"
    assert not result.verdict.higher_is_better
    # The start chooses the worst of four, and the feature tells the best: 0.8 and 0.2.
    assert result.verdict.gain == pytest.approx(0.6, abs=0.1)
    assert result.verdict.text("loss").startswith("on 40 unseen sentences -0.")


@pytest.mark.parametrize("options", [{"folds": 2}, {"hold_out": 0.4}])
def test_forests(options_of_search, options):
    forests, lists, rng = one_node_forests(3, groups=10, size=4)
    begin = dict(zip(lists.features.names, rng.normal(size=3), strict=True))
    tuner = MIRA(epochs=2, epsilon=1e-10)
    on_lists = tuner.fit(TuningSet(lists, "bleu"), begin, **options)
    whole = replace(options_of_search, size=ForestOptions().size)
    on_forests = tuner.fit(ForestTuning(forests, "bleu", whole), begin, **options)
    assert on_forests.verdict.sentences == on_lists.verdict.sentences
    assert on_forests.verdict.gain == pytest.approx(on_lists.verdict.gain, abs=1e-6)
    with pytest.raises(UsageError, match="fold column belongs to lists"):
        tuner.fit(ForestTuning(forests, "bleu"), begin, folds=2, fold_column="x")


@pytest.fixture
def options_of_search():
    return options("rerank")


# A part that is held out


def test_a_share_is_held_out_and_the_rest_tuned_on(some, start):
    result = CHEAP.fit(some, start, rng=4, hold_out=0.5)
    rest, held = hold_out(60, 0.5)
    alone = CHEAP.fit(some.part(rest), start, rng=4)
    assert result.weights == alone.weights
    assert (result.score, result.initial_score) == (alone.score, alone.initial_score)
    assert result.oracle_score == alone.oracle_score
    part = some.part(held)
    statistics = PairedStatistics(
        chosen_stats(part, result.start), chosen_stats(part, result.weights)
    )
    assert result.verdict == judge(some.metric, statistics, "hold-out")
    assert result.verdict.sentences == 30


@pytest.mark.parametrize("tuner", TUNERS)
def test_what_is_held_out_has_no_influence(some, start, tuner):
    """Held-out sentences may have any features and references."""
    _, held = hold_out(60, 0.3)
    candidates = some.candidates
    owners = np.repeat(np.arange(60), np.diff(candidates.start))
    is_held = np.isin(owners, held)
    rng = np.random.default_rng(0)
    dense = candidates.features.dense.copy()
    dense[:, is_held] = rng.normal(size=(len(dense), is_held.sum()))
    stats = some.stats.copy()
    stats[is_held] = stats[rng.permutation(np.flatnonzero(is_held))]
    changed = TuningSet(
        replace(candidates, features=replace(candidates.features, dense=dense)), some.metric, stats
    )
    one, other = (tuner.fit(tuning, start, rng=1, hold_out=0.3) for tuning in (some, changed))
    assert one.weights == other.weights
    assert (one.score, one.oracle_score) == (other.score, other.oracle_score)
    assert one.verdict != other.verdict


def test_what_counts_first(some, real, start):
    dev, test = real["test"].part(range(40)), real["test"].part(range(40, 90))

    def on(**more):
        verdict = CHEAP.fit(some, start, rng=1, **more).verdict
        return verdict.on, verdict.sentences

    assert on(dev=dev) == ("dev", 40)
    assert on(dev=dev, test=test) == ("test", 50)
    assert on(dev=dev, test=test, hold_out=0.25) == ("hold-out", 15)
    assert on(dev=dev, test=test, folds=2) == ("folds", 60)


def test_a_test_set_is_judged_by_its_own_sentences(some, real, start):
    result = CHEAP.fit(some, start, test=real["test"], rng=1)
    gain = result.test.score - result.test.initial_score
    assert result.verdict.gain == pytest.approx(gain, abs=1e-9)
    outputs = [chosen_stats(real["test"], w) for w in (result.start, result.weights)]
    assert result.verdict == judge(some.metric, PairedStatistics(*outputs), "test")


def test_it_is_the_first_line_and_in_the_json(some, start):
    result = CHEAP.fit(some, start, rng=1, folds=2)
    first = str(result).splitlines()[0]
    assert result.verdict.text("bleu").startswith(first.strip())
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert found["verdict"] == result.verdict.to_dict()
    without = CHEAP.fit(some, start, rng=1)
    assert str(without).splitlines()[0].startswith("nothing was held out")
    assert without.to_dict()["verdict"]["recommendation"] == "no-held-out-data"


# Errors


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"folds": 2, "hold_out": 0.5}, "both hold sentences out; give one"),
        ({"fold_column": "x"}, "goes with folds; give both"),
        ({"hold_out": 0.5, "fold_column": "x"}, "goes with folds; give both"),
        ({"folds": 1}, "folds is 1; give 2 or more"),
        ({"folds": -2}, "folds is -2; give 2 or more"),
        ({"folds": 61}, "60 sentences cannot be split into 61 folds; give"),
        ({"hold_out": 1.0}, "hold-out is 1; give a share"),
        ({"hold_out": -0.1}, "hold-out is -0.1; give a share"),
        ({"hold_out": float("nan")}, "hold-out is nan; give a share"),
        ({"hold_out": 0.001}, "leaves nothing; give another"),
        ({"folds": 2, "fold_column": "x"}, "unknown fold column 'x'"),
        ({"folds": 2, "fold_column": "LM0"}, "differs within a sentence; give one"),
        ({"baseline": "LM0"}, "both say where to begin; give one"),
    ],
)
def test_options_that_do_not_go_together(some, start, wrong, match):
    with pytest.raises(TunesmithError, match=match) as caught:
        CHEAP.fit(some, start, **wrong)
    assert "\n" not in str(caught.value)


def test_sentences_that_are_decoded_meanwhile_cannot_be_held_out():
    tuning = live(ForestToy(), TUNE)
    for wrong in ({"folds": 2}, {"hold_out": 0.5}):
        with pytest.raises(UsageError, match="cannot be held out; give dev"):
            Perceptron(epochs=1).fit(tuning, dict(ForestToy().start()), **wrong)


# Interruptions


class Pressed(Tuner):
    """Doubles a weight; Ctrl-C is pressed while it works for the n-th time."""

    name = "pressed"

    def __init__(self, at):
        self.at = at
        self.count = 0

    def tune(self, tuning, start, rng):
        self.count += 1
        if self.count == self.at:
            signal.raise_signal(signal.SIGINT)
        return Outcome(start * np.where(np.arange(len(start)), 1.0, 2.0))


@pytest.mark.parametrize("at", [2, 4])
def test_an_interruption_between_folds_leaves_the_weights(some, start, real, at):
    whole = Pressed(0).fit(some, start, folds=3)
    for test in (None, real["test"]):
        with interruptible():
            found = Pressed(at).fit(some, start, folds=3, test=test)
        assert found.interrupted
        assert found.stopped == f"interrupted after {at - 2} of 3 folds"
        assert found.weights == whole.weights
        assert found.verdict.on == (None if test is None else "test")
    assert not whole.interrupted
    assert whole.verdict.on == "folds"


def test_without_being_asked_to_an_interruption_ends_all(some, start):
    with pytest.raises(KeyboardInterrupt) as caught:
        Pressed(2).fit(some, start, folds=3)
    assert not isinstance(caught.value, Interruption)
    with interruptible(), whole_or_nothing(), pytest.raises(Interruption):
        Pressed(2).fit(some, start, folds=3)


# The baseline


@pytest.mark.parametrize(("name", "feature", "weight"), [("LM0", "LM0", 1.0), ("-LM0", "LM0", -1)])
def test_a_model_of_one_feature_is_where_all_begin(some, name, feature, weight):
    begin = {other: weight if other == feature else 0.0 for other in some.names}
    for tuner in (CHEAP, PRO(iterations=1)):
        result = tuner.fit(some, baseline=name)
        assert dict(result.start) == begin
        assert result.weights == tuner.fit(some, begin).weights
        expected = some.metric.score(chosen_stats(some, begin).sum(axis=0))
        assert result.initial_score == pytest.approx(expected, abs=1e-9)


def test_a_feature_whose_name_begins_with_a_minus_sign():
    tuning = tuning_set([[[1.0], [0.0]]] * 4, [[0.0, 1.0]] * 4)
    features = replace(tuning.candidates.features, dense_names=("-f",))
    named = TuningSet(replace(tuning.candidates, features=features), tuning.metric, tuning.stats)
    assert dict(CHEAP.fit(named, baseline="-f").start) == {"-f": 1.0}
    assert dict(CHEAP.fit(named, baseline="--f").start) == {"-f": -1.0}


def test_an_unknown_baseline(some):
    for name in ("LM", "-LM"):
        with pytest.raises(UnknownNameError, match="feature 'LM'; did you mean LM0"):
            CHEAP.fit(some, baseline=name)


def test_without_a_start_all_tuners_are_compared_with_the_same_model(some):
    results = [t.fit(some, rng=1) for t in (CHEAP, PRO(iterations=1), MIRA(epochs=1))]
    assert len({result.initial_score for result in results}) == 1
    assert len({tuple(result.start.items()) for result in results}) == 1
    # Every feature counts the same: its deviation within sentences times its weight.
    start = results[0].start
    dense = some.candidates.features.dense
    bounds = list(itertools.pairwise(some.candidates.start))
    squares = sum(
        ((d := dense[:, a:b]).T - d.mean(axis=1)).var(axis=0) * (b - a) for a, b in bounds
    )
    deviation = np.sqrt(squares / dense.shape[1])
    counts = np.array([start[name] for name in some.names]) * deviation
    np.testing.assert_allclose(counts, counts[0], rtol=1e-6)
    assert 0.5 < sum(abs(w) for w in start.values()) < 2.0


# The scale


@pytest.mark.parametrize("tuner", [CHEAP, PRO(iterations=2), MIRA(epochs=1)])
def test_weights_have_the_size_of_the_start_or_one(some, start, tuner):
    own = sum(abs(w) for w in start.values())
    for begin, size in ((start, own), (None, 1.0)):
        result = tuner.fit(some, begin)
        found = sum(abs(w) for w in result.weights.values())
        # Where rounding broke a tie another way, it is a power of two that comes near.
        assert found == pytest.approx(size, rel=1e-12) or 0.7 < found / size < 1.42
        plain = tuner.fit(some, begin, normalise="none")
        assert result.score == plain.score
        ratios = [result.weights[n] / plain.weights[n] for n in some.names if plain.weights[n]]
        assert ratios == pytest.approx([ratios[0]] * len(ratios))


def test_where_the_size_means_something_it_stays(some, start):
    for restricted in ({"fix": ["LM0=0.5"]}, {"bound": ["LM0=0.1:0.6"]}):
        tuner = MERT(restarts=0, walks=0, **restricted)
        auto, plain = (tuner.fit(some, start, normalise=scale) for scale in ("auto", "none"))
        assert auto.weights == plain.weights
    penalised = MERT(restarts=0, walks=0, penalty="l2-prior", prior=dict(start), strength=(1.0,))
    auto, plain = (penalised.fit(some, start, normalise=scale) for scale in ("auto", "none"))
    assert auto.weights == plain.weights
