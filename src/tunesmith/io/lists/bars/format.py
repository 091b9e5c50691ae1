"""Lists with ``|||`` between their fields: Moses and those who write alike.

The parser takes ``Name= v v ...``, sparse ``name= value`` and ``name=value`` in one line, in
any order; what follows the features (score, alignment, words) is passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.memory import own_pages
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.bars.kernels import (
    BAD_ID,
    COLUMNS,
    DONE,
    GOT,
    HI,
    LINES,
    LO,
    MISSING_FIELD,
    NAME_TWICE,
    NAMES_FULL,
    NO_NAME,
    NO_VALUE,
    PAIRS,
    SLOW,
    SLOW_FULL,
    TOKENS,
    VOCABULARY_FULL,
    WANTED,
    WRONG_WIDTH,
    parse_lines,
    split_pairs,
)
from tunesmith.io.lists.base import CandidateFormat
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan, number_error, shortest
from tunesmith.io.text.tokens import Interner
from tunesmith.io.text.utf8 import check_utf8
from tunesmith.io.values import check_one_line

#: What stands between fields.
BARS = "|||"
_BARS = re.compile(rb"(?<!\S)\|\|\|(?!\S)")
#: Ids have 18 digits at most.
LARGEST_ID = 10**18
#: Numbers for the slow way before the kernel hands them over.
SLOW_ROOM = 1 << 14


class BarsFormat(CandidateFormat):
    """What the formats with ``|||`` between their fields share.

    A format says how many fields stand between the text and the features, and how a feature
    and a line are written.
    """

    #: Fields between the text and the features.
    skipped: ClassVar[int] = 0
    #: Whether the score is the first field after the text.
    score_first: ClassVar[bool] = False

    def read(self, source: Source, collector: Collector) -> None:
        """Add all candidates to the collector."""
        source.check_line_ends()
        skipped = self.fields_skipped(source.head())
        parser = _Parser(source.name, collector, skipped)
        if collector.keep_rows:
            parser.score = 2 if self.score_first else 3 + skipped
        before = block = b""
        for block in source.blocks():
            check_utf8(block, source.name, parser.line)
            parser.parse(block)
            if block.endswith(b"\n"):
                before = block
        _check_end(before, block, source.name, parser.line)
        if parser.empty:
            raise FormatError(
                source.name, None, "there is no candidate in it", "give an n-best list"
            )

    def fields_skipped(self, head: bytes) -> int:
        """Return how many fields stand between the text and the features of a file."""
        return self.skipped

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Write candidates in an order of one's own, with their model scores."""
        features = candidates.features
        by_row = features.sparse.tocsr()
        group = np.repeat(np.arange(candidates.groups), np.diff(candidates.start))
        _check_writable(candidates)
        for i in order:
            values = features.dense[:, i].tolist()
            parts = [
                self.feature(feature, shortest(value))
                for feature, value in zip(features.dense_names, values, strict=True)
            ]
            parts.extend(
                self.feature(features.sparse_names[by_row.indices[k]], shortest(by_row.data[k]))
                for k in range(by_row.indptr[i], by_row.indptr[i + 1])
            )
            known = not math.isnan(scores[i])
            line = self.line(
                str(candidates.ids[group[i]]),
                candidates.text(i),
                " ".join(parts),
                shortest(scores[i]) if known or self.score_first else "",
            )
            yield line if known else line.removesuffix(f" {BARS} ")

    def feature(self, name: str, value: str) -> str:
        """Return a feature as it is written."""
        return f"{name}={value}"

    def line(self, group: str, text: str, features: str, score: str) -> str:
        """Return a line as it is written."""
        return f"{group} ||| {text} ||| {features} ||| {score}"


def _check_writable(candidates: CandidateSet) -> None:
    """Raise an error if what is written would not be read back."""
    check_one_line(candidates)
    for name in candidates.features.names:
        if any(c.isspace() for c in name) or name in {"", BARS}:
            raise UsageError(f"a feature cannot be called '{name}' here; write jsonl")
    for i in candidates.ids:
        if not isinstance(i, int) or not 0 <= i < LARGEST_ID:
            raise UsageError(f"the id '{i}' is not a whole number of 18 digits; write jsonl")
    if BARS in candidates.vocabulary and candidates.vocabulary.index(BARS) in candidates.texts.ids:
        raise UsageError(f"a text holds '{BARS}'; write jsonl")


