"""Depth-first search over cones: the kernels.

A node is the cone of vectors under which some groups choose given points. It knows, for every
other group, which points are not yet ruled out inside the cone, and a pool of vectors that lie
in it. Its bound is the loss of the chosen points plus, for every other group, the least loss of
a point that can win inside this cone: a vector of the pool shows that it can, or a test does.

Where the bound is not below the best loss known, the node is done. Otherwise it branches on the
group with the fewest points that still matter: first the cone in which that group's first point
wins too, then the same cone without that point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ints, Number
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.search.exact.active_set import FEASIBLE, INFEASIBLE, UNDECIDED, reset
from tunesmith.search.exact.extreme import PointLists, examine
from tunesmith.search.exact.incumbent import assess
from tunesmith.search.exact.problem import Problem

#: Levels below the node where a dive begins, at most.
LEVELS = 48
#: Vectors that are kept to show that points can win.
POOL = 256
#: How sharply the rule for branching prefers groups whose next points lose much more.
SHARPNESS = 6
#: What became of a dive.
DONE, STOPPED, FAILED = 0, 1, 2
#: Which number of ``Tree.numbers`` is what.
BEST, TESTS, NODES, SLOT, ROOT = 0, 1, 2, 3, 4


class Tree(NamedTuple):
    """What a dive writes: up to ``member`` one row a level, level 0 being where it begins.

    Attributes
    ----------
    vectors, bases, factors, forces, rows, counts
        States of the active-set method; one row more than levels, for tests.
    alive : uint8[levels, N]
        Points not ruled out.
    first : int64[levels, S]
        Where to look for the first of each group.
    lost, bound : int64[levels]
        The loss of the chosen points; the bound.
    member : uint8[levels, POOL]
        Which vectors of the pool are in the cone.
    groups, chosen : int64[S]
        The groups in the order in which they were chosen; the point of each group, -1 for none.
    turn : int64[S]
        The groups in the order in which bounds look at them.
    pool : float64[POOL, D]
        Vectors. ``wins`` int64[S, POOL] are their winners.
    best : float64[D]
        The best vector. ``numbers`` has its loss, the tests and nodes so far, the next place
        in the pool, and the number of groups that have chosen at level 0.
    """

    vectors: Floats
    bases: Floats
    factors: Floats
    forces: Floats
    rows: Ints
    counts: Ints
    alive: Bytes
    first: Ints
    lost: Ints
    bound: Ints
    member: Bytes
    groups: Ints
    chosen: Ints
    turn: Ints
    pool: Floats
    wins: Ints
    best: Floats
    numbers: Ints


def new_tree(problem: Problem, root: int) -> Tree:
    """Return room for a dive from a node at which so many groups have chosen."""
    groups, points, size = problem.size, len(problem.loss), problem.dimensions
    levels = min(groups - root, LEVELS) + 1
    tree = Tree(
        vectors=np.zeros((levels + 1, size)),
        bases=np.zeros((levels + 1, size, size)),
        factors=np.zeros((levels + 1, size, size)),
        forces=np.zeros((levels + 1, size + 1)),
        rows=np.zeros((levels + 1, size + 1, 2), np.int64),
        counts=np.zeros((levels + 1, 1), np.int64),
        alive=np.ones((levels, points), np.uint8),
        first=np.zeros((levels, groups), np.int64),
        lost=np.zeros(levels, np.int64),
        bound=np.zeros(levels, np.int64),
        member=np.zeros((levels, POOL), np.uint8),
        groups=np.zeros(groups, np.int64),
        chosen=np.full(groups, -1),
        turn=np.arange(groups),
        pool=np.zeros((POOL, size)),
        wins=np.full((groups, POOL), -1),
        best=np.zeros(size),
        numbers=np.zeros(5, np.int64),
    )
    tree.first[0] = problem.start[:-1]
    tree.numbers[ROOT] = root
    return tree


@kernel
def _copy_state(tree: Tree, source: int, target: int) -> None:
    size, count = tree.vectors.shape[1], tree.counts[source, 0]
    tree.vectors[target] = tree.vectors[source]
    tree.bases[target] = tree.bases[source]
    tree.counts[target, 0] = count
    for i in range(count):
        tree.forces[target, i] = tree.forces[source, i]
        tree.rows[target, i] = tree.rows[source, i]
        for j in range(i, count):
            tree.factors[target, i, j] = tree.factors[source, i, j]
    for i in range(count):
        for j in range(i):
            tree.factors[target, i, j] = 0.0
    for i in range(count, size):
        tree.factors[target, i] = 0.0


@kernel
def _examine(
    lists: PointLists, tree: Tree, order: Ints, scores: Floats, witness: Floats, blame: Bytes
) -> int:
    """Test the chosen points of some groups, from the spare state on."""
    spare = tree.vectors.shape[0] - 1
    tree.numbers[TESTS] += 1
    return examine(
        lists.points,
        lists.start,
        lists.kin,
        lists.owner,
        order,
        tree.chosen,
        lists.tolerance,
        lists.aim,
        lists.cosine,
        tree.vectors[spare],
        tree.bases[spare],
        tree.factors[spare],
        tree.forces[spare],
        tree.rows[spare],
        tree.counts[spare],
        scores,
        witness,
        blame,
    )


@kernel
def _examine_child(
    lists: PointLists,
    tree: Tree,
    level: int,
    group: int,
    point: int,
    scores: Floats,
    witness: Floats,
    blame: Bytes,
) -> int:
    """Test the cone of a node in which one more group chooses; the state is the spare one."""
    depth = tree.numbers[ROOT] + level
    order = np.empty(depth + 1, np.int64)
    copy_to(order, 0, tree.groups[:depth])
    order[depth] = group
    _copy_state(tree, level, tree.vectors.shape[0] - 1)
    tree.chosen[group] = point
    verdict = _examine(lists, tree, order, scores, witness, blame)
    tree.chosen[group] = -1
    return verdict


@kernel
def _remember(
    lists: PointLists, tree: Tree, level: int, witness: Floats, scores: Floats, winners: Ints
) -> None:
    """Put a vector of a node's cone into the pool; it may be the best of all."""
    total = assess(
        lists.points,
        lists.start,
        lists.kin,
        lists.loss,
        witness,
        lists.tolerance,
        scores,
        winners,
    )
    if 0 <= total < tree.numbers[BEST]:
        tree.numbers[BEST] = total
        copy_to(tree.best, 0, witness)
    slot = tree.numbers[SLOT]
    tree.numbers[SLOT] = (slot + 1) % POOL
    copy_to(tree.pool[slot], 0, witness)
    for group in range(winners.shape[0]):
        tree.wins[group, slot] = winners[group]
    inside = 1
    for k in range(tree.numbers[ROOT] + level):
        group = tree.groups[k]
        inside = inside if winners[group] == tree.chosen[group] else 0
    for k in range(tree.member.shape[0]):
        tree.member[k, slot] = inside if k <= level else 0


