"""Which runs the figures and tables of hope_and_fear.py are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hope_and_fear_data import Sizes
from hope_and_fear_runs import Run

MODELS = ("small", "large")
WAYS = ("mixing", "async")


@dataclass(frozen=True)
class Protocol:
    """How large the experiment is.

    Attributes
    ----------
    rates
        η of SGD, MIRA and minimum risk.
    losses
        μ.
    variances, confidences
        η₀ and λ of AROW.
    learners
        Of everything that is not about their number.
    numbers
        How many learners are compared, apart from one alone.
    more
        Further ones, of asynchronous MIRA on the large model.
    restarts
        Of MERT.
    tried
        η of MIRA that Dev chooses among, for each way and number of learners, beside 0.01.
    """

    sizes: Sizes
    epochs: int
    seeds: tuple[int, ...]
    rates: tuple[float, ...]
    losses: tuple[float, ...]
    variances: tuple[float, ...]
    confidences: tuple[float, ...]
    learners: int
    numbers: tuple[int, ...]
    more: tuple[int, ...]
    restarts: int = 20
    tried: tuple[float, ...] = ()


PROTOCOLS = {
    "quick": Protocol(
        Sizes(tune=400, dev=300, test=480, held_out=0, lexical=5000),
        epochs=5,
        seeds=(1, 2, 3),
        rates=(0.002, 0.01, 0.05),
        losses=(-0.2, -1.0, -5.0),
        variances=(0.01, 0.1, 1.0, 10.0),
        confidences=(0.001, 0.01, 0.1),
        learners=4,
        numbers=(4, 20),
        more=(2, 8),
        tried=(0.05, 0.3),
    ),
    # The paper learns from 3011 sentences.
    "full": Protocol(
        Sizes(tune=480, dev=460, test=480, held_out=2531, lexical=5000),
        epochs=10,
        seeds=(1, 2, 3),
        rates=(0.001, 0.005, 0.01, 0.02, 0.05, 0.1),
        losses=(-0.2, -0.5, -1.0, -2.0, -5.0),
        variances=(0.01, 0.1, 1.0, 10.0),
        confidences=(0.0001, 0.001, 0.01, 0.1),
        learners=20,
        numbers=(2, 4, 8, 20),
        more=(50,),
        tried=(0.05, 0.3),
    ),
}


class Line(NamedTuple):
    """A row of Table 1.

    Attributes
    ----------
    rates, epoch, dev, test
        What the paper has; nothing where it lacks the row.
    """

    model: str
    objective: str
    algorithm: str
    approximation: str
    parallel: str
    rates: str = ""
    epoch: int = 0
    dev: float = 0.0
    test: float = 0.0


#: The rows of the paper, and one more before the last.
TABLE1 = (
    Line("small", "1 − BLEU", "MERT", "–", "–", "", 6, 42.1, 45.2),
    Line("small", "hinge", "SGD", "rerank", "mixing", "η = 0.02", 6, 42.2, 44.9),
    Line("small", "risk", "SGD", "linear", "mixing", "η = 0.05", 8, 41.9, 44.8),
    Line("small", "hinge", "MIRA", "rerank", "mixing", "η = 0.05", 4, 42.2, 44.9),
    Line("large", "hinge", "SGD", "rerank", "mixing", "η = 0.01", 5, 42.4, 45.2),
    Line("large", "hinge", "MIRA", "rerank", "mixing", "η = 0.01", 7, 43.1, 45.9),
    Line("large", "hinge", "MIRA", "rerank", "async", "η = 0.01", 9, 44.5, 47.3),
    Line("large", "hinge", "AROW", "rerank", "mixing"),
    Line("large", "hinge", "AROW", "rerank", "async", "η₀ = 1, λ = 0.01", 4, 44.7, 47.6),
)


class Parts:
    """The runs of a protocol, by what they are for; the same run may be for several."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol

    def usual(self, model: str, tuner: str, **others: Any) -> Run:
        """Return a run with the usual number of learners."""
        return Run(model, tuner, learners=self.protocol.learners, **others)

    def by_rate(self, tuner: str) -> list[Run]:
        """Figures 2a, 2b and 2c."""
        return [self.usual("small", tuner, rate=rate) for rate in self.protocol.rates]

    @property
    def mert(self) -> Run:
        """Figure 2d has MERT as well."""
        return Run("small", "mert")

    def by_search(self) -> list[Run]:
        """Figure 3a."""
        return [self.usual("small", "sgd", search=search) for search in ("rerank", "linear")]

    def by_loss(self) -> list[Run]:
        """Figure 3b."""
        return [self.usual("small", "mira", mu=mu) for mu in self.protocol.losses]

    def by_way(self, model: str, seed: int = 1) -> list[Run]:
        """Figure 4: one learner, and several that work together in one way or the other."""
        alone = Run(model, "mira", seed=seed)
        several = [
            replace(alone, learners=number, parallel=way)
            for way in WAYS
            for number in self.protocol.numbers
        ]
        return [alone, *several]

    def by_number(self) -> list[Run]:
        """Figure 5."""
        numbers = sorted({1, *self.protocol.numbers, *self.protocol.more})
        return [Run("large", "mira", learners=number, parallel="async") for number in numbers]

    def by_way_and_rate(self, seed: int) -> list[list[Run]]:
        """Return, of the large model, one learner and most learners, each way with every η."""
        alone = Run("large", "mira", seed=seed)
        most = max(self.protocol.numbers)
        ways = [alone, *(replace(alone, learners=most, parallel=way) for way in WAYS)]
        return [[one, *(replace(one, rate=x) for x in self.protocol.tried)] for one in ways]

    def arow(self, way: str = "async", seed: int = 1, **others: float) -> Run:
        """Return AROW on the large model."""
        return self.usual("large", "arow", **{"rate": 1.0, "parallel": way, "seed": seed, **others})

    def by_variance(self) -> list[Run]:
        """Figure 6a."""
        return [self.arow(rate=rate) for rate in self.protocol.variances]

    def by_confidence(self) -> list[Run]:
        """Figure 6b."""
        return [self.arow(confidence=value) for value in self.protocol.confidences]

    def ordering(self, seed: int) -> list[Run]:
        """Return runs of the large model in the paper's order, the best last."""
        mira = self.usual("large", "mira", seed=seed)
        return [
            self.usual("large", "sgd", seed=seed),
            mira,
            replace(mira, parallel="async"),
            self.arow("mixing", seed),
            self.arow("async", seed),
        ]

    def table1(self) -> list[tuple[Line, list[Run]]]:
        """Return the rows of Table 1, each with the runs of which Dev chooses one."""
        small = [self.by_rate(tuner) for tuner in ("sgd", "min-risk", "mira")]
        large = [[one] for one in self.ordering(1)]
        return list(zip(TABLE1, [[self.mert], *small, *large], strict=True))

    def runs(self, part: str) -> list[Run]:
        """Return all runs of a part, none twice."""
        seeds = self.protocol.seeds
        found: dict[str, list[Run]] = {
            "figure2": [
                *(run for tuner in ("sgd", "mira", "min-risk") for run in self.by_rate(tuner)),
                self.mert,
            ],
            "figure3": [*self.by_search(), *self.by_loss()],
            "figure4": [run for model in MODELS for run in self.by_way(model)],
            "figure5": self.by_number(),
            "figure6": [*self.by_variance(), *self.by_confidence()],
            "table1": [run for _, some in self.table1() for run in some],
            "seeds": [run for s in seeds for model in MODELS for run in self.by_way(model, s)],
            "ordering": [run for seed in seeds for run in self.ordering(seed)],
            "rates": [run for s in seeds for some in self.by_way_and_rate(s) for run in some],
        }
        return list(dict.fromkeys(found[part]))


PARTS = (
    "figure2",
    "figure3",
    "figure4",
    "figure5",
    "figure6",
    "table1",
    "seeds",
    "ordering",
    "rates",
)


def all_runs(protocol: Protocol, parts: Sequence[str]) -> list[Run]:
    """Return the runs of some parts, those first that take long."""
    made = Parts(protocol)
    found = dict.fromkeys(run for part in parts for run in made.runs(part))
    return sorted(found, key=lambda run: -run.learners)
