"""Several algorithms on one set, of which a held-out set chooses."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UsageError, recorded_warnings, reissue
from tunesmith.inference.lists.hypotheses import best as best_of
from tunesmith.interruption import Interruption, returns_so_far, uninterrupted
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.progress import progress
from tunesmith.registry import distinct_texts, option
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import TUNERS, Outcome, Tuner, evaluated_here
from tunesmith.tuners.batch_mira import BatchMIRA
from tunesmith.tuners.fitting.callbacks import Callback, callbacks_of_run, settings_of
from tunesmith.tuners.fitting.guards import unguarded
from tunesmith.tuners.fitting.remembering import Remembering
from tunesmith.tuners.fitting.result import TuneResult
from tunesmith.tuners.fitting.secondary import HeldOut, SecondaryMetric, scores_on
from tunesmith.tuners.fitting.stages import Evaluated
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.min_risk import MinRisk
from tunesmith.tuners.pro.pro import PRO
from tunesmith.tuners.ramp import Ramp

#: Up to so many features there are few.
FEW = 50
#: Lengths that PRO tries: the advice of the length paper is to try them.
LENGTHS = ("grounded", "bleu+1", "brevity-smoothed")
#: Strengths of a penalty on many weights.
STRENGTHS = (0.3, 0.03)
#: A step of batch MIRA that fits the tuning set less than the usual one.
SMALL_STEP = 0.003
#: Scores that differ by less, as a share of the scale, are about the same: 0.1 BLEU.
ABOUT = 1e-3
#: Of so many groups one is held out where there is no held-out set.
EVERY = 4
#: Fewer groups than these are too few to hold some out.
LEAST = 8


@TUNERS.register("auto")
@dataclass(frozen=True)
class Auto(Remembering):
    """Run the algorithms that suit the features and the metric; a held-out set chooses.

    MERT where features are few, penalised MERT where they are many; PRO with several ways to
    count length, batch MIRA, the ramp loss and minimum risk for both; and the starting weights as
    they are. Of those that are about as good as the best on the held-out set, it takes the one
    whose output on the tuning set is nearest to the references in length, as Nakov, Guzmán and
    Vogel (2012) advise. Without a held-out set a quarter of the groups chooses, and the chosen
    algorithm is run again on all of them.
    """

    contender: tuple[str, ...] = option(
        (),
        "algorithm to try, as pro:objective=scaled, instead of the usual ones",
        "NAME",
        convert=distinct_texts,
    )
    _race: _Race | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.contender:
            _checked(name)

    never_worse = False
    runs_apart = False  # a race notes who failed
    settings_are = "contenders"

    def settings(self) -> list[dict[str, Any]]:
        """Return the contenders; before there are data, what would be tried on many features."""
        known = None if self._race is None else self._race.contenders
        return [{"tuner": name} for name in known or self._contenders(None, (), 0)]

    def _contenders(
        self, start: Mapping[str, float] | None, dense: Sequence[str], width: int
    ) -> dict[str, Tuner]:
        """Return what is tried on a set with some dense features among all."""
        if self.contender:
            return {name: TUNERS.create(name) for name in self.contender}
        found: dict[str, Tuner] = {} if start is None else {"start": _Stay()}
        if width <= FEW:
            found["mert"] = MERT()
        else:
            found |= _penalised(start, dense)
        for name in LENGTHS:
            found[f"pro, {name}"] = PRO(objective=(name,))
        found |= {"pro": PRO(), "batch-mira": BatchMIRA()}
        found["batch-mira, small steps"] = BatchMIRA(c=(SMALL_STEP,), pick="last")
        return found | {"ramp": Ramp(), "min-risk": MinRisk()}

    def _able(self, metric: Metric, contenders: Mapping[str, Tuner]) -> dict[str, Tuner]:
        """Return those that can tune for a metric; all must where a user has named them."""
        found, errors = {}, []
        for name, tuner in contenders.items():
            try:
                tuner.check_metric(metric)
            except TunesmithError as error:
                errors.append(error)
            else:
                found[name] = tuner
        if errors and (self.contender or not found):
            raise errors[0]
        if self.contender:
            return found
        # PRO's own objective is one of the lengths for BLEU, and for others the only one.
        lengths = {f"pro, {name}" for name in LENGTHS}
        unwanted = {"pro"} if isinstance(metric, BLEU) else lengths
        return {name: tuner for name, tuner in found.items() if name not in unwanted}

    def check_choice(self, has_dev: bool, remedy: str) -> None:
        """Do not ask for a held-out set: a part can be held out."""

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if no contender can tune for a metric."""
        self._able(metric, self._contenders(None, (), 0))

    def prepared(
        self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator
    ) -> tuple[Auto, Outcome | None]:
        """Decide who is tried."""
        race = self._race or _Race()
        features = tuning.candidates.features
        given = None if start is None else Weights(features.names, start)
        made = self._contenders(given, features.dense_names, len(features.names))
        able = self._able(tuning.metric, made)
        chosen = {name: able[name] for name in able if race.only in (None, name)}
        if self.earlier is not None:
            chosen = {name: one.after(self.earlier) for name, one in chosen.items()}
        return self.changed(_race=dataclasses.replace(race, contenders=chosen)), None

    def stages(
        self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator
    ) -> Iterator[Outcome]:
        """Run each contender; one that fails stays at the start, an error if all do."""
        race = self._race or _Race()
        contenders, failed = race.contenders, race.failed
        for k, (name, tuner) in enumerate(contenders.items()):
            progress("contenders", k, len(contenders), name)
            try:
                tuner.check(tuning)
                # The random numbers that it would have by itself, so that a row can be had again.
                with _named(name):
                    outcome = tuner.tune(tuning, start, copy.deepcopy(rng))
                yield outcome
            except TunesmithError as error:
                failed.add(name)
                if not contenders.keys() - failed - {"start"}:
                    raise
                warnings.warn(f"{name} failed: {error}", stacklevel=2)
                yield Outcome(self.own_start(tuning) if start is None else start, is_start=True)
        progress("contenders", len(contenders), len(contenders), "")

    def tune(self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Run all contenders; without a held-out set the best on the set itself is taken."""
        ready, _ = self.prepared(tuning, start, rng)
        sign = 1.0 if tuning.metric.higher_is_better else -1.0
        return max(
            ready.stages(tuning, start, rng),
            key=lambda o: sign * tuning.score(best_of(tuning.candidates, o.weights)),
        )

    def choose(self, found: Sequence[Evaluated], metric: Metric) -> Evaluated:
        """Return what is best, or about as good and nearer to the references in length."""
        failed = self._race.failed if self._race else ()
        fine = [one for one in found if one.stage.setting["tuner"] not in failed]
        return fine[_choice([one.entry(False) for one in fine], metric)]

    def fit(
        self,
        tuning: Task,
        start: Mapping[str, float] | None = None,
        dev: Task | None = None,
        rng: np.random.Generator | int | None = None,
        strict: bool = False,
        *,
        callbacks: Sequence[Callback] = (),
        **about: Any,
    ) -> TuneResult:
        """Tune weights on a set; see :meth:`Tuner.fit`.

        Without ``dev``, a quarter of the groups chooses, and the chosen algorithm is run again on
        all of them.
        """
        self.check(tuning)
        test = about.get("test")
        seed = None if isinstance(rng, np.random.Generator) else (1 if rng is None else rng)
        own = {"seed": seed, **{k: v for k, v in about.items() if k in ("runs", "normalise")}}
        settings = functools.partial(settings_of, self, tuning, dev, test, own)
        with callbacks_of_run(callbacks, settings) as callback_list:
            result = self._raced(tuning, start, dev, rng, strict, **about)
            with uninterrupted():
                callback_list.on_fit(result)
        return result

    def _raced(
        self,
        tuning: Task,
        start: Mapping[str, float] | None,
        dev: Task | None,
        rng: np.random.Generator | int | None,
        strict: bool,
        **about: Any,
    ) -> TuneResult:
        """Let all run, on three quarters of the groups if there is no other set to choose by."""
        groups = tuning.groups

        def run(part: Task, held: Task | None, only: str | None = None) -> TuneResult:
            race = _Race(only)
            own = self.changed(_race=race)
            # A generator goes on from run to run, a seed does not: with both, runs begin alike.
            numbers = rng if held is dev else copy.deepcopy(rng)
            # Parts of one set may share sentences that recur in it, which is nobody's mistake.
            with unguarded() if held is not dev else contextlib.nullcontext():
                result = Tuner.fit(own, part, start, held, numbers, strict, **about)
            return race.explained(result, part)

        self.check_forests(tuning.lists is None)
        lists = tuning.lists
        if dev is not None or groups < LEAST or lists is None:  # forests were refused
            return run(tuning, dev)
        order = np.random.default_rng(groups).permutation(groups)
        count = groups // EVERY
        first = run(lists.part(np.sort(order[count:])), lists.part(np.sort(order[:count])))
        if first.path is None:  # nobody to choose from
            return run(tuning, None)
        chosen = next(entry["tuner"] for entry in first.path if entry["chosen"])
        reason = f"{first.reason}; dev: {count} groups held out"
        result = None
        try:
            with _said_once(first.warnings):
                result = None if first.interrupted else run(tuning, None, chosen)
        except Interruption:
            if not returns_so_far():
                raise
        if result is None or result.interrupted:
            before = dataclasses.replace(_on_all(first, lists, about), reason=reason)
            sign = 1.0 if tuning.metric.higher_is_better else -1.0
            if result is None or sign * result.score < sign * before.score:
                return before
        return dataclasses.replace(
            result,
            path=first.path,
            signature=f"{result.signature}|chosen:{chosen}",
            reason=f"{reason}, then run on all",
            seconds=first.seconds + result.seconds,
            warnings=list(dict.fromkeys(first.warnings + result.warnings)),
        )


def _on_all(first: TuneResult, tuning: TuningSet, about: Mapping[str, Any]) -> TuneResult:
    """Evaluate on all groups what was found on some of them before an interruption."""
    held_out = HeldOut(None, about.get("test"))
    with uninterrupted(), evaluated_here(True):
        beside = [SecondaryMetric.of(one, tuning, held_out) for one in about.get("others", ())]
        oracle_score, oracle_exact = tuning.oracle_at(first.weights.aligned(tuning.names))
        scores = dataclasses.asdict(scores_on(tuning, first.start, first.weights))
        others = tuple(one.scores(first.start, first.weights) for one in beside)
    done = len(first.path or ())
    return dataclasses.replace(
        first,
        **scores,
        dev=None,
        oracle_score=oracle_score,
        oracle_exact=oracle_exact,
        others=others,
        data=tuning.files + held_out.files,
        stopped=first.stopped or f"interrupted after {done} of {done} {Auto.settings_are}",
        interrupted=True,
    )


@dataclass(frozen=True)
class _Race:
    """One run over the contenders, or over one of them; and who could not be run.

    Who they are is known when the data have been seen.
    """

    only: str | None = None
    contenders: Mapping[str, Tuner] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def explained(self, result: TuneResult, tuning: Task) -> TuneResult:
        """Add who failed, and why the chosen one was."""
        if result.path is None:
            return result
        path = [
            entry | ({"failed": True} if entry["tuner"] in self.failed else {})
            for entry in result.path
        ]
        chosen = next(entry["tuner"] for entry in path if entry["chosen"])
        return dataclasses.replace(
            result,
            path=path,
            reason=_reason(path, tuning.metric),
            signature=f"{result.signature}|chosen:{chosen}",
        )


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Pass on warnings with the name of whom they are about."""
    with recorded_warnings() as caught:
        yield
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            warnings.warn(f"{name}: {warning.message}", stacklevel=3)


@contextlib.contextmanager
def _said_once(before: Sequence[str]) -> Iterator[None]:
    """Pass on warnings that have not been given before."""
    with recorded_warnings() as caught:
        yield
    reissue(warning for warning in caught if str(warning.message) not in before)


def _penalised(start: Mapping[str, float] | None, dense: Sequence[str]) -> dict[str, Tuner]:
    """Return MERT for many features: drawn to the start, or to what few dense ones come to."""
    if start is None and not 0 < len(dense) <= FEW:
        return {}  # there is nothing to draw towards, and without it MERT fits the set alone
    towards: dict[str, Any] = {"core": tuple(dense)} if start is None else {"prior": start}
    return {
        f"mert, l2-prior {strength:g}": MERT(
            directions="gradient", penalty="l2-prior", strength=(strength,), **towards
        )
        # Towards weights that are yet to be found one will do: what is strong is not known.
        for strength in (STRENGTHS if start is not None else STRENGTHS[1:])
    }


class _Stay(Tuner):
    """Keep the weights that are given: there may be none that are better."""

    name = "start"

    def tune(self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator) -> Outcome:
        return Outcome(self.own_start(tuning) if start is None else start, is_start=True)


def _choice(path: Sequence[Mapping[str, Any]], metric: Metric) -> int:
    """Return the number of the setting to take.

    Of those that are about as good as the best, the one whose length ratio on the tuning set is
    nearest to 1; the best itself where lengths are not known.
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    key = "score" if path[0]["dev_score"] is None else "dev_score"
    scores = [sign * entry[key] for entry in path]
    best = int(np.argmax(scores))
    if path[best]["length_ratio"] is None:
        return best
    near = [k for k, score in enumerate(scores) if score >= scores[best] - ABOUT * metric.scale]
    return min(near, key=lambda k: (abs(path[k]["length_ratio"] - 1.0), -scores[k]))


def _reason(path: Sequence[Mapping[str, Any]], metric: Metric) -> str:
    """Say why what was chosen was."""
    sign = 1.0 if metric.higher_is_better else -1.0
    key, where = ("score", "tune") if path[0]["dev_score"] is None else ("dev_score", "dev")
    chosen = next(entry for entry in path if entry["chosen"])
    fine = [entry for entry in path if not entry.get("failed")]
    best = max(fine, key=lambda entry: sign * float(entry[key]))
    if chosen is best:
        return f"{chosen['tuner']}: best on {where}"
    return (
        f"{chosen['tuner']}: within {ABOUT * metric.scale:g} of {best['tuner']}, the best on "
        f"{where}, and nearer to the references' length on tune ({chosen['length_ratio']:.3f} "
        f"against {best['length_ratio']:.3f})"
    )


def _checked(name: str) -> None:
    """Raise an error if an algorithm cannot be tried."""
    tuner = TUNERS.create(name)
    if tuner.name == Auto.name:
        raise UsageError("auto cannot be its own contender; name others")
    if len(tuner.settings()) > 1:
        raise UsageError(
            f"contender {name} has several settings; give each by itself, and pick best or last"
        )
