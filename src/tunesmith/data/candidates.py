"""Candidates in groups: one group per input, with features, texts and references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Flags, Floats, Ids, Ints
from tunesmith.data.features import Features, FeatureSelection
from tunesmith.data.rows import gather_rows, offsets
from tunesmith.errors import TunesmithError

#: A group's name in the file: a whole number where all are, text otherwise.
GroupId = int | str


@dataclass(frozen=True)
class Texts:
    """Texts as token ids, one after the other.

    Attributes
    ----------
    start : int64[n + 1]
        Text i is ``ids[start[i]:start[i + 1]]``.
    ids : int32[...]
        Indices into a vocabulary.
    """

    start: Ints
    ids: Ids

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, index: int) -> Ids:
        return self.ids[self.start[index] : self.start[index + 1]]

    @property
    def lengths(self) -> Ints:
        """The number of tokens of each text."""
        return np.diff(self.start)

    def take(self, texts: Ints) -> Texts:
        """Return the texts with the given indices, in that order."""
        start, places = gather_rows(self.start, texts)
        return Texts(start, self.ids[places])

    @classmethod
    def empty(cls) -> Texts:
        """Return an instance without texts."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32))


@dataclass(frozen=True)
class Originals:
    """Texts as they came, where they are more than their tokens with single spaces between them.

    Attributes
    ----------
    index : int32[N]
        Which text each candidate has; -1 where its tokens say it all.
    texts
        The texts, each once.
    """

    index: Ids
    texts: tuple[str, ...]

    def take(self, rows: Ints | Flags) -> Originals | None:
        """Return those of some candidates, in the order given; None where none is left."""
        index = self.index[rows]
        return Originals(index, self.texts) if (index >= 0).any() else None

    def at(self, row: int) -> str | None:
        """Return the text of a candidate, None where its tokens say it all."""
        text_index = int(self.index[row])
        return None if text_index < 0 else self.texts[text_index]

    def by_row(self) -> dict[int, str]:
        """Return the texts by candidate."""
        return {int(row): self.texts[self.index[row]] for row in np.flatnonzero(self.index >= 0)}

    @classmethod
    def of(cls, count: int, by_row: Mapping[int, str]) -> Originals | None:
        """Return the texts of some of so many candidates; None where there are none."""
        if not by_row:
            return None
        numbers = {text: k for k, text in enumerate(dict.fromkeys(by_row.values()))}
        index = np.full(count, -1, np.int32)
        index[list(by_row)] = [numbers[text] for text in by_row.values()]
        return cls(index, tuple(numbers))


def pack_texts(texts: Sequence[Ids]) -> Texts:
    """Pack texts into one array, one after the other."""
    start = offsets([len(text) for text in texts])
    return Texts(start, np.concatenate([np.zeros(0, np.int32), *texts]))


@dataclass(frozen=True)
class References:
    """The references of each group; their number may differ from group to group.

    Attributes
    ----------
    group_start : int64[S + 1]
        Group s has ``texts[group_start[s]:group_start[s + 1]]``.
    texts
        All references.
    """

    group_start: Ints
    texts: Texts

    @property
    def counts(self) -> Ints:
        """The number of references of each group."""
        return np.diff(self.group_start)

    def take(self, groups: Sequence[int] | Ints) -> References:
        """Return the references of the given groups, in that order."""
        group_start, texts = gather_rows(self.group_start, np.asarray(groups, np.int64))
        return References(group_start, self.texts.take(texts))

    def of_group(self, group: int) -> list[Ids]:
        """Return the references of one group."""
        return [self.texts[r] for r in range(*self.group_start[group : group + 2])]


def pack_references(groups: Sequence[Sequence[Ids]]) -> References:
    """Pack the references of each group into one array, one after the other."""
    texts = pack_texts([text for references in groups for text in references])
    return References(offsets([len(references) for references in groups]), texts)


@dataclass(frozen=True)
class FileDigest:
    """A file that a result depends on."""

    path: str
    sha256: str
    format: str


