"""Columns of JSON lines whose objects are flat and have the same names in the same order."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ints
from tunesmith.io.tables.base import LONG_ID, Numbers
from tunesmith.io.text.json_kernels import ESCAPED, SLOW, TEXT, FlatObjects, unescaped
from tunesmith.io.text.spans import Spans

#: What a number that is not whole has in it.
FRACTION = (".", "e", "E")
#: Whole numbers with more characters are left to Python's reader, which refuses the longest.
LONGEST_NUMBER = 300


@dataclass(frozen=True)
class Cells:
    """One column, with a value in every row.

    Attributes
    ----------
    kinds : uint8[n], values : float64[n]
        What the values are, and the numbers.
    data, lo, hi
        As they stand there.
    """

    kinds: Bytes
    values: Floats
    data: Bytes
    lo: Ints
    hi: Ints

    @cached_property
    def spans(self) -> Spans:
        """The values as they stand there."""
        return Spans(self.data, self.lo.copy(), self.hi.copy())

    def _written(self, rows: Ints) -> Spans:
        return Spans(self.data, self.lo[rows], self.hi[rows])

    def numbers(self) -> Numbers | None:
        """Return numbers; None if a value is none, or is not finite."""
        values = numbers_of(self.kinds, self.values, self._written)
        return None if values is None or not np.isfinite(values).all() else Numbers(values)

    def whole(self) -> Spans | list[int] | None:
        """Return whole numbers, or what they look like if that is plain; None if a value is none.

        Ids in texts are read as numbers where they are plain.
        """
        if (self.kinds > SLOW).any():
            return None
        distinct, number = self.spans.numbered()
        if any(map(_has_fraction, distinct)):
            return None
        if any(len(text) > LONGEST_NUMBER for text in distinct):
            return None
        if all(text.isdigit() and len(text) < LONG_ID for text in distinct):
            return self.spans
        numbers = [int(text) for text in distinct]
        return [numbers[k] for k in number.tolist()]

    def has_escapes(self) -> bool:
        """Tell whether some texts have a backslash in them."""
        return bool((self.kinds == ESCAPED).any())

    def texts(self) -> Spans | list[str | None] | None:
        """Return texts; None if a value is none."""
        escaped = self.kinds == ESCAPED
        if not (escaped | (self.kinds == TEXT)).all():
            return None
        plain = unescaped(self.spans, escaped)
        if plain is not None:
            return plain
        return [
            json.loads(f'"{text}"') if is_escaped else text
            for text, is_escaped in zip(self.spans, escaped.tolist(), strict=True)
        ]


def cells_of(flat: FlatObjects) -> dict[str, Cells] | None:
    """Return the columns; None if rows have other names, or another order of them."""
    width = len(flat.names)
    if not width or len(flat.keys) != width * len(flat.lines):
        return None
    keys = flat.keys.reshape(-1, width)
    if (keys != np.arange(width)).any():
        return None
    kinds, values = flat.kinds.reshape(-1, width), flat.values.reshape(-1, width)
    lo, hi = flat.spans.lo.reshape(-1, width), flat.spans.hi.reshape(-1, width)
    return {
        name: Cells(kinds[:, k], values[:, k], flat.spans.data, lo[:, k], hi[:, k])
        for k, name in enumerate(flat.names)
    }


def numbers_of(kinds: Bytes, values: Floats, texts: Callable[[Ints], Spans]) -> Floats | None:
    """Return numbers, those that kernels have not read too; None if a value is none.

    Parameters
    ----------
    kinds, values
        What kernels say of them.
    texts
        Returns what stands in some rows.
    """
    if (kinds > SLOW).any():
        return None
    numbers = np.array(values)
    slow = np.flatnonzero(kinds == SLOW)
    if len(slow):
        written = [text or "" for text in texts(slow)]
        if max(map(len, written)) > LONGEST_NUMBER:
            return None
        try:
            numbers[slow] = [float(t if _has_fraction(t) else int(t)) for t in written]
        except OverflowError:  # a whole number beyond 1e308
            return None
    return numbers


def whole_number(text: str, kind: int) -> int | None:
    """Return a whole number, None if a value is none, or too long."""
    is_whole = kind <= SLOW and not _has_fraction(text) and len(text) <= LONGEST_NUMBER
    return int(text) if is_whole else None


def _has_fraction(text: str) -> bool:
    return any(mark in text for mark in FRACTION)