def _check_end(before: bytes, last: bytes, name: str, line: int) -> None:
    """Raise an error if the last line is cut off: it has no end, and fewer fields than others."""
    if last.endswith(b"\n") or not last.decode().strip():
        return
    usual = before.rstrip().rpartition(b"\n")[2]
    fields, usual_fields = (text.split().count(BARS.encode()) + 1 for text in (last, usual))
    if fields < usual_fields:
        problem = (
            f"the last line has no end, and {fields} fields where the one before has {usual_fields}"
        )
        raise FormatError(name, line, problem, "copy the file again, it is truncated")


class EditedSource(Source):
    """Another source with its blocks of lines edited, for variants of a format."""

    def __init__(self, source: Source, edit: Callable[[bytes], bytes]) -> None:
        self.name = source.name
        self._source = source
        self._edit = edit

    def head(self) -> bytes:
        """Return the first bytes, as they are."""
        return self._source.head()

    def blocks(self, size: int = 0) -> Iterator[bytes]:
        """Yield blocks of lines."""
        return map(self._edit, self._source.blocks(size))


def first_fields(head: bytes) -> list[list[bytes]]:
    """Return the tokens of each field of the first line, if its first field is a number."""
    line = head.lstrip().split(b"\n", 1)[0]
    if not line[:1].isdigit():  # other lines may be very long
        return []
    fields: list[list[bytes]] = [[]]
    for token in line.split():
        if token == BARS.encode():
            fields.append([])
        else:
            fields[-1].append(token)
    if len(fields) < 3:  # bars without white space around them, for the reader to refuse
        fields = [field.split() for field in line.split(BARS.encode())]
    if len(fields) < 3 or len(fields[0]) != 1 or not fields[0][0].isdigit():
        return []
    return fields


