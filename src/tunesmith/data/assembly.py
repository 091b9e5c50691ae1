"""Assembling pieces, as readers produce them, into one CandidateSet without duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.candidates import CandidateSet, GroupId, Originals, Texts
from tunesmith.data.duplicates import without_duplicates
from tunesmith.data.features import FeatureCounts, Features, Gap
from tunesmith.data.memory import own_pages
from tunesmith.data.rows import offsets
from tunesmith.errors import TunesmithError
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces


@dataclass
class Piece:
    """Candidates as a reader produces them.

    Attributes
    ----------
    group : int64[n]
        Index into the list of group ids.
    texts
        Token ids of the n candidates.
    dense_columns : int64[c], dense : float64[c, n]
        Features that all n candidates give.
    rows, sparse_columns : int64[z], values : float64[z]
        The nonzero values of the other features.
    given_columns, given_counts : int64[...]
        The features that are given at all, 0 or not, and by how many of the n candidates.
    columns
        External scores of the candidates.
    origin
        Where the piece was read, for errors.
    originals
        By candidate, texts that are more than their tokens with single spaces between them.
    missing
        By feature, the candidates whose value is missing and is not to be 0.
    totals : float64[n] or None
        The scores that decoders gave, where they were asked for; NaN where there is none.
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
    originals: dict[int, str] = field(default_factory=dict)
    missing: dict[int, Ints] = field(default_factory=dict)
    totals: Floats | None = None

    def __len__(self) -> int:
        return len(self.group)

    @classmethod
    def of_texts(cls, group: Ints, texts: Texts, origin: str = "") -> Piece:
        """Return candidates that have a text and no features."""
        return cls.of_features(group, texts, *(np.zeros(0, np.int64),) * 2, np.zeros(0), {}, origin)

    @classmethod
    def of_features(
        cls,
        group: Ints,
        texts: Texts,
        rows: Ints,
        feature_columns: Ints,
        values: Floats,
        columns: dict[str, Floats],
        origin: str,
    ) -> Piece:
        """Return candidates from one entry per feature and candidate, 0 or not, in any order."""
        nonzero = values != 0
        return cls(
            group,
            texts,
            np.zeros(0, np.int64),
            np.zeros((0, len(texts))),
            rows[nonzero],
            feature_columns[nonzero],
            values[nonzero],
            *np.unique(feature_columns, return_counts=True),
            columns,
            origin,
        )


def assemble(
    pieces: list[Piece], ids: Sequence[GroupId], names: Sequence[str], vocabulary: Iterable[str]
) -> CandidateSet:
    """Group the candidates, sort the groups and drop duplicates.

    ``pieces`` is consumed piece by piece, so that both forms of the data are never in memory
    at once. The caller adds references and sources.
    """
    return without_duplicates(_concatenate(pieces, ids, names, vocabulary)[0])[0]


def assemble_traced(
    pieces: list[Piece], ids: Sequence[GroupId], names: Sequence[str], vocabulary: Iterable[str]
) -> tuple[CandidateSet, Ints]:
    """Assemble as :func:`assemble`, and return where the candidates come from.

    Returns
    -------
    candidates
        The set.
    origin : int64[N]
        The index of each one among all candidates of the pieces, one piece after the other.
    """
    concatenated, target = _concatenate(pieces, ids, names, vocabulary)
    candidates, keep = without_duplicates(concatenated)
    return candidates, _inverse(target)[keep]


def _concatenate(
    pieces: list[Piece], ids: Sequence[GroupId], names: Sequence[str], vocabulary: Iterable[str]
) -> tuple[CandidateSet, Ints]:
    """Return all candidates, sorted by group, and the position that each one gets."""
    numbers = all(isinstance(i, int) for i in ids)
    sequence = sorted(range(len(ids)), key=ids.__getitem__) if numbers else list(range(len(ids)))
    rank = _inverse(np.array(sequence, np.int64))
    group = rank[np.concatenate([piece.group for piece in pieces])]
    start = offsets(np.bincount(group, minlength=len(ids)))
    target = _inverse(np.argsort(group, kind="stable"))
    texts = _assemble_texts(pieces, target)
    originals = _assemble_originals(pieces, target)
    columns = _assemble_columns(pieces, target)
    features = _assemble_features(pieces, names, target)
    sorted_ids = tuple(ids[i] for i in sequence)
    candidates = CandidateSet(
        sorted_ids, start, features, texts, tuple(vocabulary), columns=columns, originals=originals
    )
    return candidates, target


