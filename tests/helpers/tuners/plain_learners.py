"""Several learners written out plainly: full vectors, all sums in full, one after the other."""

from __future__ import annotations

import numpy as np

from tunesmith.inference.examples import difference
from tunesmith.inference.lists.examples import ListExamples
from tunesmith.search.working_set.solver import WorkingSet
from tunesmith.tuners.min_risk import MinRisk
from tunesmith.tuners.online.arow import AROW
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.online.sgd import SGD


class PlainLearner:
    """One learner: Algorithm 1, 2 or 3."""

    def __init__(self, tuner, tuning, objective, start, rates, unit):
        self.tuner, self.unit = tuner, unit
        self.examples = ListExamples(tuning)
        self.scorer = objective.begin(tuning, "examples")
        self.weights, self.rates = start.copy(), rates.copy()
        self.seen, self.total = [], 0

    def learn(self, group, epoch, received=()):
        """Learn from a sentence; return the working set."""
        example = self.examples.example(int(group), self.scorer)
        best = example.best(self.weights)
        x, shared = self.vector(example, best, epoch, received)
        self.weights = self.weights + self.rates * x
        if isinstance(self.tuner, AROW):
            self.rates = 1.0 / (1.0 / self.rates + self.tuner.confidence * x * x)
        self.scorer.add(best.stats)
        self.total = self.total + best.stats
        self.seen.append(self.weights)
        return shared

    def vector(self, example, best, epoch, received):
        x, shared = np.zeros(len(self.weights)), None
        if isinstance(self.tuner, MinRisk):
            risk = example.risk(self.weights, self.tuner.temperature_of(epoch) * self.unit)
            features, values = risk.features, risk.slope
        else:
            target = example.augmented(self.weights, 1.0)
            if isinstance(self.tuner, MIRA):
                working = WorkingSet(len(x), self.tuner.epsilon, self.tuner.iterations)
                features, values = working.solve(
                    example, target, self.weights.copy(), self.rates, received
                )
                shared = working.shared()
            else:
                away = best
                if isinstance(self.tuner, SGD):
                    away = example.augmented(self.weights, -1.0)
                features, values = difference(
                    target.features, target.values, away.features, away.values
                )
        x[features] = values
        if isinstance(self.tuner, SGD) and self.tuner.parallel == "async":
            # What others have sent is simply added.
            return sum(received, x), x
        return x, shared if shared is not None and len(shared.losses) else None


class PlainClass:
    """All learners."""

    def __init__(self, tuner, tuning, objective, start, rng):
        first = tuner.training(tuning, objective, start.copy(), rng)
        unit = getattr(first.setup.make_rule(len(tuning.names)), "unit", None)
        count = min(tuner.learners, tuning.groups)
        about = tuner, tuning, objective, start, first.learners[0].model.rates, unit
        self.tuner, self.groups = tuner, tuning.groups
        self.all = [PlainLearner(*about) for _ in range(count)]
        self.waiting = [[] for _ in range(count)]
        self.rng = rng

    def epoch(self, number):
        order, count = self.rng.permutation(self.groups), len(self.all)
        for one in self.all:
            one.total = 0
        if self.tuner.parallel == "mixing":
            self.mixing(order, number)
        else:
            self.lockstep(order, number)
        total = sum(one.total for one in self.all)
        for one in self.all:
            one.scorer.end_round(total)
        if self.tuner.average:
            return np.mean([weights for one in self.all for weights in one.seen], axis=0)
        return sum(one.weights for one in self.all) / count

    def mixing(self, order, number):
        count = len(self.all)
        for place, group in enumerate(order):
            self.all[place % count].learn(group, number)
        weights = sum(one.weights for one in self.all) / count
        rates = sum(one.rates for one in self.all) / count
        for one in self.all:
            one.weights, one.rates = weights, rates

    def lockstep(self, order, number):
        count = len(self.all)
        for first in range(0, len(order), count):
            sets = {}
            for k, group in enumerate(order[first : first + count]):
                sets[k] = self.all[k].learn(group, number, self.waiting[k])
                self.waiting[k] = []
            for k in range(count):
                others = [(k + far) % count for far in range(1, count)]
                self.waiting[k] += [sets[o] for o in others if sets.get(o) is not None]
                if self.tuner.drops_sets:
                    self.waiting[k] = self.waiting[k][-self.tuner.inbox :]
