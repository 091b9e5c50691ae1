"""Weights that are not given."""

from __future__ import annotations

from collections.abc import Iterable

from tunesmith.data.weights import Weights


def completed(weights: Weights, names: Iterable[str]) -> Weights:
    """Return weights for some names at least: 0 where none is given.

    The loop takes a weight that is not given as 0. A program must then not take what stands in
    its own configuration.
    """
    return Weights.from_dict({**dict.fromkeys(names, 0.0), **weights})
