"""JSON lines of groups by kernels, some lines at a time, on all threads.

Lines are read here where all their candidates have the same keys in the same order, and numbers
where there should be some. All else is for Python's reader, which also finds the words for what is
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Bytes, Flags, Floats, Ints
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import GroupId
from tunesmith.io.collector import Collector
from tunesmith.io.tables.json_cells import numbers_of, whole_number
from tunesmith.io.text.json_kernels import (
    CANDIDATES,
    ESCAPED,
    FALSE,
    FEATURES,
    IN_FEATURES,
    IN_METRICS,
    ITEM,
    LISTED,
    METRICS,
    NAMED,
    NUMBER,
    OBJECT,
    PLACES,
    REFERENCES,
    SLOW,
    TEXT,
    TOP,
    TRUE,
    JsonEntries,
    json_entries,
    unescaped,
)
from tunesmith.io.text.json_lines import LineBlock
from tunesmith.io.text.spans import Spans, Tokens, tokens_of

#: Whether a value is a text, by its kind.
IS_TEXT = np.isin(np.arange(OBJECT + 1), (TEXT, ESCAPED))


@dataclass(frozen=True)
class Groups:
    """The groups of some lines.

    Attributes
    ----------
    ids
        Of each group.
    lines : int64[S]
        The number of each one's line.
    sizes, reference_counts : int64[S]
        How many candidates and references each has.
    features, metrics
        Of all candidates, by name.
    totals : float64[N]
        The scores of candidates, NaN where there is none.
    spans
        The texts of a group's candidates, then its references.
    tokens
        The same in tokens.
    sources
        Of each group, None where it has none.
    """

    ids: list[GroupId]
    lines: Ints
    sizes: Ints
    reference_counts: Ints
    features: dict[str, Floats]
    metrics: dict[str, Floats]
    totals: Floats
    spans: Spans
    tokens: Tokens
    sources: list[str | None]

    def add_to(self, collector: Collector, path: str) -> None:
        """Hand the groups over."""
        names = list(filter(collector.reading.is_feature, self.features))
        columns = collector.columns(names)
        every = self.tokens.renumbered(collector.vocabulary)
        # Of each group first the candidates, then the references.
        counts = np.stack([self.sizes, self.reference_counts], 1).reshape(-1)
        is_candidate = np.repeat(np.tile([True, False], len(self.ids)), counts)
        texts = every.take(np.flatnonzero(is_candidate))
        odd = np.flatnonzero(self.tokens.odd[is_candidate]).tolist()
        rows = np.flatnonzero(is_candidate)
        count = len(rows)
        none = np.zeros(0, np.int64)
        collector.add_piece(
            Piece(
                np.repeat(collector.groups(self.ids), self.sizes),
                texts,
                columns,
                np.array([self.features[name] for name in names]).reshape(len(names), count),
                none,
                none,
                np.zeros(0),
                columns,
                np.full(len(columns), count),
                self.metrics,
                f"{path}:{self.lines[0]}",
                {row: self.spans[int(rows[row])] or "" for row in odd},
                totals=self.totals if collector.keep_rows else None,
            )
        )
        ends = np.cumsum(counts)[1::2].tolist()
        columns_of_groups = (
            self.lines.tolist(),
            self.reference_counts.tolist(),
            ends,
            self.sources,
        )
        for group, line, references, end, source in zip(self.ids, *columns_of_groups, strict=True):
            collector.note_place(group, (path, line))
            if references:
                tokens = [every[k] for k in range(end - references, end)]
                collector.add_references(group, tokens, f"{path}:{line}")
            if source is not None:
                collector.add_source(group, source)


def groups_of(lines: LineBlock) -> Groups | None:
    """Read some lines; None if they are for Python's reader."""
    read = json_entries(lines.data, lines.first)
    if read is None or not len(read.lines) or (np.diff(read.items) == 0).any():
        return None
    place = read.keys & ((1 << PLACES) - 1)
    is_listed = place == LISTED
    candidates = _Table.of(read, (place != TOP) & ~is_listed, int(read.items[-1]))
    top = _TopValues.of(read, place == TOP)
    if candidates is None or top is None:
        return None
    features = candidates.numbers(IN_FEATURES)
    metrics = candidates.numbers(IN_METRICS)
    texts = candidates.column("text", ITEM)
    if features is None or metrics is None or not candidates.has_features():
        return None
    if texts is not None and not IS_TEXT[candidates.kinds[:, texts]].all():
        return None
    line_of = np.searchsorted(read.start, np.flatnonzero(is_listed), "right") - 1
    reference_counts = np.bincount(line_of, minlength=len(read.lines))
    spans = _texts(read, candidates, texts, np.flatnonzero(is_listed), reference_counts)
    totals = candidates.totals()
    if spans is None or totals is None:
        return None
    return Groups(
        top.ids,
        read.lines,
        np.diff(read.items),
        reference_counts,
        {name: values + 0.0 for name, values in features.items()},  # no zero has a sign
        metrics,
        totals,
        spans,
        tokens_of(spans),
        top.sources,
    )


