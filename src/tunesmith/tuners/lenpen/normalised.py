"""Lists whose scores are divided by a power of a length, for any exponent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Flags, Floats
from tunesmith.data.weights import Weights
from tunesmith.derived.base import DERIVED, PREFIX, derived_of
from tunesmith.derived.lengths import lengths_of, per_length, quotient_of
from tunesmith.errors import UsageError
from tunesmith.tasks.base import Task
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.lenpen.options import Lenpen

#: The decimal logarithm of the largest power of a length that scores are divided by.
LARGEST_POWER = 100.0


class NormalisedLists:
    """Lists with features that are divided by ``length ** exponent``, under their own names.

    So restrictions and patterns name features as the data do, whatever the exponent.

    Parameters
    ----------
    tuning
        The lists as they were read.
    lenpen
        What is divided by what. Quotients that an earlier length penalty has added take no part.
    """

    def __init__(self, tuning: Task, lenpen: Lenpen) -> None:
        lists = tuning.lists
        if tuning.is_sharded:
            raise UsageError(
                "a length penalty divides the scores of whole lists, of which workers have a part "
                "each; drop --lenpen or --sharded"
            )
        if lists is None:
            raise UsageError(
                "a length penalty divides the scores of whole candidates, and only lists have "
                "them; make lists with `tunesmith convert --forests F --nbest N`"
            )
        self.lenpen = lenpen
        self.length = length_name(lenpen.length, lists.names)
        self._lengths = lengths_of(lists.candidates, self.length)
        self._check_range()
        names = lists.names
        quotients = [name for name in names if quotient_of(name) is not None]
        self._base = lists.with_features(drop=quotients) if quotients else lists
        for pattern in lenpen.plain:
            if not any(replace(lenpen, plain=(pattern,)).is_plain(n) for n in self.names):
                raise UsageError(f"lenpen-plain '{pattern}' matches no feature; name others")
        if all(map(lenpen.is_plain, self.names)):
            raise UsageError("lenpen-plain names all features, and none is left to be divided")

    def _check_range(self) -> None:
        """Raise an error if powers of lengths are too large at an end of the range."""
        longest = float(self._lengths.max())
        widest = LARGEST_POWER / max(math.log10(longest), 1e-9)
        for end in (self.lenpen.low, self.lenpen.high):
            if abs(end) > widest:
                most = math.floor(widest)
                raise UsageError(
                    f"the range of the exponent goes to {end:g}, and a length of {longest:g} "
                    f"has no useful power there; give a range within {-most}:{most}, as 0:2"
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The features, without quotients."""
        return self._base.names

    @property
    def divided(self) -> Flags:
        """Which features [D] are divided."""
        return np.array([not self.lenpen.is_plain(name) for name in self.names])

    @property
    def lengths(self) -> Floats:
        """The length [N] of each candidate, 1 or more."""
        return self._lengths

    @property
    def lists(self) -> TuningSet:
        """The lists as they are."""
        return self._base

    def at(self, exponent: float) -> TuningSet:
        """Return the lists with their scores divided."""
        features = self._base.candidates.features
        powers = np.power(self._lengths, exponent)
        is_divided = self.divided
        split = len(features.dense_names)
        dense = features.dense.copy()
        dense[is_divided[:split]] /= powers
        sparse = features.sparse
        if len(features.sparse_names):
            columns = np.repeat(is_divided[split:], np.diff(sparse.indptr))
            data = np.where(columns, sparse.data / powers[sparse.indices], sparse.data)
            sparse = csc_array((data, sparse.indices, sparse.indptr), shape=sparse.shape)
        scaled = replace(features, dense=dense, sparse=sparse)
        return self._base.of(replace(self._base.candidates, features=scaled), self._base.stats)

    def parts(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return the sum of the scores [N] that are divided, and of those that are not."""
        vector = weights.aligned(self.names)
        is_divided = self.divided
        dot = self._base.candidates.features.dot
        return dot(np.where(is_divided, vector, 0.0)), dot(np.where(is_divided, 0.0, vector))

    def named(self, weights: Mapping[str, float], exponent: float) -> Weights:
        """Return weights with the names of quotients, by which every command makes them again.

        What is divided keeps its own name too, with the weight 0.
        """
        if exponent == 0.0:
            return Weights.from_dict(weights)
        divided = dict(zip(self.names, self.divided.tolist(), strict=True))
        plain = {n: 0.0 if divided.get(n, False) else w for n, w in weights.items()}
        quotients = {
            per_length(self.length, exponent, name): weight
            for name, weight in weights.items()
            if divided.get(name, False)
        }
        return Weights.from_dict({**plain, **quotients})


def length_name(length: str, names: tuple[str, ...]) -> str:
    """Return the feature that a user means: one of the data, or a derived one."""
    if length in names or length.startswith(PREFIX):
        return length
    if length.partition(":")[0] in DERIVED.names():
        return derived_of(length).feature
    return length  # which is an error that names the features
