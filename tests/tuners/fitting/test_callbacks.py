"""Callbacks: what they are told, in which order, and what becomes of their errors."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from tests.helpers.builders import candidate_set
from tests.helpers.loop.toy import Toy, sentences
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.auto import Auto
from tunesmith.tuners.batch_mira import BatchMIRA
from tunesmith.tuners.fitting.callbacks import Callback
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.pro.pro import PRO

QUICK = MERT(restarts=1, walks=0)
SETS = {
    "tune": Inputs.of(*sentences(12, 1)),
    "dev": Inputs.of(*sentences(9, 2)),
    "test": Inputs.of(*sentences(7, 3)),
}


class Listener(Callback):
    """Records all calls, and fails where it is told to."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.calls = []

    def _record(self, what, *about):
        self.calls.append((what, *about))
        if what == self.fails:
            raise RuntimeError(f"no\nroom in {what}")

    def on_start(self, settings, key):
        self._record("on_start", settings, key)

    def on_step(self, step):
        self._record("on_step", step)

    def on_end(self, result):
        self._record("on_end", result)

    def on_failure(self, error):
        self._record("on_failure", error)

    @property
    def kinds(self):
        return list(dict.fromkeys(what for what, *_ in self.calls))

    @property
    def steps(self):
        return [about[0] for what, *about in self.calls if what == "on_step"]


def made(seed):
    """Return eight groups of texts, each with one of them as the reference."""
    rng = np.random.default_rng(seed)
    words = [[" ".join(rng.choice(list("abcd"), 5)) for _ in range(4)] for _ in range(8)]
    candidates = candidate_set(
        [[tuple(rng.normal(size=3)) for _ in group] for group in words],
        texts=[text for group in words for text in group],
        references=[[group[0]] for group in words],
    )
    return TuningSet(candidates, "bleu")


@pytest.fixture(scope="module")
def tuning():
    return made(3)


@pytest.fixture(scope="module")
def dev():
    return made(4)


def same(first, second):
    """Tell whether two results are the same but for the time they took."""
    found = [{**one.to_dict(), "seconds": 0, "path": None} for one in (first, second)]
    return found[0] == found[1]


@pytest.mark.parametrize(
    "tuner",
    [QUICK, BatchMIRA(passes=3), BatchMIRA(passes=3, pick="best"), PRO(iterations=2)],
    ids=["mert", "batch-mira", "picked", "pro"],
)
def test_steps_are_those_of_the_history_and_then_the_result(tuner, tuning, dev):
    listener = Listener()
    result = tuner.fit(tuning, dev=dev, callbacks=[listener])
    assert listener.kinds == ["on_start", "on_step", "on_end"]
    *steps, last = listener.steps
    assert [step.number for step in steps] == [entry["step"] for entry in result.history]
    assert [step.figures["score"] for step in steps] == [e["score"] for e in result.history]
    assert last.number == len(result.history)
    assert last.figures["score"] == result.score
    assert last.figures["dev_score"] == result.dev.score
    assert last.weights == result.weights
    assert listener.calls[-1] == ("on_end", result)
    assert same(tuner.fit(tuning, dev=dev), result)


def test_tuners_in_rounds_tell_weights_as_they_go(tuning):
    listener = Listener()
    counts = []

    @dataclasses.dataclass(frozen=True)
    class Watched(BatchMIRA):
        def rounds(self, *about):
            for one in super().rounds(*about):
                counts.append(len(listener.steps))
                yield one

    result = Watched(passes=3, pick="last").fit(tuning, normalise="none", callbacks=[listener])
    assert counts == [1, 2, 3]  # the start, and every round before the next one
    for step in listener.steps:
        assert step.figures["score"] == pytest.approx(
            tuning.score(_winners(tuning, step.weights)), abs=1e-9
        )
    assert listener.steps[3].weights == result.weights


def _winners(tuning, weights):
    scores = tuning.candidates.features.dense.T @ weights.aligned(tuning.names)
    start = tuning.candidates.start
    return np.array([lo + np.argmax(scores[lo:hi]) for lo, hi in itertools.pairwise(start)])


def test_settings_say_what_is_run(tuning, dev):
    listener = Listener()
    QUICK.fit(tuning, rng=5, dev=dev, drop="f2", callbacks=[listener])
    _, settings, key = listener.calls[0]
    expected = {"tuner": "mert", "tuner.restarts": 1, "seed": 5, "drop": "f2", "dev_groups": 8}
    assert expected.items() <= settings.items()
    assert settings["metric"].startswith("bleu|")
    assert key is None


@pytest.mark.parametrize("options", [{"runs": 2}, {"runs": 2, "combine": "average"}])
def test_several_runs_are_told_in_the_order_of_the_history(options, tuning):
    listener = Listener()
    result = BatchMIRA(passes=2).fit(tuning, callbacks=[listener], **options)
    steps = listener.steps[:-1]
    assert [step.figures["run"] for step in steps] == [e["run"] for e in result.history]


def test_several_settings_are_told_in_the_order_of_the_history(tuning, dev):
    listener = Listener()
    tuner = BatchMIRA(passes=2, pick="dev")
    result = tuner.fit(tuning, dev=dev, callbacks=[listener])
    assert len(result.history) == 3
    assert [step.number for step in listener.steps] == [0, 1, 2, 3]


def test_a_choice_of_tuners_is_one_run(tuning, dev):
    listener = Listener()
    result = Auto().fit(tuning, dev=dev, callbacks=[listener])
    assert [what for what, *_ in listener.calls if what != "on_step"] == ["on_start", "on_end"]
    assert listener.calls[0][1]["tuner"] == "auto"
    assert listener.calls[-1] == ("on_end", result)


