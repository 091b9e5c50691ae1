"""Envelopes as they are sent: breakpoints, with changes in the smallest integers that hold them.

The sum of statistics along a line is that over all shards, and where it changes is where it changes
in any of them. Statistics are whole numbers, so their sums do not depend on who adds them up.
Breakpoints that coincide stand in the order of the groups, as where all groups are in one place:
those of a shard are sorted by a sort that keeps their order, and shards come in the order of
their groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.inference.hypotheses import Envelope

#: Integers that changes are sent as, the smallest first.
INTEGERS = (np.int8, np.int16, np.int32, np.int64)


@dataclass(frozen=True)
class PackedEnvelope:
    """The envelope of a shard along a line, sorted.

    Attributes
    ----------
    total : int64[K]
        The sum of the winners' statistics at γ = −∞.
    at : float64[T]
        Where it changes, ascending.
    change : [T, K]
        What is added there.
    """

    total: Stats
    at: Floats
    change: Stats

    @classmethod
    def of(cls, envelope: Envelope) -> PackedEnvelope:
        """Sort and pack an envelope."""
        order = np.argsort(envelope.at, kind="stable")
        change = envelope.change[order]
        least, most = int(change.min(initial=0)), int(change.max(initial=0))
        fits = (k for k in INTEGERS if np.iinfo(k).min <= least and most <= np.iinfo(k).max)
        return cls(envelope.total, envelope.at[order], change.astype(next(fits)))

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.total.nbytes + self.at.nbytes + self.change.nbytes


def merged(parts: Sequence[PackedEnvelope]) -> Envelope:
    """Return the envelope of all shards, which are given in the order of their groups."""
    total = np.sum([part.total for part in parts], axis=0)
    at = np.concatenate([part.at for part in parts])
    change = np.concatenate([part.change for part in parts]).astype(total.dtype)
    return Envelope(total, at, change)
