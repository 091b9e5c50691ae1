"""The metric over pairs of weights, as pixels of a page."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from functools import partial

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.inference.hypotheses import Direction, Envelope, Point
from tunesmith.metrics.base import Metric
from tunesmith.parallel.local import map_pieces
from tunesmith.progress import progress
from tunesmith.report.map.map import pixels, rows_at_once
from tunesmith.report.page.run.record import RunRecord
from tunesmith.report.page.surfaces import by_importance, curve_of, lines_along
from tunesmith.report.page.view import Map, Maps, SurfaceCurve, Surfaces
from tunesmith.report.page.weight_table import spreads
from tunesmith.report.surface.curves import Span, scores_along

#: Pixels of a map: rows, each an exact line, and columns.
ROWS, COLUMNS = 60, 80
#: Columns in which a curve is looked at to find where it is good.
FINE = 400
#: The greatest value of a pixel.
TOP = 65535
#: Candidates times lines of all maps together; where there are many, fewer features have maps.
WORK, FEWEST = 6e8, 3
#: An axis shows where the metric along it is better than so much of the way from the usual to the
#: best score, and on both sides this multiple of its width.
GOOD, ROOM = 0.5, 0.75


def maps_of(
    record: RunRecord,
    surfaces: Surfaces | None,
    pairs: Sequence[tuple[str, str]] | None = None,
    features: int = 8,
) -> Maps | None:
    """Return maps of pairs of features; None without candidates to tune on.

    Parameters
    ----------
    surfaces
        What the ranges of the axes are found from; more are followed where a feature is not
        among them.
    pairs
        Features to show, the horizontal one first; pairs of those that say most by default.
    features
        How many those are; fewer where there are more than some hundred thousand candidates.
    """
    if "tune" not in record.sets or surfaces is None:
        return None
    drawing = _Drawing(record, surfaces)
    wanted = drawing.usual(features) if pairs is None else [drawing.checked(p) for p in pairs]
    maps = []
    for k, pair in enumerate(wanted):
        drawn = drawing.draw(*pair)
        if drawn is not None:
            maps.append(drawn)
        progress("maps", k + 1, len(wanted))
    count = len(drawing.names)
    shown = {frozenset((drawn_map.x, drawn_map.y)) for drawn_map in maps}
    return Maps(tuple(maps), count * (count - 1) // 2 - len(shown))


def scores_of(drawn_map: Map) -> Floats:
    """Return the scores [rows, columns] of a map's pixels."""
    values = np.frombuffer(base64.b64decode(drawn_map.pixels), "<u2").astype(np.float64)
    scores: Floats = drawn_map.low + values.reshape(drawn_map.rows, drawn_map.columns) * (
        (drawn_map.high - drawn_map.low) / TOP
    )
    return scores


