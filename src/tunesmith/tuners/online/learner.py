"""One learner: what it makes of a sentence (the body of Algorithm 1), and its state."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from tunesmith.arrays import Stats
from tunesmith.errors import TunesmithError
from tunesmith.inference.examples import Derivation, Example, Examples
from tunesmith.inference.live import LiveExamples
from tunesmith.metrics.candidate_scorer import CandidateScorer
from tunesmith.progress import unseen
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tasks.base import Task
from tunesmith.tuners.online.model import Model, Update

#: After this time a learner reports the steps that it has taken.
REPORT_SECONDS = 0.2


class SentenceUpdate(NamedTuple):
    """What an update rule makes of a sentence.

    Attributes
    ----------
    x
        The update of the weights, if any.
    expected
        The expected gain, which an epoch averages (minimum risk).
    working_set
        What is broadcast to other learners (Algorithm 4).
    """

    x: Update | None
    expected: float = 0.0
    working_set: SharedSet | None = None


#: UpdateWeights(w, i, I): takes the example, its 1-best, the model, the number of the epoch, and
#: the working sets received from other learners.
UpdateRule: TypeAlias = Callable[
    [Example, Derivation, Model, int, Sequence[SharedSet]], SentenceUpdate
]


class LearnerStep(NamedTuple):
    """A learner's step: its sentence, the statistics [K] of the 1-best, and the update."""

    group: int
    stats: Stats
    update: SentenceUpdate


class Snapshot(NamedTuple):
    """The state from which a worker continues: a model, and what the scorer remembers."""

    model: Model
    scorer: dict[str, Any]


class TrainingSetup:
    """What all learners of a run share and none changes; it is sent to each worker once.

    Parameters
    ----------
    make_rule
        Returns the update rule of one learner, given the number of features.
    tuning
        The sentences.
    scorer
        Scores derivations; in its state before the first epoch.
    errors
        What happens when numbers overflow: see :func:`numpy.errstate`.
    """

    def __init__(
        self,
        make_rule: Callable[[int], UpdateRule],
        tuning: Task,
        scorer: CandidateScorer,
        errors: Literal["ignore"] | None,
    ) -> None:
        self.make_rule = make_rule
        self.tuning = tuning
        self.scorer = scorer
        self.errors = errors

    def data(self) -> tuple[TrainingSetup, Any]:
        """Return what workers are given: what is large apart, as others ask for it as well."""
        return self, self._split()[1]

    def _split(self) -> tuple[Callable[[Any], Task] | None, Any]:
        """Return what makes the tuning set, and from what: forests, or a decoder's model."""
        return self.tuning.split_for_workers()

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in vars(self).items() if key != "_list_examples"}
        make, _ = self._split()
        return state if make is None else {**state, "tuning": make}

    def with_large(self, large: Any) -> TrainingSetup:
        """Put together what :meth:`data` has split, with a worker."""
        if isinstance(self.tuning, partial):
            self.tuning = self.tuning(large)
        return self

    @cached_property
    def _list_examples(self) -> Examples:
        return self.tuning.examples()

    def examples(self) -> Examples:
        """Return the sentences for one learner; all learners of a process share those of lists."""
        if self.tuning.lists is not None:
            return self._list_examples
        return self.tuning.examples()


