"""Small random sets for tests of tuners that learn from single sentences."""

from __future__ import annotations

import numpy as np

from tests.helpers.builders import Mean, candidate_set
from tunesmith.tasks.lists import TuningSet

WORDS = ["a", "b", "c", "d", "e", "f"]


def text_problem(seed: int, metric: str = "bleu", groups: int = 5) -> TuningSet:
    """Return noisy copies of references, with dense features and sparse ones."""
    rng = np.random.default_rng(seed)
    vectors, texts, references = [], [], []
    for _ in range(groups):
        reference = rng.choice(WORDS, rng.integers(5, 12))
        references.append([" ".join(reference)])
        rows = []
        for _ in range(int(rng.integers(1, 6))):
            keep = rng.random(len(reference)) < 0.85
            texts.append(" ".join(reference[keep]))
            sparse = rng.normal(size=6) * (rng.random(6) < 0.3)
            rows.append([*rng.normal(size=5), *sparse])
        vectors.append(rows)
    return TuningSet(candidate_set(vectors, range(5, 11), texts, references), metric)


def number_problem(seed: int, metric: type[Mean] = Mean) -> TuningSet:
    """Return candidates with a number each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 6)
    vectors = [rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.7) for n in sizes]
    stats = np.stack([rng.random(sizes.sum()), np.ones(sizes.sum())], axis=1)
    return TuningSet(candidate_set(vectors, [3]), metric(), stats)
