"""From pieces as they are read to one CandidateSet: grouped, in order, without duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csc_array, csr_array

from tunesmith.arrays import Flags, Floats, Ids, Ints, Words
from tunesmith.data.candidates import CandidateSet, GroupId, References, Texts
from tunesmith.data.features import Features
from tunesmith.errors import TunesmithError
from tunesmith.kernels import inlined, kernel

#: A feature that is not 0 on at least one candidate in so many is kept in the dense block.
DENSE_SHARE = 4


@dataclass
class Piece:
    """Some candidates as a reader met them.

    Attributes
    ----------
    group : int64[n]
        Index into the list of group ids.
    texts
        Token ids of the n candidates.
    dense_columns : int64[c], dense : float64[c, n]
        Features that all n candidates give.
    rows, sparse_columns : int64[z], values : float64[z]
        The others, where they are not 0.
    given : int64[...]
        On how many of the n candidates each feature is given, 0 or not.
    columns
        External scores of the candidates.
    """

    group: Ints
    texts: Texts
    dense_columns: Ints
    dense: Floats
    rows: Ints
    sparse_columns: Ints
    values: Floats
    given: Ints
    columns: dict[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.group)


def assemble(
    pieces: list[Piece], ids: Sequence[GroupId], names: Sequence[str], vocabulary: Iterable[str]
) -> CandidateSet:
    """Group the candidates, put the groups in order and drop duplicates.

    ``pieces`` is used up on the way, one after the other, so that both forms of the data
    are never held at once.
    References and sources are the caller's to add.
    """
    numbers = all(isinstance(i, int) for i in ids)
    sequence = sorted(range(len(ids)), key=ids.__getitem__) if numbers else list(range(len(ids)))
    rank = np.empty(len(ids), np.int64)
    rank[sequence] = np.arange(len(ids))
    place = rank[np.concatenate([piece.group for piece in pieces])]
    start = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=len(ids)))])
    target = _targets(place)
    texts = _assemble_texts(pieces, target)
    columns = _assemble_columns(pieces, target)
    features = _assemble_features(pieces, names, target)
    assembled = CandidateSet(
        tuple(ids[i] for i in sequence), start, features, texts, tuple(vocabulary), None, columns
    )
    return without_duplicates(assembled)


def _targets(place: Ints) -> Ints:
    """Return the final position of each candidate: by group, then as read."""
    target = np.empty(len(place), np.int64)
    target[np.argsort(place, kind="stable")] = np.arange(len(place))
    return target


def _parts(pieces: list[Piece], target: Ints) -> Iterator[tuple[Piece, Ints]]:
    """Yield each piece with the final positions of its candidates."""
    done = 0
    for piece in pieces:
        yield piece, target[done : done + len(piece)]
        done += len(piece)


def _assemble_features(pieces: list[Piece], names: Sequence[str], target: Ints) -> Features:
    n, width = len(target), len(names)
    given, nonzero = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for piece in pieces:
        given[: len(piece.given)] += piece.given
        nonzero += np.bincount(piece.sparse_columns, minlength=width)
        nonzero[piece.dense_columns] += np.count_nonzero(piece.dense, axis=1)
    is_dense = (given == n) | (nonzero * DENSE_SHARE >= n)
    row_of = np.where(is_dense, np.cumsum(is_dense) - 1, -1)
    column_of = np.where(is_dense, -1, np.cumsum(~is_dense) - 1)

    dense = np.zeros((int(is_dense.sum()), n))
    rows, columns, values = [], [], []
    for piece, at in _parts(pieces, target):
        for j, column in enumerate(piece.dense_columns):
            if is_dense[column]:
                _scatter(piece.dense[j], at, dense[row_of[column]])
            else:
                fires = np.flatnonzero(piece.dense[j])
                rows.append(at[fires])
                columns.append(np.full(len(fires), column_of[column]))
                values.append(piece.dense[j, fires])
        to_dense = is_dense[piece.sparse_columns]
        where = row_of[piece.sparse_columns[to_dense]]
        dense[where, at[piece.rows[to_dense]]] = piece.values[to_dense]
        rows.append(at[piece.rows[~to_dense]])
        columns.append(column_of[piece.sparse_columns[~to_dense]])
        values.append(piece.values[~to_dense])
        piece.dense = dense[:, :0]
    pieces.clear()
    shape = (n, int((~is_dense).sum()))
    sparse = csc_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape
    )
    sparse.sort_indices()
    return Features(
        tuple(name for name, d in zip(names, is_dense, strict=True) if d),
        dense,
        tuple(name for name, d in zip(names, is_dense, strict=True) if not d),
        sparse,
    )


def _assemble_texts(pieces: list[Piece], target: Ints) -> Texts:
    lengths = np.empty(len(target), np.int64)
    lengths[target] = np.concatenate([piece.texts.lengths for piece in pieces])
    texts = Texts(np.concatenate([[0], np.cumsum(lengths)]), np.empty(lengths.sum(), np.int32))
    for piece, at in _parts(pieces, target):
        _scatter_texts(piece.texts.start, piece.texts.ids, at, texts.start, texts.ids)
        piece.texts = Texts.empty()
    return texts


def _assemble_columns(pieces: list[Piece], target: Ints) -> dict[str, Floats]:
    columns: dict[str, Floats] = {}
    for name in dict.fromkeys(name for piece in pieces for name in piece.columns):
        if any(name not in piece.columns for piece in pieces):
            raise TunesmithError(f"some candidates have no metric '{name}'; give it to all or none")
        columns[name] = np.empty(len(target))
        columns[name][target] = np.concatenate([piece.columns[name] for piece in pieces])
    return columns


def without_duplicates(candidates: CandidateSet) -> CandidateSet:
    """Keep the first of the candidates of a group with equal text and equal features."""
    features, texts = candidates.features, candidates.texts
    keys = np.zeros(len(candidates), np.uint64)
    _hash_dense(features.dense.view(np.uint64), keys)
    sparse = features.sparse
    _hash_sparse(sparse.data.view(np.uint64), sparse.indices, sparse.indptr, keys)
    _hash_texts(texts.start, texts.ids, keys)
    by_row = csr_array(sparse)
    keep = _first_of_kind(
        candidates.start,
        keys,
        features.dense,
        by_row.data,
        by_row.indices,
        by_row.indptr,
        texts.start,
        texts.ids,
    )
    if keep.all():
        return candidates
    return CandidateSet(
        candidates.ids,
        np.concatenate([[0], np.cumsum(keep)])[candidates.start],
        Features(
            features.dense_names,
            np.compress(keep, features.dense, axis=1),
            features.sparse_names,
            csc_array(by_row[np.flatnonzero(keep)]),
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


def merge(sets: Sequence[CandidateSet]) -> CandidateSet:
    """Merge the candidates of several rounds into one set.

    Groups are matched by id and features by name; a feature that a set lacks is 0 there.
    A candidate with the text and the features of an earlier one is dropped. References
    and sources come from the first set that has the group.
    """
    if not sets:
        raise TunesmithError("there is nothing to merge; give at least one set of candidates")
    ids = {i: k for k, i in enumerate(dict.fromkeys(i for s in sets for i in s.ids))}
    names = {x: k for k, x in enumerate(dict.fromkeys(x for s in sets for x in s.features.names))}
    words = {x: k for k, x in enumerate(dict.fromkeys(x for s in sets for x in s.vocabulary))}
    pieces = [_piece(candidates, ids, names, words) for candidates in sets]
    merged = assemble(pieces, list(ids), list(names), words)

    references: list[Texts] = []
    owners: dict[GroupId, tuple[int, int]] = {}
    for k, candidates in enumerate(sets):
        renamed = np.array([words[w] for w in candidates.vocabulary], np.int32)
        held = candidates.references.texts if candidates.references else Texts.empty()
        references.append(Texts(held.start, renamed[held.ids]))
        for g, i in enumerate(candidates.ids):
            owners.setdefault(i, (k, g))
    return CandidateSet(
        merged.ids,
        merged.start,
        merged.features,
        merged.texts,
        merged.vocabulary,
        _merge_references(sets, references, [owners[i] for i in merged.ids]),
        merged.columns,
        _merge_sources(sets, [owners[i] for i in merged.ids]),
        tuple(file for candidates in sets for file in candidates.files),
    )


def _piece(
    candidates: CandidateSet, ids: dict[GroupId, int], names: dict[str, int], words: dict[str, int]
) -> Piece:
    features = candidates.features
    renamed = np.array([words[w] for w in candidates.vocabulary], np.int32)
    group = np.array([ids[i] for i in candidates.ids], np.int64)
    dense_columns = np.array([names[x] for x in features.dense_names], np.int64)
    sparse_names = np.array([names[x] for x in features.sparse_names], np.int64)
    entries = features.sparse.tocoo()
    given = np.zeros(len(names), np.int64)
    given[dense_columns] = len(candidates)
    return Piece(
        np.repeat(group, np.diff(candidates.start)),
        Texts(candidates.texts.start, renamed[candidates.texts.ids]),
        dense_columns,
        features.dense,
        entries.row.astype(np.int64),
        sparse_names[entries.col] if len(sparse_names) else np.zeros(0, np.int64),
        entries.data,
        given,
        candidates.columns,
    )


def _merge_references(
    sets: Sequence[CandidateSet], references: Sequence[Texts], owners: Sequence[tuple[int, int]]
) -> References | None:
    if all(candidates.references is None for candidates in sets):
        return None
    if any(candidates.references is None for candidates in sets):
        raise TunesmithError("only some of the sets have references; read all with them or none")
    counts = [0]
    texts: list[Ids] = []
    for k, g in owners:
        held = sets[k].references
        assert held is not None
        lo, hi = int(held.group_start[g]), int(held.group_start[g + 1])
        counts.append(hi - lo)
        texts.extend(references[k][r] for r in range(lo, hi))
    return References(np.cumsum(counts), pack_texts(texts))


def _merge_sources(
    sets: Sequence[CandidateSet], owners: Sequence[tuple[int, int]]
) -> tuple[str, ...] | None:
    sources = [candidates.sources for candidates in sets]
    if any(s is None for s in sources):
        return None
    return tuple((sources[k] or ())[g] for k, g in owners)


def pack_texts(texts: Sequence[Ids]) -> Texts:
    """Lay texts one after the other."""
    start = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
    return Texts(start, np.concatenate([np.zeros(0, np.int32), *texts]))


@kernel
def _scatter(source: Floats, at: Ints, target: Floats) -> None:
    n = source.shape[0]
    if n > 0 and at[n - 1] - at[0] == n - 1 and (at[1:] > at[:-1]).all():
        target[at[0] : at[0] + n] = source
        return
    for i in range(n):
        target[at[i]] = source[i]


@kernel
def _scatter_texts(start: Ints, ids: Ids, at: Ints, to_start: Ints, to_ids: Ids) -> None:
    for i in range(at.shape[0]):
        to = to_start[at[i]]
        for k in range(start[i], start[i + 1]):
            to_ids[to + k - start[i]] = ids[k]


@inlined
def _mix(x: Words) -> Words:
    """Spread the bits of a word (the finalizer of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def _hash_dense(bits: Words, keys: Words) -> None:
    for d in range(bits.shape[0]):
        row = bits[d]
        for i in range(keys.shape[0]):
            keys[i] = _mix(keys[i] ^ row[i])


@kernel
def _hash_sparse(bits: Words, rows: Ids, start: Ids, keys: Words) -> None:
    for d in range(start.shape[0] - 1):
        for k in range(start[d], start[d + 1]):
            keys[rows[k]] = _mix(keys[rows[k]] ^ _mix(bits[k] + np.uint64(d)))


@kernel
def _hash_texts(start: Ints, ids: Ids, keys: Words) -> None:
    for i in range(keys.shape[0]):
        key = keys[i]
        for k in range(start[i], start[i + 1]):
            key = _mix(key ^ np.uint64(ids[k]))
        keys[i] = key


@kernel
def _first_of_kind(
    start: Ints,
    keys: Words,
    dense: Floats,
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
                    i, j, dense, data, columns, row_start, text_start, tokens
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
    for k in range(fires):
        p, q = row_start[i] + k, row_start[j] + k
        if columns[p] != columns[q] or data[p] != data[q]:
            return False
    return True
