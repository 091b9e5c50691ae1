"""Tables with one row per candidate: what CSV, Parquet, Arrow and data frames share.

Columns ``id`` and ``text``; ``source``, ``reference``, ``reference_2`` ... or lists of texts
called ``references`` where they are known; ``metrics.NAME`` for external scores. Every other
column of numbers is a feature, and so is ``features.NAME``, whatever its name.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tunesmith.arrays import Bytes, Flags, Floats, Ints
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.missing import REMEDY, REMEDY_FOR_SCORES, Way
from tunesmith.io.streams import MAX_RATIO, RATIO_FROM
from tunesmith.io.text.numbers import float_or_nan
from tunesmith.io.text.spans import Spans, Tokens, tokens_of
from tunesmith.io.text.tokens import tokenize, tokenize_kept
from tunesmith.parallel.local import ahead

#: Names of columns that are an index if they count the rows.
INDEX_NAMES = ("index", "level_0", "row", "rowid", "row_id", "idx")
#: Statistics of metrics, as ``bleu.matches_1``, or ``bleu:lowercase=true.length``.
STATISTIC = re.compile(
    r"(bleu|sentence-bleu|chrf|chrf\+\+|ter|wer|cer)(:.*)?\."
    r"((matches|total|hypothesis|reference)_((char|word)_)?\d+"
    r"|length|reference_length|edits|errors|sum|count)"
)
#: Columns that pandas makes of an index that has no name.
_INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+")
METRIC, FEATURE, REFERENCE = "metrics.", "features.", "reference"
#: A column of lists of texts: all references of a row's group.
REFERENCES = "references"
RESERVED = ("id", "text", "source", REFERENCES)
#: Columns that are named if several are left out.
MOST_NAMED = 6
#: What to do about lists of other lengths than that of the texts, about lists without texts, and
#: about texts that look like numbers.
LENGTHS_REMEDY = "give one for each, or leave it out (--features)"
LISTS_REMEDY = "name those with --text-column"
QUOTED_REMEDY = "make it numbers; if it is no feature, name those that are: --features"
#: Ids of so many digits are texts.
LONG_ID = 19


@dataclass(frozen=True)
class Numbers:
    """A column of numbers.

    Attributes
    ----------
    values : float64[n]
    missing : bool[n]
        Cells without a value, or None where all have one.
    absent : bool[n]
        Rows that leave the column out, as rows of JSON may; None where none does. A feature that
        most rows leave out is a sparse one, and 0 there; else it is missing there.
    """

    values: Floats
    missing: Flags | None = None
    absent: Flags | None = None

    @property
    def gaps(self) -> Flags | None:
        """Cells without a value, and rows without the column."""
        if self.missing is None or self.absent is None:
            return self.absent if self.missing is None else self.missing
        return self.missing | self.absent


@dataclass(frozen=True)
class Repeated(Sequence[Any]):
    """A column whose cells come several times.

    Attributes
    ----------
    cells
        The distinct ones, in the order in which they first come.
    numbers : int64[n]
        Which of them each row has.
    """

    cells: list[Any]
    numbers: Ints

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, row: Any) -> Any:
        return self.cells[self.numbers[row]]


class Nested(list[str]):
    """A column of lists or objects, by their type: they are no texts."""


#: A column is numbers, texts, or (``references``) lists of texts; None is an empty cell.
Column = Numbers | Sequence[str | int | None] | Sequence[list[str] | None]


@dataclass(frozen=True)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    columns
        By name, all of the same length.
    first_line
        The line of the first row in the file, for errors; from 1.
    one_line
        Whether all rows come from that line.
    lines : int64[n] or None
        The line of each row, where rows may take several, or none.
    """

    columns: Mapping[str, Column]
    first_line: int
    one_line: bool = False
    lines: Ints | None = None

    def line(self, row: int) -> int:
        """Return the line of a row."""
        if self.lines is not None:
            return int(self.lines[row])
        return self.first_line + (0 if self.one_line else row)

    def __len__(self) -> int:
        first = next(iter(self.columns.values()), ())
        return len(first.values if isinstance(first, Numbers) else first)


