"""Forests in a temporary file, where memory does not hold them."""

from __future__ import annotations

import contextlib
import errno
import itertools
import math
import os
import tempfile
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.data.candidates import FileDigest, GroupId, References
from tunesmith.data.forests import Block, ForestArrays, Forests, cut, joined
from tunesmith.errors import TunesmithError
from tunesmith.io.forests.arrow.layout import Opened, layout_of
from tunesmith.io.forests.arrow.store import StoredForests
from tunesmith.io.forests.arrow.writer import ForestRow, ForestWriter


class TemporaryForests:
    """Forests that go to a temporary file (in ``TMPDIR``) as they come.

    The file has no name and goes when nobody has the set that :meth:`finish` returns.
    """

    def __init__(self, counts: int = 0) -> None:
        with writing_to_disk():
            self._file = tempfile.TemporaryFile(prefix="tunesmith-")  # noqa: SIM115
            self._writer = ForestWriter(self._file, counts)
        # If what is to come never does: the file is closed without a warning.
        weakref.finalize(self, self._file.close)
        self._counts = counts
        self._rows = 0

    def add(self, arrays: ForestArrays) -> None:
        """Write one forest or several; ids of names and words are those of the set to come."""
        with writing_to_disk():
            for s in range(len(arrays.node_start) - 1):
                self._writer.add(ForestRow(self._rows, cut(Block(arrays, s, s + 1))))
                self._rows += 1

    def finish(
        self,
        ids: Sequence[GroupId],
        names: Sequence[str],
        vocabulary: Sequence[str],
        references: References | None = None,
        sources: Sequence[str] | None = None,
        files: Sequence[FileDigest] = (),
        rows: Ints | None = None,
    ) -> StoredForests:
        """Return the set; forest s is the one that was added as number ``rows[s]``."""
        with writing_to_disk(), self._file:
            self._writer.close()
            self._file.flush()
            file = Opened(os.dup(self._file.fileno()))
            layout = layout_of(file)
        order = np.arange(self._rows) if rows is None else rows
        return StoredForests(
            tuple(ids),
            layout.size["edge_tails"][order],
            tuple(names),
            tuple(vocabulary),
            references,
            None if sources is None else tuple(sources),
            tuple(files),
            file,
            layout,
            order,
            self._counts,
        )


def stored_like(forests: Forests, parts: Iterable[ForestArrays], counts: int = 0) -> StoredForests:
    """Put forests on disk that were made of others, part by part, in the order of the set."""
    stored = TemporaryForests(counts)
    for part in parts:
        stored.add(part)
    return stored.finish(
        forests.ids,
        forests.names,
        forests.vocabulary,
        forests.references,
        forests.sources,
        forests.files,
    )


def made_like(forests: Forests, parts: Iterable[ForestArrays], room: float = math.inf) -> Forests:
    """Return forests that were made of others, part by part, in the order of the set.

    Parameters
    ----------
    forests
        What they were made of. If those are on disk, they go there too.
    room
        So many bytes they may take, twice as many while they are laid together; if it is more,
        they go to disk.
    """
    if forests.bytes_per_edge > 0.0:
        room = 0.0
    coming = iter(parts)
    waiting: deque[ForestArrays] = deque()
    size = 0
    for part in coming:
        waiting.append(part)
        size += part.bytes
        if 2 * size > room:
            rest = itertools.chain(_emptied(waiting), coming)
            return stored_like(forests, rest, part.counts.shape[1])
    return forests.with_arrays(joined(waiting))


def _emptied(parts: deque[ForestArrays]) -> Iterator[ForestArrays]:
    while parts:
        yield parts.popleft()


@contextlib.contextmanager
def writing_to_disk() -> Iterator[None]:
    """Make an error of the system one that says what to do."""
    try:
        yield
    except OSError as error:
        problem = (error.strerror or "it cannot be written").lower()
        remedy = "set TMPDIR to a folder with more room"
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            remedy = "set TMPDIR to a folder that can be written"
        raise TunesmithError(f"{tempfile.gettempdir()}: {problem}; {remedy}") from None