def _inverse(permutation: Ints) -> Ints:
    inverse = np.empty(len(permutation), np.int64)
    inverse[permutation] = np.arange(len(permutation))
    return inverse


def _with_targets(pieces: list[Piece], target: Ints) -> Iterator[tuple[Piece, Ints]]:
    """Yield each piece with the final positions of its candidates."""
    ends = np.cumsum([len(piece) for piece in pieces])
    yield from zip(pieces, np.split(target, ends[:-1]), strict=True)


def _assemble_features(pieces: list[Piece], names: Sequence[str], target: Ints) -> Features:
    n = len(target)
    counts = FeatureCounts.of_pieces(pieces, names)
    is_dense, lacking = counts.is_dense, n - counts.given
    gaps = _gaps(pieces, names, np.flatnonzero(is_dense & (lacking > 0)), lacking)
    row_of = np.where(is_dense, np.cumsum(is_dense) - 1, -1)
    column_of = np.where(is_dense, -1, np.cumsum(~is_dense) - 1)

    dense = own_pages((int(is_dense.sum()), n), np.float64)

    def place(piece_and_targets: tuple[Piece, Ints]) -> tuple[list[Ints], list[Ints], list[Floats]]:
        """Put what is dense where it belongs; return the rows, columns and values of the rest."""
        piece, at = piece_and_targets
        rows, columns, values = [], [], []
        for j, column in enumerate(piece.dense_columns):
            if is_dense[column]:
                _scatter(piece.dense[j], at, dense[row_of[column]])
            else:
                fires = np.flatnonzero(piece.dense[j])
                rows.append(at[fires])
                columns.append(np.full(len(fires), column_of[column]))
                values.append(piece.dense[j, fires])
        to_dense = is_dense[piece.sparse_columns]
        dense_rows = row_of[piece.sparse_columns[to_dense]]
        dense[dense_rows, at[piece.rows[to_dense]]] = piece.values[to_dense]
        rows.append(at[piece.rows[~to_dense]])
        columns.append(column_of[piece.sparse_columns[~to_dense]])
        values.append(piece.values[~to_dense])
        piece.dense = dense[:, :0]
        return rows, columns, values

    parts = map_pieces(place, list(_with_targets(pieces, target)))
    pieces.clear()
    shape = (n, int((~is_dense).sum()))
    rows, columns, values = (
        np.concatenate([array for part in parts for array in part[k]]) for k in range(3)
    )
    sparse = csc_array((values, (rows, columns)), shape=shape)
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
    """Return the gaps of features that some candidates lack, with the first piece of each gap."""
    gaps: dict[str, Gap] = {}
    remaining = set(columns.tolist())
    for piece in pieces:
        if not remaining:
            break
        full = piece.given_columns[piece.given_counts == len(piece)]
        for column in sorted(remaining.difference(full.tolist())):
            gaps[names[column]] = Gap(int(lacking[column]), piece.origin)
            remaining.remove(column)
    return gaps


def _assemble_texts(pieces: list[Piece], target: Ints) -> Texts:
    lengths = np.empty(len(target), np.int64)
    lengths[target] = np.concatenate([piece.texts.lengths for piece in pieces])
    texts = Texts(offsets(lengths), own_pages((int(lengths.sum()),), np.int32))

    def place(piece_and_targets: tuple[Piece, Ints]) -> None:
        piece, at = piece_and_targets
        _scatter_texts(piece.texts.start, piece.texts.ids, at, texts.start, texts.ids)
        piece.texts = Texts.empty()

    map_pieces(place, list(_with_targets(pieces, target)))
    return texts


def _assemble_originals(pieces: list[Piece], target: Ints) -> Originals | None:
    originals: dict[int, str] = {}
    for piece, at in _with_targets(pieces, target):
        originals.update((int(at[row]), text) for row, text in piece.originals.items())
    return Originals.of(len(target), originals)


def _assemble_columns(pieces: list[Piece], target: Ints) -> dict[str, Floats]:
    columns: dict[str, Floats] = {}
    for name in dict.fromkeys(name for piece in pieces for name in piece.columns):
        for piece in pieces:
            if name not in piece.columns:
                raise TunesmithError(
                    f"{piece.origin}: candidates lack the metric '{name}', which others have; "
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
