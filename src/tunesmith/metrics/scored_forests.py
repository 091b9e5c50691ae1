"""Forests with a metric, and how they are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np

from tunesmith.arrays import Flags, Ints
from tunesmith.data.candidates import FileDigest
from tunesmith.data.forests import ForestArrays, Forests
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.kernels import kernel
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.scored import Scored, reference_signature
from tunesmith.parallel.local import map_pieces

SEARCHES = ("auto", "rerank", "linear", "kbest")
LISTS = ("kbest", "samples")
#: Up to this many features all count as dense; of more, those that half of the forests have.
MOST_DENSE = 200


@dataclass(frozen=True)
class ForestOptions:
    """How derivations with a high or a low gain are searched for.

    Attributes
    ----------
    search
        ``rerank``: the dynamic programme of Chiang (JMLR 2012), section 5.2; ``linear``: that of
        BLEU's linear approximation, appendix A.3; ``kbest``: the best by the model alone. The
        first two are for BLEU with the objective document; ``auto`` is ``rerank`` there, and
        otherwise ``kbest``.
    size
        The number of derivations in a list made from a forest.
    lists
        Which derivations a tuner that learns from lists receives: the ``kbest`` of each forest, or
        ``samples`` from the model's distribution.
    pruning
        How the forests were pruned, such as ``beam:5``; it is part of the signature.
    """

    search: Literal["auto", "rerank", "linear", "kbest"] = "auto"
    size: int = 100
    lists: Literal["kbest", "samples"] = "kbest"
    pruning: str = ""

    def __post_init__(self) -> None:
        if self.search not in SEARCHES:
            raise UnknownNameError("forest search", self.search, SEARCHES)
        if self.lists not in LISTS:
            raise UnknownNameError("kind of list", self.lists, LISTS)
        if self.size < 1:
            raise UsageError(f"the size of lists is {self.size}; give 1 or more")

    def signature(self, is_bleu: bool = True) -> str:
        """Return what has to be known to search in the same way."""
        pruned = f"|pruned:{self.pruning}" if self.pruning else ""
        usual = "rerank" if is_bleu else "kbest"
        search = usual if self.search == "auto" else self.search
        return f"forests:{search}|{self.lists}:{self.size}{pruned}"


class ScoredForests(Scored):
    """Forests, the metric of what is chosen from them, and how they are searched.

    Parameters
    ----------
    forests
        What may be chosen: all their derivations.
    metric
        A metric, or its name with options. It must be one of texts: what others count of single
        candidates a forest does not have.
    options
        How derivations are looked for.
    """

    def __init__(
        self,
        forests: Forests,
        metric: Metric | str = "bleu",
        options: ForestOptions | None = None,
    ) -> None:
        if isinstance(metric, str):
            metric = METRICS.create(metric)
        if not isinstance(forests, Forests):
            raise UsageError("forests are needed; read some with read_forests")
        if metric.columns:
            raise UsageError(
                f"{metric.name} needs a score for each candidate, and forests have none; make "
                "lists of them with `tunesmith convert --forests F --nbest N`"
            )
        if metric.needs_references and forests.references is None:
            raise TunesmithError(f"{metric.name} needs references; give --references")
        self.forests = forests
        self.metric = metric
        self.options = options or ForestOptions()

    def __repr__(self) -> str:
        arguments = f"forests={self.forests!r}, metric={self.metric!r}, options={self.options!r}"
        return f"{type(self).__name__}({arguments})"

    @property
    def names(self) -> tuple[str, ...]:
        """The features."""
        return self.forests.names

    @cached_property
    def dense(self) -> Flags:
        """Which features most derivations have: all of few, otherwise those of most forests."""
        if len(self.names) <= MOST_DENSE:
            return np.ones(len(self.names), np.bool_)
        return self.common

    @cached_property
    def common(self) -> Flags:
        """Which features are in half of the forests, however many there are."""
        size = len(self.names)

        def count(piece: slice) -> Ints:
            return _forests_with(*self.forests.block(piece.start, piece.stop), size)

        forests_with = sum(map_pieces(count, self.forests.pieces()), np.zeros(size, np.int64))
        flags: Flags = 2 * forests_with >= self.groups
        return flags

    @property
    def groups(self) -> int:
        """The number of forests."""
        return self.forests.groups

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """What the forests were read from."""
        return self.forests.files

    def with_features(self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()) -> Self:
        """Return the same with some of the features."""
        return type(self)(self.forests.with_features(keep, drop), self.metric, self.options)

    def with_metric(self, metric: Metric) -> Self:
        """Return the same forests with another metric."""
        return type(self)(self.forests, metric, self.options)

    def signature(self) -> str:
        """Return the metric's signature, and how forests are searched."""
        references = self.forests.references
        metric = self.metric
        searched = self.options.signature(type(metric) is BLEU)
        result = f"{metric.signature()}|{searched}"
        if references is None:
            return result
        return f"{result}|{reference_signature(references.counts.tolist())}"


@kernel
def _forests_with(arrays: ForestArrays, first: int, last: int, size: int) -> Ints:
    """Return how many of some forests have each feature [D] on a hyperedge."""
    counts = np.zeros(size, np.int64)
    seen = np.full(size, -1, np.int64)
    for s in range(first, last):
        lo = arrays.edge_start[arrays.node_start[s]]
        hi = arrays.edge_start[arrays.node_start[s + 1]]
        for k in range(arrays.feature_start[lo], arrays.feature_start[hi]):
            feature = arrays.feature_ids[k]
            if seen[feature] != s:
                seen[feature] = s
                counts[feature] += 1
    return counts
