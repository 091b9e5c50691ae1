"""The metric along the exponent of a length penalty, exactly."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence

import numpy as np

from tunesmith.data.weights import Weights
from tunesmith.derived.lengths import quotient_of, without_quotients
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Direction
from tunesmith.report.surface.along import Along
from tunesmith.report.surface.curves import SAME_SCORE, Best, Curve, Span, merged, not_finite
from tunesmith.report.surface.surface import ErrorSurface, Line, label_of
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.lenpen.line import along_exponent
from tunesmith.tuners.lenpen.normalised import NormalisedLists
from tunesmith.tuners.lenpen.options import HIGH, LOW, Lenpen


def exponent_surface(
    tunings: Sequence[TuningSet],
    weights: Mapping[str, float],
    span: Span | None = None,
    labels: Sequence[str] | None = None,
) -> ErrorSurface:
    """Return metrics along the exponent of the length penalty that some weights have.

    Parameters
    ----------
    tunings
        The same candidates with the statistics of each metric; they have the quotients.
    weights
        The current weights.
    span
        A range of exponents; 0 to 2 unless one is given, with the current one in the middle half.
    labels
        Names of the metrics.
    """
    quotients = [parts for name in weights if (parts := quotient_of(name)) is not None]
    if not quotients:
        raise UsageError("the weights have no length penalty; tune some with --lenpen LENGTH")
    length = quotients[0][0]
    plain, exponent = without_quotients(weights, length)
    assert plain is not None
    divided = {feature for _, _, feature in quotients}
    low, high = (min(LOW, 2.0 * exponent), max(HIGH, 2.0 * exponent)) if span is None else span
    if not low <= exponent <= high:
        raise UsageError(f"the exponent is {exponent:g}; give a range with it inside")
    vector = Weights.from_dict(plain)
    curves = []
    labels = [label_of(tuning.metric) for tuning in tunings] if labels is None else labels
    for tuning, label in zip(tunings, labels, strict=True):
        others = tuple(
            glob.escape(name)
            for name in tuning.names
            if name not in divided and quotient_of(name) is None
        )
        lists = NormalisedLists(tuning, Lenpen(length, low, high, others))
        current = tuning.score_at(Weights.from_dict(weights).aligned(tuning.names))
        breakpoints, curve = _curve(lists, vector, exponent, current, label)
        curves.append(curve)
    along = Along(
        kind="exponent",
        name=length,
        direction=Direction(np.zeros(0, np.int64), np.zeros(0), "exponent"),
        origin=exponent,
        end=None,
        title=f"along the exponent of {length}",
        axis=f"exponent of {length}",
    )
    line = Line(along, exponent, breakpoints, (low, high), tuple(curves))
    signature = f"surface|along:exponent:{length}|range:{low!r}:{high!r}|"
    signature += "+".join(tuning.signature() for tuning in tunings)
    return ErrorSurface((line,), signature, tunings[0].candidates.files)


def _curve(
    lists: NormalisedLists, weights: Weights, exponent: float, current: float, label: str
) -> tuple[int, Curve]:
    """Return how often winners change, and the metric between."""
    metric = lists.lists.metric
    steps = along_exponent(lists, weights)
    scores = steps.gains * (metric.scale if metric.higher_is_better else -metric.scale)
    if not np.isfinite(scores).all():
        raise not_finite(label)
    same = SAME_SCORE * float(np.abs(scores).max())
    edges, between = merged(steps.edges, scores, 1.0, same)
    place = int(np.searchsorted(edges, exponent))
    ends = [steps.low, *edges.tolist(), steps.high]
    plateau = ends[place], ends[place + 1]
    gain, at, low, high = steps.best()
    top = gain * (metric.scale if metric.higher_is_better else -metric.scale)
    best = Best(top, low, high, at)
    if (top - current if metric.higher_is_better else current - top) <= max(same, 1e-9):
        best = Best(current, *plateau, exponent)
    return len(steps.edges), Curve(
        metric=label,
        signature=lists.lists.signature(),
        higher_is_better=metric.higher_is_better,
        edges=edges,
        scores=between,
        current_score=current,
        end_score=None,
        plateau=plateau,
        best=best,
    )