@kernel
def _is_shown(tree: Tree, level: int, group: int, point: int) -> bool:
    """Tell whether a vector of the pool, inside the cone, lets a point win."""
    member, wins = tree.member[level], tree.wins[group]
    shown = 0
    for i in range(member.shape[0]):
        shown += member[i] & (wins[i] == point)
    return bool(shown > 0)


@kernel
def _rule_out(tree: Tree, level: int, point: int, blame: Bytes) -> None:
    """Clear a point at a node, and at all nodes above it that the proof holds for."""
    root, lowest = tree.numbers[ROOT], 0
    for k in range(level):
        if blame[tree.groups[root + k]]:
            lowest = k + 1
    for k in range(lowest, level + 1):
        tree.alive[k, point] = 0


@kernel
def _first_alive(lists: PointLists, tree: Tree, level: int, group: int) -> int:
    """Return the first point of a group that is not ruled out, -1 if there is none."""
    at, end = tree.first[level, group], lists.start[group + 1]
    alive = tree.alive[level]
    while at < end and alive[at] == 0:
        at += 1
    tree.first[level, group] = at
    return at if at < end else -1


@kernel
def _optimistic(lists: PointLists, tree: Tree, level: int) -> int:
    """Return the loss if every group could have its first point; -1 if one has none left."""
    total = tree.lost[level]
    for group in range(tree.chosen.shape[0]):
        if tree.chosen[group] < 0:
            point = _first_alive(lists, tree, level, group)
            if point < 0:
                return -1
            total += lists.loss[point]
    return int(total)


@kernel
def _evaluate(
    lists: PointLists,
    tree: Tree,
    level: int,
    scores: Floats,
    witness: Floats,
    winners: Ints,
    blame: Bytes,
) -> int:
    """Find the bound of a node as far as needed; DONE if it has nothing better than the best."""
    total = _optimistic(lists, tree, level)
    if total < 0:
        return DONE
    for k in range(tree.chosen.shape[0]):
        group = tree.turn[k]
        if tree.chosen[group] >= 0:
            continue
        while 0 <= total < tree.numbers[BEST]:
            point = _first_alive(lists, tree, level, group)
            if _is_shown(tree, level, group, point):
                break
            verdict = _examine_child(lists, tree, level, group, point, scores, witness, blame)
            if verdict == UNDECIDED:
                return FAILED
            if verdict == FEASIBLE:
                _remember(lists, tree, level, witness, scores, winners)
                break
            _rule_out(tree, level, point, blame)
            after = _first_alive(lists, tree, level, group)
            total = -1 if after < 0 else total + lists.loss[after] - lists.loss[point]
        if total < 0 or total >= tree.numbers[BEST]:
            # What decided here will often decide again.
            for j in range(k, 0, -1):
                tree.turn[j] = tree.turn[j - 1]
            tree.turn[0] = group
            return DONE
    tree.bound[level] = max(total, tree.bound[level])
    return STOPPED


