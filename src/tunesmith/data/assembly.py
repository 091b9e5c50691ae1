"""From pieces as they are read to one CandidateSet: grouped, in order, without duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.candidates import CandidateSet, GroupId, Texts
from tunesmith.data.duplicates import without_duplicates
from tunesmith.data.features import Features, Gap
from tunesmith.data.memory import own_pages
from tunesmith.errors import TunesmithError
from tunesmith.kernels import kernel

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
    given_columns, given_counts : int64[...]
        The features that are given at all, 0 or not, and on how many of the n candidates.
    columns
        External scores of the candidates.
    origin
        Where it comes from, for errors.
    """

    group: Ints
    texts: Texts
    dense_columns: Ints
    dense: Floats
    rows: Ints
    sparse_columns: Ints
    values: Floats
    given_columns: Ints
    given_counts: Ints
    columns: dict[str, Floats] = field(default_factory=dict)
    origin: str = ""

    def __len__(self) -> int:
        return len(self.group)

    @classmethod
    def of_texts(cls, group: Ints, texts: Texts, origin: str = "") -> Piece:
        """Return candidates that have a text and no features."""
        none = np.zeros(0, np.int64)
        dense = np.zeros((0, len(texts)))
        return cls(group, texts, none, dense, none, none, np.zeros(0), none, none, origin=origin)


def assemble(
    pieces: list[Piece], ids: Sequence[GroupId], names: Sequence[str], vocabulary: Iterable[str]
) -> CandidateSet:
    """Group the candidates, put the groups in order and drop duplicates.

    ``pieces`` is used up on the way, one after the other, so that both forms of the data
    are never held at once.
    References and sources are the caller's to add.
    """
    return without_duplicates(_ordered(pieces, ids, names, vocabulary)[0])[0]


def assemble_traced(
    pieces: list[Piece], ids: Sequence[GroupId], names: Sequence[str], vocabulary: Iterable[str]
) -> tuple[CandidateSet, Ints]:
    """Assemble as :func:`assemble`, and say where the candidates come from.

    Returns
    -------
    candidates
        The set.
    origin : int64[N]
        Which of all candidates of the pieces, one piece after the other, each one is.
    """
    every, target = _ordered(pieces, ids, names, vocabulary)
    found, keep = without_duplicates(every)
    origin = np.empty(len(target), np.int64)
    origin[target] = np.arange(len(target))
    return found, origin[keep]


def _ordered(
    pieces: list[Piece], ids: Sequence[GroupId], names: Sequence[str], vocabulary: Iterable[str]
) -> tuple[CandidateSet, Ints]:
    """Put all candidates in order; return also the place that each one gets."""
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
    found = CandidateSet(
        tuple(ids[i] for i in sequence), start, features, texts, tuple(vocabulary), None, columns
    )
    return found, target


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
        given[piece.given_columns] += piece.given_counts
        np.add.at(nonzero, piece.sparse_columns, 1)
        for column, row in zip(piece.dense_columns, piece.dense, strict=True):
            nonzero[column] += np.count_nonzero(row)  # of all at once it would make flags
    is_dense = (given == n) | (nonzero * DENSE_SHARE >= n)
    gaps = _gaps(pieces, names, np.flatnonzero(is_dense & (given < n)), n - given)
    row_of = np.where(is_dense, np.cumsum(is_dense) - 1, -1)
    column_of = np.where(is_dense, -1, np.cumsum(~is_dense) - 1)

    dense = own_pages((int(is_dense.sum()), n), np.float64)
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
        gaps,
    )


def _gaps(
    pieces: list[Piece], names: Sequence[str], columns: Ints, lacking: Ints
) -> dict[str, Gap]:
    """Return which of some features are not given for all candidates."""
    found: dict[str, Gap] = {}
    left = set(columns.tolist())
    for piece in pieces:
        if not left:
            break
        full = piece.given_columns[piece.given_counts == len(piece)]
        for column in sorted(left.difference(full.tolist())):
            found[names[column]] = Gap(int(lacking[column]), piece.origin)
            left.remove(column)
    return found


def _assemble_texts(pieces: list[Piece], target: Ints) -> Texts:
    lengths = np.empty(len(target), np.int64)
    lengths[target] = np.concatenate([piece.texts.lengths for piece in pieces])
    ids = own_pages((int(lengths.sum()),), np.int32)
    texts = Texts(np.concatenate([[0], np.cumsum(lengths)]), ids)
    for piece, at in _parts(pieces, target):
        _scatter_texts(piece.texts.start, piece.texts.ids, at, texts.start, texts.ids)
        piece.texts = Texts.empty()
    return texts


def _assemble_columns(pieces: list[Piece], target: Ints) -> dict[str, Floats]:
    columns: dict[str, Floats] = {}
    for name in dict.fromkeys(name for piece in pieces for name in piece.columns):
        for piece in pieces:
            if name not in piece.columns:
                raise TunesmithError(
                    f"{piece.origin}: the candidates have no metric '{name}' and others have; "
                    "give it to all or none"
                )
        columns[name] = np.empty(len(target))
        columns[name][target] = np.concatenate([piece.columns[name] for piece in pieces])
    return columns


@kernel
def _scatter(source: Floats, at: Ints, target: Floats) -> None:
    for i in range(source.shape[0]):
        target[at[i]] = source[i]


@kernel
def _scatter_texts(start: Ints, ids: Ids, at: Ints, to_start: Ints, to_ids: Ids) -> None:
    for i in range(at.shape[0]):
        to = to_start[at[i]]
        for k in range(start[i], start[i + 1]):
            to_ids[to + k - start[i]] = ids[k]
