"""Columns of JSON lines whose objects are flat and have the same names in the same order."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Bytes, Floats
from tunesmith.io.tables.base import Numbers
from tunesmith.io.text.json_kernels import ESCAPED, SLOW, TEXT, FlatObjects
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
    spans
        As they stand there.
    """

    kinds: Bytes
    values: Floats
    spans: Spans

    def numbers(self) -> Numbers | None:
        """Return numbers; None if a value is none, or is not finite."""
        if (self.kinds > SLOW).any():
            return None
        values = np.array(self.values)
        slow = np.flatnonzero(self.kinds == SLOW)
        texts = self.spans.take(slow)
        values[slow] = [float(text or "") for text in texts]
        return Numbers(values) if np.isfinite(values).all() else None

    def whole(self) -> list[int] | None:
        """Return whole numbers; None if a value is none."""
        if (self.kinds > SLOW).any():
            return None
        distinct, number = self.spans.numbered()
        if any(mark in text for text in distinct for mark in FRACTION):
            return None
        if any(len(text) > LONGEST_NUMBER for text in distinct):
            return None
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
        if not escaped.any():
            return self.spans
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
    every = np.arange(len(flat.keys)).reshape(-1, width).T.copy()
    return {
        name: Cells(flat.kinds[at], flat.values[at], flat.spans.take(at))
        for name, at in zip(flat.names, every, strict=True)
    }
