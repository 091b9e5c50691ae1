"""The candidates of all rounds so far, with their statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.columns import with_columns
from tunesmith.data.merge import merge_traced
from tunesmith.loop.inputs import Inputs
from tunesmith.metrics.base import Metric
from tunesmith.metrics.tuning import TuningSet


class Lists:
    """Grows by a decoding a round; nothing is counted twice.

    Attributes
    ----------
    columns
        What metrics take as their columns, which is no feature.
    output
        The first candidates of the last decoding, which are the decoder's output.
    merged
        All decodings, without duplicates.
    new
        How many candidates the last decoding added.
    """

    output: TuningSet
    merged: TuningSet
    new: int

    def __init__(self, inputs: Inputs, metric: Metric, columns: Sequence[str] = ()) -> None:
        self.inputs = inputs
        self.metric = metric
        self.columns = columns
        self._known: CandidateSet | None = None

    def add(self, decoded: CandidateSet) -> None:
        """Add what a decoder returned."""
        # What is not there a metric misses itself.
        there = set(decoded.features.names)
        decoded = with_columns(decoded, [name for name in self.columns if name in there])
        own = TuningSet(self.inputs.with_references(decoded), self.metric)
        first = own.candidates.start[:-1]
        self.output = own.of(own.candidates.chosen(first), own.stats[first])
        if self._known is None:
            # Merged with nothing, so that what is equal is there once.
            self._known, origin = merge_traced([decoded])
            stats = own.stats
            self.new = len(self._known)
        else:
            before = len(self._known)
            self._known, origin = merge_traced([self._known, decoded])
            stats = np.concatenate([self.merged.stats, own.stats])
            self.new = len(self._known) - before
        self.merged = own.of(self.inputs.with_references(self._known), stats[origin])
