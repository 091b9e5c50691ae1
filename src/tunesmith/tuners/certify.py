"""How far given weights are from the best there can be, at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.lists.hypotheses import best as best_of
from tunesmith.randomness import generator_of
from tunesmith.search.exact.certificate import SearchLimits, certificate, progress_of
from tunesmith.search.exact.extreme import TOLERANCE, check_tolerance
from tunesmith.search.exact.incumbent import Incumbent, incumbents
from tunesmith.search.exact.problem import Problem
from tunesmith.search.exact.search import NO_TREE, compile_kernels, exact_search
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import check_sum

if TYPE_CHECKING:
    from rich.console import Group

SCHEMA = "tunesmith.certify/1"
#: Seconds, unless the user says how many; megabytes for what is left to search.
SECONDS, MEMORY = 60.0, 1000.0
#: Vectors near to the given one that are climbed from, and how far they are, relative to it.
NEARBY, DISTANCE = 7, 0.3


@dataclass(frozen=True)
class Certified:
    """What is proven about weights; prints itself, and is a JSON object.

    Attributes
    ----------
    score
        What the weights reach, on the metric's customary scale.
    oracle_score
        What the best choice of candidates reaches, whether or not weights lead to it.
    certificate
        ``best`` is that score; no weights at all do better than ``bound``, if they put their
        winners ahead by the tolerance. ``optimal`` tells whether that proves the weights the
        best there are. ``tie`` is there if they are better than all that count.
    found_score, found_weights
        The best weights met on the way: the truth is between them and the bound. They may be
        the given ones.
    """

    metric: str
    score: float
    oracle_score: float
    certificate: dict[str, Any]
    found_score: float
    found_weights: Weights
    signature: str
    seed: int | None
    data: tuple[FileDigest, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``tunesmith certify``."""
        return {
            "schema": SCHEMA,
            "signature": self.signature,
            "metric": self.metric,
            "score": self.score,
            "oracle_score": self.oracle_score,
            "certificate": self.certificate,
            "found": {"score": self.found_score, "weights": dict(self.found_weights)},
            "seed": self.seed,
            "data": [asdict(file) for file in self.data],
        }

    def __rich__(self) -> Group:
        from tunesmith.tuners.fitting.tables import certified_table

        return certified_table(self)

    def __str__(self) -> str:
        from tunesmith.tuners.fitting.tables import as_text

        return as_text(self)


def certify(
    tuning: TuningSet,
    weights: Mapping[str, float],
    *,
    time_limit: float | None = SECONDS,
    tolerance: float = TOLERANCE,
    rng: np.random.Generator | int | None = None,
    strict: bool = False,
) -> Certified:
    """Bound how far weights are from the optimum of a metric that is a sum over sentences.

    Sentences are put into blocks that are solved exactly: no weights do better on the whole than
    each block's own best weights do on it. The more time, the larger the blocks and the tighter
    the bound. Few sentences are solved as a whole.

    Parameters
    ----------
    tuning
        Candidates and statistics.
    weights
        By name; from any tuner.
    time_limit
        Seconds; None is until the optimum is proven, which many sentences never reach.
    tolerance
        The lead of a winner that counts: see ``LPMERT``.
    rng
        A generator, or a seed; None is the seed 1. It has no influence on what is proven, only
        on when.
    strict
        Make it an error if names of the weights and of the data differ.
    """
    check_options(time_limit, tolerance)
    check_sum(tuning, "a certificate")
    names = tuning.names
    given = Weights.from_dict(weights)
    values = given.matched(names, strict)
    seed = 1 if rng is None else rng
    generator = generator_of(seed)
    score = tuning.score(best_of(tuning.candidates, values))
    problem = Problem.of(tuning)
    compile_kernels(problem, tolerance)
    limits = SearchLimits(time_limit, megabytes=MEMORY)
    found, met = None, [values]
    if problem.size > 0:
        known = _known(problem, problem.vector(values), tolerance, generator, limits)
        found = exact_search(
            problem, known, generator, tolerance=tolerance, limits=limits, tell=progress_of(problem)
        )
        vectors = [found.vector, found.unclear]
        met += [problem.weights(vector) for vector in vectors if vector is not None]
    best, reached = best_of_choices(tuning, met)
    return Certified(
        tuning.metric.name,
        score,
        tuning.oracle().score,
        certificate(problem, score, found, limits.passed, reached),
        reached,
        given.updated(Weights(names, best)),
        f"certify|time_limit:{time_limit}|tolerance:{tolerance:g}|{tuning.signature()}",
        None if isinstance(seed, np.random.Generator) else int(seed),
        tuning.files,
    )


def _known(
    problem: Problem,
    vector: Floats,
    tolerance: float,
    rng: np.random.Generator,
    limits: SearchLimits,
) -> list[Incumbent]:
    """Return vectors to begin with: on many groups those near to the given one are the best."""
    if problem.size <= NO_TREE:
        return incumbents(problem, tolerance, rng, [vector], limits=limits)
    away = rng.standard_normal((NEARBY, problem.dimensions))
    length = float(np.sqrt((vector**2).mean())) or 1.0
    near = [vector, *(vector + DISTANCE * length * away)]
    return incumbents(problem, tolerance, rng, near, 0, limits)


def best_of_choices(tuning: TuningSet, choices: list[Floats]) -> tuple[Floats, float]:
    """Return the best of some weights, the first among equals, and its score.

    Weights on a tie may be better than what counts as attainable.
    """
    sign = 1.0 if tuning.metric.higher_is_better else -1.0
    scores = [tuning.score(best_of(tuning.candidates, weights)) for weights in choices]
    best = max(range(len(choices)), key=lambda k: (sign * scores[k], -k))
    return choices[best], scores[best]


def check_options(time_limit: float | None, tolerance: float) -> None:
    """Raise an error if there is no time, or the tolerance makes no sense."""
    check_tolerance(tolerance)
    if time_limit is not None and not time_limit > 0.0:
        raise UsageError(f"time_limit is {time_limit:g}; give seconds above 0")
