"""The exact optimum of any metric over a plane of weights (Waite and Byrne 2015).

Only the direction of the weights counts, so all weights of three features are a sphere, and
the weights w0 + x d1 + y d2 of a plane are half of one. Every group divides it by arcs into
the cells of its winners (:mod:`tunesmith.search.plane.arcs`); the arcs of all groups together
cut it into regions within which no winner changes and the metric is constant. Walks beside
all arcs come through all regions (:mod:`tunesmith.search.plane.walk`), and the best region is
entered at the centre of its largest disc (:mod:`tunesmith.search.plane.disc`).

**Tolerance.** Weights are in units in which each feature has the spread 1. A region counts if
it holds a disc: if weights in it can change by the share τ of their length, whichever way,
without a change of any winner. Others are rounding, and no weights of few digits are in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.rows import offsets
from tunesmith.errors import UsageError
from tunesmith.inference.hypotheses import Point
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.interruption import is_interrupted
from tunesmith.kernels.compiling import working_seconds
from tunesmith.parallel.local import map_pieces, thread_count
from tunesmith.progress import progress
from tunesmith.search.plane.arcs import Arcs, divide
from tunesmith.search.plane.disc import disc
from tunesmith.search.plane.walk import Ground, Stretches, walk

#: The radius of the smallest region that counts.
TOLERANCE = 1e-7
#: Arcs that are walked along in one piece of work, and stretches that are remembered of them.
PIECE, MOST = 64, 32
#: Pieces for each thread between two looks at the clock.
ROUND = 8
#: Regions of equal gain of which the one with the largest disc is looked for.
EQUALS = 64
#: Gains that differ by less, relative to their size, are equal: sums of numbers that are not
#: whole depend on their order.
SAME_GAIN = 1e-12
#: A direction that is in the span of others but for this share of its length adds nothing.
INDEPENDENT = 1e-10


@dataclass(frozen=True)
class Slice:
    """The weights that are searched: up to three dimensions, through the origin or not.

    Attributes
    ----------
    basis : float64[3, D]
        Weights of u are u @ basis; unused rows are 0.
    half : float64[3]
        A unit vector; only u with half·u > 0 are in the slice. 0 if all are.
    origin : float64[D], directions : float64[2, D]
        Of a plane that is not through 0: its weights are origin + x, y @ directions.
    places : float64[3, 3]
        Where on the slice both directions and the origin are, a row each.
    """

    basis: Floats
    half: Floats
    origin: Floats
    directions: Floats
    places: Floats

    @classmethod
    def whole(cls, spread: Floats) -> Slice:
        """Return all weights of up to three features."""
        if len(spread) > 3:
            raise UsageError(
                f"there are {len(spread)} features; a search in a plane takes at most 3, "
                "or two directions"
            )
        basis = np.zeros((3, len(spread)))
        np.fill_diagonal(basis, 1.0 / spread)
        nothing = np.zeros((3, len(spread)))
        return cls(basis, np.zeros(3), nothing[0], nothing[1:], np.zeros((3, 3)))

    @classmethod
    def plane(cls, spread: Floats, origin: Floats, first: Floats, second: Floats) -> Slice:
        """Return the weights origin + x first + y second.

        ``spread`` is the size of each feature. A plane through 0 is taken as one: there the
        weights of the directions alone, of whatever scale, are all that counts.
        """
        rows: list[Floats] = []
        for vector in (first, second, origin):
            rest = vector * spread
            size = float(np.linalg.norm(rest))
            for _ in range(2):  # once more for what rounding has left
                for row in rows:
                    rest = rest - (row @ rest) * row
            left = float(np.linalg.norm(rest))
            if left > INDEPENDENT * size:
                rows.append(rest / left)
            elif vector is not origin:
                raise UsageError("the two directions are one; give two that differ")
        units = np.zeros((3, len(spread)))
        units[: len(rows)] = np.array(rows)
        half = np.zeros(3)
        half[2] = float(len(rows) == 3)
        places = (np.array([first, second, origin]) * spread) @ units.T
        return cls(units / spread, half, origin, np.array([first, second]), places)

    def weights(self, u: Floats) -> Floats:
        """Return the weights of a point of the sphere, those of the plane where it is one."""
        if not self.half.any():
            scaled: Floats = u @ self.basis
            return scaled
        return self.origin + self.steps(u) @ self.directions

    def steps(self, u: Floats) -> Floats:
        """Return x and y of a point of the sphere."""
        way = u * (self.places[2, 2] / u[2]) - self.places[2]
        steps: Floats = np.linalg.solve(self.places[:2, :2].T, way[:2])
        return steps


@dataclass(frozen=True)
class PlaneResult:
    """The best of a slice.

    Attributes
    ----------
    point
        The weights, evaluated from scratch.
    radius
        That of the largest disc around them in which no winner changes.
    complete
        Whether all regions were looked at, so that none is better.
    lines, total
        Walks made, and those there are.
    stretches
        Parts of walks that were scored.
    """

    point: Point | None
    radius: float
    complete: bool
    lines: int
    total: int
    stretches: int


def search_slice(
    hypotheses: ListHypotheses,
    where: Slice,
    tolerance: float = TOLERANCE,
    until: float = np.inf,
) -> PlaneResult:
    """Return the best weights of a slice.

    Parameters
    ----------
    hypotheses
        Candidates and statistics.
    where
        The weights to choose from.
    tolerance
        The radius τ of the smallest region that counts.
    until
        When to stop, by :func:`~tunesmith.kernels.compiling.working_seconds`, with the best
        found so far.
    """
    return _Search(hypotheses, where, tolerance).run(until)


class _Search:
    """One search: the winners, the arcs, and the best points next to them."""

    def __init__(self, hypotheses: ListHypotheses, where: Slice, tolerance: float) -> None:
        self.hypotheses = hypotheses
        self.where = where
        self.tolerance = tolerance
        self.ground, self.arcs = _survey(hypotheses, where, tolerance)
        # A stop at a time limit should have seen a bit of everything.
        order = np.random.default_rng(0).permutation(len(self.arcs))
        self.pieces = [order[k : k + PIECE] for k in range(0, len(order), PIECE)]

    def run(self, until: float) -> PlaneResult:
        if not len(self.arcs):
            inside = self.where.half if self.where.half.any() else np.eye(3)[0]
            only = self.hypotheses.point(self.where.weights(inside))
            return PlaneResult(only, 1.0, True, 0, 0, 0)
        walked: list[Stretches] = []
        size = ROUND * thread_count()
        while len(walked) < len(self.pieces) and working_seconds() < until and not is_interrupted():
            walked += map_pieces(self._walk, self.pieces[len(walked) : len(walked) + size])
            progress("regions", len(walked), len(self.pieces))
        point, radius = self._judge(walked)
        return PlaneResult(
            point,
            radius,
            len(walked) == len(self.pieces),
            2 * sum(map(len, self.pieces[: len(walked)])),
            2 * len(self.arcs),
            sum(stretches.seen for stretches in walked),
        )

    def _walk(self, chosen: Ints, most: int = MOST) -> Stretches:
        metric = self.hypotheses.metric
        return walk(self.ground, self.arcs, chosen, metric, self.tolerance, most)

    def _again(self, piece: int, most: int) -> Stretches:
        return self._walk(self.pieces[piece], most)

    def _judge(self, walked: list[Stretches]) -> tuple[Point | None, float]:
        """Enter the best region that counts."""
        most = MOST
        while True:
            point, radius, gain = self._first_that_counts(walked)
            # What was not remembered might have been better than what counts.
            same = SAME_GAIN * max(1.0, abs(gain)) if np.isfinite(gain) else 0.0
            short = [k for k, stretches in enumerate(walked) if stretches.rest > gain + same]
            if not short:
                return point, radius
            most *= 16
            again = map_pieces(partial(self._again, most=most), short)
            for k, stretches in zip(short, again, strict=True):
                walked[k] = stretches

    def _first_that_counts(self, walked: list[Stretches]) -> tuple[Point | None, float, float]:
        gains = np.concatenate([stretches.gains for stretches in walked] or [np.empty(0)])
        widths = np.concatenate([stretches.widths for stretches in walked] or [np.empty(0)])
        middles = np.concatenate([stretches.middles for stretches in walked] or [np.empty((0, 3))])
        order = np.lexsort((-widths, -gains))
        best: tuple[Point | None, float, float] = None, 0.0, -np.inf
        looked = 0
        for k in order:
            gain = float(gains[k])
            same = SAME_GAIN * max(1.0, abs(gain))
            if gain < best[2] - same or (best[0] is not None and looked >= EQUALS):
                break
            looked += 1
            centre, radius = disc(
                self.ground.points, self.ground.start, self.where.half, middles[k]
            )
            if radius < self.tolerance:
                continue
            point = self.hypotheses.point(self.where.weights(centre))
            if point.gain > best[2] + same or (point.gain >= best[2] - same and radius > best[1]):
                best = point, radius, point.gain
        return best


def _survey(hypotheses: ListHypotheses, where: Slice, tolerance: float) -> tuple[Ground, Arcs]:
    """Project all candidates on the slice, and find the arcs of all groups."""
    points = hypotheses.features.dot(where.basis).T
    start = hypotheses.start
    members = np.diff(start)
    sizes = np.maximum.reduceat(np.sqrt(np.square(points).sum(axis=1)), start[:-1])
    # Only differences within a group count, and small numbers are rounded less.
    means = np.add.reduceat(points, start[:-1]) / members[:, None]
    points = np.ascontiguousarray(points - np.repeat(means, members, axis=0))
    division = divide(points, start, sizes, where.half, tolerance)
    counts = np.diff(division.start)
    several = np.repeat(counts > 1, counts)
    stats = hypotheses.tuning.stats
    wide = np.int64 if np.issubdtype(stats.dtype, np.integer) else np.float64
    corner_stats = stats[division.corners].astype(wide)
    ground = Ground(
        np.ascontiguousarray(points[division.corners[several]].T),
        offsets(counts[counts > 1]),
        corner_stats[several],
        corner_stats[~several].sum(axis=0),
    )
    return ground, division.arcs
