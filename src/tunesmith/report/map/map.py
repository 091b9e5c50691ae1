"""The metric over two weights: rows of exact lines, the numbers, and their JSON object.

Pictures are drawn from the same numbers: :mod:`tunesmith.report.map.files`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.hypotheses import Direction, Envelope, Point
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.kernels.compiling import working_seconds
from tunesmith.metrics.base import Metric
from tunesmith.parallel.local import map_pieces, thread_count
from tunesmith.progress import progress
from tunesmith.report.surface.along import along_feature
from tunesmith.report.surface.curves import Span, curves_along, not_finite, scores_along
from tunesmith.report.surface.panels import whole_window
from tunesmith.report.surface.surface import Line, label_of
from tunesmith.search.plane.search import PlaneResult, Slice, search_slice
from tunesmith.tasks.lists import TuningSet

SCHEMA = "tunesmith.map/1"

#: Pixels of a map: rows, each an exact line, and columns.
ROWS, COLUMNS = 240, 320
#: Rows that are followed at once, and the most numbers that their points may hold beyond one
#: row for each thread.
BATCH, NUMBERS = 24, 1 << 24
#: The optimum is on the map if it is at most this many times the map's width away.
REACH = 1.0
#: Room around the current weights and the optimum, relative to the window.
MARGIN = 0.08

Window = tuple[Span, Span]


@dataclass(frozen=True)
class Mark:
    """Weights on the map, and their score."""

    x: float
    y: float
    score: float


@dataclass(frozen=True)
class MetricMap:
    """One metric over the weights of two features.

    Attributes
    ----------
    features
        Whose weights the horizontal and the vertical axis are.
    metric, signature, higher_is_better
        Which metric it is.
    window
        The ranges of both axes.
    mean, low, high : float64[rows, columns]
        The mean, the lowest and the highest score along the line through the middle of a
        pixel's row, from one end of the pixel to the other. The first row is the lowest.
    current
        The current weights.
    best
        The best weights of the whole plane, on the map or not; None if none were found in time.
    proven
        Whether no weights of the plane are better.
    best_row
        The best weights on the lines of the rows.
    regions
        Stretches of lines that were scored to find the best.
    files
        The data.
    """

    features: tuple[str, str]
    metric: str
    signature: str
    higher_is_better: bool
    window: Window
    mean: Floats
    low: Floats
    high: Floats
    current: Mark
    best: Mark | None
    proven: bool
    best_row: Mark
    regions: int
    files: tuple[FileDigest, ...]

    def _repr_png_(self) -> bytes | None:
        from tunesmith.report.drawing import png_of
        from tunesmith.report.map.static import draw

        return png_of(draw, self)

    @property
    def columns(self) -> Floats:
        """The ends of the columns."""
        return np.linspace(*self.window[0], self.mean.shape[1] + 1)

    @property
    def rows(self) -> Floats:
        """Where the lines of the rows are: in the middle of each."""
        ends = np.linspace(*self.window[1], self.mean.shape[0] + 1)
        return 0.5 * (ends[1:] + ends[:-1])

    def holds(self, mark: Mark | None) -> bool:
        """Tell whether weights are on the map."""
        (left, right), (low, high) = self.window
        return mark is not None and left <= mark.x <= right and low <= mark.y <= high

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "schema": SCHEMA,
            "signature": self.signature,
            "data": [asdict(file) for file in self.files],
            "features": list(self.features),
            "metric": self.metric,
            "higher_is_better": self.higher_is_better,
            "range": [list(span) for span in self.window],
            "current": asdict(self.current),
            "best": None if self.best is None else asdict(self.best),
            "proven": self.proven,
            "best_row": asdict(self.best_row),
            "columns": self.columns.tolist(),
            "rows": self.rows.tolist(),
            "mean": self.mean.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }


def metric_map(
    tuning: TuningSet,
    weights: Mapping[str, float],
    features: Sequence[str],
    *,
    window: Window | None = None,
    time_limit: float | None = None,
    size: tuple[int, int] = (ROWS, COLUMNS),
    strict: bool = False,
) -> MetricMap:
    """Return a metric over the weights of two features, with all other weights fixed.

    Parameters
    ----------
    tuning
        Candidates and statistics.
    weights
        The current weights.
    features
        The two features: the horizontal axis, and the vertical one.
    window
        The ranges of both weights; by default around the current and the best weights.
    time_limit
        Seconds for the search of the best weights; none by default.
    size
        Rows and columns.
    strict
        Make it an error if names of weights and features differ.
    """
    names = tuning.candidates.features.names
    current = Weights.from_dict(weights).matched(names, strict)
    return draw_map(tuning, current, features, window, time_limit, size)


def draw_map(
    tuning: TuningSet,
    current: Floats,
    features: Sequence[str],
    window: Window | None = None,
    time_limit: float | None = None,
    size: tuple[int, int] = (ROWS, COLUMNS),
    label: str | None = None,
) -> MetricMap:
    """Return the same from weights in the order of the features."""
    label = label_of(tuning.metric) if label is None else label
    hypotheses = tuning.hypotheses()
    axes = _axes(hypotheses.names, features)
    if window is not None:
        _check(window)
    optimum, best = _best(hypotheses, current, axes, time_limit)
    now = _mark(hypotheses, current, axes)
    if window is None:
        window = _window(hypotheses, current, axes, best, label)
    ends = np.linspace(*window[0], size[1] + 1)
    edges = np.linspace(*window[1], size[0] + 1)
    rows = _rows(hypotheses, current, axes, ends, 0.5 * (edges[1:] + edges[:-1]))
    mean, low, high = (np.array([row[k] for row in rows]) for k in range(3))
    if not np.isfinite(mean).all():
        raise TunesmithError(
            f"{label} is not a finite number everywhere in this plane; check the references"
        )
    sign = 1.0 if tuning.metric.higher_is_better else -1.0
    top = max((row[3] for row in rows), key=lambda mark: sign * mark.score)
    shown = ",".join(f"{low!r}:{high!r}" for low, high in window)
    return MetricMap(
        features=(features[0], features[1]),
        metric=label,
        signature=f"map|plane:{','.join(features)}|range:{shown}|{tuning.signature()}",
        higher_is_better=tuning.metric.higher_is_better,
        window=window,
        mean=mean,
        low=low,
        high=high,
        current=now,
        best=best,
        proven=optimum.complete,
        best_row=top,
        regions=optimum.stretches,
        files=tuning.candidates.files,
    )


def _axes(names: tuple[str, ...], features: Sequence[str]) -> tuple[int, int]:
    if len(features) != 2 or features[0] == features[1]:
        raise UsageError(
            f"a map has two axes, and the plane is '{','.join(features)}'; give two features as A,B"
        )
    for name in features:
        if name not in names:
            raise UnknownNameError("feature", name, names)
    return names.index(features[0]), names.index(features[1])


def _check(window: Window) -> None:
    for low, high in window:
        if not (np.isfinite([low, high]).all() and low < high):
            raise UsageError(f"the range is {low:g}:{high:g}; give LOW:HIGH, the lower one first")


def _mark(hypotheses: ListHypotheses, weights: Floats, axes: tuple[int, int]) -> Mark:
    score = float(hypotheses.metric.score(hypotheses.point(weights).total))
    return Mark(float(weights[axes[0]]), float(weights[axes[1]]), score)


def _best(
    hypotheses: ListHypotheses, current: Floats, axes: tuple[int, int], limit: float | None
) -> tuple[PlaneResult, Mark | None]:
    """Search the plane; nothing that is found is worse than the current weights."""
    until = np.inf if limit is None else working_seconds() + limit
    spread = hypotheses.spread()
    first, second = np.eye(len(current))[list(axes)]
    others = current.copy()
    others[list(axes)] = 0.0
    where = Slice.plane(spread, others, first, second)
    optimum = search_slice(hypotheses, where, until=until)
    if optimum.point is None:
        return optimum, None
    weights = optimum.point.weights
    if optimum.point.gain <= hypotheses.point(current).gain:
        weights = current
    elif not where.half.any():
        # Only the direction counts: as far from 0 as the current weights.
        size = float(np.linalg.norm(current * spread)) or 1.0
        weights = weights * (size / float(np.linalg.norm(weights * spread)))
    return optimum, _mark(hypotheses, weights, axes)


def _window(
    hypotheses: ListHypotheses,
    current: Floats,
    axes: tuple[int, int],
    best: Mark | None,
    label: str,
) -> Window:
    """Return ranges in which most winners change, with the current and the best weights."""
    spans = []
    names = hypotheses.names
    lines = [along_feature(names, current, names[axis]) for axis in axes]
    curves = curves_along(hypotheses, current, lines, None, label)
    for k, (along, curve) in enumerate(zip(lines, curves, strict=True)):
        if curve is None:
            raise not_finite(label)
        low, high = whole_window(Line(along, along.origin, curve[0], None, (curve[1],)))
        width = high - low
        other = current[axes[k]] if best is None else (best.x, best.y)[k]
        if low - REACH * width <= other <= high + REACH * width:
            margin = MARGIN * max(width, high - other, other - low)
            low, high = min(low, other - margin), max(high, other + margin)
        spans.append((float(low), float(high)))
    return spans[0], spans[1]


def _rows(
    hypotheses: ListHypotheses, current: Floats, axes: tuple[int, int], ends: Floats, rows: Floats
) -> list[tuple[Floats, Floats, Floats, Mark]]:
    """Follow the exact line of each row."""
    direction = Direction.along(axes[0], hypotheses.names[axes[0]])

    def point_of(y: float) -> Point:
        weights = current.copy()
        weights[axes[1]] = y
        return hypotheses.point(weights)

    work = partial(_row, hypotheses.metric, axes, ends)
    done: list[tuple[Floats, Floats, Floats, Mark]] = []
    size = rows_at_once(hypotheses)
    for k in range(0, len(rows), size):
        points = map_pieces(point_of, rows[k : k + size].tolist())
        done += hypotheses.map_envelopes(work, [(point, direction) for point in points])
        progress("map", len(done), len(rows))
    return done


def rows_at_once(hypotheses: ListHypotheses) -> int:
    """Return how many rows of a map to follow at once: a point has all candidates' scores."""
    return max(thread_count(), min(BATCH, NUMBERS // max(1, hypotheses.features.candidates)))


def _row(
    metric: Metric,
    axes: tuple[int, int],
    ends: Floats,
    point: Point,
    direction: Direction,
    envelope: Envelope,
) -> tuple[Floats, Floats, Floats, Mark]:
    """Return the pixels of a row, and the best weights in it."""
    edges, scores = scores_along(metric, point, direction, envelope)
    edges = edges + point.weights[axes[0]]
    mean, low, high = pixels(edges, scores, ends)
    x, score = _top(edges, scores, ends, metric.higher_is_better)
    return mean, low, high, Mark(x, float(point.weights[axes[1]]), score)


def pixels(edges: Floats, scores: Floats, ends: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean, the least and the greatest score from each end of a column to the next.

    Parameters
    ----------
    edges : float64[T], scores : float64[T + 1]
        Steps along a line.
    ends : float64[C + 1]
        Where columns end, ascending.
    """
    first = np.searchsorted(edges, ends[:-1], side="right")
    last = np.searchsorted(edges, ends[1:], side="left")
    # Slices first:last + 1, one after the other; one more score so that the last may end there.
    slices = np.column_stack([first, last + 1]).ravel()
    padded = np.append(scores, scores[-1])
    low, high = (ufunc.reduceat(padded, slices)[::2] for ufunc in (np.minimum, np.maximum))
    inner = edges[(edges > ends[0]) & (edges < ends[-1])]
    corners = np.sort(np.concatenate([ends, inner]))
    middles = 0.5 * (corners[1:] + corners[:-1])
    at = scores[np.searchsorted(edges, middles)]
    area = np.concatenate([[0.0], np.cumsum((at - scores[0]) * np.diff(corners))])
    sums = np.diff(area[np.searchsorted(corners, ends)])
    return np.clip(scores[0] + sums / np.diff(ends), low, high), low, high


def _top(edges: Floats, scores: Floats, ends: Floats, higher: bool) -> tuple[float, float]:
    """Return the middle of the best part of a line within the map, the widest among equals."""
    first = int(np.searchsorted(edges, ends[0], side="right"))
    last = int(np.searchsorted(edges, ends[-1], side="left"))
    corners = np.concatenate([ends[:1], edges[first:last], ends[-1:]])
    gains = scores[first : last + 1] if higher else -scores[first : last + 1]
    k = int(np.lexsort((-np.diff(corners), -gains))[0])
    return 0.5 * float(corners[k] + corners[k + 1]), float(scores[first + k])
