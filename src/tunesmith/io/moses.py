"""Moses n-best lists: ``id ||| text ||| Name= v v ... ||| score``.

A name with several values, sparse ``name= value`` and ``name=value`` may stand in one
line in any order; what follows the features (score, alignment, words) is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ids, Ints, Number, Words
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.memory import own_pages
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.formats import FORMATS
from tunesmith.io.numbers import number_error, parse_decimal, parse_plain, parse_slowly, shortest
from tunesmith.io.tokens import CLASS, SHORT, Interner, intern, next_key, slot_of, space_at
from tunesmith.io.utf8 import check_utf8
from tunesmith.kernels import kernel

# How the kernel ended.
DONE, VOCABULARY_FULL, NAMES_FULL, SLOW_FULL = 0, 1, 2, 3
BAD_ID, MISSING_FIELD, NO_NAME, NO_VALUE, WRONG_WIDTH, NAME_TWICE = 10, 11, 12, 13, 14, 15
# What the kernel writes down: where it is, how much it has, what it stumbled over.
POSITION, LINES, TOKENS, PAIRS, SLOW, COLUMNS, STAMP, LO, HI, WANTED, GOT = range(11)

#: Numbers for the slow way before the kernel hands them over.
SLOW_ROOM = 1 << 14


@FORMATS.register("moses")
class MosesFormat:
    """n-best lists of Moses."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line looks like this format."""
        line = head.split(b"\n", 1)[0]
        return line.count(b"|||") >= 2 and line.split(b"|||")[0].strip().isdigit()

    def read(self, blocks: Iterable[bytes], name: str, collector: Collector) -> None:
        """Add all candidates to the collector."""
        parser = _Parser(name, collector)
        for block in blocks:
            check_utf8(block, name, parser.line)
            parser.parse(block)
        if parser.empty:
            raise FormatError(name, None, "there is no candidate in it", "give an n-best list")

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Write candidates in an order of one's own, with their model scores."""
        features = candidates.features
        by_row = features.sparse.tocsr()
        group = np.repeat(np.arange(candidates.groups), np.diff(candidates.start))
        for i in order:
            parts = [
                f"{feature}= {shortest(value)}"
                for feature, value in zip(features.dense_names, features.dense[:, i], strict=True)
            ]
            parts.extend(
                f"{features.sparse_names[by_row.indices[k]]}= {shortest(by_row.data[k])}"
                for k in range(by_row.indptr[i], by_row.indptr[i + 1])
            )
            name = candidates.ids[group[i]]
            yield f"{name} ||| {candidates.text(i)} ||| {' '.join(parts)} ||| {shortest(scores[i])}"


class _Parser:
    """Runs the kernel over the blocks of one file and keeps its tables."""

    def __init__(self, name: str, collector: Collector) -> None:
        self.name = name
        self.collector = collector
        self.line = 1
        self.empty = True
        self.features = Interner(1 << 8)
        self.first_column = np.zeros(1 << 8, np.int64)
        self.width = np.full(1 << 8, -1, np.int64)
        self.seen = np.zeros(1 << 8, np.int64)
        # The name that last came after each; at 0 the one that came first in a line.
        self.follower = np.full((1 << 8) + 1, -1, np.int64)
        self.info = np.zeros(11, np.int64)
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
            status = _parse(
                data,
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
            elif status not in {DONE, SLOW_FULL}:
                raise self._error(status, block)
        if info[LINES]:
            self.collector.pieces.append(self._piece())
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
            value = parse_slowly(block[lo:hi])
            if math.isnan(value):
                line = self.line + block.count(b"\n", 0, lo)
                raise number_error(block[lo:hi], self.name, line, "a feature value")
            self.values[pair] = value
        self.info[SLOW] = 0

    def _piece(self) -> Piece:
        info = self.info
        n, pairs = int(info[LINES]), int(info[PAIRS])
        names = self._column_names()
        columns = self.columns[:pairs]
        given_here = np.bincount(columns, minlength=len(names))
        dense_here = np.flatnonzero(given_here == n)
        row_of = np.full(len(names), -1, np.int64)
        row_of[dense_here] = np.arange(len(dense_here))
        dense = own_pages((len(dense_here), n), np.float64)
        rest = pairs - n * len(dense_here)
        rows, sparse, values = np.empty(rest, np.int64), np.empty(rest, np.int64), np.empty(rest)
        kept = _split(
            self.pair_start[: n + 1], columns, self.values, row_of, dense, rows, sparse, values
        )
        given = np.zeros(int(names.max(initial=-1)) + 1, np.int64)
        given[names] = given_here
        distinct, group = _numbered(self.ids[:n])
        tokens = own_pages((int(info[TOKENS]),), np.int32)
        tokens[:] = self.tokens[: info[TOKENS]]
        return Piece(
            self.collector.groups(distinct)[group],
            Texts(self.text_start[: n + 1].copy(), tokens),
            names[dense_here],
            dense,
            rows[:kept].copy(),
            names[sparse[:kept]],
            values[:kept].copy(),
            given,
        )

    def _column_names(self) -> Ints:
        """Return the collector's column of each column of this file."""
        done = len(self.known)
        if done < self.info[COLUMNS]:
            names = [""] * int(self.info[COLUMNS])
            for k, name in enumerate(self.features.words()):
                first, width = self.first_column[k], int(self.width[k])
                self.collector.check_width(name, width, self.name)
                for j in range(width):
                    names[first + j] = name if width == 1 else f"{name}_{j + 1}"
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                problem = f"two features are both called '{twice}'"
                raise FormatError(self.name, None, problem, "rename one of them")
            self.known = self.collector.columns(names)
        return self.known

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
                "there are fewer than three fields",
                "write id ||| text ||| features, with spaces around the bars",
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


def _numbered(ids: Ints) -> tuple[list[int], Ints]:
    """Return the distinct ids in order of appearance, and the index of each among them."""
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order].tolist(), rank[inverse]


