"""What a user says of a length penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tunesmith.errors import UsageError

#: The exponents that are tried unless a range is given.
LOW, HIGH = 0.0, 2.0


@dataclass(frozen=True)
class Lenpen:
    """A length penalty: scores are divided by ``length ** exponent``, and the exponent is tuned.

    Attributes
    ----------
    length
        A feature, or a derived one such as ``words``.
    low, high
        The range of the exponent.
    plain
        Patterns of the features that are not divided.
    """

    length: str
    low: float = LOW
    high: float = HIGH
    plain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.length:
            raise UsageError("lenpen names no length; give a feature, or words")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise UsageError(
                f"the range of the exponent is {self.low:g}:{self.high:g}; give LOW:HIGH, the "
                "lower one first"
            )

    def is_plain(self, name: str) -> bool:
        """Tell whether a feature is not divided."""
        return any(fnmatchcase(name, pattern) for pattern in self.plain)
