"""What all parts of a set say together, and whether they are parts of one set at all."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunesmith.data.candidates import FileDigest
from tunesmith.data.features import FeatureCounts
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.lists.shards.shard import PartFacts, PartFile


@dataclass(frozen=True)
class Whole:
    """A set of which nobody has more than a part.

    Attributes
    ----------
    facts
        What is known of each part, in the order in which they were given.
    order
        The numbers of the parts, in the order of their groups.
    """

    facts: tuple[PartFacts, ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, facts: Sequence[PartFacts], parts: Sequence[PartFile]) -> Whole:
        """Put parts together; raise an error if they cannot be those of one set."""
        paths = [part.path for part in parts]
        _check_statistics(facts, parts)
        _check_alike([part.is_given for part in facts], paths, "brings its statistics")
        _check_alike([part.references is not None for part in facts], paths, "has references")
        _check_references(facts, paths)
        _check_widths(facts, paths)
        return cls(tuple(facts), _order_of(facts, paths))

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return sum(part.groups for part in self.facts)

    @property
    def candidates(self) -> int:
        """How many candidates there are."""
        return sum(part.candidates for part in self.facts)

    @cached_property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if len(self.facts) == 1:  # it is stored as it would be without the others
            return self.facts[0].dense_names, self.facts[0].sparse_names
        counts = FeatureCounts.merged([part.counts for part in self.facts])
        is_dense = dict(zip(counts.names, counts.is_dense.tolist(), strict=True))
        dense = tuple(name for name in counts.names if is_dense[name])
        return dense, tuple(name for name in counts.names if not is_dense[name])

    @property
    def dense_names(self) -> tuple[str, ...]:
        """The features that most candidates have."""
        return self._names[0]

    @property
    def sparse_names(self) -> tuple[str, ...]:
        """The other features."""
        return self._names[1]

    @property
    def is_sum(self) -> bool:
        """Whether the score is an average over the sentences."""
        return all(part.is_sum for part in self.facts)

    @property
    def is_given(self) -> bool:
        """Whether the statistics were given, not counted."""
        return self.facts[0].is_given

    @property
    def reference_counts(self) -> tuple[int, int] | None:
        """The least and the greatest number of references of a group."""
        counts = [part.references for part in self.facts if part.references is not None]
        if not counts:
            return None
        return min(least for least, _ in counts), max(most for _, most in counts)

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """All files: those of candidates, and then the references, which all parts have read."""
        several = [part.files[: len(part.files) - len(part.lines)] for part in self.facts]
        first = self.facts[0]
        shared = first.files[len(first.files) - len(first.lines) :]
        return (*itertools.chain.from_iterable(several), *shared)

    @property
    def no_features(self) -> tuple[str, ...]:
        """Columns that are no features."""
        return tuple(dict.fromkeys(name for part in self.facts for name in part.no_features))


def _check_statistics(facts: Sequence[PartFacts], parts: Sequence[PartFile]) -> None:
    """Raise an error if statistics are not whole numbers: their sums depend on the order."""
    for fact, part in zip(facts, parts, strict=True):
        if fact.has_fractions:
            raise UsageError(
                f"{part.path}: the statistics of {part.metric.name} are no whole numbers, and "
                "their sum over shards depends on where they are; use --metric bleu, chrf, ter, "
                "wer or cer, or tune without --sharded"
            )


def _check_alike(values: Sequence[bool], paths: Sequence[str], what: str) -> None:
    if len({*values}) > 1:
        first, second = paths[values.index(True)], paths[values.index(False)]
        raise TunesmithError(f"{first} {what} and {second} does not; make the parts alike")


def _check_references(facts: Sequence[PartFacts], paths: Sequence[str]) -> None:
    """Raise an error if workers have read different files of references."""
    for path, fact in zip(paths, facts, strict=True):
        count = len(fact.lines)
        ours, first = fact.files[len(fact.files) - count :], facts[0].files
        for file, other in zip(ours, first[len(first) - count :], strict=True):
            if file.sha256 != other.sha256:
                raise TunesmithError(
                    f"{file.path}: the worker that reads {path} has another file of this name "
                    f"than the one that reads {paths[0]}; give all the same"
                )


def _check_widths(facts: Sequence[PartFacts], paths: Sequence[str]) -> None:
    """Raise an error if a name stands for several values in one part, and not in another."""
    known: dict[str, tuple[int, str]] = {}
    for path, fact in zip(paths, facts, strict=True):
        for name, width in fact.widths.items():
            before, where = known.setdefault(name, (width, path))
            if before != width:
                raise TunesmithError(
                    f"{path}: feature '{name}' has {width} values here and {before} in {where}; "
                    "give it the same number of values everywhere"
                )


def _order_of(facts: Sequence[PartFacts], paths: Sequence[str]) -> tuple[int, ...]:
    """Return the parts in the order of their groups, which must not be in each other's way."""
    with_texts = [path for path, fact in zip(paths, facts, strict=True) if fact.first is None]
    if with_texts:
        with_numbers = next((path for path in paths if path not in with_texts), None)
        if with_numbers is not None:
            raise TunesmithError(
                f"the ids of groups are numbers in {with_numbers} and texts in {with_texts[0]}; "
                "write them alike"
            )
        _check_digests(facts, paths)
        return tuple(range(len(facts)))
    bounds = [(fact.first or 0, fact.last or 0) for fact in facts]
    order = sorted(range(len(facts)), key=lambda k: bounds[k])
    for before, after in itertools.pairwise(order):
        if bounds[after][0] <= bounds[before][1]:
            raise TunesmithError(
                f"{paths[after]}: group {bounds[after][0]} is not after those of {paths[before]}, "
                f"which go to {bounds[before][1]}; give each part the groups of one range of ids"
            )
    return tuple(order)


def _check_digests(facts: Sequence[PartFacts], paths: Sequence[str]) -> None:
    every = np.concatenate([fact.digests for fact in facts])
    part = np.repeat(np.arange(len(facts)), [len(fact.digests) for fact in facts])
    order = np.argsort(every, kind="stable")
    equal = np.flatnonzero(every[order][1:] == every[order][:-1])
    if len(equal):
        first, second = (paths[part[order[equal[0] + k]]] for k in (0, 1))
        raise TunesmithError(
            f"{first} and {second} have candidates of the same group; put each group into one part"
        )