def add_batches(batches: Iterable[Batch], name: str, collector: Collector) -> None:
    """Add the rows of a table to a collector."""
    reader = _TableReader(name, collector)
    has_texts = False
    for batch, tokens in ahead(partial(_tokens_of, collector.reading.text_column), batches):
        has_texts = has_texts or collector.reading.text_column in batch.columns
        if len(batch):
            reader.add(batch, tokens)
    if reader.empty:
        raise FormatError(name, None, "there is no row in it", "give one row a candidate")
    reader.finish()
    for column in reader.like_index:
        remedy = f"if it numbers rows, give --index-column {column}"
        warnings.warn(f"{name}: column '{column}' is a feature; {remedy}", stacklevel=3)
    for reason in dict.fromkeys(reader.left_out.values()):
        columns = [column for column, why in reader.left_out.items() if why == reason]
        shown = _left_out(columns, reason, has_texts)
        warnings.warn(f"{name}: {shown}", stacklevel=3)


def _left_out(columns: Sequence[str], reason: str, has_texts: bool) -> str:
    """Say which columns are left out for a reason, and what to do if that is wrong."""
    several = len(columns) > 1
    named = ", ".join(f"'{column}'" for column in columns[:MOST_NAMED])
    if len(columns) > MOST_NAMED:
        named += f" and {len(columns) - MOST_NAMED} more"
    verb, _, what = reason.partition(" ")
    verbs = {"holds": "hold", "has": "have", "is": "are"}
    remedy = ""
    if reason == "holds text" and not has_texts:
        other = "one of them" if several else "it"
        choice = "NAME" if several else columns[0]
        remedy = f"; if {other} has the candidates' texts, give --text-column {choice}"
    elif reason == "holds lists" and not has_texts:
        remedy = f"; if they have the texts of a prompt's candidates, {LISTS_REMEDY}"
    if several:
        return f"columns {named} {verbs[verb]} {what} and are left out{remedy}"
    return f"column {named} {reason} and is left out{remedy}"


@dataclass(frozen=True)
class _GroupIds:
    """The ids of some rows: the distinct ones, and which of them each row has."""

    distinct: list[int | str]
    index: Ints

    @classmethod
    def of(cls, ids: Sequence[int | str]) -> _GroupIds:
        """Find the distinct ones."""
        distinct = list(dict.fromkeys(ids))
        return cls(distinct, _numbers_in(distinct, ids))

    def __getitem__(self, row: int) -> int | str:
        return self.distinct[int(self.index[row])]


def _tokens_of(text_column: str, batch: Batch) -> Tokens | None:
    """Return the tokens of candidates' texts that are parts of a buffer."""
    column = batch.columns.get(text_column)
    return tokens_of(column) if isinstance(column, Spans) and column.is_text() else None


