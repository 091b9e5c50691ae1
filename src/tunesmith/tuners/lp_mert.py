"""LP-MERT: the exact optimum, and how far from it a result can be at most.

Galley and Quirk, "Optimal search for minimum error rate training" (EMNLP 2011).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tunesmith.arrays import Floats, to_size_of
from tunesmith.errors import UsageError
from tunesmith.interruption import check, is_interrupted, uninterrupted
from tunesmith.registry import option
from tunesmith.search.exact.beam.search import BEAM, beam_search
from tunesmith.search.exact.certificate import ExactResult, SearchLimits, certificate, progress_of
from tunesmith.search.exact.extreme import TOLERANCE, check_tolerance
from tunesmith.search.exact.in_plane import completed
from tunesmith.search.exact.incumbent import reassessed, unclear_among
from tunesmith.search.exact.lazy.search import lazy_search
from tunesmith.search.exact.local_search import local_search
from tunesmith.search.exact.problem import Problem
from tunesmith.search.exact.region import Region
from tunesmith.search.exact.screening import within_angle
from tunesmith.search.exact.search import (
    CLIMBING,
    ONE_TREE,
    compile_kernels,
    exact_search,
    first_incumbents,
)
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.base import TUNERS, Outcome
from tunesmith.tuners.certify import best_of_choices
from tunesmith.tuners.fitting.constrained import Constrained
from tunesmith.tuners.fitting.remembering import Remembering, distinct
from tunesmith.tuners.mert.mert import MERT

#: Groups up to which a search is let run without a limit.
MOST_GROUPS = {"cones": 24, "lazy": 10}
#: Whole numbers above this are no sensible limits.
LARGEST = 2**40


@TUNERS.register("lp-mert")
@dataclass(frozen=True)
class LPMERT(Constrained, Remembering):
    """Exact search: weights that no others can beat, or a bound on how much better any can be.

    It needs a metric that is a sum over sentences. Weights count only if they put each winner
    ahead of the other candidates by the tolerance, so that ties prove nothing. ``cones`` searches
    depth first over the cones of weights under which some sentences choose given candidates.
    ``lazy`` is the paper's Algorithm 2; ``beam`` is its approximation for large sets, which proves
    nothing. In a loop with a decoder, the search begins with the weights of earlier rounds.
    """

    search: Literal["cones", "lazy", "beam"] = option(
        "cones", "how to search: cones, lazy (the paper's way) or beam (not exact)"
    )
    time_limit: float | None = option(
        None,
        "seconds after which the best weights so far are returned [default: none]",
        above=0,
        most=LARGEST,
    )
    test_limit: int | None = option(
        None,
        "about how many choices of candidates to test before the best "
        "weights so far are returned [default: none]",
        least=1,
        most=LARGEST,
    )
    memory_limit: float = option(
        1000.0,
        "memory in megabytes for the open parts of the search; beyond it the "
        "search goes depth first",
        above=0,
        most=LARGEST,
    )
    cosine: float | None = option(
        None,
        "only weights with at least this cosine to the starting weights, for scaled features",
        least=-1,
        below=1,
    )
    beam: int | None = option(
        None,
        "width of the search beam: competitors kept for each combination of "
        "sentences [default: 1000]",
        least=1,
        most=LARGEST,
    )
    tolerance: float = option(
        TOLERANCE,
        "smallest lead by which a winner counts, for scaled features and weights of norm 1",
    )

    needs_sum = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tolerance(self.tolerance)
        if self.cosine is not None and self.search == "beam":
            raise UsageError("cosine goes with search cones and lazy; drop it, or change search")
        if self.beam is not None and self.search != "beam":
            raise UsageError(
                f"beam is for --search beam, and search is {self.search}; drop --beam, or change "
                "--search"
            )
        if self.constraints() and (self.search == "beam" or self._is_restricted):
            other = "--search beam" if self.search == "beam" else "--cosine"
            raise UsageError(f"restrictions on weights do not go with {other}; drop one of them")

    def check(self, tuning: TuningSet) -> None:
        """Raise an error if the search would hardly ever end."""
        super().check(tuning)
        most = MOST_GROUPS.get(self.search)
        groups = tuning.groups
        limited = self.time_limit is not None or self.test_limit is not None
        if most is not None and groups > most and not limited:
            raise UsageError(
                f"an exact search over {groups} groups may take forever; set --time-limit for the "
                "best found and a bound, or use --search beam"
            )

    def tune(self, tuning: TuningSet, start: Floats | None, rng: np.random.Generator) -> Outcome:
        """Search, within the limits."""
        limits = SearchLimits(self.time_limit, self.test_limit, self.memory_limit)
        if start is None and self._is_restricted:
            raise UsageError(
                "cosine is that to the starting weights, and there are none; give --start, or drop "
                "--cosine"
            )
        begin = self.own_start(tuning) if start is None else start
        space = self.space(tuning.names, begin)
        begin = space.inside(begin) if start is None else space.exact(begin)
        problem = Problem.of(tuning, region=Region.of(space))
        self._compile(problem)
        choices = distinct([begin, *(space.exact(point) for point in self.points(tuning.names))])
        result, searches = None, 0
        record = _Record(problem)
        if problem.size > 0:
            if limits.seconds is None and (self.search == "beam" or problem.size > ONE_TREE):
                climb = self._mert().tune(tuning, start, rng)
                choices.append(climb.weights)
                searches = climb.line_searches
            vectors = [problem.vector(weights) for weights in choices]
            if self.cosine is not None and self.search != "beam":
                problem = within_angle(problem, vectors[0], self.cosine)
                record = _Record(problem)
            with uninterrupted():  # it ends when it is asked to, and says what is proven
                result = self._search(problem, vectors, limits, rng, record)
                if self.search == "cones" and space.is_free and not self._is_restricted:
                    result = completed(tuning, problem, result, limits, self.tolerance)
            if not (result.tested or searches):
                check()
            choices = [w for w in choices if self._counts(problem.vector(w), vectors[0])]
            if result.unclear is not None:
                choices.append(space.exact(problem.weights(result.unclear)))
            if result.vector is not None:
                vector = result.vector * to_size_of(vectors[0], result.vector)
                choices.insert(0, space.exact(problem.weights(vector)))
        weights, score = best_of_choices(tuning, choices)
        stopped = f"{result.tested} tests" if is_interrupted() and result is not None else None
        if self.search == "beam":
            return Outcome(weights, record.history, searches, stopped=stopped)
        proof = certificate(problem, score, result, limits.passed)
        if self._is_restricted:
            proof["within"] = f"a cosine of {self.cosine} to the starting weights"
        elif not space.is_free:
            proof["within"] = "the restrictions on weights"
        return Outcome(weights, record.history, searches, proof, stopped=stopped)

    def _compile(self, problem: Problem) -> None:
        """Compile kernels before the time is looked at."""
        if self.search != "beam":
            compile_kernels(problem, self.tolerance)
        if self.search == "lazy":
            few = problem.part(np.arange(min(problem.size, 2)))
            lazy_search(few, tolerance=self.tolerance, limits=SearchLimits(tests=4))

    def _mert(self) -> MERT:
        """Return what a search begins with that no time limits."""
        return MERT(**self.restrictions).after(self.earlier or ())

    @property
    def _is_restricted(self) -> bool:
        """Whether a cosine restricts the weights; from 0 down the region is not convex."""
        return self.cosine is not None and self.cosine > 0.0

    def _search(
        self,
        problem: Problem,
        first: list[Floats],
        limits: SearchLimits,
        rng: np.random.Generator,
        record: _Record,
    ) -> ExactResult:
        """Search from some vectors on; the first is what a cosine is to."""
        options: dict[str, Any] = {"tolerance": self.tolerance, "limits": limits}
        if self.search == "beam":
            begins = [*first, np.ones(problem.dimensions)]
            if limits.seconds is not None:
                some = local_search(problem, 0.0, rng, begins, limits.part(CLIMBING), None)
                begins = [incumbent.vector for incumbent in some[:1]] + begins
            begin = reassessed(problem, 0.0, begins)[0]
            beam = BEAM if self.beam is None else self.beam
            return beam_search(problem, begin.vector, beam=beam, rng=rng, **options)
        region: dict[str, Any] = {}
        if self._is_restricted:
            region = {"towards": first[0], "cosine": self.cosine}
            options |= region
        known = first_incumbents(problem, self.tolerance, rng, first, limits, **region)
        if self.search == "cones":
            return exact_search(problem, known, rng, tell=record, **options)
        near = [
            incumbent
            for incumbent in known
            if incumbent.clear and self._counts(incumbent.vector, first[0])
        ]
        result = lazy_search(problem, incumbent=near[0] if near else None, **options)
        unclear = unclear_among(problem, known, result.bound, self.tolerance, **region)
        return dataclasses.replace(result, unclear=unclear)

    def _counts(self, vector: Floats, first: Floats) -> bool:
        lengths = np.sqrt((vector**2).sum() * (first**2).sum())
        return not self._is_restricted or float((vector * first).sum()) >= self.cosine * lengths


class _Record:
    """What a search has come to, for the history and for whoever looks on."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.history: list[dict[str, Any]] = []
        self._last = (-1, -1)
        self._show = progress_of(problem)

    def __call__(self, loss: int, bound: int, tested: int) -> None:
        problem = self.problem
        bound = min(bound, loss)
        self._show(loss, bound, tested)
        # The bound rises by little at a time; a history of that would be long.
        if loss == self._last[0] and (loss - bound) > 0.9 * (loss - self._last[1]):
            return
        self._last = loss, bound
        gains = {"gain": problem.gain(loss), "gain_bound": problem.gain(bound)}
        self.history.append({**gains, "tested": tested})
