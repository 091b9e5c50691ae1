"""The metric over all mixes of two features, exactly: (1 - α) times one plus α times the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.inference.hypotheses import Direction
from tunesmith.kernels import kernel
from tunesmith.search.line.search import totals_along
from tunesmith.tasks.lists import TuningSet
from tunesmith.tasks.rankings import RankingTask

#: What has a line between two features that can be followed.
Mixable = TuningSet | RankingTask
#: Intervals of α that are narrower are rounding.
NARROW = 1e-11
#: Decimals that an α has at most, where its interval has room for so few.
DECIMALS = 12
#: Digits behind which 1 - α is rounding.
DIGITS = 15
#: The signs of both weights: those that a mix has, and all that there are.
Signs = tuple[float, float]
POSITIVE: Signs = (1.0, 1.0)
ANY: tuple[Signs, ...] = (POSITIVE, (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))


@dataclass(frozen=True)
class MixCurve:
    """What each α between 0 and 1 scores.

    Attributes
    ----------
    edges : float64[T]
        Where the score changes, ascending, inside of 0 and 1.
    scores : float64[T + 1]
        The score between them.
    """

    edges: Floats
    scores: Floats

    @property
    def ends(self) -> Floats:
        """The edges with 0 and 1."""
        return np.concatenate([[0.0], self.edges, [1.0]])


@dataclass(frozen=True)
class Mix:
    """The best α.

    Attributes
    ----------
    alpha
        The number of fewest decimals well within the best interval; of several, the widest.
    score
        Evaluated from scratch.
    low, high
        The interval on which the score is the same: its plateau.
    edges
        At how many places between 0 and 1 the score changes. Where documents tie exactly, at
        these places alone, names decide; an α there is none that anybody could use.
    signs
        Of both weights.
    """

    alpha: float
    score: float
    low: float
    high: float
    edges: int
    signs: Signs = POSITIVE

    @property
    def weights(self) -> Floats:
        """Those of both runs, without the digits that a subtraction leaves behind."""
        return np.array([round(1.0 - self.alpha, DIGITS), self.alpha]) * self.signs + 0.0  # no -0


def curve_of(task: Mixable, signs: Signs = POSITIVE) -> MixCurve:
    """Return the score of every mix of the two features of a task."""
    direction = Direction(np.arange(2), np.array([-signs[0], signs[1]]), "α")
    start = np.array([signs[0], 0.0])
    if isinstance(task, RankingTask):
        rankings = task.hypotheses()
        envelope = rankings.envelope(rankings.point(start), direction, (0.0, 1.0))
    else:
        lists = task.hypotheses()
        envelope = lists.envelope(lists.point(start), direction)
    at, totals = totals_along(envelope)
    scores = np.asarray(task.metric.score(totals), np.float64)
    return MixCurve(*_changes(at, scores))


@kernel
def _changes(at: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Return where scores differ, without intervals that are rounding, and the scores between."""
    count, low = 0, 0.0
    edges, values = np.empty(at.shape[0] + 1), np.empty(at.shape[0] + 1)
    for t in range(scores.shape[0]):
        high = min(max(at[t], 0.0), 1.0) if t < at.shape[0] else 1.0
        if high - low > NARROW and (count == 0 or scores[t] != values[count - 1]):
            edges[count], values[count] = low, scores[t]
            count += 1
        low = high
    return edges[1:count], values[:count]


def best_mix(task: Mixable, allow_negative: bool = False) -> Mix:
    """Return the best mix of two features: no α is better, between any two edges.

    With weights below 0 it is the best of all mixes of both features or their opposites, of equal
    ones that with the fewest opposites.
    """
    if not allow_negative:
        return _best_of(task, POSITIVE)
    better = max if task.metric.higher_is_better else min
    return better((_best_of(task, signs) for signs in ANY), key=lambda mix: mix.score)


def _best_of(task: Mixable, signs: Signs) -> Mix:
    curve = curve_of(task, signs)
    ends = curve.ends
    for k in _best_first(curve):
        alpha = shortest(ends[k], ends[k + 1])
        score = task.score_at(np.array([1.0 - alpha, alpha]) * signs)
        # An interval of rounding's size may not be what it seemed.
        if score >= curve.scores[k] - NARROW:
            break
    return Mix(float(alpha), score, float(ends[k]), float(ends[k + 1]), len(curve.edges), signs)


def _best_first(curve: MixCurve) -> Iterator[int]:
    """Yield the intervals, the best and widest first; the first will do as a rule."""
    widths = np.diff(curve.ends)
    best = np.flatnonzero(curve.scores == curve.scores.max())
    yield from best[np.argsort(-widths[best], kind="stable")].tolist()
    yield from np.lexsort((-widths, -curve.scores))[len(best) :].tolist()


def shortest(low: float, high: float) -> float:
    """Return the number of fewest decimals in the middle half of an interval within 0 and 1."""
    middle, room = 0.5 * (low + high), 0.25 * (high - low)
    for decimals in range(1, DECIMALS + 1):
        rounded = round(middle, decimals)
        if abs(rounded - middle) <= room:
            return rounded
    return middle
