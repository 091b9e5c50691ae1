"""A bound for many groups: what blocks of them lose at least, each by itself.

No vector can lose less on the whole than the sum of what the best vector of each block loses.
Blocks of few groups are solved exactly and quickly; then two that are done become one, whose
bound can only be higher. So the bound rises for as long as there is time. Groups that exclude each
other come together, as far as a sample tells (``grouping``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.parallel.local import map_pieces
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.cones.grouping import Grouping
from tunesmith.search.exact.cones.search import ConeSearch
from tunesmith.search.exact.extreme import TOLERANCE
from tunesmith.search.exact.incumbent import Incumbent, reassessed
from tunesmith.search.exact.problem import Problem

#: Groups of a block at first.
FIRST = 8
#: Tests in each block, in a row. Fixed, so that the result does not depend on the cores.
TESTS = 12000
#: Blocks that are looked at together, between two looks at the clock.
TOGETHER = 8
#: Vectors of the sample that the search of a block begins with.
BEGINS = 4


@dataclass(eq=False)
class _GroupBlock:
    """Some groups, and what they lose at least, also by what is known of their parts."""

    groups: Ints
    floor: int
    search: ConeSearch

    @property
    def bound(self) -> int:
        return max(self.floor, self.search.bound)

    @property
    def done(self) -> bool:
        return self.search.done or self.bound >= self.search.to_beat


class BlockBound:
    """A bound on what any vector loses, that rises with time.

    Parameters
    ----------
    problem
        Points and losses.
    tolerance
        What counts as a win.
    towards, cosine
        Which vectors count: see ``Tester``.
    known
        Vectors to begin with.
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
        self.tolerance = tolerance
        self._about = tolerance, towards, cosine
        self._known = known
        self._blocks: list[_GroupBlock] = []
        # The group of a region is in every block.
        self._shared = np.flatnonzero(problem.groups < 0)
        self._grouping: Grouping | None = None
        self._waiting: list[Ints] = []
        self._merged = 0

    @property
    def bound(self) -> int:
        """What every vector loses at least, by all that is known now."""
        return sum(block.bound for block in self._blocks)

    @property
    def tested(self) -> int:
        """Choices tested so far."""
        return self._merged + sum(block.search.tested for block in self._blocks)

    @property
    def done(self) -> bool:
        """Whether all groups are one block, and that is solved."""
        is_whole = self._grouping is not None and not self._waiting and len(self._blocks) == 1
        return is_whole and self._blocks[0].done

    @property
    def sizes(self) -> list[int]:
        """How many groups each block has."""
        return [len(block.groups) for block in self._blocks]

    def best(self) -> list[Incumbent]:
        """Return the best vector of each block, as good as it is for all groups."""
        incumbents = [block.search.best for block in self._blocks]
        vectors = [incumbent.vector for incumbent in incumbents if incumbent is not None]
        return reassessed(self.problem, self.tolerance, vectors)

    def run(
        self,
        limits: SearchLimits,
        largest: int | None = None,
        tell: Callable[[], None] | None = None,
    ) -> None:
        """Go on until a limit is reached, or no block can be made larger than the largest."""
        if self._grouping is None and limits.left > 0:
            groups = np.flatnonzero(self.problem.groups >= 0)
            self._grouping = Grouping.of(self.problem, self._known, limits, *self._about[1:])
            self._waiting = self._grouping.blocks(groups, FIRST)
        while limits.left > 0 and (limits.tests is None or self.tested < limits.tests):
            if self._waiting:
                batch, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
                self._blocks += map_pieces(lambda groups: self._begin(groups, 0, limits), batch)
            else:
                merged = self._merge(largest, limits)
                open_ones = [block for block in self._blocks if not block.done]
                if not open_ones and not merged:
                    return
                for k in range(0, len(open_ones), TOGETHER):
                    map_pieces(
                        lambda block: _go_on(block, limits, len(self._blocks)),
                        open_ones[k : k + TOGETHER],
                    )
                    if limits.left <= 0:
                        break
                    if tell is not None:
                        tell()
            if tell is not None:
                tell()

    def _begin(self, groups: Ints, floor: int, limits: SearchLimits) -> _GroupBlock:
        part = self.problem.part(np.concatenate([self._shared, groups]))
        vectors = [incumbent.vector for incumbent in self._known]
        if self._grouping is not None:
            vectors += self._grouping.good_for(groups, BEGINS)
        known = reassessed(part, self.tolerance, vectors)
        block = _GroupBlock(groups, floor, ConeSearch(part, *self._about, known))
        _go_on(block, limits, len(self._blocks))
        return block

    def _merge(self, largest: int | None, limits: SearchLimits) -> bool:
        """Make one of every two blocks that are done, the smallest first; tell if there were."""
        most = self.problem.size if largest is None else largest
        pairs = self._pairs(most)
        gone = {id(block) for pair in pairs for block in pair}
        self._merged += sum(a.search.tested + b.search.tested for a, b in pairs)
        self._blocks = [block for block in self._blocks if id(block) not in gone]
        for k in range(0, len(pairs), TOGETHER):
            self._blocks += map_pieces(
                lambda pair: self._join(*pair, limits), pairs[k : k + TOGETHER]
            )
        return bool(pairs)

    def _pairs(self, most: int) -> list[tuple[_GroupBlock, _GroupBlock]]:
        """Return blocks that are done in pairs: of the smallest those that gain most together."""
        ready = [block for block in self._blocks if block.done]
        ready.sort(key=lambda block: len(block.groups))
        pairs = []
        while len(ready) > 1:
            first = ready.pop(0)
            size = len(ready[0].groups)
            if len(first.groups) + size > most:
                break
            same = [block for block in ready if len(block.groups) == size]
            other = same[0]
            if self._grouping is not None:
                gains = [self._grouping.beyond(first.groups, partner.groups) for partner in same]
                other = same[int(np.argmax(gains))]
            ready.remove(other)
            pairs.append((first, other))
        return pairs

    def _join(self, a: _GroupBlock, b: _GroupBlock, limits: SearchLimits) -> _GroupBlock:
        return self._begin(np.concatenate([a.groups, b.groups]), a.bound + b.bound, limits)


def _go_on(block: _GroupBlock, limits: SearchLimits, blocks: int) -> None:
    """Search a block for a while, with its share of the memory."""
    tests = block.search.tested + TESTS
    left = None if limits.seconds is None else max(limits.left, 0.0)
    memory = None if limits.megabytes is None else limits.megabytes / max(blocks, 1)
    block.search.run(SearchLimits(left, tests, memory))
