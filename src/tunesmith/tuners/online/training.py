"""Online training: epochs over the sentences in random order (Algorithm 1), with checkpoints."""

from __future__ import annotations

import contextlib
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Literal

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.metrics.candidate_scorer import CandidateScorer, Objective
from tunesmith.parallel.engine import working_on
from tunesmith.registry import option
from tunesmith.tasks.base import Task
from tunesmith.tuners.fitting.rounds import Round, Rounds
from tunesmith.tuners.online.asynchronous import Exchange
from tunesmith.tuners.online.learner import OnlineLearner, TrainingSetup, UpdateRule
from tunesmith.tuners.online.mixing import mixing_epoch
from tunesmith.tuners.online.model import Model, average, mean

#: The options of a single learner, which a signature leaves out.
DEFAULTS = {"learners": 1, "parallel": "mixing", "clock": "lockstep", "inbox": 64}


@dataclass(frozen=True, kw_only=True)
class OnlineTuner(Rounds):
    """A tuner that learns from one sentence after the other, which may be decoded on the way.

    Several learners may go over the sentences side by side (section 6 of "Hope and fear"). Their
    number decides what is learnt; how many workers they live with does not.
    """

    learners: int = option(
        1, "number of parallel learners, each with a part of the sentences", least=1
    )
    parallel: Literal["mixing", "async"] = option(
        "mixing",
        "how learners share: weights are averaged after each epoch, or "
        "learners send each other what they found in a sentence (mira, arow, "
        "sgd)",
    )
    clock: Literal["lockstep", "free"] = option(
        "lockstep",
        "async: learners wait for each other after every sentence, which is "
        "reproducible, or do not wait, which is not",
    )
    inbox: int = option(64, "async: most working sets that wait for a learner", least=1)

    has_hope: ClassVar[bool] = True
    #: Whether learners can send each other working sets, or updates.
    can_exchange: ClassVar[bool] = False
    #: Whether the oldest of what waits for a learner is dropped where there is too much.
    drops_sets: ClassVar[bool] = True
    #: Whether overflow is ignored on the way, and weights are checked after each epoch instead.
    ignores_overflow: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parallel == "async" and not self.can_exchange:
            raise UsageError(
                f"{self.name} has nothing to send to others; use mira, arow or sgd, or --parallel "
                "mixing"
            )
        for name in ("clock", "inbox"):
            if self.parallel != "async" and getattr(self, name) != DEFAULTS[name]:
                raise UsageError(f"{name} goes with parallel async; drop it, or change that")
        if not self.drops_sets and self.inbox != DEFAULTS["inbox"]:
            raise UsageError(f"{self.name} drops nothing that others send; leave out --inbox")

    @property
    @abstractmethod
    def average(self) -> bool:
        """Whether the average of the weights after each sentence is returned, not the last."""

    @property
    def exchanges(self) -> bool:
        """Whether learners send each other something."""
        return self.parallel == "async" and self.learners > 1

    @property
    def is_free(self) -> bool:
        """Whether what is learnt depends on who is faster."""
        return self.exchanges and self.clock == "free"

    def shown_option(self, field: str) -> object:
        """Return how a signature shows an option: one learner alone is not told of."""
        value = super().shown_option(field)
        return None if DEFAULTS.get(field) == value else value

    @abstractmethod
    def training(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Training:
        """Return a run that begins with ``start``, which is changed."""

    @abstractmethod
    def epoch_entry(self, epoch: int, learners: Sequence[OnlineLearner]) -> dict[str, Any]:
        """Return what the history says of an epoch."""

    def start_training(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> Training:
        """Return a run as :meth:`stages` makes it, with the same random numbers.

        There must be one setting.
        """
        tuner, begin = self.restricted(tuning, start)
        (objective,) = self._objectives(tuning.metric)
        return tuner.training(tuning, objective, begin.copy(), rng.spawn(1)[0])

    def rounds(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Iterator[Round]:
        """Yield after every epoch."""
        training = self.training(tuning, objective, start, rng)
        return (training.epoch(number) for number in range(self.round_count))


class Training:
    """One run over the sentences of a set, by one learner or by several.

    Parameters
    ----------
    tuner
        Says how many learn, and how they go together.
    make_rule
        Returns the update rule of one learner, given the number of features.
    tuning
        The sentences.
    scorer, model
        Scores derivations, and the weights to begin with.
    rng
        For the order of the sentences.

    Attributes
    ----------
    setup
        What all learners share.
    learners
        The learners; no more than there are sentences.
    total : [K]
        The statistics, as the scorer counts them, of the 1-best of all sentences on the way
        through the last epoch.
    """

    total: Stats

    def __init__(
        self,
        tuner: OnlineTuner,
        make_rule: Callable[[int], UpdateRule],
        tuning: Task,
        scorer: CandidateScorer,
        model: Model,
        rng: np.random.Generator,
    ) -> None:
        self._tuner = tuner
        self._rng = rng
        self._space = model.space
        self.setup = TrainingSetup(
            make_rule, tuning, scorer, "ignore" if tuner.ignores_overflow else None
        )
        count = min(tuner.learners, max(1, tuning.groups))
        first = OnlineLearner(self.setup, model, scorer)
        self.learners = [first]
        if count > 1:
            self.learners = [
                OnlineLearner.restore(self.setup, first.snapshot()) for _ in range(count)
            ]
        inbox = tuner.inbox if tuner.drops_sets else None
        self._exchange = Exchange(count, tuner.clock, inbox)

    def epoch(self, number: int) -> Round:
        """Go over the sentences in random order."""
        if number == 0 and len(self.learners) > 1 and self._tuner.is_free:
            warnings.warn(
                "with --clock free the weights depend on who is faster: another run gives others",
                stacklevel=2,
            )
        for learner in self.learners:
            learner.begin_epoch()
        order = self._rng.permutation(self.setup.tuning.groups)
        models = [learner.model for learner in self.learners]
        with np.errstate(all=self.setup.errors):
            counts = self._learn(order, number)
            last = mean(models)[0]
            weights = average(models) if self._tuner.average else last
            if self._space is not None:
                weights = self._space.reported(weights)
        if self._tuner.ignores_overflow:
            self._check_finite(weights, last, number)
        self.total = reduce(np.add, [learner.total for learner in self.learners])
        for learner in self.learners:
            learner.scorer.end_round(self.total)
        return Round(weights, {**self._tuner.epoch_entry(number, self.learners), **counts})

    def _learn(self, order: Ints, epoch: int) -> dict[str, Any]:
        """Learn from all sentences; return what the history says of several learners."""
        if len(self.learners) == 1:
            (learner,) = self.learners
            # A sentence that is decoded now is not worth sending to others.
            is_live = self.setup.tuning.is_live
            with working_on(None) if is_live else contextlib.nullcontext():
                groups = order.tolist()
                with learner.in_order(groups):
                    for group in groups:
                        learner.apply(learner.step(group, epoch))
            return {}
        if self._tuner.parallel == "mixing":
            return mixing_epoch(self.setup, self.learners, order, epoch)
        return self._exchange.epoch(self.setup, self.learners, order, epoch)

    def _check_finite(self, weights: Floats, last: Floats, epoch: int) -> None:
        wrong = np.flatnonzero(~(np.isfinite(weights) & np.isfinite(last)))
        if len(wrong):
            raise TunesmithError(
                f"the weight of {self.setup.tuning.names[wrong[0]]} is not finite after epoch "
                f"{epoch + 1}; give a lower --rate, or make the feature smaller"
            )

    def memory(self) -> dict[str, Any]:
        """Return as JSON all that the next epochs depend on, beside what it was made of."""
        random = {"random": self._rng.bit_generator.state}
        first, *others = memories = [learner.memory() for learner in self.learners]
        if not others:
            return {**first, **random}
        # After mixing all have the same weights and rates.
        for memory in others:
            for name in ("weights", "rates"):
                if memory["learned"][name] == first["learned"][name]:
                    del memory["learned"][name]
        return {"students": memories, "exchange": self._exchange.memory(), **random}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue from what :meth:`memory` returned, in another process."""
        memories = memory.get("students", [memory])
        if len(memories) != len(self.learners):
            raise TunesmithError(
                f"the run has {len(memories)} learners, and not {len(self.learners)}; give "
                f"--learners {len(memories)}, or begin in another work directory"
            )
        for learner, stored in zip(self.learners, memories, strict=True):
            learner.recall(
                {
                    **stored,
                    "learned": {**memories[0]["learned"], **stored["learned"]},
                }
            )
        self._exchange.recall(memory.get("exchange", {}))
        self._rng.bit_generator.state = memory["random"]