@kernel
def _split(
    pair_start: Ints,
    columns: Ids,
    values: Floats,
    row_of: Ints,
    dense: Floats,
    rows: Ints,
    sparse: Ints,
    rest: Floats,
) -> int:
    """Lay pairs of dense features into rows; collect the others that are not 0."""
    kept = 0
    for i in range(pair_start.shape[0] - 1):
        for k in range(pair_start[i], pair_start[i + 1]):
            row = row_of[columns[k]]
            if row >= 0:
                dense[row, i] = values[k]
            elif values[k] != 0.0:
                rows[kept] = i
                sparse[kept] = columns[k]
                rest[kept] = values[k]
                kept += 1
    return kept


@kernel
def _parse(
    data: Bytes,
    info: Ints,
    ids: Ints,
    text_start: Ints,
    tokens: Ids,
    pair_start: Ints,
    columns: Ids,
    values: Floats,
    slow: Ints,
    first_column: Ints,
    width: Ints,
    seen: Ints,
    follower: Ints,
    v_slots: Ids,
    v_keys: Words,
    v_start: Ints,
    v_arena: Bytes,
    v_used: Ints,
    f_slots: Ids,
    f_keys: Words,
    f_start: Ints,
    f_arena: Bytes,
    f_used: Ints,
) -> int:
    """Read candidates from ``info[POSITION]`` on, which is always the start of a line."""
    n = data.shape[0]
    while info[POSITION] < n:
        i = info[POSITION]
        while i < n and (data[i] == 32 or data[i] == 9 or data[i] == 13):
            i += 1
        if i < n and data[i] == 10:  # an empty line
            info[POSITION] = i + 1
            continue
        if i == n:
            break

        # Field 1: the id.
        info[LO] = i
        number: Number = 0
        while i < n and 48 <= data[i] <= 57 and i - info[LO] < 18:
            number = number * 10 + np.int64(data[i]) - 48
            i += 1
        info[HI] = i
        if i == info[LO] or i == n or space_at(data, i) == 0:
            while info[HI] < n and space_at(data, info[HI]) == 0:
                info[HI] += 1
            return BAD_ID
        i = _bars(data, i)
        if i < 0:
            return MISSING_FIELD

        # Field 2: the text.
        token = info[TOKENS]
        while True:
            while i < n and data[i] != 10:
                gap = space_at(data, i)
                if gap == 0:
                    break
                i += gap
            if i == n or data[i] == 10:
                return MISSING_FIELD
            lo = i
            key = np.uint64(0)
            while i < n and (CLASS[data[i]] == 0 or space_at(data, i) == 0):
                key = next_key(key, data[i])
                i += 1
            if i - lo == 3 and data[lo] == 124 and data[lo + 1] == 124 and data[lo + 2] == 124:
                break
            slot = slot_of(key, v_slots.shape[0])
            word = np.int64(v_slots[slot])
            if word < 0 or v_keys[slot] != key or i - lo > SHORT:
                word = intern(key, data, lo, i, v_slots, v_keys, v_start, v_arena, v_used)
            if word < 0:
                return VOCABULARY_FULL
            tokens[token] = word
            token += 1

        # Field 3: the features.
        info[STAMP] += 1
        status = _parse_features(
            data,
            i,
            info,
            columns,
            values,
            slow,
            first_column,
            width,
            seen,
            follower,
            f_slots,
            f_keys,
            f_start,
            f_arena,
            f_used,
        )
        if status != DONE:
            return status
        line = info[LINES]
        ids[line] = number
        info[TOKENS] = token
        info[LINES] = line + 1
        text_start[line + 1] = token
        pair_start[line + 1] = info[PAIRS]
    return DONE


