"""Bytes in, in blocks of whole lines; bytes out, whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from tunesmith.data.candidates import FileDigest
from tunesmith.errors import FormatError, TunesmithError

#: Bytes of text in a block; a block holds whole lines and so may be a little smaller or larger.
BLOCK = 1 << 20
#: Compressed bytes read at a time.
CHUNK = 1 << 18
#: Text may be so many times as large as its compressed form (deflate itself ends near 1030).
MAX_RATIO = 500
#: ... where it is larger than this; below, any ratio is harmless.
RATIO_FROM = 64 << 20

GZIP_MAGIC = b"\x1f\x8b"


class Source:
    """One input file, read once from its beginning to its end.

    ``-`` is standard input. Compression is recognised from the first bytes. After
    reading, ``sha256`` is the digest of the bytes as they are on disk.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = "standard input" if self.path == "-" else self.path
        self._digest = hashlib.sha256()
        self._size = 0

    @property
    def sha256(self) -> str:
        """Digest of what has been read."""
        return self._digest.hexdigest()

    def digest(self, format_name: str) -> FileDigest:
        """Return what a result says of this file."""
        # A name need not be UTF-8; what is printed must be.
        shown = os.fsencode(self.path).decode("utf-8", "backslashreplace")
        return FileDigest(shown, self.sha256, format_name)

    def blocks(self) -> Iterator[bytes]:
        """Yield the text in blocks that end at a line's end, decompressed in a second thread."""
        rest: list[bytes] = []
        empty = True
        for text in _ahead(self._texts()):
            empty = False
            cut = text.rfind(b"\n") + 1
            if cut > 0:
                yield b"".join([*rest, text[:cut]])
                rest = []
            rest.append(text[cut:])
        if any(rest):
            yield b"".join(rest)
        if empty:
            raise FormatError(self.name, None, "the file is empty", "give a file with content")

    def read(self) -> bytes:
        """Return the whole text."""
        return b"".join(self.blocks())

    def _texts(self) -> Iterator[bytes]:
        try:
            yield from self._contents()
        except OSError as error:
            problem = (error.strerror or "it cannot be read").lower()
            raise FormatError(self.name, None, problem, "name a file that can be read") from None

    def _contents(self) -> Iterator[bytes]:
        with self._open() as file:
            head = file.read(CHUNK)
            while 0 < len(head) < len(GZIP_MAGIC) and (more := file.read(CHUNK)):
                head += more
            if head.startswith(GZIP_MAGIC):
                yield from self._inflate(file, head)
                return
            parts, size = [head], len(head)
            while parts[-1]:
                self._digest.update(parts[-1])
                if size >= BLOCK:
                    yield b"".join(parts)
                    parts, size = [], 0
                parts.append(file.read(CHUNK))
                size += len(parts[-1])
            if size:
                yield b"".join(parts)

    def _inflate(self, file: BinaryIO, data: bytes) -> Iterator[bytes]:
        """Decompress gzip, of one member or several."""
        inflater = zlib.decompressobj(wbits=31)
        parts: list[bytes] = []
        size = total = compressed = 0
        while data:
            self._digest.update(data)
            compressed += len(data)
            while data:
                try:
                    # In steps, so that a small file cannot fill the memory at once.
                    text = inflater.decompress(data, BLOCK)
                except zlib.error:
                    problem = "the gzip data are damaged"
                    raise FormatError(self.name, None, problem, "copy the file again") from None
                total += len(text)
                if total > RATIO_FROM and total > MAX_RATIO * compressed:
                    problem = f"the file expands more than {MAX_RATIO} times"
                    raise FormatError(self.name, None, problem, "decompress it yourself first")
                parts.append(text)
                size += len(text)
                if size >= BLOCK:
                    yield b"".join(parts)
                    parts, size = [], 0
                data = inflater.unconsumed_tail
                if inflater.eof:
                    data = inflater.unused_data
                    if data.strip(b"\0"):
                        inflater = zlib.decompressobj(wbits=31)
                    else:
                        data = b""
            data = file.read(CHUNK)
            if data and inflater.eof and data.strip(b"\0"):
                inflater = zlib.decompressobj(wbits=31)
        if not inflater.eof:
            problem = "the gzip data end too early"
            raise FormatError(self.name, None, problem, "copy the file again, it is truncated")
        if size:
            yield b"".join(parts)

    def _open(self) -> contextlib.AbstractContextManager[BinaryIO]:
        if self.path == "-":
            return contextlib.nullcontext(_standard_input())
        return open(self.path, "rb")


def _ahead(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Run an iterator in a thread of its own, at most two blocks ahead."""
    ready: queue.Queue[bytes | BaseException | None] = queue.Queue(maxsize=2)
    stop = threading.Event()

    def put(item: bytes | BaseException | None) -> None:
        while not stop.is_set():
            with contextlib.suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def work() -> None:
        try:
            for block in blocks:
                put(block)
                if stop.is_set():
                    return
            put(None)
        except BaseException as error:  # noqa: BLE001  (raised again by the reader)
            put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        # It may be waiting for standard input; it ends with the process then.
        thread.join(timeout=1.0)


def _standard_input() -> BinaryIO:
    """Return standard input without a buffer, whose lock an interrupted read would keep."""
    try:
        return cast(BinaryIO, open(sys.stdin.fileno(), "rb", buffering=0, closefd=False))
    except (AttributeError, OSError, ValueError):  # replaced by something without a descriptor
        return sys.stdin.buffer


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file could not be written, before any work is done."""
    target = Path(path)
    if os.fspath(path) == "-":
        return
    if target.is_dir():
        raise TunesmithError(f"{target}: this is a folder; name a file")
    folder = target.absolute().parent
    if not folder.is_dir():
        raise TunesmithError(f"{target}: the folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise TunesmithError(f"{target}: no permission to write there; name another file")


def write_atomically(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write a file whole or not at all; an existing one is replaced in one step."""
    with writing(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Give a file to write to that takes its name only when the block ends well."""
    if os.fspath(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    try:
        special = os.fspath(path).startswith(("/dev/", "/proc/"))
        if special or (target.exists() and not target.is_file()):  # nothing to replace
            target = Path(path)
            with open(target, "wb") as file:
                yield file
        else:
            with _replacing(target) as file:
                yield file
    except OSError as error:
        problem = (error.strerror or "it cannot be written").lower()
        raise TunesmithError(f"{target}: {problem}; name a file that can be written") from None


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """Give a new file beside the target, which it replaces when the block ends well."""
    handle, temporary = tempfile.mkstemp(dir=target.absolute().parent, prefix=".tunesmith-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
