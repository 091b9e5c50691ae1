"""Line searches, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tunesmith.inference.hypotheses import Direction, Envelope, Hypotheses, Line, Point
from tunesmith.metrics.base import Metric
from tunesmith.search.line.penalised import Penalty, best_penalised_step
from tunesmith.search.line.search import (
    LineStep,
    best_step_along,
    reach,
    step_into,
    totals_along,
)
from tunesmith.search.line.smooth import Smoothing, best_smoothed_step
from tunesmith.search.space.space import Space


@dataclass(frozen=True)
class LineSearch:
    """What steps on lines are judged by, and which of them are allowed.

    Attributes
    ----------
    space
        What the weights may be.
    smoothing
        How the objective along a line is smoothed; not at all by default.
    penalty
        What is taken off the gain; nothing without it. It does not go with smoothing.
    """

    space: Space
    smoothing: Smoothing = field(default_factory=Smoothing)
    penalty: Penalty | None = None

    def steps(self, hypotheses: Hypotheses, lines: Sequence[Line]) -> list[LineStep]:
        """Return the best step on each line."""
        if not lines:
            return []
        ask: Any = getattr(hypotheses, "best_intervals", None)
        if ask is not None and not self.smoothing and self.penalty is None:
            steps = self._steps_of_device(ask, hypotheses.metric, lines)
            if steps is not None:
                return steps
        return hypotheses.map_envelopes(partial(self._step, hypotheses.metric), lines)

    def _steps_of_device(
        self, ask: Any, metric: Metric, lines: Sequence[Line]
    ) -> list[LineStep] | None:
        """Return the best steps that a device finds; None if it cannot score the metric."""
        reaches = [reach(point.weights, direction) for point, direction in lines]
        limits = [self.space.limits(point.weights, direction) for point, direction in lines]
        answers = ask(lines, reaches, limits)
        if answers is None:
            return None
        # What counts is what the processor says of the same statistics.
        gains = metric.gain(np.array([answer.total for answer in answers]))
        return [
            step_into(answer.number, answer.low, answer.high, float(gain), point)
            for answer, gain, (point, _) in zip(answers, gains, lines, strict=True)
        ]

    def _step(
        self, metric: Metric, point: Point, direction: Direction, envelope: Envelope
    ) -> LineStep:
        limits = self.space.limits(point.weights, direction)
        if not self.smoothing and self.penalty is None:
            return best_step_along(metric, envelope, point, direction, limits)
        edges, totals = totals_along(envelope)
        line = edges, metric.gain(totals), point, direction
        if self.smoothing:
            return best_smoothed_step(*line, self.smoothing, limits)
        assert self.penalty is not None
        return best_penalised_step(*line, self.penalty, limits)
