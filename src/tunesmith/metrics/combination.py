"""Several metrics made into one: weighted sums, harmonic means and minima."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import UsageError
from tunesmith.io.text.numbers import shortest
from tunesmith.metrics.base import METRICS, Metric

_OPTION = re.compile(r"[\w-]+=.*")
_WEIGHTED = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*\*\s*(.*)", re.DOTALL)


class Combination(Metric):
    """Metrics combined on one scale: 0.7*bleu,0.3*column:comet and the like.

    Every part counts as what is good about it, in natural units: BLEU from 0 to 1, an error
    rate as 1 minus itself, a column as it is. The statistics are those of the parts, one
    after the other, so the line search stays exact. The score is in per cent if all parts
    are, otherwise in natural units.

    Parameters
    ----------
    parts
        The metrics, or their names.
    weights
        A number for each; 1 by default.
    """

    takes_parts: ClassVar[bool] = True

    def __init__(
        self, parts: Sequence[Metric | str], weights: Sequence[float] | None = None
    ) -> None:
        weights = [1.0] * len(parts) if weights is None else weights
        metrics = [METRICS.create(part) if isinstance(part, str) else part for part in parts]
        if not parts or len(parts) != len(weights):
            raise UsageError(f"{type(self).name} needs metrics with a weight each; give both")
        if not all(math.isfinite(w) for w in weights) or not any(weights):
            raise UsageError(f"the weights of {type(self).name} are {weights}; give numbers")
        self.parts = tuple(metrics)
        self.weights = tuple(map(float, weights))
        # Simple metrics have these on the class; here they follow from the parts.
        self.name = self._shown([part.name for part in metrics])
        self.scale = 100.0 if all(part.scale == 100.0 for part in metrics) else 1.0
        self.needs_references = any(part.needs_references for part in metrics)
        self.is_sum = self.adds and all(part.is_sum for part in metrics)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, Combination):
            return NotImplemented
        return self.parts == other.parts and self.weights == other.weights

    def __hash__(self) -> int:
        return hash((type(self), self.parts, self.weights))

    def __repr__(self) -> str:
        return f"<{self.name}>"

    #: Whether the combination is a sum, so that averages stay averages.
    adds: ClassVar[bool] = False

    @classmethod
    def of(cls, text: str) -> Combination:
        """Make it from ``0.7*bleu,0.3*chrf:word-order=2``."""
        parts, weights = [], []
        for spec in _parts(text):
            weighted = _WEIGHTED.fullmatch(spec)
            try:
                weights.append(float(weighted[1]) if weighted else 1.0)
            except ValueError:
                raise UsageError(f"the weight in '{spec}' is no number; write 0.5*bleu") from None
            parts.append(METRICS.create(weighted[2] if weighted else spec))
        return cls(parts, weights)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all parts."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def costs(self) -> frozenset[str]:
        """The columns of which less is better; a negative weight turns that round."""
        names: set[str] = set()
        for part, weight in zip(self.parts, self.weights, strict=True):
            names |= part.costs if weight >= 0 else {*part.columns} - part.costs
        return frozenset(names)

    @property
    def ignores_case(self) -> bool:
        """Whether all parts do that compare texts."""
        return all(part.ignores_case for part in self.parts if part.needs_references)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The names of all parts, each with its part's number."""
        return tuple(
            f"{k}.{name}" for k, part in enumerate(self.parts, 1) for name in part.stat_names
        )

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of all parts."""
        return np.concatenate([part.stats(hypothesis, references) for part in self.parts])

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics of all parts."""
        return np.concatenate([part.statistics(candidates) for part in self.parts], axis=1)

    def statistics(self, candidates: CandidateSet) -> Stats:
        """Leave it to the parts, each of which may have columns."""
        return self.candidate_stats(candidates)

    def is_given(self, candidates: CandidateSet) -> bool:
        """Tell whether any part's statistics come with the candidates."""
        return any(part.is_given(candidates) for part in self.parts)

    @property
    def can_be_sum(self) -> bool:
        """Whether it adds up what are averages over sentences."""
        return self.adds and all(part.can_be_sum for part in self.parts)

    def is_sum_on(self, stats: Stats, start: Ints) -> bool:
        """Tell whether it is a sum of averages over sentences."""
        parts = zip(self.parts, self._split(stats), strict=True)
        return self.adds and all(part.is_sum_on(part_stats, start) for part, part_stats in parts)

    def check(self, candidates: CandidateSet) -> None:
        """Raise an error if a part lacks what it needs."""
        for part in self.parts:
            part.check(candidates)

    def score(self, stats: Stats) -> Floats:
        """Combine what is good about each part."""
        return self.scale * self.combine(self._good(stats), np.array(self.weights))

    def _good(self, stats: Stats) -> Floats:
        good = []
        for part, part_stats in zip(self.parts, self._split(stats), strict=True):
            gain = part.gain(part_stats)
            good.append(gain if part.higher_is_better else 1.0 + gain)
        return np.stack(good)

    @abstractmethod
    def combine(self, good: Floats, weights: Floats) -> Floats:
        """Return one number for each column of [parts, ...]."""

    @abstractmethod
    def combine_slope(self, good: Floats, weights: Floats) -> Floats:
        """Return the derivative [parts, ...] of :meth:`combine` by what is good about each."""

    def slope(self, stats: Stats) -> Floats:
        """Return the derivative by the statistics of all parts, by the chain rule."""
        slopes = self.combine_slope(self._good(stats), np.array(self.weights))
        parts = zip(slopes, self.parts, self._split(stats), strict=True)
        return np.concatenate(
            [outer[..., np.newaxis] * part.slope(part_stats) for outer, part, part_stats in parts],
            axis=-1,
        )

    @property
    def has_slope(self) -> bool:
        """Whether all parts have one."""
        return super().has_slope and all(part.has_slope for part in self.parts)

    def check_slope(self) -> None:
        """Raise an error that names the part without a slope."""
        for part in self.parts:
            part.check_slope()
        super().check_slope()

    def details(self, stats: Stats) -> dict[str, float]:
        """Return the further figures of the parts, the first part's where names are the same."""
        details: dict[str, float] = {}
        for part, part_stats in zip(self.parts, self._split(stats), strict=True):
            details = {**part.details(part_stats), **details}
        return details

    def signature(self) -> str:
        """Return the signatures of all parts."""
        return self._shown([part.signature() for part in self.parts])

    def _split(self, stats: Stats) -> Iterator[Stats]:
        first = 0
        for part in self.parts:
            last = first + len(part.stat_names)
            yield stats[..., first:last]
            first = last

    def _shown(self, names: Sequence[str]) -> str:
        shown = [
            name if w == 1.0 else f"{shortest(w)}*{name}"
            for w, name in zip(self.weights, names, strict=True)
        ]
        return f"{type(self).name}({','.join(shown)})"


