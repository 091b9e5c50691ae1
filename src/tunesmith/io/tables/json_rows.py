"""JSON lines with one object per candidate, read as a table.

``{"id": 0, "text": "...", "lm": -3.2, "metrics.comet": 0.8}``; names mean what the names of
columns mean, see :mod:`tunesmith.io.tables.base`.
"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Any

import numpy as np

from tunesmith.arrays import Flags
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.reading import Reading
from tunesmith.io.tables.base import (
    FEATURE,
    LENGTHS_REMEDY,
    LISTS_REMEDY,
    METRIC,
    QUOTED_REMEDY,
    REFERENCES,
    RESERVED,
    Batch,
    Column,
    Numbers,
    add_batches,
    is_reference,
    is_unicode,
)
from tunesmith.io.tables.json_cells import Cells, cells_of
from tunesmith.io.text.json_kernels import FlatObjects, flat_objects
from tunesmith.io.text.json_lines import LineBlock, NumberedObject
from tunesmith.io.text.numbers import float_or_nan
from tunesmith.parallel.local import ahead

#: Rows of one batch.
ROWS = 1 << 14
#: Cells of one batch, about; every row may have names of its own.
CELLS = 1 << 17
#: Lines that Python reads before all others.
FIRST = 64
#: Characters of a value that errors show.
SHOWN = 60
#: What values are called in errors.
KINDS: dict[type, str] = {int: "a number", float: "a number", bool: "true or false", str: "a text"}
NESTED: dict[type, str] = {list: "a list", dict: "an object"}

Row = dict[str, Any]


class Absent:
    """What stands for a name that a row leaves out."""


ABSENT = Absent()


class LeftOut:
    """What stands for a column of texts without a meaning."""


LEFT_OUT = LeftOut()


def _few_first(lines: Iterable[LineBlock]) -> Iterator[LineBlock]:
    """Yield the first lines by themselves: Python reads them, to know what names stand for."""
    rest = iter(lines)
    for some in itertools.islice(rest, 1):
        head = b"".join(itertools.islice(some.data.splitlines(keepends=True), FIRST))
        yield LineBlock(head, some.path, some.first)
        if len(head) < len(some.data):
            first = some.first + len(head.splitlines())
            yield LineBlock(some.data[len(head) :], some.path, first)
    yield from rest


def _flat_objects(lines: LineBlock) -> FlatObjects | None:
    return flat_objects(lines.data, lines.first)


def add_rows(lines: Iterable[LineBlock], path: str, collector: Collector) -> None:
    """Add candidates to a collector, one for each object."""
    table = _Table(path, collector.reading)
    add_batches(table.batches(lines), path, collector)
    table.check_texts()
    collector.left_out.update(dict.fromkeys(table.number_texts))


class _Table:
    """The rows of one file, and what is known of their names so far."""

    def __init__(self, path: str, reading: Reading) -> None:
        self.path = path
        self.reading = reading
        #: What the values of a name are, by their first.
        self.kinds: dict[str, str] = {}
        #: The name that gives a feature: NAME or features.NAME.
        self.features: dict[str, str] = {}
        #: The first line where a name's texts look like numbers; None where one does not.
        self.number_texts: dict[str, int | None] = {}
        self.metrics: list[str] | None = None
        #: Whether a row is a prompt with lists; unknown before the first.
        self.has_lists: bool | None = None

    def _error(self, line: int, problem: str, remedy: str) -> FormatError:
        return FormatError(self.path, line, problem, remedy)

    def batches(self, lines: Iterable[LineBlock]) -> Iterator[Batch]:
        """Yield rows as columns: those of kernels where rows are alike, and else of Python."""
        for some, flat in ahead(_flat_objects, _few_first(lines)):
            batch = None if flat is None or self.has_lists else self._quickly(flat)
            if batch is None:
                yield from self._slowly(some.objects())
            else:
                self.has_lists = False
                yield batch

    def _quickly(self, flat: FlatObjects) -> Batch | None:
        """Return rows as columns, where all give the same names and kinds of values as before."""
        if self.has_lists is None:  # what the first rows are, Python says
            return None
        rows = len(flat.lines)
        cells = cells_of(flat)
        names = list(self._meant(dict.fromkeys(flat.names)))
        metrics = {name for name in names if name.startswith(METRIC)}
        if not rows or cells is None or self.reading.id_column not in cells:
            return None
        if metrics != set(self.metrics or ()):
            return None
        columns: dict[str, Column] = {}
        for name in names:
            column = self._quick_column(name, cells[name])
            if column is None:
                return None
            if not isinstance(column, LeftOut):
                columns[name] = column
        return Batch(columns, int(flat.lines[0]), lines=flat.lines)

    def _quick_column(self, name: str, cells: Cells) -> Column | LeftOut | None:
        """Return one column; None if it is not what it was before."""
        if name == self.reading.id_column:
            # What escapes may stand for, such as NUL, Python checks.
            return cells.whole() or (None if cells.has_escapes() else cells.texts())
        if name == self.reading.text_column or name in RESERVED or is_reference(name):
            return cells.texts() if name != REFERENCES else None
        if self.features.get(name.removeprefix(FEATURE), name) != name:
            return None
        known = self.kinds.get(name)
        if known == KINDS[str] and name in self.number_texts:
            is_text = self.number_texts[name] is None and cells.texts() is not None
            return LEFT_OUT if is_text else None
        return cells.numbers() if known == KINDS[float] else None

    def _slowly(self, objects: Iterable[NumberedObject]) -> Iterator[Batch]:
        """Yield rows as columns. Empty lines begin a new batch, whose rows are numbered on."""
        rows: list[Row] = []
        names: dict[str, None] = {}
        first = 0
        for line, row in objects:
            full = len(rows) >= ROWS or len(rows) * len(names) > CELLS
            if rows and (full or line != first + len(rows)):
                yield self._batch(rows, names, first)
                rows, names = [], {}
            if not rows:
                first = line
            if self.reading.id_column not in row:
                known = ", ".join(list(row)[:5]) or "none"
                problem = f"there is no '{self.reading.id_column}' (the first names are {known})"
                remedy = "name the candidate's group in it, or say what it is called: --id-column"
                raise self._error(line, problem, remedy)
            selected = self._meant(row)
            is_list = isinstance(selected.get(self.reading.text_column), list)
            if self.has_lists is None:
                self.has_lists = is_list
            if self.has_lists:
                if not is_list:
                    problem = f"'{self.reading.text_column}' is no list, as it is before"
                    raise self._error(line, problem, "give lists alone, or texts alone")
                several = self._several(selected, line)
                yield self._batch(several, dict.fromkeys(several[0]), line, one_line=True)
                continue
            rows.append(selected)
            names.update(dict.fromkeys(rows[-1]))
        if rows:
            yield self._batch(rows, names, first)

    def _meant(self, row: Row) -> Row:
        """Return what has a meaning of a row, where options say which names have."""
        reading = self.reading
        if not reading.features:
            return row
        texts = {reading.id_column, reading.text_column, "source", REFERENCES}
        texts.update(reading.index_column)
        return {
            name: value
            for name, value in row.items()
            if name in texts
            or name.startswith(METRIC)
            or is_reference(name)
            or reading.is_feature(name)
        }

    def check_texts(self) -> None:
        """Warn of names that hold texts; those that hold numbers in quotes are an error."""
        for name, line in self.number_texts.items():
            if line is not None:
                problem = f"all values of '{name}' are numbers written as texts"
                raise self._error(line, problem, QUOTED_REMEDY)
            warnings.warn(f"{self.path}: '{name}' holds text and is left out", stacklevel=4)

    def _several(self, row: Row, line: int) -> list[Row]:
        """Return the candidates of a row that has a list for each of its columns."""
        name = self.reading.text_column
        size = len(row[name])
        if not size:
            raise self._error(line, f"'{name}' is an empty list", "leave such rows out")
        lists = {k: v for k, v in row.items() if isinstance(v, list) and k != REFERENCES}
        for other, values in lists.items():
            if len(values) != size:
                problem = f"'{other}' has {len(values)} values and '{name}' has {size}"
                raise self._error(line, problem, LENGTHS_REMEDY)
        rest = {k: v for k, v in row.items() if k not in lists}
        return [{**rest, **{k: values[i] for k, values in lists.items()}} for i in range(size)]

    def _batch(
        self, rows: list[Row], names: dict[str, None], first: int, one_line: bool = False
    ) -> Batch:
        for name in names:
            if name not in self.kinds:
                self._check_name(name, rows, first)
        metrics = [name for name in names if name.startswith(METRIC)]
        if self.metrics is None:
            self.metrics = metrics
        for name in metrics:
            way = self.reading.gaps.of(name.removeprefix(METRIC))
            if name not in self.metrics and way == "error":
                line = first + next(r for r, row in enumerate(rows) if name in row)
                raise self._error(
                    line, f"'{name}' is missing before this line", "give it to all or none"
                )
        columns: dict[str, Column] = {}
        for name in [*names, *(name for name in self.metrics if name not in names)]:
            column = self._column(name, [row.get(name, ABSENT) for row in rows], first)
            if column is not None:
                columns[name] = column
        return Batch(columns, first, one_line)

    def _check_name(self, name: str, rows: list[Row], first: int) -> None:
        line = first + next(r for r, row in enumerate(rows) if name in row)
        if not name or name in {METRIC, FEATURE}:
            raise self._error(line, "a value has no name", "name it")
        if "\0" in name or not is_unicode(name):
            raise self._error(line, "a name is no valid text", "write Unicode alone")
        if not name.startswith(METRIC) and name not in RESERVED and not is_reference(name):
            feature = name.removeprefix(FEATURE)
            if self.features.setdefault(feature, name) != name:
                problem = f"'{self.features[feature]}' and '{name}' are the same feature"
                raise self._error(line, problem, "rename one")

    def _column(self, name: str, cells: list[Any], first: int) -> Column | None:
        """Return one column; None where it is left out."""
        types = set(map(type, cells))
        absent = None
        if Absent in types:
            absent = np.array([cell is ABSENT for cell in cells])
            cells = [None if cell is ABSENT else cell for cell in cells]
            types = set(map(type, cells))
        for kind in types & NESTED.keys():
            if (name, kind) != (REFERENCES, list):
                row = next(r for r, cell in enumerate(cells) if type(cell) is kind)
                problem = f"'{name}' is {NESTED[kind]}"
                remedy = "give one number or text, or leave it out"
                if kind is list:
                    remedy += (
                        f" (--features); if lists have the texts of candidates, {LISTS_REMEDY}"
                    )
                raise self._error(first + row, problem, remedy)
        if name == REFERENCES:
            return cells
        if name == self.reading.id_column:
            return (
                cells if types == {int} else [self._id(c, first + r) for r, c in enumerate(cells)]
            )
        if name == self.reading.text_column or name in RESERVED or is_reference(name):
            for kind in types - {str, NoneType}:
                row = next(r for r, cell in enumerate(cells) if type(cell) is kind)
                problem = f"'{name}' is {_shown(cells[row])}, not a text"
                raise self._error(first + row, problem, "put texts in quotes")
            return cells
        return self._numbers(name, cells, types, first, absent)

    def _id(self, cell: Any, line: int) -> int | str | None:
        if isinstance(cell, str) and ("\0" in cell or not is_unicode(cell)):
            raise self._error(line, "the id is no valid text", "write Unicode alone")
        if isinstance(cell, float) and math.isfinite(cell) and cell == int(cell):
            return int(cell)
        if isinstance(cell, float | bool):
            problem = f"the id is {_shown(cell)}"
            raise self._error(line, problem, "give a whole number or a text")
        value: int | str | None = cell
        return value

    def _numbers(
        self, name: str, cells: list[Any], types: set[type], first: int, absent: Flags | None
    ) -> Numbers | None:
        kinds = {KINDS[kind] for kind in types if kind is not NoneType}
        if kinds:
            self._check_kinds(name, cells, kinds, first)
        if self.kinds.get(name) == KINDS[str]:
            self._note_texts(name, cells, first)
            return None
        if name not in self.kinds and not name.startswith(METRIC):
            return None  # nothing but null so far
        missing = np.array([cell is None for cell in cells]) if NoneType in types else None
        filled = cells if missing is None else [0.0 if cell is None else cell for cell in cells]
        try:
            values = np.array(filled, np.float64)
        except OverflowError:
            row = next(r for r, cell in enumerate(filled) if not _is_finite(cell))
            problem = f"'{name}' is a whole number beyond 1e308, which is not finite"
            remedy = "give finite numbers or drop the candidate"
            raise self._error(first + row, problem, remedy) from None
        if absent is not None and missing is not None:
            missing = missing & ~absent
        return Numbers(values, missing if missing is not None and missing.any() else None, absent)

    def _check_kinds(self, name: str, cells: list[Any], kinds: set[str], first: int) -> None:
        """Raise an error if the values of a name are not all of one kind."""
        present = (cell for cell in cells if cell is not None)
        known = self.kinds.setdefault(name, KINDS[type(next(present))])
        if name.startswith((METRIC, FEATURE)) and known == KINDS[str]:
            row = next(r for r, cell in enumerate(cells) if isinstance(cell, str))
            problem = f"'{name}' is {_shown(cells[row])}, not a number"
            raise self._error(first + row, problem, "write numbers, without quotes")
        if kinds != {known}:
            row = next(r for r, c in enumerate(cells) if c is not None and KINDS[type(c)] != known)
            problem = f"'{name}' is {_shown(cells[row])} here and {known} before"
            remedy = "give numbers alone, or texts alone"
            raise self._error(first + row, problem, remedy)

    def _note_texts(self, name: str, cells: list[Any], first: int) -> None:
        for row, text in enumerate(cells):
            if self.number_texts.get(name, first) is None:
                return
            if text is not None:
                value = float_or_nan(text.strip().encode(errors="replace"))
                self.number_texts.setdefault(name, first + row)
                if math.isnan(value):
                    self.number_texts[name] = None


def _is_finite(cell: float) -> bool:
    try:
        return math.isfinite(cell)
    except OverflowError:
        return False


def _shown(cell: object) -> str:
    text = json.dumps(cell)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."
