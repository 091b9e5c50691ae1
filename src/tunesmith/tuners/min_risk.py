"""Minimum risk: the expected metric under the model's distribution over the candidates.

Smith and Eisner, "Minimum risk annealing for training log-linear models" (COLING/ACL 2006);
Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012),
Appendix A. The distribution is P ∝ exp(w·h / T); the lower the temperature T, the nearer is what
it expects to the metric of the best candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from tunesmith.arrays import Floats, inner
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.examples import Derivation, Example
from tunesmith.inference.hypotheses import TuningHypotheses
from tunesmith.metrics.base import Metric
from tunesmith.metrics.candidate_scorer import Objective
from tunesmith.registry import Numbers, numbers, option
from tunesmith.search.space.space import Space
from tunesmith.search.working_set.solver import SharedSet
from tunesmith.tasks.base import Task
from tunesmith.tuners.base import TUNERS
from tunesmith.tuners.fitting.rounds import Round
from tunesmith.tuners.online.learner import OnlineLearner, SentenceUpdate
from tunesmith.tuners.online.model import Model
from tunesmith.tuners.online.training import OnlineTuner, Training

METHODS = ("batch", "online")
#: Options that have a default for each method, None where a method has no use for them.
DEFAULTS: dict[str, dict[str, float | None]] = {
    "batch": {"temperature": 2.0, "cooling": 0.5, "rate": None},
    "online": {"temperature": 1.0, "cooling": 0.85, "rate": 0.01},
}
#: The strength of the penalty where none is given.
STRENGTH = 0.1
#: More than any metric needs, and far from what a number can hold.
STRONGEST = 1e100
#: Sharper distributions are the winners alone.
SHARPEST = 1e300


@TUNERS.register("min-risk")
@dataclass(frozen=True)
class MinRisk(OnlineTuner):
    """Minimum risk: maximises the expected metric, at lower and lower temperatures.

    ``batch`` maximises the metric of the expected statistics of all sentences, minus
    strength / 2 · Σ ((w − w0) · size / σ)², by L-BFGS; each round has one temperature and begins
    where the last one ended. The size of a dense feature is its deviation within sentences, that
    of a sparse one the root mean square of its values that are not 0, so that rare features do
    not cost less; w0 are the starting weights and σ is the deviation of their scores. The unit of
    the metric is how much candidates differ in their worth, about 10 points of BLEU. A strength
    therefore means the same for all weights and metrics.

    ``online`` is Chiang's: for each sentence in turn, a step along the gradient of the expected
    worth (equation 11). It returns the average of the weights after each sentence. All features
    learn as if they had the same size.

    Temperatures are in units of σ, so that they do not depend on the scale of the weights, unless
    they are ``absolute``.
    """

    method: Literal["batch", "online"] = option(
        "batch",
        "maximise the expected metric of the whole set, or the expected "
        "objective of one sentence after another",
    )
    epochs: int = option(10, "rounds over the set, each at one temperature", least=1)
    temperature: float | None = option(
        None,
        "temperature of the first round, in units of the deviation of the scores at the start "
        "[default: batch 2, online 1]",
        above=0,
        below=np.inf,
    )
    cooling: float | None = option(
        None,
        "factor on the temperature after each round [default: batch 0.5, online 0.85]",
        above=0,
        most=1,
    )
    strength: Numbers = option(
        (),
        "batch: penalty on squared distances from the starting weights; a "
        "held-out set chooses among several [default: 0.1]",
        convert=numbers,
        least=0,
        most=STRONGEST,
    )
    steps: int = option(30, "batch: most L-BFGS steps at each temperature", least=1)
    rate: float | None = option(
        None, "online: the learning rate [default: 0.01]", above=0, below=np.inf
    )
    average: bool = option(True, "online: return the average of the weights after each sentence")
    scale: bool = option(True, "online: learn as if all features had the same spread")
    absolute: bool = option(
        False, "temperatures refer to the scores themselves, not to their deviation"
    )

    varied = ("objective", "strength")
    usual = ("document", "document")

    def __post_init__(self) -> None:
        super().__post_init__()
        online = {"rate": self.rate is not None, "average": not self.average}
        online |= {"scale": not self.scale}
        online |= {"learners": self.learners != 1}
        batch = {"strength": self.strength, "steps": self.steps != 30}
        wrong = batch if self.method == "online" else online | {"objective": self.objective}
        for name, is_given in wrong.items():
            if is_given:
                other = METHODS[1 - METHODS.index(self.method)]
                raise UsageError(f"{name} goes with the method {other}; give --method {other}")

    def asks_hope(self, metric: Metric) -> bool | None:
        """Whether single forests are searched, as they are when learning goes by sentences."""
        return super().asks_hope(metric) if self.is_online else None

    @property
    def is_online(self) -> bool:  # type: ignore[override]
        """Whether it goes from sentence to sentence."""
        return self.method == "online"

    @property
    def round_count(self) -> int:
        """The number of temperatures."""
        return self.epochs

    def temperatures(self) -> list[float]:
        """Return the temperature of each round."""
        return [self.temperature_of(epoch) for epoch in range(self.epochs)]

    def _number(self, name: str) -> float:
        chosen = getattr(self, name)
        number = DEFAULTS[self.method][name] if chosen is None else chosen
        assert number is not None  # what a method does not use it does not ask for
        return float(number)

    def check_metric(self, metric: Metric) -> None:
        """Raise an error if the metric of expected statistics has no gradient."""
        super().check_metric(metric)
        if self.method == "online":
            return
        try:
            metric.check_slope()
        except TunesmithError:
            raise TunesmithError(
                f"metric '{metric.name}' has no gradient; use --method online, or give it a slope"
            ) from None

    def rounds(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Iterator[Round]:
        """Learn by the method."""
        if self.method == "batch":
            return self._batch(tuning, start)
        return super().rounds(tuning, objective, start, rng)

    def _batch(self, tuning: Task, start: Floats) -> Iterator[Round]:
        """Find the best weights at each temperature, from those at the last one on.

        Where only lists of a forest's derivations have expectations, each temperature has those
        that are best under the weights of the moment as well: away from the start, others win.
        """
        strength = self.strength[0] if self.strength else STRENGTH
        whole = tuning.hypotheses()
        space = self.space(tuning.names, start)
        weights, risk = start, ExpectedGain(whole.renewed(start), start, strength)
        for number, temperature in enumerate(self.temperatures()):
            if number > 0:
                risk = risk.over(whole.renewed(weights, risk.hypotheses))
            relative = temperature / risk.deviation if self.absolute else temperature
            weights, steps = risk.greatest_within(space, weights, relative, self.steps)
            gain = risk.gain(weights, relative)
            smoothed = {"smoothed": gain} if math.isfinite(gain) else {}
            yield Round(weights, {"temperature": temperature, **smoothed, "steps": steps})

    def training(
        self, tuning: Task, objective: Objective, start: Floats, rng: np.random.Generator
    ) -> Training:
        """Return a run of the online method that begins with ``start``, which is changed."""
        hypotheses = tuning.hypotheses().renewed(start)
        unit = _deviation(hypotheses, start)
        with np.errstate(over="ignore"):
            sizes = hypotheses.sizes() if self.scale else np.full(len(start), unit)
            rates = self._number("rate") * np.square(unit / sizes)
        model = Model(start, np.minimum(rates, SHARPEST), self.space(tuning.names, start))
        scorer = self.scorer_for(objective, tuning, "examples", start)
        return Training(
            self,
            partial(RiskRule, self, 1.0 if self.absolute else unit),
            tuning,
            scorer,
            model,
            rng,
        )

    def temperature_of(self, epoch: int) -> float:
        """Return the temperature of a round."""
        return self._number("temperature") * self._number("cooling") ** epoch

    def epoch_entry(self, epoch: int, learners: Sequence[OnlineLearner]) -> dict[str, Any]:
        """Return the temperature, and what was expected of a sentence."""
        count = sum(learner.seen for learner in learners)
        worth = sum(learner.expected for learner in learners) / count
        return {"temperature": self.temperature_of(epoch), "worth": worth}


@dataclass(frozen=True)
class RiskRule:
    """The update of the online method.

    Attributes
    ----------
    unit
        The unit of temperatures: the deviation of the scores at the start, or 1.
    width
        The number of features.
    """

    tuner: MinRisk
    unit: float
    width: int

    def __call__(
        self,
        example: Example,
        best: Derivation,
        model: Model,
        epoch: int,
        received: Sequence[SharedSet] = (),
    ) -> SentenceUpdate:
        """Return the gradient of the expected gain (equation 11)."""
        temperature = max(self.tuner.temperature_of(epoch) * self.unit, 1.0 / SHARPEST)
        risk = example.risk(model.weights, temperature)
        return SentenceUpdate((risk.features, risk.slope), risk.gain)


class ExpectedGain:
    """The gain of expected statistics, minus a penalty on the distance from weights.

    Parameters
    ----------
    hypotheses
        What distributions are over.
    centre : float64[D]
        w0, which also says what scores are usual.
    strength
        Of the penalty.

    Attributes
    ----------
    unit
        What the gain is divided by: the deviation of what candidates are worth to it, were all
        sentences changed at once.
    deviation
        The deviation σ of the scores at w0, the unit of temperatures.
    scale : float64[D]
        What weights are multiplied by to become variables whose curvature is about the same.
    """

    def __init__(self, hypotheses: TuningHypotheses, centre: Floats, strength: float) -> None:
        import scipy.optimize  # noqa: F401  (only the libraries are found that are loaded)
        from threadpoolctl import ThreadpoolController

        self._blas = ThreadpoolController()  # looking for libraries takes longer than a round
        self.hypotheses = hypotheses
        self.centre = centre
        self.strength = strength
        point = hypotheses.point(centre)
        (flat,) = hypotheses.expected([point], [0.0])
        self.unit = flat.gain_deviation * hypotheses.groups or 1.0
        self.deviation = _deviation(hypotheses, centre)
        self.costs = hypotheses.sizes() / self.deviation
        # The curvature of the gain goes with the squared spread, that of the penalty is its
        # strength times the squared size.
        spread = hypotheses.spread() / self.deviation
        self.scale = np.hypot(spread, math.sqrt(strength) * self.costs)

    def over(self, hypotheses: TuningHypotheses) -> ExpectedGain:
        """Return the same over other hypotheses, or itself if they are the same."""
        if hypotheses is self.hypotheses:
            return self
        return ExpectedGain(hypotheses, self.centre, self.strength)

    def _sharpness(self, temperature: float) -> float:
        return min(1.0 / max(temperature * self.deviation, 1.0 / SHARPEST), SHARPEST)

    def gain(self, weights: Floats, temperature: float) -> float:
        """Return the gain of the expected statistics, in natural units."""
        point = self.hypotheses.point(weights)
        (expected,) = self.hypotheses.expected([point], [self._sharpness(temperature)])
        return expected.gain

    def value(self, weights: Floats, temperature: float) -> tuple[float, Floats]:
        """Return the gain over its unit minus the penalty, and the derivative by the weights."""
        point = self.hypotheses.point(weights)
        (expected,) = self.hypotheses.expected([point], [self._sharpness(temperature)])
        away = self.costs * (weights - self.centre)
        value = expected.gain / self.unit - 0.5 * self.strength * inner(away, away)
        return value, expected.gradient / self.unit - self.strength * self.costs * away

    def greatest_within(
        self, space: Space, begin: Floats, temperature: float, steps: int
    ) -> tuple[Floats, int]:
        """Climb within a space: where the end of a free climb is in it, that is the end."""
        weights, count = self.greatest(begin, temperature, steps)
        if np.array_equal(space.exact(weights), weights):
            return weights, count
        return self.greatest(begin, temperature, steps, space)

    def greatest(
        self, begin: Floats, temperature: float, steps: int, space: Space | None = None
    ) -> tuple[Floats, int]:
        """Climb from some weights on; return the end, and how many steps led there.

        In a space the variables are its own, within their ranges.
        """
        from scipy.optimize import minimize  # slow to import, and not always needed

        best = begin
        highest = -math.inf
        scale = self.scale if space is None else space.sizes(self.scale)
        variables = begin if space is None else space.variables_of(begin)
        bounds = None
        if space is not None:
            bounds = list(zip(space.low * scale, space.high * scale, strict=True))

        def loss(variables: Floats) -> tuple[float, Floats]:
            nonlocal best, highest
            weights = variables / scale
            if space is not None:
                weights = space.of_variables(weights)
            value, slope = self.value(weights, temperature)
            slope = (slope if space is None else space.gathered(slope)) / scale
            if not (math.isfinite(value) and np.isfinite(slope).all()):
                raise _TooFarError
            if value > highest:
                best, highest = weights, value
            return -value, -slope

        options: Any = {"maxiter": steps, "maxcor": 10}
        # Sums of BLAS would depend on the number of threads.
        with self._blas.limit(limits=1), np.errstate(over="ignore", invalid="ignore"):
            try:
                solution = minimize(
                    loss,
                    variables * scale,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=bounds,
                    options=options,
                )
            except (_TooFarError, TunesmithError):
                return best, steps  # what was good before the numbers became too large
        return best, int(solution.nit)


class _TooFarError(Exception):
    """A step has led to where numbers are no longer finite."""


def _deviation(hypotheses: TuningHypotheses, weights: Floats) -> float:
    """Return the deviation of scores; where all are equal any scale will do."""
    return hypotheses.deviation(hypotheses.point(weights)) or 1.0
