"""Good weights for all sentences at equal time: five ways to look for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import lp_mert_sets as sets
import tunesmith as ts
from tunesmith.inference.lists.hypotheses import best as best_of
from tunesmith.search.exact.bisection.search import Bisection
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.cones.search import ConeSearch
from tunesmith.search.exact.incumbent import Incumbent, assessed, climbed
from tunesmith.search.exact.local_search import PATIENCE, local_search
from tunesmith.search.exact.problem import Problem
from tunesmith.search.exact.screening import within_angle

Keep = Callable[[dict[str, Any]], None]
#: Share of the time for the local search that begins what goes on from a good vector.
FIRST = 0.3
#: Degrees around the best vector, at least and at most; seconds for each space of three.
NARROW, WIDE, EACH = 0.5, 5.0, 0.5
#: Sentences of a neighbourhood that are solved together, and tests.
TOGETHER, TESTS = 24, 3000
#: Restarts between two looks at the clock.
RESTARTS = 2


def restarts(tuning: ts.TuningSet, problem: Problem, seed: int, limits: SearchLimits) -> np.ndarray:
    """Restart MERT from the best weights so far, with its walks."""
    best = dict.fromkeys(tuning.names, 1.0)
    while limits.left > 0:
        found = ts.MERT(restarts=RESTARTS).fit(tuning, best, rng=seed)
        if limits.left > 0:
            best, seed = found.weights, seed + 1000
    return np.array([best[name] for name in tuning.names])


def beam(tuning: ts.TuningSet, problem: Problem, seed: int, limits: SearchLimits) -> np.ndarray:
    """Search with the beam."""
    found = ts.LPMERT(search="beam", time_limit=limits.left).fit(tuning, rng=seed)
    return np.array([found.weights[name] for name in tuning.names])


def local(tuning: ts.TuningSet, problem: Problem, seed: int, limits: SearchLimits) -> np.ndarray:
    """Climb from near the best, again and again."""
    return problem.weights(_local(problem, np.random.default_rng(seed), limits).vector)


def _local(problem: Problem, rng: np.random.Generator, limits: SearchLimits) -> Incumbent:
    begin = problem.vector(np.ones(problem.dimensions))
    return local_search(problem, 0.0, rng, [begin], limits, None)[0]


def spaces(tuning: ts.TuningSet, problem: Problem, seed: int, limits: SearchLimits) -> np.ndarray:
    """Search three-dimensional spaces through the best, within an angle, by bisection."""
    rng = np.random.default_rng(seed)
    best = _local(problem, rng, limits.part(FIRST))
    while limits.left > 0:
        rows = np.concatenate([[best.vector], rng.standard_normal((2, problem.dimensions))])
        basis = np.linalg.qr(rows.T)[0].T
        basis[0] = best.vector
        flat = _in_space(problem, basis)
        cosine = float(np.cos(np.radians(_angle(rng))))
        known = [Incumbent(np.eye(3)[0], best.loss)]
        search = Bisection(flat, 1e-6, np.eye(3)[0], cosine, known)
        search.run(SearchLimits(min(EACH, limits.left)))
        if search.best is not None and search.best.loss < best.loss:
            best = _better(problem, best, [search.best.vector @ basis], rng, limits)
    return problem.weights(best.vector)


def _in_space(problem: Problem, basis: np.ndarray) -> Problem:
    """Return the problem among the vectors that are sums of a few."""
    blocks = [(basis @ problem.block(group)).ravel() for group in range(problem.size)]
    return replace(problem, points=np.concatenate(blocks), spread=np.ones(len(basis)))


def _angle(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(NARROW), np.log(WIDE))))


def _better(
    problem: Problem,
    best: Incumbent,
    vectors: Sequence[np.ndarray],
    rng: np.random.Generator,
    limits: SearchLimits,
) -> Incumbent:
    """Return the best of what was known, of some vectors and of the climbs from there."""
    ends = [one for v in vectors for one in climbed(problem, 0.0, rng, v, limits, PATIENCE)]
    return min([best, *assessed(problem, 0.0, vectors), *ends], key=lambda one: one.loss)


def neighbourhoods(
    tuning: ts.TuningSet, problem: Problem, seed: int, limits: SearchLimits
) -> np.ndarray:
    """Solve some sentences exactly within an angle, and climb from there on all."""
    rng = np.random.default_rng(seed)
    best = _local(problem, rng, limits.part(FIRST))
    while limits.left > 0:
        cosine = float(np.cos(np.radians(_angle(rng))))
        near = within_angle(problem, best.vector, cosine)
        groups = np.sort(rng.permutation(near.size)[:TOGETHER])
        search = ConeSearch(near.part(groups), 1e-6, best.vector, cosine)
        search.run(SearchLimits(max(limits.left, 0.0), TESTS))
        if search.best is not None:
            best = _better(problem, best, [search.best.vector], rng, limits)
    return problem.weights(best.vector)


WAYS = {
    "MERT's restarts": restarts,
    "beam": beam,
    "iterated local search": local,
    "random spaces of three": spaces,
    "large neighbourhoods": neighbourhoods,
}


def incumbents(
    wholes: Mapping[str, ts.TuningSet], seconds: float, seeds: Sequence[int], keep: Keep
) -> None:
    """Give every way the same time of one thread."""
    for name, whole in wholes.items():
        problem = Problem.of(whole)
        for way in WAYS.values():  # what is compiled is compiled
            with ts.threads(1):
                way(whole.part(range(40)), Problem.of(whole.part(range(40))), 1, SearchLimits(1.0))
        for seed in seeds:
            for way, search in WAYS.items():
                with sets.processor_time() as clock:
                    begun = clock()
                    weights = search(whole, problem, seed, SearchLimits(seconds))
                    passed = clock() - begun
                score = whole.score(best_of(whole.candidates, weights))
                about = {"data": name, "way": way, "seed": seed, "limit": seconds}
                keep({**about, "score": score, "seconds": passed})


def table_incumbents(rows: Sequence[dict[str, Any]]) -> str:
    """Show a line for each way, a column for each list and seed, and means."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    seeds = sorted({row["seed"] for row in rows})
    columns = [*(f"seed {s}" for s in seeds), *(["mean"] if len(seeds) > 1 else [])]
    heads = [f"{name}, {column}" for name in names for column in columns]
    lines = ["| way | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for way in dict.fromkeys(row["way"] for row in rows):
        cells = []
        for name in names:
            scores = {r["seed"]: r["score"] for r in rows if (r["way"], r["data"]) == (way, name)}
            cells += [f"{scores[s]:.2f}" if s in scores else "" for s in seeds]
            if len(seeds) > 1:
                cells.append(f"{np.mean(list(scores.values())):.2f}" if scores else "")
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
