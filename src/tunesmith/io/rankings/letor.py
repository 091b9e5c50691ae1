"""Rows of features with grades: LETOR's and SVMlight's lines, with queries in them or beside.

A line is ``GRADE qid:QUERY INDEX:VALUE ... # comment``. Without ``qid``, a file of the same name
with ``.query`` behind it has the number of rows of each query, as LightGBM has it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence

import numpy as np

from tunesmith.data.candidates import FileDigest
from tunesmith.data.rankings.rankings import Judgements, Rankings
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError
from tunesmith.io.streams import Source

#: How comments name a document.
DOCUMENT = re.compile(r"docid\s*=\s*(\S+)")
#: No ranker has more features than that; a larger index is a mistake.
MOST = 1_000_000


def read_letor(path: str | os.PathLike[str]) -> Rankings:
    """Read queries whose documents are rows of features; a feature that a row lacks is 0 there.

    Documents with equal scores are ranked in the order of the file.

    Parameters
    ----------
    path
        A file in the format of LETOR and SVMlight, or of LightGBM with its ``.query`` file.
    """
    source = Source(path)
    rows = _LetorRows(source.name)
    for number, line in source.lines():
        rows.add(number, line)
    if not rows.grades:
        raise FormatError(source.name, None, "there is no row in it", "give some")
    files = [source.digest("letor")]
    queries, sizes = rows.queries, rows.sizes
    if queries is None:
        sizes, file = read_sizes(f"{os.fspath(path)}.query", len(rows.grades), source.name)
        queries = [str(q + 1) for q in range(len(sizes))]
        files.append(file)
    start = offsets(sizes)
    grades = np.array(rows.grades, np.int64)
    features = sorted({index for row in rows.values for index in row})
    place = {index: d for d, index in enumerate(features)}
    scores = np.zeros((len(features), len(grades)))
    for n, row in enumerate(rows.values):
        for index, value in row.items():
            scores[place[index], n] = value
    places = [n - int(start[q]) + 1 for q in range(len(sizes)) for n in range(*start[q : q + 2])]
    names = [name or str(at) for name, at in zip(rows.documents, places, strict=True)]
    return Rankings(
        tuple(queries),
        start,
        tuple(names),
        tuple(str(index) for index in features),
        scores,
        np.maximum(grades, -1),
        Judgements(start, grades),
        tuple(files),
    )


def read_sizes(path: str, rows: int, data: str) -> tuple[list[int], FileDigest]:
    """Read how many rows each query has, one number per line."""
    if not os.path.exists(path):
        raise FormatError(
            data, 1, "there is no qid", f"write GRADE qid:QUERY INDEX:VALUE, or give {path}"
        )
    source = Source(path)
    sizes = []
    for number, line in source.lines():
        text = line.strip()
        if not (text.isascii() and text.isdecimal()) or int(text) < 1:
            problem = f"'{text[:40]}' is no number of rows"
            raise FormatError(source.name, number, problem, "give a whole number above 0")
        sizes.append(int(text))
    if sum(sizes) != rows:
        problem = f"its queries have {sum(sizes)} rows, and {data} has {rows}"
        raise FormatError(source.name, None, problem, "give the file that belongs to it")
    return sizes, source.digest("query-sizes")


class _LetorRows:
    """What has been read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.grades: list[int] = []
        self.values: list[dict[int, float]] = []
        self.documents: list[str] = []
        self.queries: list[str] | None = None
        self.sizes: list[int] = []
        self._known: set[str] = set()

    def add(self, number: int, line: str) -> None:
        """Take a line."""
        text, _, comment = line.partition("#")
        parts = text.split()
        if not parts:
            return
        self.grades.append(self._grade(number, parts[0]))
        if len(parts) > 1 and parts[1].startswith("qid:"):
            self._of_query(number, parts[1].removeprefix("qid:"))
            rest = parts[2:]
        else:
            if self.queries is not None:
                raise FormatError(self.name, number, "there is no qid", "give one to each row")
            rest = parts[1:]
        self.values.append(self._values(number, rest))
        match = DOCUMENT.search(comment)
        self.documents.append(match[1] if match else "")

    def _grade(self, number: int, text: str) -> int:
        try:
            grade = float(text)
        except ValueError:
            grade = math.nan
        if not math.isfinite(grade) or grade != int(grade) or abs(grade) > MOST:
            problem = f"the grade is '{text[:40]}'"
            raise FormatError(self.name, number, problem, "give a whole number")
        return int(grade)

    def _of_query(self, number: int, query: str) -> None:
        if self.queries is None:
            if len(self.grades) > 1:
                raise FormatError(self.name, number, "rows before have no qid", "give all one")
            self.queries = []
        if not self.queries or self.queries[-1] != query:
            if query in self._known:
                problem = f"rows of query '{query}' stand apart"
                raise FormatError(self.name, number, problem, "put them together")
            self._known.add(query)
            self.queries.append(query)
            self.sizes.append(0)
        self.sizes[-1] += 1

    def _values(self, number: int, parts: Sequence[str]) -> dict[int, float]:
        values: dict[int, float] = {}
        for part in parts:
            index, _, text = part.partition(":")
            try:
                at, value = int(index), float(text)
            except ValueError:
                at, value = -1, math.nan
            if not 0 <= at <= MOST or not math.isfinite(value):
                problem = f"'{part[:40]}' is no feature"
                raise FormatError(self.name, number, problem, "write INDEX:VALUE")
            if at in values:
                raise FormatError(self.name, number, f"feature {at} is given twice", "give it once")
            values[at] = value
        return values
