"""Good vectors for many groups, within a time: climbs, and others from near the best ends.

Line searches along the axes and then in random directions, from vectors that are given and then
from the best one with a random change, one in four from anywhere (iterated local search). A few
climbs set out together; what is known of the best is exchanged between them alone, so that the
result does not depend on the cores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.parallel.local import map_pieces
from tunesmith.progress import progress
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.incumbent import Incumbent, assessed, climbed
from tunesmith.search.exact.problem import Problem

#: Climbs that set out together; one of them from anywhere.
TOGETHER = 4
#: Times that climbs set out, unless a time ends them.
ROUNDS = 8
#: Lines in a row that gain nothing, after which a climb ends.
PATIENCE = 16
#: How far a change leads, at least and at most, relative to the vector.
DISTANCE = (0.03, 1.0)
#: Vectors are brought within this share of the greatest angle.
WITHIN = 0.98


def local_search(
    problem: Problem,
    tolerance: float,
    rng: np.random.Generator,
    begins: Sequence[Floats],
    limits: SearchLimits,
    rounds: int | None = ROUNDS,
    towards: Floats | None = None,
    cosine: float = -1.0,
) -> list[Incumbent]:
    """Return the vectors given and the ends of climbs, the best first.

    Parameters
    ----------
    rounds
        Times that climbs set out; None is until the time ends.
    towards, cosine
        Which vectors count: see ``Tester``. Ends outside are brought to the border.
    """
    cap = None if towards is None or cosine <= 0.0 else Cap(towards, cosine)

    def climb(task: tuple[Floats, np.random.Generator]) -> list[Incumbent]:
        ends = climbed(problem, tolerance, task[1], task[0], limits, PATIENCE)
        if cap is not None:
            ends = assessed(
                problem, tolerance, [cap.nearest(incumbent.vector) for incumbent in ends]
            )
        return ends

    results = assessed(problem, tolerance, begins)
    waiting = [*begins]
    done = 0
    while limits.left > 0 and (waiting or rounds is None or done < rounds):
        batch, waiting = waiting[:TOGETHER], waiting[TOGETHER:]
        if not batch:
            done += 1
            batch = [_changed(results, problem.dimensions, rng, k, cap) for k in range(TOGETHER)]
        tasks = list(zip(batch, rng.spawn(len(batch)), strict=True))
        ends = [incumbent for end in map_pieces(climb, tasks) for incumbent in end]
        results = sorted([*results, *ends], key=lambda incumbent: incumbent.loss)
        if results:
            progress("climbing", done, rounds, f"best {problem.score(results[0].loss):.2f}")
        if results and results[0].loss == 0:
            break
    return results


class Cap:
    """The vectors with a cosine to one."""

    def __init__(self, towards: Floats, cosine: float) -> None:
        self.middle: Floats = towards / np.sqrt((towards**2).sum())
        self.cosine = cosine
        self.angle = float(np.arccos(min(cosine, 1.0)))

    def nearest(self, vector: Floats) -> Floats:
        """Return a vector inside, in the plane of the middle and one that may be outside."""
        along = float((vector * self.middle).sum())
        if along >= self.cosine * np.sqrt((vector**2).sum()):
            return vector
        across = vector - along * self.middle
        length = float(np.sqrt((across**2).sum()))
        if length == 0.0:
            return self.middle
        angle = WITHIN * self.angle
        inside: Floats = np.cos(angle) * self.middle + np.sin(angle) / length * across
        return inside


def _changed(
    incumbents: Sequence[Incumbent],
    size: int,
    rng: np.random.Generator,
    number: int,
    cap: Cap | None,
) -> Floats:
    """Return a vector near to the best one; the first of each round is from anywhere."""
    change = rng.standard_normal(size)
    if cap is not None and (number == 0 or not incumbents):
        return cap.nearest(cap.middle + np.tan(cap.angle) / np.sqrt(size) * change)
    if number == 0 or not incumbents:
        return change
    relative = float(np.exp(rng.uniform(*np.log(DISTANCE))))
    if cap is not None:
        relative *= np.sin(cap.angle)
    # The best has length 1: so much is the usual part of one of its values.
    near: Floats = incumbents[0].vector + relative / np.sqrt(size) * change
    return near
