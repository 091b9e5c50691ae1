"""Compressed bytes: gzip, bzip2, xz and Zstandard, in bounded steps."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, cast

from tunesmith.errors import MissingExtraError

#: The first bytes of each kind of compressed file.
MAGIC = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\0",
    "zstd": b"\x28\xb5\x2f\xfd",
}
#: The endings of names under which each kind is written.
SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
#: Text that comes out of one step at most, but for Zstandard.
STEP = 1 << 20
#: Zstandard has no limit of its own; so many bytes become 32 MB at the very most.
ZSTD_STEP = 1 << 10
#: An xz file that wants more memory than this is refused.
XZ_MEMORY = 1 << 28


class DamagedError(Exception):
    """Compressed data that cannot be read; its text says why."""


def kind_of(head: bytes) -> str | None:
    """Return the kind of compression that some first bytes show, or None."""
    return next((kind for kind, magic in MAGIC.items() if head.startswith(magic)), None)


def decompress(kind: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the text of a compressed file of one member or several, in bounded steps."""
    member: _Member | None = None
    for chunk in chunks:
        data = chunk
        while data:
            if member is None:
                data = data.lstrip(b"\0")  # files may be padded
                if not data:
                    break
                member = _MEMBERS[kind]()
            try:
                yield from member.feed(data)
            except (zlib.error, lzma.LZMAError, OSError, EOFError, _zstd_error()) as error:
                if "emory" in str(error):
                    raise DamagedError(f"the {kind} data want too much memory") from None
                raise DamagedError(f"the {kind} data are damaged") from None
            data = b""
            if member.ended:
                data, member = member.unused, None
    if member is not None:
        raise DamagedError(f"the {kind} data end too early")


class _Member(ABC):
    """One compressed stream of a file that may hold several."""

    ended = False
    unused = b""

    @abstractmethod
    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take some bytes and yield the text that they complete."""


class _GzipMember(_Member):
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while not self.ended:
            text = self._stream.decompress(data, STEP)
            more = bool(data)
            # Beyond the end of a stream zlib may leave its tail as it was: what is behind the
            # end is unused data.
            data = self._stream.unconsumed_tail
            self.ended, self.unused = self._stream.eof, self._stream.unused_data
            if text:
                yield text
            elif not more or not data:
                break


class _BufferedMember(_Member):
    """bzip2 and xz: they keep what they have not read yet."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            text = self._stream.decompress(data, STEP)
            data = b""
            self.ended = self._stream.eof
            if text:
                yield text
            if self.ended:
                self.unused = self._stream.unused_data
                return
            if self._stream.needs_input:
                return


class _ZstdMember(_Member):
    def __init__(self) -> None:
        self._stream = _zstandard().ZstdDecompressor().decompressobj()

    def feed(self, data: bytes) -> Iterator[bytes]:
        for lo in range(0, len(data), ZSTD_STEP):
            text = self._stream.decompress(data[lo : lo + ZSTD_STEP])
            if text:
                yield text
            if self._stream.eof:
                self.ended = True
                self.unused = self._stream.unused_data + data[lo + ZSTD_STEP :]
                return


_MEMBERS: dict[str, Callable[[], _Member]] = {
    "gzip": _GzipMember,
    "bzip2": lambda: _BufferedMember(bz2.BZ2Decompressor()),
    "xz": lambda: _BufferedMember(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)),
    "zstd": _ZstdMember,
}


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("Zstandard compression", "formats") from None
    return zstandard


def _zstd_error() -> type[Exception]:
    try:
        import zstandard
    except ImportError:
        return zlib.error
    return zstandard.ZstdError


def without_suffix(path: str | os.PathLike[str]) -> str:
    """Return a name without the ending that stands for compression."""
    name = os.fspath(path)
    stem, suffix = os.path.splitext(name)
    return stem if suffix in SUFFIXES else name


def compressing(file: BinaryIO, path: str | os.PathLike[str]) -> AbstractContextManager[BinaryIO]:
    """Give a file that compresses what is written to it if its name ends so.

    The same bytes give the same file: no name and no time is written into it.
    """
    kind = SUFFIXES.get(os.path.splitext(os.fspath(path))[1])
    if kind is None:
        return contextlib.nullcontext(file)
    if kind == "gzip":
        opened: Any = gzip.GzipFile("", "wb", 6, file, mtime=0)
    elif kind == "bzip2":
        opened = bz2.BZ2File(file, "wb")
    elif kind == "xz":
        opened = lzma.LZMAFile(file, "wb")  # noqa: SIM115
    else:
        # With a checksum, as the program zstd writes it: damage does not pass unseen.
        compressor = _zstandard().ZstdCompressor(write_checksum=True)
        opened = compressor.stream_writer(file, closefd=False)
    return cast(AbstractContextManager[BinaryIO], opened)
