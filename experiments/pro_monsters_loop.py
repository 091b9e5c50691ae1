"""The simulated decoder loop of pro_monsters.py, and all ways of tuning in it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import tunesmith as ts
from pro_monsters_pool import Pool
from tunesmith.arrays import Floats
from tunesmith.inference.lists.hypotheses import best
from tunesmith.tuners.base import TUNERS

#: Candidates of a sentence that a round reveals.
BEST = 100
#: What a round says of its pairs, where it has any.
PAIRS = (
    "positive_length",
    "negative_length",
    "reference_length",
    "positive_score",
    "negative_score",
)


@dataclass(frozen=True)
class Way:
    """A row of a table.

    Attributes
    ----------
    label
        As in the paper.
    tuner, options
        Its settings.
    mark
        The paper's: † or †† where monsters are slain, * where it improves stability.
    """

    label: str
    tuner: str
    options: dict[str, Any]
    mark: str = ""

    def made(self) -> ts.Tuner:
        """Return the tuner."""
        return TUNERS.get(self.tuner)(**self.options)


def pro(label: str, *select: str, mark: str = "", **options: Any) -> Way:
    """Return PRO with some selections, on BLEU+1 as in the paper."""
    return Way(label, "pro", {"select": select, "objective": ("bleu+1",), **options}, mark)


PLAIN = pro("PRO (baseline)", "difference")
DEFAULT = Way("PRO, tunesmith's default", "pro", {})
GROUNDED = ("brevity-smoothed-grounded",)
TABLE2 = (
    PLAIN,
    Way("MERT", "mert", {"restarts": 5}),
    Way("MIRA", "batch-mira", {}),
    pro("PRO (≠ objective)", "difference", objective=("document",)),
    Way("MIRA (≠ objective)", "batch-mira", {"objective": ("bleu+1",)}),
    pro("PRO, PC-smooth, ground", "difference", objective=GROUNDED),
)
TABLE3 = (
    PLAIN,
    pro("BLEU+1 max=10", "difference:most=0.1", mark="†"),
    pro("BLEU+1 max=20", "difference:most=0.2", mark="†"),
    pro("LEN max=5", "difference", "length:most=5", mark="†"),
    pro("LEN max=10", "difference", "length:most=10", mark="†"),
    pro("outliers BLEU+1 λ=2", "difference", "outliers:of=score,deviations=2", mark="†"),
    pro("outliers BLEU+1 λ=3", "difference", "outliers:of=score,deviations=3"),
    pro("outliers LEN λ=2", "difference", "outliers:of=length,deviations=2"),
    pro("outliers LEN λ=3", "difference", "outliers:of=length,deviations=3"),
    pro("stochastic ΔBLEU+1", "difference", "stochastic:of=score"),
    pro("stochastic ΔLEN", "difference", "stochastic:of=length"),
)
RANDOM = "random:pairs=50"
TABLE4 = (
    PLAIN,
    pro("PRO, rand", "all", accept=RANDOM, mark="††"),
    pro("outliers BLEU+1 λ=2, rand", "outliers:of=score,deviations=2", accept=RANDOM, mark="*"),
    pro("outliers BLEU+1 λ=3, rand", "outliers:of=score,deviations=3", accept=RANDOM),
    pro("outliers LEN λ=2, rand", "outliers:of=length,deviations=2", accept=RANDOM, mark="*"),
    pro("outliers LEN λ=3, rand", "outliers:of=length,deviations=3", accept=RANDOM),
    pro("stochastic ΔBLEU+1, rand", "stochastic:of=score", accept=RANDOM, mark="*"),
    pro("stochastic ΔLEN, rand", "stochastic:of=length", accept=RANDOM, mark="*"),
)

#: Where monsters are rare, and where they are everywhere.
SIDES = (PLAIN, *(way for way in TABLE3 if way.mark == "†"), TABLE4[1])


def evaluated(pool: Pool, weights: Floats) -> tuple[float, float]:
    """Return BLEU and the length ratio of what wins in the whole pool."""
    chosen = best(pool.all.candidates, weights)
    details = pool.all.metric.details(pool.all.total(chosen))
    return pool.all.score(chosen), float(details["length_ratio"])


def loop(way: Way, tune: Pool, test: Pool, start: Floats, rounds: int, seed: int) -> dict[str, Any]:
    """Reveal, tune, and reveal again; return what every round came to, and the test scores."""
    tuner = way.made()
    names = tune.all.candidates.features.names
    seen = np.zeros(len(tune.real), np.bool_)
    weights, found, points, scores = start, [], [], []
    rng = np.random.default_rng(seed)
    for number in range(1, rounds + 1):
        seen |= tune.best(weights, BEST)
        score, ratio = evaluated(tune, weights)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always", UserWarning)
            result = tuner.fit(tune.revealed(seen), dict(zip(names, weights, strict=True)), rng=rng)
        entry = result.history[-1]
        found.append(
            {
                "round": number,
                "bleu": round(score, 3),
                "ratio": round(ratio, 4),
                "share": round(1.0 - float(tune.real[seen].mean()), 4),
                "monsters": any("monsters in" in one for one in result.warnings),
                "win": any("monsters win" in one for one in result.warnings),
                **{key: round(entry[key], 3) for key in PAIRS if key in entry},
            }
        )
        weights = result.weights.aligned(names)
        points.append(weights / np.abs(weights).sum())
        scores.append(evaluated(tune, weights)[0])
    chosen = {
        "averaged": np.mean(points, axis=0),
        "last": points[-1],
        "best": points[int(np.argmax(scores))],
    }
    tests = {which: evaluated(test, one) for which, one in chosen.items()}
    return {
        "rounds": found,
        "test": {which: round(score, 3) for which, (score, _) in tests.items()},
        "test_ratio": {which: round(ratio, 4) for which, (_, ratio) in tests.items()},
        "tune_end": round(scores[-1], 3),
    }
