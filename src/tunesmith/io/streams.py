"""Bytes in, in blocks of whole lines; bytes out, whole or not at all."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import io
import itertools
import mmap
import os
import queue
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from tunesmith.data.candidates import FileDigest
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.compression import MAGIC, DamagedError, compressing, decompress, kind_of
from tunesmith.io.text.utf8 import check_utf8

#: Bytes of text in a block; a block holds whole lines and so may be a little smaller or larger.
BLOCK = 1 << 20
#: Compressed bytes read at a time.
CHUNK = 1 << 18
#: Text may be so many times as large as its compressed form (deflate itself ends near 1030).
MAX_RATIO = 500
#: ... where it is larger than this; below, any ratio is harmless.
RATIO_FROM = 64 << 20

LONGEST_MAGIC = max(map(len, MAGIC.values()))
#: Bytes of a mapped file whose digest is taken at a time.
HASHED = 1 << 20


class Source:
    """One input, read once from its beginning to its end.

    ``-`` is standard input. Compression is recognised from the first bytes. After
    reading, ``sha256`` is the digest of the bytes as they are on disk.

    Parameters
    ----------
    path
        A file.
    data
        What it holds, instead of opening it.
    is_live
        Whether what has come is yielded at once, however little it is: someone may wait for what
        becomes of it.
    """

    def __init__(
        self, path: str | os.PathLike[str], data: bytes | None = None, is_live: bool = False
    ) -> None:
        self.path = os.fspath(path)
        self._is_live = is_live
        self.open_line: int | None = None
        self.name = "standard input" if self.path == "-" else self.path
        self._data = data
        self._begin()

    def _begin(self) -> None:
        self._digest = hashlib.sha256()
        self._digesting: threading.Thread | None = None
        self._unread: OSError | None = None
        self._texts = _ahead(self._checked())
        self._peeked: list[bytes] = []

    @property
    def sha256(self) -> str:
        """Digest of what has been read."""
        if self._digesting is not None:
            self._digesting.join()
        if self._unread is not None:
            raise self._unreadable(self._unread)
        return self._digest.hexdigest()

    def digest(self, format_name: str) -> FileDigest:
        """Return what a result says of this file."""
        # A name need not be UTF-8; what is printed must be.
        shown = os.fsencode(self.path).decode("utf-8", "backslashreplace")
        return FileDigest(shown, self.sha256, format_name)

    def head(self) -> bytes:
        """Return the first bytes, decompressed; reading begins with them all the same.

        A byte-order mark is left out: it is no text.
        """
        if not self._peeked:
            self._peeked = [next(self._texts, b"").removeprefix(codecs.BOM_UTF8)]
        return self._peeked[0]

    def blocks(self, size: int = 0) -> Iterator[bytes]:
        """Yield the text in blocks that end at a line's end, decompressed in a second thread.

        Blocks have ``size`` bytes at least, but for the last line that is not whole in it.
        """
        if not self.head():
            raise FormatError(self.name, None, "the file is empty", "give a file with content")
        rest: list[bytes] = []
        length = 0
        with contextlib.closing(self._texts):
            for text in itertools.chain([self.head()], self._texts):
                length += len(text)
                cut = text.rfind(b"\n") + 1 if length >= size else 0
                if cut > 0:
                    yield b"".join([*rest, memoryview(text)[:cut]])
                    rest = []
                    length = len(text) - cut
                rest.append(text[cut:])
            if any(rest):
                yield b"".join(rest)

    def check_line_ends(self) -> None:
        """Raise an error if lines end in CR alone: the file would be a single line."""
        head = self.head()
        if b"\n" not in head and b"\r" in head.rstrip(b"\r"):
            problem = "lines end in CR alone"
            raise FormatError(self.name, 1, problem, "convert the file to line feeds")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the number, from 1, and the text of each line that is not empty.

        ``open_line`` then is the number of a last line without a line feed, or None.
        """
        self.check_line_ends()
        number = 0
        for block in self.blocks():
            check_utf8(block, self.name, number + 1)
            lines = block.decode().split("\n")
            if not lines[-1]:
                lines.pop()
            elif not lines[-1].isspace():
                self.open_line = number + len(lines)
            for line in lines:
                number += 1
                if line and not line.isspace():
                    yield number, line.removesuffix("\r")

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes, decompressed, in pieces that end anywhere."""
        yield from itertools.chain([self.head()], self._texts)

    def descriptor(self) -> int | None:
        """Open the file a second time, as it is; None where it is compressed, or no file."""
        if self._data is not None or self.path == "-" or not os.path.isfile(self.path):
            return None
        if kind_of(self._first_bytes()):
            return None
        try:
            return os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise self._unreadable(error) from None

    def read(self) -> bytes:
        """Return the whole text."""
        return b"".join(self.blocks())

    def buffer(self) -> memoryview:
        """Return all bytes; those of a plain file are mapped, not read.

        What is written to them changes memory alone, never the file.
        """
        plain = self._data is None and self.path != "-" and os.path.isfile(self.path)
        if not self.head():
            raise FormatError(self.name, None, "the file is empty", "give a file with content")
        if not plain or kind_of(self._first_bytes()):
            return memoryview(bytearray(b"".join(self.pieces())))
        self._texts.close()
        self._begin()
        try:
            with open(self.path, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
                again = os.dup(file.fileno())
        except (OSError, ValueError) as error:  # empty by now
            raise self._unreadable(error) from None
        # Beside whatever the reader does with the bytes: it takes a second a gigabyte.
        self._digesting = threading.Thread(target=self._take_digest, args=[again], daemon=True)
        self._digesting.start()
        return memoryview(mapped)

    def _take_digest(self, descriptor: int) -> None:
        # Read, not mapped: it may outlive the reader, and a file that is cut short under a
        # mapping ends the process.
        block = memoryview(bytearray(HASHED))
        try:
            with open(descriptor, "rb", buffering=0) as file:
                while size := file.readinto(block):
                    self._digest.update(block[:size])
        except OSError as error:
            self._unread = error

    def _first_bytes(self) -> bytes:
        try:
            with open(self.path, "rb") as file:
                return file.read(LONGEST_MAGIC)
        except OSError as error:
            raise self._unreadable(error) from None

    def _checked(self) -> Iterator[bytes]:
        try:
            yield from self._contents()
        except OSError as error:
            raise self._unreadable(error) from None
        except DamagedError as error:
            early = "end too early" in str(error)
            remedy = "copy the file again, it is truncated" if early else "copy the file again"
            raise FormatError(self.name, None, str(error), remedy) from None

    def _unreadable(self, error: Exception) -> FormatError:
        problem = (getattr(error, "strerror", None) or "it cannot be read").lower()
        return FormatError(self.name, None, problem, "name a file that can be read")

    def _contents(self) -> Iterator[bytes]:
        with self._open() as file:
            head = file.read(CHUNK)
            while 0 < len(head) < LONGEST_MAGIC and (more := file.read(CHUNK)):
                head += more
            kind = kind_of(head)
            # Plain text is read as blocks at once: less is copied.
            chunks = self._chunks(head, file, CHUNK if kind or self._is_live else BLOCK)
            texts = chunks if kind is None else self._inflated(kind, chunks)
            yield from texts if self._is_live else _joined(texts)

    def _chunks(self, head: bytes, file: BinaryIO, size: int) -> Iterator[bytes]:
        data = head
        while data:
            self._digest.update(data)
            yield data
            data = file.read(size)

    def _inflated(self, kind: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Decompress, as long as the text is not out of all proportion."""
        total = compressed = 0

        def counted() -> Iterator[bytes]:
            nonlocal compressed
            for chunk in chunks:
                compressed += len(chunk)
                yield chunk

        for text in decompress(kind, counted()):
            total += len(text)
            if total > RATIO_FROM and total > MAX_RATIO * compressed:
                problem = f"the file expands more than {MAX_RATIO} times"
                raise FormatError(self.name, None, problem, "decompress it yourself first")
            yield text

    def _open(self) -> contextlib.AbstractContextManager[BinaryIO]:
        if self._data is not None:
            return contextlib.nullcontext(cast(BinaryIO, io.BytesIO(self._data)))
        if self.path == "-":
            return contextlib.nullcontext(_standard_input())
        return open(self.path, "rb")


def _joined(texts: Iterator[bytes]) -> Iterator[bytes]:
    """Join short texts to blocks."""
    parts: list[bytes] = []
    size = 0
    for text in texts:
        parts.append(text)
        size += len(text)
        if size >= BLOCK:
            yield b"".join(parts)
            parts, size = [], 0
    if size:
        yield b"".join(parts)


def _ahead(blocks: Iterator[bytes]) -> Generator[bytes]:
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
        # It may be waiting for standard input; it ends with the process then. A source that
        # nobody reads to its end may be thrown away by the thread itself.
        if thread is not threading.current_thread():
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
    if target.is_dir() or os.fspath(path).endswith("/"):
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
    """Give a file to write to that takes its name only when the block ends well.

    A name that ends in .gz, .bz2, .xz or .zst is compressed.
    """
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
            with open(target, "wb") as device:
                yield device
        else:
            with _replacing(target) as file, compressing(file, path) as plain:
                yield plain
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
