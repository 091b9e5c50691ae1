"""Duplicate candidates: equal in text, white space and all, features and columns, in a group."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from tunesmith.arrays import Flags, Floats, Ids, Ints, Words
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.memory import own_pages
from tunesmith.data.rows import offsets
from tunesmith.kernels import kernel
from tunesmith.kernels.bits import spread_bits
from tunesmith.parallel.local import map_pieces, pieces_of, thread_count

#: Candidates that are not worth sharing out.
PART = 1 << 13

#: The bits of -0.0.
NEGATIVE_ZERO = np.uint64(1 << 63)


class CandidateRows(NamedTuple):
    """All that is compared of candidates, as kernels take it.

    Attributes
    ----------
    keys : uint64[N]
        A hash of all that follows.
    dense : float64[D, N], external : float64[C, N]
        Dense features, and columns.
    data : float64[...], columns : int32[...], row_start : int32[N + 1]
        Sparse features, by compressed rows.
    text_start : int64[N + 1], tokens : int32[...]
        Texts.
    originals : int32[N] or int32[0]
        Texts that have white space of their own, by their numbers; -1 for others. Numbers of two
        sets cannot be compared.
    """

    keys: Words
    dense: Floats
    external: Floats
    data: Floats
    columns: Ids
    row_start: Ids
    text_start: Ints
    tokens: Ids
    originals: Ids

    @classmethod
    def of(cls, candidates: CandidateSet, keys: Words | None = None) -> CandidateRows:
        """Return the arrays of a set; its keys are computed unless they are known."""
        sparse = csr_array(candidates.features.sparse)
        return cls(
            hash_candidates(candidates) if keys is None else keys,
            candidates.features.dense,
            _columns_as_rows(candidates),
            sparse.data,
            sparse.indices,
            sparse.indptr,
            candidates.texts.start,
            candidates.texts.ids,
            np.zeros(0, np.int32) if candidates.originals is None else candidates.originals.index,
        )


def without_duplicates(candidates: CandidateSet) -> tuple[CandidateSet, Flags]:
    """Keep the first of equal candidates of a group.

    Candidates that come with their statistics may have no text; those with equal features
    differ in their statistics alone.

    Returns
    -------
    candidates
        Those that are kept.
    keep : bool[N]
        Which they are.
    """
    rows = CandidateRows.of(candidates)
    start = candidates.start
    # Runs of whole groups, of about as many candidates.
    parts = _parts(len(candidates))
    edges = [int(np.searchsorted(start, part.stop)) for part in parts]
    runs = [start[lo : hi + 1] for lo, hi in itertools.pairwise([0, *edges]) if lo < hi]
    flags = map_pieces(lambda run: _first_of_kind(run, rows), runs)
    keep = np.concatenate([np.ones(0, np.bool_), *flags])
    if keep.all():
        return candidates, keep
    features, texts = candidates.features, candidates.texts
    dense = own_pages((len(features.dense), int(keep.sum())), np.float64)
    for row, target in zip(features.dense, dense, strict=True):
        np.compress(keep, row, out=target)
    by_row = csr_array((rows.data, rows.columns, rows.row_start), features.sparse.shape)
    distinct = replace(
        candidates,
        start=offsets(keep)[candidates.start],
        features=replace(features, dense=dense, sparse=csc_array(by_row[np.flatnonzero(keep)])),
        texts=Texts(offsets(texts.lengths[keep]), texts.ids[np.repeat(keep, texts.lengths)]),
        columns={name: values[keep] for name, values in candidates.columns.items()},
        originals=None if candidates.originals is None else candidates.originals.take(keep),
        rows=None if candidates.rows is None else candidates.rows[keep],
        totals=None if candidates.totals is None else candidates.totals[keep],
    )
    return distinct, keep


def hash_candidates(candidates: CandidateSet) -> Words:
    """Return a hash of each candidate: of its text, its features and its columns.

    Texts are hashed by token ids, so keys of sets with different vocabularies cannot be compared.
    """
    features, texts = candidates.features, candidates.texts
    keys = np.zeros(len(candidates), np.uint64)
    blocks = [features.dense.view(np.uint64), _columns_as_rows(candidates).view(np.uint64)]
    sparse = features.sparse

    def hash_features(part: slice) -> None:
        for bits in blocks:
            _hash_dense(bits, part.start, keys[part])

    def hash_texts(part: slice) -> None:
        _hash_texts(texts.start[part.start : part.stop + 1], texts.ids, keys[part])

    map_pieces(hash_features, _parts(len(candidates)))
    _hash_sparse(sparse.data.view(np.uint64), sparse.indices, sparse.indptr, keys)
    map_pieces(hash_texts, _parts(len(candidates)))
    return keys


def _parts(count: int) -> list[slice]:
    """Cut so many candidates into runs, few of them where they are soon done."""
    return pieces_of(count, workers=min(thread_count(), 1 + count // PART))


def _columns_as_rows(candidates: CandidateSet) -> Floats:
    """Return columns as rows of one block [C, N]."""
    return np.reshape(list(candidates.columns.values()), (-1, len(candidates)))


@kernel
def _hash_dense(bits: Words, begin: int, keys: Words) -> None:
    for d in range(bits.shape[0]):
        row = bits[d, begin:]
        for i in range(keys.shape[0]):
            # Candidates that differ only in the sign of a zero are equal.
            word = np.uint64(0) if row[i] == NEGATIVE_ZERO else row[i]
            keys[i] = spread_bits(keys[i] ^ word)


@kernel
def _hash_sparse(bits: Words, rows: Ids, start: Ids, keys: Words) -> None:
    for d in range(start.shape[0] - 1):
        for k in range(start[d], start[d + 1]):
            keys[rows[k]] = spread_bits(keys[rows[k]] ^ spread_bits(bits[k] + np.uint64(d)))


@kernel
def _hash_texts(start: Ints, ids: Ids, keys: Words) -> None:
    for i in range(keys.shape[0]):
        key = keys[i]
        for k in range(start[i], start[i + 1]):
            key = spread_bits(key ^ np.uint64(ids[k]))
        keys[i] = key


@kernel
def table_size(entries: int) -> int:
    """Return the size of a hash table that is at most half full: a power of two."""
    size = 1
    while size < 2 * entries:
        size *= 2
    return size


@kernel
def _first_of_kind(start: Ints, rows: CandidateRows) -> Flags:
    """Mark candidates that equal no earlier one of their group; equal hashes are verified."""
    keys = rows.keys
    keep = np.ones(start[-1] - start[0], np.bool_)
    longest = 0
    for g in range(start.shape[0] - 1):
        longest = max(longest, start[g + 1] - start[g])
    table = np.empty(table_size(longest), np.int64)
    for g in range(start.shape[0] - 1):
        # Only as much of the table as this group needs, so that small groups stay cheap.
        size = table_size(start[g + 1] - start[g])
        table[:size] = -1
        for i in range(start[g], start[g + 1]):
            slot = np.int64(keys[i] & np.uint64(size - 1))
            while table[slot] >= 0:
                j = table[slot]
                if keys[j] == keys[i] and equal_rows(rows, i, rows, j):
                    keep[i - start[0]] = False
                    break
                slot = (slot + 1) & (size - 1)
            if keep[i - start[0]]:
                table[slot] = i
    return keep


@kernel
def equal_rows(a: CandidateRows, i: int, b: CandidateRows, j: int) -> bool:
    """Tell whether candidate i of a set equals candidate j of another over the same features."""
    text, other_text = a.text_start[i], b.text_start[j]
    entry, other_entry = a.row_start[i], b.row_start[j]
    length, entries = a.text_start[i + 1] - text, a.row_start[i + 1] - entry
    if length != b.text_start[j + 1] - other_text or entries != b.row_start[j + 1] - other_entry:
        return False
    for k in range(length):
        if a.tokens[text + k] != b.tokens[other_text + k]:
            return False
    if a.originals.shape[0] > 0 and a.originals[i] != b.originals[j]:
        return False
    for d in range(a.dense.shape[0]):
        if a.dense[d, i] != b.dense[d, j]:
            return False
    for d in range(a.external.shape[0]):
        if a.external[d, i] != b.external[d, j]:
            return False
    for k in range(entries):
        p, q = entry + k, other_entry + k
        if a.columns[p] != b.columns[q] or a.data[p] != b.data[q]:
            return False
    return True
