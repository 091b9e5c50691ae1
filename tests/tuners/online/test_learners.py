"""Several learners: their options, their faults, and what they learn from."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.loop.forest_toy import ForestToy
from tests.helpers.loop.live import DEV, START, TUNE, fixed, live
from tests.helpers.parallel.fragile import Fragile
from tests.helpers.tuners.online import easy, learn_epochs, many, random_training
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.loop.loop import Loop
from tunesmith.metrics.candidate_scorer import OBJECTIVES, CandidateScorer, Objective, objective_of
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import threads
from tunesmith.progress import show_with
from tunesmith.tuners.min_risk import MinRisk
from tunesmith.tuners.online.arow import AROW
from tunesmith.tuners.online.learner import OnlineLearner, copy_scorer
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.online.perceptron import Perceptron
from tunesmith.tuners.online.sgd import SGD

KINDS = [Perceptron, SGD, MIRA, AROW]
TOGETHER = [
    SGD(epochs=2, learners=3),
    AROW(epochs=2, learners=3),
    MinRisk(method="online", epochs=2, learners=3),
    AROW(epochs=2, learners=3, parallel="async"),
    MIRA(epochs=2, learners=12, parallel="async", inbox=4),
]


def essence(result):
    """Return what must be equal wherever learners live."""
    found = json.loads(json.dumps(result.to_dict()))
    for entry in found["history"]:
        entry.pop("learners_replaced", None)
    return found["weights"], found["history"], found["score"]


@pytest.mark.parametrize("tuner", TOGETHER, ids=lambda t: f"{t.name}-{t.parallel}")
def test_forests_are_learnt_from_wherever_learners_live(tuner):
    with threads(1):
        wanted = essence(tuner.fit(fixed(TUNE), START, None, 7))
    assert essence(tuner.fit(fixed(TUNE), START, None, 7)) == wanted
    with working_on(Fragile(1, losses=20)):
        assert essence(tuner.fit(fixed(TUNE), START, None, 7)) == wanted
    assert wanted[0] != dict(START)


@pytest.mark.parametrize("tuner", TOGETHER, ids=lambda t: f"{t.name}-{t.parallel}")
def test_sentences_that_are_decoded_on_the_way(tuner):
    """Forests that do not change are a fixed set, for several learners as for one."""
    wanted = essence(tuner.fit(fixed(TUNE), START, None, 7))
    with working_on(Fragile(2, losses=10)):
        assert essence(tuner.fit(live(ForestToy(), TUNE), START, None, 7)) == wanted


@pytest.mark.parametrize("tuner", [TOGETHER[1], TOGETHER[3]], ids=lambda t: t.parallel)
def test_progress_is_that_of_all_learners(tuner):
    """Learners that take turns here do not each show how far they are."""
    found = []
    tuning = live(ForestToy(), TUNE)
    training = tuner.start_training(tuning, np.zeros(len(tuning.names)), np.random.default_rng(1))
    show_with(lambda step, done, total, remark: found.append((step, done, total)))
    try:
        training.epoch(0)
    finally:
        show_with(None)
    done = [count for step, count, total in found if step == "sentences" and total == tuning.groups]
    assert len(done) == len(found) > 0
    assert done == sorted(set(done))
    assert done[-1] == tuning.groups


@pytest.mark.long
@pytest.mark.parametrize("tuner", [TOGETHER[1], TOGETHER[3]], ids=lambda t: t.parallel)
def test_a_loop_goes_on_with_other_workers(tuner, tmp_path):
    tuner = replace(tuner, epochs=3)
    wanted = Loop(tune_on="live").run(ForestToy(beam=0.2), tuner, TUNE, dev=DEV, seed=7)
    about = ForestToy(beam=0.2), replace(tuner, epochs=1), TUNE
    Loop(tune_on="live").run(*about, dev=DEV, seed=7, work_dir=tmp_path)
    with working_on(Fragile(3, losses=15)):
        again = ForestToy(beam=0.2), tuner, TUNE
        found = Loop(tune_on="live").run(*again, dev=DEV, seed=7, work_dir=tmp_path)
    assert dict(found.weights) == dict(wanted.weights)
    assert [one["weights"] for one in found.rounds] == [one["weights"] for one in wanted.rounds]
    for count, shown in ((2, "|learners:2"), (1, "")):
        other = ForestToy(beam=0.2), replace(tuner, learners=count), TUNE
        with pytest.raises(TunesmithError) as caught:
            Loop(tune_on="live").run(*other, dev=DEV, seed=7, work_dir=tmp_path)
        said = 'another run, whose tuner is "arow|...|learners:3", not "arow|...'
        assert f'{said}{shown}"; ' in str(caught.value)


@pytest.mark.parametrize("options", [{}, {"parallel": "async"}, {"learners": 12}])
def test_a_sentence_that_nobody_survives_is_named(options):
    tuner = MIRA(**{"learners": 4, **options})
    with (
        working_on(Fragile(1, deadly=17)),
        pytest.raises(TunesmithError, match=r"^sentence 18: 5 learners were lost over it"),
    ):
        tuner.fit(many())


@pytest.mark.parametrize("way", ["mixing", "async"])
def test_a_run_of_bad_luck_is_no_fault_of_a_sentence(way):
    """All learners of a worker are lost with it; whoever is unlucky is asked alone in the end."""
    tuner = MIRA(learners=12, parallel=way, epochs=1)
    wanted = tuner.fit(many())
    engine = Fragile(4, losses=45)
    with working_on(engine):
        found = tuner.fit(many())
    assert dict(found.weights) == dict(wanted.weights)
    assert found.history[-1]["learners_replaced"] == engine.lost > 12


def test_the_error_of_a_learner_ends_all():
    engine, tuner = Fragile(1), SGD(learners=3, reference="bold")
    with working_on(engine), pytest.raises(TunesmithError, match="another --reference than bold"):
        tuner.fit(easy())  # there are no texts
    assert engine.closed == 1


@pytest.mark.parametrize("times", [0, 2])
def test_a_sentence_that_was_not_learnt_from_once_is_noticed(times, monkeypatch):
    """Whatever an engine does: an answer that comes twice or lacks steps is an error."""
    honest = OnlineLearner.learn

    def learn(self, groups, epoch, received=()):
        return honest(self, groups, epoch, received) * times

    monkeypatch.setattr(OnlineLearner, "learn", learn)
    with pytest.raises(AssertionError, match="has not learnt from what it was given"):
        SGD(learners=2).fit(many(5))


def test_more_learners_than_sentences():
    tuner = SGD(learners=50, epochs=2)
    assert dict(tuner.fit(many(5)).weights) == dict(tuner.changed(learners=5).fit(many(5)).weights)


def test_a_run_of_other_learners_is_not_taken_up():
    memory = random_training(SGD(learners=2), 1).memory()
    with pytest.raises(TunesmithError, match="the run has 2 learners, and not 1; give --learners"):
        random_training(SGD(), 1).recall(memory)


@pytest.mark.parametrize("objective", ["document", "bleu+1", "scaled", "metric"])
def test_copies_of_a_scorer_are_apart(objective):
    tuning = many(6)
    scorer, same = (objective_of(objective).begin(tuning, "examples") for _ in range(2))
    own = copy_scorer(scorer)
    for row in (3, 8, 11):
        own.add(tuning.stats[row])
    total = tuning.stats[:9].sum(axis=0)
    total[0] //= 2  # an output that was too short
    own.end_round(total)
    assert scorer.values(0, 4).tolist() == same.values(0, 4).tolist()
    again = copy_scorer(scorer, json.loads(json.dumps(own.memory())))
    assert again.values(4, 8).tolist() == own.values(4, 8).tolist()
    assert own.stats is scorer.stats
    assert own.metric is scorer.metric
    changes = own.values(4, 8).tolist() != scorer.values(4, 8).tolist()
    assert changes == (objective in {"document", "scaled"})


class Forgetful(Objective):
    """What a user writes who has not thought of several learners."""

    name = "forgetful"

    def begin(self, tuning, way):
        return ForgetfulScorer(tuning)


class ForgetfulScorer(CandidateScorer):
    def __init__(self, tuning):
        self.stats, self.metric = tuning.stats, tuning.metric

    def values(self, first, last):
        return self.stats[first:last, 0].astype(float)

    def add(self, stats):
        self.last = stats


def test_a_scorer_must_say_what_it_remembers():
    about = many(5), Forgetful(), np.zeros(3), np.random.default_rng(1)
    SGD().training(*about).epoch(0)
    with pytest.raises(TunesmithError, match=r"ForgetfulScorer does not say.*--learners 1"):
        SGD(learners=2).training(*about)
    assert "forgetful" not in OBJECTIVES.names()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"learners": 0}, "learners is 0; give 1 or more"),
        ({"inbox": 0}, "inbox is 0; give 1 or more"),
        ({"clock": "free"}, "clock goes with parallel async; drop it, or change that"),
        ({"inbox": 3}, "inbox goes with parallel async; drop it, or change that"),
    ],
)
def test_wrong_options(options, said):
    for kind in KINDS:
        with pytest.raises(UsageError) as caught:
            kind(**options)
        assert str(caught.value) == said


def test_who_has_nothing_to_exchange():
    with pytest.raises(UsageError) as caught:
        Perceptron(learners=2, parallel="async")
    wanted = "has nothing to send to others; use mira, arow or sgd, or --parallel mixing"
    assert str(caught.value) == f"perceptron {wanted}"
    with pytest.raises(UsageError, match="sgd drops nothing that others send; leave out --inbox"):
        SGD(learners=2, parallel="async", inbox=3)
    with pytest.raises(UsageError, match="min-risk has nothing to send to others"):
        MinRisk(method="online", parallel="async")
    with pytest.raises(UsageError, match="learners goes with the method online"):
        MinRisk(learners=2)
    with pytest.raises(UnknownNameError, match="mixing"):
        MIRA(parallel="mix")
    with pytest.raises(UnknownNameError, match="lockstep"):
        MIRA(parallel="async", clock="fast")


def test_a_signature_tells_how_many_learn_and_how():
    assert MIRA().signature() == MIRA(clock="lockstep").signature()
    assert "learners" not in MIRA().signature()
    assert "|learners:2" in MIRA(learners=2).signature()
    free = MIRA(learners=4, parallel="async", clock="free", inbox=9).signature()
    assert "|learners:4|parallel:async|clock:free|inbox:9" in free


def test_what_is_sent_to_workers_is_what_is_needed():
    """The examples of lists, which are made of the set, are made where they are needed."""
    training = random_training(MIRA(learners=2), 5)
    before = len(pickle.dumps(training.setup))
    learn_epochs(training)
    assert len(pickle.dumps(training.setup)) == before
