"""Lazy search: sets of points that are known to exclude each other.

A test that fails names the groups that are to blame. Their points are a conflict: any choice that
contains them fails too, and needs no test.
"""

from __future__ import annotations

from typing import NamedTuple

from tunesmith.arrays import Ints
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.search.exact.extreme import PointLists


class Conflicts(NamedTuple):
    """Sets of points of a range that exclude each other.

    Attributes
    ----------
    sets : int64[places, D + 1]
        The points; -1 ends a set. ``place`` int64[1] counts the sets; with no room left the
        oldest goes.
    watch : int64[points of the range, n]
        Where to look for sets that contain a point: each is found by one of its points.
        ``watched`` int64[points of the range] counts them.
    """

    sets: Ints
    place: Ints
    watch: Ints
    watched: Ints


@kernel
def excluded(lists: PointLists, conflicts: Conflicts, chosen: Ints, order: Ints) -> tuple[int, int]:
    """Look for a set that a choice contains: return by which point it was found, and where."""
    owner, sets = lists.owner, conflicts.sets
    first = lists.start[order[0]]
    for group in order:
        at = chosen[group] - first
        watch = conflicts.watch[at]
        for w in range(min(conflicts.watched[at], watch.shape[0])):
            inside = True
            for point in sets[watch[w]]:
                if point < 0:
                    break
                if chosen[owner[point]] != point:
                    inside = False
                    break
            if inside:
                return at, w
    return -1, -1


@kernel
def insert(conflicts: Conflicts, members: Ints, first: int) -> None:
    """Keep a set; the point that leads to the fewest sets leads to it."""
    fewest = -1
    for point in members:
        if point < 0:
            break
        if fewest < 0 or conflicts.watched[point - first] < conflicts.watched[fewest]:
            fewest = point - first
    place = conflicts.place[0] % conflicts.sets.shape[0]
    copy_to(conflicts.sets[place], 0, members)
    conflicts.place[0] += 1
    watch = conflicts.watch[fewest]
    conflicts.watched[fewest] += 1
    # Where there is no room the last goes: those before it were of use since.
    at = min(conflicts.watched[fewest], watch.shape[0]) - 1
    watch[at] = place


@kernel
def learn(conflicts: Conflicts, new: Conflicts, first: int, hits: Ints) -> None:
    """Take over conflicts; those that were of use move to the front."""
    for h in range(hits.shape[0]):
        at, w = hits[h, 0], hits[h, 1]
        if w > 0:
            watch = conflicts.watch[at]
            watch[w // 2], watch[w] = watch[w], watch[w // 2]
    for k in range(min(new.place[0], new.sets.shape[0])):
        for point in new.sets[k]:
            if point >= 0:
                new.watched[point - first] = 0
        insert(conflicts, new.sets[k], first)
    new.place[0] = 0
