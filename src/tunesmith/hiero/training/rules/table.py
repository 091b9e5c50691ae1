"""Rules with their scores: extracted, sorted on disk, counted, and put in a trie.

Memory holds the text with its links and the grammar that comes out; what lies between, a row for
every time that a rule is extracted, is on disk.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints
from tunesmith.data.memory import budget
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.hiero.grammar.grammar import Grammar
from tunesmith.hiero.training.links import Links
from tunesmith.hiero.training.parallel_text import ParallelText
from tunesmith.hiero.training.rules.arrays import NAMES, RuleArrays, sizes_of
from tunesmith.hiero.training.rules.extract import (
    Extraction,
    PairArrays,
    Shape,
    extract,
)
from tunesmith.hiero.training.rules.lexical_weights import (
    WordTable,
    lexical_weights,
    word_table,
)
from tunesmith.hiero.training.rules.sorted_sums import SortedSums, compare_rows, written_to
from tunesmith.hiero.training.rules.source_filter import SentenceArrays, applicable
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import argsort
from tunesmith.parallel.local import map_pieces, thread_count
from tunesmith.progress import progress

#: Sentence pairs that one thread takes at a time, and after how many progress is shown.
PAIRS, SHOWN = 500, 16_000
#: Rows that are sorted at a time, however little memory there is.
LEAST = 1 << 12
#: No more memory is of use to sorting.
SORTING = 1 << 30
_31 = 31


@dataclass(frozen=True)
class RuleTable:
    """How rules are counted, and which are kept.

    Attributes
    ----------
    extraction
        Which are extracted.
    keep_best
        How many target sides a source side keeps: those that are the most probable given it.
    min_count
        How many times a rule must have been extracted.
    span_limit
        How many source words a rule may cover when it is used.
    """

    extraction: Extraction = field(default_factory=Extraction)
    keep_best: int = 30
    min_count: int = 1
    span_limit: int = 15

    def __post_init__(self) -> None:
        for name in ("keep_best", "min_count", "span_limit"):
            if getattr(self, name) < 1:
                option = name.replace("_", "-")
                raise UsageError(f"--{option} is {getattr(self, name)}; give 1 or more")

    def grammar(
        self, text: ParallelText, links: Links, sentences: SentenceArrays | None = None
    ) -> Grammar:
        """Make a grammar of aligned text.

        Where sentences are given, rules that can apply to none of them are left out at the end:
        the scores of the others are the same as without.
        """
        pairs = PairArrays(
            text.source.start,
            text.source.ids,
            text.target.start,
            text.target.ids,
            links.start,
            links.places,
        )
        table = word_table(pairs, len(text.vocabulary))
        with tempfile.TemporaryDirectory(prefix="tunesmith-") as name:
            arrays = self._arrays(Path(name), pairs, table, sentences)
        return Grammar(arrays.frozen(self.span_limit), text.vocabulary, ("X",), NAMES, text.files)

    def _arrays(
        self,
        folder: Path,
        pairs: PairArrays,
        table: WordTable,
        sentences: SentenceArrays | None,
    ) -> RuleArrays:
        shape = self.extraction.shape
        memory = min(budget(), SORTING)
        occurrences = _extract(pairs, self.extraction, folder, memory)
        writer = _RuleWriter(folder, shape)
        targets = SortedSums(shape.target + 2, 1, folder, "targets")
        done = 0
        for rows, counts in occurrences.merged(shape.source, memory // 4):
            done += len(rows)
            progress("counting rules", done, occurrences.written, "")
            self._keep(rows, counts, sentences, writer, targets)
        occurrences.delete()
        if writer.count == 0:
            raise TunesmithError(
                "no rule is left; give text whose words are aligned, a smaller --min-count, or "
                "other texts with --filter"
            )
        totals = _target_totals(targets, shape.target, writer.count, memory // 4)
        targets.delete()
        return writer.arrays(totals, table, max(1, memory // (16 * shape.width)))

    def _keep(
        self,
        rows: Ids,
        counts: Ints,
        sentences: SentenceArrays | None,
        writer: _RuleWriter,
        targets: SortedSums,
    ) -> None:
        """Take all rules of some source sides: count them, and keep those that shall be kept."""
        shape = self.extraction.shape
        rows, counts = _without_links(rows, counts, shape)
        flags = counts[:, 1] >= self.min_count
        if sentences is not None:
            fits = np.empty(len(rows), np.bool_)
            applicable(rows[:, : shape.source], sentences, fits)
            flags &= fits
        totals = np.empty(len(rows), np.int64)
        _rank(rows, counts, shape.source, self.keep_best, totals, flags)
        numbers = np.full(len(rows), -1, np.int64)
        numbers[flags] = np.arange(writer.count, writer.count + int(flags.sum()))
        keys = np.empty((len(rows), shape.target + 2), np.int32)
        _target_keys(rows, shape, numbers, keys)
        targets.add(keys, counts[:, :1])
        writer.add(rows[flags], np.column_stack([counts, totals])[flags])


class _RuleWriter:
    """The rules that are kept, in the order of their source sides, on disk.

    With each are its count, how many times it was extracted, and the count of its source side.
    """

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.shape = shape
        self.count = 0
        self.sizes = np.zeros(3, np.int64)
        self._rows, self._counts = folder / "kept.rows", folder / "kept.counts"
        self._last = np.full(shape.source, np.iinfo(np.int32).max, np.int32)

    def add(self, rows: Ids, counts: Ints) -> None:
        if len(rows):
            with written_to(self._rows) as file, written_to(self._counts) as other:
                file.write(np.ascontiguousarray(rows).data)
                other.write(np.ascontiguousarray(counts).data)
            sizes_of(rows, self.shape, self._last, self.sizes)
            self._last = rows[-1, : self.shape.source].copy()
            self.count += len(rows)

    def arrays(self, totals: Ints, table: WordTable, block: int) -> RuleArrays:
        """Make the arrays of a grammar, block by block."""
        arrays = RuleArrays(self.count, *self.sizes.tolist())
        width = self.shape.width
        for first in range(0, self.count, block):
            last = min(first + block, self.count)
            progress("scoring rules", last, self.count)
            rows = np.fromfile(
                self._rows, np.int32, (last - first) * width, offset=4 * first * width
            )
            counts = np.fromfile(self._counts, np.int64, (last - first) * 3, offset=24 * first)
            rows, counts = rows.reshape(-1, width), counts.reshape(-1, 3)
            arrays.add(
                rows, self.shape, _scores(rows, counts, totals[first:last], self.shape, table)
            )
        return arrays


def _extract(pairs: PairArrays, extraction: Extraction, folder: Path, memory: int) -> SortedSums:
    """Extract all rules of all pairs, on all cores, into sorted runs."""
    shape = extraction.shape
    occurrences = SortedSums(shape.width, 2, folder, "occurrences")
    total = len(pairs.source_start) - 1
    # Rows, counts, their order twice, and what is added up: a little more than twice the rows.
    room = max(LEAST, memory // (thread_count() * (2 * 4 * shape.width + 48)))
    spare = threading.local()
    buffers: list[_Buffer] = []

    def work(first: int) -> None:
        if not hasattr(spare, "buffer"):
            spare.buffer = _Buffer(pairs, extraction, occurrences, room)
            buffers.append(spare.buffer)
        spare.buffer.extract(first, min(first + PAIRS, total))

    for first in range(0, total, SHOWN):
        map_pieces(work, range(first, min(first + SHOWN, total), PAIRS))
        progress("extracting rules", min(first + SHOWN, total), total)
    for buffer in buffers:
        buffer.flush()
    return occurrences


class _Buffer:
    """Rows of one thread until they are sorted and written."""

    def __init__(
        self, pairs: PairArrays, extraction: Extraction, occurrences: SortedSums, room: int
    ) -> None:
        self.pairs, self.occurrences = pairs, occurrences
        self.limits, self.shape = extraction.limits, extraction.shape
        self.rows = np.empty((room, self.shape.width), np.int32)
        self.counts = np.empty((room, 2), np.int64)
        self.used = 0

    def extract(self, first: int, last: int) -> None:
        """Add the rules of some pairs; what is full is written."""
        state = np.array([first, 0, 0], np.int64)
        while True:
            rows, counts = self.rows[self.used :], self.counts[self.used :]
            at = int(state[0])
            extract(self.pairs, at, last, self.limits, self.shape, rows, counts, state)
            self.used += int(state[1])
            if state[0] == last:
                return
            self.flush()
            if state[2] > len(self.rows):  # one pair alone
                self.rows = np.empty((int(state[2]), self.shape.width), np.int32)
                self.counts = np.empty((int(state[2]), 2), np.int64)

    def flush(self) -> None:
        """Sort and write what there is."""
        if self.used:
            self.occurrences.add(self.rows[: self.used], self.counts[: self.used])
            self.used = 0


def _without_links(rows: Ids, counts: Ints, shape: Shape) -> tuple[Ids, Ints]:
    """Make one rule of those that differ in their links only, with the most frequent links."""
    out, sums = np.empty_like(rows), np.zeros_like(counts)
    used = _join(rows, counts, shape.source + shape.target, out, sums)
    return out[:used], sums[:used]


@kernel
def _join(rows: Ids, counts: Ints, sides: int, out: Ids, sums: Ints) -> int:
    used, most = 0, 0
    for k in range(rows.shape[0]):
        if k == 0 or compare_rows(rows[k, :sides], rows[k - 1, :sides]) != 0:
            used += 1
            most = 0
        if counts[k, 1] > most:  # the first of equals
            most = counts[k, 1]
            out[used - 1] = rows[k]
        sums[used - 1, 0] += counts[k, 0]
        sums[used - 1, 1] += counts[k, 1]
    return used


@kernel
def _rank(
    rows: Ids, counts: Ints, columns: int, keep_best: int, totals: Ints, flags: Flags
) -> None:
    """Write the counts of source sides, and unmark all but the best rules of each."""
    first = 0
    while first < rows.shape[0]:
        last = first + 1
        while (
            last < rows.shape[0] and compare_rows(rows[first, :columns], rows[last, :columns]) == 0
        ):
            last += 1
        totals[first:last] = counts[first:last, 0].sum()
        marked = first + np.flatnonzero(flags[first:last])
        if marked.shape[0] > keep_best:
            shares = np.empty(marked.shape[0], np.int64)
            for k in range(marked.shape[0]):
                shares[k] = -counts[marked[k], 0]
            order = argsort(shares)
            for k in range(keep_best, order.shape[0]):
                flags[marked[order[k]]] = False
        first = last


@kernel
def _target_keys(rows: Ids, shape: Shape, numbers: Ints, keys: Ids) -> None:
    """Write target sides with the number of the rule, -1 for those that are not kept.

    All nonterminals are alike: which of them is the first of the source side is a part of what
    is predicted from a target side.
    """
    for rule in range(rows.shape[0]):
        side = rows[rule, shape.source : shape.source + shape.target]
        for k in range(shape.target):
            keys[rule, k] = -1 if side[k] == -2 else side[k]
        number = numbers[rule]
        keys[rule, shape.target] = number >> _31
        keys[rule, shape.target + 1] = number & ((1 << _31) - 1) if number >= 0 else 0


def _target_totals(targets: SortedSums, columns: int, rules: int, memory: int) -> Ints:
    """Return the count of the target side of each rule that is kept."""
    totals = np.zeros(rules, np.int64)
    done = 0
    for keys, counts in targets.merged(columns, memory):
        done += len(keys)
        progress("counting target sides", done, targets.written)
        _total(keys, counts, columns, totals)
    return totals


@kernel
def _total(keys: Ids, counts: Ints, columns: int, totals: Ints) -> None:
    first = 0
    while first < keys.shape[0]:
        last, total = first, 0
        while (
            last < keys.shape[0] and compare_rows(keys[first, :columns], keys[last, :columns]) == 0
        ):
            total += counts[last, 0]
            last += 1
        for k in range(first, last):
            if keys[k, columns] >= 0:
                totals[(np.int64(keys[k, columns]) << _31) | keys[k, columns + 1]] = total
        first = last


def _scores(rows: Ids, counts: Ints, targets: Ints, shape: Shape, table: WordTable) -> Floats:
    """Return the features of rules, in the order of ``NAMES``."""
    scores = np.zeros((len(rows), len(NAMES)))
    scores[:, 0] = np.log10(counts[:, 0] / counts[:, 2])
    scores[:, 1] = np.log10(counts[:, 0] / targets)
    scores[:, 4] = counts[:, 1] == 1
    edges = np.linspace(0, len(rows), 4 * thread_count() + 1).astype(int).tolist()

    def work(piece: tuple[int, int]) -> None:
        part = slice(*piece)
        lexical_weights(rows[part], shape, table, scores[part, 2:4])

    map_pieces(work, list(itertools.pairwise(edges)))
    return scores
