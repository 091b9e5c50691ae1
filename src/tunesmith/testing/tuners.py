"""Conformance of tuners."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.registry import Registry
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing.checks import (
    CLOSE,
    Broken,
    Check,
    NotApplicable,
    checks_of,
    demand,
    demand_no_global_randomness,
    demand_same_for_threads,
    described,
    instance_of,
    name_of,
    run_all,
    same_bits,
)
from tunesmith.testing.options import (
    equal_options_are_equal,
    has_a_name,
    options_are_documented,
    signature_tells_options,
)
from tunesmith.testing.samples import (
    as_set,
    corpus,
    demand_unchanged,
    fingerprint,
    line_problem,
    odd_problems,
    rough_problem,
    rough_problems,
)
from tunesmith.tuners.base import TUNERS, Outcome, Tuner, TuneResult

#: The least share of the possible gain that a tuner reaches where one feature by itself is enough.
#: Weights in a wrong order, or of the wrong sign, reach less than half of it.
SHARE = 0.75
#: With this many groups no tuner is too careful to leave the start; an exact one that refuses them
#: is given few.
GROUPS, FEW_GROUPS = 120, 24
NAMES = ("good", "Other", "bad")


def check_tuner(tuner: Tuner | type[Tuner], never_worse: bool | None = None) -> None:
    """Raise a ConformanceError if a tuner breaks a rule.

    Parameters
    ----------
    tuner
        A tuner with its options, or a class, whose defaults are taken.
    never_worse
        Whether its weights are never worse than the start on the set they are tuned on;
        by default what its class says.
    """
    run_all(tuner_checks(tuner, never_worse))


def tuner_checks(tuner: Tuner | type[Tuner], never_worse: bool | None = None) -> list[Check[Any]]:
    """Return the checks of a tuner, for ``pytest.mark.parametrize``.

    ``tuner`` and ``never_worse`` are as for :func:`check_tuner`.
    """
    instance = instance_of(tuner)
    promised = instance.never_worse if never_worse is None else never_worse
    return checks_of(RULES, name_of(instance), _TunerProbe(instance, promised))


@dataclass
class _TunerProbe:
    """A tuner and what it promises."""

    registry: ClassVar[Registry[Any]] = TUNERS

    tuner: Tuner
    never_worse: bool

    @property
    def plugin(self) -> Tuner:
        """What is checked."""
        return self.tuner

    def takes(self, tuning: TuningSet) -> bool:
        """Tell whether the tuner agrees to work on a set."""
        try:
            self.tuner.check(tuning)
        except UsageError:
            return False
        return True

    def fit(self, tuning: TuningSet, start: Floats | None = None, rng: Any = 3) -> TuneResult:
        weights = None if start is None else Weights(tuning.candidates.features.names, start)
        return self.tuner.fit(tuning, weights, rng=rng)


def outcome_has_a_weight_for_each_feature(probe: _TunerProbe) -> None:
    """Return an Outcome with a finite weight for each feature, with a start and without."""
    for tuning in rough_problems():
        width = len(tuning.candidates.features.names)
        for start in (None, np.linspace(-1.0, 1.0, width), np.zeros(width)):
            _demand_weights(probe.tuner.tune(tuning, start, np.random.default_rng(1)), width)


def _demand_weights(outcome: object, width: int, where: str = "") -> None:
    demand(
        isinstance(outcome, Outcome),
        f"tune returns {type(outcome).__name__}",
        "return Outcome(weights)",
    )
    assert isinstance(outcome, Outcome)
    weights = np.asarray(outcome.weights)
    demand(
        weights.shape == (width,) and weights.dtype == np.float64,
        f"{where}the weights are {weights.dtype}{list(weights.shape)} for {width} features",
        "return one float64 for each feature, dense and sparse, in their order",
    )
    demand(
        np.isfinite(weights).all(),
        f"{where}the weights are {weights.tolist()}",
        "keep weights finite",
    )


def result_is_what_a_fresh_look_says(probe: _TunerProbe) -> None:
    """Give a result whose score its weights reach, and that can be written as JSON."""
    for tuning in rough_problems():
        result = probe.fit(tuning)
        fresh = _score_by_hand(tuning, result.weights.aligned(tuning.candidates.features.names))
        demand(
            abs(fresh - result.score) <= CLOSE * max(1.0, abs(fresh)),
            f"the result's score is {result.score:.12g} and its weights reach {fresh:.12g}",
            "leave fit as it is: it evaluates what tune returns",
        )
        try:
            json.dumps(result.to_dict(), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise Broken(
                f"the result is not a JSON object ({error}); "
                "put finite numbers and texts of Python into history and certificate"
            ) from None


def _score_by_hand(tuning: TuningSet, weights: Floats) -> float:
    """Score the winners, found without the package's own kernels."""
    candidates = tuning.candidates
    sparse = candidates.features.sparse.toarray()
    vectors = np.column_stack([candidates.features.dense.T, sparse])
    chosen = []
    for lo, hi in zip(candidates.start[:-1], candidates.start[1:], strict=True):
        scores = [sum(w * h for w, h in zip(weights, v, strict=True)) for v in vectors[lo:hi]]
        chosen.append(int(lo) + scores.index(max(scores)))
    return tuning.score(np.array(chosen))