class _Parser:
    """Runs the kernel over the blocks of one file and keeps its tables."""

    def __init__(self, name: str, collector: Collector, skipped: int) -> None:
        self.name = name
        self.collector = collector
        self.skipped = skipped
        self.line = 1
        self.empty = True
        self.features = Interner(1 << 8)
        self.first_column = np.zeros(1 << 8, np.int64)
        self.width = np.full(1 << 8, -1, np.int64)
        self.seen = np.zeros(1 << 8, np.int64)
        # The name that last came after each; at 0 the one that came first in a line.
        self.follower = np.full((1 << 8) + 1, -1, np.int64)
        self.info = np.zeros(11, np.int64)
        # Which field is the score, if it is asked for.
        self.score: int | None = None
        # How many names have columns of the collector, and which ones.
        self.named = 0
        self.known = np.zeros(0, np.int64)
        self._room(0)

    def _room(self, size: int) -> None:
        tokens = size // 2 + 1
        self.ids = np.empty(tokens, np.int64)
        self.text_start = np.zeros(tokens + 1, np.int64)
        self.tokens = np.empty(tokens, np.int32)
        self.pair_start = np.zeros(tokens + 1, np.int64)
        self.columns = np.empty(tokens, np.int32)
        self.values = np.empty(tokens, np.float64)
        self.slow = np.empty((SLOW_ROOM, 3), np.int64)

    def parse(self, block: bytes) -> None:
        """Turn a block of lines into a piece."""
        if len(block) > 2 * (len(self.tokens) - 1):
            self._room(len(block))
        data = np.frombuffer(block, np.uint8)
        info = self.info
        info[:COLUMNS] = 0
        status = -1
        while status != DONE:
            status = parse_lines(
                data,
                self.skipped,
                info,
                self.ids,
                self.text_start,
                self.tokens,
                self.pair_start,
                self.columns,
                self.values,
                self.slow,
                self.first_column,
                self.width,
                self.seen,
                self.follower,
                *self.collector.vocabulary.tables,
                *self.features.tables,
            )
            self._resolve(block)
            if status == VOCABULARY_FULL:
                self.collector.vocabulary.grow(len(block))
            elif status == NAMES_FULL:
                self._grow_names(len(block))
            elif status == SLOW_FULL:
                self.slow = np.empty((2 * len(self.slow), 3), np.int64)
            elif status != DONE:
                raise self._error(status, block)
        if info[LINES]:
            self.collector.add_piece(self._piece(block))
            self.empty = False
        self.line += block.count(b"\n")

    def _grow_names(self, room: int) -> None:
        self.features.grow(room)
        more = self.features.capacity - len(self.width)
        self.first_column = np.concatenate([self.first_column, np.zeros(more, np.int64)])
        self.width = np.concatenate([self.width, np.full(more, -1, np.int64)])
        self.seen = np.concatenate([self.seen, np.zeros(more, np.int64)])
        self.follower = np.concatenate([self.follower, np.full(more, -1, np.int64)])

    def _resolve(self, block: bytes) -> None:
        """Read the numbers that the kernel left to Python."""
        for pair, lo, hi in self.slow[: self.info[SLOW]].tolist():
            value = float_or_nan(block[lo:hi])
            if math.isnan(value):
                line = self.line + block.count(b"\n", 0, lo)
                raise number_error(block[lo:hi], self.name, line, "a feature value")
            self.values[pair] = value
        self.info[SLOW] = 0

    def _piece(self, block: bytes) -> Piece:
        info = self.info
        n, pairs = int(info[LINES]), int(info[PAIRS])
        names = self._column_names(block)
        columns = self.columns[:pairs]
        given_here = np.bincount(columns, minlength=len(names))
        dense_here = np.flatnonzero(given_here == n)
        row_of = np.full(len(names), -1, np.int64)
        row_of[dense_here] = np.arange(len(dense_here))
        dense = own_pages((len(dense_here), n), np.float64)
        rest = pairs - n * len(dense_here)
        rows, sparse, values = np.empty(rest, np.int64), np.empty(rest, np.int64), np.empty(rest)
        count = split_pairs(
            self.pair_start[: n + 1], columns, self.values, row_of, dense, rows, sparse, values
        )
        there = np.flatnonzero(given_here)
        distinct, group = _numbered(self.ids[:n])
        tokens = own_pages((int(info[TOKENS]),), np.int32)
        tokens[:] = self.tokens[: info[TOKENS]]
        return Piece(
            self.collector.groups(distinct)[group],
            Texts(self.text_start[: n + 1].copy(), tokens),
            names[dense_here],
            dense,
            rows[:count].copy(),
            names[sparse[:count]],
            values[:count].copy(),
            names[there],
            given_here[there],
            origin=self.name,
            totals=None if self.score is None else _scores(block, self.score),
        )

    def _column_names(self, block: bytes) -> Ints:
        """Return the collector's column of each column of this file."""
        done = self.named
        if done < len(self.features):
            names = []
            for k, name in enumerate(self.features.words(done), done):
                if "|||" in name:
                    line = self.line + block.count(b"\n", 0, block.find(name.encode()))
                    problem = f"'{name}' stands where the name of a feature should"
                    raise FormatError(self.name, line, problem, "write spaces on both sides of |||")
                width = int(self.width[k])
                self.collector.check_width(name, width, self.name)
                names += [name] if width == 1 else [f"{name}_{j + 1}" for j in range(width)]
            self.named = len(self.features)
            self.known = np.concatenate([self.known, self.collector.columns(names)])
            if len(np.unique(self.known)) < len(self.known):
                problem = f"two features are both called '{self._twice()}'"
                raise FormatError(self.name, None, problem, "rename one of them")
        return self.known

    def _twice(self) -> str:
        columns, counts = np.unique(self.known, return_counts=True)
        return self.collector.column_name(int(columns[np.argmax(counts)]))

    def _error(self, status: int, block: bytes) -> FormatError:
        info = self.info
        shown = block[info[LO] : info[HI]].decode("utf-8", "replace")
        line = self.line + block.count(b"\n", 0, int(info[LO]))
        problem, remedy = {
            BAD_ID: (
                f"the id is '{shown}', not a whole number",
                "begin lines with a sentence's id",
            ),
            MISSING_FIELD: (
                f"there are fewer than {('three', 'four', 'five')[self.skipped]} fields",
                "write id ||| text ||| features, with spaces around the bars, or name the --format",
            ),
            NO_NAME: (f"'{shown}' stands before any feature name", "write Name= before its values"),
            NO_VALUE: (f"feature '{shown}' has no value", "write its values after the name"),
            WRONG_WIDTH: (
                f"feature '{shown}' has {info[GOT]} values here and {info[WANTED]} before",
                "give it the same number of values everywhere",
            ),
            NAME_TWICE: (f"feature '{shown}' is given twice", "give it once a candidate"),
        }[status]
        return FormatError(self.name, line, problem, remedy)


def _scores(block: bytes, field: int) -> Floats:
    """Return the scores in a field of all lines that are not empty, NaN where there is none."""
    scores = []
    for line in block.split(b"\n"):
        if line.strip():
            fields = _BARS.split(line.strip())
            scores.append(float_or_nan(fields[field].strip()) if len(fields) > field else math.nan)
    values = np.array(scores, np.float64)
    return np.where(np.isfinite(values), values, math.nan)


def _numbered(ids: Ints) -> tuple[list[int], Ints]:
    """Return the distinct ids in order of appearance, and the index of each among them."""
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order].tolist(), rank[inverse]
