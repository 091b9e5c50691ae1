"""Which words of sentence pairs go together."""

from __future__ import annotations

from dataclasses import dataclass

from tunesmith.arrays import Ids, Ints


@dataclass(frozen=True, eq=False)
class Links:
    """Word alignments of N sentence pairs.

    Attributes
    ----------
    start : int64[N + 1]
        Pair n has the links ``start[n]`` to ``start[n + 1] - 1``.
    places : int32[..., 2]
        Places of a source and of a target word, from 0; ascending within a pair, none twice.
    """

    start: Ints
    places: Ids

    def __len__(self) -> int:
        return len(self.start) - 1
