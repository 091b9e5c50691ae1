"""What a tuner is, and what it returns."""

from __future__ import annotations

import contextlib
import operator
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.lists import ListHypotheses, best
from tunesmith.metrics.base import Metric
from tunesmith.metrics.tuning import TuningSet
from tunesmith.parallel.local import thread_count
from tunesmith.registry import Registry

if TYPE_CHECKING:
    from rich.console import Group

SCHEMA = "tunesmith.tune/1"


@dataclass(frozen=True)
class Scores:
    """What weights reach on one set."""

    score: float
    initial_score: float
    length_ratio: float | None


@dataclass(frozen=True)
class Outcome:
    """What an algorithm found, before it is evaluated.

    Attributes
    ----------
    weights : float64[D]
    history
        A dictionary a step; ``gain`` is in natural units.
    line_searches
        How many there were.
    certificate
        A proof of how good the weights are, where the algorithm has one.
    """

    weights: Floats
    history: list[dict[str, Any]] = field(default_factory=list)
    line_searches: int = 0
    certificate: dict[str, Any] | None = None


@dataclass(frozen=True)
class TuneResult:
    """Tuned weights and how they came about; prints itself, and is a JSON object.

    Attributes
    ----------
    weights
        All weights: the tuned ones, and those of the start whose feature the data lack.
    score, initial_score, oracle_score
        On the metric's customary scale, evaluated afresh. The oracle is the best choice
        of candidates: the best there is if ``oracle_exact``, otherwise the best found.
    length_ratio
        Length of the output over that of the references; None where a metric has none.
    dev
        The same on a development set, which had no influence.
    history
        One entry a step.
    """

    tuner: str
    metric: str
    weights: Weights
    start: Weights
    score: float
    initial_score: float
    oracle_score: float
    oracle_exact: bool
    length_ratio: float | None
    dev: Scores | None
    path: list[dict[str, Any]] | None
    history: list[dict[str, Any]]
    certificate: dict[str, Any] | None
    line_searches: int
    seconds: float
    seed: int | None
    threads: int
    warnings: list[str]
    data: tuple[FileDigest, ...]
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``tunesmith tune``."""
        found = {"schema": SCHEMA, **{f.name: getattr(self, f.name) for f in fields(self)}}
        found["weights"] = dict(self.weights)
        found["start"] = dict(self.start)
        found["dev"] = None if self.dev is None else asdict(self.dev)
        found["data"] = [asdict(file) for file in self.data]
        return found

    def __rich__(self) -> Group:
        from tunesmith.tuners.tables import result_table

        return result_table(self)

    def __str__(self) -> str:
        from tunesmith.tuners.tables import as_text

        return as_text(self)


class Tuner(ABC):
    """Finds weights; a subclass is a frozen dataclass whose fields are its options."""

    name: ClassVar[str]
    #: Whether the metric must be an average over sentences.
    needs_sum: ClassVar[bool] = False

    @abstractmethod
    def tune(self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Run the algorithm.

        Parameters
        ----------
        tuning
            Candidates and statistics.
        start : float64[D]
            Where to begin; None leaves it to the algorithm.
        rng
            The only source of randomness.
        """

    def fit(
        self,
        tuning: TuningSet,
        start: Mapping[str, float] | None = None,
        dev: TuningSet | None = None,
        rng: np.random.Generator | int | None = None,
        strict: bool = False,
    ) -> TuneResult:
        """Tune weights on a set.

        Parameters
        ----------
        tuning
            What to tune on.
        start
            Weights by name to begin with.
        dev
            A set to evaluate on beside it; it has no influence on the weights.
        rng
            A generator, or a seed; None is the seed 1.
        strict
            Make it an error if names of ``start`` and of the data differ.
        """
        self.check(tuning)
        seed = _seed(rng)
        generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(seed)
        names = tuning.candidates.features.names
        if not names:
            raise TunesmithError("the candidates have no features; there is nothing to tune")
        begun = time.perf_counter()
        with _recorded() as said:
            given = None if start is None else Weights.from_dict(start)
            first = None if given is None else given.matched(names, strict)
            if dev is not None:
                known = Weights.from_dict(dict.fromkeys([*names, *(given or ())], 0.0))
                known.matched(dev.candidates.features.names, strict, "held-out set: ")
        with _recorded() as said_later:
            outcome = self.tune(tuning, first, generator)
        seconds = time.perf_counter() - begun
        begin = Weights(names, self.own_start(tuning)) if given is None else given
        # With weights that these data lack, and a held-out set may have.
        tuned = begin.updated(Weights(names, outcome.weights))
        metric = tuning.metric
        scores = _scores(tuning, begin, tuned)
        oracle = tuning.oracle(begin=best(tuning.candidates, tuned.aligned(names)))
        return TuneResult(
            tuner=self.name,
            metric=metric.name,
            weights=tuned,
            start=begin,
            score=scores.score,
            initial_score=scores.initial_score,
            oracle_score=oracle.score,
            oracle_exact=oracle.exact,
            length_ratio=scores.length_ratio,
            dev=None if dev is None else _scores(dev, begin, tuned),
            path=None,
            history=_history(outcome, metric),
            certificate=outcome.certificate,
            line_searches=outcome.line_searches,
            seconds=seconds,
            seed=seed,
            threads=thread_count(),
            warnings=said + said_later,
            data=tuning.candidates.files + (dev.candidates.files if dev else ()),
            signature=f"{self.signature()}|seed:{seed}|{tuning.signature()}",
        )

    def own_start(self, tuning: TuningSet) -> Floats:
        """Return the weights that the algorithm begins with where none are given."""
        return 1.0 / ListHypotheses(tuning).spread()

    def check(self, tuning: TuningSet) -> None:
        """Raise an error if the algorithm cannot work on a set."""
        if self.needs_sum and not tuning.metric.is_sum:
            raise UsageError(
                f"{self.name} needs a metric that is an average over sentences; "
                f"{tuning.metric.name} is not"
            )

    def signature(self) -> str:
        """Return what has to be known to run the same again."""
        options = [f"{f.name}:{getattr(self, f.name)}" for f in fields(self)]  # type: ignore[arg-type]
        return "|".join([self.name, *options])


