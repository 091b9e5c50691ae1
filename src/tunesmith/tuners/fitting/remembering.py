"""Tuners that make use of the rounds of a loop before their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Self

from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.tuners.base import Tuner


class Remembering(Tuner):
    """What a tuner inherits that wants to know the weights of earlier rounds.

    They are no option: they are kept aside, and two tuners that differ in them are equal. The
    subclass is a dataclass.
    """

    @property
    def earlier(self) -> tuple[Weights, ...] | None:
        """The weights of earlier rounds, the first round first; None outside a loop."""
        found: tuple[Weights, ...] | None = getattr(self, "_earlier", None)
        return found

    @property
    def in_loop(self) -> bool:
        """Whether this is a round of a loop, so that lists change from run to run."""
        return self.earlier is not None

    def after(self, rounds: Sequence[Weights]) -> Self:
        """Return the tuner for the next round of a loop, which knows the rounds before."""
        return self._with_earlier(tuple(rounds), {})

    def points(self, names: tuple[str, ...]) -> list[Floats]:
        """Return the weights of earlier rounds for some features, the last round first."""
        return [weights.aligned(names) for weights in reversed(self.earlier or ())]

    def changed(self, **options: Any) -> Self:
        """Return the tuner with other options, which knows the same rounds."""
        return self._with_earlier(self.earlier, options)

    def _with_earlier(self, rounds: tuple[Weights, ...] | None, options: dict[str, Any]) -> Self:
        made: Self = dataclasses.replace(self, **options)  # type: ignore[type-var]
        object.__setattr__(made, "_earlier", rounds)
        return made


def distinct(points: Iterable[Floats]) -> list[Floats]:
    """Return points without repetitions, in the order of their first."""
    found: dict[bytes, Floats] = {}
    for point in points:
        found.setdefault((point + 0.0).tobytes(), point)  # without negative zeros
    return list(found.values())