@kernel
def _branch_on(lists: PointLists, tree: Tree, level: int) -> int:
    """Return the group with the fewest points that matter.

    A point matters less, the more of the gap to the best known its loss uses up.
    """
    gap = float(tree.numbers[BEST] - tree.bound[level])
    chosen, least = -1, np.inf
    for group in range(tree.chosen.shape[0]):
        if tree.chosen[group] >= 0:
            continue
        first = tree.first[level, group]
        matter = 0.0
        for point in range(first, lists.start[group + 1]):
            more = float(lists.loss[point] - lists.loss[first])
            if more >= gap or matter >= least:
                break
            if tree.alive[level, point]:
                matter += (1.0 - more / gap) ** SHARPNESS
        if matter < least:
            chosen, least = group, matter
    return chosen


@kernel
def _descend(lists: PointLists, tree: Tree, level: int, group: int, point: int) -> None:
    """Make the spare state that of a node's child, in which a group chooses a point."""
    _copy_state(tree, tree.vectors.shape[0] - 1, level + 1)
    tree.groups[tree.numbers[ROOT] + level] = group
    tree.chosen[group] = point
    tree.alive[level + 1] = tree.alive[level]
    tree.first[level + 1] = tree.first[level]
    tree.lost[level + 1] = tree.lost[level] + lists.loss[point]
    tree.bound[level + 1] = tree.bound[level]
    for i in range(tree.member.shape[1]):
        tree.member[level + 1, i] = tree.member[level, i] & (tree.wins[group, i] == point)


@kernel
def dive(lists: PointLists, tree: Tree, most: int) -> tuple[int, int]:
    """Search a node and what is below it.

    Parameters
    ----------
    tree
        With the groups that have chosen, their points, and what is alive at level 0.
    most
        Stop after so many tests.

    Returns
    -------
    DONE if there is nothing better than the best found; STOPPED and the level of the node that
    was about to be looked at, which is open, as all above it are; FAILED if rounding prevents an
    answer.
    """
    longest = 0
    for group in range(lists.start.shape[0] - 1):
        longest = max(longest, lists.start[group + 1] - lists.start[group])
    scores, witness = np.empty(longest), np.empty(tree.vectors.shape[1])
    winners = np.empty(tree.chosen.shape[0], np.int64)
    blame = np.zeros(tree.chosen.shape[0], np.uint8)
    spare = tree.vectors.shape[0] - 1
    root = tree.numbers[ROOT]
    # A plain 0 would have another type, and kernels be compiled twice.
    level: Number = np.int64(0)
    reset(tree.vectors[spare], np.zeros(witness.shape[0]), tree.bases[spare], tree.counts[spare])
    if root > 0:
        verdict = _examine(lists, tree, tree.groups[:root], scores, witness, blame)
        if verdict == UNDECIDED:
            return FAILED, 0
        if verdict == INFEASIBLE:
            return DONE, 0
        _remember(lists, tree, level, witness, scores, winners)
    _copy_state(tree, spare, level)
    before = tree.numbers[TESTS]
    while level >= 0:
        if tree.numbers[TESTS] - before >= most or level + 1 == tree.alive.shape[0]:
            return STOPPED, level
        tree.numbers[NODES] += 1
        verdict = _evaluate(lists, tree, level, scores, witness, winners, blame)
        if verdict == FAILED:
            return FAILED, level
        if verdict == DONE:
            # Nothing better here: up, and on without the point that led here.
            level -= 1
            if level >= 0:
                group = tree.groups[root + level]
                tree.alive[level, tree.chosen[group]] = 0
                tree.chosen[group] = -1
            continue
        group = _branch_on(lists, tree, level)
        point = tree.first[level, group]
        verdict = _examine_child(lists, tree, level, group, point, scores, witness, blame)
        if verdict == UNDECIDED:
            return FAILED, level
        if verdict == INFEASIBLE:
            _rule_out(tree, level, point, blame)
        elif root + level + 1 == tree.chosen.shape[0]:
            tree.numbers[BEST] = tree.lost[level] + lists.loss[point]
            copy_to(tree.best, 0, witness)
        else:
            _descend(lists, tree, level, group, point)
            level += 1
    return DONE, 0
