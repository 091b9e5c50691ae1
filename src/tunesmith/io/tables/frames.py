"""Candidates that are in memory already: arrays and data frames."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Flags, Floats
from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.data.columns import with_columns
from tunesmith.errors import FormatError, TunesmithError, recorded_warnings
from tunesmith.io.collector import Collector
from tunesmith.io.reading import Reading
from tunesmith.io.tables.arrow_types import EXACT
from tunesmith.io.tables.base import (
    FEATURE,
    LENGTHS_REMEDY,
    REFERENCES,
    RESERVED,
    Batch,
    Column,
    Numbers,
    add_batches,
    group_id,
    is_reference,
    is_unicode,
)
from tunesmith.io.text.tokens import tokenize

#: Cells that are lists of values of a prompt's candidates.
LISTS = (list, tuple, np.ndarray)
#: Arguments for what options of commands are called in remedies.
IN_PYTHON = {
    "--missing zero, mean, worst, drop or a number": (
        "reading=Reading(missing='mean'), or zero, worst, drop or a number"
    ),
    "--missing mean, drop ...": "reading=Reading(missing='mean'), or drop ...",
    "--text-column": "text=",
    "--id-column": "group=",
    "--features": "reading=Reading(features=[...])",
}


def from_frame(
    frame: Any,
    columns: Sequence[str] = (),
    group: str = "id",
    text: str = "text",
    reading: Reading | None = None,
) -> CandidateSet:
    """Make a set from a pandas or polars frame, an Arrow table, a data set or a mapping.

    Parameters
    ----------
    frame
        One row per candidate, with the columns ``id`` and ``text``; if known, ``reference``
        (``reference_2`` ...) or lists of texts called ``references``, and ``source``;
        ``metrics.NAME`` for external scores. All other columns of numbers are features. If texts
        are lists, a row is a prompt, and every list has a value for each of its candidates.
    columns
        Columns that are metrics to tune for, not features: see ``column:NAME``.
    group, text
        The names of the columns of ids and of texts; levels of an index that have these names
        count as columns.
    reading
        What replaces missing values, and which columns are features.
    """
    if (getattr(frame, "format", None) or {}).get("type") is not None:
        frame = frame.with_format(None)  # a data set whose cells would be arrays or tensors
    names = _names_of(frame)
    twice = [name for k, name in enumerate(map(str, names)) if name in map(str, names[:k])]
    if twice:
        raise TunesmithError(f"frame: two columns are called '{twice[0]}'; rename one")
    try:
        values_by_name = {str(name): frame[name] for name in names}
    except TypeError:  # such as a frame that is not computed yet
        raise TunesmithError(
            f"a {type(frame).__name__} gives no columns by their names; collect it first"
        ) from None
    values_by_name |= _named_index(frame, {group, text}.difference(values_by_name))
    options = (reading or Reading()).with_columns(columns)
    values_by_name = _one_a_row(values_by_name, text, options)
    table = {name: _column(name, values, "frame") for name, values in values_by_name.items()}
    lengths = {name: _length(column) for name, column in table.items()}
    for name, length in lengths.items():
        if length != lengths[str(names[0])]:
            problem = f"'{name}' has {length} rows and '{names[0]}' {lengths[str(names[0])]}"
            raise TunesmithError(f"frame: {problem}; give all columns one length")
    for name, column in table.items():
        _check_empty(name, column, "frame")
    if (group, text) != ("id", "text"):
        options = replace(options, id_column=group, text_column=text)
    _check_has_columns(table, options, text)
    collector = Collector(options, keep_rows=True)
    with recorded_warnings() as caught:
        try:
            add_batches([Batch(table, 0)] if table else [], "frame", collector)
        except FormatError as error:
            remedy = _in_python(error.remedy)
            raise FormatError(error.path, error.line, error.problem, remedy) from None
    for warning in caught:
        warnings.warn(_in_python(str(warning.message)), stacklevel=2)
    return with_columns(collector.finish(), columns)


def _in_python(remedy: str) -> str:
    """Return a remedy with arguments in the place of options of commands."""
    remedy = re.sub(r"--text-column ([^ ;]+)", r"text='\1'", remedy)
    remedy = re.sub(r"--index-column ([^;]+)", r"reading=Reading(index_column='\1')", remedy)
    for option, argument in IN_PYTHON.items():
        remedy = remedy.replace(option, argument)
    return remedy


def _named_index(frame: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the levels of the index of a pandas frame that have some names."""
    index = getattr(frame, "index", None)
    levels = getattr(index, "names", None) or ()
    return {
        name: index.get_level_values(name) for name in names if index is not None and name in levels
    }


