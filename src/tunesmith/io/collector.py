"""What the readers of all formats fill: pieces over one vocabulary and one list of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.assembly import Piece, assemble_traced
from tunesmith.data.candidates import (
    CandidateSet,
    FileDigest,
    GroupId,
    References,
    Texts,
    pack_texts,
)
from tunesmith.data.features import FeatureCounts, Gap
from tunesmith.data.memory import spill
from tunesmith.data.merge import piece_of
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.keyed import are_keyed, by_id
from tunesmith.io.missing import settle
from tunesmith.io.reading import Reading
from tunesmith.io.rows import Place, Rows, shown_place
from tunesmith.io.text.tokens import Interner, tokenize


class Collector:
    """Collects candidates from one file or several, of one format or several.

    Readers of much used formats make pieces, with kernels; :meth:`add` is for all others.

    Attributes
    ----------
    reading
        How files are read: readers ask it for names of columns and for what stands for gaps.
    keep_rows
        Whether to note which candidate of the input each one is, and what decoders scored it.
    count_features
        Whether to count what a set is stored by that this one is a part of.
    """

    def __init__(
        self,
        reading: Reading | None = None,
        keep_rows: bool = False,
        count_features: bool = False,
    ) -> None:
        self.reading = reading or Reading()
        self.keep_rows = keep_rows
        self._counts_features = count_features
        #: Of what was assembled, if it was to be counted.
        self.feature_counts: FeatureCounts | None = None
        self._vocabulary: Interner | None = None
        self._pieces: list[Piece] = []
        self._rows = Rows()
        self._whole: tuple[CandidateSet, str] | None = None
        self.files: list[FileDigest] = []
        self._columns: dict[str, int] = {}
        self._groups: dict[GroupId, int] = {}
        self._references: dict[GroupId, list[Ids]] = {}
        self._sources: dict[GroupId, str] = {}
        self._widths: dict[str, int] = {}
        self._places: dict[GroupId, Place] = {}
        self._gaps: dict[str, Place] = {}
        #: Columns that were left out, in their order.
        self.left_out: dict[str, None] = {}

    @property
    def vocabulary(self) -> Interner:
        """All tokens so far; a complete set has its own, which is numbered when it is needed."""
        if self._vocabulary is None:
            whole = self._whole
            self._vocabulary = Interner() if whole is None else Interner.of(whole[0].vocabulary)
        return self._vocabulary

    def add(
        self,
        group: GroupId,
        text: str,
        features: Mapping[str, float],
        columns: Mapping[str, float] | None = None,
        place: Place = ("input", None),
    ) -> None:
        """Add one candidate.

        Parameters
        ----------
        group
            Its group's id.
        text
            Split at white space.
        features
            Finite numbers by name; those that are left out are 0.
        columns
            External scores by name; all candidates have the same ones.
        place
            File and line, for errors.
        """
        if self._whole is not None:
            self._flush()
        self._rows.add(group, text, features, columns or {}, place)
        if self._rows.full:
            self._flush()

    def add_piece(self, piece: Piece) -> None:
        """Add some candidates at once."""
        self._flush()
        self._keep(piece)

    def _keep(self, piece: Piece) -> None:
        piece.dense = spill(piece.dense)
        piece.texts = Texts(spill(piece.texts.start), spill(piece.texts.ids))
        piece.rows, piece.sparse_columns = spill(piece.rows), spill(piece.sparse_columns)
        piece.values = spill(piece.values)
        self._pieces.append(piece)

    def add_set(self, candidates: CandidateSet, place: str) -> None:
        """Add a set that is complete; by itself it stays as it is, and is not copied."""
        if not self._pieces and not self._rows and self._whole is None:
            self._whole = (candidates, place)
            self._vocabulary = None
            # Score files may bring more features, reference files need the groups.
            self.columns(candidates.features.names)
            self.groups(candidates.ids)
            return
        self._flush()
        self._add_as_piece(candidates, place)

    def take(self, other: Collector, ids: Mapping[GroupId, GroupId]) -> None:
        """Add the candidates of another collector, whose groups have other ids here.

        Its references and sources are left out.
        """
        self._flush()
        for name, width in other._widths.items():
            self.check_width(name, width, "a list that was read before")
        groups, columns = self.groups([ids[i] for i in other.ids]), self.columns(other.names)
        text = "\n".join([*other.vocabulary.words(), ""]).encode()
        words = tokenize(text, self.vocabulary).ids
        for piece in other._pieces:
            self._pieces.append(
                replace(
                    piece,
                    group=groups[piece.group],
                    texts=Texts(piece.texts.start, words[piece.texts.ids]),
                    dense_columns=columns[piece.dense_columns],
                    sparse_columns=columns[piece.sparse_columns],
                    given_columns=columns[piece.given_columns],
                )
            )
        for name, place in other._gaps.items():
            self.note_gap(name, place)

    @property
    def ids(self) -> list[GroupId]:
        """The ids of all groups so far, in the order in which they came."""
        self._flush()
        return list(self._groups)

    @property
    def names(self) -> list[str]:
        """The names of all features so far, in the order in which they came."""
        self._flush()
        return list(self._columns)

    def _add_as_piece(self, candidates: CandidateSet, place: str) -> None:
        text = "\n".join([*candidates.vocabulary, ""]).encode()
        words = tokenize(text, self.vocabulary).ids
        groups, columns = self.groups(candidates.ids), self.columns(candidates.features.names)
        self._pieces.append(replace(piece_of(candidates, groups, columns, words), origin=place))
        self._take_texts_of(candidates, words, place)

    def _take_texts_of(self, candidates: CandidateSet, words: Ints | Ids, place: str) -> None:
        stored = candidates.references
        for g, i in enumerate(candidates.ids):
            if candidates.sources is not None:
                self.add_source(i, candidates.sources[g])
            if stored is not None:
                span = range(*stored.group_start[g : g + 2])
                references = [words[stored.texts[r]].astype(np.int32) for r in span]
                self.add_references(i, references, place)

    def _flush(self) -> None:
        if self._whole is not None:
            whole, self._whole = self._whole, None
            self._add_as_piece(*whole)
        if self._rows:
            for piece in self._rows.pieces(self):
                self._keep(piece)
            self._rows = Rows()

    def __len__(self) -> int:
        """Return the number of candidates so far."""
        whole = 0 if self._whole is None else len(self._whole[0])
        return whole + len(self._rows) + sum(map(len, self._pieces))

    def add_features(self, values: Mapping[str, Floats]) -> None:
        """Add features to the candidates that are there, in the order in which they came."""
        self._flush()
        for name in values:
            if name in self._columns:
                raise TunesmithError(f"feature '{name}' is in the candidates too; rename one")
        columns = self.columns(list(values))
        done = 0
        for piece in self._pieces:
            n = len(piece)
            rows = [v[done : done + n] for v in values.values()]
            for column, row in zip(columns.tolist(), rows, strict=True):
                if np.isnan(row).any():  # what stands for it is known at the end
                    piece.missing[column] = np.flatnonzero(np.isnan(row))
            self._add_given(piece, columns, rows)
            done += n

    def _add_given(self, piece: Piece, columns: Ints, rows_given: Sequence[Floats]) -> None:
        """Add features to a piece; those with gaps as sparse ones."""
        whole = [k for k, column in enumerate(columns.tolist()) if column not in piece.missing]
        for k, column in enumerate(columns.tolist()):
            if column in piece.missing:
                fires = np.flatnonzero(~np.isnan(rows_given[k]) & (rows_given[k] != 0))
                piece.rows = np.concatenate([piece.rows, fires])
                more = np.full(len(fires), column)
                piece.sparse_columns = np.concatenate([piece.sparse_columns, more])
                piece.values = np.concatenate([piece.values, rows_given[k][fires]])
        counts = [len(piece) - len(piece.missing.get(c, ())) for c in columns.tolist()]
        piece.dense = np.vstack([piece.dense, *(rows_given[k] for k in whole)])
        piece.dense_columns = np.concatenate([piece.dense_columns, columns[whole]])
        piece.given_columns = np.concatenate([piece.given_columns, columns])
        piece.given_counts = np.concatenate([piece.given_counts, np.array(counts, np.int64)])

    def columns(self, names: Sequence[str]) -> Ints:
        """Return the column of each feature name, a new one where it is new."""
        table = self._columns
        return np.array([table.setdefault(name, len(table)) for name in names], np.int64)

    def column_name(self, column: int) -> str:
        """Return the feature name of a column."""
        return list(self._columns)[column]

    @property
    def widths(self) -> Mapping[str, int]:
        """How many values a name stands for, where formats say so."""
        return self._widths

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

    def add_reference_texts(self, group: GroupId, texts: Sequence[str], place: Place) -> None:
        """Set the references of a group, given as texts."""
        lines = [text.replace("\n", " ") for text in texts]
        whole = "\n".join([*lines, ""])
        if "\0" in whole:
            raise FormatError(*place, "a reference holds a NUL character", "write text alone")
        try:
            tokens = tokenize(whole.encode(), self.vocabulary)
        except UnicodeEncodeError:
            problem = "a reference holds half of a surrogate pair"
            raise FormatError(*place, problem, "write valid Unicode") from None
        self.add_references(group, [tokens[k] for k in range(len(lines))], shown_place(place))

    def note_place(self, group: GroupId, place: Place) -> None:
        """Remember where a group first stood, for errors."""
        self._places.setdefault(group, place)

    def note_gap(self, feature: str, place: Place) -> None:
        """Remember which candidate was the first without a feature, for errors."""
        self._gaps.setdefault(feature, place)

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
        if self._whole is not None and self._counts_features:
            self.feature_counts = FeatureCounts.of_features(self._whole[0].features)
        if self._whole is not None and not references:
            rows = np.arange(len(self)) if self.keep_rows else None
            return replace(self._whole[0], files=tuple(self.files), rows=rows)
        if self._whole is None:
            self._flush()
        self._check_ids()
        keep = settle(self._pieces, list(self._columns), self.reading.gaps)
        if keep is not None:
            self._leave_out_groups()
        read_references = self._held_references(references)
        sources = {i: text for i, text in self._sources.items() if i in self._groups}
        if self._whole is not None:
            result = replace(self._whole[0], vocabulary=tuple(self.vocabulary.words()))
            result = replace(result, rows=np.arange(len(result)) if self.keep_rows else None)
        else:
            totals = self._totals()
            if self._counts_features:
                self.feature_counts = FeatureCounts.of_pieces(self._pieces, list(self._columns))
            result, rows = assemble_traced(
                self._pieces, list(self._groups), list(self._columns), self.vocabulary.words()
            )
            result = self._with_gaps(result)
            if self.keep_rows:
                result = replace(
                    result,
                    rows=rows if keep is None else np.flatnonzero(keep)[rows],
                    totals=None if totals is None else totals[rows],
                )
        ordered = [read_references[i] for i in result.ids] if read_references else []
        counts = np.concatenate([[0], np.cumsum([len(r) for r in ordered])]).astype(np.int64)
        return replace(
            result,
            references=References(counts, pack_texts([t for r in ordered for t in r]))
            if read_references
            else None,
            sources=tuple(sources[i] for i in result.ids)
            if len(sources) == result.groups
            else result.sources,
            files=tuple(self.files),
            left_out=tuple(self.left_out),
        )

    def _totals(self) -> Floats | None:
        """Return what decoders scored all candidates, NaN where that is not known."""
        if all(piece.totals is None for piece in self._pieces):
            return None
        return np.concatenate(
            [np.full(len(p), np.nan) if p.totals is None else p.totals for p in self._pieces]
        )

    def _leave_out_groups(self) -> None:
        """Leave out groups that have lost all their candidates."""
        used = np.unique(np.concatenate([piece.group for piece in self._pieces]))
        names = list(self._groups)
        self._groups = {names[g]: k for k, g in enumerate(used.tolist())}
        for piece in self._pieces:
            piece.group = np.searchsorted(used, piece.group)
        self._references = {i: r for i, r in self._references.items() if i in self._groups}

    def _with_gaps(self, assembled: CandidateSet) -> CandidateSet:
        gaps = dict(assembled.features.gaps)
        for name, place in self._gaps.items():
            gaps[name] = Gap(gaps[name].count if name in gaps else None, shown_place(place))
        return replace(assembled, features=replace(assembled.features, gaps=gaps))

    def _check_ids(self) -> None:
        """Raise an error if a number and a text are the same id: no table tells them apart."""
        texts = {i for i in self._groups if isinstance(i, str)}
        for i in self._groups if texts else ():
            if isinstance(i, int) and str(i) in texts:
                place = self._place_of(str(i))
                raise TunesmithError(
                    f"{place}: the id '{i}' is a text here and a number elsewhere; write it alike"
                )

    def _place_of(self, group: GroupId) -> str:
        first = self.files[0].path if self.files else "input"
        return shown_place(self._places.get(group, (first, None)))

    def _held_references(
        self, references: Sequence[tuple[str, Texts]]
    ) -> dict[GroupId, list[Ids]] | None:
        if not references:
            if not self._references:
                return None
            for i in self._groups:
                if i not in self._references:
                    problem = f"group '{i}' has no references and others have"
                    raise TunesmithError(f"{self._place_of(i)}: {problem}; give them to all")
            return self._references
        words = self.vocabulary.words()
        if all(are_keyed(texts, words, self._groups) for _, texts in references):
            named = [by_id(name, texts, words, self._groups) for name, texts in references]
            return {i: [texts[i] for texts in named] for i in self._groups}
        for i in self._groups:
            for name, texts in references:
                if not isinstance(i, int):  # for type checkers
                    continue
                if not 0 <= i < len(texts):
                    problem = f"no reference for id {i}, the file has {len(texts)} lines"
                    remedy = "give one reference line per sentence"
                    if i == len(texts) and 0 not in self._groups:
                        remedy = "the first line is that of id 0; subtract 1 from all ids"
                    raise FormatError(name, None, problem, remedy)
        return {
            i: [texts[i] for _, texts in references] for i in self._groups if isinstance(i, int)
        }