class OnlineLearner:
    """A learner's state, which only :meth:`apply` changes.

    Learners that have applied the same steps in the same order are equal to the last bit: whoever
    trains applies every step of a learner that lives with a worker, and so has a copy of it.

    Attributes
    ----------
    model, scorer
        The weights, and the scorer of derivations, with a document of its own.
    total : [K]
        The statistics, as the scorer counts them, of the 1-best of this epoch's sentences.
    seen, changes, expected
        How many sentences of this epoch it has seen, how many of them changed the weights, and
        the sum of what was expected of them.
    """

    total: Stats

    def __init__(self, setup: TrainingSetup, model: Model, scorer: CandidateScorer) -> None:
        self._setup = setup
        self.model = model
        self.scorer = scorer
        self.begin_epoch()

    @classmethod
    def restore(cls, setup: TrainingSetup, snapshot: Snapshot) -> OnlineLearner:
        """Make a learner from the snapshot of another; it takes the snapshot's model."""
        return cls(setup, snapshot.model, copy_scorer(setup.scorer, snapshot.scorer))

    def begin_epoch(self) -> None:
        """Reset what is counted in an epoch."""
        self.total = np.zeros_like(self.scorer.stats[0])
        self.seen, self.changes, self.expected = 0, 0, 0.0

    @cached_property
    def _examples(self) -> Examples:
        return self._setup.examples()

    @cached_property
    def _rule(self) -> UpdateRule:
        return self._setup.make_rule(len(self._setup.tuning.names))

    def in_order(self, groups: Sequence[int]) -> AbstractContextManager[None]:
        """Return a context in which the learner takes these sentences, and no others between."""
        examples = self._examples
        return examples.in_order(groups) if isinstance(examples, LiveExamples) else nullcontext()

    def step(self, group: int, epoch: int, received: Sequence[SharedSet] = ()) -> LearnerStep:
        """Find the update for a sentence; the state stays as it is."""
        example = self._examples.example(group, self.scorer)
        best = example.best(self.model.weights)
        return LearnerStep(
            group, best.stats, self._rule(example, best, self.model, epoch, received)
        )

    def apply(self, step: LearnerStep) -> None:
        """Update the weights, their average and the document."""
        self.model.add(step.update.x)
        self.changes += step.update.x is not None
        self.scorer.add(step.stats)
        self.total += step.stats
        self.expected += step.update.expected
        self.seen += 1

    def learn(
        self, groups: Sequence[int], epoch: int, received: Sequence[SharedSet] = ()
    ) -> list[LearnerStep]:
        """Learn from sentences in turn; return the steps of as many as there is time for."""
        steps: list[LearnerStep] = []
        end = time.monotonic() + REPORT_SECONDS
        with np.errstate(all=self._setup.errors), unseen():  # the pool shows progress
            for group in groups:
                steps.append(self.step(group, epoch, received))
                self.apply(steps[-1])
                if time.monotonic() > end:
                    break
        return steps

    def snapshot(self) -> Snapshot:
        """Return a copy of the state, for a worker."""
        memory = self.scorer.memory()
        if memory is None:
            raise TunesmithError(
                f"{type(self.scorer).__name__} does not say what it remembers, so that several "
                "learners cannot have one each; give it the methods 'memory' and 'recall', or "
                "learn with --learners 1"
            )
        return Snapshot(copy.deepcopy(self.model), memory)

    def memory(self) -> dict[str, Any]:
        """Return the state between two epochs as JSON."""
        return {"learned": self.model.memory(), "worth": self.scorer.memory()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`memory` returned."""
        if memory["worth"] is None:
            raise TunesmithError(
                f"{type(self.scorer).__name__} does not say what it remembers, so that the run "
                "cannot be taken up again; give it the methods 'memory' and 'recall', or begin in "
                "another work directory"
            )
        self.model.recall(memory["learned"])
        self.scorer.recall(memory["worth"])


def copy_scorer(
    scorer: CandidateScorer, memory: Mapping[str, Any] | None = None
) -> CandidateScorer:
    """Return a scorer with a document of its own, in its first state or with some memory.

    What is large and does not change is shared.
    """
    attributes = vars(scorer)
    fixed = [attributes.get("stats"), attributes.get("metric")]
    fixed += [value for value in attributes.values() if isinstance(value, Task)]
    copied = copy.deepcopy(scorer, {id(part): part for part in fixed if part is not None})
    if memory is not None and memory != scorer.memory():
        copied.recall(memory)
    return copied