def _one_a_row(columns: dict[str, Any], text: str, reading: Reading) -> dict[str, Any]:
    """Return columns of candidates, where a row is a prompt with lists of its candidates."""
    texts = _one_dimensional(text, columns[text], "frame") if text in columns else np.zeros(0)
    if texts.dtype != object or not len(texts) or not isinstance(texts[0], LISTS):
        return columns
    arrays = {name: _one_dimensional(name, values, "frame") for name, values in columns.items()}
    sizes = [len(cell) if isinstance(cell, LISTS) else 0 for cell in texts]
    if not all(sizes):
        problem = f"'{text}' is an empty list, or none"
        raise FormatError("frame", sizes.index(0), problem, "leave such rows out")
    rows: dict[str, Any] = {}
    for name, array in arrays.items():
        if len(array) != len(sizes):
            return columns  # whose lengths are looked at later
        is_list = [isinstance(cell, LISTS) for cell in array]
        if name == REFERENCES or not any(is_list):
            rows[name] = np.repeat(array, sizes)
            continue
        lengths = [len(c) if flag else 0 for c, flag in zip(array, is_list, strict=True)]
        other = next((k for k, size in enumerate(sizes) if lengths[k] != size), None)
        if other is None:
            rows[name] = [cell for cells in array for cell in _plain(cells)]
        elif reading.is_feature(name.removeprefix(FEATURE)):
            problem = f"'{name}' has {lengths[other]} values and '{text}' has {sizes[other]}"
            raise FormatError("frame", other, problem, _in_python(LENGTHS_REMEDY))
    return rows


def _names_of(frame: Any) -> list[Any]:
    """Return the names of the columns of whatever holds some."""
    named = getattr(frame, "column_names", None)
    if isinstance(named, Mapping) or (
        isinstance(frame, Mapping) and any(hasattr(part, "column_names") for part in frame.values())
    ):
        splits = ", ".join(map(str, frame))
        raise TunesmithError(f"these are several data sets ({splits}); give one of them")
    if named is None and not isinstance(frame, Mapping) and not hasattr(frame, "columns"):
        raise TunesmithError(f"a {type(frame).__name__} is no frame; give columns by their names")
    return list(named or getattr(frame, "columns", frame))


def from_arrays(
    groups: Sequence[GroupId],
    features: Mapping[str, Sequence[float]],
    texts: Sequence[str] | None = None,
    references: Mapping[GroupId, Sequence[str]] | None = None,
    columns: Mapping[str, Sequence[float]] | None = None,
) -> CandidateSet:
    """Make a set from arrays with one entry per candidate.

    Parameters
    ----------
    groups
        The group of each candidate, in any order.
    features
        The numbers of each feature, by its name.
    texts
        The text of each candidate, if there are any.
    references
        The references, by group, if there are any.
    columns
        External scores by name, to tune for with ``column:NAME``.
    """
    by_name = {"features": features, "references": references, "columns": columns}
    for argument, value in by_name.items():
        if value is not None and not isinstance(value, Mapping):
            raise TunesmithError(f"'{argument}' is a {type(value).__name__}; give a dictionary")
    table = {"id": _column("id", groups, "arrays")}
    if texts is not None:
        table["text"] = _column("text", texts, "arrays")
    for prefix, several in (("features.", features), ("metrics.", columns or {})):
        for name, values in several.items():
            column = _column(f"{prefix}{name}", values, "arrays")
            _check_empty(f"{prefix}{name}", column, "arrays")
            if not isinstance(column, Numbers) and len(column):
                raise TunesmithError(f"'{name}' holds texts; give numbers")
            table[f"{prefix}{name}"] = column
    for name, column in table.items():
        if _length(column) != _length(table["id"]):
            shown = name.partition(".")[2] or name
            raise TunesmithError(
                f"'{shown}' has not one value for each candidate; check its length"
            )
    collector = Collector(keep_rows=True)
    add_batches([Batch(table, 0)], "arrays", collector)
    for group, lines in (references or {}).items():
        clean = _checked_references(group, lines)
        tokens = tokenize("\n".join([*clean, ""]).encode(), collector.vocabulary)
        tokens_of_lines = [tokens[r] for r in range(len(clean))]
        collector.add_references(group_id(group), tokens_of_lines, "references")
    return collector.finish()


def _checked_references(group: GroupId, lines: object) -> list[str]:
    if isinstance(lines, str) or not isinstance(lines, Iterable):
        raise TunesmithError(f"the references of group '{group}' are no list; give a list of texts")
    references = list(lines)
    if not references:
        raise TunesmithError(f"group '{group}' has an empty list of references; give one at least")
    for line in references:
        if not isinstance(line, str) or "\0" in line or not is_unicode(line):
            raise TunesmithError(f"a reference of group '{group}' is no valid text; give texts")
    return [line.replace("\n", " ") for line in references]


def _length(column: Column) -> int:
    return len(column.values if isinstance(column, Numbers) else column)