def input_is_left_alone(probe: _TunerProbe) -> None:
    """Leave the set and the starting weights as they are."""
    for tuning in rough_problems()[:2]:
        before = fingerprint(tuning)
        start = np.array([0.3, -0.2, 0.1])
        passed = start.copy()
        probe.tuner.tune(tuning, passed, np.random.default_rng(1))
        demand(
            same_bits(passed, start), "it changes the starting weights", "begin with start.copy()"
        )
        probe.fit(tuning)
        demand_unchanged(tuning, before, "set")


def same_seed_same_bits(probe: _TunerProbe) -> None:
    """Return the same weights for the same seed, as a number or as a generator."""
    for tuning in rough_problems()[:2]:
        first, *others = (probe.fit(tuning, rng=rng) for rng in (7, 7, np.random.default_rng(7)))
        for other in others:
            demand(
                same_bits(first.weights.vector, other.weights.vector),
                "the same seed gives different weights",
                "draw from nothing but rng, and keep no state between calls",
            )


def randomness_is_not_global(probe: _TunerProbe) -> None:
    """Draw from the generator that is given, never from global random numbers."""
    tuning = rough_problems()[0]
    demand_no_global_randomness(partial(_fitted_vector, probe, tuning), same_bits)


def threads_change_nothing(probe: _TunerProbe) -> None:
    """Return the same bits for one thread and for two."""
    for tuning in rough_problems()[:2]:
        demand_same_for_threads(
            partial(_fitted_vector, probe, tuning),
            "weights",
            "let the pieces of work, and the order of sums, not depend on the threads",
        )


def _fitted_vector(probe: _TunerProbe, tuning: TuningSet) -> Floats:
    return probe.fit(tuning).weights.vector


