"""The suite for tuners: all of ours pass, deliberately broken ones are caught."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

from tests.helpers.conformance import caught, failing
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.parallel.local import thread_count
from tunesmith.registry import option
from tunesmith.testing import ConformanceError, NotApplicable, check_tuner, tuner_checks
from tunesmith.tuners.base import TUNERS, Outcome, Tuner
from tunesmith.tuners.mert.mert import MERT

#: One of those that climb, of those that learn from pairs, and of those that learn on the way.
QUICK = ("mert", "pro", "mira")
BUILT_IN = [
    check if name in QUICK else pytest.param(check, marks=pytest.mark.long)
    for name in TUNERS.names()
    for check in tuner_checks(TUNERS.get(name))
]


@pytest.mark.parametrize("check", BUILT_IN)
def test_built_in_tuners_conform(check):
    check()


@pytest.mark.long
@pytest.mark.parametrize("directions", ["powell", "random"])
def test_mert_with_options_conforms(directions):
    check_tuner(MERT(restarts=1, walks=0, directions=directions))


@pytest.mark.long
def test_smoothed_mert_promises_less():
    check_tuner(MERT(restarts=1, walks=0, smoothing="mean"), never_worse=False)


@dataclass(frozen=True)
class Steps(Tuner):
    """Random steps from the best weights so far."""

    name = "steps"
    steps: int = option(40, "steps to try")

    def tune(self, tuning, start, rng):
        return Outcome(self.best(tuning, self.begin(tuning, start), rng).weights)

    def begin(self, tuning, start):
        return self.own_start(tuning) if start is None else start

    def best(self, tuning, begin, rng):
        lists = ListHypotheses(tuning)
        best = lists.point(begin)
        for point in self.tried(lists, begin, rng):
            best = max(best, point, key=lambda p: self.value(tuning, p))
        return best

    def tried(self, lists, begin, rng):
        spread = lists.spread()
        for _ in range(self.steps):
            yield lists.point(begin + 2.0 * rng.standard_normal(len(spread)) / spread)

    def value(self, tuning, point):
        return point.gain


def test_the_tuner_that_the_broken_ones_derive_from_conforms():
    assert failing(tuner_checks(Steps)) == {}


class SortsNames(Steps):
    """Weights by name, in the order of the alphabet."""

    def tune(self, tuning, start, rng):
        found = super().tune(tuning, start, rng).weights
        names = tuning.candidates.features.names
        by_name = dict(zip(names, found, strict=True))
        return Outcome(np.array([by_name[name] for name in sorted(names)]))


class DrawsAnew(Steps):
    def tune(self, tuning, start, rng):
        return super().tune(tuning, start, np.random.default_rng())


class DrawsGlobally(Steps):
    def tried(self, lists, begin, rng):
        for _ in range(self.steps):
            yield lists.point(
                begin + np.array([random.gauss(0, 2) for _ in begin]) / lists.spread()
            )


class ChangesTheStart(Steps):
    def begin(self, tuning, start):
        begin = super().begin(tuning, start)
        begin /= np.abs(begin).sum() or 1.0
        return begin


class ChangesTheFeatures(Steps):
    def tune(self, tuning, start, rng):
        dense = tuning.candidates.features.dense
        dense -= dense.mean(axis=1, keepdims=True)
        return super().tune(tuning, start, rng)


class RaisesTheScore(Steps):
    """Looks for the greatest score, which is the worst of an error rate."""

    def value(self, tuning, point):
        return float(tuning.metric.score(point.total))


class LowersTheScore(Steps):
    """Takes every metric for an error rate."""

    def value(self, tuning, point):
        return -float(tuning.metric.score(point.total))


class TakesTheLast(Steps):
    """Returns where it came to at last, which need not be the best."""

    def tune(self, tuning, start, rng):
        best = self.best(tuning, self.begin(tuning, start), rng)
        near = 0.05 * rng.standard_normal(len(best.weights)) / ListHypotheses(tuning).spread()
        return Outcome(best.weights + near)


class ForgetsSparseFeatures(Steps):
    def tune(self, tuning, start, rng):
        found = super().tune(tuning, start, rng).weights
        return Outcome(found[: len(tuning.candidates.features.dense_names)])


class DividesByZero(Steps):
    """Divides by a spread that is 0 for constant features, and multiplies again."""

    def tune(self, tuning, start, rng):
        found = super().tune(tuning, start, rng).weights
        features = tuning.candidates.features
        spread = np.concatenate([features.dense.std(axis=1), np.ones(len(features.sparse_names))])
        with np.errstate(invalid="ignore"):
            return Outcome(found * (spread / spread))


class CountsThreads(Steps):
    def tune(self, tuning, start, rng):
        rng.standard_normal(thread_count())
        return super().tune(tuning, start, rng)


class CountsCalls(Steps):
    """Goes on where the call before it ended."""

    calls: list[int] = []  # noqa: RUF012  (the fault)

    def tune(self, tuning, start, rng):
        self.calls.append(1)
        return super().tune(tuning, start, np.random.default_rng(len(self.calls)))


class KeepsArrays(Steps):
    def tune(self, tuning, start, rng):
        found = super().tune(tuning, start, rng)
        return Outcome(found.weights, [{"gain": 0.5, "weights": found.weights}])


class ReturnsAList(Steps):
    def tune(self, tuning, start, rng):
        return super().tune(tuning, start, rng).weights.tolist()


class HidesItsOption(Steps):
    def signature(self):
        return self.name


class WantsASum(Steps):
    needs_sum = True

    def check(self, tuning):
        pass


class ForgetsToReturn(Steps):
    def after(self, rounds):
        object.__setattr__(self, "rounds", rounds)


class KeepsRounds(Steps):
    """Begins with the first round's weights, and forever."""

    rounds = ()

    def after(self, rounds):
        object.__setattr__(self, "rounds", self.rounds or tuple(rounds))
        return self

    def begin(self, tuning, start):
        return self.rounds[0].vector if self.rounds else super().begin(tuning, start)


