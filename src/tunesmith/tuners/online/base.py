"""Tuners that learn from one sentence after the other.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012):
Algorithm 1, section 3, and section 4 for the derivations that weights are moved towards.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.features import Selection
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.examples import Derivation, Example
from tunesmith.metrics.candidate_scorer import Objective
from tunesmith.registry import option
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tasks.base import Task
from tunesmith.tuners.fitting.rounds import Round
from tunesmith.tuners.fitting.stages import Outcome
from tunesmith.tuners.online.learned import Change, Learned, Student
from tunesmith.tuners.online.learning import Learner, Learning
from tunesmith.tuners.online.lessons import Found, Lessons

REFERENCES = ("bold", "max-bleu", "local", "hope")
#: Learning rates beyond this are of features that are next to constant.
GREATEST_RATE = 1e300

#: Finds the change for an example, of its reference derivation and its 1-best.
Update: TypeAlias = Callable[[Example, Derivation, Derivation, Learned], Change | None]


@runtime_checkable
class Exchanging(Protocol):
    """An update whose learners send each other their working sets (Algorithm 4)."""

    def __call__(
        self,
        example: Example,
        target: Derivation,
        best: Derivation,
        learned: Learned,
        received: Sequence[SharedSet] = (),
        grows: bool = True,
    ) -> Change | None:
        """Find the change for an example and the sets of others.

        Unless it ``grows`` nothing is learnt from the example itself.
        """
        ...

    def shared(self) -> SharedSet:
        """Return the working set of the last example, to be sent to others."""
        ...


@dataclass(frozen=True, kw_only=True)
class Online(Learner):
    """What a tuner inherits that learns from one sentence after the other: Algorithm 1.

    It needs :meth:`begin`. Sentences come in random order, another one in each epoch; what is
    returned is the average of the weights after each sentence.

    Features of very different sizes would learn at very different speeds: a feature that is c
    times as large moves its weight c times as far, which changes scores c² times as much
    (section 3.3). With ``scale`` the learning rate of a dense feature is divided by the square
    of its deviation within sentences, as if all were of the same size.
    """

    epochs: int = option(10, "how often to go over all sentences")
    rate: float = option(0.01, "the learning rate")
    feature_rate: tuple[str, ...] = option(
        (),
        "the learning rate of features whose names match, with --scale as if they were of size 1; "
        "the last that matches counts",
        "PATTERN=RATE",
    )
    scale: bool = option(True, "learn as if all dense features were of the same size")
    initial: tuple[str, ...] = option(
        (),
        "the weight of features whose names match to begin with, where no weights are given; "
        "others begin with 0",
        "PATTERN=VALUE",
    )
    average: bool = option(True, "return the average of the weights after each sentence")
    reference: Literal["bold", "max-bleu", "local", "hope"] = option(
        "hope",
        "what weights are moved towards: the reference itself where it is among the candidates, "
        "what is worth most, the same among the best few, or what is worth much and scores well",
    )
    local_best: int = option(10, "how many of the best local chooses from")
    mu: float = option(-1.0, "how much worth counts for hope, 0 or less: the lower the more")
    mu_decay: float = option(1.0, "what mu is multiplied by after each epoch")

    usual = ("document", "document")
    is_online: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("epochs", "local_best"):
            if getattr(self, name) < 1:
                flag = name.replace("_", "-")
                raise UsageError(f"{flag} is {getattr(self, name)}; give 1 or more")
        if not (math.isfinite(self.rate) and self.rate > 0.0):
            raise UsageError(f"rate is {self.rate:g}; give a number above 0")
        if self.reference not in REFERENCES:
            raise UnknownNameError("reference", self.reference, REFERENCES)
        usual = {f.name: f.default for f in dataclasses.fields(Online)}
        for name, owner in (("mu", "hope"), ("mu_decay", "hope"), ("local_best", "local")):
            if self.reference != owner and getattr(self, name) != usual[name]:
                flag = name.replace("_", "-")
                raise UsageError(f"{flag} goes with reference {owner}; drop it, or change that")
        if not (math.isfinite(self.mu) and self.mu <= 0.0):
            raise UsageError(f"mu is {self.mu:g}; give 0 or less")
        if not 0.0 < self.mu_decay <= 1.0:
            raise UsageError(f"mu-decay is {self.mu_decay:g}; give more than 0 and at most 1")
        for name in ("feature_rate", "initial"):
            object.__setattr__(self, name, _texts(getattr(self, name)))
        for pattern, rate in _pairs("feature-rate", self.feature_rate):
            if rate < 0.0:
                raise UsageError(f"the learning rate of '{pattern}' is {rate:g}; give 0 or more")
        _pairs("initial", self.initial)

    @property
    def round_count(self) -> int:
        """The number of epochs."""
        return self.epochs

    @abstractmethod
    def begin(self, width: int) -> Update:
        """Return what finds the change for each example of a run over so many features."""

    def note(self, change: Change, learned: Learned) -> None:
        """Take note of a change that has been made."""

    def check_features(self, names: tuple[str, ...], strict: bool) -> None:
        """Raise an error if a pattern matches no feature."""
        super().check_features(names, strict)
        for flag, texts in (("feature-rate", self.feature_rate), ("initial", self.initial)):
            for pattern, _ in _pairs(flag, texts):
                Selection.of(pattern).check(names, flag)

    def why_nothing(self) -> str | None:
        """Say what bold lacks, where it is asked for."""
        if self.reference != "bold":
            return None
        return "no candidate is a reference, or all that are win already; use --reference hope"

    def own_start(self, tuning: Task) -> Floats:
        """Return what ``initial`` says, and 0 for all other features."""
        names = tuning.names
        return _matched(names, "initial", self.initial, 0.0)

    def stages(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> Iterator[Outcome]:
        """Learn with each setting in turn."""
        self._check_initial(start)
        return super().stages(tuning, start, rng)

    def begun_learning(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> Learning:
        """Begin to learn."""
        self._check_initial(start)
        return super().begun_learning(tuning, start, rng)

    def _check_initial(self, start: Floats | None) -> None:
        if start is not None and self.initial:
            raise UsageError("initial goes without starting weights; drop one of them")

    def rates(self, tuning: Task) -> Floats:
        """Return the learning rate of each feature."""
        rates = _matched(tuning.names, "feature-rate", self.feature_rate, self.rate)
        if self.scale:
            sizes = tuning.hypotheses().spread()
            sizes[~tuning.dense] = 1.0
            rates = np.minimum(rates / sizes / sizes, GREATEST_RATE)
        return rates

    def learning(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Learning:
        """Begin to learn."""
        worth = self.begun(objective, tuning, "examples", start)
        with np.errstate(all="ignore"):  # see OnlineLessons
            learned = Learned(start, self.rates(tuning))
        return Learning(self, OnlineLessons(self), tuning, worth, learned, rng)

    def rounds(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Iterator[Round]:
        """Go over the sentences in random order (Algorithm 1); yield after every epoch."""
        learning = self.learning(tuning, objective, start, rng)
        for epoch in range(self.epochs):
            yield learning.epoch(epoch)

    def target(self, example: Example, weights: Floats, epoch: int) -> Derivation | None:
        """Return the reference derivation d_i (section 4), if there is one."""
        if self.reference == "hope":
            return example.augmented(weights, -self.mu * self.mu_decay**epoch)
        if self.reference == "local":
            return example.most_worth(weights, self.local_best)
        if self.reference == "max-bleu":
            return example.most_worth(weights)
        return example.reference(weights)


@dataclass(frozen=True)
class OnlineLessons(Lessons):
    """What an online tuner makes of a sentence."""

    tuner: Online

    errors = "ignore"  # what overflows is found at the end of the epoch, and told as one error

    @property
    def average(self) -> bool:  # type: ignore[override]
        """Whether the average of the weights is returned."""
        return self.tuner.average

    def begin(self, width: int) -> OnlineLesson:
        """Return what a learner asks."""
        return OnlineLesson(self.tuner, width)

    def note(self, change: Change, learned: Learned) -> None:
        """Tell the tuner of a change."""
        self.tuner.note(change, learned)

    def entry(self, epoch: int, students: Sequence[Student]) -> dict[str, Any]:
        """Return how many sentences have changed weights."""
        return {"changes": sum(student.changes for student in students)}

    def check(self, weights: Floats, last: Floats, names: tuple[str, ...], epoch: int) -> None:
        """Raise an error if a weight is not finite."""
        wrong = np.flatnonzero(~(np.isfinite(weights) & np.isfinite(last)))
        if len(wrong):
            raise TunesmithError(
                f"the weight of {names[wrong[0]]} is not finite after epoch {epoch + 1}; give a "
                "lower --rate, or make the feature smaller"
            )


class OnlineLesson:
    """Moves weights towards the reference derivation of a sentence, for one learner."""

    def __init__(self, tuner: Online, width: int) -> None:
        self._tuner = tuner
        self._update = tuner.begin(width)
        self._sends = tuner.parallel == "async" and tuner.learners > 1

    def __call__(
        self,
        example: Example,
        best: Derivation,
        learned: Learned,
        epoch: int,
        received: Sequence[SharedSet],
    ) -> Found:
        """Find the change."""
        target = self._tuner.target(example, learned.weights, epoch)
        if not self._sends:
            change = None if target is None else self._update(example, target, best, learned)
            return Found(change)
        assert isinstance(self._update, Exchanging)  # what can_exchange promises
        # Where there is no reference derivation, the problems of others are all there is.
        change = self._update(example, target or best, best, learned, received, target is not None)
        sent = self._update.shared()
        return Found(change, sent=sent if len(sent.losses) else None)


def _texts(given: str | Iterable[str] | Mapping[str, float]) -> tuple[str, ...]:
    if isinstance(given, Mapping):
        return tuple(f"{pattern}={value!r}" for pattern, value in given.items())
    return (given,) if isinstance(given, str) else tuple(given)


def _pairs(flag: str, texts: Iterable[str]) -> list[tuple[str, float]]:
    """Take apart what patterns and numbers a user gives; names may contain the sign."""
    found = []
    for text in texts:
        pattern, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not pattern or not math.isfinite(value):
            raise UsageError(f"{flag} '{text}' is no pattern and number; write 'LM*=1'")
        found.append((pattern, value))
    return found


def _matched(names: tuple[str, ...], flag: str, texts: Iterable[str], usual: float) -> Floats:
    """Return a number for each name: of the last pattern that matches, or the usual one."""
    found = dict.fromkeys(names, usual)
    for pattern, value in _pairs(flag, texts):
        found |= dict.fromkeys(Selection.of(pattern).kept(names), value)
    return np.array(list(found.values()), np.float64)