def _check_has_columns(table: Mapping[str, Column], options: Reading, text: str) -> None:
    """Raise an error if a column that is named is not there."""
    for option, name in {"group": options.id_column, "text": options.text_column}.items():
        if name not in table and not (option == "text" and text == "text"):
            known = ", ".join(list(table)[:5])
            problem = f"there is no column '{name}' (the first are {known})"
            raise TunesmithError(f"frame: {problem}; name it with {option}=")


def _plain(cells: Any) -> Any:
    return cells.tolist() if isinstance(cells, np.ndarray) else cells


def _check_empty(name: str, column: Column, where: str) -> None:
    """Raise an error if a column has no value at all; what it is cannot be known."""
    if name in RESERVED or is_reference(name) or isinstance(column, Numbers):
        return
    if len(column) and all(cell is None for cell in column):
        raise FormatError(where, 0, f"'{name}' is missing", "fill the gaps, or drop the column")


def _column(name: str, values: Any, where: str) -> Column:
    """Return one column, whoever holds it."""
    array = _one_dimensional(name, values, where)
    if name == REFERENCES:
        return [_texts_of(cell) for cell in array.tolist()]
    if array.dtype.kind in "fb" or (array.dtype.kind in "iu" and _is_small(array)):
        floats = array.astype(np.float64)
        gaps = np.isnan(floats)
        return Numbers(floats, gaps if gaps.any() else None)
    cells: list[Any] = array.tolist()
    if all(type(cell) is str for cell in cells):
        return cells
    missing = np.array([_is_missing(cell) for cell in cells], np.bool_)
    present = [cell for cell, gap in zip(cells, missing, strict=True) if not gap]
    if present and all(isinstance(c, int | float | Decimal) for c in present):
        if name == "id" and all(isinstance(c, int) for c in present):
            return [None if gap else int(c) for c, gap in zip(cells, missing, strict=True)]
        return Numbers(_exact(name, cells, missing, where), missing if missing.any() else None)
    for row, cell in enumerate(cells):
        if not missing[row] and isinstance(cell, list | tuple | dict | set | np.ndarray):
            problem = f"a cell of '{name}' is a {type(cell).__name__}"
            raise FormatError(where, row, problem, "give one number or text per row")
    return [None if gap else str(c) for c, gap in zip(cells, missing, strict=True)]


def _one_dimensional(name: str, column: Any, where: str) -> NDArray[Any]:
    """Return values as an array, of objects where they are not all of one kind."""
    values: Any = column
    if hasattr(values, "to_pylist"):  # Arrow
        values = values.to_pylist()
    elif callable(getattr(values, "null_count", None)) and values.null_count():
        values = values.to_list()  # polars, which would make floats of whole numbers
    elif hasattr(values, "to_numpy"):  # pandas, polars
        values = values.to_numpy()
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TunesmithError(f"{where}: '{name}' is no column; give one value per row")
    if not isinstance(values, np.ndarray):
        return _from_list(list(values))
    if values.ndim != 1:
        raise TunesmithError(
            f"{where}: '{name}' has {values.ndim} dimensions; give one number or text per row"
        )
    array: NDArray[Any] = values
    return array


def _is_small(whole: NDArray[Any]) -> bool:
    return not len(whole) or (int(whole.min()) > -EXACT and int(whole.max()) < EXACT)


def _from_list(cells: list[Any]) -> NDArray[Any]:
    """Return an array of numbers where all cells are of one such type, or of objects."""
    kinds = {type(cell) for cell in cells}
    if kinds and kinds <= {bool, float, np.float64}:
        return np.array(cells, np.float64)
    array = np.empty(len(cells), object)
    for k, cell in enumerate(cells):
        array[k] = cell
    return array


def _exact(name: str, cells: list[Any], missing: Flags, where: str) -> Floats:
    """Return numbers as they are; raise an error if a whole one would be rounded."""
    values = np.zeros(len(cells))
    for row in np.flatnonzero(~missing):
        cell = cells[row]
        whole = isinstance(cell, int)
        try:
            values[row] = float(cell)
        except OverflowError:
            values[row] = np.inf
        if whole and (np.isinf(values[row]) or int(values[row]) != cell):
            problem = f"'{name}' is {cell}, which has too many digits for a feature"
            raise FormatError(where, int(row), problem, "round it")
    return values


def _texts_of(cell: Any) -> Any:
    """Return a list of texts as one; what is none is an error of the reader's."""
    if isinstance(cell, list | tuple | np.ndarray):
        return list(cell)
    return None if _is_missing(cell) else cell


def _is_missing(value: object) -> bool:
    """Tell whether a cell is None, NaN, or the NA or NaT of pandas."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | Decimal) and value != value  # noqa: PLR0124
