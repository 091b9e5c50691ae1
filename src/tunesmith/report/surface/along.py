"""Lines through some weights: along a feature, along a direction, to other weights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tunesmith.arrays import Floats
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.inference.hypotheses import Direction

#: Longer names are cut in titles and on axes.
LONGEST = 40


@dataclass(frozen=True)
class Along:
    """A line, and how one reads its axis.

    Attributes
    ----------
    kind
        ``feature``, ``direction``, ``to`` or ``exponent``.
    name
        The feature, or the length that scores are divided by; or the file that the direction or
        the other weights came from.
    direction
        Where it leads.
    origin
        What the axis shows at the current weights: the feature's weight, or γ = 0.
    end : float64[D]
        The weights at γ = 1, where the line leads to some.
    title, axis
        What a picture and its axis are called.
    """

    kind: Literal["feature", "direction", "to", "exponent"]
    name: str
    direction: Direction
    origin: float
    end: Floats | None
    title: str
    axis: str


def along_feature(names: Sequence[str], weights: Floats, name: str) -> Along:
    """Vary the weight of one feature."""
    if name not in names:
        raise UnknownNameError("feature", name, names)
    index = list(names).index(name)
    shown = _short(name)
    return Along(
        kind="feature",
        name=name,
        direction=Direction.along(index, name),
        origin=float(weights[index]),
        end=None,
        title=f"along {shown}",
        axis=f"weight of {shown}",
    )


def along_direction(vector: Floats, name: str) -> Along:
    """Add γ times a vector."""
    if not vector.any():
        raise UsageError(f"{name}: the direction is 0 for every feature; give one that is not")
    shown = _short(os.path.basename(name))
    return Along(
        kind="direction",
        name=name,
        direction=Direction.of(vector, name),
        origin=0.0,
        end=None,
        title=f"along {shown}",
        axis=f"γ: the current weights plus γ times {shown}",
    )


def along_to(start: Floats, end: Floats, start_name: str, name: str) -> Along:
    """Go from some weights to others."""
    if not (end - start).any():
        raise UsageError(f"{name}: these are the weights of {start_name}; give others")
    shown = _short(os.path.basename(start_name)), _short(os.path.basename(name))
    return Along(
        kind="to",
        name=name,
        direction=Direction.of(end - start, name),
        origin=0.0,
        end=end.copy(),
        title=f"from {shown[0]} to {shown[1]}",
        axis=f"γ: from {shown[0]} (0) to {shown[1]} (1)",
    )


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
