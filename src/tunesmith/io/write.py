"""Writing candidates in any format."""

from __future__ import annotations

import os

import numpy as np

from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import UsageError
from tunesmith.io.compression import without_suffix
from tunesmith.io.lists.base import FORMATS


def write(
    candidates: CandidateSet,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
) -> None:
    """Write candidates, whole or not at all.

    Parameters
    ----------
    candidates
        What to write.
    path
        Where; a name that ends in .gz, .bz2, .xz or .zst is compressed.
    format
        A name from ``tunesmith list formats``; None decides by the ending of the name.
    """
    writer = FORMATS.create(format or format_of(path))
    n = len(candidates)
    totals = np.full(n, np.nan) if candidates.totals is None else candidates.totals
    writer.write(candidates, np.arange(n), totals, path)


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that the ending of a name stands for."""
    plain = without_suffix(path).lower()
    for name in FORMATS.names():
        if plain.endswith(FORMATS.get(name).suffixes or ("\0",)):
            return name
    known = ", ".join(FORMATS.names())
    raise UsageError(f"the ending of '{os.fspath(path)}' is of no format; name one of {known}")
