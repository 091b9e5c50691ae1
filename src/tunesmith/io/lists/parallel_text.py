"""Parallel text: one file of hypotheses with so many for each source, score files beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.read import read_lines_kept
from tunesmith.io.streams import Source, check_writable
from tunesmith.io.values import (
    check_one_length,
    check_one_line,
    feature_values,
    file_beside,
    write_numbers,
)
from tunesmith.registry import option


@FORMATS.register("parallel")
@dataclass(frozen=True)
class ParallelFormat(CandidateFormat):
    """Hypotheses, one per line, so many for each source; scores come with --scores."""

    holds = frozenset({"columns", "white space"})

    per_source: int = option(0, "hypotheses for each source; needed to read")

    def read(self, source: Source, collector: Collector) -> None:
        """Add all lines to the collector, empty ones too."""
        check_per_source(self.name, self.per_source)
        texts, originals = read_lines_kept(source, collector.vocabulary)
        check_multiple(len(texts), self.per_source, source.name)
        groups = collector.groups(range(len(texts) // self.per_source))
        piece = Piece.of_texts(np.repeat(groups, self.per_source), texts, source.name)
        piece.originals = originals
        collector.add_piece(piece)

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Write the hypotheses alone."""
        check_one_length(candidates, "parallel text")
        check_one_line(candidates)
        return map(candidates.original, order)

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write the hypotheses, and the scores of each feature to OUT.NAME."""
        if os.fspath(path) == "-":
            raise UsageError("parallel text is several files; name the hypotheses with --out")
        check_one_length(candidates, "parallel text")
        values = feature_values(candidates)
        for name, column in candidates.columns.items():
            if name in values:
                raise UsageError(f"'{name}' is a feature and a column; write jsonl")
            values[name] = column
        targets = {file_beside(path, name): column for name, column in values.items()}
        for target in targets:
            check_writable(target)
        for target, column in targets.items():
            write_numbers(target, column, order)
        super().write(candidates, order, scores, path)


def check_per_source(name: str, per_source: int) -> None:
    """Raise an error if the number of candidates for each source is not known."""
    if per_source < 1:
        raise UsageError(
            f"format {name} needs the number of candidates for each source; "
            f"write {name}:per-source=N"
        )


def check_multiple(count: int, per_source: int, name: str) -> None:
    """Raise an error if a file does not hold the same number of candidates for each source."""
    if count % per_source:
        problem = f"{count} lines are no multiple of per-source={per_source}"
        raise FormatError(name, None, problem, "give as many candidates for each source")