class _TableReader:
    def __init__(self, name: str, collector: Collector) -> None:
        self.name = name
        self.collector = collector
        self.empty = True
        self.reading = collector.reading
        self.left_out: dict[str, str] = {}
        self.numeric: set[str] = set()
        #: Columns that had no value yet, and pieces with the line where they begin.
        self.blank: set[str] = set()
        self.pieces: list[tuple[Piece, int]] = []
        #: By piece and feature, which rows leave it out, a bit each.
        self.absent: dict[tuple[int, int], Bytes] = {}
        #: Where columns that seem to count rows begin, and those that may number them otherwise.
        self.first_index: dict[str, float] = {}
        self.like_index: list[str] = []

    def add(self, batch: Batch, tokens_ahead: Tokens | None) -> None:
        """Add some rows."""
        if self.empty:
            self.reading.check_names(list(batch.columns), self.name)
        self.empty = False
        batch = self._renamed(batch)
        ids = self._ids(batch)
        texts = [] if tokens_ahead is not None else self._candidate_texts(batch)
        features, metrics = self._numbers(batch)
        if tokens_ahead is None:
            tokens, originals = tokenize_kept(texts, self.collector.vocabulary)
        else:
            column: Any = batch.columns["text"]
            odd = np.flatnonzero(tokens_ahead.odd).tolist()
            originals = {row: column[row] or "" for row in odd}
            tokens = tokens_ahead.renumbered(self.collector.vocabulary)
        columns = self.collector.columns(list(features))
        full = [k for k, f in enumerate(features.values()) if f.gaps is None]
        rows, sparse, values = [], [], []
        for k, numbers in enumerate(features.values()):
            gaps = numbers.gaps
            if gaps is not None:
                fires = np.flatnonzero(~gaps & (numbers.values != 0))
                rows.append(fires)
                sparse.append(np.full(len(fires), columns[k]))
                values.append(numbers.values[fires])
        counts = [
            len(batch) - (0 if f.gaps is None else int(f.gaps.sum())) for f in features.values()
        ]
        numeric = list(features.values())
        none = [np.zeros(0, np.int64)]
        piece = Piece(
            self.collector.groups(ids.distinct)[ids.index],
            tokens,
            columns[full],
            np.array([numeric[k].values for k in full]).reshape(len(full), len(batch)),
            np.concatenate(none + rows),
            np.concatenate(none + sparse),
            np.concatenate([np.zeros(0), *values]),
            columns,
            np.array(counts, np.int64),
            {key: _with_nan(numbers) for key, numbers in metrics.items()},
            f"{self.name}:{batch.first_line}",
            originals,
            self._gaps(batch, features, columns),
        )
        self.collector.add_piece(piece)
        for numbers, column in zip(numeric, columns.tolist(), strict=True):
            if numbers.absent is not None:
                self.absent[len(self.pieces), column] = np.packbits(numbers.absent)
        self.pieces.append((piece, batch.line(0)))
        self._add_inputs(batch, ids)

    def finish(self) -> None:
        """Look for columns that some rows leave out; half of them give what all are to give."""
        for name in self.blank - self.numeric:
            self.left_out.setdefault(name, "has no value")
        self.collector.left_out.update(dict.fromkeys(self.left_out))
        total = sum(len(piece) for piece, _ in self.pieces)
        given_counts: dict[int, int] = {}
        for piece, _ in self.pieces:
            counts = zip(piece.given_columns.tolist(), piece.given_counts.tolist(), strict=True)
            for column, count in counts:
                given_counts[column] = given_counts.get(column, 0) + count
        for k, (piece, line) in enumerate(self.pieces):
            there = set(piece.given_columns.tolist())
            for column, count in given_counts.items():
                packed = self.absent.get((k, column))
                is_named = self.collector.column_name(column) in self.reading.gaps.by_name
                is_meant = 2 * count >= total or is_named
                if (column not in there or packed is not None) and is_meant:
                    everywhere = np.arange(len(piece))
                    rows = everywhere if packed is None else _unpacked(packed, len(piece))
                    self._settle_absent(piece, line, column, rows)
        self._finish_metrics()

    def _settle_absent(self, piece: Piece, line: int, column: int, rows: Ints) -> None:
        """Say what stands for a feature that some rows leave out, or raise an error."""
        name = self.collector.column_name(column)
        place = (self.name, line + int(rows[0]))
        if self._way(name) == "error":
            raise FormatError(*place, f"'{name}' is missing", REMEDY)
        if self._is_filled(name):
            known = piece.missing.get(column, rows)
            piece.missing[column] = np.union1d(known, rows)

    def _finish_metrics(self) -> None:
        """Give all pieces the same external scores, where those may be missing."""
        every = dict.fromkeys(name for piece, _ in self.pieces for name in piece.columns)
        for piece, _ in self.pieces:
            for name in every:
                if name not in piece.columns and self._way(name) != "error":
                    piece.columns[name] = np.full(len(piece), math.nan)

    def _renamed(self, batch: Batch) -> Batch:
        """Return a batch whose columns of ids and texts have their usual names."""
        column_of = {"id": self.reading.id_column, "text": self.reading.text_column}
        changed = {column: usual for usual, column in column_of.items() if column != usual}
        if not changed:
            return batch
        columns = {}
        for name, column in batch.columns.items():
            if name in changed:
                columns[changed[name]] = column
            elif name in changed.values():
                self.left_out[name] = f"is not the column '{column_of[name]}'"
            else:
                columns[name] = column
        return replace(batch, columns=columns)

    def _way(self, name: str) -> Way:
        return self.reading.gaps.of(name)

    def _is_filled(self, name: str) -> bool:
        """Tell whether something else than nothing stands for a feature that is missing."""
        return self._way(name) != "zero" or name in self.reading.gaps.by_name

    def _gaps(
        self, batch: Batch, features: Mapping[str, Numbers], columns: Ints
    ) -> dict[int, Ints]:
        """Return the rows that lack a feature for which something is to stand."""
        gaps = {}
        for (name, numbers), column in zip(features.items(), columns.tolist(), strict=True):
            if numbers.missing is None:
                continue
            rows = np.flatnonzero(numbers.missing)
            if self._is_filled(name):
                gaps[column] = rows
            else:
                place = (self.name, batch.line(int(rows[0])))
                self.collector.note_gap(name, place)
        return gaps

    def _error(self, batch: Batch, row: int, problem: str, remedy: str) -> FormatError:
        return FormatError(self.name, batch.line(row), problem, remedy)

    def _ids(self, batch: Batch) -> _GroupIds:
        column = batch.columns.get("id")
        if column is None:
            known = ", ".join(list(batch.columns)[:5])
            number = next((c for c in batch.columns if not math.isnan(float_or_nan(c))), None)
            if number is not None:
                problem = f"this is no header: '{number}' is a number, and no name of a column"
                remedy = "write one; for what NeMo's beam search writes, --format nemo:per-source=N"
                raise FormatError(self.name, 1, problem, remedy)
            problem = f"there is no column '{self.reading.id_column}' (the first are {known})"
            remedy = "name each candidate's group in it, or say what it is called: --id-column"
            raise FormatError(self.name, 1, problem, remedy)
        if isinstance(column, Numbers):
            whole = np.isfinite(column.values) & (column.values == np.rint(column.values))
            if column.missing is not None:
                whole &= ~column.missing
            if not whole.all():
                row = int(np.flatnonzero(~whole)[0])
                raise self._error(batch, row, "the id is missing or no whole number", "give one")
            return _GroupIds.of([int(i) for i in column.values])
        cells: Sequence[Any]
        if isinstance(column, Spans) and column.missing is None:
            cells, index = column.numbered()
        elif isinstance(column, Repeated):
            cells, index = column.cells, column.numbers
        else:
            cells = list(dict.fromkeys(column))
            index = _numbers_in(cells, column)
        # Each by itself, so that it makes no difference which rows are read at once.
        for k, cell in enumerate(cells):
            if cell is None or not str(cell).strip():
                row = int(np.flatnonzero(index == k)[0])
                raise self._error(batch, row, "the id is missing", "name the candidate's group")
        named = _GroupIds.of([group_id(cell) for cell in cells])
        return _GroupIds(named.distinct, named.index[index])

    def _candidate_texts(self, batch: Batch) -> list[str]:
        return self._texts(batch, "text") if "text" in batch.columns else [""] * len(batch)

    def _texts(self, batch: Batch, name: str) -> list[str]:
        column = batch.columns[name]
        if isinstance(column, Numbers):  # a text may look like a number
            raise self._error(batch, 0, f"'{name}' holds numbers", "write texts")
        return self._checked(batch, name, ["" if t is None else str(t) for t in column])

    def _checked(self, batch: Batch, name: str, texts: list[str]) -> list[str]:
        whole = "".join(texts)
        if "\0" in whole or not is_unicode(whole):
            row = next(r for r, t in enumerate(texts) if "\0" in t or not is_unicode(t))
            raise self._error(batch, row, f"'{name}' holds no valid text", "write Unicode alone")
        return texts

    def _numbers(self, batch: Batch) -> tuple[dict[str, Numbers], dict[str, Numbers]]:
        features: dict[str, Numbers] = {}
        metrics: dict[str, Numbers] = {}
        for name, column in batch.columns.items():
            if name in RESERVED or is_reference(name):
                continue
            if not name:
                raise FormatError(self.name, None, "a column has no name", "name it")
            if name in self.reading.index_column:
                continue
            if self._is_index(batch, name, column):
                self.left_out[name] = "is the index of a frame"
                continue
            if not self._is_meant(name):
                continue
            if isinstance(column, Numbers) and name in self.left_out:
                self._check_left_out(batch, name, column)
                continue
            if not isinstance(column, Numbers):
                if _is_blank(column):
                    self.blank.add(name)
                    continue
                self._leave_out(batch, name, column)
                continue
            self.numeric.add(name)
            is_metric = name.startswith(METRIC) or bool(STATISTIC.fullmatch(name))
            key = name.removeprefix(METRIC) if is_metric else name.removeprefix(FEATURE)
            numbers = self._checked_numbers(batch, name, key, column)
            if is_metric:
                metrics[key] = numbers
            elif key in features:
                problem = f"two columns are called '{key}'"
                raise FormatError(self.name, None, problem, "rename one")
            else:
                features[key] = numbers
        return features, metrics

    def _is_index(self, batch: Batch, name: str, column: Column) -> bool:
        """Tell whether a column numbers the rows, as an index that a frame writes."""
        if _INDEX.fullmatch(name) or name in self.left_out:
            return bool(_INDEX.fullmatch(name))
        if name not in INDEX_NAMES or not isinstance(column, Numbers):
            return False
        if not self.pieces:
            self.first_index[name] = float(column.values[0])
        elif name not in self.first_index:
            return False
        first = self.first_index[name] + sum(len(piece) for piece, _ in self.pieces)
        is_index = column.missing is None and bool(
            (column.values == first + np.arange(len(batch))).all()
        )
        if not is_index and self.pieces:
            problem = f"'{name}' counts the rows before this line, and not here"
            remedy = "say what it is: --index-column, or rename it"
            raise self._error(batch, 0, problem, remedy)
        if not is_index:
            del self.first_index[name]
            distinct = len(np.unique(column.values)) == len(batch)
            if distinct and column.gaps is None and (column.values == np.rint(column.values)).all():
                self.like_index.append(name)
        return is_index

    def _is_meant(self, name: str) -> bool:
        """Tell whether a column may be a feature, or has another meaning."""
        other = name.startswith(METRIC) or STATISTIC.fullmatch(name)
        return bool(other) or self.reading.is_feature(name.removeprefix(FEATURE))

    def _checked_numbers(self, batch: Batch, name: str, key: str, column: Numbers) -> Numbers:
        """Return a column of numbers that are finite, or missing where that is allowed."""
        values, missing = column.values, column.missing
        way = self._way(key)
        if way != "error" and np.isnan(values).any():
            missing = np.isnan(values) if missing is None else missing | np.isnan(values)
        finite = np.isfinite(values)
        for gaps in (missing, column.absent):
            finite = finite if gaps is None else finite | gaps
        if not finite.all():
            row = int(np.flatnonzero(~finite)[0])
            problem = f"'{name}' is {values[row]}, which is not finite"
            raise self._error(batch, row, problem, "give finite numbers or drop the candidate")
        absent = column.absent
        if name.startswith(METRIC) and absent is not None:
            missing, absent = column.gaps, None
        if missing is None or not missing.any():
            return Numbers(values, None, absent)
        if way == "error":
            row = int(np.flatnonzero(missing)[0])
            remedy = REMEDY_FOR_SCORES if name.startswith(METRIC) else REMEDY
            raise self._error(batch, row, f"'{name}' is missing", remedy)
        return Numbers(values, missing, absent)

    def _leave_out(self, batch: Batch, name: str, column: Sequence[Any]) -> None:
        """Pass over a column of text; one that holds some numbers is meant as numbers."""
        number, bad = _first_number_and_text(column)
        if bad is None:
            row = next(r for r, cell in enumerate(column) if cell is not None)
            problem = f"'{name}' is '{column[row]}', a number written as text"
            raise self._error(batch, row, problem, QUOTED_REMEDY)
        mixed = name in self.numeric or number is not None
        if name not in self.left_out and (mixed or name.startswith((METRIC, FEATURE))):
            problem = f"'{name}' is '{column[bad]}', not a number"
            raise self._error(batch, bad, problem, "give a number, or nothing for 0")
        self.left_out[name] = "holds lists" if isinstance(column, Nested) else "holds text"

    def _check_left_out(self, batch: Batch, name: str, column: Numbers) -> None:
        """Raise an error if a column that seemed to be text holds a number after all."""
        gaps = column.gaps
        numbered = np.arange(len(batch)) if gaps is None else np.flatnonzero(~gaps)
        if len(numbered):
            problem = f"'{name}' is a number here and text before"
            raise self._error(
                batch, int(numbered[0]), problem, "give numbers alone, or texts alone"
            )

    def _add_inputs(self, batch: Batch, ids: _GroupIds) -> None:
        """Add references and sources, which every row of a group repeats."""
        rows = self._rows_of_inputs(batch, ids)
        if not len(rows):
            return
        few = _rows_of(batch, rows)
        by_row = self._references(few)
        sources = self._texts(few, "source") if "source" in few.columns else None
        seen: dict[int | str, tuple[str, ...]] = {}
        for k, row in enumerate(rows.tolist()):
            i, texts = ids[row], () if by_row is None else by_row[k]
            if i in seen and (seen[i] == texts or not texts):
                continue
            if seen.get(i):
                problem = f"group '{i}' has other references than before"
                raise self._error(batch, row, problem, "make them equal")
            seen[i] = texts
            place = (self.name, batch.line(row))
            self.collector.note_place(i, place)
            if sources is not None:
                self.collector.add_source(i, sources[k])
            if texts:
                tokens = tokenize("\n".join([*texts, ""]).encode(), self.collector.vocabulary)
                references = [tokens[r] for r in range(len(texts))]
                self.collector.add_references(i, references, f"{place[0]}:{place[1]}")

    def _rows_of_inputs(self, batch: Batch, ids: _GroupIds) -> Ints:
        """Return the rows whose references and source differ from those of the row before."""
        names = [n for n in batch.columns if n in {REFERENCES, "source"} or is_reference(n)]
        if not names:
            return np.zeros(0, np.int64)
        is_new = np.ones(len(batch), np.bool_)
        is_new[1:] = np.diff(ids.index) != 0
        for name in names:
            column = batch.columns[name]
            if isinstance(column, Spans):
                is_new |= ~column.repeats()
            else:
                cells: Any = column.values if isinstance(column, Numbers) else column
                differs = (a != b for a, b in itertools.pairwise(cells))
                is_new[1:] |= np.fromiter(differs, np.bool_, len(batch) - 1)
        return np.flatnonzero(is_new)

    def _references(self, batch: Batch) -> list[tuple[str, ...]] | None:
        """Return the references of each row; an empty cell is none."""
        names = sorted(filter(is_reference, batch.columns), key=_reference_number)
        column = batch.columns.get(REFERENCES)
        if column is None:
            texts_by_column = [
                [t.replace("\n", " ") for t in self._texts(batch, name)] for name in names
            ]
            rows = zip(*texts_by_column, strict=True)
            return [tuple(t for t in row if t.strip()) for row in rows] if texts_by_column else None
        if names:
            problem = f"there are a column '{names[0]}' and a column '{REFERENCES}'"
            raise FormatError(self.name, None, problem, "give one of them")
        lists: list[list[str]] = []
        cells: Any = column.values if isinstance(column, Numbers) else column
        for row, cell in enumerate(cells):
            texts = [] if cell is None else cell
            if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
                problem = f"'{REFERENCES}' is no list of texts"
                remedy = "give lists, or texts in columns 'reference', 'reference_2' ..."
                raise self._error(batch, row, problem, remedy)
            lists.append(texts)
        flat = [text for texts in lists for text in texts]
        if "\0" in "".join(flat) or not is_unicode("".join(flat)):
            for row, texts in enumerate(lists):
                self._checked(Batch({}, batch.line(row)), REFERENCES, ["".join(texts)])
        return [tuple(t.replace("\n", " ") for t in texts) for texts in lists]


