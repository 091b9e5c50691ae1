"""What the readers of all formats fill: pieces over one vocabulary and one list of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tunesmith.arrays import Ids, Ints
from tunesmith.data.assembly import Piece, assemble
from tunesmith.data.candidates import (
    CandidateSet,
    FileDigest,
    GroupId,
    References,
    Texts,
    pack_texts,
)
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.tokens import Interner


class Collector:
    """Collects candidates from one file or several, of one format or several."""

    def __init__(self) -> None:
        self.vocabulary = Interner()
        self.pieces: list[Piece] = []
        self.files: list[FileDigest] = []
        self._columns: dict[str, int] = {}
        self._groups: dict[GroupId, int] = {}
        self._references: dict[GroupId, list[Ids]] = {}
        self._sources: dict[GroupId, str] = {}
        self._widths: dict[str, int] = {}
        self._places: dict[GroupId, str] = {}

    def columns(self, names: Sequence[str]) -> Ints:
        """Return the column of each feature name, a new one where it is new."""
        table = self._columns
        return np.array([table.setdefault(name, len(table)) for name in names], np.int64)

    def column_name(self, column: int) -> str:
        """Return the feature name of a column."""
        return list(self._columns)[column]

    def check_width(self, name: str, width: int, path: str) -> None:
        """Raise an error if a feature had another number of values in a file before."""
        known = self._widths.setdefault(name, width)
        if known != width:
            problem = f"feature '{name}' has {width} values here and {known} in another file"
            raise FormatError(path, None, problem, "give it the same number of values everywhere")

    def groups(self, ids: Sequence[GroupId]) -> Ints:
        """Return the index of each group id, a new one where it is new."""
        table = self._groups
        return np.array([table.setdefault(i, len(table)) for i in ids], np.int64)

    def add_references(self, group: GroupId, references: Sequence[Ids], place: str) -> None:
        """Set the references that a file of candidates itself carries."""
        known = self._references.setdefault(group, list(references))
        if [r.tolist() for r in known] != [r.tolist() for r in references]:
            raise TunesmithError(
                f"{place}: group '{group}' has other references than before; make them equal"
            )

    def note_place(self, group: GroupId, place: str) -> None:
        """Remember where a group first stood, for errors."""
        self._places.setdefault(group, place)

    def add_source(self, group: GroupId, source: str) -> None:
        """Set the input of a group."""
        self._sources.setdefault(group, source)

    def finish(self, references: Sequence[tuple[str, Texts]] = ()) -> CandidateSet:
        """Assemble what was collected.

        Parameters
        ----------
        references
            Name and lines of each reference file; a group's id is its line, from 0.
        """
        held = self._held_references(references)
        sources = self._sources
        result = assemble(
            self.pieces, list(self._groups), list(self._columns), self.vocabulary.words()
        )
        ordered = [held[i] for i in result.ids] if held else []
        counts = np.concatenate([[0], np.cumsum([len(r) for r in ordered])]).astype(np.int64)
        return replace(
            result,
            references=References(counts, pack_texts([t for r in ordered for t in r]))
            if held
            else None,
            sources=tuple(sources[i] for i in result.ids)
            if len(sources) == result.groups
            else None,
            files=tuple(self.files),
        )

    def _held_references(
        self, references: Sequence[tuple[str, Texts]]
    ) -> dict[GroupId, list[Ids]] | None:
        if not references:
            if not self._references:
                return None
            for i in self._groups:
                if i not in self._references:
                    place = self._places.get(i, self.files[0].path if self.files else "input")
                    raise TunesmithError(
                        f"{place}: group '{i}' has no references and others have; give them to all"
                    )
            return self._references
        for i in self._groups:
            for name, texts in references:
                if not isinstance(i, int):
                    problem = f"group '{i}' has no line here, its id is not a number"
                    raise FormatError(name, None, problem, "put references into the JSON lines")
                if not 0 <= i < len(texts):
                    problem = f"no reference for id {i}, the file has {len(texts)} lines"
                    raise FormatError(name, None, problem, "give one reference line per sentence")
        return {
            i: [texts[i] for _, texts in references] for i in self._groups if isinstance(i, int)
        }
