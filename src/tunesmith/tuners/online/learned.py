"""What a learner has learnt, and the steps that it came about by."""

from __future__ import annotations

import base64
import copy
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tunesmith.arrays import Floats, Ids, Stats
from tunesmith.errors import TunesmithError
from tunesmith.kernels import kernel
from tunesmith.metrics.candidate_scorer import Worth
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tasks.base import Task

#: What is added to the weights, times their learning rates: features and values.
Change: TypeAlias = tuple[Ids, Floats]


@dataclass(frozen=True)
class Step:
    """What a learner made of a sentence: all that its state after it depends on.

    Attributes
    ----------
    group
        The sentence.
    change
        What is added to the weights, if anything.
    stats : [K]
        Statistics of the 1-best.
    told
        A number that the method wants to be summed over an epoch.
    sent
        The working set, for other learners.
    """

    group: int
    change: Change | None
    stats: Stats = field(repr=False)
    told: float = 0.0
    sent: SharedSet | None = None


class Learned:
    """Weights under way, and their average over all sentences so far.

    The average is that of Daumé (2006, page 19): a change counts for all sentences that come
    after it, so that only weights that change need be touched.

    Attributes
    ----------
    weights, rates : float64[D]
        What has been learnt, and how fast each weight learns.
    late : float64[D]
        What the sum of the weights after each sentence lacks of the weights times the sentences.
    sentences
        How many have been seen.
    """

    def __init__(self, weights: Floats, rates: Floats) -> None:
        self.weights = weights
        self.rates = rates
        self.sentences = 0
        self.late = np.zeros(len(weights))

    def add(self, change: Change | None) -> None:
        """Change the weights, or leave them for this sentence."""
        if change is not None:
            add_change(*change, self.rates, self.sentences, self.weights, self.late)
        self.sentences += 1

    def move(self, weights: Floats, rates: Floats) -> None:
        """Go on from other weights and rates; the average of what has been stays as it is."""
        self.late += self.sentences * (weights - self.weights)
        self.weights[:], self.rates[:] = weights, rates

    def average(self) -> Floats:
        """Return the mean of the weights after each sentence."""
        return self.weights - self.late / max(1, self.sentences)

    def memory(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        return {
            "weights": text_of(self.weights),
            "rates": text_of(self.rates),
            "late": text_of(self.late),
            "sentences": self.sentences,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go on from what :meth:`memory` returned."""
        for own, name in ((self.weights, "weights"), (self.rates, "rates"), (self.late, "late")):
            numbers = numbers_of(memory[name])
            if len(numbers) != len(own):
                raise ValueError(f"there are {len(numbers)} {name}, and not {len(own)}")
            own[:] = numbers
        self.sentences = int(memory["sentences"])


def text_of(numbers: Floats) -> str:
    """Return numbers as text for JSON, to the last bit.

    Of many learners with many features, most of whose weights are 0, this is a sixth of what
    digits take.
    """
    block = zlib.compress(numbers.astype("<f8").tobytes(), 1)
    return base64.b64encode(block).decode("ascii")


def numbers_of(text: str | Sequence[float]) -> Floats:
    """Return the numbers of such a text; a list of them is taken as it is."""
    if not isinstance(text, str):
        return np.array(text, np.float64)
    try:
        block = zlib.decompress(base64.b64decode(text))
    except zlib.error as error:
        raise ValueError(str(error)) from None
    return np.frombuffer(block, "<f8").astype(np.float64)


class Seed(NamedTuple):
    """What a learner of another process begins with.

    Attributes
    ----------
    weights, rates : float64[D]
        What has been learnt so far.
    worth
        What the worth remembers.
    """

    weights: Floats
    rates: Floats
    worth: dict[str, Any]


class Student:
    """A learner's state, which steps alone change.

    Whoever has taken the same steps in the same order has the same state, to the last bit.

    Attributes
    ----------
    learned, worth
        What has been learnt, and what derivations are worth, with a document of its own.
    total : [K]
        The statistics, as the worth counts them, of the 1-best of the sentences of this epoch.
    seen, changes, told
        How many sentences of this epoch it has seen, how many of them have changed the weights,
        and the sum of what steps tell.
    """

    total: Stats

    def __init__(
        self, learned: Learned, worth: Worth, note: Callable[[Change, Learned], None]
    ) -> None:
        self.learned = learned
        self.worth = worth
        self._note = note
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Begin to count anew."""
        self.total = np.zeros_like(self.worth.stats[0])
        self.seen, self.changes, self.told = 0, 0, 0.0

    def take(self, step: Step) -> None:
        """Take a step."""
        self.learned.add(step.change)
        if step.change is not None:
            self.changes += 1
            self._note(step.change, self.learned)
        self.worth.add(step.stats)
        self.total += step.stats
        self.told += step.told
        self.seen += 1

    def seed(self) -> Seed:
        """Return what another one needs to go on from here."""
        return Seed(self.learned.weights.copy(), self.learned.rates.copy(), memory_of(self.worth))

    def has_same(self, name: str, other: Student) -> bool:
        """Tell whether another one has the same weights, or rates, to the last bit."""
        own, others = (getattr(student.learned, name).tobytes() for student in (self, other))
        return bool(own == others)

    def memory(self) -> dict[str, Any]:
        """Return all of it as JSON, between two epochs."""
        return {"learned": self.learned.memory(), "worth": self.worth.memory()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go on from what :meth:`memory` returned."""
        if memory["worth"] is None:
            raise TunesmithError(
                f"{type(self.worth).__name__} does not say what it remembers, so that the run "
                "cannot be taken up again; give it the methods 'memory' and 'recall', or begin in "
                "another work directory"
            )
        self.learned.recall(memory["learned"])
        self.worth.recall(memory["worth"])


def memory_of(worth: Worth) -> dict[str, Any]:
    """Return what a worth remembers, for a learner beside others."""
    found = worth.memory()
    if found is None:
        raise TunesmithError(
            f"{type(worth).__name__} does not say what it remembers, so that several learners "
            "cannot have one each; give it the methods 'memory' and 'recall', or learn with "
            "--learners 1"
        )
    return found


def copied(worth: Worth, memory: Mapping[str, Any] | None = None) -> Worth:
    """Return a worth with a document of its own, as it was at first or with some memory.

    What is large and does not change is shared.
    """
    held = vars(worth)
    fixed = [held.get("stats"), held.get("metric")]
    fixed += [value for value in held.values() if isinstance(value, Task)]
    made = copy.deepcopy(worth, {id(one): one for one in fixed if one is not None})
    if memory is not None and memory != worth.memory():
        made.recall(memory)
    return made


def average_of(students: Sequence[Student]) -> Floats:
    """Return the mean of all learners' weights after each sentence: Σ s / Σ t of Algorithm 4.

    Of one learner it is its average, to the last bit.
    """
    count = sum(student.learned.sentences for student in students)
    if count == 0:
        return mean_of(students)[0]
    shares = [one.learned.sentences / count * one.learned.weights for one in students]
    late = reduce(np.add, [one.learned.late for one in students])
    found: Floats = reduce(np.add, shares) - late / count
    return found


def mean_of(students: Sequence[Student]) -> tuple[Floats, Floats]:
    """Return the mean of the weights of the moment, and of the rates."""
    weights = np.mean([student.learned.weights for student in students], axis=0)
    rates = np.mean([student.learned.rates for student in students], axis=0)
    return weights, rates


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
