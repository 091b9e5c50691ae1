"""What a metric is: statistics that add up over sentences, and a score of their sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tunesmith.arrays import Flags, Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import TunesmithError, UsageError, nearest
from tunesmith.kernels import kernel
from tunesmith.registry import Options, Registry, options_of

#: A sum of statistics that is not above it counts as 0 in a slope, which stays finite.
NOTHING = 1e-100


class Metric(Options, ABC):
    """A corpus metric; a subclass is a frozen dataclass whose fields are its options.

    A metric needs only :meth:`stats` and :meth:`score`. For large sets override
    :meth:`candidate_stats` with a kernel; for directions by gradient add a :meth:`slope`.
    """

    _owner_is = "metric"
    # A subclass sets these for all its objects; a combination knows them of its parts alone.
    name: str
    #: False for error rates.
    higher_is_better: ClassVar[bool] = True
    #: What a score of "everything" is on the customary scale: 100 for per cent.
    scale: float = 100.0
    #: Whether the score is an average over sentences, so that each can be chosen by itself.
    is_sum: bool = False
    #: Whether candidates are compared with references.
    needs_references: bool = True
    #: Options that change how statistics are scored, not the statistics themselves.
    scoring_options: ClassVar[frozenset[str]] = frozenset()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of external scores that candidates must have."""
        return ()

    @property
    def costs(self) -> frozenset[str]:
        """Those of which less is better."""
        return frozenset() if self.higher_is_better else frozenset(self.columns)

    @property
    def ignores_case(self) -> bool:
        """Whether upper and lower case are alike, as options of that name say."""
        return bool(getattr(self, "lowercase", not getattr(self, "case_sensitive", True)))

    @property
    @abstractmethod
    def stat_names(self) -> tuple[str, ...]:
        """The names of the K statistics."""

    @abstractmethod
    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics [K] of one hypothesis."""

    @abstractmethod
    def score(self, stats: Stats) -> Floats:
        """Return the score, on the customary scale, of summed statistics [..., K]."""

    @abstractmethod
    def signature(self) -> str:
        """Return what has to be known to compute the same score again."""

    def statistics(self, candidates: CandidateSet) -> Stats:
        """Return the statistics [N, K] that the candidates bring with them, or count them."""
        if not self.is_given(candidates):
            return self.candidate_stats(candidates)
        stats = np.column_stack([candidates.columns[n] for n in self.statistic_columns()])
        self._check_given(stats, candidates)
        most = np.abs(stats).max(initial=0.0)
        whole = most < np.iinfo(np.int32).max and (stats == np.rint(stats)).all()
        return stats.astype(np.int32) if whole else stats

    def _check_given(self, stats: Stats, candidates: CandidateSet) -> None:
        """Raise an error if statistics of ours are no counts, or more n-grams match than exist."""
        if type(self).__module__.partition(".")[0] != __package__.partition(".")[0]:
            return
        names, columns = self.stat_names, self.statistic_columns()
        faults = [(k, stats[:, k] < 0, "below 0") for k in range(len(names))]
        for k, name in enumerate(names):
            kind, _, order = name.partition("_")
            for other in (f"{of}_{order}" for of in ("total", "hypothesis", "reference")):
                if kind == "matches" and other in names:
                    too_many = stats[:, k] > stats[:, names.index(other)]
                    faults.append((k, too_many, f"more than {other}"))
        for k, wrong, problem in faults:
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                group = candidates.ids[int(np.searchsorted(candidates.start, row, "right")) - 1]
                raise TunesmithError(
                    f"{columns[k]} is {stats[row, k]:g} for a candidate of group '{group}', which "
                    f"is {problem}; give counts"
                )

    def is_given(self, candidates: CandidateSet) -> bool:
        """Tell whether the candidates bring the statistics with them, as columns.

        Those of other references than the ones that are asked for do not count.
        """
        return not candidates.has_reference_files and all(
            name in candidates.columns for name in self.statistic_columns()
        )

    def statistic_columns(self) -> list[str]:
        """Return the names of the columns that hold statistics, as ``bleu.length``.

        Options that change the statistics are part of them: ``bleu:lowercase=true.length``.
        """
        changed = [
            f"{option.flag}={_shown(getattr(self, option.field))}"
            for option in options_of(type(self))
            if option.field not in {*self.scoring_options, getattr(self, "takes_text", None)}
            and getattr(self, option.field) != option.default
        ]
        owner = f"{self.name}:{','.join(changed)}" if changed else self.name
        return [f"{owner}.{name}" for name in self.stat_names]

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics [N, K] of all candidates."""
        self.check(candidates)
        rows: list[Stats] = []
        for g in range(candidates.groups):
            references = candidates.reference_texts(g)
            rows.extend(
                self.stats(candidates.text(i), list(references))
                for i in range(candidates.start[g], candidates.start[g + 1])
            )
        try:
            return np.array(rows)
        except ValueError:
            raise TunesmithError(
                f"{self.name} has {len(self.stat_names)} statistics and returns now more, now "
                "fewer; return one for each name"
            ) from None

    def check(self, candidates: CandidateSet) -> None:
        """Raise an error if the candidates lack what the metric needs."""
        if self.needs_references and candidates.references is None:
            lacking = [n for n in self.statistic_columns() if n not in candidates.columns]
            if not lacking:
                return  # nothing is counted
            if len(lacking) < len(self.stat_names):
                raise TunesmithError(
                    f"{self.name} needs references, or the column '{lacking[0]}' beside its other "
                    "statistics; give them"
                )
            where = f"{candidates.files[0].path}: " if candidates.files else ""
            raise TunesmithError(
                f"{where}{self.name} needs references; give --references (for a held-out set "
                "--dev-references or --test-references), or a column 'reference'"
            )
        for name in self.columns:
            if name not in candidates.columns:
                known = [*candidates.columns, *candidates.features.names]
                near = f" (near: {' or '.join(nearest(name, known))})" if known else ""
                raise TunesmithError(
                    f"{self.name} needs the column '{name}'{near}; give it with the "
                    f"candidates or with --scores {name}=FILE"
                )

    def is_sum_on(self, stats: Stats, start: Ints) -> bool:
        """Tell whether the score is an average over sentences for candidates of some groups.

        An error rate is one where all candidates of a group have the same denominator, as with
        a single reference.
        """
        return self.is_sum

    @property
    def can_be_sum(self) -> bool:
        """Whether the score is an average over sentences for some candidates, if not for all."""
        return self.is_sum or type(self).is_sum_on is not Metric.is_sum_on

    def check_sum(self, what: str) -> None:
        """Raise an error if the score is never an average over sentences, which is needed."""
        if not self.can_be_sum:
            raise UsageError(
                f"{what} needs a metric that is a sum over sentences, and {self.name} is not; "
                "use --metric sentence-bleu, or ter, wer, cer or column:NAME"
            )

    def gain(self, stats: Stats) -> Floats:
        """Return the score in natural units with the sign that makes more better."""
        return self.score(stats) / (self.scale if self.higher_is_better else -self.scale)

    def gains_along(
        self, total: Stats, changes: Stats, order: Ints, counts: Flags, floor: float
    ) -> Floats:
        """Return the gains [T + 1] of a sum of statistics, and after each of some changes to it.

        What is asked for is where those that count are greatest, and above a floor. A gain that
        does not count may be anything, and one that is not the greatest, or not above the floor,
        anything less, or anything that is not above it.

        Parameters
        ----------
        total : [K]
            The sum.
        changes, order : [T, K], [T]
            What is added to it, and in which order.
        counts : bool[T + 1]
            Which gains count.
        """
        return self.gain(running_totals(total, changes, order))

    def slope(self, stats: Stats) -> Floats:
        """Return the derivative of the gain by each statistic, at summed statistics [..., K].

        The statistics may be expected ones, which are not whole. The result [..., K] is finite
        everywhere; where the gain has a kink, the derivative of either side will do.
        """
        raise self._no_slope()

    @property
    def has_slope(self) -> bool:
        """Whether there is a :meth:`slope`, and it is that of the score.

        A class that redefines the score of another one does not inherit its slope.
        """
        order = type(self).__mro__
        of_slope = next(cls for cls in order if "slope" in vars(cls))
        of_gain = next(cls for cls in order if {"score", "gain"} & vars(cls).keys())
        return of_slope is not Metric and issubclass(of_slope, of_gain)

    def check_slope(self) -> None:
        """Raise an error if there is no slope: cheap, before anything runs."""
        if not self.has_slope:
            raise self._no_slope()

    def _no_slope(self) -> TunesmithError:
        return TunesmithError(
            f"metric '{self.name}' has no gradient; use --directions coordinate, or give it a slope"
        )

    def details(self, stats: Stats) -> dict[str, float]:
        """Return further figures of a sum of statistics [K], ``length_ratio`` among them."""
        return {}


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@kernel
def running_totals(total: Stats, changes: Stats, order: Ints) -> Stats:
    """Return a sum of statistics, and after each of some changes to it [T + 1, K]."""
    totals = np.empty((order.shape[0] + 1, total.shape[0]), total.dtype)
    for k in range(total.shape[0]):
        totals[0, k] = total[k]
    for t in range(order.shape[0]):
        changed = order[t]
        for k in range(total.shape[0]):
            totals[t + 1, k] = totals[t, k] + changes[changed, k]
    return totals


