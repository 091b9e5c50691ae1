"""What writers of several files, and of lists of one length, share."""

from __future__ import annotations

import os

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import UsageError
from tunesmith.io.compression import without_suffix
from tunesmith.io.streams import writing
from tunesmith.io.text.numbers import shortest


def feature_values(candidates: CandidateSet) -> dict[str, Floats]:
    """Return the values [N] of each feature, dense or sparse."""
    features = candidates.features
    values = dict(zip(features.dense_names, features.dense, strict=True))
    for d, name in enumerate(features.sparse_names, len(features.dense_names)):
        rows, fired = features.column(d)
        values[name] = np.zeros(len(candidates))
        values[name][rows] = fired
    return values


def check_one_length(candidates: CandidateSet, format_name: str) -> None:
    """Raise an error if groups could not be told apart by counting lines."""
    sizes = np.diff(candidates.start)
    for g, i in enumerate(candidates.ids):
        if i != g:
            raise UsageError(
                f"{format_name} counts groups from 0 and has no place for the id '{i}'; write jsonl"
            )
        if sizes[g] != sizes[0]:
            raise UsageError(
                f"group {i} has {sizes[g]} candidates and group 0 has {sizes[0]}, and "
                f"{format_name} wants as many in each (equal ones are dropped when read); write "
                "jsonl"
            )


def check_one_line(candidates: CandidateSet) -> None:
    """Raise an error if a text has several lines, where each is to be one."""
    originals = candidates.originals
    broken = (
        [k for k, text in enumerate(originals.texts) if has_line_end(text)] if originals else []
    )
    rows = np.flatnonzero(np.isin(originals.index, broken)).tolist() if originals and broken else []
    if rows:
        group = candidates.ids[int(np.searchsorted(candidates.start, rows[0], "right")) - 1]
        raise UsageError(f"a text of group '{group}' has several lines; write jsonl, or a table")


def has_line_end(text: str) -> bool:
    """Tell whether a text would be more than one line of a file."""
    return "\n" in text or "\r" in text


def file_beside(path: str | os.PathLike[str], name: str) -> str:
    """Return where the scores of a feature go: OUT.NAME, compressed as OUT is."""
    whole = os.fspath(path)
    if not name or "/" in name or os.sep in name or "\0" in name:
        raise UsageError(f"feature '{name}' cannot be the name of a file; write jsonl")
    stem = without_suffix(whole)
    return f"{stem}.{name}{whole[len(stem) :]}"


def write_numbers(path: str, values: Floats, order: Ints, keys: list[str] | None = None) -> None:
    """Write one number per line, after its key where there are keys."""
    with writing(path) as file:
        for k, i in enumerate(order):
            key = f"{keys[k]} " if keys is not None else ""
            file.write(f"{key}{shortest(values[i])}\n".encode())
