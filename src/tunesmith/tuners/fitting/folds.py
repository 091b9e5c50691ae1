"""Sentences that are held out of the tuning set: some of them, or each in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.tasks.base import Task

#: Fewer sentences than this cannot be split.
LEAST = 4


@dataclass(frozen=True)
class Folds:
    """Groups split into parts, each of which is held out in turn.

    Attributes
    ----------
    fold : int64[S]
        The part of each group, from 0.
    count
        The number of parts.
    """

    fold: Ints
    count: int

    @classmethod
    def of(cls, groups: int, count: int, clusters: Floats | None = None) -> Folds:
        """Deal groups out at random, the same way every time.

        Parameters
        ----------
        groups
            How many there are.
        count
            How many parts; at most one for each group or cluster.
        clusters
            One number for each group: groups with the same number, such as the sentences of a
            document, stay in one part. Large clusters are dealt first, each to the smallest part.
        """
        if count < 2:
            raise UsageError(f"folds is {count}; give 2 or more, or leave it out")
        rng = np.random.default_rng([groups, count])
        if clusters is None:
            if groups < max(count, LEAST):
                raise UsageError(
                    f"{groups} sentences cannot be split into {count} folds; give fewer folds, or "
                    "more sentences"
                )
            return cls(rng.permutation(groups) % count, count)
        labels, cluster = np.unique(clusters, return_inverse=True)
        if len(labels) < count:
            raise UsageError(
                f"the fold column has {len(labels)} different values, too few for {count} folds; "
                "give fewer folds, or another column"
            )
        sizes = np.bincount(cluster)
        part = np.zeros(len(labels), np.int64)
        filled = np.zeros(count, np.int64)
        shuffled = rng.permutation(len(labels))
        for label in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
            part[label] = np.argmin(filled)
            filled[part[label]] += sizes[label]
        return cls(part[cluster], count)

    def held_out(self, k: int) -> Ints:
        """Return the groups of one part."""
        return np.flatnonzero(self.fold == k)

    def rest(self, k: int) -> Ints:
        """Return the groups of all other parts."""
        return np.flatnonzero(self.fold != k)

    def splits(self, tuning: Task) -> Iterator[tuple[Task, Ints, Task]]:
        """Yield, for each part, the rest to tune on, the groups held out, and their task."""
        for k in range(self.count):
            held_out = self.held_out(k)
            yield tuning.part(self.rest(k)), held_out, tuning.part(held_out)


def hold_out(groups: int, share: float) -> tuple[Ints, Ints]:
    """Return the groups to tune on, and those to hold out; the same ones every time."""
    if not 0.0 < share < 1.0:
        raise UsageError(f"hold-out is {share:g}; give a share between 0 and 1, as 20%")
    count = round(share * groups)
    if not 0 < count < groups:
        raise UsageError(
            f"hold-out: {share:.0%} of {groups} sentences leaves nothing; give another"
        )
    order = np.random.default_rng(groups).permutation(groups)
    return np.sort(order[count:]), np.sort(order[:count])


def clusters_of(tuning: Task, column: str) -> Floats:
    """Return the value of a column, or of a feature, for each group.

    Raises
    ------
    UsageError
        There is no such column, or its values differ within a group.
    """
    if tuning.lists is None:
        raise UsageError("a fold column belongs to lists; drop it, or make lists of the forests")
    candidates = tuning.lists.candidates
    values = candidates.columns.get(column)
    if values is None and column in candidates.features.names:
        alone = np.array([name == column for name in candidates.features.names], np.float64)
        values = candidates.features.dot(alone)
    if values is None:
        known = sorted([*candidates.columns, *candidates.features.names])
        raise UnknownNameError("fold column", column, known)
    first = values[candidates.start[:-1]]
    if not np.array_equal(np.repeat(first, np.diff(candidates.start)), values):
        raise UsageError(
            f"fold column '{column}' differs within a sentence; give one that is the same for "
            "all its candidates"
        )
    return np.asarray(first)