def _rows_of(batch: Batch, rows: Ints) -> Batch:
    """Return some rows of what is neither an id nor a number."""
    picked = rows.tolist()
    columns: dict[str, Column] = {}
    for name, column in batch.columns.items():
        if name in {REFERENCES, "source"} or is_reference(name):
            if isinstance(column, Numbers):
                columns[name] = Numbers(column.values[rows])
            elif isinstance(column, Spans):
                columns[name] = column.take(rows)
            else:
                cells: Any = column
                columns[name] = [cells[row] for row in picked]
    lines = np.array([batch.line(row) for row in picked], np.int64)
    return Batch(columns, int(lines[0]), lines=lines)


def _numbers_in(distinct: Sequence[Any], cells: Sequence[Any]) -> Ints:
    """Return which of the distinct cells each cell is."""
    number = {cell: k for k, cell in enumerate(distinct)}
    return np.fromiter(map(number.__getitem__, cells), np.int64, len(cells))


def _unpacked(packed: Bytes, count: int) -> Ints:
    """Return the numbers of the bits that are set."""
    return np.flatnonzero(np.unpackbits(packed, count=count))


def _with_nan(numbers: Numbers) -> Floats:
    """Return values that are NaN where they are missing."""
    if numbers.missing is None:
        # What is mapped cannot be written to, and gaps may be filled.
        return numbers.values if numbers.values.flags.writeable else numbers.values.copy()
    return np.where(numbers.missing, np.nan, numbers.values)


