"""Folders with one file per forest."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.compression import without_suffix
from tunesmith.io.forests.base import number_in


def files_in(folder: str, suffixes: tuple[str, ...]) -> list[str]:
    """Return the forests of a folder: the files that have numbers, in their order.

    Where no file has one, those that have one of some endings, by name, with numbers in names as
    numbers. What looks like a forest and is left out is warned of.
    """
    try:
        with os.scandir(folder) as entries:
            is_file = {entry.path: _is_file(entry) for entry in entries}
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(folder, None, problem, "name a folder that can be read") from None
    numbered = {path: n for path in is_file if (n := number_in(path)) is not None}
    named = {path for path in is_file if without_suffix(path).lower().endswith(suffixes)}
    files = [path for path in numbered if is_file[path]]
    if files:
        files.sort(key=lambda path: (numbered[path], path))
        left_out = (named | numbered.keys()) - set(files)
    else:
        files = sorted((path for path in named if is_file[path]), key=_natural)
        left_out = named - set(files)
    if not files:
        problem = "there is no forest in this folder"
        raise FormatError(folder, None, problem, "name one with files such as 0.txt.gz")
    if left_out:
        first = min(left_out, key=_natural)
        why = "its name has no number and others have one" if is_file[first] else "it is no file"
        more = f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        warnings.warn(f"{first}: this does not count{more}: {why}", stacklevel=4)
    return files


def _is_file(entry: os.DirEntry[str]) -> bool:
    # A link that leads nowhere is a file that is missing; reading it says so.
    return entry.is_file() or (entry.is_symlink() and not os.path.exists(entry.path))


def _natural(path: str) -> tuple[list[str | int], str]:
    """Return a key that sorts numbers within names as numbers."""
    parts = re.split("([0-9]+)", os.path.basename(path))
    return [int(part) if k % 2 else part for k, part in enumerate(parts)], path


def check_new_folder(path: str | os.PathLike[str]) -> None:
    """Raise an error if a folder could not be written, before any work is done."""
    if os.fspath(path) == "-":
        raise TunesmithError("forests that are a file each need a folder; name one")
    target = Path(path).absolute()
    above = target.parent
    if not above.is_dir():
        raise TunesmithError(f"{path}: the folder {above} does not exist; create it first")
    if not os.access(above, os.W_OK):
        raise TunesmithError(f"{path}: no permission to write there; name another folder")
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            # What is in it would be taken for forests of the set, or be lost.
            raise TunesmithError(f"{path}: this is no empty folder; name a new one")
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise TunesmithError(f"{path}: {problem}; name a folder that can be written") from None


@contextlib.contextmanager
def writing_folder(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give a folder to write to that takes its name only when the block ends well."""
    check_new_folder(path)
    target = Path(path).absolute()
    try:
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
