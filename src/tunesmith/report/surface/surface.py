"""The exact objective along lines through some weights: the numbers, and their JSON object.

Pictures are drawn from the same numbers: :mod:`tunesmith.report.surface.files`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.metrics.base import Metric
from tunesmith.report.surface.along import Along, along_direction, along_feature, along_to
from tunesmith.report.surface.curves import Curve, Span, curves_along, not_finite
from tunesmith.tasks.lists import TuningSet

SCHEMA = "tunesmith.surface/1"


@dataclass(frozen=True)
class Line:
    """All metrics along one line.

    Attributes
    ----------
    along
        Which line.
    weight
        Where the current weights are on it: the weight of a feature, 0 on other lines.
    breakpoints
        How often the winner of a group changes, from one end of the line to the other.
    span
        The requested range; None is the whole line.
    curves
        One for each metric.
    """

    along: Along
    weight: float
    breakpoints: int
    span: Span | None
    curves: tuple[Curve, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "along": {"kind": self.along.kind, "name": self.along.name},
            "weight": self.weight,
            "breakpoints": self.breakpoints,
            "range": None if self.span is None else list(self.span),
            "metrics": [curve.to_dict(self.span) for curve in self.curves],
        }


@dataclass(frozen=True)
class ErrorSurface:
    """Metrics along lines through the same weights.

    Attributes
    ----------
    lines
        One for each feature, or a single one.
    signature
        What has to be known to compute the same again, beside the data and the weights.
    files
        The data.
    """

    lines: tuple[Line, ...]
    signature: str
    files: tuple[FileDigest, ...]

    def _repr_png_(self) -> bytes | None:
        from tunesmith.report.drawing import png_of
        from tunesmith.report.surface.static import draw

        return png_of(draw, self)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "schema": SCHEMA,
            "signature": self.signature,
            "data": [asdict(file) for file in self.files],
            "lines": [line.to_dict() for line in self.lines],
        }


def error_surface(
    tunings: TuningSet | Sequence[TuningSet],
    weights: Mapping[str, float],
    *,
    features: Sequence[str] = (),
    direction: Mapping[str, float] | None = None,
    to: Mapping[str, float] | None = None,
    span: Span | None = None,
    strict: bool = False,
) -> ErrorSurface:
    """Return one or several metrics along lines through some weights.

    Parameters
    ----------
    tunings
        The same candidates with the statistics of each metric.
    weights
        The current weights.
    features, direction, to
        Give exactly one: features, each of which has a line; the components of a direction; or
        other weights, which are at γ = 1 of a line that begins at the current ones.
    span
        A range of the line, in units of the weight, or of γ.
    strict
        Make it an error if names of weights and features differ.
    """
    several = list(tunings) if isinstance(tunings, Sequence) else [tunings]
    if not several or any(t.candidates is not several[0].candidates for t in several):
        raise UsageError("give the metrics as tuning sets of the same candidates, at least one")
    if bool(features) + (direction is not None) + (to is not None) != 1:
        raise UsageError("a line is needed; give exactly one of features, direction and to")
    names = several[0].candidates.features.names
    current = Weights.from_dict(weights).matched(names, strict)
    if direction is not None:
        vector = Weights.from_dict(direction).matched(names, strict)
        lines = [along_direction(vector, "direction")]
    elif to is not None:
        end = Weights.from_dict(to).matched(names, strict)
        lines = [along_to(current, end, "current", "other")]
    else:
        lines = [along_feature(names, current, name) for name in dict.fromkeys(features)]
    return trace(several, current, lines, span)


def trace(
    tunings: Sequence[TuningSet],
    weights: Floats,
    lines: Sequence[Along],
    span: Span | None = None,
    labels: Sequence[str] | None = None,
) -> ErrorSurface:
    """Return metrics along lines, from weights in the order of the features.

    ``labels`` are the names of the metrics; they are made from their options otherwise.
    """
    if span is not None and not (np.isfinite(span).all() and span[0] < span[1]):
        raise UsageError(
            f"the range is {span[0]:g}:{span[1]:g}; give LOW:HIGH, the lower one first"
        )
    labels = [label_of(t.metric) for t in tunings] if labels is None else labels
    curves: list[list[Curve]] = [[] for _ in lines]
    breakpoints = [0] * len(lines)
    # One metric at a time: its statistics of all candidates are freed as soon as possible.
    for tuning, label in zip(tunings, labels, strict=True):
        of_metric = curves_along(tuning.hypotheses(), weights, lines, span, label)
        for k, curve in enumerate(of_metric):
            if curve is None:
                raise not_finite(label)
            breakpoints[k] = curve[0]
            curves[k].append(curve[1])
    traced = [
        Line(along, along.origin, count, span, tuple(of_line))
        for along, count, of_line in zip(lines, breakpoints, curves, strict=True)
    ]
    shown = "" if span is None else f"|range:{span[0]!r}:{span[1]!r}"
    names = ",".join(f"{along.kind}:{along.name}" for along in lines)
    signature = f"surface|along:{names}{shown}|" + "+".join(t.signature() for t in tunings)
    return ErrorSurface(tuple(traced), signature, tunings[0].candidates.files)


def label_of(metric: Metric) -> str:
    """Return a metric's name with the options that are not the default."""
    if not hasattr(metric, "__dataclass_fields__"):
        return metric.name
    options = [
        f"{field.name.replace('_', '-')}={json.dumps(value) if isinstance(value, bool) else value}"
        for field in dataclasses.fields(metric)  # type: ignore[arg-type]
        # What stands after the colon, as in column:NAME, is part of the name.
        if field.name != getattr(metric, "takes_text", None)
        and (value := getattr(metric, field.name)) != field.default
    ]
    if not options:
        return metric.name
    return metric.name + ("," if ":" in metric.name else ":") + ",".join(options)
