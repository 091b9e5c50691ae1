"""Ctrl-C as a wish to have what was found so far."""

from __future__ import annotations

import signal
import threading

import pytest

import tunesmith as ts
from tunesmith.interruption import (
    Interruption,
    SoFar,
    check,
    interruptible,
    is_interrupted,
    keep,
    keeping,
    told_to,
    uninterrupted,
    whole_or_nothing,
)
from tunesmith.tuners.base import Outcome, Tuner


def press() -> None:
    signal.raise_signal(signal.SIGINT)


class Slow(Tuner):
    """Gives ever better weights, and is interrupted after so many of them."""

    name = "slow"

    def __init__(self, presses=(2,)):
        self.presses = presses

    def tune(self, tuning, start, rng):
        found = []

        def so_far():
            return SoFar({0: Outcome(found[-1])}, f"{len(found)} of 9 draws") if found else None

        keep(so_far)
        for draw in range(9):
            if draw in self.presses:
                press()
            found.append(self.own_start(tuning) * (draw + 1))
        return Outcome(found[-1])


@pytest.fixture(scope="module")
def tuning() -> ts.TuningSet:
    candidates = ts.from_arrays(
        groups=[0, 0, 1, 1],
        features={"f": [0.0, 1.0, 2.0, 0.5], "g": [1.0, 0.0, 0.0, 1.0]},
        texts=["a b c d", "a b c x", "k l m n", "k l m y"],
        references={0: ["a b c d"], 1: ["k l m n"]},
    )
    return ts.TuningSet(candidates)


def test_fit_returns_what_there_is(tuning: ts.TuningSet) -> None:
    whole = Slow(()).fit(tuning, normalise="none")
    assert (whole.interrupted, whole.stopped) == (False, None)
    with interruptible():
        found = Slow().fit(tuning, normalise="none")
    assert (found.interrupted, found.stopped) == (True, "interrupted after 2 of 9 draws")
    assert found.weights["f"] == pytest.approx(whole.weights["f"] * 2 / 9)
    assert found.to_dict()["interrupted"] is True
    assert "interrupted after 2 of 9 draws" in str(found)


def test_unless_it_is_asked_to_it_does_not(tuning: ts.TuningSet) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        Slow().fit(tuning)
    assert not isinstance(caught.value, Interruption)


def test_before_the_first_step_there_is_nothing(tuning: ts.TuningSet) -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        Slow((0,)).fit(tuning)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_comes_after_an_interruption_does_not_begin(tuning: ts.TuningSet) -> None:
    with interruptible():
        assert Slow().fit(tuning).interrupted
        with pytest.raises(Interruption):
            Slow(()).fit(tuning)


def test_callbacks_hear_of_the_result(tuning: ts.TuningSet) -> None:
    class Listening(ts.Callback):
        heard: list = []  # noqa: RUF012

        def on_end(self, result):
            self.heard.append(result.interrupted)

        def on_failure(self, error):
            self.heard.append(type(error))

    with interruptible():
        Slow().fit(tuning, callbacks=[Listening()])
    with pytest.raises(KeyboardInterrupt), interruptible():
        Slow((0,)).fit(tuning, callbacks=[Listening()])
    assert Listening.heard == [True, Interruption]


def test_one_that_waits() -> None:
    with interruptible():
        assert not is_interrupted()
        check()
        with uninterrupted():
            with uninterrupted():
                press()
            assert is_interrupted()
        with pytest.raises(Interruption):
            check()
    check()


def test_the_second_does_not_wait() -> None:
    called = []
    with interruptible(lambda: called.append("")), uninterrupted():
        press()
        with pytest.raises(KeyboardInterrupt) as caught:
            press()
        assert not isinstance(caught.value, Interruption)
    assert called == [""]


def test_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible():
            press()
            assert not is_interrupted()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_other_threads_nothing_changes() -> None:
    found = []

    def run() -> None:
        with interruptible(), uninterrupted():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_the_last_that_was_told_comes_first() -> None:
    with keeping() as kept:
        assert kept.so_far() is None
        keep(lambda: SoFar({}, "first"))
        keep(lambda: None)
        assert kept.so_far() == SoFar({}, "first")
        keep(lambda: SoFar({}, "second"))
        assert kept.so_far() == SoFar({}, "second")
        with keeping() as inner:  # a run within a run returns nothing of its own
            assert not inner.is_wanted
            keep(lambda: SoFar({}, "third"))
            assert inner.so_far() is None
        with whole_or_nothing():
            keep(lambda: SoFar({}, "fourth"))
        with told_to(inner):
            assert inner.so_far() is None
        assert kept.so_far() == SoFar({}, "second")
        kept.forget()
        assert kept.so_far() is None
