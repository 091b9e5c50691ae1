"""What perceptron, SGD, MIRA and AROW share: options, learning rates, reference derivations.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012):
section 3, and section 4 for the derivations that weights are moved towards.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.features import FeatureSelection
from tunesmith.errors import UsageError
from tunesmith.inference.examples import Derivation, Example
from tunesmith.metrics.candidate_scorer import Objective
from tunesmith.registry import Texts, option, texts
from tunesmith.search.space.space import Space
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tasks.base import Task
from tunesmith.tuners.fitting.stages import Outcome
from tunesmith.tuners.online.learner import OnlineLearner, SentenceUpdate, UpdateRule
from tunesmith.tuners.online.model import Model, Update
from tunesmith.tuners.online.training import OnlineTuner, Training

#: Learning rates beyond this are of features that are next to constant.
GREATEST_RATE = 1e300


def _pairs_as_texts(flag: str, pairs: str | Iterable[str] | Mapping[str, float]) -> tuple[str, ...]:
    """Convert ``PATTERN=NUMBER``, or several, or a mapping of them."""
    if isinstance(pairs, Mapping):
        return tuple(f"{pattern}={value!r}" for pattern, value in pairs.items())
    return texts(flag, pairs)


@dataclass(frozen=True, kw_only=True)
class HopeFear(OnlineTuner):
    """A tuner that moves weights towards a reference derivation; it needs a :meth:`rule`.

    Sentences come in random order, another one in each epoch (Algorithm 1); what is returned is
    the average of the weights after each sentence.

    Features of very different sizes would learn at very different speeds: a feature that is c
    times as large moves its weight c times as far, which changes scores c² times as much
    (section 3.3). With ``scale`` the learning rate of a dense feature is divided by the square
    of its deviation within sentences, as if all were of the same size.
    """

    epochs: int = option(10, "passes over all sentences", least=1)
    rate: float = option(0.01, "the learning rate", above=0, below=np.inf)
    feature_rate: Texts = option(
        (),
        "the learning rate of features whose names match (the last match "
        "counts), relative to size 1 with --scale",
        "PATTERN=RATE",
        convert=_pairs_as_texts,
    )
    scale: bool = option(True, "learn as if all dense features had the same spread")
    initial: Texts = option(
        (),
        "initial weight of features whose names match, without --start; others begin at 0",
        "PATTERN=VALUE",
        convert=_pairs_as_texts,
    )
    average: bool = option(True, "return the average of the weights after each sentence")
    reference: Literal["bold", "max-bleu", "local", "hope"] = option(
        "hope",
        "what weights move towards: the reference if it is among the "
        "candidates, the candidate of highest value, the same among the "
        "model's best, or one of high value that also scores well",
    )
    local_best: int = option(10, "number of the model's best that local chooses from", least=1)
    mu: float = option(
        -1.0,
        "weight of a candidate's value for hope, 0 or less: lower values give it more weight",
        above=-np.inf,
        most=0,
    )
    mu_decay: float = option(1.0, "factor on mu after each epoch", above=0, most=1)

    usual = ("document", "document")
    is_online: ClassVar[bool] = True
    ignores_overflow: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        defaults = {f.name: f.default for f in dataclasses.fields(HopeFear)}
        for name, owner in (("mu", "hope"), ("mu_decay", "hope"), ("local_best", "local")):
            if self.reference != owner and getattr(self, name) != defaults[name]:
                flag = name.replace("_", "-")
                raise UsageError(f"{flag} goes with reference {owner}; drop it, or change that")
        for pattern, rate in _parse_pairs("feature-rate", self.feature_rate):
            if rate < 0.0:
                raise UsageError(f"the learning rate of '{pattern}' is {rate:g}; give 0 or more")
        _parse_pairs("initial", self.initial)

    @property
    def round_count(self) -> int:
        """The number of epochs."""
        return self.epochs

    @abstractmethod
    def rule(self, width: int) -> UpdateRule:
        """Return the update rule of one learner, given the number of features."""

    def model(self, weights: Floats, rates: Floats, space: Space) -> Model:
        """Return the model of a learner."""
        return Model(weights, rates, space)

    def check_features(self, names: tuple[str, ...], strict: bool) -> None:
        """Raise an error if a pattern matches no feature."""
        super().check_features(names, strict)
        for flag, pairs in (("feature-rate", self.feature_rate), ("initial", self.initial)):
            for pattern, _ in _parse_pairs(flag, pairs):
                FeatureSelection.of(pattern).check(names, flag)

    def why_nothing(self) -> str | None:
        """Say what bold lacks, where it is asked for."""
        if self.reference != "bold":
            return None
        return "no candidate is a reference, or all that are win already; use --reference hope"

    def baseline(self, tuning: Task) -> Floats:
        """Return the initial weights that were asked for, or equal weights."""
        return self.own_start(tuning) if self.initial else super().baseline(tuning)

    def own_start(self, tuning: Task) -> Floats:
        """Return what ``initial`` says, and 0 for all other features."""
        return _values_by_pattern(tuning.names, "initial", self.initial, 0.0)

    def stages(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> Iterator[Outcome]:
        """Learn with each setting in turn."""
        self._check_initial(start)
        return super().stages(tuning, start, rng)

    def start_training(
        self, tuning: Task, start: Floats | None, rng: np.random.Generator
    ) -> Training:
        """Return a run."""
        self._check_initial(start)
        return super().start_training(tuning, start, rng)

    def _check_initial(self, start: Floats | None) -> None:
        if start is not None and self.initial:
            raise UsageError("initial goes without starting weights; drop one of them")

    def rates(self, tuning: Task) -> Floats:
        """Return the learning rate of each feature."""
        rates = _values_by_pattern(tuning.names, "feature-rate", self.feature_rate, self.rate)
        if self.scale:
            sizes = tuning.hypotheses().spread()
            # The size of what few sentences have says little, and its rate would be without bound.
            sizes[~getattr(tuning, "common", tuning.dense)] = 1.0
            rates = np.minimum(rates / sizes / sizes, GREATEST_RATE)
        return rates

    def training(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Training:
        """Return a run that begins with ``start``, which is changed."""
        scorer = self.scorer_for(objective, tuning, "examples", start)
        with np.errstate(all="ignore"):  # as while learning
            space = self.space(tuning.names, start)
            model = self.model(start, self.rates(tuning), space)
        return Training(self, self.rule, tuning, scorer, model, rng)

    def epoch_entry(self, epoch: int, learners: Sequence[OnlineLearner]) -> dict[str, Any]:
        """Return how many sentences have changed weights."""
        return {"changes": sum(learner.changes for learner in learners)}

    def target(self, example: Example, weights: Floats, epoch: int) -> Derivation | None:
        """Return the reference derivation d_i (section 4), if there is one."""
        if self.reference == "hope":
            return example.augmented(weights, -self.mu * self.mu_decay**epoch)
        if self.reference == "local":
            return example.oracle(weights, self.local_best)
        if self.reference == "max-bleu":
            return example.oracle(weights)
        return example.reference(weights)


class HopeFearRule(ABC):
    """UpdateWeights where each sentence is learnt from alone."""

    def __init__(self, tuner: HopeFear) -> None:
        self._tuner = tuner

    def __call__(
        self,
        example: Example,
        best: Derivation,
        model: Model,
        epoch: int,
        received: Sequence[SharedSet] = (),
    ) -> SentenceUpdate:
        """Find the update, if there is a reference derivation."""
        target = self._tuner.target(example, model.weights, epoch)
        x = None if target is None else self.update(example, target, best, model)
        return SentenceUpdate(x)

    @abstractmethod
    def update(
        self, example: Example, target: Derivation, best: Derivation, model: Model
    ) -> Update | None:
        """Return x, of the reference derivation d_i and the 1-best."""


def _parse_pairs(flag: str, texts: Iterable[str]) -> list[tuple[str, float]]:
    """Return the patterns and numbers that a user gives; names may contain the sign."""
    pairs = []
    for text in texts:
        pattern, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not pattern or not math.isfinite(value):
            raise UsageError(f"{flag} '{text}' is no pattern and number; write 'LM*=1'")
        pairs.append((pattern, value))
    return pairs


def _values_by_pattern(
    names: tuple[str, ...], flag: str, texts: Iterable[str], default: float
) -> Floats:
    """Return a number for each name: of the last pattern that matches, or the default."""
    values = dict.fromkeys(names, default)
    for pattern, value in _parse_pairs(flag, texts):
        values |= dict.fromkeys(FeatureSelection.of(pattern).select(names), value)
    return np.array(list(values.values()), np.float64)
