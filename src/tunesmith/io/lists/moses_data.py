"""What Moses' extractor writes: features and BLEU's statistics of each candidate, without text.

``FEATURES_TXT_BEGIN_0 id count width names`` and ``SCORES_TXT_BEGIN_0 id count 9 BLEU`` begin the
candidates of a group, in two files that go together line by line, or in one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.moses_names import from_zero, to_zero
from tunesmith.io.streams import Source, writing
from tunesmith.io.text.numbers import float_or_nan, number_error, shortest
from tunesmith.registry import option

BEGIN, END = "_TXT_BEGIN_0", "_TXT_END_0"
#: Moses' order: matches and total of each n, then the reference's length.
STATISTICS = (*(f"bleu.{what}_{n}" for n in range(1, 5) for what in ("matches", "total")),)
STATISTICS += ("bleu.reference_length",)
#: The hypothesis' length is its number of words, the total of 1-grams.
LENGTH, WORDS = "bleu.length", "bleu.total_1"


@FORMATS.register("moses-data")
@dataclass(frozen=True)
class MosesDataFormat(CandidateFormat):
    """Features and statistics of Moses' extractor; no texts."""

    holds = frozenset({"columns"})

    statistics: str = option(
        "", "the file of statistics; by default run1.scores.dat beside run1.features.dat"
    )

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the text begins with one of the extractor's headers."""
        return head.startswith((b"FEATURES_TXT_", b"FEATURES_BIN_", b"SCORES_TXT_", b"SCORES_BIN_"))

    def read(self, source: Source, collector: Collector) -> None:
        """Add all candidates to the collector, with their statistics as columns."""
        data = _Data()
        data.read(source)
        if not data.features:
            problem = "these are statistics without features"
            raise FormatError(source.name, 1, problem, "give the file of features")
        path = self._statistics_of(source.path)
        if self.statistics or (not data.statistics and path and os.path.isfile(path)):
            other = Source(self.statistics or path or "")
            data.read(other)
            collector.files.append(other.digest(self.name))
        if not data.statistics:
            problem = "there are no statistics of its candidates"
            raise FormatError(source.name, None, problem, "name them: moses-data:statistics=FILE")
        data.add_to(collector)

    def _statistics_of(self, path: str) -> str | None:
        """Return the name of the file of statistics beside one of features, if it tells."""
        folder, name = os.path.split(path)
        if "features" not in name:
            return None
        usual = name == "features.data"  # what the extractor writes unless told otherwise
        return os.path.join(
            folder, "statscore.data" if usual else name.replace("features", "scores")
        )

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Write features, then statistics, in one file."""
        yield from _feature_lines(candidates, order)
        yield from _statistic_lines(candidates, order)

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write one file, or two if the name says what the second is called."""
        beside = self.statistics or self._statistics_of(os.fspath(path))
        if not beside:
            super().write(candidates, order, scores, path)
            return
        for target, lines in (
            (beside, _statistic_lines(candidates, order)),
            (path, _feature_lines(candidates, order)),
        ):
            with writing(target) as file:
                for line in lines:
                    file.write(line.encode() + b"\n")


