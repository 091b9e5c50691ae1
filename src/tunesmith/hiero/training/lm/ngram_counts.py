"""How often each n-gram of a text comes, whatever the size of the text.

N-grams are sorted by their last word, then by the word before it, and so on ("suffix order" in
Heafield et al., "Scalable modified Kneser-Ney language model estimation", ACL 2013). Text is
counted in runs that memory holds. Runs are merged range by range: a range has all n-grams whose
last two words lie between two pairs, so that nothing but unigrams is in two ranges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Ids, Ints
from tunesmith.data.memory import spill
from tunesmith.hiero.training.lm.ngram_text import BEGIN, END
from tunesmith.kernels import kernel

#: Samples of a run for each range that it is cut into; a range is too long by 1 / SAMPLES at most.
SAMPLES = 16


class NgramCounts(NamedTuple):
    """Distinct n-grams in suffix order.

    Attributes
    ----------
    keys : int64[(order + 1) // 2, n]
        Two words each, from the last word on: ``last << 32 | last but one``, ... A sentence is
        preceded by as many ``<s>`` as it takes.
    counts : int64[n]
        How often each comes.
    """

    keys: Ints
    counts: Ints


class NgramCounter:
    """Counts the n-grams of one order.

    Parameters
    ----------
    order
        Words of an n-gram.
    memory
        Bytes that sorting may take. Runs that are done stay in memory as long as large arrays
        may (``tunesmith.data.memory.budget``) and go to disk beyond. More is taken only where the
        n-grams with the same two last words are more than that holds.
    """

    def __init__(self, order: int, memory: int) -> None:
        self.order = order
        self._width = (order + 1) // 2
        # The rows as they come, in one piece, and sorted; counts, places and flags; then what
        # becomes of a range: its n-grams of all orders, and a copy of them.
        self._most = max(1, memory // (3 * 8 * self._width + 40 + 2 * 20 * order))
        self._waiting: list[Ints] = []
        self._rows = 0
        self._runs: list[NgramCounts] = []

    def add(self, ids: Ids, lengths: Ints) -> None:
        """Count the n-grams of some sentences."""
        keys = np.empty((self._width, len(ids) + len(lengths)), np.int64)
        pack(ids, lengths, self.order, keys)
        self._waiting.append(keys)
        self._rows += keys.shape[1]
        if self._rows >= self._most:
            self._end_run()

    def ranges(self) -> Iterator[NgramCounts]:
        """Yield all n-grams, in order, in ranges that memory holds."""
        if self._rows:
            self._end_run()
        if len(self._runs) < 2:
            yield from self._runs
            return
        edges = [
            [0, *np.searchsorted(run.keys[0], self._cuts()), len(run.counts)] for run in self._runs
        ]
        for k in range(len(edges[0]) - 1):
            slices = [slice(edge[k], edge[k + 1]) for edge in edges]
            pairs = list(zip(self._runs, slices, strict=True))
            keys = np.concatenate([run.keys[:, part] for run, part in pairs], axis=1)
            counts = np.concatenate([run.counts[part] for run, part in pairs])
            if len(counts):
                yield distinct(keys, counts)

    def _end_run(self) -> None:
        keys = np.concatenate(self._waiting, axis=1)
        self._waiting, self._rows = [], 0
        run = distinct(keys, np.ones(keys.shape[1], np.int64))
        self._runs.append(NgramCounts(spill(run.keys), spill(run.counts)))

    def _cuts(self) -> Ints:
        """Return the pairs of last words at which ranges begin, all but the first."""
        step = max(1, self._most // (SAMPLES * len(self._runs)))
        samples = np.sort(np.concatenate([run.keys[0][::step] for run in self._runs]))
        cuts: Ints = np.unique(samples[:: max(1, self._most // step)])[1:]
        return cuts


def distinct(keys: Ints, counts: Ints) -> NgramCounts:
    """Sort n-grams and add up the counts of equal ones."""
    order = np.lexsort(keys[::-1])
    keys = keys[:, order]
    is_new: Flags = np.ones(len(order), np.bool_)
    is_new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    first = np.flatnonzero(is_new)
    return NgramCounts(np.ascontiguousarray(keys[:, first]), np.add.reduceat(counts[order], first))


@kernel
def pack(ids: Ids, lengths: Ints, order: int, keys: Ints) -> None:
    """Write the n-gram that ends in each word of each sentence, and in its end."""
    row = 0
    begin = 0
    for s in range(lengths.shape[0]):
        end = begin + lengths[s]
        for last in range(begin, end + 1):
            for j in range(order):
                at = last - j
                word = np.int64(BEGIN)
                if at == end:
                    word = np.int64(END)
                elif at >= begin:
                    word = np.int64(ids[at])
                if j % 2 == 0:
                    keys[j // 2, row] = word << 32
                else:
                    keys[j // 2, row] |= word
            row += 1
        begin = end
