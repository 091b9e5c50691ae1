"""Iterative parameter mixing, held against the same written out, and against the serial learner."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.parallel.fragile import Fragile
from tests.helpers.tiers import examples
from tests.helpers.tuners.online import (
    EPOCHS,
    SEEDS,
    WIDTH,
    learn_epochs,
    random_texts,
    random_training,
)
from tests.helpers.tuners.plain_learners import PlainClass
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import threads
from tunesmith.tuners.min_risk import MinRisk
from tunesmith.tuners.online.arow import AROW
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.online.mixing import mixing_epoch
from tunesmith.tuners.online.model import Model, decode_floats, encode_floats
from tunesmith.tuners.online.perceptron import Perceptron
from tunesmith.tuners.online.sgd import SGD
from tunesmith.tuners.online.training import Training

ALL = [
    Perceptron(epochs=EPOCHS),
    SGD(epochs=EPOCHS),
    MIRA(epochs=EPOCHS, epsilon=1e-9),
    AROW(epochs=EPOCHS, confidence=0.5, epsilon=1e-9),
    MinRisk(method="online", epochs=EPOCHS),
]


@settings(max_examples=examples(30))
@given(
    SEEDS,
    st.sampled_from(ALL),
    st.integers(2, 8),
    st.booleans(),
    st.sampled_from(["document", "bleu+1", "scaled"]),
)
def test_mixing_written_out(seed, tuner, learners, average, objective):
    tuner = replace(tuner, learners=learners, average=average)
    start = np.random.default_rng(seed).normal(size=WIDTH)
    about = random_texts(seed), objective_of(objective), start
    plain = PlainClass(tuner, *about, np.random.default_rng(seed + 1))
    found = random_training(tuner, seed, objective)
    for epoch in range(EPOCHS):
        weights = found.epoch(epoch).weights
        assert weights == pytest.approx(plain.epoch(epoch), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("tuner", ALL, ids=lambda t: t.name)
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("objective", ["document", "scaled"])
def test_one_learner_among_workers_is_the_serial_one(tuner, average, objective, monkeypatch):
    tuner = replace(tuner, average=average)
    for seed in range(5):
        wanted = learn_epochs(random_training(tuner, seed, objective))
        with monkeypatch.context() as patch, working_on(Fragile(seed, losses=20)):
            patch.setattr(
                Training,
                "_learn",
                lambda own, order, epoch: mixing_epoch(own.setup, own.learners, order, epoch),
            )
            assert learn_epochs(random_training(tuner, seed, objective)) == wanted


@settings(max_examples=examples(25))
@given(SEEDS, st.sampled_from(ALL), st.integers(2, 5), st.integers(0, 40))
def test_who_works_and_who_is_lost_change_no_bit(seed, tuner, learners, losses):
    tuner = replace(tuner, learners=learners)
    with threads(1):
        wanted = learn_epochs(random_training(tuner, seed))
    engine = Fragile(seed, losses)
    with working_on(engine):
        assert learn_epochs(random_training(tuner, seed)) == wanted
    assert engine.closed == EPOCHS


@pytest.mark.parametrize("tuner", ALL, ids=lambda t: t.name)
def test_threads_change_no_bit(tuner):
    tuner = replace(tuner, learners=4)
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(learn_epochs(random_training(tuner, 7)))
    assert found[0] == found[1]


def test_learners_that_were_lost_are_counted():
    engine = Fragile(3, losses=30)
    with working_on(engine):
        learning = random_training(MIRA(learners=3), 3)
        entries = [learning.epoch(epoch).entry for epoch in range(EPOCHS)]
    assert sum(entry["learners_replaced"] for entry in entries) == engine.lost > 0


@pytest.mark.parametrize("tuner", ALL, ids=lambda t: t.name)
@pytest.mark.parametrize("objective", ["document", "scaled"])
def test_a_run_goes_on_where_it_was(tuner, objective):
    for learners in (2, 3):
        own = replace(tuner, learners=learners)
        first, wanted = (random_training(own, 11, objective) for _ in range(2))
        whole = learn_epochs(wanted)
        done = first.epoch(0)
        memory = json.loads(json.dumps(first.memory()))
        second = random_training(own, 11, objective)
        second.recall(memory)
        assert done.weights.tobytes() == whole[0][0]
        with working_on(Fragile(5, losses=10)):
            rest = [second.epoch(epoch).weights.tobytes() for epoch in range(1, EPOCHS)]
        assert rest == [one[0] for one in whole[1:]]


@given(st.lists(st.floats(width=64), max_size=30))
def test_numbers_are_kept_to_the_last_bit(numbers):
    wanted = np.array(numbers, np.float64)
    assert (
        decode_floats(json.loads(json.dumps(encode_floats(wanted)))).tobytes() == wanted.tobytes()
    )


def test_the_memory_of_many_features_is_small():
    many = Model(np.zeros(20_000), np.ones(20_000))
    many.add((np.arange(0, 20_000, 10, dtype=np.int32), np.random.default_rng(1).normal(size=2000)))
    assert len(json.dumps(many.memory())) < 100_000
