"""What is held out of the tuning set, and the verdict on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from tunesmith.data.weights import Weights
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.interruption import (
    Interruption,
    returns_so_far,
    uninterrupted,
    whole_or_nothing,
)
from tunesmith.parallel.engine import working_on
from tunesmith.progress import progress
from tunesmith.tasks.base import Task
from tunesmith.tuners.fitting.folds import Folds, clusters_of, hold_out
from tunesmith.tuners.fitting.guards import unguarded
from tunesmith.tuners.fitting.result import TuneResult
from tunesmith.tuners.fitting.secondary import HeldOut, with_quotients
from tunesmith.tuners.fitting.verdict import HeldOutKind, PairedStatistics, judge


@dataclass(frozen=True)
class Split:
    """The part of a set that is tuned on, and what is held out of it.

    Attributes
    ----------
    tuning
        What is tuned on.
    part
        What is held out of it once; None if nothing is.
    folds
        What is held out in turn, after the set was tuned on as a whole; None if nothing is.
    """

    tuning: Task
    part: Task | None = None
    folds: Folds | None = None

    @classmethod
    def of(cls, tuning: Task, folds: int, fold_column: str | None, share: float) -> Split:
        """Split a set as the options of ``fit`` say."""
        check_split(folds, fold_column, share)
        if not folds and not share:
            return cls(tuning)
        if tuning.is_live:
            raise UsageError("sentences that are decoded while tuning cannot be held out; give dev")
        if folds:
            clusters = None if fold_column is None else clusters_of(tuning, fold_column)
            return cls(tuning, folds=Folds.of(tuning.groups, folds, clusters))
        rest, held_out = hold_out(tuning.groups, share)
        return cls(tuning.part(rest), part=tuning.part(held_out))

    def with_verdict(
        self, result: TuneResult, held_out: HeldOut, fit: Callable[[Task], TuneResult]
    ) -> TuneResult:
        """Add what held-out sentences say of a result.

        What was asked for counts first: folds, or a part that was held out; then a test set; then
        what the algorithm itself has held out; and last the set that may have chosen a setting.
        An interruption between folds leaves the result as it is without them.

        Parameters
        ----------
        fit
            Tunes on another part of the set in the same way.
        """
        metric = self.tuning.metric
        if self.folds is not None and not result.interrupted:
            through: list[PairedStatistics] = []
            try:
                with unguarded(), whole_or_nothing(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the same was said of the whole set
                    statistics = cross_validated(self.tuning, self.folds, fit, through)
            except Interruption:
                if not returns_so_far():
                    raise
                reason = f"interrupted after {len(through)} of {self.folds.count} folds"
                result = replace(result, stopped=reason, interrupted=True)
            else:
                return replace(result, verdict=judge(metric, statistics, "folds"))
        sets: dict[HeldOutKind, Task | None] = {"hold-out": self.part, "test": held_out.test}
        if result.verdict.on is None:
            sets["dev"] = held_out.dev
        # All weights are found; after an interruption workers have been ended.
        with uninterrupted(), working_on(None) if result.interrupted else nullcontext():
            for name, task in sets.items():
                if task is not None:
                    statistics = paired_statistics(task, result.start, result.weights)
                    return replace(result, verdict=judge(metric, statistics, name))
        return result


def check_split(folds: int, fold_column: str | None, share: float) -> None:
    """Raise an error if options do not go together."""
    if folds and share:
        raise UsageError("folds and hold-out both hold sentences out; give one of them")
    if fold_column is not None and not folds:
        raise UsageError("a fold column goes with folds; give both, as --folds 5")
    if folds < 0 or folds == 1:
        raise UsageError(f"folds is {folds}; give 2 or more, or 0 for none")
    if not 0.0 <= share < 1.0:
        raise UsageError(f"hold-out is {share:g}; give a share between 0 and 1, as 20%")


def paired_statistics(task: Task, start: Weights, tuned: Weights) -> PairedStatistics:
    """Return the statistics of what two weight vectors choose in each sentence."""
    task = with_quotients(task, start, tuned)
    before, after = (task.winners(w.aligned(task.names)).stats for w in (start, tuned))
    return PairedStatistics(before, after)


def cross_validated(
    tuning: Task,
    folds: Folds,
    fit: Callable[[Task], TuneResult],
    through: list[PairedStatistics] | None = None,
) -> PairedStatistics:
    """Tune on all folds but one in turn, and evaluate on that one.

    Parameters
    ----------
    through
        Takes what each fold comes to, so that it is known how many there were.
    """
    parts = [] if through is None else through
    order = np.argsort(np.concatenate([folds.held_out(k) for k in range(folds.count)]))
    for k, (rest, _, held_out) in enumerate(folds.splits(tuning)):
        progress("folds", k, folds.count)
        result = fit(rest)
        if result.interrupted:
            raise Interruption
        parts.append(paired_statistics(held_out, result.start, result.weights))
    progress("folds", folds.count, folds.count)
    before = np.concatenate([part.before for part in parts])[order]
    after = np.concatenate([part.after for part in parts])[order]
    return PairedStatistics(before, after, folds.fold)


def baseline_model(
    name: str, start: Mapping[str, float] | None, names: Sequence[str]
) -> dict[str, float]:
    """Return the weights of the model that has one feature alone."""
    if start is not None:
        raise UsageError("start and baseline both say where to begin; give one of them")
    feature, weight = name, 1.0
    if name not in names and name.startswith("-"):
        feature, weight = name[1:], -1.0
    if feature not in names:
        raise UnknownNameError("feature", feature, tuple(names))
    return {other: weight if other == feature else 0.0 for other in names}