@kernel
def _bars(data: Bytes, i: int) -> int:
    """Return the byte after ``|||`` if it is the next token, -1 otherwise."""
    n = data.shape[0]
    while i < n and (data[i] == 32 or data[i] == 9):
        i += 1
    if i + 3 >= n or space_at(data, i + 3) == 0:
        return -1
    return i + 3 if data[i] == 124 and data[i + 1] == 124 and data[i + 2] == 124 else -1


@kernel
def _parse_features(
    data: Bytes,
    i: int,
    info: Ints,
    columns: Ids,
    values: Floats,
    slow: Ints,
    first_column: Ints,
    width: Ints,
    seen: Ints,
    follower: Ints,
    f_slots: Ids,
    f_keys: Words,
    f_start: Ints,
    f_arena: Bytes,
    f_used: Ints,
) -> int:
    """Read names and values up to the next bars, and go to the next line."""
    n = data.shape[0]
    pair, late = info[PAIRS], info[SLOW]
    name = -1
    name_lo = name_hi = i
    own = pair  # the first pair of this name
    while True:
        while i < n and (data[i] == 32 or data[i] == 9 or data[i] == 13):
            i += 1
        if name >= 0 and i < n:
            value, end_of = parse_plain(data, i)
            if end_of >= 0:
                values[pair] = value
                pair += 1
                i = end_of
                continue
        lo = i
        guess = follower[name + 1]
        equals = _named_so(data, i, guess, f_start, f_arena)
        expected = equals >= 0
        if expected:
            i = equals + 1
        while i < n and data[i] != 32 and data[i] != 9 and data[i] != 13 and data[i] != 10:
            if data[i] == 61:
                equals = i
            i += 1
        bars = i - lo == 3 and data[lo] == 124 and data[lo + 1] == 124 and data[lo + 2] == 124
        end = bars or i == lo
        if end or equals >= 0:
            # A name is over: its values must be as many as ever.
            if name >= 0:
                got = pair - own
                info[LO], info[HI], info[GOT], info[WANTED] = name_lo, name_hi, got, width[name]
                if got == 0:
                    return NO_VALUE
                if width[name] < 0:
                    width[name] = got
                    first_column[name] = info[COLUMNS]
                    info[COLUMNS] += got
                elif width[name] != got:
                    return WRONG_WIDTH
                for k in range(got):
                    columns[own + k] = first_column[name] + k
            if end:
                break
            name_lo, name_hi = lo, equals
            info[LO], info[HI] = lo, equals
            if equals == lo:
                info[HI] = i
                return NO_NAME
            previous = name
            name = guess
            if not expected or equals - lo != f_start[guess + 1] - f_start[guess]:
                key = np.uint64(0)
                for k in range(lo, equals):
                    key = next_key(key, data[k])
                name = intern(key, data, lo, equals, f_slots, f_keys, f_start, f_arena, f_used)
                if name < 0:
                    return NAMES_FULL
                follower[previous + 1] = name
            if seen[name] == info[STAMP]:
                return NAME_TWICE
            seen[name] = info[STAMP]
            own = pair
            lo = equals + 1
            if lo == i:
                continue
        if name < 0:
            info[LO], info[HI] = lo, i
            return NO_NAME
        value = parse_decimal(data, lo, i)
        if np.isnan(value):
            if late == slow.shape[0]:
                return SLOW_FULL
            slow[late, 0], slow[late, 1], slow[late, 2] = pair, lo, i
            late += 1
        values[pair] = value
        pair += 1
    while i < n and data[i] != 10:
        i += 1
    info[POSITION], info[PAIRS], info[SLOW] = i + 1, pair, late
    return DONE


@kernel
def _named_so(data: Bytes, i: int, name: int, start: Ints, arena: Bytes) -> Number:
    """Return where the equals sign after a name stands if just that name is at i, else -1."""
    if name < 0:
        return -1
    length = start[name + 1] - start[name]
    if i + length >= data.shape[0] or data[i + length] != 61:
        return -1
    for k in range(length):
        if data[i + k] != arena[start[name] + k]:
            return -1
    return i + length
