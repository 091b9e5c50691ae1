"""Language models as ARPA files, in the layout of KenLM's lmplz."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from tunesmith.arrays import Bytes, Ids, Ints, Number
from tunesmith.data.rows import offsets
from tunesmith.hiero.tables import Singles
from tunesmith.hiero.training.lm.ngram_tree import words_of_ngrams
from tunesmith.io.streams import writing
from tunesmith.kernels import kernel
from tunesmith.progress import progress

if TYPE_CHECKING:
    from tunesmith.hiero.training.lm.kneser_ney import EstimatedModel

#: n-grams that are spelled together.
TOGETHER = 1 << 16
#: Digits after the point: single precision has no more of numbers beyond 1.
DIGITS = 7
_SCALE = float(10**DIGITS)
#: Bytes of two numbers and what stands between and after them, at most.
_NUMBERS = 64


def write_arpa(model: EstimatedModel, path: str | os.PathLike[str]) -> None:
    """Write a model: probabilities, n-grams and, below the highest order, back-offs."""
    encoded = [word.encode() for word in model.words]
    start = offsets([len(word) for word in encoded])
    letters = np.frombuffer(b"".join(encoded), np.uint8)
    sizes = model.sizes
    done = 0
    with writing(path) as file:
        counts = [f"ngram {n}={size}\n" for n, size in enumerate(sizes, 1)]
        file.write("".join(["\\data\\\n", *counts]).encode())
        for n in range(model.order):
            file.write(f"\n\\{n + 1}-grams:\n".encode())
            for first in range(0, len(model.stays[n]), TOGETHER):
                file.write(_block(model, n, first, start, letters))
                done += min(TOGETHER, len(model.stays[n]) - first)
                progress("writing n-grams", done, sum(map(len, model.stays)))
        file.write(b"\n\\end\\\n")


def _block(model: EstimatedModel, n: int, first: int, start: Ints, letters: Bytes) -> bytes:
    """Return the lines of some n-grams of level n (from 0)."""
    part = slice(first, min(first + TOGETHER, len(model.stays[n])))
    stays = model.stays[n][part]
    rows = np.ascontiguousarray(words_of_ngrams(model.levels, n, part.start, part.stop)[stays])
    probabilities = model.probabilities[n][part][stays]
    backoffs = model.backoffs[n][part][stays] if n + 1 < model.order else np.empty(0, np.float32)
    size = int(np.diff(start)[rows].sum()) + rows.size + _NUMBERS * len(rows)
    out = np.empty(size, np.uint8)
    return out[: spell(rows, probabilities, backoffs, start, letters, out)].tobytes()


@kernel
def spell(
    rows: Ids, probabilities: Singles, backoffs: Singles, start: Ints, letters: Bytes, out: Bytes
) -> int:
    """Write a line for each n-gram; return how many bytes they are."""
    at = 0
    for i in range(rows.shape[0]):
        at = spell_number(probabilities[i], out, at)
        row = rows[i]
        for j in range(row.shape[0]):
            out[at] = 9 if j == 0 else 32  # a tab before the n-gram, spaces within
            at += 1
            for k in range(start[row[j]], start[row[j] + 1]):
                out[at] = letters[k]
                at += 1
        if backoffs.shape[0] > 0:
            out[at] = 9
            at = spell_number(backoffs[i], out, at + 1)
        out[at] = 10
        at += 1
    return at


@kernel
def spell_number(value: Number, out: Bytes, at: int) -> int:
    """Write a number with seven digits after the point, less those that are 0."""
    scaled = np.int64(np.rint(abs(np.float64(value)) * _SCALE))
    if value < 0.0 and scaled > 0:
        out[at] = 45
        at += 1
    digits = 1
    power = np.int64(10)
    while power <= scaled:
        power *= 10
        digits += 1
    digits = max(digits, DIGITS + 1)
    # From the right: decimals, the point, and what is before it.
    end = at + digits + 1
    last = at + digits - DIGITS - 1
    for place in range(end - 1, at - 1, -1):
        if place == last + 1:
            out[place] = 46
            continue
        digit = scaled % 10
        scaled //= 10
        out[place] = 48 + digit
    while out[end - 1] == 48 and end > last + 1:
        end -= 1
    return end - 1 if out[end - 1] == 46 else end