def _seed(rng: np.random.Generator | int | None) -> int | None:
    if rng is None:
        return 1
    if isinstance(rng, np.random.Generator):
        return None
    try:
        seed = operator.index(rng)
    except TypeError:
        raise UsageError(f"rng is {rng!r}; give a numpy Generator or a whole number") from None
    if seed < 0:
        raise UsageError(f"the seed is {seed}; give 0 or more")
    return seed


@contextlib.contextmanager
def _recorded() -> Iterator[list[str]]:
    """Keep what is warned of in a list, and warn of it again at the end."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield said
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        if issubclass(warning.category, UserWarning):
            said.append(str(warning.message))


def _history(outcome: Outcome, metric: Metric) -> list[dict[str, Any]]:
    """Put numbers on the steps, and their gains on the metric's scale."""
    sign = metric.scale if metric.higher_is_better else -metric.scale
    return [
        {"step": step, "score": entry["gain"] * sign}
        | {key: value for key, value in entry.items() if key != "gain"}
        for step, entry in enumerate(outcome.history)
    ]


def _scores(tuning: TuningSet, start: Weights, tuned: Weights) -> Scores:
    """Evaluate weights from scratch on a set that may have other features."""
    candidates = tuning.candidates
    names = candidates.features.names
    chosen = best(candidates, tuned.aligned(names))
    details = tuning.metric.details(tuning.total(chosen))
    return Scores(
        tuning.score(chosen),
        tuning.score(best(candidates, start.aligned(names))),
        details.get("length_ratio"),
    )


TUNERS: Registry[Tuner] = Registry("tuner", "tunesmith.tuners", "tunesmith.tuners")