@METRICS.register("sum")
class Sum(Combination):
    """The weighted sum of metrics: sum(0.7*bleu,0.3*column:comet).

    Parameters
    ----------
    parts
        The metrics, or their names.
    weights
        A number for each; 1 by default.
    """

    adds = True

    def combine(self, good: Floats, weights: Floats) -> Floats:
        """Add up."""
        return _weighted_sum(weights, good)

    def combine_slope(self, good: Floats, weights: Floats) -> Floats:
        """Return the weights."""
        return np.broadcast_to(_along(weights, good), good.shape)


@METRICS.register("harmonic")
class Harmonic(Combination):
    """The weighted harmonic mean of metrics: harmonic(bleu,chrf); 0 if one of them is not positive.

    Parameters
    ----------
    parts
        The metrics, or their names.
    weights
        A number for each; 1 by default.
    """

    def __init__(
        self, parts: Sequence[Metric | str], weights: Sequence[float] | None = None
    ) -> None:
        super().__init__(parts, weights)
        if min(self.weights) <= 0:
            raise UsageError("the weights of a harmonic mean are above 0; change them")

    def combine(self, good: Floats, weights: Floats) -> Floats:
        """Take the reciprocal of the mean of the reciprocals."""
        positive = (good > 0).all(axis=0)
        with np.errstate(over="ignore"):  # the least numbers there are, whose mean is 0
            reciprocals = _weighted_sum(weights, 1.0 / np.where(positive, good, 1.0))
        return np.where(positive, weights.sum() / reciprocals, 0.0)

    def combine_slope(self, good: Floats, weights: Floats) -> Floats:
        """Return W w (1/x)² / (Σ w/x)², with 1/x relative to that of the least x.

        So it is finite down to 0, where the least alone counts; below it the mean is 0.
        """
        least = np.maximum(good.min(axis=0), 0.0)
        inverse = np.where(good > least, least / np.where(good > least, good, 1.0), 1.0)
        below = _weighted_sum(weights, inverse)
        slope = weights.sum() * _along(weights, good) * (inverse / below) ** 2
        return np.where((good >= 0).all(axis=0), slope, 0.0)


@METRICS.register("min")
class Minimum(Combination):
    """The lowest of several metrics, each times its weight: min(bleu,chrf).

    Parameters
    ----------
    parts
        The metrics, or their names.
    weights
        A number for each; 1 by default.
    """

    def combine(self, good: Floats, weights: Floats) -> Floats:
        """Take the least."""
        least: Floats = (good * _along(weights, good)).min(axis=0)
        return least

    def combine_slope(self, good: Floats, weights: Floats) -> Floats:
        """Return the weight of the least, the first among equals, and 0 for the others."""
        weight = _along(weights, good)
        least = (good * weight).argmin(axis=0)
        return np.where(_along(np.arange(len(weights)), good) == least, weight, 0.0)


def _along(values: Stats, good: Floats) -> Stats:
    """Return numbers of the parts in a shape that goes with [parts, ...]."""
    shaped: Stats = values.reshape(-1, *[1] * (good.ndim - 1))
    return shaped


def _weighted_sum(weights: Floats, values: Floats) -> Floats:
    """Add up in a fixed order: the same bits for one row as for many."""
    total: Floats = np.zeros(values.shape[1:])
    for weight, part in zip(weights, values, strict=True):
        total = total + weight * part
    return total


def _parts(text: str) -> list[str]:
    """Split at the commas between metrics; ``option=value`` belongs to the one before."""
    pieces, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += c
    parts: list[str] = []
    for piece in pieces:
        if parts and _OPTION.fullmatch(piece.strip()) and ":" not in piece.partition("=")[0]:
            parts[-1] += f",{piece.strip()}"
        else:
            parts.append(piece.strip())
    if not all(parts):
        raise UsageError(f"'{text}' has an empty part; write metrics with commas between them")
    return parts
