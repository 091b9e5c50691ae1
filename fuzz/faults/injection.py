"""Makes one call to the system fail, among those that concern a folder.

Functions of ``os``, ``io`` and ``mmap`` are replaced in this process, which is a child that ends
after one command. Calls about files elsewhere, as imports, pass.
"""

from __future__ import annotations

import builtins
import errno
import io
import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: What can fail, and how.
KINDS = {
    "open": errno.EACCES,
    "read": errno.EIO,
    "write": errno.ENOSPC,
    "fsync": errno.EIO,
    "replace": errno.EACCES,
    "mkdir": errno.ENOSPC,
    "unlink": errno.EACCES,
    "mmap": errno.ENOMEM,
    "allocation": 0,
}
#: Functions of ``os`` by kind, with the number of paths or descriptors that they begin with.
FUNCTIONS = {
    "open": ("open",),
    "read": ("read", "listdir", "scandir"),
    "write": ("write", "ftruncate", "posix_fallocate"),
    "fsync": ("fsync", "fdatasync"),
    "replace": ("replace", "rename", "link"),
    "mkdir": ("mkdir",),
    "unlink": ("unlink", "remove", "rmdir"),
}
ALLOCATORS = (
    "empty",
    "zeros",
    "full",
    "concatenate",
    "empty_like",
    "zeros_like",
    "ascontiguousarray",
)


class Injector:
    """Counts calls of a kind, and lets one of them fail.

    Parameters
    ----------
    kind
        A name of ``KINDS``.
    number
        Which call fails, from 1 on. Of allocations, places in the source are counted.
    root
        The folder that calls must concern.
    """

    def __init__(self, kind: str, number: int, root: Path) -> None:
        self.kind, self.number, self.root = kind, number, os.path.realpath(root)
        self.seen = 0
        self.fired = ""
        self._places: set[tuple[str, int]] = set()

    def concerns(self, place: Any) -> bool:
        """Tell whether a path or a descriptor is that of something in the folder."""
        try:
            path = os.readlink(f"/proc/self/fd/{place}") if isinstance(place, int) else place
            return os.fsdecode(path).startswith(self.root)
        except (OSError, TypeError, ValueError):
            return False

    def hit(self, kind: str, what: str) -> None:
        """Count a call; raise an error if it is the one that fails."""
        if kind != self.kind or self.fired:
            return
        self.seen += 1
        if self.seen == self.number:
            self.fired = what
            if kind == "allocation":
                raise MemoryError(what)
            raise OSError(KINDS[kind], os.strerror(KINDS[kind]))

    def allocate(self, what: str, frame: Any) -> None:
        """Count an allocation if its place in the source is new, and ours."""
        place = frame.f_code.co_filename, frame.f_lineno
        if self.kind == "allocation" and "/tunesmith/" in place[0] and place not in self._places:
            self._places.add(place)
            self.hit("allocation", f"{what} at {os.path.basename(place[0])}:{place[1]}")

    def install(self) -> None:
        """Replace the functions."""
        real = {name: getattr(os, name) for names in FUNCTIONS.values() for name in names}
        for kind, names in FUNCTIONS.items():
            for name in names:
                setattr(os, name, self._wrapped(kind, name, real[name]))
        io.open = builtins.open = self._open
        if self.kind == "mmap":
            mmap.mmap = _mapping(self)  # type: ignore[misc, assignment]
        if self.kind == "allocation":
            for name in ALLOCATORS:
                setattr(np, name, self._allocating(name, getattr(np, name)))

    def _wrapped(self, kind: str, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if arguments and self.concerns(arguments[0]):
                shown = arguments[0] if isinstance(arguments[0], int) else os.fsdecode(arguments[0])
                self.hit(kind, f"{name} {os.path.basename(str(shown))}")
            return real(*arguments, **named)

        return call

    def _allocating(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.allocate(name, sys._getframe(1))
            return real(*arguments, **named)

        return call

    def _open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        """Open a file as ``open`` does; one of the folder fails as it is told to."""
        if not self.concerns(file):
            return _REAL_OPEN(file, mode, buffering, encoding, errors, newline, closefd, opener)
        self.hit("open", f"open {os.path.basename(str(file))}")
        flags = mode.replace("b", "").replace("t", "")
        raw = _Faulty(file, flags, closefd, opener)
        raw.injector = self
        raw.shown = os.path.basename(str(file))
        if buffering == 0:
            return raw
        plain: Any
        if "+" in mode:
            plain = io.BufferedRandom(raw)
        elif "r" in mode:
            plain = io.BufferedReader(raw)
        else:
            plain = io.BufferedWriter(raw)
        if "b" in mode:
            return plain
        return io.TextIOWrapper(plain, encoding or "utf-8", errors, newline, buffering == 1)


class _Faulty(io.FileIO):
    """A file whose reads and writes are counted."""

    injector: Injector
    shown = ""

    def readinto(self, buffer: Any, /) -> int:
        self.injector.hit("read", f"read {self.shown}")
        return super().readinto(buffer)

    def read(self, size: int | None = -1, /) -> bytes:
        self.injector.hit("read", f"read {self.shown}")
        return super().read(size)

    def readall(self) -> bytes:
        self.injector.hit("read", f"read {self.shown}")
        return super().readall()

    def write(self, data: Any, /) -> int:
        self.injector.hit("write", f"write {self.shown}")
        return super().write(data)


_REAL_OPEN = io.open


def _mapping(injector: Injector) -> type:
    class Mapping(_REAL_MMAP):
        """Maps pages, those of a file of the folder or of no file, which may fail."""

        def __new__(cls, fileno: int, *arguments: Any, **named: Any) -> Any:
            if fileno == -1 or injector.concerns(fileno):
                injector.hit("mmap", "mmap")
            return super().__new__(cls, fileno, *arguments, **named)

    return Mapping


_REAL_MMAP = mmap.mmap