def _first_number_and_text(column: Sequence[Any]) -> tuple[int | None, int | None]:
    """Return the first cell that looks like a number, and the first that does not."""
    if isinstance(column, Spans):
        initial = column.may_be_values()
        may_be = np.flatnonzero(initial).tolist()
        number = next((r for r in may_be if _is_number(column[r])), None)
        others = ~initial if column.missing is None else ~initial & ~column.missing
        texts = np.flatnonzero(others).tolist()[:1]
        texts += [r for r in may_be if not texts or r < texts[0]]
        return number, min((r for r in texts if not _is_number(column[r])), default=None)
    texts_alone = (r for r, cell in enumerate(column) if cell is not None and not _is_number(cell))
    number = next((r for r, cell in enumerate(column) if _is_number(cell)), None)
    return number, next(texts_alone, None)


def _is_blank(column: Sequence[Any]) -> bool:
    """Tell whether a column has no cell with anything in it."""
    if isinstance(column, Spans):
        return not len(column) or (column.missing is not None and bool(column.missing.all()))
    return all(cell is None for cell in column)


def _is_number(cell: object) -> bool:
    return isinstance(cell, int) or (
        isinstance(cell, str) and not math.isnan(float_or_nan(cell.strip().encode()))
    )


def group_id(cell: object) -> int | str:
    """Return a number where the id is one as it is usually written, a text otherwise.

    That is without a sign or zeros before it (007 is not 7), and of 18 digits at most.
    """
    if isinstance(cell, int):
        return cell
    text = str(cell).strip()
    plain = text.isascii() and text.isdigit() and len(text) < LONG_ID
    return int(text) if plain and (text == "0" or text[0] != "0") else text


