"""Which groups are put into one block: those that cannot lose little together.

A block's bound says more than the bounds of its groups where no vector is good for all of them.
How much more is estimated on a sample of vectors, each good for a few groups: what the best of
the sample loses on a block, beyond what the best for each group loses. The bound itself does not
depend on the sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.parallel.local import map_pieces
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.incumbent import Incumbent, assess, climbed
from tunesmith.search.exact.local_search import Cap
from tunesmith.search.exact.problem import Problem

#: Vectors of the sample, groups that each is good for, and lines in a row that gain nothing after
#: which a climb there ends.
SAMPLE, GOOD_FOR, PATIENCE = 96, 6, 12
#: How far from a known vector a climb begins, at least and at most, relative to it.
DISTANCE = (0.1, 3.0)
#: Climbs between two looks at the clock; what share of the time they may take.
TOGETHER, SHARE = 8, 0.1


class Grouping:
    """A sample of vectors, and what each group loses under them beyond its least.

    Attributes
    ----------
    vectors : float64[K, D]
        ``excess`` float64[K, S] is what groups lose under them, less the least of the sample.
    """

    def __init__(self, vectors: Floats, losses: Ints) -> None:
        self.vectors = vectors
        least = losses.min(axis=0) if len(losses) else np.zeros(losses.shape[1])
        self.excess: Floats = (losses - least).astype(np.float64)

    @classmethod
    def of(
        cls,
        problem: Problem,
        known: Sequence[Incumbent],
        limits: SearchLimits,
        towards: Floats | None = None,
        cosine: float = -1.0,
    ) -> Grouping:
        """Draw a sample: climbs on a few groups each, from near the best vector known."""
        cap = None if towards is None or cosine <= 0.0 else Cap(towards, cosine)
        rng = np.random.default_rng(1)
        limits = limits.part(SHARE)
        shared = np.flatnonzero(problem.groups < 0)
        groups = np.flatnonzero(problem.groups >= 0)
        vectors = [incumbent.vector for incumbent in known[:1]]

        def climb(generator: np.random.Generator) -> list[Floats]:
            chosen = generator.permutation(groups)[:GOOD_FOR]
            part = problem.part(np.concatenate([shared, chosen]))
            begin = generator.standard_normal(problem.dimensions)
            if known:
                far = np.exp(generator.uniform(*np.log(DISTANCE))) / np.sqrt(problem.dimensions)
                begin = known[0].vector + far * begin
            ends = climbed(part, 0.0, generator, begin, patience=PATIENCE)
            return [
                incumbent.vector if cap is None else cap.nearest(incumbent.vector)
                for incumbent in ends
            ]

        for _ in range(0, SAMPLE, TOGETHER):
            if limits.left <= 0:
                break
            vectors += [end for ends in map_pieces(climb, rng.spawn(TOGETHER)) for end in ends]
        return cls(np.array(vectors).reshape(-1, problem.dimensions), _losses(problem, vectors))

    def beyond(self, *parts: Ints) -> float:
        """Return what the groups of parts lose together beyond what each part does."""
        if not len(self.vectors):
            return 0.0
        lost = [self.excess[:, part].sum(axis=1) for part in parts]
        return float(sum(lost).min() - sum(losses.min() for losses in lost))

    def blocks(self, groups: Ints, size: int) -> list[Ints]:
        """Return groups in blocks of a size, those together that exclude each other most."""
        left = groups.copy()
        blocks = []
        while len(left):
            value = np.zeros(len(self.vectors))
            block: list[int] = []
            while len(left) and len(block) < size:
                at = 0
                if len(self.vectors):
                    # The first of a block is the one that is hardest for all; what it loses
                    # decides who is hardest to please beside it.
                    both = value[:, None] + self.excess[:, left]
                    at = int((both.min(axis=0) if block else both.mean(axis=0)).argmax())
                    value = both[:, at]
                block.append(int(left[at]))
                left = np.delete(left, at)
            blocks.append(np.array(block, np.int64))
        return blocks

    def good_for(self, groups: Ints, count: int) -> list[Floats]:
        """Return the vectors of the sample under which some groups lose least."""
        order = np.argsort(self.excess[:, groups].sum(axis=1), kind="stable")
        return [self.vectors[k] for k in order[:count]]


def _losses(problem: Problem, vectors: Sequence[Floats]) -> Ints:
    """Return what each group loses under each vector [K, S]."""
    scores = np.empty(int(np.diff(problem.start).max(initial=0)))
    winners = np.empty(problem.size, np.int64)
    arrays = problem.points, problem.start, problem.kin, problem.loss
    losses = np.empty((len(vectors), problem.size), np.int64)
    for k, vector in enumerate(vectors):
        assess(*arrays, vector, 0.0, scores, winners)
        # A vector of no length has no winners; it is as good as any other.
        losses[k] = problem.loss[np.where(winners < 0, problem.start[:-1], winners)]
    return losses
