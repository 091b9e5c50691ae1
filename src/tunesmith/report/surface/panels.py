"""What static and interactive pictures of a surface share: ranges, steps, texts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.report.drawing import INK
from tunesmith.report.surface.curves import Curve, Span
from tunesmith.report.surface.surface import Line

#: One colour per metric (Okabe and Ito 2008: distinct for the colour-blind too).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
PLATEAU = "#E69F00"
CURRENT = INK
BEST = "#F0E442"

#: The close-up shows about this many steps, at most ``CLOSE_MOST`` of any metric.
CLOSE, CLOSE_MOST = 24, 2000
#: The best interval is shown if it is at most this multiple of the width of the rest away.
REACH = 2.0


@dataclass(frozen=True)
class StepCurve:
    """The objective within a window, step for step.

    Attributes
    ----------
    ends : float64[n + 1]
        The window's ends and the edges between them.
    scores : float64[n]
        The score from one to the next.
    """

    ends: Floats
    scores: Floats


@dataclass(frozen=True)
class Band:
    """The objective within a window where steps are too many to see.

    Attributes
    ----------
    ends : float64[n + 1]
        The ends of columns of equal width.
    low, high : float64[n]
        The lowest and the highest score in each.
    """

    ends: Floats
    low: Floats
    high: Floats


def whole_window(line: Line) -> Span:
    """Return what the first panel shows: the requested range, or most of the line.

    The middle 90 % of the edges, the current weight and, unless it is far off, the best
    one. A few breakpoints of nearly parallel lines are millions of times as far away.
    """
    if line.span is not None:
        return line.span
    edges = np.concatenate([curve.edges for curve in line.curves])
    shown = [line.weight] if line.along.kind != "to" else [0.0, 1.0]
    if len(edges):
        shown += np.quantile(edges, [0.05, 0.95]).tolist()
    low, high = min(shown), max(shown)
    room = REACH * (high - low)
    near = [c.best.at for c in line.curves if low - room <= c.best.at <= high + room]
    low, high = min([low, *near]), max([high, *near])
    margin = (0.05 if len(edges) > 50 else 0.25) * (high - low) or abs(line.weight) or 1.0
    return low - margin, high + margin


def close_window(line: Line) -> Span:
    """Return what the second panel shows: some steps on both sides of the current weight."""
    half, most = 0.0, np.inf
    for curve in line.curves:
        distances = np.sort(np.abs(curve.edges - line.weight))
        distances = distances[distances > 0]
        if not len(distances):
            continue
        half = max(half, 1.1 * float(distances[min(CLOSE, (len(distances) + 1) // 2) - 1]))
        ends = [abs(end - line.weight) for end in curve.plateau if math.isfinite(end)]
        half = max(half, 1.5 * max(ends, default=0.0))
        if len(distances) > CLOSE_MOST:
            most = min(most, float(distances[CLOSE_MOST]))
    half = min(half, most) or abs(line.weight) or 1.0
    return line.weight - half, line.weight + half


def shape_within(curve: Curve, window: Span, columns: int, most: int) -> StepCurve | Band:
    """Return all steps within a window, or columns if there are more than ``most`` steps."""
    edges, scores = curve.within(window)
    if len(edges) <= most:
        return StepCurve(np.concatenate([window[:1], edges, window[1:]]), scores)
    ends = np.linspace(*window, columns + 1)
    first = np.searchsorted(edges, ends[:-1], side="right")
    last = np.searchsorted(edges, ends[1:], side="left")
    # Slices first:last + 1, one after the other; one more score so that the last may end there.
    slices = np.column_stack([first, last + 1]).ravel()
    padded = np.append(scores, scores[-1])
    return Band(
        ends, np.minimum.reduceat(padded, slices)[::2], np.maximum.reduceat(padded, slices)[::2]
    )


def too_many(line: Line, most: int) -> bool:
    """Say whether the first panel shows columns for want of room."""
    window = whole_window(line)
    return any(len(curve.within(window)[0]) > most for curve in line.curves)


def score_label(curve: Curve) -> str:
    """Return what the vertical axis is called."""
    return f"{curve.metric} ({'higher' if curve.higher_is_better else 'lower'} is better)"


def heading(line: Line) -> str:
    """Say which line it is, and of how many pieces."""
    plural = "" if line.breakpoints == 1 else "s"
    return f"{line.along.title}: {line.breakpoints:,} breakpoint{plural}"


def current_text(line: Line, curve: Curve) -> str:
    """Say what the current weights score, and how wide the plateau around them is."""
    low, high = curve.plateau
    where = number(line.weight, curve.plateau_width)
    return f"now {curve.current_score:.4f} at {where}, {plateau_text(low, high)}"


def plateau_text(low: float, high: float) -> str:
    """Describe the plateau in words."""
    width = high - low
    if math.isinf(low) and math.isinf(high):
        return "the same everywhere"
    if math.isinf(low):
        return f"plateau without end below {number(high, width)}"
    if math.isinf(high):
        return f"plateau without end above {number(low, width)}"
    if width == 0:
        return "no plateau: candidates are tied"
    return f"plateau {interval(low, high)}, width {width:.3g}"


def best_text(line: Line, curve: Curve) -> str:
    """Say where the metric is best on the line."""
    best = curve.best
    if best.at == line.weight:
        return f"best {best.score:.4f}, by the current weights"
    where = number(best.at, best.high - best.low)
    return f"best {best.score:.4f} at {where} ({interval(best.low, best.high)})"


def interval(low: float, high: float) -> str:
    """Write two ends with the digits that tell them apart."""
    width = high - low
    if math.isinf(low):
        return f"below {number(high, width)}"
    if math.isinf(high):
        return f"above {number(low, width)}"
    return f"{number(low, width)} to {number(high, width)}"


def number(value: float, width: float) -> str:
    """Write a number with the digits that matter in an interval of some width."""
    if not 0 < width < math.inf or abs(value) >= 1e7:
        return f"{value:.6g}"
    decimals = max(0, 2 - math.floor(math.log10(width)))
    return f"{value:.{decimals}f}" if decimals <= 12 else f"{value:.10g}"


def summary(line: Line) -> list[str]:
    """Say in a few lines of text what a picture would show."""
    lines = [heading(line)]
    for curve in line.curves:
        worse = "" if curve.higher_is_better else " (lower is better)"
        parts = [
            f"{curve.metric}{worse}: {current_text(line, curve)}",
            best_text(line, curve),
        ]
        if curve.end_score is not None:
            parts.append(f"at γ = 1: {curve.end_score:.4f}")
        lines.append("; ".join(parts))
    return lines