def is_unicode(text: str) -> bool:
    """Tell whether a text has no halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_reference(name: str) -> bool:
    """Tell whether a column holds references."""
    head, _, number = name.partition("_")
    return head == REFERENCE and (not number or number.isdigit())


def _reference_number(name: str) -> int:
    return int(name.partition("_")[2] or 1)


@dataclass
class SizeLimit:
    """What a table of so many bytes may become, and what it has become."""

    name: str
    size: int
    taken: int = 0

    def take(self, count: int) -> None:
        """Count some bytes; raise an error if they are out of all proportion."""
        self.taken += count
        self.check(self.taken)

    def check(self, total: int) -> None:
        """Raise an error if a file would take so many bytes and is far smaller itself."""
        if total > RATIO_FROM and total > MAX_RATIO * self.size:
            problem = f"the file expands more than {MAX_RATIO} times"
            raise FormatError(self.name, None, problem, "write it without compression")

    def check_rows(self, rows: int, width: int) -> None:
        """Raise an error if there are far too many cells."""
        self.check(8 * rows * max(width, 1))


#: Sparse features that a table has columns for at most.
WIDEST = 1000


def to_columns(candidates: CandidateSet, gaps: bool = False) -> dict[str, Any]:
    """Return a set as columns with one row per candidate, for a data frame or a table.

    ``pandas.DataFrame(to_columns(candidates))`` is a frame; ``from_frame`` reads it back.
    With ``gaps`` a sparse feature is None where it does not fire, otherwise 0.
    """
    sizes = np.diff(candidates.start)
    features = candidates.features
    if len(features.sparse_names) > WIDEST:
        width = len(features.sparse_names)
        raise UsageError(f"a table would have {width} sparse columns; write arrow or jsonl")
    columns: dict[str, Any] = {"id": _repeated(candidates.ids, sizes)}
    if candidates.sources is not None:
        columns["source"] = _repeated(candidates.sources, sizes)
    columns["text"] = [candidates.original(i) for i in range(len(candidates))]
    if candidates.references is not None:
        references = [candidates.reference_texts(g) for g in range(candidates.groups)]
        if len({len(texts) for texts in references}) > 1:
            raise UsageError("groups have different numbers of references; write arrow or jsonl")
        if not all(text for texts in references for text in texts):
            raise UsageError(
                "a reference is empty, and so is a cell for none; write arrow or jsonl"
            )
        for r in range(len(references[0])):
            name = REFERENCE if r == 0 else f"{REFERENCE}_{r + 1}"
            columns[name] = _repeated([texts[r] for texts in references], sizes)
    for name, row in zip(features.dense_names, features.dense, strict=True):
        columns[_written(name)] = row
    for d, name in enumerate(features.sparse_names, len(features.dense_names)):
        rows, values = features.column(d)
        full = np.zeros(len(candidates))
        full[rows] = values
        columns[_written(name)] = [v or None for v in full.tolist()] if gaps else full
    for name, column in candidates.columns.items():
        columns[METRIC + name] = column
    return columns


def _written(name: str) -> str:
    is_reserved = name in RESERVED or is_reference(name) or name.startswith((METRIC, FEATURE))
    return FEATURE + name if is_reserved else name


def _repeated(values: Sequence[Any], sizes: Any) -> list[Any]:
    return list(
        itertools.chain.from_iterable(
            itertools.repeat(v, int(n)) for v, n in zip(values, sizes, strict=True)
        )
    )
