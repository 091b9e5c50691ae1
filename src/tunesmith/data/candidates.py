"""Candidates in groups: one group per input, with features, texts and references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csc_array

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.features import Features, FeatureSelection
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

    def some(self, texts: Ints) -> Texts:
        """Return some of the texts, in the order given."""
        lengths = self.lengths[texts]
        return Texts(_offsets(lengths), self.ids[_runs(self.start[texts], lengths)])

    @classmethod
    def empty(cls) -> Texts:
        """No texts."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32))


def _offsets(sizes: Ints) -> Ints:
    """Return where runs of some sizes begin, one after the other."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _runs(begins: Ints, sizes: Ints) -> Ints:
    """Return the numbers from each beginning on, so many of each, one run after the other."""
    return np.repeat(begins - _offsets(sizes)[:-1], sizes) + np.arange(sizes.sum())


def pack_texts(texts: Sequence[Ids]) -> Texts:
    """Lay texts one after the other."""
    start = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
    return Texts(start, np.concatenate([np.zeros(0, np.int32), *texts]))


@dataclass(frozen=True)
class References:
    """The references of each group; groups may have different numbers of them.

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

    def some(self, groups: Sequence[int] | Ints) -> References:
        """Return those of some groups, in the order given."""
        wanted = np.asarray(groups, np.int64)
        counts = self.counts[wanted]
        own = _runs(self.group_start[wanted], counts)
        return References(_offsets(counts), self.texts.some(own))


@dataclass(frozen=True)
class FileDigest:
    """A file that went into a result."""

    path: str
    sha256: str
    format: str


@dataclass(frozen=True)
class CandidateSet:
    """N candidates in S groups.

    Candidates of a group stand together, in the order in which they were read;
    groups are in the order of their ids where these are numbers.

    Attributes
    ----------
    ids
        Name of each group.
    start : int64[S + 1]
        Group s has the candidates ``start[s]`` to ``start[s + 1] - 1``.
    features
        Their feature values.
    texts
        Their token ids.
    vocabulary
        The token of each id.
    references
        None where none were given.
    columns : name -> float64[N]
        Scores of single candidates by external metrics.
    sources
        The input of each group, or None.
    files
        What it was read from.
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
        """Whether there are texts to choose from; without them all candidates are the same."""
        return len(self.texts.ids) > 0 or len(self) == self.groups

    @property
    def has_reference_files(self) -> bool:
        """Whether references were given beside the candidates, not within them."""
        return any(file.format == "text" for file in self.files)

    def text(self, candidate: int) -> str:
        """Return a candidate's tokens with single spaces between them."""
        return self.join(self.texts[candidate])

    def join(self, tokens: Ids) -> str:
        """Return the text of some token ids."""
        return " ".join([self.vocabulary[i] for i in tokens])

    def reference_texts(self, group: int) -> list[str]:
        """Return the references of a group."""
        if self.references is None:
            return []
        lo, hi = self.references.group_start[group : group + 2]
        return [self.join(self.references.texts[r]) for r in range(lo, hi)]

    def with_features(
        self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()
    ) -> CandidateSet:
        """Return the same candidates with some of their features.

        Parameters
        ----------
        keep, drop
            Patterns such as ``"LM*"``: a feature stays if one of ``keep`` matches it, or
            there is none, and none of ``drop`` does.
        """
        selection = FeatureSelection.of(keep, drop)
        names = self.features.names
        selection.check(names)
        return replace(self, features=self.features.only(selection.kept(names)))

    def with_groups(self, groups: Sequence[int] | Ints) -> CandidateSet:
        """Return some of the groups, in the order given, each with all its candidates."""
        wanted = np.asarray(groups)
        if wanted.dtype.kind not in "iu" and len(wanted):
            raise TunesmithError("groups are asked for by whole numbers; count them from 0")
        wanted = wanted.astype(np.int64)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < self.groups:
            raise TunesmithError(f"there are {self.groups} groups; count them from 0")
        if len(np.unique(wanted)) < len(wanted):
            raise TunesmithError("a group is asked for twice; name each once")
        sizes = np.diff(self.start)[wanted]
        return self._some(wanted, sizes, _runs(self.start[wanted], sizes))

    def with_candidates(self, rows: Sequence[int] | Ints) -> CandidateSet:
        """Return some of the candidates, in the order given.

        Those of a group stand together; their group has its place where they are. A group of
        which none is asked for is left out.
        """
        wanted = np.asarray(rows)
        if wanted.dtype.kind not in "iu" and len(wanted):
            raise TunesmithError("candidates are asked for by whole numbers; count them from 0")
        wanted = wanted.astype(np.int64)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < len(self):
            raise TunesmithError(f"there are {len(self)} candidates; count them from 0")
        asked = np.zeros(len(self), np.bool_)
        asked[wanted] = True
        if np.count_nonzero(asked) < len(wanted):
            raise TunesmithError("a candidate is asked for twice; name each once")
        owners = np.searchsorted(self.start, wanted, side="right") - 1
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        groups = owners[first]
        if len(np.unique(groups)) < len(groups):
            raise TunesmithError("the candidates of a group are apart; name them together")
        return self._some(groups, np.diff(first, append=len(wanted)), wanted)

    def _some(self, wanted: Ints, sizes: Ints, rows: Ints) -> CandidateSet:
        """Return some of the groups, with so many candidates each."""
        return replace(
            self,
            ids=tuple(self.ids[g] for g in wanted),
            start=_offsets(sizes),
            features=self.features.of(rows),
            texts=self.texts.some(rows),
            references=None if self.references is None else self.references.some(wanted),
            columns={name: values[rows] for name, values in self.columns.items()},
            sources=None if self.sources is None else tuple(self.sources[g] for g in wanted),
        )

    def chosen(self, candidates: Ints) -> CandidateSet:
        """Return the same groups with one candidate each, and without features."""
        none = np.zeros((0, self.groups)), (), csc_array((self.groups, 0))
        return replace(
            self,
            start=np.arange(self.groups + 1),
            features=Features((), *none),
            texts=pack_texts([self.texts[i] for i in candidates]),
            columns={name: values[candidates] for name, values in self.columns.items()},
        )

    def __repr__(self) -> str:
        names = len(self.features.names)
        return f"<CandidateSet: {len(self)} candidates, {self.groups} groups, {names} features>"