def unusual_sets_are_tuned(probe: _TunerProbe) -> None:
    """Tune sets with single candidates, equal vectors, constant or sparse features."""
    for description, tuning in odd_problems().items():
        width = len(tuning.candidates.features.names)
        for start in (None, np.ones(width)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # it may warn that there is little to learn
                    outcome = probe.tuner.tune(tuning, start, np.random.default_rng(1))
            except Exception as error:
                raise Broken(
                    f"a set with {description} raises {described(error)}; such sets are valid"
                ) from error
            _demand_weights(outcome, width, f"on a set with {description} ")


def easy_problem_is_solved(probe: _TunerProbe) -> None:
    """Find the one feature that is enough, in whatever order the names are."""
    _demand_solved(probe, lower=False)


def lower_is_better_is_solved(probe: _TunerProbe) -> None:
    """Do the same where the metric is an error rate."""
    _demand_solved(probe, lower=True)


def _demand_solved(probe: _TunerProbe, lower: bool) -> None:
    for turn in range(len(NAMES)):
        names = NAMES[turn:] + NAMES[:turn]
        tuning = line_problem(names, lower, groups=GROUPS)
        if not probe.takes(tuning):
            tuning = line_problem(names, lower, groups=FEW_GROUPS)
        start = {"good": -1.0, "bad": 0.5, "Other": 0.1}
        result = probe.fit(tuning, np.array([start[n] for n in names]))
        gained = result.score - result.initial_score
        possible = result.oracle_score - result.initial_score
        kind = "an error rate" if lower else "a metric"
        demand(
            gained / possible >= SHARE,
            f"on an easy problem with {kind} and the features {', '.join(names)} it goes from "
            f"{result.initial_score:.3g} to {result.score:.3g}; {result.oracle_score:.3g} is "
            "possible",
            "return weights in the order of tuning.candidates.features.names, and look for the "
            "greatest metric.gain, whose sign is right for error rates too",
        )


def result_is_never_worse_than_the_start(probe: _TunerProbe) -> None:
    """Return weights at least as good as the start, if never_worse."""
    if not probe.never_worse:
        raise NotApplicable("never_worse is False: nothing is promised")
    for seed in range(4):
        tuning = rough_problem(seed, lower=bool(seed % 2))
        sign = 1.0 if tuning.metric.higher_is_better else -1.0
        start = np.random.default_rng(seed).normal(size=3)
        for _ in range(3):  # what was found is a start that is hard to beat
            result = probe.fit(tuning, start)
            demand(
                sign * result.score >= sign * result.initial_score - CLOSE,
                f"it goes from {result.initial_score:.6g} to {result.score:.6g} with "
                f"{tuning.metric.name}",
                "return the start if nothing better was found, or set never_worse = False in "
                "the class if it does not promise this",
            )
            start = result.weights.vector.copy()


def metrics_of_a_corpus_are_tuned(probe: _TunerProbe) -> None:
    """Tune for BLEU, which is no sum over sentences, or refuse it if needs_sum."""
    tuning = TuningSet(as_set(corpus()), "bleu")
    if not probe.tuner.needs_sum:
        demand(np.isfinite(probe.fit(tuning).score), "the score is not finite", "fix it")
        return
    try:
        probe.fit(tuning)
    except UsageError:
        return
    demand(False, "needs_sum is True and BLEU is accepted", "call super().check(tuning) in check")


def rounds_of_a_loop_go_on(probe: _TunerProbe) -> None:
    """Return from after, with rounds or without, a tuner that tunes, the same each time."""
    tuning = rough_problems()[0]
    names = tuning.candidates.features.names
    start = Weights(names, np.linspace(-1.0, 1.0, len(names)))
    other = Weights(names, np.linspace(0.5, 1.0, len(names)))
    before = probe.fit(tuning, start.vector)
    for rounds in ([], [other, start]):
        vectors = []
        for _ in range(2):
            tuner = probe.tuner.after(rounds)
            demand(
                isinstance(tuner, Tuner),
                f"after returns {type(tuner).__name__}",
                "return a tuner: self, if it has no use for earlier weights",
            )
            result = tuner.fit(tuning, start, rng=3)
            _demand_weights(Outcome(result.weights.vector), len(names), "in a loop ")
            vectors.append(result.weights.vector)
        demand(
            same_bits(*vectors),
            "the same rounds give different weights",
            "let after depend on the rounds alone, and keep no state between calls",
        )
    demand(
        same_bits(before.weights.vector, probe.fit(tuning, start.vector).weights.vector),
        "after changes the tuner itself",
        "return a copy that knows the rounds",
    )


#: From the simple to the involved: the first that fails is the one to fix first.
RULES = (
    has_a_name,
    options_are_documented,
    equal_options_are_equal,
    signature_tells_options,
    outcome_has_a_weight_for_each_feature,
    input_is_left_alone,
    randomness_is_not_global,
    same_seed_same_bits,
    threads_change_nothing,
    result_is_what_a_fresh_look_says,
    easy_problem_is_solved,
    lower_is_better_is_solved,
    result_is_never_worse_than_the_start,
    unusual_sets_are_tuned,
    metrics_of_a_corpus_are_tuned,
    rounds_of_a_loop_go_on,
)