def same_in_groups(values: Stats, start: Ints) -> bool:
    """Tell whether a number is the same for all candidates of each group."""
    first = np.repeat(values[start[:-1]], np.diff(start))
    return bool((values == first).all())


def as_rows(stats: Stats) -> Floats:
    """Return statistics one row after the other, in the type that kernels are compiled for."""
    return np.ascontiguousarray(stats, np.float64).reshape(-1, stats.shape[-1])


def ratio_slope(stats: Stats, above: int, below: int) -> Floats:
    """Return the derivative of ``stats[..., above] / stats[..., below]`` by each statistic.

    Where nothing is below, it is 0.
    """
    values = np.asarray(stats, np.float64)
    divided = values[..., below] > NOTHING
    divisor = np.where(divided, values[..., below], 1.0)
    slope = np.zeros(values.shape)
    slope[..., above] = np.where(divided, 1.0 / divisor, 0.0)
    slope[..., below] = np.where(divided, -values[..., above] / divisor / divisor, 0.0)
    return slope


def error_rate(stats: Stats) -> Floats:
    """Return the errors per unit of summed statistics [..., K]: errors, length, others.

    Without a unit to compare with, one error or more is everything wrong.
    """
    errors, length = np.asarray(stats[..., 0], float), np.asarray(stats[..., 1], float)
    rate = np.array(np.minimum(errors, 1.0))
    np.divide(errors, length, out=rate, where=length > NOTHING)
    return rate


