"""Merging the candidates of a loop's rounds one round at a time.

The result is that of merging all rounds from scratch, in time that depends on the new candidates
more than on the old ones: those are looked up by hashes that were computed when they were added,
and copied.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints, Words
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.duplicates import (
    CandidateRows,
    equal_rows,
    hash_candidates,
    table_size,
    without_duplicates,
)
from tunesmith.data.features import Features
from tunesmith.data.memory import own_pages
from tunesmith.data.merge import merge_traced
from tunesmith.data.rows import offsets
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces


class IncrementalMerge:
    """Candidates of the same groups, round by round, without duplicates.

    Groups keep the order of the first round. References and inputs are not kept.

    Attributes
    ----------
    candidates
        All candidates so far.
    """

    candidates: CandidateSet

    def __init__(self) -> None:
        self._keys: Words | None = None
        self._words: dict[str, int] = {}

    def add(self, new: CandidateSet) -> Ints:
        """Add a round, and return where each candidate comes from.

        Returns
        -------
        origin : int64[N]
            The index of each candidate among those from before, followed by all of this round.
            The old ones keep their order.
        """
        new = dataclasses.replace(
            new, references=None, sources=None, files=(), rows=None, totals=None
        )
        if self._keys is None:
            self._words = {word: k for k, word in enumerate(new.vocabulary)}
            self.candidates, keep = without_duplicates(new)
            self._keys = hash_candidates(self.candidates)
            return np.flatnonzero(keep)
        if self._is_alike(new):
            return self._append(new, self._keys)
        return self._merge(new)

    def _is_alike(self, new: CandidateSet) -> bool:
        """Tell whether the groups and the features are the same, and all features are dense."""
        old = self.candidates
        return (
            old.ids == new.ids
            and old.features.dense_names == new.features.dense_names
            and not old.features.sparse_names
            and not new.features.sparse_names
            and not old.features.gaps
            and not new.features.gaps
            and list(old.columns) == list(new.columns)
            and old.originals is None
            and new.originals is None
        )

    def _merge(self, new: CandidateSet) -> Ints:
        """Merge from scratch: a feature may change between dense and sparse."""
        ids = self.candidates.ids
        if set(new.ids) <= set(ids):
            # Merging sorts ids that are numbers; these numbers keep the order that groups have.
            place = {name: k for k, name in enumerate(ids)}
            sets = [
                dataclasses.replace(part, ids=tuple(place[name] for name in part.ids))
                for part in (self.candidates, new)
            ]
            merged, origin = merge_traced(sets)
            merged = dataclasses.replace(merged, ids=ids)
        else:
            merged, origin = merge_traced([self.candidates, new])
        self.candidates = dataclasses.replace(merged, files=())
        self._words = {word: k for k, word in enumerate(merged.vocabulary)}
        self._keys = hash_candidates(merged)
        return origin

    def _append(self, new: CandidateSet, keys: Words) -> Ints:
        """Add the new candidates of each group after its old ones."""
        old = self.candidates
        new = dataclasses.replace(new, texts=self._renumbered(new))
        new_keys = hash_candidates(new)
        is_new = _find_new(
            old.start, CandidateRows.of(old, keys), new.start, CandidateRows.of(new, new_keys)
        )
        vocabulary = old.vocabulary
        if len(vocabulary) < len(self._words):
            vocabulary = tuple(self._words)
        if not is_new.any():
            self.candidates = dataclasses.replace(old, vocabulary=vocabulary)
            return np.arange(len(old))
        start, origin = _interleave(old.start, new.start, is_new)
        dense = own_pages((len(old.features.dense), len(origin)), np.float64)

        def gather(d: int) -> None:
            _gather(old.features.dense[d], new.features.dense[d], origin, dense[d])

        map_pieces(gather, list(range(len(dense))))
        text_start = offsets(np.concatenate([old.texts.lengths, new.texts.lengths])[origin])
        ids = own_pages((int(text_start[-1]),), np.int32)
        _gather_texts(
            *(old.texts.start, old.texts.ids, new.texts.start, new.texts.ids),
            *(origin, text_start, ids),
        )
        sparse = old.features.sparse.__class__((len(origin), 0))
        self.candidates = dataclasses.replace(
            old,
            start=start,
            features=Features(old.features.dense_names, dense, (), sparse),
            texts=Texts(text_start, ids),
            vocabulary=vocabulary,
            columns={
                name: np.concatenate([values, new.columns[name]])[origin]
                for name, values in old.columns.items()
            },
        )
        self._keys = np.concatenate([keys, new_keys])[origin]
        return origin

    def _renumbered(self, new: CandidateSet) -> Texts:
        """Return the texts over the common vocabulary; unknown words are added to it."""
        if new.vocabulary == self.candidates.vocabulary:
            return new.texts
        words = self._words
        ids = np.array([words.setdefault(word, len(words)) for word in new.vocabulary], np.int32)
        return Texts(new.texts.start, ids[new.texts.ids])


@kernel
def _find_new(start: Ints, rows: CandidateRows, new_start: Ints, new_rows: CandidateRows) -> Flags:
    """Mark candidates that equal no earlier one of their group; equal hashes are verified."""
    keys, new_keys = rows.keys, new_rows.keys
    is_new = np.ones(new_keys.shape[0], np.bool_)
    longest = 0
    for g in range(start.shape[0] - 1):
        together = start[g + 1] - start[g] + new_start[g + 1] - new_start[g]
        longest = max(longest, together)
    table = np.empty(table_size(longest), np.int64)
    old = keys.shape[0]
    for g in range(start.shape[0] - 1):
        size = table_size(start[g + 1] - start[g] + new_start[g + 1] - new_start[g])
        table[:size] = -1
        for i in range(start[g], start[g + 1]):
            slot = np.int64(keys[i] & np.uint64(size - 1))
            while table[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            table[slot] = i
        for i in range(new_start[g], new_start[g + 1]):
            key = new_keys[i]
            slot = np.int64(key & np.uint64(size - 1))
            while table[slot] >= 0:
                j = table[slot]
                if j < old:
                    same = keys[j] == key and equal_rows(new_rows, i, rows, j)
                else:
                    j -= old
                    same = new_keys[j] == key and equal_rows(new_rows, i, new_rows, j)
                if same:
                    is_new[i] = False
                    break
                slot = (slot + 1) & (size - 1)
            if is_new[i]:
                table[slot] = old + i
    return is_new


@kernel
def _interleave(start: Ints, new_start: Ints, is_new: Flags) -> tuple[Ints, Ints]:
    """Return the groups' offsets and each candidate's origin: in a group, old ones before new."""
    old = start[-1]
    origin = np.empty(old + is_new.sum(), np.int64)
    merged_start = np.zeros(start.shape[0], np.int64)
    count = 0
    for g in range(start.shape[0] - 1):
        for i in range(start[g], start[g + 1]):
            origin[count] = i
            count += 1
        for i in range(new_start[g], new_start[g + 1]):
            if is_new[i]:
                origin[count] = old + i
                count += 1
        merged_start[g + 1] = count
    return merged_start, origin


@kernel
def _gather(values: Floats, new_values: Floats, origin: Ints, out: Floats) -> None:
    old = values.shape[0]
    for i in range(origin.shape[0]):
        k = origin[i]
        out[i] = values[k] if k < old else new_values[k - old]


@kernel
def _gather_texts(
    start: Ints,
    tokens: Ids,
    new_start: Ints,
    new_tokens: Ids,
    origin: Ints,
    out_start: Ints,
    out: Ids,
) -> None:
    old = start.shape[0] - 1
    for i in range(origin.shape[0]):
        k, to = origin[i], out_start[i]
        if k < old:
            lo = start[k]
            for m in range(start[k + 1] - lo):
                out[to + m] = tokens[lo + m]
        else:
            lo = new_start[k - old]
            for m in range(new_start[k - old + 1] - lo):
                out[to + m] = new_tokens[lo + m]
