"""Writing forests in any format."""

from __future__ import annotations

import os

from tunesmith.data.forests import Forests
from tunesmith.errors import UsageError
from tunesmith.io.compression import without_suffix
from tunesmith.io.forests.base import FOREST_FORMATS


def write_forests(
    forests: Forests,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
) -> None:
    """Write forests, whole or not at all; one of them is in memory at a time.

    Parameters
    ----------
    forests
        What to write.
    path
        Where; a name that ends in .gz, .bz2, .xz or .zst is compressed.
    format
        A name from ``tunesmith list forest-formats``; None decides by the ending of the name.
    """
    FOREST_FORMATS.create(format or forest_format_of(path)).write(forests, path)


def forest_format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that the ending of a name stands for."""
    plain = without_suffix(path).lower()
    for name in FOREST_FORMATS.names():
        if plain.endswith(FOREST_FORMATS.get(name).suffixes or ("\0",)):
            return name
    known = ", ".join(FOREST_FORMATS.names())
    raise UsageError(f"the ending of '{os.fspath(path)}' is of no format; name one of {known}")