@pytest.mark.parametrize("where", ["on_start", "on_step", "on_end"])
def test_an_error_of_a_listener_is_one_warning(where, tuning):
    bad, good = Listener(where), Listener()
    with pytest.warns(UserWarning, match=f"Listener failed.*RuntimeError: no room in {where}") as w:
        result = QUICK.fit(tuning, callbacks=[bad, good])
    assert len(w) == 1
    assert bad.kinds[-2:] == [where, "on_failure"]
    assert good.calls[-1] == ("on_end", result)
    assert same(QUICK.fit(tuning), result)


def test_errors_and_interruptions_are_told(tuning):
    @dataclasses.dataclass(frozen=True)
    class Interrupted(MERT):
        def stages(self, *about):
            raise KeyboardInterrupt

    listener = Listener()
    with pytest.raises(KeyboardInterrupt):
        Interrupted().fit(tuning, callbacks=[listener])
    assert listener.kinds == ["on_start", "on_failure"]
    listener = Listener()
    with pytest.raises(TunesmithError):
        QUICK.fit(tuning, start={"nothing": 1.0}, callbacks=[listener])
    assert listener.kinds == ["on_start", "on_failure"]


@pytest.mark.parametrize("wrong", [[print], "mlflow", Listener()])
def test_what_is_no_list_of_callbacks_is_refused(wrong, tuning):
    with pytest.raises(UsageError, match="list of Callback objects"):
        QUICK.fit(tuning, callbacks=wrong)


class TestOldNames:
    def test_a_subclass_with_old_names_works_and_is_warned_of_once(self, tuning):
        with pytest.warns(DeprecationWarning, match="Old: .*begun .* on_start") as caught:

            class Old(Callback):
                def __init__(self):
                    self.calls = []

                def begun(self, settings, key):
                    super().begun(settings, key)
                    self.calls.append("begun")

                def on_step(self, step):
                    self.calls.append("step")

        assert len(caught) == 1
        old = Old()
        QUICK.fit(tuning, callbacks=[old])
        assert list(dict.fromkeys(old.calls)) == ["begun", "step"]

    def test_old_names_call_the_new_methods(self):
        class New(Callback):
            def on_start(self, settings, key):
                self.settings = settings

        with pytest.warns(DeprecationWarning, match="Newer"):

            class Newer(New):
                def begun(self, settings, key):
                    super().begun({**settings, "b": 2}, key)

        newer = Newer()
        newer.on_start({"a": 1}, None)
        assert newer.settings == {"a": 1, "b": 2}
        new = New()
        new.begun({"a": 1}, None)
        assert new.settings == {"a": 1}

    def test_a_mixin_with_an_old_name_counts(self):
        class Mixin:
            def failed(self, error):
                self.error = error

        with pytest.warns(DeprecationWarning, match="failed .* on_failure"):

            class Mixed(Mixin, Callback):
                pass

        mixed = Mixed()
        mixed.on_failure(KeyError())
        assert isinstance(mixed.error, KeyError)


class TestLoops:
    def run(self, listener, rounds=3, **about):
        loop = Loop(rounds=rounds, weight_tolerance=0.0)
        return loop.run(Toy(), QUICK, **SETS, callbacks=[listener], **about)

    def test_every_round_is_told_with_all_sets_and_weights(self):
        listener = Listener()
        result = self.run(listener)
        assert listener.kinds == ["on_start", "on_step", "on_end"]
        figures, weights = {}, {}
        for step in listener.steps:
            figures.setdefault(step.number, {}).update(step.figures)
            if step.weights is not None:
                weights[step.number] = dict(step.weights)
        for entry in result.rounds:
            number = entry["round"]
            assert weights[number] == entry["weights"]
            given = {k: v for k, v in entry.items() if k not in ("round", "weights", "chosen")}
            assert figures[number] == {k: v for k, v in given.items() if v is not None}
        assert len(weights) == len(result.rounds)

    def test_rounds_are_told_before_the_next_one_is_decoded(self):
        listener = Listener()
        told = []

        class Watched(Toy):
            def decode(self, *about):
                told.append(len([step for step in listener.steps if step.weights is not None]))
                return super().decode(*about)

        Loop(rounds=2, weight_tolerance=0.0).run(
            Watched(), QUICK, SETS["tune"], callbacks=[listener]
        )
        assert told == [0, 1, 2][: len(told)]
        assert len(told) > 1

    def test_a_run_that_goes_on_has_the_same_key_and_the_same_numbers(self, tmp_path):
        first, second = Listener(), Listener()
        self.run(first, 1, work_dir=tmp_path / "run")
        self.run(second, 3, work_dir=tmp_path / "run")
        assert first.calls[0][2] == second.calls[0][2] is not None
        before = [(s.number, s.figures.get("score"), s.weights) for s in first.steps]
        after = [(s.number, s.figures.get("score"), s.weights) for s in second.steps]
        assert after[: len(before)] == before
        assert len(after) > len(before)
        other = Listener()
        self.run(other, 1, work_dir=tmp_path / "other")
        assert other.calls[0][2] != first.calls[0][2]
        plain = Listener()
        self.run(plain, 1)
        assert plain.calls[0][2] is None

    def test_settings_say_what_is_run(self):
        listener = Listener()
        self.run(listener, seed=4)
        _, settings, _ = listener.calls[0]
        expected = {"decoder": "toy", "tuner": "mert", "rounds": 3, "seed": 4, "tune_on": "lists"}
        assert expected.items() <= settings.items()
        assert (settings["tune_groups"], settings["test_groups"]) == (12, 7)
