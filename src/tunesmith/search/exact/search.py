"""The best vector, and a bound on all others, for any number of groups and within limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.errors import TunesmithError
from tunesmith.parallel.local import map_pieces
from tunesmith.search.exact import in_plane
from tunesmith.search.exact.bisection.search import MOST_FEATURES, Bisection
from tunesmith.search.exact.certificate import (
    ContradictionError,
    ExactResult,
    SearchLimits,
    Tell,
)
from tunesmith.search.exact.cones.blocks import BlockBound
from tunesmith.search.exact.cones.search import ConeSearch
from tunesmith.search.exact.extreme import TOLERANCE, Tester
from tunesmith.search.exact.incumbent import (
    STARTS,
    Incumbent,
    climbed,
    incumbents,
    unclear_among,
)
from tunesmith.search.exact.local_search import local_search
from tunesmith.search.exact.problem import Problem

#: Up to so many groups one tree of cones is all there is.
ONE_TREE = 24
#: With more, blocks of so many are solved first, and take this share of the limits at most.
BLOCK, SHARE = 16, 0.5
#: With more than one tree's groups climbs take this share of the time.
CLIMBING = 0.2
#: Times that climbs set out where features are few: the search itself finds the rest, and where it
#: ends by itself the result does not depend on the clock.
FEW_ROUNDS = 3
#: With more groups than this a tree of all of them leads nowhere.
NO_TREE = 96
#: So far vectors are moved from the limits of a region, relative to their length.
NUDGE = 1e-4
#: Vectors of blocks from which a way up on all groups is tried.
BEST_OF_BLOCKS = 8


def first_incumbents(
    problem: Problem,
    tolerance: float,
    rng: np.random.Generator,
    begins: Sequence[Floats],
    limits: SearchLimits,
    towards: Floats | None = None,
    cosine: float = -1.0,
) -> list[Incumbent]:
    """Return vectors to begin a search with, the best first; those given are among them."""
    if problem.region is not None:
        # On the limits of a region nobody is inside by the tolerance; just beside them one is.
        alone = problem.part([0])
        inside = Tester(alone, tolerance).test(np.zeros(1, np.int64)).vector
        if inside is None:
            raise TunesmithError(
                "the box or the restrictions on weights leave less room than the tolerance; widen "
                "them, or fix the weight"
            )
        near = [v + NUDGE * np.sqrt((v**2).sum()) * inside for v in begins]
        begins = [*begins, *near, inside]
    if problem.size <= ONE_TREE:
        return incumbents(problem, tolerance, rng, begins, STARTS, limits)
    rounds = 0 if limits.seconds is None else None
    if rounds is None and problem.dimensions <= MOST_FEATURES:
        rounds = FEW_ROUNDS
    options = limits.part(CLIMBING), rounds, towards, cosine
    return local_search(problem, tolerance, rng, begins, *options)


def exact_search(
    problem: Problem,
    known: Sequence[Incumbent],
    rng: np.random.Generator,
    *,
    tolerance: float = TOLERANCE,
    towards: Floats | None = None,
    cosine: float = -1.0,
    limits: SearchLimits | None = None,
    tell: Tell | None = None,
) -> ExactResult:
    """Find the vector that loses least, and what every vector loses at least.

    Parameters
    ----------
    known
        Vectors to begin with.
    rng
        For what is tried on the way. What is proven does not depend on it.
    tolerance, towards, cosine
        What counts as a win, and which vectors count: see ``Tester``.
    tell
        Called now and then.
    """
    limits = limits or SearchLimits()
    tell = tell or (lambda loss, bound, tested: None)
    settings = tolerance, towards, cosine
    bound, tested = 0, 0
    if problem.dimensions <= MOST_FEATURES and problem.size > ONE_TREE:
        return _bisected(problem, known, settings, limits, tell)
    if problem.size > ONE_TREE:
        blocks = BlockBound(problem, *settings, known)

        def say() -> None:
            clear = [incumbent.loss for incumbent in known if incumbent.clear]
            if clear:
                tell(min(clear), blocks.bound, blocks.tested)

        blocks.run(limits.part(SHARE), BLOCK, say)
        if problem.size > NO_TREE:
            blocks.run(limits, None, say)
        bound, tested = blocks.bound, blocks.tested
        known = [*known, *_spread_out(problem, tolerance, blocks, rng, limits)]
    tree = ConeSearch(problem, *settings, known)
    if problem.size <= NO_TREE and tree.to_beat > bound:
        if limits.tests is not None:
            limits = dataclasses.replace(limits, tests=limits.tests - tested)

        def say_more() -> None:
            if tree.best is not None:
                tell(tree.best.loss, max(tree.bound, bound), tested + tree.tested)

        tree.run(limits, say_more)
    bound = max(tree.bound, bound)
    if tree.best is not None and tree.best.loss < bound:
        raise ContradictionError(problem, tree.best.loss, bound)
    return ExactResult(
        None if tree.best is None else tree.best.vector,
        tree.to_beat,
        bound,
        tested + tree.tested,
        unclear_among(problem, [*known, *tree.unclear], bound, *settings),
    )


def _bisected(
    problem: Problem,
    known: Sequence[Incumbent],
    settings: tuple[float, Floats | None, float],
    limits: SearchLimits,
    tell: Tell,
) -> ExactResult:
    """Bisect cones: what few features and many groups want."""
    search = Bisection(problem, *settings, known)

    def say() -> None:
        if search.best is not None:
            tell(search.best.loss, search.bound, search.seen)

    few = problem.dimensions <= in_plane.MOST_FEATURES
    search.run(limits.part(SHARE) if few and limits.seconds is not None else limits, say)
    best = None if search.best is None else search.best.vector
    unclear = unclear_among(problem, search.unclear, search.bound, *settings)
    return ExactResult(best, search.to_beat, search.bound, search.seen, unclear)


def _spread_out(
    problem: Problem,
    tolerance: float,
    blocks: BlockBound,
    rng: np.random.Generator,
    limits: SearchLimits,
) -> list[Incumbent]:
    """Go up from what is best for some blocks, among all groups."""
    begins = blocks.best()[:BEST_OF_BLOCKS]
    tasks = list(zip(begins, rng.spawn(len(begins)), strict=True))
    ends = map_pieces(
        lambda task: climbed(problem, tolerance, task[1], task[0].vector, limits), tasks
    )
    return begins + [incumbent for end in ends for incumbent in end]


def compile_kernels(problem: Problem, tolerance: float) -> None:
    """Compile what a search needs, if it never was, on a problem that is solved at once.

    It takes most of a minute, which would be gone from a limit on time.
    """
    few = problem.part(np.arange(min(problem.size, 2)))
    known = incumbents(few, tolerance, np.random.default_rng(1), starts=1)
    ConeSearch(few, tolerance, known=known).run(SearchLimits(tests=4))
