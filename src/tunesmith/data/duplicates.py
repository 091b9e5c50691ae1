"""Candidates that are the same: all that is known of them is equal, within a group."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array

from tunesmith.arrays import Flags, Floats, Ids, Ints, Words
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.features import Features
from tunesmith.data.memory import own_pages
from tunesmith.kernels import kernel
from tunesmith.kernels.bits import spread_bits

#: The bits of -0.0.
NEGATIVE_ZERO = np.uint64(1 << 63)


def without_duplicates(candidates: CandidateSet) -> tuple[CandidateSet, Flags]:
    """Keep the first of the candidates of a group with equal text, features and columns.

    Candidates that come with their statistics may have no text; those with equal features
    differ in their statistics alone.

    Returns
    -------
    candidates
        Those that are kept.
    keep : bool[N]
        Which they are.
    """
    features, texts = candidates.features, candidates.texts
    external = np.reshape(list(candidates.columns.values()), (-1, len(candidates)))
    keys = keys_of(candidates)
    by_row = csr_array(features.sparse)
    keep = _first_of_kind(
        candidates.start,
        keys,
        features.dense,
        external,
        by_row.data,
        by_row.indices,
        by_row.indptr,
        texts.start,
        texts.ids,
    )
    if keep.all():
        return candidates, keep
    dense = own_pages((len(features.dense), int(keep.sum())), np.float64)
    for row, target in zip(features.dense, dense, strict=True):
        np.compress(keep, row, out=target)
    kept = CandidateSet(
        candidates.ids,
        np.concatenate([[0], np.cumsum(keep)])[candidates.start],
        Features(
            features.dense_names,
            dense,
            features.sparse_names,
            csc_array(by_row[np.flatnonzero(keep)]),
            features.gaps,
        ),
        Texts(
            np.concatenate([[0], np.cumsum(texts.lengths[keep])]),
            texts.ids[np.repeat(keep, texts.lengths)],
        ),
        candidates.vocabulary,
        candidates.references,
        {name: values[keep] for name, values in candidates.columns.items()},
        candidates.sources,
        candidates.files,
    )
    return kept, keep


def keys_of(candidates: CandidateSet) -> Words:
    """Return a hash of each candidate: of its text, its features and its columns.

    The text is hashed by the ids of its tokens, so that the vocabulary must stay.
    """
    features, texts = candidates.features, candidates.texts
    keys = np.zeros(len(candidates), np.uint64)
    _hash_dense(features.dense.view(np.uint64), keys)
    external = np.reshape(list(candidates.columns.values()), (-1, len(candidates)))
    _hash_dense(external.view(np.uint64), keys)
    sparse = features.sparse
    _hash_sparse(sparse.data.view(np.uint64), sparse.indices, sparse.indptr, keys)
    _hash_texts(texts.start, texts.ids, keys)
    return keys


@kernel
def _hash_dense(bits: Words, keys: Words) -> None:
    for d in range(bits.shape[0]):
        row = bits[d]
        for i in range(keys.shape[0]):
            # A zero has no sign: those that differ in it alone are the same.
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
def _first_of_kind(
    start: Ints,
    keys: Words,
    dense: Floats,
    external: Floats,
    data: Floats,
    columns: Ids,
    row_start: Ids,
    text_start: Ints,
    tokens: Ids,
) -> Flags:
    """Mark candidates that no earlier one of their group equals; a hash only proposes."""
    keep = np.ones(keys.shape[0], np.bool_)
    longest = 0
    for g in range(start.shape[0] - 1):
        longest = max(longest, start[g + 1] - start[g])
    size = 1
    while size < 2 * longest:
        size *= 2
    table = np.full(size, -1, np.int64)
    for g in range(start.shape[0] - 1):
        # A table for this group alone: small groups would pay for the largest otherwise.
        size = 1
        while size < 2 * (start[g + 1] - start[g]):
            size *= 2
        table[:size] = -1
        for i in range(start[g], start[g + 1]):
            slot = np.int64(keys[i] & np.uint64(size - 1))
            while table[slot] >= 0:
                j = table[slot]
                if keys[j] == keys[i] and _equal(
                    i, j, dense, external, data, columns, row_start, text_start, tokens
                ):
                    keep[i] = False
                    break
                slot = (slot + 1) & (size - 1)
            if keep[i]:
                table[slot] = i
    return keep


@kernel
def _equal(
    i: int,
    j: int,
    dense: Floats,
    external: Floats,
    data: Floats,
    columns: Ids,
    row_start: Ids,
    text_start: Ints,
    tokens: Ids,
) -> bool:
    length = text_start[i + 1] - text_start[i]
    fires = row_start[i + 1] - row_start[i]
    if length != text_start[j + 1] - text_start[j] or fires != row_start[j + 1] - row_start[j]:
        return False
    for k in range(length):
        if tokens[text_start[i] + k] != tokens[text_start[j] + k]:
            return False
    for d in range(dense.shape[0]):
        if dense[d, i] != dense[d, j]:
            return False
    for d in range(external.shape[0]):
        if external[d, i] != external[d, j]:
            return False
    for k in range(fires):
        p, q = row_start[i] + k, row_start[j] + k
        if columns[p] != columns[q] or data[p] != data[q]:
            return False
    return True
