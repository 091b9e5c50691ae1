"""Learning from one sentence after the other, which can be written down between two epochs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tunesmith.arrays import Floats, Ids, Stats
from tunesmith.errors import TunesmithError
from tunesmith.inference.asking import examples_of
from tunesmith.inference.examples import Derivation, Example
from tunesmith.kernels import kernel
from tunesmith.metrics.tunable import Tunable
from tunesmith.metrics.worth import Objective, Worth
from tunesmith.tuners.rounds import Round, Rounds

#: What is added to the weights, times their learning rates: features and values.
Change: TypeAlias = tuple[Ids, Floats]


class Learned:
    """Weights under way, and their average over all sentences so far.

    The average is that of Daumé (2006, page 19): a change counts for all sentences that come
    after it, so that only weights that change need be touched.

    Attributes
    ----------
    weights, rates : float64[D]
        What has been learnt, and how fast each weight learns.
    sentences
        How many have been seen.
    """

    def __init__(self, weights: Floats, rates: Floats) -> None:
        self.weights = weights
        self.rates = rates
        self.sentences = 0
        self._late = np.zeros(len(weights))

    def add(self, change: Change | None) -> None:
        """Change the weights, or leave them for this sentence."""
        if change is not None:
            add_change(*change, self.rates, self.sentences, self.weights, self._late)
        self.sentences += 1

    def average(self) -> Floats:
        """Return the mean of the weights after each sentence."""
        return self.weights - self._late / max(1, self.sentences)

    def memory(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        return {
            "weights": self.weights.tolist(),
            "rates": self.rates.tolist(),
            "late": self._late.tolist(),
            "sentences": self.sentences,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go on from what :meth:`memory` returned."""
        for own, name in ((self.weights, "weights"), (self.rates, "rates"), (self._late, "late")):
            own[:] = memory[name]
        self.sentences = int(memory["sentences"])


class Learning(ABC):
    """One run over the sentences of a set.

    Attributes
    ----------
    worth, learned
        What derivations are worth, and what has been learnt.
    total : [K]
        The statistics, as the worth counts them, of the 1-best of all sentences on the way
        through the last epoch.
    """

    total: Stats

    def __init__(
        self, tuning: Tunable, worth: Worth, learned: Learned, rng: np.random.Generator
    ) -> None:
        self.examples = examples_of(tuning)
        self.worth = worth
        self.learned = learned
        self.rng = rng

    @abstractmethod
    def step(self, example: Example, best: Derivation, epoch: int) -> None:
        """Learn from a sentence, whose 1-best is known; tell ``learned`` in any case."""

    @abstractmethod
    def end(self, epoch: int) -> Round:
        """Say what an epoch came to."""

    def epoch(self, number: int) -> Round:
        """Go over the sentences in random order (Algorithm 1)."""
        self.total = np.zeros_like(self.worth.stats[0])
        for group in self.rng.permutation(self.examples.groups).tolist():
            example = self.examples.example(group, self.worth)
            best = example.best(self.learned.weights)
            self.step(example, best, number)
            self.worth.add(best.stats)
            self.total += best.stats
        found = self.end(number)
        self.worth.end_round(self.total)
        return found

    def memory(self) -> dict[str, Any]:
        """Return as JSON all that the next epochs depend on, beside what it was made of."""
        return {
            "learned": self.learned.memory(),
            "worth": self.worth.memory(),
            "random": self.rng.bit_generator.state,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go on from what :meth:`memory` returned, in another process."""
        if memory["worth"] is None:
            raise TunesmithError(
                f"{type(self.worth).__name__} does not say what it remembers, so that the run "
                "cannot be taken up again; give it the methods 'memory' and 'recall', or begin in "
                "another work directory"
            )
        self.learned.recall(memory["learned"])
        self.worth.recall(memory["worth"])
        self.rng.bit_generator.state = memory["random"]


class Learner(Rounds):
    """What a tuner inherits that can learn while sentences are decoded."""

    @abstractmethod
    def learning(
        self, tuning: Tunable, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Learning:
        """Begin to learn from ``start`` on, which is changed."""

    def begun_learning(
        self, tuning: Tunable, start: Floats | None, rng: np.random.Generator
    ) -> Learning:
        """Begin as :meth:`stages` does, with the same random numbers; there is one setting."""
        begin = self.own_start(tuning) if start is None else start
        (objective,) = self._objectives(tuning.metric)
        return self.learning(tuning, objective, begin.copy(), rng.spawn(1)[0])


@kernel
def add_change(
    features: Ids, values: Floats, rates: Floats, sentences: int, weights: Floats, late: Floats
) -> None:
    """Add a change to weights, and to what their average lacks of it."""
    for k in range(features.shape[0]):
        feature = features[k]
        step = rates[feature] * values[k]
        weights[feature] += step
        late[feature] += sentences * step
