"""One metric along one line: its steps, the plateau at the current weights, the best interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import TunesmithError
from tunesmith.inference.hypotheses import Direction, Envelope, Point
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.kernels import kernel
from tunesmith.metrics.base import Metric
from tunesmith.parallel.local import map_pieces
from tunesmith.report.surface.along import Along
from tunesmith.search.line.search import FARTHEST, NARROW, bounds, totals_along

#: Scores that differ by less than this, relative to the largest on the line, are equal: sums of
#: floating-point statistics depend on the order in which they are added up.
SAME_SCORE = 1e-12
#: The same for a score that was computed another way.
SAME_SCORE_AFRESH = 1e-9

#: Two ends; infinite where there is none.
Span = tuple[float, float]


@dataclass(frozen=True)
class Best:
    """The interval of a line on which a metric is best.

    Attributes
    ----------
    score
        The metric there.
    low, high
        Its ends, within the requested range; infinite where it has none.
    at
        A point in it as a search would choose it, far from breakpoints; the current weight
        if nothing is better.
    """

    score: float
    low: float
    high: float
    at: float


@dataclass(frozen=True)
class Curve:
    """One metric along a line.

    Attributes
    ----------
    metric, signature, higher_is_better
        Which metric it is.
    edges : float64[T]
        Where the score changes, ascending, in the unit of the line.
    scores : float64[T + 1]
        The score on each interval; the first and the last are unbounded.
    current_score
        The score of the current weights, evaluated from scratch.
    end_score
        The score at the other end of a line between two weights, None for other lines.
    plateau
        The interval around the current weights on which the score does not change. Both
        ends are the current weight where it is a point of its own among ties.
    best
        The best interval.
    """

    metric: str
    signature: str
    higher_is_better: bool
    edges: Floats
    scores: Floats
    current_score: float
    end_score: float | None
    plateau: Span
    best: Best

    @property
    def plateau_width(self) -> float:
        """How long the plateau is; infinite where it has an end only on one side, or none."""
        return self.plateau[1] - self.plateau[0]

    def within(self, span: Span | None) -> tuple[Floats, Floats]:
        """Return the edges within a range, and the scores between them."""
        if span is None:
            return self.edges, self.scores
        first = int(np.searchsorted(self.edges, span[0], side="right"))
        last = int(np.searchsorted(self.edges, span[1], side="left"))
        return self.edges[first:last], self.scores[first : last + 1]

    def to_dict(self, span: Span | None = None) -> dict[str, Any]:
        """Return the JSON object; an end that is not there is None."""
        edges, scores = self.within(span)
        return {
            "metric": self.metric,
            "signature": self.signature,
            "higher_is_better": self.higher_is_better,
            "current_score": self.current_score,
            "end_score": self.end_score,
            "plateau": [_finite(self.plateau[0]), _finite(self.plateau[1])],
            "plateau_width": _finite(self.plateau_width),
            "best": {key: _finite(value) for key, value in asdict(self.best).items()},
            "edges": edges.tolist(),
            "scores": scores.tolist(),
        }


def curves_along(
    hypotheses: ListHypotheses,
    weights: Floats,
    lines: Sequence[Along],
    span: Span | None,
    label: str,
) -> list[tuple[int, Curve] | None]:
    """Return the number of breakpoints of each line, and a metric along it.

    None stands for a line on which the metric is not a finite number everywhere.
    """
    point = hypotheses.point(weights)
    scores = hypotheses.map_envelopes(
        partial(scores_along, hypotheses.metric), [(point, along.direction) for along in lines]
    )

    def describe(line: tuple[Along, tuple[Floats, Floats]]) -> tuple[int, Curve] | None:
        along, steps = line
        return _curve(hypotheses, point, along, *steps, span, label)

    return map_pieces(describe, list(zip(lines, scores, strict=True)))


def not_finite(label: str) -> TunesmithError:
    """Return the error of a metric that is not a number everywhere on a line."""
    return TunesmithError(
        f"{label} is not a finite number everywhere on this line; check the references"
    )


def scores_along(
    metric: Metric, point: Point, direction: Direction, envelope: Envelope
) -> tuple[Floats, Floats]:
    """Return where winners change along a line [T], sorted, and the scores between [T + 1]."""
    del point, direction
    edges, totals = totals_along(envelope)
    return edges, np.asarray(metric.score(totals), np.float64)


def _curve(
    hypotheses: ListHypotheses,
    point: Point,
    along: Along,
    edges: Floats,
    scores: Floats,
    span: Span | None,
    label: str,
) -> tuple[int, Curve] | None:
    metric = hypotheses.metric
    current = float(metric.score(point.total))
    scale = _scale(hypotheses, point.weights, along.direction)
    first, last = np.searchsorted(edges, [-FARTHEST * scale, FARTHEST * scale])
    breakpoints, scores = edges[first:last], scores[first : last + 1]
    if not np.isfinite(scores).all():
        return None
    same = SAME_SCORE * float(np.abs(scores).max())
    steps = merged(breakpoints, scores, scale, same)
    tied = bool((np.abs(breakpoints) <= NARROW * scale).any())
    plateau = _plateau(*steps, current if tied else None)
    origin = along.origin
    # Up to here in γ, which is more precise than a weight close to the current one.
    inner = None if span is None else (span[0] - origin, span[1] - origin)
    top = _best(*steps, breakpoints, metric.higher_is_better, scale, inner, same)
    gap = top.score - current if metric.higher_is_better else current - top.score
    if gap <= same and (inner is None or inner[0] <= 0.0 <= inner[1]):
        low, high = plateau if inner is None else np.clip(plateau, *inner).tolist()
        top = Best(current, low, high, 0.0)
    return len(breakpoints), Curve(
        metric=label,
        signature=hypotheses.tuning.signature(),
        higher_is_better=metric.higher_is_better,
        edges=steps[0] + origin,
        scores=steps[1],
        current_score=current,
        end_score=None
        if along.end is None
        else float(metric.score(hypotheses.point(along.end).total)),
        plateau=(plateau[0] + origin, plateau[1] + origin),
        best=Best(top.score, top.low + origin, top.high + origin, top.at + origin),
    )


def _scale(hypotheses: ListHypotheses, weights: Floats, direction: Direction) -> float:
    """Return the step at which a direction has changed model scores by about their own spread.

    Only groups in which the direction matters count. Rounding of breakpoints is small
    against this, whatever the units of the features are.
    """
    slopes = hypotheses.features.dot(direction.vector(len(weights)))
    scores = hypotheses.features.dot(weights)
    start = hypotheses.start
    sizes = np.diff(start)

    def squares(values: Floats) -> Floats:
        means = np.add.reduceat(values, start[:-1]) / sizes
        return np.add.reduceat(np.square(values - np.repeat(means, sizes)), start[:-1])

    varies = np.minimum.reduceat(slopes, start[:-1]) < np.maximum.reduceat(slopes, start[:-1])
    spread, change = (float(squares(values)[varies].sum()) for values in (scores, slopes))
    scale = float(np.sqrt(spread / change)) if spread > 0 and change > 0 else 1.0
    return scale if 0.0 < scale < np.inf else 1.0


def merged(edges: Floats, scores: Floats, scale: float, same: float) -> tuple[Floats, Floats]:
    """Leave out edges at which the score stays, and intervals that are only rounding.

    An edge that is at γ = 0 but for rounding is moved there.
    """
    kept_edges, kept_scores = np.empty_like(edges), np.empty(len(edges) + 1)
    count = _merge(edges, np.asarray(scores, np.float64), scale, same, kept_edges, kept_scores)
    edges, scores = kept_edges[:count].copy(), kept_scores[: count + 1].copy()
    if count and abs(edges[nearest := int(np.abs(edges).argmin())]) <= NARROW * scale:
        edges[nearest] = 0.0
    return edges, scores


@kernel
def _merge(
    edges: Floats,
    scores: Floats,
    scale: float,
    same: float,
    kept_edges: Floats,
    kept_scores: Floats,
) -> int:
    count = 0
    kept_scores[0] = scores[0]
    for j in range(1, scores.shape[0]):
        low = edges[j - 1]
        if j < edges.shape[0]:
            high = edges[j]
            # Two groups that change at the same point need not do so in the last digit.
            if high - low <= NARROW * max(abs(low), abs(high), scale):
                continue
        if abs(scores[j] - kept_scores[count]) > same:
            kept_edges[count] = low
            count += 1
            kept_scores[count] = scores[j]
    return count


def _plateau(edges: Floats, scores: Floats, at_tie: float | None) -> Span:
    """Return the interval of equal score around γ = 0.

    ``at_tie`` is the score at γ = 0 itself where candidates are equal there. The first one
    read wins, so it may be the score on either side of the point, or on none.
    """
    right = int(np.searchsorted(edges, 0.0, side="right"))
    sides = [right]
    if right > 0 and edges[right - 1] == 0.0:
        sides.append(right - 1)
    for k in sides:
        if at_tie is None or np.isclose(scores[k], at_tie, rtol=SAME_SCORE_AFRESH, atol=1e-12):
            return (
                float(edges[k - 1]) if k > 0 else -np.inf,
                float(edges[k]) if k < len(edges) else np.inf,
            )
    return 0.0, 0.0


def _best(
    edges: Floats,
    scores: Floats,
    breakpoints: Floats,
    higher: bool,
    scale: float,
    span: Span | None,
    same: float,
) -> Best:
    """Return the best interval, the widest among equals, and a point in it."""
    if span is None:
        # As the line search does: an unbounded interval is entered by a bounded step.
        far = bounds(edges, 0, scale)[0], bounds(edges, len(edges), scale)[1]
        first, last = 0, len(edges)
    else:
        far = span
        first = int(np.searchsorted(edges, span[0], side="right"))
        last = int(np.searchsorted(edges, span[1], side="left"))
    ends = np.concatenate([far[:1], edges[first:last], far[1:]])
    inside = scores[first : last + 1]
    good = inside >= inside.max() - same if higher else inside <= inside.min() + same
    k = int(np.argmax(np.where(good, np.diff(ends), -1.0)))
    low, high = float(ends[k]), float(ends[k + 1])
    at = _middle(breakpoints, low, high)
    if span is None:
        low, high = (-np.inf if k == 0 else low), (np.inf if k == last else high)
    return Best(float(inside[k]), low, high, at)


def _middle(breakpoints: Floats, low: float, high: float) -> float:
    """Return the middle between those two neighbouring breakpoints that are farthest apart.

    The middle of the whole interval may be a breakpoint at which the score is the same on
    both sides and, because of ties, another one at the point itself.
    """
    inside = breakpoints[(breakpoints > low) & (breakpoints < high)]
    ends = np.concatenate([[low], inside, [high]])
    k = int(np.argmax(np.diff(ends)))
    return 0.5 * float(ends[k] + ends[k + 1])


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
