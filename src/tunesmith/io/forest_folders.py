"""Folders with a file a forest."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.compression import without_suffix
from tunesmith.io.forest_formats import number_in


def files_in(folder: str, suffixes: tuple[str, ...]) -> list[str]:
    """Return the forests of a folder: the files that have numbers, in their order.

    Where no file has one, those that have one of some endings, by name.
    """
    try:
        found = [entry.path for entry in os.scandir(folder) if entry.is_file()]
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(folder, None, problem, "name a folder that can be read") from None
    numbered = {path: n for path in found if (n := number_in(path)) is not None}
    if numbered:
        return sorted(numbered, key=lambda path: (numbered[path], path))
    named = sorted(path for path in found if without_suffix(path).lower().endswith(suffixes))
    if not named:
        problem = "there is no forest in this folder"
        raise FormatError(folder, None, problem, "name one with files such as 0.txt.gz")
    return named


@contextlib.contextmanager
def writing_folder(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give a folder to write to that takes its name only when the block ends well."""
    if os.fspath(path) == "-":
        raise TunesmithError("forests that are a file each need a folder; name one")
    target = Path(path).absolute()
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            # What is in it would be taken for forests of the set, or be lost.
            raise TunesmithError(f"{path}: this is no empty folder; name a new one")
        temporary = tempfile.mkdtemp(dir=target.parent, prefix=".tunesmith-")
        try:
            yield temporary
            os.chmod(temporary, 0o777 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except OSError as error:
        problem = (error.strerror or "it cannot be written").lower()
        raise TunesmithError(f"{path}: {problem}; name a folder that can be written") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
