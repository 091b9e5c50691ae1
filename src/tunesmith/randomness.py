"""Where random numbers come from: a generator, or a seed."""

from __future__ import annotations

import operator

import numpy as np

from tunesmith.errors import UsageError


def checked_seed(seed: object) -> int:
    """Return a seed as a number, or raise an error if it is none."""
    try:
        number = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"rng is {seed!r}; give a numpy Generator or a whole number") from None
    if number < 0:
        raise UsageError(f"seed is {number}; give 0 or more")
    return number


def generator_of(rng: np.random.Generator | int) -> np.random.Generator:
    """Return a generator as it is, or the one that a seed makes."""
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.default_rng(checked_seed(rng))
