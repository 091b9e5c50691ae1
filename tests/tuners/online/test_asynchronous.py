"""Learners that send each other working sets: Algorithm 4, held against the same written out."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tests.helpers.parallel.fragile import Fragile
from tests.helpers.tiers import examples
from tests.helpers.tuners.online import (
    EPOCHS,
    SEEDS,
    WIDTH,
    learn_epochs,
    many,
    random_texts,
    random_training,
)
from tests.helpers.tuners.plain_learners import PlainClass
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.online.arow import AROW
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.online.sgd import SGD
from tunesmith.tuners.online.training import Training

MARGINS = [
    MIRA(epochs=EPOCHS, parallel="async", epsilon=1e-9),
    AROW(epochs=EPOCHS, parallel="async", epsilon=1e-9, confidence=0.5),
]
UPDATES = SGD(epochs=EPOCHS, parallel="async", rate=0.05)
pytestmark = pytest.mark.filterwarnings("ignore:with --clock free")


@settings(max_examples=examples(30))
@given(
    SEEDS,
    st.sampled_from(MARGINS),
    st.integers(2, 7),
    st.sampled_from([1, 2, 64]),
    st.booleans(),
)
def test_algorithm_4_written_out(seed, tuner, learners, inbox, average):
    tuner = replace(tuner, learners=learners, inbox=inbox, average=average)
    start = np.random.default_rng(seed).normal(size=WIDTH)
    about = random_texts(seed), objective_of("document"), start
    plain = PlainClass(tuner, *about, np.random.default_rng(seed + 1))
    found = random_training(tuner, seed)
    for epoch in range(EPOCHS):
        weights = found.epoch(epoch).weights
        assert weights == pytest.approx(plain.epoch(epoch), rel=1e-5, abs=1e-5)


@settings(max_examples=examples(30))
@given(SEEDS, st.integers(2, 7), st.booleans())
def test_updates_are_summed(seed, learners, average):
    tuner = replace(UPDATES, learners=learners, average=average)
    start = np.random.default_rng(seed).normal(size=WIDTH)
    about = random_texts(seed), objective_of("document"), start
    plain = PlainClass(tuner, *about, np.random.default_rng(seed + 1))
    training = random_training(tuner, seed)
    for epoch in range(EPOCHS):
        weights = training.epoch(epoch).weights
        assert weights == pytest.approx(plain.epoch(epoch), rel=1e-9, abs=1e-9)


@settings(max_examples=examples(30))
@given(SEEDS, st.integers(2, 5), st.sampled_from(["lockstep", "free"]), st.integers(0, 30))
def test_weights_and_what_waits_are_the_same_for_all(seed, learners, clock, losses):
    """No update is lost, and none is added twice, whoever is faster or dies on the way."""
    with working_on(Fragile(seed, losses)):
        training = random_training(replace(UPDATES, learners=learners, clock=clock), seed)
        for epoch in range(EPOCHS):
            entry = training.epoch(epoch).entry
            assert entry["sets_dropped"] == 0
            masters = []
            for learner, queue in zip(training.learners, training._exchange._queues, strict=True):
                weights = learner.model.weights.copy()
                for shared in queue:
                    weights[shared.features] += learner.model.rates[shared.features] * shared.values
                masters.append(weights)
            for master in masters[1:]:
                assert master == pytest.approx(masters[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("tuner", [*MARGINS, UPDATES], ids=lambda t: t.name)
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("clock", ["lockstep", "free"])
def test_one_learner_among_workers_is_the_serial_one(tuner, average, clock, monkeypatch):
    tuner = replace(tuner, average=average, clock=clock)
    serial = replace(tuner, parallel="mixing", clock="lockstep")
    for seed in range(5):
        wanted = learn_epochs(random_training(serial, seed))
        assert learn_epochs(random_training(tuner, seed)) == wanted
        with monkeypatch.context() as patch, working_on(Fragile(seed, losses=20)):
            patch.setattr(
                Training,
                "_learn",
                lambda own, order, epoch: own._exchange.epoch(
                    own.setup, own.learners, order, epoch
                ),
            )
            assert learn_epochs(random_training(tuner, seed)) == wanted


@settings(max_examples=examples(25))
@given(SEEDS, st.sampled_from([*MARGINS, UPDATES]), st.integers(2, 5), st.integers(0, 40))
def test_in_step_who_works_and_who_is_lost_change_no_bit(seed, tuner, learners, losses):
    tuner = replace(tuner, learners=learners)
    with threads(1):
        wanted = learn_epochs(random_training(tuner, seed))
    with working_on(Fragile(seed, losses)):
        assert learn_epochs(random_training(tuner, seed)) == wanted


def test_threads_change_no_bit():
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(learn_epochs(random_training(replace(MARGINS[1], learners=4), 7)))
    assert found[0] == found[1]


def given_out(engine, learners):
    """Return the sentences that each learner was given, and the sets that came with each."""
    found = [[] for _ in range(learners)]
    for actor, (groups, _, received) in engine.calls:
        (group,) = groups
        found[actor].append((group, received))
    return found


@settings(max_examples=examples(25))
@given(SEEDS, st.integers(2, 5), st.sampled_from([1, 3, 64]), st.integers(0, 30))
def test_free_learners_see_each_sentence_once(seed, learners, inbox, losses):
    tuner = replace(MARGINS[0], learners=learners, clock="free", inbox=inbox)
    engine = Fragile(seed, losses)
    with working_on(engine):
        training = random_training(tuner, seed)
        groups = training.setup.tuning.groups
        for epoch in range(EPOCHS):
            before = len(engine.calls)
            entry = training.epoch(epoch).entry
            calls = engine.calls[before:]
            distinct = {groups[0]: received for _, (groups, _, received) in calls}
            assert sorted(distinct) == list(range(groups))
            assert len(calls) == groups + entry["learners_replaced"]
            assert all(len(received) <= inbox for received in distinct.values())
            received = sum(one.bytes for sets in distinct.values() for one in sets)
            assert entry["bytes_received"] == received
            assert entry["sets_sent"] <= groups
        assert sum(one.model.sentences for one in training.learners) == EPOCHS * groups


def test_a_slow_learner_neither_stalls_nor_floods():
    """It has one sentence while the others do the rest; what waits for it is bounded."""
    tuning, engine = many(), Fragile(1, slow={0})
    tuner = MIRA(learners=3, parallel="async", clock="free", inbox=5, rate=0.5)
    with working_on(engine):
        training = tuner.training(
            tuning, objective_of("bleu+1"), np.zeros(3), np.random.default_rng(1)
        )
        first = training.epoch(0).entry
        training.epoch(1)
    own = given_out(engine, 3)[0]
    assert [len(received) for _, received in own] == [0, 5]
    waited = first["sets_sent"] - 1  # its own
    assert first["sets_dropped"] >= waited - 5 > 10
    assert training.learners[0].model.sentences == 2
    sent = [
        steps[0].update.working_set
        for actor, steps in engine.answers[: tuning.groups]
        if actor != 0
    ]
    newest = [one.values.tolist() for one in sent if one is not None][-5:]
    assert [one.values.tolist() for one in own[1][1]] == newest


def test_in_step_the_sets_of_the_last_step_are_read():
    tuning, engine = many(), Fragile(1)
    tuner = MIRA(learners=4, parallel="async", rate=0.5)
    with working_on(engine):
        training = tuner.training(
            tuning, objective_of("bleu+1"), np.zeros(3), np.random.default_rng(1)
        )
        entry = training.epoch(0).entry
    order = np.random.default_rng(1).permutation(40).reshape(10, 4)
    for k, calls in enumerate(given_out(engine, 4)):
        assert [group for group, _ in calls] == order[:, k].tolist()
        assert calls[0][1] == ()
        assert all(len(received) <= 3 for _, received in calls)
    assert entry["sets_dropped"] == 0
    # All is sent once and read by three, but for the last sets, which wait for the next epoch.
    waiting = sum(one.bytes for queue in training._exchange._queues for one in queue)
    assert entry["bytes_received"] + waiting == 3 * entry["bytes_sent"] > 0


@pytest.mark.parametrize("tuner", MARGINS, ids=lambda t: t.name)
@pytest.mark.parametrize("inbox", [1, 64])
def test_a_run_goes_on_where_it_was(tuner, inbox):
    own = replace(tuner, learners=3, inbox=inbox)
    whole, first, second = (random_training(own, 11) for _ in range(3))
    wanted = learn_epochs(whole)
    first.epoch(0)
    memory = json.loads(json.dumps(first.memory()))
    assert any(memory["exchange"]["queues"])  # what was sent last has not been read
    second.recall(memory)
    with working_on(Fragile(5, losses=10)):
        rest = [second.epoch(epoch).weights.tobytes() for epoch in range(1, EPOCHS)]
    assert rest == [one[0] for one in wanted[1:]]


def test_sentences_without_a_reference_learn_from_others():
    """Bold: no candidate of the second sentence is its reference."""
    texts = ["a b c d e", "e d c b a", "c d a b e", "d e a c b"]
    vectors = [[[1.0, 0.0], [0.0, 1.0]], [[3.0, 1.0], [1.0, 2.0]]]
    lists = candidate_set(vectors, (), texts, [["e d c b a"], ["a b c d e"]])
    tuner = MIRA(reference="bold", learners=2, parallel="async", epochs=3, rate=0.5)
    training = tuner.training(
        TuningSet(lists), objective_of("bleu+1"), np.array([0.5, 0.0]), np.random.default_rng(1)
    )
    before = [one.model.weights.copy() for one in training.learners]
    sent = [training.epoch(epoch).entry["sets_sent"] for epoch in range(3)]
    assert max(sent) == 1  # the other sentence has no working set
    for one, weights in zip(training.learners, before, strict=True):
        assert one.model.weights[1] > weights[1]


def test_that_results_cannot_be_reproduced_is_told_once():
    with pytest.warns(UserWarning, match="with --clock free the weights depend on who is faster"):
        MIRA(learners=2, parallel="async", clock="free", epochs=1).fit(many(5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MIRA(learners=2, parallel="async", epochs=1).fit(many(5))
