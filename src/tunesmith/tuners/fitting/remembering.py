"""Tuners that make use of the rounds of a loop before their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.tuners.base import Tuner


@dataclass(frozen=True, kw_only=True)
class Remembering(Tuner):
    """What a tuner inherits that wants to know the weights of earlier rounds.

    They are no option, and two tuners that differ in them are equal.

    Attributes
    ----------
    earlier
        The weights of earlier rounds, the first round first; None outside a loop.
    """

    earlier: tuple[Weights, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def in_loop(self) -> bool:
        """Whether this is a round of a loop, so that lists change from run to run."""
        return self.earlier is not None

    def after(self, rounds: Sequence[Weights]) -> Self:
        """Return the tuner for the next round of a loop, which knows the rounds before."""
        return replace(self, earlier=tuple(rounds))

    def points(self, names: tuple[str, ...]) -> list[Floats]:
        """Return the weights of earlier rounds for some features, the last round first."""
        return [weights.aligned(names) for weights in reversed(self.earlier or ())]

    def changed(self, **options: Any) -> Self:
        """Return the tuner with other options, which knows the same rounds."""
        return replace(self, **options)


def distinct(points: Iterable[Floats]) -> list[Floats]:
    """Return points without repetitions, in the order of their first."""
    distinct: dict[bytes, Floats] = {}
    for point in points:
        distinct.setdefault((point + 0.0).tobytes(), point)  # without negative zeros
    return list(distinct.values())
