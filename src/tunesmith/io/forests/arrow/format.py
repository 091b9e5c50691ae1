"""Our own files of forests: Arrow, with the metadata ``tunesmith.schema = forests/1``.

A row is a forest, and its cells are lists: how many hyperedges each node has, how many tails,
features and words each hyperedge, and these themselves, all numbered within the forest; see
``forest_layout``. Unlike our files of candidates, which are one record batch, these are many of
a few megabytes: sets of forests may be larger than memory, so they are written as a stream and
read in blocks.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import numpy as np

from tunesmith.data.forests import Forests, cut
from tunesmith.data.raw_forest import RawForest
from tunesmith.errors import FormatError
from tunesmith.io.forests.arrow.layout import SCHEMA, SCHEMA_KEY
from tunesmith.io.forests.arrow.store import StoredForests, open_forests
from tunesmith.io.forests.arrow.temporary import writing_to_disk
from tunesmith.io.forests.arrow.writer import ForestWriter, rows_of
from tunesmith.io.forests.base import FOREST_FORMATS, ForestFormat, Numbering
from tunesmith.io.streams import Source, writing
from tunesmith.io.tables.arrow import arrow
from tunesmith.io.tables.arrow_limits import FILE_MAGIC


@FOREST_FORMATS.register("arrow")
class ArrowForests(ForestFormat):
    """Arrow: our own files of forests, which may be larger than memory."""

    suffixes = (".arrow",)
    holds = frozenset({"references", "sources"})

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether it is an Arrow file of forests: what is in it stands at its beginning."""
        return head.startswith(FILE_MAGIC) and SCHEMA in head and SCHEMA_KEY in head

    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield the forests, with the numbers of names and words changed."""
        stored = opened(source)
        by_name = np.array([names[text] for text in stored.names], np.int32)
        by_word = np.array([words[text] for text in stored.vocabulary], np.int32)
        stored_references = stored.references
        for s, i in enumerate(stored.ids):
            arrays = cut(stored.block(s, s + 1))
            nodes = int(arrays.node_start[1])
            span = (
                range(0)
                if stored_references is None
                else range(*stored_references.group_start[s : s + 2])
            )
            side = arrays.words
            yield RawForest(
                i,
                nodes,
                nodes - 1,
                np.repeat(np.arange(nodes), np.diff(arrays.edge_start)),
                arrays.tail_start,
                arrays.tails.astype(np.int64),
                arrays.feature_start,
                by_name[arrays.feature_ids],
                arrays.feature_values,
                arrays.word_start,
                np.where(side < 0, side, by_word[np.maximum(side, 0)]) if len(by_word) else side,
                arrays.covered,
                source=None if stored.sources is None else stored.sources[s],
                references=()
                if stored_references is None
                else tuple(by_word[stored_references.texts[r]] for r in span),
            )

    def write(self, forests: Forests, path: str | os.PathLike[str]) -> None:
        """Write a file, with one forest in memory at a time."""
        arrow()  # or an empty file would be there
        arrays = forests.block(0, min(1, forests.groups)).arrays
        with writing(path) as file:
            writer = ForestWriter(file, arrays.counts.shape[1])
            for row in rows_of(forests):
                writer.add(row)
            writer.close()


def opened(source: Source) -> StoredForests:
    """Open a file as it is; one that is compressed, or no file, is copied to a temporary one.

    It is read once from beginning to end, for its digest.
    """
    arrow()
    if not source.head():
        raise FormatError(source.name, None, "the file is empty", "give a file with content")
    descriptor = source.descriptor()
    if descriptor is None:
        with writing_to_disk(), tempfile.TemporaryFile(prefix="tunesmith-") as file:
            for piece in source.pieces():
                file.write(piece)
            file.flush()
            descriptor = os.dup(file.fileno())
    else:
        for _ in source.pieces():
            pass
    return open_forests(descriptor, source.name)
