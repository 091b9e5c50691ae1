"""The exact metric along each weight: how fragile it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.parallel.local import map_pieces
from tunesmith.report.page.run.record import RunRecord
from tunesmith.report.page.view import Range, SurfaceCurve, Surfaces
from tunesmith.report.page.weight_table import spreads
from tunesmith.report.surface.along import along_feature
from tunesmith.report.surface.curves import Curve, Span, curves_along
from tunesmith.report.surface.panels import Band, close_window, shape_within, whole_window
from tunesmith.report.surface.surface import Line, label_of

#: Steps of all curves together within their windows, and the least and the most of one.
STEPS, FEWEST, MOST = 40_000, 800, 3000
#: Columns of a curve that has more.
COLUMNS = 640
#: Steps around the weight, at most.
CLOSE_MOST = 400
#: Lines that are followed at once: their curves may have as many steps as there are candidates.
BATCH = 16
#: A score that is worse by more than this share of it is another one: a tenth of a point at 50.
DROP = 0.002


def surfaces_of(record: RunRecord, most: int = 40) -> Surfaces | None:
    """Return the metric along the weights that say most; None without candidates to tune on."""
    if "tune" not in record.sets:
        return None
    hypotheses = record.sets["tune"].lists.hypotheses()
    weights = record.weights.aligned(hypotheses.names)
    order = by_importance(hypotheses, weights)[:most].tolist()
    steps = min(max(STEPS // max(len(order), 1), FEWEST), MOST)
    describe = partial(curve_of, largest=float(np.abs(weights).max()), most=steps)
    curves: list[SurfaceCurve] = []
    for k in range(0, len(order), BATCH):
        lines = lines_along(hypotheses, weights, order[k : k + BATCH])
        curves += map_pieces(describe, [line for line in lines if line is not None])
    left_out = len(hypotheses.names) - len(curves)
    return Surfaces("tune", tuple(curves), left_out, _note(record, len(order) - len(curves)))


def by_importance(hypotheses: ListHypotheses, weights: Floats) -> Ints:
    """Return all features, those first that say most; among those without weight the widest."""
    spread = spreads(hypotheses)
    order: Ints = np.lexsort((-spread, -np.abs(weights) * spread))
    return order


def lines_along(
    hypotheses: ListHypotheses, weights: Floats, features: Sequence[int]
) -> list[Line | None]:
    """Follow the weight of each feature; None if the metric is not a number everywhere."""
    names = hypotheses.names
    lines = [along_feature(names, weights, names[feature]) for feature in features]
    curves = curves_along(hypotheses, weights, lines, None, label_of(hypotheses.metric))
    return [
        None if curve is None else Line(along, along.origin, curve[0], None, (curve[1],))
        for along, curve in zip(lines, curves, strict=True)
    ]


def _note(record: RunRecord, failed: int) -> str:
    """Say what the candidates are where that is not plain, and what could not be followed."""
    notes = []
    if record.sets["tune"].is_partial:
        notes.append("The candidates are a part of what there was: other weights may find others.")
    elif record.result.get("rounds"):
        notes.append(
            "The candidates are those of all rounds together: with other weights the decoder "
            "would find others."
        )
    if failed:
        plural = "s" if failed > 1 else ""
        notes.append(
            f"Along {failed} more weight{plural} the metric is not a finite number everywhere."
        )
    return " ".join(notes)


def curve_of(line: Line, largest: float, most: int = MOST) -> SurfaceCurve:
    """Describe one curve; widths are relative to the weight, or to the largest one."""
    (curve,) = line.curves
    window, close = whole_window(line), _close(line, curve)
    # A range that holds the one around the weight too: zooming in does not leave it.
    window = min(window[0], close[0]), max(window[1], close[1])
    shape = shape_within(curve, window, COLUMNS, most)
    is_band = isinstance(shape, Band)
    edges, scores = curve.within(window)
    close_edges, close_scores = curve.within(close)
    size = abs(line.weight) or largest or 1.0
    low, high = curve.plateau
    drop = DROP * abs(curve.current_score)
    return SurfaceCurve(
        feature=line.along.name,
        weight=line.weight,
        score=curve.current_score,
        window=window,
        close=close,
        edges=() if is_band else tuple(edges.tolist()),
        scores=() if is_band else tuple(scores.tolist()),
        band=_band(shape) if isinstance(shape, Band) else None,
        close_edges=tuple(close_edges.tolist()),
        close_scores=tuple(close_scores.tolist()),
        plateau=_range(low, high),
        width=_finite((high - low) / size),
        edge=_finite(min(line.weight - low, high - line.weight) / size),
        best=_range(curve.best.low, curve.best.high),
        best_score=curve.best.score,
        steady=_range(*_steady(curve, line.weight, drop)),
        drop=drop,
    )


def _steady(curve: Curve, weight: float, drop: float) -> Span:
    """Return the widest interval around the weight on which the metric falls by no more."""
    edges, sign = curve.edges, 1.0 if curve.higher_is_better else -1.0
    worse = np.flatnonzero(sign * curve.scores < sign * curve.current_score - drop)
    # Where the weight is an edge, both intervals that meet there are beside it.
    left = worse[worse <= np.searchsorted(edges, weight, side="left")]
    right = worse[worse >= np.searchsorted(edges, weight, side="right")]
    ends = np.concatenate([[-np.inf], edges, [np.inf]])  # interval k is from k to k + 1
    low = min(weight, float(ends[left[-1] + 1])) if len(left) else -np.inf
    high = max(weight, float(ends[right[0]])) if len(right) else np.inf
    return low, high


def _close(line: Line, curve: Curve) -> Span:
    """Return a range around the weight that has some steps, and not too many."""
    close = close_window(line)
    distances = np.sort(np.abs(curve.edges - line.weight))
    if len(distances) <= CLOSE_MOST or distances[CLOSE_MOST] >= close[1] - line.weight:
        return close
    half = float(distances[CLOSE_MOST])
    return (line.weight - half, line.weight + half) if half > 0.0 else close


def _band(band: Band) -> dict[str, tuple[float, ...]]:
    return {
        "ends": tuple(band.ends.tolist()),
        "low": tuple(band.low.tolist()),
        "high": tuple(band.high.tolist()),
    }


def _range(low: float, high: float) -> Range:
    return _finite(low), _finite(high)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
