"""A folder for the files of a worker: in memory where there is such a place."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_folder: list[Path] = []


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Make the folder, and remove it at the end; temporary files are in it, too."""
    memory = "/dev/shm"
    place = memory if os.path.isdir(memory) and os.access(memory, os.W_OK) else None
    made = Path(tempfile.mkdtemp(prefix="tunesmith-fuzz-", dir=place))
    before, tempfile.tempdir = tempfile.tempdir, str(made / "tmp")
    (made / "tmp").mkdir()
    _folder.append(made)
    try:
        yield made
    finally:
        _folder.remove(made)
        tempfile.tempdir = before
        shutil.rmtree(made, ignore_errors=True)


def folder(name: str) -> Path:
    """Return a new, empty folder of that name in the worker's own."""
    made = _folder[-1] / name
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    return made
