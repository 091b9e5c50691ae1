"""The exact optimum by a search over cones: which subtree next, on all cores, within limits.

Subtrees wait in a queue. Those of least bound are searched next, depth first
(``dive``) and for a number of tests; what a dive leaves open goes back into the queue, in parts. So
the bound of the whole, which is the least bound in the queue, rises steadily, and a search that is
stopped still says how good its best vector is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tunesmith.arrays import Bytes, Floats, Ints
from tunesmith.parallel.local import map_pieces
from tunesmith.search.exact.certificate import ContradictionError, SearchLimits
from tunesmith.search.exact.cones.dive import (
    BEST,
    FAILED,
    NODES,
    ROOT,
    SLOT,
    STOPPED,
    Tree,
    dive,
    new_tree,
)
from tunesmith.search.exact.cones.dive import TESTS as SO_FAR
from tunesmith.search.exact.extreme import TOLERANCE, lists_of, undecided
from tunesmith.search.exact.incumbent import Incumbent, assess, climbed
from tunesmith.search.exact.problem import Problem

#: Subtrees that are searched at the same time, and tests in each. Fixed, so that the result does
#: not depend on the cores.
ROUND, TESTS = 4, 1500
#: Vectors that a waiting subtree keeps.
KEPT = 24


@dataclass(order=True)
class _Open:
    """A subtree that waits: the least bound first, then the deepest, then the oldest."""

    bound: int
    depth: int
    number: int
    groups: Ints = field(compare=False)
    points: Ints = field(compare=False)
    alive: Bytes = field(compare=False)
    turn: Ints = field(compare=False)
    pool: Floats = field(compare=False)

    @property
    def bytes(self) -> int:
        """Memory that it takes, about."""
        parts = self.groups, self.points, self.alive, self.turn, self.pool
        return 400 + sum(part.nbytes for part in parts)


class ConeSearch:
    """A search that can be stopped and taken up again.

    Parameters
    ----------
    problem
        Points and losses.
    tolerance, towards, cosine
        What counts as a win, and which vectors count: see ``Tester``.
    known
        Vectors to begin with; the best of them is the one to beat.
    """

    def __init__(
        self,
        problem: Problem,
        tolerance: float = TOLERANCE,
        towards: Floats | None = None,
        cosine: float = -1.0,
        known: Sequence[Incumbent] = (),
    ) -> None:
        self.problem = problem
        self._lists = lists_of(problem, tolerance, towards, cosine)
        self.tested, self.nodes = 0, 0
        self.best: Incumbent | None = None
        self.unclear: list[Incumbent] = []
        self._proven = 0
        self._rng = np.random.default_rng(1)
        near = [
            incumbent for incumbent in known if incumbent.clear and self._counts(incumbent.vector)
        ]
        for incumbent in near:
            self._offer(incumbent)
        self._number = 0
        self._queue: list[_Open] = []
        self._bytes = 0
        size = problem.size
        if size:
            pool = np.array([incumbent.vector for incumbent in near[:KEPT]]).reshape(
                -1, problem.dimensions
            )
            alive = np.packbits(np.ones(len(problem.loss), np.uint8))
            nothing = np.zeros(0, np.int64)
            self._push(0, nothing, nothing, alive, np.arange(size), pool)

    def _counts(self, vector: Floats) -> bool:
        aim, cosine = self._lists.aim, self._lists.cosine
        length = float(np.sqrt((vector**2).sum()))
        return cosine <= 0.0 or float((vector * aim).sum()) >= cosine * length

    def _offer(self, incumbent: Incumbent) -> None:
        if self.best is None or incumbent.loss < self.best.loss:
            if incumbent.loss < self._proven:
                raise ContradictionError(self.problem, incumbent.loss, self._proven)
            self.best = incumbent

    @property
    def done(self) -> bool:
        """Whether nothing is left to search."""
        return not self._queue

    @property
    def to_beat(self) -> int:
        """The least loss known; more than any if there is none."""
        starts, loss = self.problem.start, self.problem.loss
        return int(loss[starts[1:] - 1].sum()) + 1 if self.best is None else self.best.loss

    @property
    def bound(self) -> int:
        """What every vector loses at least."""
        return self._queue[0].bound if self._queue else self.to_beat

    def _push(
        self, bound: int, groups: Ints, points: Ints, alive: Bytes, turn: Ints, pool: Floats
    ) -> None:
        if bound < self.to_beat:
            self._number += 1
            entry = _Open(bound, -len(groups), self._number, groups, points, alive, turn, pool)
            heapq.heappush(self._queue, entry)
            self._bytes += entry.bytes

    def run(self, limits: SearchLimits, tell: Callable[[], None] | None = None) -> None:
        """Search until it is done, or a limit is reached."""
        while self._queue and limits.left > 0:
            tests = ROUND * TESTS
            if limits.tests is not None:
                tests = min(tests, limits.tests - self.tested)
                if tests <= 0:
                    break
            full = limits.megabytes is not None and self._bytes > 1e6 * limits.megabytes
            self._proven = max(self._proven, self._queue[0].bound)
            subtrees = self._take(full)
            tests = max(tests // len(subtrees), 1)
            trees = map_pieces(
                lambda task: self._dive(*task), [(subtree, tests) for subtree in subtrees]
            )
            before = self.best
            self._learn([tree for tree, _ in trees])
            for tree, level in trees:
                if level >= 0:
                    self._open(tree, level)
            if self.best is not before:
                self._queue = [subtree for subtree in self._queue if subtree.bound < self.to_beat]
                heapq.heapify(self._queue)
                self._bytes = sum(subtree.bytes for subtree in self._queue)
            if tell is not None:
                tell()

    def _learn(self, trees: list[Tree]) -> None:
        """Take the best vector of some dives, and go up from there."""
        before = self.best
        for tree in trees:
            self.tested += int(tree.numbers[SO_FAR])
            self.nodes += int(tree.numbers[NODES])
            if tree.numbers[BEST] < self.to_beat:
                vector = tree.best / np.sqrt((tree.best**2).sum())
                self._offer(Incumbent(vector, int(tree.numbers[BEST])))
        if self.best is not None and self.best is not before:
            tolerance = self._lists.tolerance
            for incumbent in climbed(self.problem, tolerance, self._rng, self.best.vector):
                if incumbent.clear and self._counts(incumbent.vector):
                    self._offer(incumbent)
                elif not incumbent.clear:
                    self.unclear.append(incumbent)

    def _take(self, full: bool) -> list[_Open]:
        """Take the subtrees of least bound; with no room left, those that are soonest done."""
        if not full:
            subtrees = [heapq.heappop(self._queue) for _ in range(min(ROUND, len(self._queue)))]
        else:
            ordered = sorted(
                self._queue, key=lambda subtree: (-subtree.bound, subtree.depth, subtree.number)
            )
            subtrees, self._queue = ordered[:ROUND], ordered[ROUND:]
            heapq.heapify(self._queue)
        self._bytes -= sum(subtree.bytes for subtree in subtrees)
        return subtrees

    def _dive(self, subtree: _Open, tests: int) -> tuple[Tree, int]:
        """Search a subtree for a while; return what was written, and the level if not done."""
        problem, root = self.problem, len(subtree.groups)
        tree = new_tree(problem, root)
        tree.groups[:root] = subtree.groups
        tree.chosen[subtree.groups] = subtree.points
        tree.alive[0] = np.unpackbits(subtree.alive, count=len(problem.loss))
        tree.lost[0] = problem.loss[subtree.points].sum()
        tree.bound[0] = subtree.bound
        tree.turn[:] = subtree.turn
        tree.numbers[BEST] = self.to_beat
        self._fill_pool(tree, subtree)
        status, level = dive(self._lists, tree, tests)
        if status == FAILED:
            raise undecided()
        return tree, level if status == STOPPED else -1

    def _fill_pool(self, tree: Tree, subtree: _Open) -> None:
        problem = self.problem
        scores = np.empty(int(np.diff(problem.start).max()))
        winners = np.empty(problem.size, np.int64)
        arrays = problem.points, problem.start, problem.kin, problem.loss
        for slot, vector in enumerate(subtree.pool):
            assess(*arrays, vector, self._lists.tolerance, scores, winners)
            tree.pool[slot] = vector
            tree.wins[:, slot] = winners
            tree.member[0, slot] = (winners[subtree.groups] == subtree.points).all()
        tree.numbers[SLOT] = len(subtree.pool)

    def _open(self, tree: Tree, level: int) -> None:
        """Put the nodes on the way to the one where a dive stopped into the queue."""
        root = int(tree.numbers[ROOT])
        for k in range(level + 1):
            groups = tree.groups[: root + k].copy()
            alive = tree.alive[k].copy()
            if k < level:
                # What is below by this point is another entry.
                alive[tree.chosen[tree.groups[root + k]]] = 0
            inside = np.flatnonzero(tree.member[k])[-KEPT:]
            self._push(
                int(tree.bound[k]),
                groups,
                tree.chosen[groups],
                np.packbits(alive),
                tree.turn.copy(),
                tree.pool[inside].copy(),
            )