def _texts(
    read: JsonEntries,
    candidates: _Table,
    column: int | None,
    references: Ints,
    reference_counts: Ints,
) -> Spans | None:
    """Return the texts of each group's candidates and then its references; None if one is odd."""
    sizes = np.diff(read.items)
    total = len(candidates.entries)
    counts = np.stack([sizes, reference_counts], 1).reshape(-1)
    is_candidate = np.repeat(np.tile([True, False], len(sizes)), counts)
    entries = np.empty(total + len(references), np.int64)
    entries[~is_candidate] = references
    entries[is_candidate] = 0 if column is None else candidates.entries[:, column]
    spans = read.spans.take(entries)
    if column is None:
        spans = Spans(spans.data, spans.lo, np.where(is_candidate, spans.lo, spans.hi))
    escaped = read.kinds[entries] == ESCAPED
    return unescaped(spans, escaped)


@dataclass(frozen=True)
class _Table:
    """The values of candidates that all have the same keys in the same order.

    Attributes
    ----------
    read
        All that was read.
    keys
        Of each column.
    entries : int64[n, c]
        Where the values are in it.
    kinds : uint8[n, c]
        Their kinds.
    """

    read: JsonEntries
    keys: list[int]
    entries: Ints
    kinds: Bytes

    @classmethod
    def of(cls, read: JsonEntries, is_in_candidate: Flags, count: int) -> _Table | None:
        """Find the columns; None if candidates have different keys."""
        entries = np.flatnonzero(is_in_candidate)
        if not len(entries) or len(entries) % count:
            return None
        width = len(entries) // count
        rows = entries.reshape(count, width)
        keys = read.keys[rows]
        # A candidate may have as many keys as two have, and another none.
        if (keys != keys[0]).any() or len(set(keys[0].tolist())) < width:
            return None
        return cls(read, keys[0].tolist(), rows, read.kinds[rows])

    def column(self, name: str, place: int) -> int | None:
        """Return the column of a key; None if there is none."""
        number = self.read.names.index(name) if name in self.read.names else -1
        key = (number << PLACES) + place
        return self.keys.index(key) if number >= 0 and key in self.keys else None

    def has_features(self) -> bool:
        """Tell whether all have features; and metrics, if they have any, as objects."""
        columns = [self.column(NAMED[name], ITEM) for name in (FEATURES, METRICS)]
        are_objects = all((self.kinds[:, k] == OBJECT).all() for k in columns if k is not None)
        return columns[0] is not None and are_objects

    def numbers(self, place: int) -> dict[str, Floats] | None:
        """Return the numbers that stand in an object of candidates; None if one is no number."""
        columns = [k for k, key in enumerate(self.keys) if key & ((1 << PLACES) - 1) == place]
        numbers: dict[str, Floats] = {}
        for k in columns:
            values = self._values(k, self.kinds[:, k])
            if values is None or not np.isfinite(values).all():
                return None
            numbers[self.read.names[self.keys[k] >> PLACES]] = values
        return numbers

    def _values(self, column: int, kinds: Bytes) -> Floats | None:
        entries, read = self.entries[:, column], self.read
        return numbers_of(kinds, read.values[entries], lambda rows: read.spans.take(entries[rows]))

    def totals(self) -> Floats | None:
        """Return the scores of candidates, NaN where there is none; None if one is too long."""
        column = self.column("score", ITEM)
        if column is None:
            return np.full(len(self.entries), np.nan)
        kinds = self.kinds[:, column]
        is_score = (kinds <= SLOW) | (kinds == TRUE) | (kinds == FALSE)
        values = self._values(column, np.where(kinds == SLOW, kinds, np.uint8(NUMBER)))
        if values is None:
            return None
        return np.where(is_score & np.isfinite(values), values, np.nan)


@dataclass(frozen=True)
class _TopValues:
    """What lines say of their groups.

    Attributes
    ----------
    ids, sources
        Of each group; a source may be None.
    """

    ids: list[GroupId]
    sources: list[str | None]

    @classmethod
    def of(cls, read: JsonEntries, is_top: Flags) -> _TopValues | None:
        """Look at all keys; None where they are not as they should be."""
        entries = np.flatnonzero(is_top)
        numbers = (read.keys[entries] >> PLACES).tolist()
        line_of = (np.searchsorted(read.start, entries, "right") - 1).tolist()
        ids: list[GroupId | None] = [None] * len(read.lines)
        sources: list[str | None] = [None] * len(read.lines)
        for entry, number, line in zip(entries.tolist(), numbers, line_of, strict=True):
            name, kind = read.names[number], int(read.kinds[entry])
            if number in {CANDIDATES, REFERENCES}:  # and no list
                return None
            if name in {"id", "source"} and kind == ESCAPED:
                return None
            written = read.spans[entry] or ""
            if name == "id":
                ids[line] = written if kind == TEXT else whole_number(written, kind)
            elif name == "source":
                if kind != TEXT:
                    return None
                sources[line] = written
        if any(group is None for group in ids):
            return None
        return cls([group for group in ids if group is not None], sources)
