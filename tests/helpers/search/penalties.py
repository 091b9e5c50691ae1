"""Random lines with a penalty, and a dense scan of them that shares no code with the package."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from tests.helpers.builders import Mean, candidate_set
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.line.penalties import NonZero, NormalisedSquare, SquaredDistance
from tunesmith.search.line.search import EVERYWHERE
from tunesmith.tasks.lists import TuningSet

KINDS = ("l2-prior", "l2-fixed", "l2-normalized", "l0")
WIDTH = 4
#: Whole numbers times steps of so many binary places add up without rounding: ties stay ties.
PLACES = 2.0**32


def plain_penalty(kind, weights, centre):
    """Return R of each row of weights, as the paper has it."""
    if kind == "l2-prior":
        return ((weights - centre) ** 2).sum(axis=1)
    if kind == "l2-fixed":
        return (weights[:, 1:] ** 2).sum(axis=1)
    if kind == "l0":
        return np.count_nonzero(weights, axis=1)
    length = np.abs(weights).sum(axis=1, keepdims=True)
    shares = weights / np.where(length > 0, length, 1.0)
    return np.where(length[:, 0] > 0, (shares**2).sum(axis=1), 1.0)


def make_penalty(kind, strength, centre):
    size = len(centre)
    return {
        "l2-prior": SquaredDistance(strength, centre, np.ones(size)),
        "l2-fixed": SquaredDistance(strength, np.zeros(size), (np.arange(size) > 0).astype(float)),
        "l2-normalized": NormalisedSquare(strength),
        "l0": NonZero(strength),
    }[kind]


class Task:
    """A random set, weights, a direction, limits and a penalty.

    With whole numbers there are ties, equal slopes and duplicates.
    """

    def __init__(self, seed, kind, strength, whole, limits=EVERYWHERE, metric=None):
        self.seed, self.kind, self.strength, self.whole = seed, kind, strength, whole
        self.limits, self.metric = limits, metric or Mean()
        rng = np.random.default_rng(seed)
        self._draw(rng)
        self.centre = rng.choice([0.0, 1.0, rng.normal()], WIDTH)
        self.penalty = make_penalty(kind, strength, self.centre)
        self.direction = Direction.of(self.vector, "any")
        sparse = [[], [1, 2], [0, 1, 2, 3]][rng.integers(3)]
        # A ratio of sums: the gain of several groups is not the sum of their gains.
        size = rng.integers(1, 4, sum(map(len, self.blocks)))
        stats = np.stack([rng.integers(0, 11, len(size)) * size / 10, size], axis=1)
        candidates = candidate_set([b.tolist() for b in self.blocks], sparse)
        self.tuning = TuningSet(candidates, self.metric, stats)
        self.hypotheses = ListHypotheses(self.tuning)
        self.point = self.hypotheses.point(self.weights)
        self.start = self.tuning.candidates.start
        # As the set orders its features: the dense ones first.
        order = [int(name[1:]) for name in self.hypotheses.names]
        self.rows = np.concatenate(self.blocks).astype(float)[:, order]
        size = np.abs(self.weights).max()
        self.reach = size / np.abs(self.vector).max() if size > 0 else 1.0

    def __repr__(self):
        drawn = self.seed, self.kind, self.strength, self.whole, self.limits
        return f"Task{drawn}, {self.metric.name}"

    def _draw(self, rng):
        sizes = rng.integers(1, 6, 3)
        if self.whole:
            self.blocks = [rng.integers(-2, 3, (n, WIDTH)) for n in sizes]
            self.weights = rng.choice([0.0, 0.0, 1.0, -1.0, 2.0, 0.5], WIDTH)
            self.vector = rng.choice([0.0, 1.0, -1.0, 2.0], WIDTH)
        else:
            self.blocks = [rng.standard_normal((n, WIDTH)) for n in sizes]
            self.weights = rng.standard_normal(WIDTH) * (rng.random(WIDTH) < 0.8)
            self.vector = rng.standard_normal(WIDTH) * (rng.random(WIDTH) < 0.6)
        for d in np.flatnonzero(rng.random(WIDTH) < 0.2):
            for block in self.blocks:
                block[:, d] = rng.integers(3)  # constant in a group
        if rng.random() < 0.2:
            self.weights[:] = 0.0
        if rng.random() < 0.2:
            self.vector = -0.5 * self.weights  # through the origin
        if rng.random() < 0.3 or not self.vector.any():
            self.vector = np.zeros(WIDTH)
            self.vector[rng.integers(WIDTH)] = rng.choice([1.0, 1.0, -0.5])

    def at(self, steps):
        """Return the weights after each step; what rounding has left over is 0."""
        change = np.multiply.outer(steps, self.vector)
        size = np.abs(self.weights) + np.abs(change)
        moved = self.weights + change
        return np.where(np.abs(moved) <= 4e-14 * size, 0.0, moved)

    def winners(self, weights):
        scores = weights @ self.rows.T
        pairs = itertools.pairwise(self.start)
        return np.stack([lo + scores[:, lo:hi].argmax(axis=1) for lo, hi in pairs], axis=1)

    def exact_winners(self, step):
        """Return the winners after a step, without any rounding."""
        moved = [
            Fraction(w) + Fraction(step) * Fraction(d) if left else Fraction(0)
            for w, d, left in zip(self.weights, self.vector, self.at([step])[0], strict=True)
        ]
        scores = [sum(w * Fraction(h) for w, h in zip(moved, r, strict=True)) for r in self.rows]
        pairs = itertools.pairwise(self.start)
        return np.array([[max(range(*p), key=lambda i: (scores[i], -i)) for p in pairs]])

    def gains(self, winners):
        return self.metric.gain(self.tuning.stats[winners].sum(axis=1))

    def penalties(self, weights):
        return self.strength * plain_penalty(self.kind, weights, self.centre)

    def edges(self):
        """Return where winners change, sorted; those that coincide but for rounding once."""
        scores, slopes = self.rows @ self.weights, self.rows @ self.vector
        found = sorted(
            (scores[i] - scores[j]) / (slopes[j] - slopes[i])
            for lo, hi in itertools.pairwise(self.start)
            for i, j in itertools.combinations(range(lo, hi), 2)
            if abs(slopes[i] - slopes[j]) > 1e-12
        )
        apart = np.array([x for k, x in enumerate(found) if k == 0 or x - found[k - 1] > 1e-9])
        if len(apart) == 0:
            return apart
        middles = np.concatenate([[apart[0] - 1], (apart[1:] + apart[:-1]) / 2, [apart[-1] + 1]])
        winners = self.winners(self.at(self.rounded(middles)))
        return apart[(winners[1:] != winners[:-1]).any(axis=1)]

    def rounded(self, steps):
        return np.round(steps * PLACES) / PLACES if self.whole else np.asarray(steps)

    def scan(self):
        """Return many steps, on either side of every edge and of every turn of a weight.

        None is nearer to an edge than the search may come, nor farther away than it may go.
        """
        least, greatest = self.limits
        edges = self.edges()
        begin = max(edges[-1], least) if len(edges) else least
        end = min(edges[0], greatest) if len(edges) else greatest
        first = self._beyond(end, -1) if least == -np.inf else least
        last = self._beyond(begin, 1) if greatest == np.inf else greatest
        turns = -self.weights[self.direction.features] / self.direction.values
        near = np.array([-1e-3, -1e-6, 1e-6, 1e-3]) * self.reach
        special = np.concatenate([turns, *np.add.outer(turns, near)])
        steps = [np.zeros(1)]
        for low, high in itertools.pairwise(
            [first, *edges[(first < edges) & (edges < last)], last]
        ):
            if high - low > 1e-6 * max(abs(low), abs(high)):
                one, other = (self._margin(x, high - low, edges) for x in (low, high))
                inside = special[(low + one <= special) & (special <= high - other)]
                steps += [np.linspace(low + one, high - other, 200), inside]
            if self.kind == "l0":  # a step that cannot be elsewhere may come nearer
                one, other = (self._margin(x, 1e-12, edges, 1e-9) for x in (low, high))
                steps.append(turns[(low + one <= turns) & (turns <= high - other)])
        # Far out on the unbounded intervals too; whole numbers far out are no longer exact.
        if not self.whole:
            far = self.reach * np.geomspace(1.0, 1e7, 100)
            steps += [first - far] if least == -np.inf else []
            steps += [last + far] if greatest == np.inf else []
        return self.rounded(np.concatenate(steps))

    def _beyond(self, end, sign):
        away = 9.9 * max(self.reach, abs(end)) if np.isfinite(end) else 9.9 * self.reach
        return (end if np.isfinite(end) else 0.0) + sign * away

    def _margin(self, end, width, edges, least=0.0):
        size = max(abs(end), self.reach)
        if not (np.abs(edges - end) < 1e-8 * size).any():
            return 0.0
        return max(least * size, min(2e-3 * width, 2e-6 * size))