class RoundsOfItsOwn(Steps):
    def after(self, rounds):
        return Steps(steps=random.randint(1, 40))


SOLVED = {"lower_is_better_is_solved"}
WORSE = {"result_is_never_worse_than_the_start"}
STATE = {"same_seed_same_bits", "threads_change_nothing", "rounds_of_a_loop_go_on"}
BROKEN = [
    (SortsNames, "easy_problem_is_solved", SOLVED, "in the order of"),
    (DrawsAnew, "randomness_is_not_global", STATE, "two runs"),
    (DrawsGlobally, "randomness_is_not_global", STATE, "global random numbers"),
    (ChangesTheStart, "input_is_left_alone", set(), "start.copy()"),
    (ChangesTheFeatures, "input_is_left_alone", {"randomness_is_not_global", *STATE}, "dense"),
    (RaisesTheScore, "lower_is_better_is_solved", WORSE, "error rate"),
    (LowersTheScore, "easy_problem_is_solved", WORSE, "metric.gain"),
    (TakesTheLast, "result_is_never_worse_than_the_start", set(), "never_worse = False"),
    (ForgetsSparseFeatures, "unusual_sets_are_tuned", set(), "sparse features"),
    (DividesByZero, "unusual_sets_are_tuned", set(), "a constant feature the weights are ["),
    (CountsThreads, "threads_change_nothing", set(), "one thread and two"),
    (CountsCalls, "randomness_is_not_global", STATE, "no state between calls"),
    (KeepsArrays, "result_is_what_a_fresh_look_says", set(), "not a JSON object"),
    (HidesItsOption, "signature_tells_options", set(), "put steps into it"),
    (ForgetsToReturn, "rounds_of_a_loop_go_on", set(), "after returns NoneType"),
    (KeepsRounds, "rounds_of_a_loop_go_on", set(), "after changes the tuner itself"),
    (RoundsOfItsOwn, "rounds_of_a_loop_go_on", set(), "the same rounds give different weights"),
    (WantsASum, "metrics_of_a_corpus_are_tuned", set(), "super().check"),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("tuner", "first", "others", "said"), BROKEN, ids=[case[0].__name__ for case in BROKEN]
)
def test_broken_tuners_are_caught(tuner, first, others, said):
    caught(tuner_checks(tuner), first, others, said)


def test_the_whole_suite_reports_the_first_that_fails():
    with pytest.raises(ConformanceError, match="steps fails signature_tells_options") as error:
        check_tuner(HidesItsOption)
    assert (error.value.subject, error.value.check) == ("steps", "signature_tells_options")


def test_an_outcome_is_asked_for():
    messages = failing(tuner_checks(ReturnsAList))
    assert "return Outcome(weights)" in messages["outcome_has_a_weight_for_each_feature"]


@pytest.mark.long
def test_a_tuner_that_does_not_promise_it_may_end_worse_than_it_began():
    assert failing(tuner_checks(TakesTheLast, never_worse=False)) == {}
    modest = type("Modest", (TakesTheLast,), {"never_worse": False, "__doc__": "Steps."})
    checks = {check.name: check for check in tuner_checks(modest)}
    with pytest.raises(NotApplicable, match="nothing is promised"):
        checks["result_is_never_worse_than_the_start"]()
