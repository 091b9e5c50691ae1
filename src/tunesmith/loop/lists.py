"""The candidates of all rounds so far, with their statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.columns import with_columns
from tunesmith.data.incremental_merge import IncrementalMerge
from tunesmith.data.weights import Weights
from tunesmith.loop.inputs import Inputs
from tunesmith.metrics.base import Metric
from tunesmith.tasks.lists import TuningSet


class AccumulatedLists:
    """Grows by one decoding per round; each candidate is scored once.

    Attributes
    ----------
    columns
        Columns of metrics, which are no features.
    output
        The first candidates of the last decoding, which are the decoder's output.
    merged
        All decodings, without duplicates; only if it ``grows``.
    new, size
        How many candidates the last decoding added, and how many there are; None unless it
        grows.
    """

    output: TuningSet
    merged: TuningSet
    new: int | None = None

    def __init__(
        self, inputs: Inputs, metric: Metric, columns: Sequence[str] = (), grows: bool = True
    ) -> None:
        self.inputs = inputs
        self.metric = metric
        self.columns = columns
        self.grows = grows
        self._merge = IncrementalMerge()

    def add(self, decoded: CandidateSet) -> None:
        """Add what a decoder returned."""
        # A metric reports its missing columns itself.
        names = set(decoded.features.names)
        decoded = with_columns(decoded, [name for name in self.columns if name in names])
        output = decoded.chosen(decoded.start[:-1])
        self.output = TuningSet(self.inputs.with_references(output), self.metric)
        if not self.grows:
            return
        before = self.merged.stats if hasattr(self, "merged") else self.output.stats[:0]
        is_new = self._merge.add(decoded) >= len(before)
        self.new = int(is_new.sum())
        every = self.inputs.with_references(self._merge.candidates)
        counted = self._counted(every, np.flatnonzero(is_new)) if self.new else before[:0]
        stats = np.empty((len(every), before.shape[1]), np.result_type(before, counted))
        stats[~is_new], stats[is_new] = before, counted
        self.merged = self.output.of(every, stats)

    @property
    def size(self) -> int | None:
        """How many candidates there are."""
        return len(self.merged.candidates) if self.grows else None

    def oracle(self, weights: Weights) -> tuple[float, bool]:
        """Return the oracle score, and whether it is exact."""
        oracle = self.merged.oracle()
        return oracle.score, oracle.exact

    def _counted(self, every: CandidateSet, rows: Ints) -> Stats:
        """Return the statistics of some candidates, which are all at first and few later."""
        some = every.with_candidates(rows)
        if some.has_texts or not every.has_texts:
            return TuningSet(some, self.metric).stats
        # A set with only empty texts seems to have none.
        return TuningSet(every, self.metric).stats[rows]