@dataclass
class _Data:
    """Rows of features and of statistics by group, in the order read."""

    features: dict[int, list[tuple[dict[str, float], str, int]]] = field(default_factory=dict)
    statistics: dict[int, list[tuple[list[float], str, int]]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()

    def read(self, source: Source) -> None:
        """Take all blocks of a file."""
        if b"_BIN_BEGIN" in source.head()[:32]:
            problem = "this file is binary"
            raise FormatError(source.name, 1, problem, "run the extractor without --binary")
        lines = source.lines()
        for line, text in lines:
            fields = text.split()
            kind, _, _ = fields[0].partition("_")
            if fields[0] not in {f"FEATURES{BEGIN}", f"SCORES{BEGIN}"} or len(fields) < 4:
                problem = "here a block of candidates should begin"
                remedy = f"write FEATURES{BEGIN} or SCORES{BEGIN}, id, count and width"
                raise FormatError(source.name, line, problem, remedy)
            group, count, width = (_whole(f, source.name, line) for f in fields[1:4])
            _Block(self, source.name, group, width, fields[4:], line).read(kind, count, lines)

    def add_to(self, collector: Collector) -> None:
        """Hand the candidates over."""
        for group, rows in self.features.items():
            statistics = self.statistics.pop(group, [])
            if len(statistics) != len(rows):
                _, name, line = rows[0]
                problem = (
                    f"group {group} has {len(rows)} candidates and {len(statistics)} statistics"
                )
                raise FormatError(name, line, problem, "give files of the same candidates")
            for (features, name, line), (values, _, _) in zip(rows, statistics, strict=True):
                columns = dict(zip(STATISTICS, values, strict=True))
                columns[LENGTH] = columns[WORDS]
                collector.add(group, "", features, columns, (name, line))
        for group, statistics in self.statistics.items():
            _, name, line = statistics[0]
            problem = f"group {group} has statistics and no features"
            raise FormatError(name, line, problem, "give files of the same candidates")


@dataclass
class _Block:
    """The candidates of one group in one file."""

    data: _Data
    path: str
    group: int
    width: int
    rest: list[str]
    header: int

    def read(self, kind: str, count: int, lines: Iterator[tuple[int, str]]) -> None:
        """Take so many rows and the line that ends them."""
        names = self._names() if kind == "FEATURES" else self._check_type()
        last = self.header
        for _ in range(count):
            last, text = next(lines, (last, f"{kind}{END}"))
            if text.strip() == f"{kind}{END}":
                problem = f"fewer than {count} candidates follow the header of group {self.group}"
                raise FormatError(self.path, last, problem, "copy the file again, it is truncated")
            if kind == "FEATURES":
                row = self._features(text, last, names)
                self.data.features.setdefault(self.group, []).append((row, self.path, last))
            else:
                values = [self._number(f, last) for f in text.split()]
                self._check_width(len(values), last)
                self.data.statistics.setdefault(self.group, []).append((values, self.path, last))
        last, text = next(lines, (last, ""))
        if text.strip() != f"{kind}{END}":
            problem = f"{kind}{END} is missing after {count} candidates"
            raise FormatError(self.path, last, problem, "copy the file again")

    def _names(self) -> tuple[str, ...]:
        names = tuple(self.rest)
        data = self.data
        if not data.names:
            data.names, data.ours = names, tuple(from_zero(names) or names)
        if len(names) != self.width or len(set(data.ours)) < len(data.ours):
            problem = f"there are {len(set(names))} names of {self.width} features"
            raise FormatError(self.path, self.header, problem, "name each of them once")
        if names != data.names:
            problem = "the features are other ones than before"
            raise FormatError(self.path, self.header, problem, "give one system's files")
        return data.ours

    def _check_type(self) -> tuple[str, ...]:
        if self.rest[:1] != ["BLEU"] or self.width != len(STATISTICS):
            shown = " ".join([*self.rest[:1], f"({self.width} values)"])
            problem = f"these are statistics of {shown}, not of BLEU (9 values)"
            raise FormatError(self.path, self.header, problem, "run the extractor with BLEU")
        return ()

    def _features(self, text: str, line: int, names: tuple[str, ...]) -> dict[str, float]:
        dense = []
        sparse: dict[str, float] = {}
        for token in text.split():
            name, equals, value = token.rpartition("=")
            if not equals:
                dense.append(self._number(token, line))
            elif not name or name in sparse or name in names:
                problem = f"feature '{name}' is given twice" if name else f"'{token}' has no name"
                raise FormatError(self.path, line, problem, "give each once, as name=value")
            else:
                sparse[name] = self._number(value, line)
        self._check_width(len(dense), line)
        return {**dict(zip(names, dense, strict=True)), **sparse}

    def _check_width(self, count: int, line: int) -> None:
        if count != self.width:
            problem = f"there are {count} values here and {self.width} in the header"
            raise FormatError(self.path, line, problem, "give all of them")

    def _number(self, text: str, line: int) -> float:
        value = float_or_nan(text.encode())
        if math.isnan(value):
            raise number_error(text.encode(), self.path, line, "a value")
        return value


def _whole(text: str, path: str, line: int) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        problem = f"'{text}' in the header is not a whole number"
        raise FormatError(path, line, problem, "write id, count and width")
    return int(text)


def _feature_lines(candidates: CandidateSet, order: Ints) -> Iterator[str]:
    features = candidates.features
    _check_names(candidates)
    header = to_zero(features.dense_names)
    row_of = {name: d for d, name in enumerate(features.dense_names)}
    rows = [row_of[feature] for _, feature in header]
    names = " ".join(name for name, _ in header)
    by_row = features.sparse.tocsr()
    for group, count, first in _groups(candidates):
        yield f"FEATURES{BEGIN} {group} {count} {len(rows)} {names}"
        for i in order[first : first + count]:
            values = [shortest(v) for v in features.dense[rows, i]]
            values += [
                f"{features.sparse_names[by_row.indices[k]]}={shortest(by_row.data[k])}"
                for k in range(by_row.indptr[i], by_row.indptr[i + 1])
            ]
            yield " ".join(values)
        yield f"FEATURES{END}"


def _statistic_lines(candidates: CandidateSet, order: Ints) -> Iterator[str]:
    columns = candidates.columns
    if any(name not in columns for name in (*STATISTICS, LENGTH)):
        raise UsageError(
            "moses-data holds BLEU's statistics and the candidates bring none; "
            "give --statistics bleu, or write another format"
        )
    if not np.array_equal(columns[LENGTH], columns[WORDS]):
        raise UsageError("bleu.length and bleu.total_1 differ; write another format")
    table = np.array([columns[name] for name in STATISTICS])
    for group, count, first in _groups(candidates):
        yield f"SCORES{BEGIN} {group} {count} {len(STATISTICS)} BLEU"
        for i in order[first : first + count]:
            yield " ".join(map(shortest, table[:, i]))
        yield f"SCORES{END}"


def _groups(candidates: CandidateSet) -> Iterator[tuple[int, int, int]]:
    for i, lo, hi in zip(candidates.ids, candidates.start, candidates.start[1:], strict=False):
        if not isinstance(i, int) or not 0 <= i < 10**18:
            raise UsageError(f"the id '{i}' is not a whole number of 18 digits; write jsonl")
        yield i, int(hi - lo), int(lo)


def _check_names(candidates: CandidateSet) -> None:
    features = candidates.features
    if not features.dense_names:
        raise UsageError("moses-data needs a feature that all candidates give; write jsonl")
    for name in features.names:
        if not name or any(c.isspace() for c in name):
            raise UsageError(f"feature '{name}' has white space in its name; write jsonl")
