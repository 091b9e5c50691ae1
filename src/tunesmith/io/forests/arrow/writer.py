"""Forests to disk as they come, in record batches of a few megabytes.

A row is a forest, with all numbers counted within it. The names and words that were not known
before are in the row that first needs them, so that nothing has to be known in advance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Ids
from tunesmith.data.candidates import GroupId
from tunesmith.data.forests import ForestArrays, Forests, cut
from tunesmith.data.rows import offsets
from tunesmith.errors import TunesmithError
from tunesmith.io.forests.arrow.layout import NUMBERS, TEXTS, forest_schema
from tunesmith.io.tables.arrow import arrow

#: Bytes of a record batch; one with a larger forest is larger.
BATCH = 4 << 20


@dataclass(frozen=True)
class ForestRow:
    """A forest as it is written: its arrays, which begin with 0, and what is new in it.

    ``names`` and ``words`` follow those of the rows before; ids count through all of them.
    """

    id: GroupId
    arrays: ForestArrays
    names: Sequence[str] = ()
    words: Sequence[str] = ()
    references: Sequence[Ids] = ()
    source: str | None = None


class ForestWriter:
    """Writes forests to a file that is open, a record batch at a time.

    Parameters
    ----------
    file
        Where to.
    counts
        How many statistics each hyperedge has.
    """

    def __init__(self, file: BinaryIO, counts: int = 0) -> None:
        self._pa = arrow()
        self._schema = forest_schema(self._pa, counts)
        self._counts = counts
        self._writer = self._pa.ipc.new_file(file, self._schema)
        self._rows: list[ForestRow] = []
        self._held = 0

    def add(self, row: ForestRow) -> None:
        """Write a forest."""
        if row.arrays.counts.shape[1] != self._counts:
            raise TunesmithError("forests have different numbers of counts; count them alike")
        self._rows.append(row)
        self._held += row.arrays.bytes
        if self._held >= BATCH:
            self._flush()

    def close(self) -> None:
        """Write what is left and the end of the file."""
        if self._rows:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        rows, self._rows, self._held = self._rows, [], 0
        pa = self._pa
        texts: dict[str, list[list[str]]] = {
            "new_names": [list(row.names) for row in rows],
            "new_words": [list(row.words) for row in rows],
            "source": [[] if row.source is None else [row.source] for row in rows],
        }
        parts = [_parts(row.arrays) for row in rows]
        columns = [
            pa.array([str(row.id) for row in rows], pa.large_string()),
            pa.array([int(isinstance(row.id, int)) for row in rows], pa.int8()),
            *(_lists([part[name] for part in parts], kind, pa) for name, kind in NUMBERS.items()),
            *(pa.array(texts[name], pa.large_list(pa.large_string())) for name in TEXTS),
            _references([row.references for row in rows], pa),
        ]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))


def _parts(a: ForestArrays) -> dict[str, NDArray[Any]]:
    """Return the columns of one forest."""
    return {
        "node_edges": np.diff(a.edge_start),
        "covered": a.covered,
        "edge_tails": np.diff(a.tail_start),
        "tails": a.tails,
        "edge_features": np.diff(a.feature_start),
        "feature_ids": a.feature_ids,
        "feature_values": a.feature_values,
        "edge_words": np.diff(a.word_start),
        "words": a.words,
        "counts": a.counts.reshape(-1),
    }


def _lists(parts: Sequence[NDArray[Any]], kind: np.dtype[Any], pa: Any) -> Any:
    values = np.concatenate([np.zeros(0, kind), *parts]).astype(kind, copy=False)
    return pa.LargeListArray.from_arrays(
        pa.array(offsets([len(part) for part in parts])), pa.array(values)
    )


def _references(rows: Sequence[Sequence[Ids]], pa: Any) -> Any:
    inner = _lists([text for row in rows for text in row], np.dtype(np.int32), pa)
    return pa.LargeListArray.from_arrays(pa.array(offsets([len(row) for row in rows])), inner)


def rows_of(forests: Forests) -> Iterator[ForestRow]:
    """Yield a set's forests as rows, one in memory at a time; the first has all names."""
    references = forests.references
    for s, i in enumerate(forests.ids):
        block = forests.block(s, s + 1)
        span = range(0) if references is None else range(*references.group_start[s : s + 2])
        yield ForestRow(
            i,
            cut(block),
            forests.names if s == 0 else (),
            forests.vocabulary if s == 0 else (),
            [references.texts[r] for r in span] if references is not None else (),
            None if forests.sources is None else forests.sources[s],
        )