@dataclass(frozen=True)
class CandidateSet:
    """N candidates in S groups.

    Candidates of a group are adjacent, in the order in which they were read;
    groups are in the order of their ids where these are numbers.

    Attributes
    ----------
    ids
        The name of each group.
    start : int64[S + 1]
        Group s has the candidates ``start[s]`` to ``start[s + 1] - 1``.
    features
        Their feature values.
    texts
        Their token ids.
    vocabulary
        The token of each id.
    references
        The references of each group, or None.
    columns : name -> float64[N]
        Scores of single candidates by external metrics.
    sources
        The input of each group, or None.
    files
        The files that the set was read from.
    originals
        Texts with irregular white space, unchanged; None if there are none.
    rows : int64[N] or None
        The number of each candidate in the input, from 0, if requested.
    totals : float64[N] or None
        The score of each candidate in the input, NaN if it has none; if requested.
    left_out
        Columns of tables that were ignored, because they hold text or number rows.
    """

    ids: tuple[GroupId, ...]
    start: Ints
    features: Features
    texts: Texts
    vocabulary: tuple[str, ...]
    references: References | None = None
    columns: dict[str, Floats] = field(default_factory=dict)
    sources: tuple[str, ...] | None = None
    files: tuple[FileDigest, ...] = ()
    originals: Originals | None = None
    rows: Ints | None = None
    totals: Floats | None = None
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.ids) + 1 != len(self.start) or self.start[-1] != self.features.candidates:
            raise TunesmithError("groups and features do not match; check the offsets")
        if len(self.texts) != self.features.candidates:
            raise TunesmithError("texts and features do not match; give one text per candidate")
        if (np.diff(self.start) < 1).any():
            raise TunesmithError("a group has no candidate; leave such groups out")

    @property
    def groups(self) -> int:
        """The number S of groups."""
        return len(self.ids)

    def __len__(self) -> int:
        return int(self.start[-1])

    @property
    def has_texts(self) -> bool:
        """Whether there are texts to choose from; without texts all candidates are the same."""
        return len(self.texts.ids) > 0 or len(self) == self.groups

    @property
    def has_reference_files(self) -> bool:
        """Whether references came from files of their own, not with the candidates."""
        return any(file.format == "text" for file in self.files)

    def text(self, candidate: int) -> str:
        """Return a candidate's tokens with single spaces between them."""
        return self.join(self.texts[candidate])

    def original(self, candidate: int) -> str:
        """Return a candidate's text as it came, with the white space that it had."""
        original = None if self.originals is None else self.originals.at(candidate)
        return self.text(candidate) if original is None else original

    def join(self, tokens: Ids) -> str:
        """Return the text of some token ids."""
        return " ".join([self.vocabulary[i] for i in tokens])

    def reference_texts(self, group: int) -> list[str]:
        """Return the references of a group."""
        if self.references is None:
            return []
        return [self.join(reference) for reference in self.references.of_group(group)]

    @property
    def no_features(self) -> tuple[str, ...]:
        """Names that came with the candidates and are no features."""
        return (*self.columns, *self.left_out)

    def with_features(
        self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()
    ) -> CandidateSet:
        """Return the same candidates with some of their features.

        Parameters
        ----------
        keep, drop
            Patterns such as ``"LM*"``: a feature stays if a pattern of ``keep`` matches it, or
            ``keep`` is empty, and no pattern of ``drop`` matches it.
        """
        selection = FeatureSelection.of(keep, drop)
        names = self.features.names
        selection.check(names, others=self.no_features)
        return replace(self, features=self.features.only(selection.select(names)))

    def with_groups(self, groups: Sequence[int] | Ints) -> CandidateSet:
        """Return some of the groups, in the order given, each with all its candidates."""
        selected = _checked_indices(groups, self.groups, "group")
        return self._take(selected, *gather_rows(self.start, selected))

    def with_candidates(self, rows: Sequence[int] | Ints) -> CandidateSet:
        """Return some of the candidates, in the order given.

        The candidates of a group must be adjacent; groups are in the order of their candidates.
        A group without any selected candidate is left out.
        """
        selected = _checked_indices(rows, len(self), "candidate")
        group_of = np.searchsorted(self.start, selected, side="right") - 1
        first = np.flatnonzero(np.diff(group_of, prepend=-1))
        groups = group_of[first]
        if len(np.unique(groups)) < len(groups):
            raise TunesmithError("the candidates of a group are not adjacent; list them together")
        return self._take(groups, np.append(first, len(selected)), selected)

    def _take(self, groups: Ints, start: Ints, rows: Ints) -> CandidateSet:
        """Return some of the groups; group s has the candidates ``rows[start[s]:start[s + 1]]``."""
        return replace(
            self,
            ids=tuple(self.ids[g] for g in groups),
            start=start,
            features=self.features.of(rows),
            texts=self.texts.take(rows),
            references=None if self.references is None else self.references.take(groups),
            columns={name: values[rows] for name, values in self.columns.items()},
            sources=None if self.sources is None else tuple(self.sources[g] for g in groups),
            originals=None if self.originals is None else self.originals.take(rows),
            rows=None if self.rows is None else self.rows[rows],
            totals=None if self.totals is None else self.totals[rows],
        )

    def chosen(self, candidates: Ints) -> CandidateSet:
        """Return the same groups with one candidate each, and without features."""
        return replace(
            self,
            start=np.arange(self.groups + 1),
            features=Features((), np.zeros((0, self.groups)), (), csc_array((self.groups, 0))),
            texts=self.texts.take(np.asarray(candidates)),
            columns={name: values[candidates] for name, values in self.columns.items()},
            originals=None if self.originals is None else self.originals.take(candidates),
            rows=None if self.rows is None else self.rows[candidates],
            totals=None if self.totals is None else self.totals[candidates],
        )

    def __repr__(self) -> str:
        names = len(self.features.names)
        return f"<CandidateSet: {len(self)} candidates, {self.groups} groups, {names} features>"


def _checked_indices(indices: Sequence[int] | Ints, count: int, kind: str) -> Ints:
    """Return indices of groups or candidates; raise an error if one is wrong or repeated."""
    checked = np.asarray(indices)
    if checked.dtype.kind not in "iu" and len(checked):
        raise TunesmithError(f"a {kind} is selected by its index; give whole numbers from 0")
    checked = checked.astype(np.int64)
    if len(checked) and not 0 <= checked.min() <= checked.max() < count:
        raise TunesmithError(f"there are {count} {kind}s; give indices from 0 to {count - 1}")
    selected = np.zeros(count, np.bool_)
    selected[checked] = True
    if np.count_nonzero(selected) < len(checked):
        raise TunesmithError(f"a {kind} is selected twice; give each index once")
    return checked
