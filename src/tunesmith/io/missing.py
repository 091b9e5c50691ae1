"""What stands for values that are missing: nothing, as a rule, and then they are an error."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tunesmith.arrays import Flags, Floats
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import Texts
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.io.text.numbers import float_or_nan

#: What may be done, beside a number that stands for what is missing.
WAYS = ("error", "zero", "mean", "worst", "drop")
REMEDY = "fill the gaps, or say what stands for them: --missing zero, mean, worst, drop or a number"
REMEDY_FOR_SCORES = "give it to all or none, or say what stands for it: --missing mean, drop ..."

#: A way, or a number.
Way = str | float


@dataclass(frozen=True)
class Missing:
    """What is done where a value is missing.

    Attributes
    ----------
    usual
        For columns that are not named.
    by_name
        For features and external scores, by name.
    costs
        External scores of which less is better; the worst of these is the highest.
    """

    usual: Way = "error"
    by_name: Mapping[str, Way] = field(default_factory=dict)
    costs: frozenset[str] = frozenset()

    def of(self, name: str) -> Way:
        """Return what is done for a feature or an external score."""
        return self.by_name.get(name, self.usual)

    @classmethod
    def parse(cls, texts: Sequence[str], costs: frozenset[str] = frozenset()) -> Missing:
        """Return what texts as ``mean`` or ``lm=zero`` say."""
        usual: Way = "error"
        by_name: dict[str, Way] = {}
        for text in texts:
            name, equals, way = text.rpartition("=")
            if equals:
                by_name[name] = _way(way)
            else:
                usual = _way(text)
        return cls(usual, by_name, costs)

    def texts(self) -> list[str]:
        """Return the texts that say the same."""
        named = [f"{name}={_shown(way)}" for name, way in self.by_name.items()]
        return [*([] if self.usual == "error" else [_shown(self.usual)]), *named]


def _way(text: str) -> Way:
    if text in WAYS:
        return text
    value = float_or_nan(text.strip().encode())
    if not math.isfinite(value):
        raise UsageError(
            f"--missing is '{text}'; give {', '.join(WAYS)} or a number, for one column NAME=WAY"
        )
    return value


def _shown(way: Way) -> str:
    return way if isinstance(way, str) else f"{way:.17g}"


def settle(pieces: list[Piece], names: Sequence[str], missing: Missing) -> Flags | None:
    """Fill what is missing in pieces, or leave out the candidates.

    Returns
    -------
    kept : bool[n]
        Which candidates of all pieces are left; None where all are.
    """
    for column in sorted({c for piece in pieces for c in piece.missing}):
        way = missing.of(names[column])
        if way != "drop":
            name, is_cost = names[column], names[column] in missing.costs
            _fill(pieces, column, _value(name, way, *_given(pieces, column), is_cost))
    for name in dict.fromkeys(name for piece in pieces for name in piece.columns):
        parts = [piece.columns[name] for piece in pieces if name in piece.columns]
        values = np.concatenate(parts)
        lacking = np.isnan(values)
        way = missing.of(name)
        if lacking.any() and way != "drop":
            known = values[~lacking]
            value = _value(name, way, known, len(known), name in missing.costs)
            for column_values in parts:
                column_values[np.isnan(column_values)] = value
    return _drop(pieces)


def _given(pieces: Sequence[Piece], column: int) -> tuple[Floats, int]:
    """Return the values of a feature, but perhaps for those that are 0, and how many there are."""
    values, count = [np.zeros(0)], 0
    for piece in pieces:
        values.append(piece.values[piece.sparse_columns == column])
        values.extend(piece.dense[piece.dense_columns == column])
        count += int(piece.given_counts[piece.given_columns == column].sum())
    return np.concatenate(values), count


def _value(name: str, way: Way, known: Floats, count: int, is_cost: bool) -> float:
    """Return what stands for a value, given some values of so many, the others being 0."""
    if not isinstance(way, str):
        return way
    if way == "zero":
        return 0.0
    if not count:
        raise TunesmithError(f"'{name}' has no value at all, so none is {way}; leave it out")
    if way == "mean":
        return float(known.sum() / count)
    every = known if len(known) == count else np.append(known, 0.0)
    return float(every.max() if is_cost else every.min())


def _fill(pieces: Sequence[Piece], column: int, value: float) -> None:
    for piece in pieces:
        rows = piece.missing.pop(column, None)
        if rows is None:
            continue
        if value:
            piece.rows = np.concatenate([piece.rows, rows])
            more = np.full(len(rows), column)
            piece.sparse_columns = np.concatenate([piece.sparse_columns, more])
            piece.values = np.concatenate([piece.values, np.full(len(rows), value)])
        known = np.flatnonzero(piece.given_columns == column)
        if len(known):
            piece.given_counts = piece.given_counts.copy()
            piece.given_counts[known[0]] += len(rows)
        else:
            piece.given_columns = np.append(piece.given_columns, column)
            piece.given_counts = np.append(piece.given_counts, len(rows))


def _drop(pieces: list[Piece]) -> Flags | None:
    """Leave out candidates that lack something still."""
    flags = []
    for piece in pieces:
        lacks = np.zeros(len(piece), np.bool_)
        for rows in piece.missing.values():
            lacks[rows] = True
        for values in piece.columns.values():
            lacks |= np.isnan(values)
        flags.append(~lacks)
    all_flags = np.concatenate(flags) if flags else np.zeros(0, np.bool_)
    if all_flags.all():
        return None
    if not all_flags.any():
        raise TunesmithError("every candidate lacks a value; fill the gaps, or drop the column")
    pieces[:] = [
        piece if keep.all() else _only(piece, keep)
        for piece, keep in zip(pieces, flags, strict=True)
        if keep.any()
    ]
    left_out = int(np.count_nonzero(~all_flags))
    warnings.warn(
        f"{left_out} of {len(all_flags)} candidates lack a value and are left out", stacklevel=4
    )
    return all_flags


def _only(piece: Piece, keep: Flags) -> Piece:
    """Return some of the candidates of a piece."""
    place = np.cumsum(keep) - 1
    entries = keep[piece.rows]
    lengths = piece.texts.lengths
    texts = Texts(
        np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64),
        piece.texts.ids[np.repeat(keep, lengths)],
    )
    lacked = _lacked(piece, keep)
    return replace(
        piece,
        group=piece.group[keep],
        texts=texts,
        dense=piece.dense[:, keep],
        rows=place[piece.rows[entries]],
        sparse_columns=piece.sparse_columns[entries],
        values=piece.values[entries],
        given_counts=np.array(
            [
                _count(piece, int(column), int(count), keep, lacked)
                for column, count in zip(piece.given_columns, piece.given_counts, strict=True)
            ],
            np.int64,
        ),
        columns={name: values[keep] for name, values in piece.columns.items()},
        originals={int(place[row]): t for row, t in piece.originals.items() if keep[row]},
        missing={},
        totals=None if piece.totals is None else piece.totals[keep],
    )


def _lacked(piece: Piece, keep: Flags) -> dict[int, int]:
    """Return how many candidates that are left lack each feature that some lacked."""
    return {column: int(np.count_nonzero(keep[rows])) for column, rows in piece.missing.items()}


def _count(piece: Piece, column: int, count: int, keep: Flags, lacked: Mapping[int, int]) -> int:
    """Return how many of the candidates that are left give a feature."""
    remaining = int(np.count_nonzero(keep))
    if count == len(piece) or column in lacked:
        return remaining - lacked.get(column, 0)
    fired = piece.sparse_columns == column
    return max(int(np.count_nonzero(keep[piece.rows[fired]])), count - (len(piece) - remaining))
