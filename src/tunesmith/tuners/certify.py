"""How far given weights are from the best there can be, at most."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.arrays import Floats, to_size_of
from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.lists.hypotheses import best as best_of
from tunesmith.randomness import generator_of
from tunesmith.search.exact.certificate import SearchLimits, certificate, progress_of
from tunesmith.search.exact.extreme import TOLERANCE, check_tolerance
from tunesmith.search.exact.in_plane import completed
from tunesmith.search.exact.problem import Problem
from tunesmith.search.exact.region import Region
from tunesmith.search.exact.screening import between_limits, within_angle
from tunesmith.search.exact.search import (
    ONE_TREE,
    compile_kernels,
    exact_search,
    first_incumbents,
)
from tunesmith.search.space.constraints import Constraints
from tunesmith.search.space.space import Space
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import check_sum

if TYPE_CHECKING:
    from rich.console import Group

SCHEMA = "tunesmith.certify/1"
#: Seconds, unless the user says how many; megabytes for what is left to search.
SECONDS, MEMORY = 60.0, 1000.0
#: Vectors near to the given one that are climbed from, and how far they are, relative to it.
NEARBY, DISTANCE = 7, 0.3
#: Angles of a curve, in degrees, unless the user says which; and one that is too large.
CURVE, RIGHT = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0), 90.0
#: Weights satisfy a restriction if they are no farther from it, relative to their size.
OFF = 1e-9


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
    given
        The weights that this is about.
    curve
        A certificate for each of several angles, with ``degrees``; None if they are not several.
    """

    metric: str
    score: float
    oracle_score: float
    certificate: dict[str, Any]
    found_score: float
    found_weights: Weights
    given: Weights
    signature: str
    seed: int | None
    data: tuple[FileDigest, ...]
    curve: list[dict[str, Any]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``tunesmith certify``."""
        return {
            "schema": SCHEMA,
            "signature": self.signature,
            "metric": self.metric,
            "score": self.score,
            "oracle_score": self.oracle_score,
            "weights": dict(self.given),
            "certificate": self.certificate,
            "found": {"score": self.found_score, "weights": dict(self.found_weights)},
            "seed": self.seed,
            "data": [asdict(file) for file in self.data],
        } | ({} if self.curve is None else {"curve": self.curve})

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
    within: float | Sequence[float] | None = None,
    box: float | None = None,
    constraints: Constraints | None = None,
    memory_limit: float = MEMORY,
) -> Certified:
    """Bound how far weights are from the optimum of a metric that is a sum over sentences.

    Sentences are divided into blocks that are solved exactly: no weights do better on all
    sentences than each block's best weights do on that block. More time allows larger blocks and
    a tighter bound; a few sentences are solved as one block. A smaller region has a tighter bound.

    Parameters
    ----------
    tuning
        Candidates and statistics.
    weights
        Weights by name, from any tuner.
    time_limit
        Seconds; None goes on until the optimum is proven, which may never happen with many
        sentences.
    tolerance
        The smallest lead by which a winner counts: see ``LPMERT``.
    rng
        A generator, or a seed; None is the seed 1. It affects when something is proven, not what.
    strict
        Make it an error if names of the weights and of the data differ.
    within
        Consider only weights within this angle of the given ones, in degrees, with features scaled
        by their deviation. Each of several angles has its own bound and a share of the time; the
        certificate is that of the largest.
    box
        Consider only weights of which none differs from the given one by more than this share of
        it, whatever the scale.
    constraints
        Consider only weights that satisfy these restrictions, as the given ones must.
    memory_limit
        Memory in megabytes for the open parts of the search.
    """
    check_options(time_limit, tolerance, within, box, constraints)
    check_sum(tuning, "a certificate")
    limits = SearchLimits(time_limit, megabytes=memory_limit)
    named = Weights.from_dict(weights)
    values = named.matched(tuning.names, strict)
    seed = 1 if rng is None else rng
    generator = generator_of(seed)
    score = tuning.score(best_of(tuning.candidates, values))
    search = _Certification(tuning, values, tolerance, limits, generator)
    if within is not None:
        curve = search.around(angles_of(within))
    elif box is not None:
        curve = [search.inside_of(Region.box(values, box))]
    else:
        region = None if constraints is None else _region(tuning.names, values, constraints)
        curve = [search.inside_of(region)]
    best, reached = best_of_choices(tuning, [values, *search.met])
    proof = dict(curve[-1])
    where = _where(within, box, constraints)
    proof.pop("degrees", None)
    if where:
        proof["within"] = where
    return Certified(
        tuning.metric.name,
        score,
        tuning.oracle().score,
        proof,
        reached,
        named.updated(Weights(tuning.names, best)),
        named,
        f"certify|time_limit:{time_limit}|tolerance:{tolerance:g}|"
        + (f"within:{where}|" if where else "")
        + tuning.signature(),
        None if isinstance(seed, np.random.Generator) else int(seed),
        tuning.files,
        curve if len(curve) > 1 else None,
    )


class _Certification:
    """Bounds for regions around weights, and the best weights met on the way."""

    def __init__(
        self,
        tuning: TuningSet,
        values: Floats,
        tolerance: float,
        limits: SearchLimits,
        rng: np.random.Generator,
    ) -> None:
        self.tuning, self.values, self.tolerance = tuning, values, tolerance
        self.limits, self.rng = limits, rng
        self.met: list[Floats] = []

    def inside_of(self, region: Region | None) -> dict[str, Any]:
        """Return the certificate among all weights, or those of a region."""
        problem = Problem.of(self.tuning, region=region)
        vector = problem.vector(self.values)
        if region is not None and region.limits is not None:
            low, high = region.limits
            problem = between_limits(problem, low * problem.spread, high * problem.spread)
        return self._proof(problem, vector, self.limits)

    def around(self, angles: Sequence[float]) -> list[dict[str, Any]]:
        """Return the certificate within each of ascending angles."""
        whole = Problem.of(self.tuning)
        vector = whole.vector(self.values)
        proofs = []
        for k, degrees in enumerate(angles):
            cosine = float(np.cos(np.radians(degrees)))
            problem = within_angle(whole, vector, cosine)
            # What is not needed by one is left to those after it.
            limits = self.limits.part(1.0 / (len(angles) - k))
            proof = self._proof(problem, vector, limits, towards=vector, cosine=cosine)
            proofs.append({"degrees": degrees} | proof)
        self._sharpen(proofs)
        return proofs

    def _sharpen(self, proofs: list[dict[str, Any]]) -> None:
        """Have the bound of a greater angle count within smaller ones."""
        sign = 1.0 if self.tuning.metric.higher_is_better else -1.0
        for greater, smaller in itertools.pairwise(reversed(proofs)):
            if "tie" not in greater and sign * greater["bound"] < sign * smaller["bound"]:
                smaller["bound"] = greater["bound"]
                smaller["gap"] = max(0.0, sign * (greater["bound"] - smaller["best"]))

    def _proof(
        self, problem: Problem, vector: Floats, limits: SearchLimits, **restrictions: Any
    ) -> dict[str, Any]:
        compile_kernels(problem, self.tolerance)
        tuning, result, met = self.tuning, None, [self.values]
        if problem.size > 0:
            # What was met within a smaller angle is within this one too.
            earlier = [problem.vector(weights) for weights in self.met]
            near = self._near(vector, restrictions) if problem.size > ONE_TREE else []
            begins = [vector, *earlier, *near]
            known = first_incumbents(
                problem, self.tolerance, self.rng, begins, limits, **restrictions
            )
            result = exact_search(
                problem,
                known,
                self.rng,
                tolerance=self.tolerance,
                limits=limits,
                tell=progress_of(problem),
                **restrictions,
            )
            if problem.region is None and not restrictions:
                result = completed(tuning, problem, result, limits, self.tolerance)
            vectors = [v for v in (result.vector, result.unclear) if v is not None]
            met += [problem.weights(v * to_size_of(vector, v)) for v in vectors]
        self.met += met[1:]
        score = tuning.score(best_of(tuning.candidates, self.values))
        reached = best_of_choices(tuning, met)[1]
        return certificate(problem, score, result, limits.passed, reached)

    def _near(self, vector: Floats, restrictions: Mapping[str, Any]) -> list[Floats]:
        """Return vectors near to the given one: on many groups they are the best to begin with."""
        if restrictions:
            return []
        away = self.rng.standard_normal((NEARBY, len(vector)))
        length = float(np.sqrt((vector**2).mean())) or 1.0
        return list(vector + DISTANCE * length * away)


def _region(names: tuple[str, ...], values: Floats, constraints: Constraints) -> Region | None:
    """Return the region of restrictions that weights satisfy."""
    space = Space.of(names, values, constraints)
    exact = space.exact(values)
    wrong = [
        name
        for name, value, other in zip(names, values, exact, strict=True)
        if abs(value - other) > OFF * max(abs(value), abs(other))
    ]
    if wrong:
        raise UsageError(
            f"the weight of {wrong[0]} does not satisfy the restrictions; scale the weights, or "
            "drop the restriction"
        )
    return Region.of(space)


def _where(
    within: float | Sequence[float] | None, box: float | None, constraints: Constraints | None
) -> str | None:
    """Say among which weights a certificate holds, if not among all."""
    if within is not None:
        return f"{angles_of(within)[-1]:g} degrees of these weights"
    if box is not None:
        return f"{100 * box:g} % of these weights"
    return "the restrictions on weights" if constraints else None


def angles_of(within: float | Sequence[float]) -> list[float]:
    """Return angles in degrees, ascending."""
    angles = [within] if isinstance(within, int | float) else [*within]
    return sorted({float(angle) for angle in angles})


def best_of_choices(tuning: TuningSet, choices: list[Floats]) -> tuple[Floats, float]:
    """Return the best of some weights, the first among equals, and its score.

    Weights on a tie may be better than what counts as attainable.
    """
    sign = 1.0 if tuning.metric.higher_is_better else -1.0
    scores = [tuning.score(best_of(tuning.candidates, weights)) for weights in choices]
    best = max(range(len(choices)), key=lambda k: (sign * scores[k], -k))
    return choices[best], scores[best]


def check_options(
    time_limit: float | None,
    tolerance: float,
    within: float | Sequence[float] | None = None,
    box: float | None = None,
    constraints: Constraints | None = None,
) -> None:
    """Raise an error if there is no time, or the tolerance or the region makes no sense."""
    check_tolerance(tolerance)
    if time_limit is not None and not time_limit > 0.0:
        raise UsageError(f"time_limit is {time_limit:g}; give seconds above 0")
    if within is not None:
        angles = angles_of(within)
        if not angles:
            raise UsageError("within holds no angle; give degrees, as 5")
        for angle in angles:
            if not 0.0 < angle < RIGHT:
                raise UsageError(f"within is {angle:g} degrees; give more than 0 and less than 90")
    if box is not None and not 0.0 < box < 1.0:
        raise UsageError(f"box is {box:g}; give a share above 0 and below 1, as 20%")
    if (within is not None) + (box is not None) + bool(constraints) > 1:
        raise UsageError("within, box and restrictions are different regions; give one of them")
