"""Online tuning in which each sentence is decoded when the learner comes to it."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import threading
from dataclasses import dataclass

import numpy as np
import pytest

from tests.helpers.loop.forest_toy import Counting, ForestToy
from tests.helpers.loop.live import DEV, START, TUNE, fixed, live
from tests.helpers.loop.runs import bleu, plain
from tests.helpers.loop.toy import NAMES, sentences
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DecoderError
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.loop import forest_running
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.candidate_scorer import CandidateScorer, DocumentScorer
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.parallel import local
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tuners.min_risk import MinRisk
from tunesmith.tuners.online.arow import AROW
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.online.model import decode_floats
from tunesmith.tuners.online.perceptron import Perceptron
from tunesmith.tuners.online.sgd import SGD

pytestmark = pytest.mark.long

TEST = Inputs.of(*sentences(5, 3))
EPOCHS = 3
TUNERS = [
    MIRA(epochs=EPOCHS),
    AROW(epochs=EPOCHS),
    SGD(epochs=EPOCHS),
    Perceptron(epochs=EPOCHS),
    MinRisk(method="online", epochs=EPOCHS),
]
OTHERS = [
    MIRA(epochs=EPOCHS, objective="brevity-smoothed"),
    MIRA(epochs=EPOCHS, objective="scaled"),
    MIRA(epochs=EPOCHS, objective="metric", scale=False, average=False),
    MIRA(epochs=EPOCHS, reference="local", rate=0.1),
    MIRA(epochs=EPOCHS, mu=-2.0, mu_decay=0.5),
]


def essence(result):
    """Return what must be equal; a signature says how forests came about."""
    found = plain_result(result)
    return {key: value for key, value in found.items() if key not in {"signature", "data"}}


def plain_result(result):
    found = json.loads(json.dumps(result.to_dict()))
    found.pop("seconds")
    for one in found["path"] or []:
        one.pop("seconds")
    return found


@pytest.mark.parametrize("tuner", [*TUNERS, *OTHERS], ids=lambda t: t.signature()[:60])
def test_forests_that_do_not_change_are_a_fixed_set(tuner):
    """Bit by bit, with the same seed."""
    wanted = tuner.fit(fixed(TUNE), START, fixed(DEV), 7, test=fixed(TEST), others=["chrf"])
    sets = (live(ForestToy(), inputs) for inputs in (TUNE, DEV, TEST))
    tune, dev, test = sets
    found = tuner.fit(tune, START, dev, 7, test=test, others=["chrf"])
    assert essence(found) == essence(wanted)
    assert dict(found.weights) != dict(START)


@pytest.mark.parametrize("tuner", [*TUNERS[:2], TUNERS[-1], OTHERS[1]], ids=lambda t: t.name)
def test_the_loop_goes_the_same_way(tuner):
    """Its rounds are the epochs of a fit, from which a held-out set chooses."""
    loop = Loop(tune_on="live", final="last").run(ForestToy(), tuner, TUNE, dev=DEV, seed=7)
    every = tuner.changed(pick="dev").fit(fixed(TUNE), START, fixed(DEV), 7, normalise="none")
    last = tuner.fit(fixed(TUNE), START, None, 7, normalise="none")
    assert dict(loop.weights) == dict(last.weights)
    assert loop.score == last.score
    assert [one["score"] for one in loop.rounds] == [one["score"] for one in every.path]
    assert [one["dev_score"] for one in loop.rounds] == [one["dev_score"] for one in every.path]
    chosen = Loop(tune_on="live").run(ForestToy(), tuner, TUNE, dev=DEV, seed=7)
    assert dict(chosen.weights) == dict(every.weights)


def test_some_features_and_another_scale():
    options = {"drop": "f1", "normalise": "l1"}
    tuner = MIRA(epochs=2)
    with pytest.warns(UserWarning, match="weights of dropped features are 0: f1"):
        loop = Loop(final="last").run(ForestToy(), tuner, TUNE, seed=3, **options)
    with pytest.warns(UserWarning, match="weights of dropped features are 0: f1"):
        wanted = tuner.fit(fixed(TUNE), START, None, 3, **options)
    assert dict(loop.weights) == dict(wanted.weights)
    assert loop.weights["f1"] == 0.0
    assert sum(map(abs, loop.weights.values())) == pytest.approx(1.0)


def test_each_sentence_is_decoded_under_the_weights_of_the_moment():
    decoder = Counting()
    result = Loop().run(decoder, MIRA(epochs=2, average=False), TUNE)
    single = [(weights, ids[0]) for weights, ids in decoder.asked if len(ids) == 1]
    assert len(single) == 2 * len(TUNE.sentences)
    for epoch in (single[:10], single[10:]):
        assert sorted(i for _, i in epoch) == list(range(10))
    assert [i for _, i in single[:10]] != [i for _, i in single[10:]]
    assert single[0][0].tolist() == START.aligned(NAMES).tolist()
    # Weights change within an epoch; the second begins where the first has ended.
    assert len({weights.tobytes() for weights, _ in single[:10]}) > 1
    after = result.rounds[1]["weights"]
    assert single[10][0].tolist() == [after[name] for name in NAMES]


@pytest.fixture(scope="module")
def found():
    return Loop().run(
        ForestToy(beam=0.2), MIRA(epochs=3), TUNE, dev=DEV, test=TEST, others=["chrf"]
    )


def test_every_epoch_has_its_scores(found):
    assert [one["round"] for one in found.rounds] == [0, 1, 2, 3]
    for one in found.rounds:
        for key, inputs in {"score": TUNE, "dev_score": DEV, "test_score": TEST}.items():
            assert one[key] == pytest.approx(bleu(one["weights"], inputs, ForestToy()), abs=1e-9)
        assert one["new"] is one["candidates"] is one["list_score"] is None
    (chosen,) = (one for one in found.rounds if one["chosen"])
    assert chosen["dev_score"] == max(one["dev_score"] for one in found.rounds)
    assert found.stopped == "the limit of rounds"
    assert found.score > found.initial_score
    assert found.oracle_score >= found.score - 1e-9
    assert [entry["round"] for entry in found.history] == [1, 2, 3]
    assert all(0 <= entry["changes"] <= 10 for entry in found.history)
    shown = str(found)
    assert "on lists" not in shown
    assert " new " not in shown
    assert "|live|" in found.signature


def test_any_number_of_threads_gives_the_same():
    found = []
    for count in (1, 2):
        with local.threads(count):
            found.append(plain(Loop().run(ForestToy(beam=0.12), MIRA(epochs=2), TUNE, dev=DEV)))
    for one in found:
        one.pop("threads")
    assert found[0] == found[1]


class StopError(Exception):
    """An end that nobody expects."""


class Stopping(ForestToy):
    """Fails at one of its calls."""

    def __init__(self, left):
        super().__init__(beam=0.12)
        object.__setattr__(self, "left", [left])

    def configuration(self):
        return ForestToy(beam=0.12).configuration()

    def forests(self, weights, asked):
        if self.left[0] == 0:
            raise StopError
        self.left[0] -= 1
        return super().forests(weights, asked)


@pytest.mark.parametrize(
    "tuner",
    [TUNERS[1], TUNERS[4], OTHERS[1]],
    ids=lambda t: t.signature()[:60],
)
def test_taken_up_again_it_comes_to_the_same(tmp_path, tuner):
    wanted = plain(Loop().run(ForestToy(beam=0.12), tuner, TUNE, dev=DEV))
    whole = Counting(beam=0.12)
    Loop().run(whole, tuner, TUNE, dev=DEV)
    count = len(whole.asked)
    assert count > 3 * len(TUNE.sentences)
    for k, left in enumerate(np.random.default_rng(1).permutation(count)[:3].tolist()):
        folder = tmp_path / str(k)
        with pytest.raises(StopError):
            Loop().run(Stopping(left), tuner, TUNE, dev=DEV, work_dir=folder)
        again = Loop().run(Stopping(-1), tuner, TUNE, dev=DEV, work_dir=folder)
        assert plain(again) == wanted


def test_killed_and_taken_up_again_in_another_process(tmp_path):
    if not sys.platform.startswith("linux"):
        pytest.skip("needs fork and SIGKILL")
    with local.threads(1):
        wanted = plain(Loop().run(ForestToy(beam=0.12), MIRA(epochs=2), TUNE))
        program = (
            "import os, signal, sys\n"
            "from tests.loop.test_live import *\n"
            "class Killed(Stopping):\n"
            "    def forests(self, weights, asked):\n"
            "        if self.left[0] == 0:\n"
            "            os.kill(os.getpid(), signal.SIGKILL)\n"
            "        return super().forests(weights, asked)\n"
            "with local.threads(1):\n"
            "    Loop().run(Killed(18), MIRA(epochs=2), TUNE, work_dir=sys.argv[1])\n"
        )
        code = os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", program, str(tmp_path)])
        assert code == -signal.SIGKILL
        # The first epoch is done, and is not done again.
        assert (tmp_path / "round-00" / "tuned.json").exists()
        assert not (tmp_path / "round-01" / "tuned.json").exists()
        again = Counting(beam=0.12)
        found = Loop().run(again, MIRA(epochs=2), TUNE, work_dir=tmp_path)
    assert plain(found) == wanted
    assert sum(len(ids) == 1 for _, ids in again.asked) == len(TUNE.sentences)


def test_a_decoder_that_fails_within_an_epoch():
    class Failing(ForestToy):
        def forests(self, weights, asked):
            if len(asked) == 1:
                raise DecoderError(f"sentence {asked[0].id}: no rule; fix the grammar")
            return super().forests(weights, asked)

    with pytest.raises(DecoderError, match=r"^epoch 1: sentence \d+: no rule; fix the grammar$"):
        Loop().run(Failing(), MIRA(epochs=1), TUNE)


def test_a_run_is_prolonged(tmp_path):
    tuner = MIRA(epochs=1)
    Loop().run(ForestToy(beam=0.12), tuner, TUNE, work_dir=tmp_path)
    longer = tuner.changed(epochs=3)
    found = Loop().run(ForestToy(beam=0.12), longer, TUNE, work_dir=tmp_path)
    assert plain(found) == plain(Loop().run(ForestToy(beam=0.12), longer, TUNE))
    with pytest.raises(UsageError, match="another run"):
        Loop().run(ForestToy(beam=0.12), tuner.changed(rate=0.5), TUNE, work_dir=tmp_path)


def test_what_a_learner_remembers_may_be_numbers_and_may_be_damaged(tmp_path):
    """Numbers are what earlier versions wrote; nothing else goes on."""
    tuner, longer = MIRA(epochs=1), MIRA(epochs=2)
    Loop().run(ForestToy(beam=0.12), tuner, TUNE, work_dir=tmp_path)
    file = tmp_path / "round-00" / "tuned.json"
    whole = json.loads(file.read_text())
    own = whole["memory"]["learned"]
    numbers = {
        key: decode_floats(value).tolist() if isinstance(value, str) else value
        for key, value in own.items()
    }
    for learned in ({}, {**own, "late": own["late"][:-8]}, {**numbers, "weights": [1.0]}):
        file.write_text(json.dumps({**whole, "memory": {**whole["memory"], "learned": learned}}))
        with pytest.raises(TunesmithError, match=r"round-00/tuned.json: it is damaged"):
            Loop().run(ForestToy(beam=0.12), longer, TUNE, work_dir=tmp_path)
    file.write_text(json.dumps({**whole, "memory": {**whole["memory"], "learned": numbers}}))
    found = Loop().run(ForestToy(beam=0.12), longer, TUNE, work_dir=tmp_path)
    assert plain(found) == plain(Loop().run(ForestToy(beam=0.12), longer, TUNE))


def test_an_objective_that_does_not_say_what_it_remembers(tmp_path, monkeypatch):
    tuner = MIRA(epochs=1)
    monkeypatch.setattr(DocumentScorer, "memory", CandidateScorer.memory)
    Loop().run(ForestToy(), tuner, TUNE, work_dir=tmp_path)
    with pytest.raises(TunesmithError, match="DocumentScorer does not say what it remembers"):
        Loop().run(ForestToy(), tuner.changed(epochs=2), TUNE, work_dir=tmp_path)


def test_nothing_is_kept_of_a_sentence(monkeypatch):
    """Forests of single sentences go, and those that told what is usual."""
    import gc
    import weakref

    alive = []

    class Watched(ForestToy):
        def forests(self, weights, asked):
            found = super().forests(weights, asked)
            alive.append(weakref.ref(found))
            return found

    most = [0]
    add = forest_running.Training.epoch

    def epoch(self, number):
        gc.collect()
        most[0] = max(most[0], sum(one() is not None for one in alive))
        return add(self, number)

    monkeypatch.setattr(forest_running.Training, "epoch", epoch)
    Loop().run(Watched(), MIRA(epochs=3), TUNE)
    assert most[0] == 0


def test_the_start_may_be_what_the_tuner_says():
    start = dict.fromkeys(NAMES, 0.0)
    tuner = MIRA(epochs=1, initial=("f1=2",))
    found = Loop(final="last").run(ForestToy(), tuner, TUNE, start=start, seed=2)
    wanted = tuner.fit(fixed(TUNE), None, None, 2, normalise="none")
    assert dict(found.weights) == dict(wanted.weights)
    # What is usual is that of these weights: under none at all anything is.
    decoder = Counting()
    Loop().run(decoder, tuner, TUNE, start=start)
    assert [0.0, 2.0, 0.0] in [weights.tolist() for weights, ids in decoder.asked if len(ids) > 1]
    with pytest.raises(UsageError, match="initial goes without starting weights"):
        Loop().run(ForestToy(), tuner, TUNE, start=dict(START))


def test_other_metrics(monkeypatch):
    tuner = MIRA(epochs=2)
    found = Loop(final="last").run(ForestToy(), tuner, TUNE, metric="wer", seed=2)
    whole = TUNE.with_references(ForestToy().forests(START, TUNE.sentences))
    wanted = tuner.fit(ForestTuning(whole, METRICS.create("wer")), START, None, 2, normalise="none")
    assert dict(found.weights) == dict(wanted.weights)
    assert found.score == wanted.score


def test_how_forests_are_searched_counts():
    options = ForestOptions(search="linear")
    tuner = MIRA(epochs=2)
    found = Loop(final="last").run(ForestToy(), tuner, TUNE, seed=2, forest_options=options)
    whole = TUNE.with_references(ForestToy().forests(START, TUNE.sentences))
    wanted = tuner.fit(ForestTuning(whole, "bleu", options), START, None, 2, normalise="none")
    assert dict(found.weights) == dict(wanted.weights)


def test_weights_for_the_same_names():
    weights = Weights(("a", "b"), np.array([1.0, 2.0]))
    other = weights.with_values(np.array([3.0, 4.0]))
    assert dict(other) == {"a": 3.0, "b": 4.0}
    assert other.aligned(("b", "c")).tolist() == [4.0, 0.0]
    assert other.aligned(other.names).tolist() == [3.0, 4.0]
    other.aligned(other.names)[0] = 9.0
    assert other["a"] == 3.0
    with pytest.raises(TunesmithError, match="one value per name"):
        weights.with_values(np.zeros(3))
    with pytest.raises(TunesmithError, match="not finite"):
        weights.with_values(np.array([np.nan, 0.0]))


@dataclass(frozen=True)
class Shared(ForestToy):
    """May be used by several threads, and notes which do."""

    is_thread_safe = True
    beam: float | None = 0.12
    seen: list[int] = dataclasses.field(default_factory=list, compare=False)

    def forests(self, weights, sentences):
        self.seen.append(threading.get_ident())
        return super().forests(weights, sentences)

    def configuration(self):
        return ForestToy(beam=self.beam).configuration()


@pytest.mark.parametrize(
    "tuner",
    [
        MIRA(epochs=3),
        Perceptron(epochs=3),
        MIRA(epochs=3, learners=3),
        AROW(epochs=3, learners=3, parallel="async"),
        SGD(epochs=3, learners=2, parallel="async"),
    ],
    ids=lambda t: f"{t.name}-{t.learners}-{t.parallel}",
)
def test_threads_that_decode_at_the_same_time_change_nothing(tuner):
    """One learner, whose next sentence is decoded ahead, and several side by side."""
    found = []
    for count in (1, 2):
        decoder = Shared()
        with local.threads(count):
            found.append(plain(Loop().run(decoder, tuner, TUNE, dev=DEV)))
        found[-1].pop("threads")
        others = set(decoder.seen) - {threading.get_ident()}
        assert bool(others) == (count == 2)
    assert found[0] == found[1]


def test_a_decoder_that_threads_may_not_share_is_asked_by_one_alone():
    class Alone(Shared):
        is_thread_safe = False

    for learners in (1, 3):
        decoder = Alone()
        with local.threads(2):
            Loop().run(decoder, MIRA(epochs=1, learners=learners), TUNE)
        assert set(decoder.seen) == {threading.get_ident()}