class _Drawing:
    """Draws maps of the same candidates."""

    def __init__(self, record: RunRecord, surfaces: Surfaces) -> None:
        self.hypotheses = record.sets["tune"].lists.hypotheses()
        self.names = self.hypotheses.names
        self.weights = record.weights.aligned(self.names)
        self.here = self.hypotheses.point(self.weights)
        self.curves = {curve.feature: curve for curve in surfaces.curves}

    def usual(self, features: int) -> list[tuple[str, str]]:
        """Return all pairs of those features that say most; what never varies is not among them."""
        spread = spreads(self.hypotheses)
        order = by_importance(self.hypotheses, self.weights)
        names = [self.names[d] for d in order if spread[d] > 0.0]
        lines = WORK / max(1, self.hypotheses.features.candidates)
        while features > FEWEST and ROWS * features * (features - 1) / 2 > lines:
            features -= 1
        return list(itertools.combinations([n for n in names if n in self.curves][:features], 2))

    def checked(self, pair: tuple[str, str]) -> tuple[str, str]:
        """Return a requested pair."""
        for name in pair:
            if name not in self.names:
                raise UnknownNameError("feature", name, self.names)
        if pair[0] == pair[1]:
            raise UsageError(f"a map has two axes, and both are '{pair[0]}'; give two features")
        return pair

    def draw(self, x: str, y: str) -> Map | None:
        """Return a map; None if the metric is not a finite number everywhere."""
        hypotheses, axes = self.hypotheses, (self.names.index(x), self.names.index(y))
        window = self._window(x), self._window(y)
        if window[0] is None or window[1] is None:
            return None
        along, across = (Direction.along(d, self.names[d]) for d in axes)
        ends, edges = np.linspace(*window[0], COLUMNS + 1), np.linspace(*window[1], ROWS + 1)
        now = self.weights[list(axes)]

        def point_of(y: float) -> Point:
            return hypotheses.move(self.here, across, y - now[1])

        middles = 0.5 * (edges[1:] + edges[:-1])
        work = partial(_row, hypotheses.metric, ends - now[0])
        rows: list[Floats] = []
        size = rows_at_once(hypotheses)
        for k in range(0, ROWS, size):
            points = map_pieces(point_of, middles[k : k + size].tolist())
            rows += hypotheses.map_envelopes(work, [(point, along) for point in points])
        means = np.array(rows)
        if not np.isfinite(means).all():
            return None
        sign = 1.0 if hypotheses.metric.higher_is_better else -1.0
        row, column = np.unravel_index(int(np.argmax(sign * means)), means.shape)
        best = 0.5 * (ends[column] + ends[column + 1]), middles[row], means[row, column]
        low, high = float(means.min()), float(means.max())
        return Map(
            x=x,
            y=y,
            x_range=window[0],
            y_range=window[1],
            columns=COLUMNS,
            rows=ROWS,
            low=low,
            high=high,
            pixels=_packed(means, low, high),
            current=(float(now[0]), float(now[1]), float(hypotheses.metric.score(self.here.total))),
            best=(float(best[0]), float(best[1]), float(best[2])),
        )

    def _window(self, name: str) -> Span | None:
        """Return the range of an axis; None if the metric is not a number everywhere on it."""
        if name not in self.curves:
            (line,) = lines_along(self.hypotheses, self.weights, [self.names.index(name)])
            if line is None:
                return None
            self.curves[name] = curve_of(line, float(np.abs(self.weights).max()))
        return window_of(self.curves[name], self.hypotheses.metric.higher_is_better)


def window_of(curve: SurfaceCurve, higher: bool) -> Span:
    """Return where the metric is good along a weight, with the weight and some room around.

    Most of a line is far from good weights: a map of all of it would show them as one pixel.
    """
    low, high = curve.window
    columns = np.linspace(low, high, FINE + 1)
    if curve.band is not None:
        ends = np.array(curve.band["ends"])
        scores = 0.5 * (np.array(curve.band["low"]) + np.array(curve.band["high"]))
        means, _, _ = pixels(ends[1:-1], scores, columns)
    else:
        means, _, _ = pixels(np.array(curve.edges), np.array(curve.scores), columns)
    gains = means if higher else -means
    usual, best = float(np.median(gains)), float(gains.max())
    good = np.flatnonzero(gains >= usual + GOOD * (best - usual))
    first = min(float(columns[good[0]]), curve.weight)
    last = max(float(columns[good[-1] + 1]), curve.weight)
    room = ROOM * (last - first)
    return max(low, first - room), min(high, last + room)


def _row(
    metric: Metric, ends: Floats, point: Point, direction: Direction, envelope: Envelope
) -> Floats:
    """Return the means along an exact line, from each end of a column to the next."""
    mean, _, _ = pixels(*scores_along(metric, point, direction, envelope), ends)
    return mean


def _packed(means: Floats, low: float, high: float) -> str:
    """Return the pixels' text: 0 is the lowest score, the greatest number the highest."""
    scaled = (means - low) / (high - low) if high > low else np.zeros_like(means)
    values = np.rint(scaled * TOP).astype("<u2")
    return base64.b64encode(values.tobytes()).decode("ascii")
