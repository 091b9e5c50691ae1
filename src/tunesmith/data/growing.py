"""Candidates of a loop's rounds as they come: each time the new ones are put to the old.

The same as merging all rounds afresh, in a time that depends on what comes rather than on what is
there: the old ones are looked up by the hashes that they got when they came, and are copied.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints, Words
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.duplicates import keys_of, without_duplicates
from tunesmith.data.features import Features
from tunesmith.data.memory import own_pages
from tunesmith.data.merge import merge_traced
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces


class Growing:
    """Candidates of the same groups, round by round, without duplicates.

    Groups keep the order of the first round. Neither references nor inputs are kept.

    Attributes
    ----------
    candidates
        All so far.
    """

    candidates: CandidateSet

    def __init__(self) -> None:
        self._keys: Words | None = None
        self._words: dict[str, int] = {}

    def add(self, more: CandidateSet) -> Ints:
        """Add a round, and say where the candidates come from.

        Returns
        -------
        origin : int64[N]
            Which one each candidate is, counted through those that were there before and then
            through all that came. The old ones keep their order.
        """
        more = dataclasses.replace(more, references=None, sources=None, files=())
        if self._keys is None:
            self._words = {word: k for k, word in enumerate(more.vocabulary)}
            self.candidates, keep = without_duplicates(more)
            self._keys = keys_of(self.candidates)
            return np.flatnonzero(keep)
        if self._is_alike(more):
            return self._put(more, self._keys)
        return self._merge(more)

    def _is_alike(self, more: CandidateSet) -> bool:
        """Tell whether rows can be put to rows: the same groups, and the same dense features."""
        own, other = self.candidates, more
        return (
            own.ids == other.ids
            and own.features.dense_names == other.features.dense_names
            and not own.features.sparse_names
            and not other.features.sparse_names
            and not own.features.gaps
            and not other.features.gaps
            and list(own.columns) == list(other.columns)
        )

    def _merge(self, more: CandidateSet) -> Ints:
        """Merge as if it were the first time: features may change between dense and sparse."""
        ids = self.candidates.ids
        if set(more.ids) <= set(ids):
            # Numbers are put in order by merging, and these are in order.
            place = {name: k for k, name in enumerate(ids)}
            sets = [
                dataclasses.replace(one, ids=tuple(place[name] for name in one.ids))
                for one in (self.candidates, more)
            ]
            merged, origin = merge_traced(sets)
            merged = dataclasses.replace(merged, ids=ids)
        else:
            merged, origin = merge_traced([self.candidates, more])
        self.candidates = dataclasses.replace(merged, files=())
        self._words = {word: k for k, word in enumerate(merged.vocabulary)}
        self._keys = keys_of(merged)
        return origin

    def _put(self, more: CandidateSet, keys: Words) -> Ints:
        own = self.candidates
        texts = self._renamed(more)
        more = dataclasses.replace(more, texts=texts)
        more_keys = keys_of(more)
        external, more_external = (_external(one) for one in (own, more))
        is_new = _new_ones(
            *(own.start, keys, own.features.dense, external, own.texts.start, own.texts.ids),
            *(more.start, more_keys, more.features.dense, more_external, texts.start, texts.ids),
        )
        vocabulary = own.vocabulary
        if len(vocabulary) < len(self._words):
            vocabulary = tuple(self._words)
        if not is_new.any():
            self.candidates = dataclasses.replace(own, vocabulary=vocabulary)
            return np.arange(len(own))
        start, origin = _put_together(own.start, more.start, is_new)
        dense = own_pages((len(own.features.dense), len(origin)), np.float64)

        def join(d: int) -> None:
            _join(own.features.dense[d], more.features.dense[d], origin, dense[d])

        map_pieces(join, list(range(len(dense))))
        lengths = np.concatenate([own.texts.lengths, texts.lengths])[origin]
        text_start = np.concatenate([[0], np.cumsum(lengths)])
        ids = own_pages((int(text_start[-1]),), np.int32)
        _join_texts(own.texts.start, own.texts.ids, texts.start, texts.ids, origin, text_start, ids)
        sparse = own.features.sparse.__class__((len(origin), 0))
        self.candidates = dataclasses.replace(
            own,
            start=start,
            features=Features(own.features.dense_names, dense, (), sparse),
            texts=Texts(text_start, ids),
            vocabulary=vocabulary,
            columns={
                name: np.concatenate([values, more.columns[name]])[origin]
                for name, values in own.columns.items()
            },
        )
        self._keys = np.concatenate([keys, more_keys])[origin]
        return origin

    def _renamed(self, more: CandidateSet) -> Texts:
        """Return texts over the own vocabulary, which gets what is new."""
        if more.vocabulary == self.candidates.vocabulary:
            return more.texts
        words = self._words
        renamed = np.array([words.setdefault(w, len(words)) for w in more.vocabulary], np.int32)
        return Texts(more.texts.start, renamed[more.texts.ids])


def _external(candidates: CandidateSet) -> Floats:
    """Return columns as rows of one block [C, N]."""
    return np.reshape(list(candidates.columns.values()), (-1, len(candidates)))


@kernel
def _new_ones(
    start: Ints,
    keys: Words,
    dense: Floats,
    external: Floats,
    text_start: Ints,
    tokens: Ids,
    more_start: Ints,
    more_keys: Words,
    more_dense: Floats,
    more_external: Floats,
    more_text_start: Ints,
    more_tokens: Ids,
) -> Flags:
    """Mark those that equal no earlier one of their group; a hash only proposes."""
    is_new = np.ones(more_keys.shape[0], np.bool_)
    longest = 0
    for g in range(start.shape[0] - 1):
        many = start[g + 1] - start[g] + more_start[g + 1] - more_start[g]
        longest = max(longest, many)
    table = np.empty(4 * longest, np.int64)
    old = keys.shape[0]
    for g in range(start.shape[0] - 1):
        size = 1
        while size < 2 * (start[g + 1] - start[g] + more_start[g + 1] - more_start[g]):
            size *= 2
        table[:size] = -1
        for i in range(start[g], start[g + 1]):
            slot = np.int64(keys[i] & np.uint64(size - 1))
            while table[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            table[slot] = i
        for i in range(more_start[g], more_start[g + 1]):
            key = more_keys[i]
            slot = np.int64(key & np.uint64(size - 1))
            while table[slot] >= 0:
                j = table[slot]
                if j < old:
                    same = keys[j] == key and (
                        _same_values(more_dense, i, dense, j)
                        and _same_values(more_external, i, external, j)
                        and _same_text(more_text_start, more_tokens, i, text_start, tokens, j)
                    )
                else:
                    j -= old
                    same = more_keys[j] == key and (
                        _same_values(more_dense, i, more_dense, j)
                        and _same_values(more_external, i, more_external, j)
                        and _same_text(
                            more_text_start, more_tokens, i, more_text_start, more_tokens, j
                        )
                    )
                if same:
                    is_new[i] = False
                    break
                slot = (slot + 1) & (size - 1)
            if is_new[i]:
                table[slot] = old + i
    return is_new


@kernel
def _same_values(one: Floats, i: int, other: Floats, j: int) -> bool:
    for d in range(one.shape[0]):  # noqa: SIM110  (a kernel)
        if one[d, i] != other[d, j]:
            return False
    return True


@kernel
def _same_text(start: Ints, tokens: Ids, i: int, others: Ints, other_tokens: Ids, j: int) -> bool:
    length = start[i + 1] - start[i]
    if length != others[j + 1] - others[j]:
        return False
    for k in range(length):  # noqa: SIM110  (a kernel)
        if tokens[start[i] + k] != other_tokens[others[j] + k]:
            return False
    return True


@kernel
def _put_together(start: Ints, more_start: Ints, is_new: Flags) -> tuple[Ints, Ints]:
    """Return where groups begin, and who stands where: in each group the new after the old."""
    old = start[-1]
    origin = np.empty(old + is_new.sum(), np.int64)
    together = np.zeros(start.shape[0], np.int64)
    done = 0
    for g in range(start.shape[0] - 1):
        for i in range(start[g], start[g + 1]):
            origin[done] = i
            done += 1
        for i in range(more_start[g], more_start[g + 1]):
            if is_new[i]:
                origin[done] = old + i
                done += 1
        together[g + 1] = done
    return together, origin


@kernel
def _join(own: Floats, more: Floats, origin: Ints, found: Floats) -> None:
    old = own.shape[0]
    for i in range(origin.shape[0]):
        k = origin[i]
        found[i] = own[k] if k < old else more[k - old]


@kernel
def _join_texts(
    start: Ints,
    tokens: Ids,
    more_start: Ints,
    more_tokens: Ids,
    origin: Ints,
    found_start: Ints,
    found: Ids,
) -> None:
    old = start.shape[0] - 1
    for i in range(origin.shape[0]):
        k, to = origin[i], found_start[i]
        if k < old:
            lo = start[k]
            for m in range(start[k + 1] - lo):
                found[to + m] = tokens[lo + m]
        else:
            lo = more_start[k - old]
            for m in range(more_start[k - old + 1] - lo):
                found[to + m] = more_tokens[lo + m]