def error_rate_slope(stats: Stats) -> Floats:
    """Return the derivative of the gain, which is minus the rate."""
    slope = -ratio_slope(stats, 0, 1)
    alone = (stats[..., 1] <= NOTHING) & (stats[..., 0] < 1)
    slope[..., 0] = np.where(alone, -1.0, slope[..., 0])
    return slope


class MetricRegistry(Registry[Metric]):
    """Metrics by name; ``sum(...)`` and its like are made of others."""

    def create(self, spec: str) -> Metric:
        """Make a metric of its name and options."""
        name, bracket, rest = spec.strip().partition("(")
        if bracket and ":" not in name:
            cls: Any = self.get(name.strip())
            if not getattr(cls, "takes_parts", False):
                raise UsageError(f"metric '{name}' takes no metrics; write {name}:option=value")
            if not rest.endswith(")") or rest.count("(") + 1 != rest.count(")"):
                raise UsageError(f"'{spec}' has a bracket too many or too few; close it")
            metric: Metric = cls.of(rest[:-1])
            return metric
        kind = name.partition(":")[0]
        known = self._find(kind) or kind in self.names()
        if known and getattr(self.get(kind), "takes_parts", False):
            raise UsageError(f"metric '{kind}' combines others; write {kind}(bleu,chrf)")
        return super().create(spec.strip())


METRICS = MetricRegistry("metric", "tunesmith.metrics", "tunesmith.metrics", Metric)
