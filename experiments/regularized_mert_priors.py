"""Priors and PRO in regularized_mert.py: who the penalty draws towards decides what it gains.

All models with all features begin where the small one ended. There are two folds: in the first one
half of the held-out sentences is Dev and the other Test, in the second the other way round. Every
row keeps which candidate of each Test sentence it chooses, so that intervals over sentences and
seeds can be drawn later.
"""

from __future__ import annotations

import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import regularized_mert_real as real
import tunesmith as ts
from tunesmith.inference.lists.hypotheses import best

UNTUNED = "untuned: equal weights"
SMALL_MERT, SMALL_PRO = "MERT, 20 restarts", "PRO, few"
PRO, MIRA = "PRO", "batch MIRA"
PRIORS = {"MERT": SMALL_MERT, "PRO": PRO, "batch MIRA": MIRA}
FOLDS = (1, 2)
RESAMPLES, SEED = 2000, 1


@dataclass(frozen=True)
class Protocol:
    """Seeds, and what Dev chooses from: strengths of v1, of PRO with its objectives, of MIRA."""

    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    strengths: tuple[float, ...] = (3.0, 1.0, 0.3, 0.03)
    pro_strengths: tuple[float, ...] = (10000.0, 1000.0, 100.0, 10.0)
    objectives: tuple[str, ...] = ("bleu+1", "grounded", "brevity-smoothed")
    mira_c: tuple[float, ...] = (0.1, 0.01, 0.001)


def run(
    sets: real.Sets, protocol: Protocol, work: Path, keep: Callable[[dict[str, Any]], None]
) -> None:
    """Run what the folder of work lacks, seed by seed; hand over each result as it comes."""
    work.mkdir(exist_ok=True)
    for fold in FOLDS:
        for seed in protocol.seeds:
            for row in _rows(of_fold(sets, fold), protocol, work, seed, fold):
                keep({"fold": fold, **row})


def of_fold(sets: real.Sets, fold: int) -> real.Sets:
    """Return the sets with Dev and Test as a fold has them."""
    return sets if fold == 1 else replace(sets, dev=sets.test, test=sets.dev)


def _rows(
    sets: real.Sets, protocol: Protocol, work: Path, seed: int, fold: int
) -> Iterator[dict[str, Any]]:
    names = sets.tune.candidates.features.names
    small = sets.tune.candidates.with_features(real.SMALL).features.names
    yield _untuned(seed, sets, real.uniform(small))
    weights: dict[str, Mapping[str, float]] = {}
    for label, tuner, start, only in _ways(protocol, names, small, weights):
        ending = "" if fold == 1 else f"-fold-{fold}"
        file = work / f"{label.replace(' ', '-')}-{seed}{ending}.json"
        if file.exists():
            row = json.loads(file.read_text())
        else:
            used = time.process_time()
            result = _fit(sets, tuner(), start(), seed, only)
            row = _row(label, seed, sets, result, time.process_time() - used)
            file.write_text(json.dumps(row))
        weights[label] = row.pop("weights")
        yield row


def _ways(
    protocol: Protocol,
    names: Sequence[str],
    small: Sequence[str],
    weights: Mapping[str, Mapping[str, float]],
) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Mapping[str, float]], bool]]:
    """Yield a label, a tuner, where it begins, and whether on the small model alone."""

    def w0() -> Mapping[str, float]:
        return weights[SMALL_MERT]

    def pro() -> Any:
        return ts.PRO(strength=protocol.pro_strengths, objective=protocol.objectives)

    yield SMALL_MERT, ts.MERT, lambda: real.uniform(small), True
    yield PRO, pro, w0, False
    yield MIRA, lambda: ts.BatchMIRA(c=protocol.mira_c), w0, False
    for name in ("PRO", "batch MIRA", "MERT"):

        def prior(name: str = name) -> Mapping[str, float]:
            return of_norm(weights[PRIORS[name]], w0())

        def towards(prior: Callable[[], Mapping[str, float]] = prior) -> Any:
            options = {"penalty": "l2-prior", "strength": protocol.strengths, "prior": prior()}
            return ts.MERT(restarts=0, walks=0, directions="gradient", **options)

        yield f"v1 towards {name}", towards, prior, False
    yield SMALL_PRO, pro, w0, True


def of_norm(weights: Mapping[str, float], like: Mapping[str, float]) -> dict[str, float]:
    """Return weights with the Euclidean norm of others, so that strengths mean the same."""
    wanted, now = (np.linalg.norm(list(one.values())) for one in (like, weights))
    return {name: weight * float(wanted / now) for name, weight in weights.items() if weight}


def _fit(
    sets: real.Sets, tuner: Any, start: Mapping[str, float], seed: int, only: bool
) -> ts.TuneResult:
    options: dict[str, Any] = {"keep": real.SMALL} if only else {}
    with warnings.catch_warnings():  # the prior and the start lack features: on purpose
        warnings.simplefilter("ignore", UserWarning)
        return tuner.fit(
            sets.tune, start, sets.dev, seed, test=sets.test, normalise="l1", **options
        )


def _untuned(seed: int, sets: real.Sets, weights: Mapping[str, float]) -> dict[str, Any]:
    """Evaluate the weights that the tuning of the small model begins with."""
    row: dict[str, Any] = {"label": UNTUNED, "seed": seed}
    for name, tuning in (("tune", sets.tune), ("dev", sets.dev), ("test", sets.test)):
        chosen = _winners(tuning, weights)
        row[name] = tuning.score(chosen)
    return row | {
        "length_ratio": sets.test.metric.details(sets.test.total(chosen))["length_ratio"],
        "chosen": "",
        "cpu": 0.0,
        "winners": (chosen - sets.test.candidates.start[:-1]).tolist(),
    }


