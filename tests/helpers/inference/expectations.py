"""Random lists for every kind of metric, and what their expectations are made of."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from tests.helpers.builders import candidate_set
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.tasks.lists import TuningSet

METRICS = (
    *("bleu", "bleu:reference-length=average,smoothing=add-k", "sentence-bleu", "column:value"),
    *("cost:value", "wer", "ter", "chrf", "sum(0.6*bleu,0.4*column:value)", "harmonic(wer,chrf)"),
)
WORDS = list("abcdef")


def lists(seed, metric="column:value", most=6):
    """Draw lists; five features are dense and three sparse, unless all are of one kind."""
    rng = np.random.default_rng(seed)
    kept = rng.choice([0, 3, 8])
    groups, texts, references = [], [], []
    for _ in range(int(rng.integers(1, 6))):
        reference = rng.choice(WORDS, rng.integers(6, 12))
        references.append([" ".join(reference)])
        vectors = []
        for _ in range(int(rng.integers(1, most + 1))):
            noisy = [w if rng.random() < 0.8 else rng.choice(WORDS) for w in reference]
            texts.append(" ".join(noisy[: rng.integers(5, 12)]))
            fires = np.concatenate([np.ones(8 - kept), rng.random(kept) < 0.5])
            vectors.append(rng.normal(size=8) * fires)
        groups.append(vectors)
    candidates = candidate_set(groups, range(8 - kept, 8), texts, references)
    columns = {"value": rng.uniform(-1.0, 1.0, len(candidates))}
    tuning = TuningSet(replace(candidates, columns=columns), metric)
    return ListHypotheses(tuning), rng.normal(size=8), rng


def matrix(hypotheses):
    """Return all feature vectors as rows."""
    features = hypotheses.features
    return np.hstack([features.dense.T, features.sparse.toarray()])


def of_groups(hypotheses):
    """Return the rows of each group."""
    start = hypotheses.start.tolist()
    return [slice(a, b) for a, b in pairwise(start)]
