"""A committee of tuners, whose average is taken as far as held-out sentences support it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UsageError, recorded_warnings
from tunesmith.interruption import SoFar, check, keep, whole_or_nothing
from tunesmith.kernels.compiling import working_seconds
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.parallel.device import device_for, is_demanded
from tunesmith.progress import progress
from tunesmith.registry import Texts, distinct_texts, option
from tunesmith.search.space.space import Space
from tunesmith.tasks.base import Task
from tunesmith.tuners.base import TUNERS, Outcome, Tuner
from tunesmith.tuners.batch_mira import BatchMIRA
from tunesmith.tuners.fitting.constrained import Constrained
from tunesmith.tuners.fitting.folds import Folds
from tunesmith.tuners.fitting.remembering import Remembering
from tunesmith.tuners.fitting.result import TuneResult
from tunesmith.tuners.fitting.verdict import PairedStatistics, resampled_scores
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.pro.pro import PRO
from tunesmith.tuners.ramp import Ramp

#: With more features than this, MERT without a penalty fits the tuning set alone.
FEW_FEATURES = 50
#: The usual members on forests, where line searches and online learning take long.
ON_FORESTS = ("batch-mira", "ramp", "pro")
#: With fewer sentences than this nothing can be held out.
FEW_SENTENCES = 10
#: Steps from the start (0) to the average of the members (1), and beyond.
STEPS = tuple(k / 8 for k in range(13))
#: The start counts as much as this many sentences.
PRIOR_SENTENCES = 10
#: A member this many standard errors below the best one stays out.
WORSE = 2.0


@TUNERS.register("auto")
@dataclass(frozen=True)
class Auto(Constrained, Remembering):
    """Average several tuners, and go from the start towards them as far as unseen text supports.

    A held-out set of a thousand sentences cannot tell good tuners apart: which of them is best on
    new text is mostly chance. So this tuner does not choose. Each member tunes on all parts of the
    tuning set but one, in turn, and then on all of it. The weights of all members are brought to
    one scale and averaged. Members that are clearly worse than the best on held-out sentences are
    left out; the others count equally, because shares estimated from the same sentences are mostly
    chance (Timmermann 2006).

    Held-out sentences also decide how far to go from the start towards the average: the mean of
    the best steps over samples of them (Breiman 1996), at most all the way, times n / (n + 10), as
    if 10 of n + 10 sentences spoke for the start. They also estimate the gain on other text, so
    that no separate set is needed. With fewer than 10 sentences nothing is held out, and the step
    goes all the way.

    A development set takes part in these decisions. Members that do not support the metric, the
    restrictions on weights, or forests are left out.
    """

    member: Texts = option(
        (),
        "a member of the committee, such as pro:objective=scaled, instead of the default ones",
        "NAME",
        convert=distinct_texts,
    )
    parts: int = option(5, "parts of the tuning set, each held out in turn", least=2)
    contender: Texts = option(
        (), "deprecated: the former name of member", "NAME", convert=distinct_texts
    )
    _dev: Task | None = field(default=None, compare=False, repr=False, kw_only=True)

    never_worse = False
    takes_forests = True
    uses_device = True
    uses_lists = True
    runs_apart = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.contender:
            if self.member:
                raise UsageError("contender is the former name of member; drop it")
            warnings.warn(
                "contender of auto is deprecated; use member", DeprecationWarning, stacklevel=3
            )
            # Under its name of now, copies do not warn again.
            vars(self).update(member=self.contender, contender=())
        for name in self.member:
            _check_member(name)

    def members(self, count: int) -> dict[str, Tuner]:
        """Return the members for a number of features."""
        is_constrained = any(self.restrictions.values())
        if self.member:
            members = {name: TUNERS.create(name) for name in self.member}
        else:
            members = {"batch-mira": BatchMIRA(), "ramp": Ramp(), "pro": PRO()}
            if count <= FEW_FEATURES:
                members = {"mert": MERT(restarts=2, walks=1), **members}
        if not is_constrained:
            return members
        for name, tuner in members.items():
            if not isinstance(tuner, Constrained):
                raise UsageError(f"member {name} cannot hold restrictions on weights; leave it out")
        return {name: replace(tuner, **self.restrictions) for name, tuner in members.items()}  # type: ignore[type-var]

    def _able(self, metric: Metric, members: Mapping[str, Tuner]) -> dict[str, Tuner]:
        """Return the members that can tune for a metric; all must where a user has named them."""
        able, errors = {}, []
        for name, tuner in members.items():
            try:
                tuner.check_metric(metric)
            except TunesmithError as error:
                errors.append(error)
            else:
                able[name] = tuner
        if errors and (self.member or not able):
            raise errors[0]
        return able

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if no member can tune for a metric."""
        self._able(metric, self.members(0))

    def asks_hope(self, metric: Metric) -> bool | None:
        """Whether any member asks for hope and fear, of whole forests or of the best alone."""
        answers = {member.asks_hope(metric) for member in self.members(0).values()}
        return max((answer for answer in answers if answer is not None), default=None)

    def check_forests(self, has_forests: bool) -> None:
        """Raise an error if there are forests, and a named member cannot work on them."""
        super().check_forests(has_forests)
        for name in self.member:
            TUNERS.create(name).check_forests(has_forests)

    def fit(
        self,
        tuning: Task,
        start: Mapping[str, float] | None = None,
        dev: Task | None = None,
        *rest: Any,
        **more: Any,
    ) -> TuneResult:
        """Tune weights on a set; see :meth:`Tuner.fit`.

        ``dev`` takes part in the decisions that held-out sentences make.
        """
        return Tuner.fit(self.changed(_dev=dev), tuning, start, dev, *rest, **more)

    def tune(self, tuning: Task, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Let all members tune, decide how far to go towards their average, and go there."""
        begin = self.baseline(tuning) if start is None else start
        space = self.space(tuning.names, begin)
        begin = space.exact(begin) if start is not None else space.inside(begin)
        members = self._able(tuning.metric, self.members(len(tuning.names)))
        if tuning.has_forests:
            members = {name: member for name, member in members.items() if member.takes_forests}
            quick = {name: member for name, member in members.items() if name in ON_FORESTS}
            if quick and not self.member:
                members = quick
        if is_demanded() and not any(member.uses_device for member in members.values()):
            raise UsageError(
                f"none of {', '.join(members)} searches on a GPU; drop --device cuda, or name mert "
                "as a member"
            )
        if self.earlier is not None:
            members = {name: member.after(self.earlier) for name, member in members.items()}
        committee = _Committee(tuning, space, begin, members)
        if tuning.groups < FEW_SENTENCES:
            committee.run([tuning], start, rng)
            return committee.whole()
        folds = Folds.of(tuning.groups, min(self.parts, tuning.groups))
        parts = [tuning.part(folds.rest(k)) for k in range(folds.count)]
        committee.run([*parts, tuning], start, rng)
        return committee.decided(folds, self._dev)


class _Committee:
    """The members, what each has found on parts of the tuning set and on all of it, their average.

    Weights are compared at one scale: the deviation of their model scores within groups is 1.
    Unlike the norm of the weights, it does not depend on how features are expressed. Where
    restrictions give the scale a meaning, weights stay as they are.
    """

    def __init__(
        self, tuning: Task, space: Space, begin: Floats, members: Mapping[str, Tuner]
    ) -> None:
        self.tuning, self.space, self.members = tuning, space, dict(members)
        self._hypotheses = tuning.hypotheses()
        self._is_scaled = not space.pins_scale
        self.begin = self.scaled(begin)
        #: Weights by member: without each part in turn, then of the whole set.
        self.weights: dict[str, list[Floats]] = {name: [] for name in members}
        self.seconds = dict.fromkeys(members, 0.0)
        self.line_searches = 0
        self.failed: set[str] = set()

    def scaled(self, weights: Floats) -> Floats:
        """Return weights at the scale of all."""
        if not self._is_scaled:
            return weights
        size = self._hypotheses.deviation(self._hypotheses.point(weights))
        return weights / size if size > 0.0 else weights

    def run(self, parts: Sequence[Task], start: Floats | None, rng: np.random.Generator) -> None:
        """Let each member tune on each part."""
        count, done = len(parts) * len(self.members), 0

        def so_far() -> SoFar | None:
            weights = [w for every in self.weights.values() for w in every]
            if not weights:
                return None
            return SoFar({0: Outcome(self._average(weights))}, f"{done} of {count} runs of members")

        keep(so_far)
        generators = rng.spawn(len(parts))
        for part, generator in zip(parts, generators, strict=True):
            for name, member in self.members.items():
                check()
                progress("committee", done, count, name)
                if name not in self.failed:
                    self._run_one(name, member, part, start, copy.deepcopy(generator.spawn(1)[0]))
                done += 1
        progress("committee", count, count, "")
        self.weights = {
            name: every for name, every in self.weights.items() if name not in self.failed
        }

    def _run_one(
        self, name: str, member: Tuner, part: Task, start: Floats | None, rng: np.random.Generator
    ) -> None:
        started = working_seconds()
        try:
            with recorded_warnings() as caught, whole_or_nothing(), device_for(member.uses_device):
                _check_part(member, part)
                outcome = member.tune(part, start, rng)
        except TunesmithError as error:
            self.failed.add(name)
            if self.failed >= self.members.keys():
                raise
            warnings.warn(f"{name} failed, and takes no part: {error}", stacklevel=3)
            return
        if not self.weights[name]:  # of other parts it would say the same
            for warning in caught:
                if issubclass(warning.category, UserWarning):
                    warnings.warn(f"{name}: {warning.message}", stacklevel=3)
        self.weights[name].append(self.scaled(outcome.weights))
        self.seconds[name] += working_seconds() - started
        self.line_searches += outcome.line_searches

    def _average(self, every: Sequence[Floats]) -> Floats:
        return self.scaled(self.space.exact(np.mean(every, axis=0)))

    def _towards(self, average: Floats, step: float) -> Floats:
        return self.space.exact((1.0 - step) * self.begin + step * average)

    def _mixed(self, shares: Mapping[str, float], k: int) -> Floats:
        """Return the average of the weights of a part, of which members have shares."""
        mixed = np.sum([share * self.weights[name][k] for name, share in shares.items()], axis=0)
        return self.scaled(self.space.exact(mixed))

    def whole(self) -> Outcome:
        """Return the average of all members, where nothing can be held out."""
        weights = self._average([every[0] for every in self.weights.values()])
        entries = [self._entry(name, None, 1.0 / len(self.weights)) for name in self.members]
        committee: dict[str, Any] = {"members": entries, "parts": 0, "step": 1.0, "steps": []}
        return Outcome(weights, line_searches=self.line_searches, committee=committee)

    def decided(self, folds: Folds, dev: Task | None) -> Outcome:
        """Return the average as far as held-out sentences support it."""
        metric = self.tuning.metric
        sign = 1.0 if metric.higher_is_better else -1.0
        held_out = _HeldOutSentences(self.tuning, folds, dev)

        alone = {
            name: held_out.output(every[: folds.count]) for name, every in self.weights.items()
        }
        some = _not_worse(metric, alone)
        shares = dict.fromkeys(some, 1.0 / len(some))
        averages = [self._mixed(shares, k) for k in range(folds.count)]
        average = self._average([self._average(averages), self._mixed(shares, folds.count)])

        def output_at(step: float) -> Stats:
            return held_out.output([self._towards(part, step) for part in averages])

        outputs = [output_at(step) for step in STEPS]
        best_steps = (sign * resampled_scores(metric, outputs)).argmax(axis=1)
        sentences = slice(0, self.tuning.groups)
        step = min(float(np.mean(np.asarray(STEPS)[best_steps])), 1.0)
        step *= len(outputs[0]) / (len(outputs[0]) + PRIOR_SENTENCES)
        score_of = {name: held_out.score(output) for name, output in alone.items()}
        return Outcome(
            self._towards(average, step),
            history=[
                {"member": name, "gain": float(metric.gain(output.sum(axis=0)))}
                for name, output in alone.items()
            ],
            line_searches=self.line_searches,
            held_out=PairedStatistics(
                outputs[0][sentences], output_at(step)[sentences], folds.fold
            ),
            committee={
                "members": [
                    self._entry(name, score_of.get(name), shares.get(name, 0.0))
                    for name in self.members
                ],
                "parts": folds.count,
                "step": step,
                "steps": [
                    {"step": step, "score": held_out.score(output), "share": float(share)}
                    for step, output, share in zip(
                        STEPS,
                        outputs,
                        np.bincount(best_steps, minlength=len(STEPS)) / len(best_steps),
                        strict=True,
                    )
                ],
            },
        )

    def _entry(self, name: str, score: float | None, share: float) -> dict[str, Any]:
        """Return what a result says of a member; its score is that on held-out sentences."""
        has_failed = name in self.failed
        share = 0.0 if has_failed else float(share)
        return {
            "member": name,
            "score": score,
            "takes_part": share > 0.0,
            "share": share,
            "seconds": self.seconds[name],
            **({"failed": True} if has_failed else {}),
        }


@dataclass(frozen=True)
class _HeldOutSentences:
    """Every sentence of the tuning set as part of a fold, and those of a development set.

    An output has a row for each: what weights choose that were tuned without it.
    """

    tuning: Task
    folds: Folds
    dev: Task | None
    _parts: list[Task] = field(init=False)

    def __post_init__(self) -> None:
        parts = [self.tuning.part(self.folds.held_out(k)) for k in range(self.folds.count)]
        vars(self)["_parts"] = parts

    def output(self, every: Sequence[Floats]) -> Stats:
        """Return the statistics [S, K] of what the weights for each fold choose in it."""
        rows = [
            part.winners(weights).stats for part, weights in zip(self._parts, every, strict=True)
        ]
        groups = [self.folds.held_out(k) for k in range(self.folds.count)]
        order = np.argsort(np.concatenate(groups), kind="stable")
        output: Stats = np.concatenate(rows)[order]
        if self.dev is None:
            return output
        average = Weights(self.tuning.names, np.mean(every, axis=0)).aligned(self.dev.names)
        return np.concatenate([output, self.dev.winners(average).stats])

    def score(self, output: Stats) -> float:
        """Score an output, on the customary scale."""
        return float(self.tuning.metric.score(output.sum(axis=0)))


def _not_worse(metric: Metric, outputs: Mapping[str, Stats]) -> list[str]:
    """Return the members that are not clearly worse than the best on held-out sentences."""
    sign = 1.0 if metric.higher_is_better else -1.0
    names = list(outputs)
    scores = np.array([sign * float(metric.score(o.sum(axis=0))) for o in outputs.values()])
    drawn = sign * resampled_scores(metric, list(outputs.values()))
    best = int(np.argmax(scores))
    errors = np.std(drawn[:, [best]] - drawn, axis=0)
    return [names[k] for k in np.flatnonzero(scores[best] - scores <= WORSE * errors)]


def _check_part(member: Tuner, part: Task) -> None:
    """Raise an error if a member cannot work on a part.

    How forests are searched may concern other members alone.
    """
    member.check_set(part)
    options = getattr(part, "options", None)
    if isinstance(options, ForestOptions) and member.asks_hope(part.metric) is not None:
        usual = replace(options, lists="kbest", size=type(options)().size)
        member.check_searches(usual, part.metric)


def _check_member(name: str) -> None:
    """Raise an error if an algorithm cannot take part."""
    tuner = TUNERS.create(name)
    if tuner.name == Auto.name:
        raise UsageError("auto cannot be a member of itself; name others")
    if len(tuner.settings()) > 1:
        raise UsageError(
            f"member {name} has several settings; give each by itself, and pick best or last"
        )