def _winners(tuning: ts.TuningSet, weights: Mapping[str, float]) -> Any:
    """Return the candidate of each sentence that is best under some weights."""
    names = tuning.candidates.features.names
    known = ts.Weights.from_dict({name: weights.get(name, 0.0) for name in names})
    return best(tuning.candidates, known.aligned(names))


def _row(
    label: str, seed: int, sets: real.Sets, found: ts.TuneResult, cpu: float
) -> dict[str, Any]:
    dev, test = found.dev, found.test
    if dev is None or test is None:
        raise ValueError("held-out sets are missing")
    weights = {name: float(f"{w:.9g}") for name, w in found.weights.items() if w}
    chosen = _winners(sets.test, weights)
    path = [{k: v for k, v in e.items() if k != "weights"} for e in found.path or []]
    return {
        "label": label,
        "seed": seed,
        "tune": found.score,
        "dev": dev.score,
        "test": test.score,
        "length_ratio": test.length_ratio,
        "chosen": next((_setting(e) for e in path if e["chosen"]), ""),
        "cpu": round(cpu, 1),
        "weights": weights,
        "winners": (chosen - sets.test.candidates.start[:-1]).tolist(),
    }


def _setting(entry: Mapping[str, Any]) -> str:
    named = ("objective", "strength", "c")
    return ", ".join(f"{entry[k]:g}" if k != "objective" else entry[k] for k in named if k in entry)


def statistics_of(sets: real.Sets, rows: Sequence[Mapping[str, Any]]) -> dict[Any, Any]:
    """Return the statistics of each Test sentence that a way chooses, by its seed and fold."""
    found = {}
    for row in rows:
        test = of_fold(sets, row["fold"]).test
        chosen = test.candidates.start[:-1] + np.array(row["winners"])
        found[row["label"], row["seed"], row["fold"]] = test.stats[chosen]
    return found


def differences(sets: real.Sets, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return Test BLEU of every way minus the small model's and PRO's, with 95 % intervals.

    Sentences are drawn again, the same for both sides, and seeds are. The second fold takes part
    where all seeds of both ways have it: then each sentence is one of Test once.
    """
    by = statistics_of(sets, rows)
    found = []
    for label in dict.fromkeys(label for label, *_ in by):
        for base in (SMALL_MERT, PRO):
            seeds = [s for one, s, f in by if (one, f) == (label, 1) and (base, s, 1) in by]
            if label == base or not seeds:
                continue
            pair = (label, base)
            folds = [f for f in FOLDS if all((one, s, f) in by for one in pair for s in seeds)]
            sides = [
                np.stack([np.concatenate([by[one, s, f] for f in folds]) for s in seeds])
                for one in pair
            ]
            rng = np.random.default_rng(SEED)
            drawn = []
            for _ in range(RESAMPLES):
                sentences = rng.integers(sides[0].shape[1], size=sides[0].shape[1])
                runs = rng.integers(len(seeds), size=len(seeds))
                drawn.append(_difference(sets.test, [side[runs][:, sentences] for side in sides]))
            low, high = np.quantile(drawn, [0.025, 0.975])
            found.append(
                {
                    "label": label,
                    "base": base,
                    "seeds": len(seeds),
                    "sentences": sides[0].shape[1],
                    "difference": _difference(sets.test, sides),
                    "low": float(low),
                    "high": float(high),
                }
            )
    return found


def _difference(test: ts.TuningSet, sides: Sequence[Any]) -> float:
    first, second = (test.metric.score(side.sum(axis=1)).mean() for side in sides)
    return float(first - second)


def table(rows: Sequence[dict[str, Any]], against: Sequence[Mapping[str, Any]]) -> str:
    """Show a line for every way, the mean over the seeds and their range, and the intervals."""
    seeds = sorted({row["seed"] for row in rows})
    lines = [
        f"BLEU of the first fold, the mean of {len(seeds)} seeds (least to most). Differences are "
        "of BLEU on Test, paired by seed, with 95 % intervals over sentences and seeds; where they "
        "are of 1,000 sentences, these are the Test sentences of both folds together.",
        "",
        "| method | features | Tune | Dev | Test | length | Test − the small model | Test − PRO | "
        "sentences | chosen on Dev | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for label in dict.fromkeys(row["label"] for row in rows):
        same = [row for row in rows if (row["label"], row["fold"]) == (label, 1)]
        scores = [_mean([row[which] for row in same]) for which in ("tune", "dev", "test")]
        length = statistics.mean(row["length_ratio"] for row in same)
        features = "14" if label in (UNTUNED, SMALL_MERT, SMALL_PRO) else "4311"
        name = label.removesuffix(", few")
        chosen = "; ".join(dict.fromkeys(row["chosen"] for row in same if row["chosen"]))
        found = {one["base"]: one for one in against if one["label"] == label}
        shown = [interval(found.get(base)) for base in (SMALL_MERT, PRO)]
        seconds = f"{statistics.mean(row['cpu'] for row in same):.0f}"
        sentences = "; ".join(dict.fromkeys(f"{one['sentences']:,}" for one in found.values()))
        cells = [name, features, *scores, f"{length:.3f}", *shown, sentences, chosen, seconds]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def interval(found: Mapping[str, Any] | None) -> str:
    """Show a difference with its interval."""
    if found is None:
        return ""
    return f"{found['difference']:+.2f} ({found['low']:+.2f} to {found['high']:+.2f})"


def _mean(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.2f}"
    if len(values) == 1:
        return mean
    return f"{mean} ({min(values):.2f} to {max(values):.2f})"
