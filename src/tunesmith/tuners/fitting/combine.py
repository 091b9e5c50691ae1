"""Several runs made into one, and the scale of the weights."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import get_args

import numpy as np

from tunesmith.arrays import Floats, inner
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.search.space.constraints import unknown_feature
from tunesmith.search.space.space import Space
from tunesmith.tuners.fitting.result import Combine

#: What is said where no weight above 0 is of use, and they must sum to one.
NO_SUM = (
    "every weight is 0 under the restrictions; equal weights, which sum to one, take their place"
)
NORMS = ("auto", "none", "l1", "l2")


def check_runs(runs: int, combine: str) -> None:
    """Raise an error if runs cannot be combined so."""
    if runs < 1:
        raise UsageError(f"runs is {runs}; give 1 or more")
    if combine not in get_args(Combine):
        raise UnknownNameError("way to combine runs", combine, get_args(Combine))


def middle(vectors: Sequence[Floats], combine: Combine, spread: Floats, space: Space) -> Floats:
    """Return the average or the median of several weight vectors.

    Foster and Kuhn (2009) and Cettolo et al. (2011) combine runs for stability. Weights that
    differ by a factor do the same, so each vector is first brought to the mean size of all,
    measured in units of the features' spread, unless the space pins the scale.
    """
    weights = np.array(vectors)
    if not space.pins_scale:
        sizes = np.sqrt(np.square(weights * spread).sum(axis=1))
        factors = np.divide(sizes.mean(), sizes, out=np.ones(len(sizes)), where=sizes > 0)
        weights = weights * factors[:, None]
    average: Floats = (np.mean if combine == "average" else np.median)(weights, axis=0)
    return space.exact(average)


def check_normalise(normalise: str, space: Space) -> None:
    """Raise an error if the result cannot be normalised so."""
    if space.sums and normalise != "auto":
        raise UsageError(f"normalise '{normalise}' and sum-to-one both say the scale; drop one")
    if normalise in NORMS:
        name, constant = None, None
    elif normalise not in space.names:
        raise unknown_feature(normalise, space.names, "normalise is auto, none, l1, l2 or a name")
    else:
        name, constant = normalise, space.constant(normalise)
    if constant == 0.0:
        raise UsageError(f"{name} is fixed at 0 and cannot be made 1; normalise by another")
    if normalise not in ("auto", "none") and space.pins_scale and constant not in (1.0, -1.0):
        raise UsageError(
            f"normalise '{normalise}' would break a fixed weight or a bound other than 0; "
            "drop one of them"
        )


def normalised(
    weights: Floats, normalise: str, space: Space, start: Floats | None = None
) -> Floats:
    """Multiply weights by the positive number that makes their norm, or one of them, 1.

    With ``auto`` they have the l1 norm of the start, or 1 where none is given.
    """
    if space.sums:
        if not weights.any():
            warnings.warn(NO_SUM, stacklevel=3)
        return space.reported(weights)
    if normalise == "none" or space.pins_scale:  # if it is pinned, it is 1 already
        return weights
    if normalise == "auto":
        norm = 0.0 if start is None else float(np.abs(start).sum())
        size = float(np.abs(weights).sum()) / (norm or 1.0)
        if size == 0.0:
            return weights
    elif normalise in NORMS:
        size = float(np.abs(weights).sum()) if normalise == "l1" else inner(weights, weights) ** 0.5
    else:
        size = abs(float(weights[space.names.index(normalise)]))
    if size == 0.0:
        subject = "all weights are" if normalise in NORMS else f"the weight of {normalise} is"
        warnings.warn(f"{subject} 0 after tuning; the weights are not normalised", stacklevel=3)
        return weights
    return space.exact(weights / size)
