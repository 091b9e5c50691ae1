"""Sets to learn from one sentence at a time, and runs over them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set, tuning_set
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.tasks.lists import TuningSet

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs"]
WIDTH = 5
EPOCHS = 3
SEEDS = st.integers(0, 2**32 - 1)


def random_texts(seed):
    """Return sentences with candidates of all qualities for BLEU; two features are sparse."""
    rng = np.random.default_rng(seed)
    vectors, texts, references = [], [], []
    for _ in range(int(rng.integers(2, 7))):
        reference = rng.choice(WORDS, int(rng.integers(5, 10)))
        references.append([" ".join(reference)])
        rows = rng.normal(size=(int(rng.integers(1, 7)), WIDTH))
        rows[:, 3:] *= rng.random((len(rows), 2)) < 0.5
        vectors.append(rows.tolist())
        for _ in rows:
            kept = [w if rng.random() < 0.7 else str(rng.choice(WORDS)) for w in reference]
            texts.append(" ".join(kept[: int(rng.integers(3, 10))]))
        if rng.random() < 0.5:
            texts[-1] = references[-1][0]
    return TuningSet(candidate_set(vectors, (3, 4), texts, references), "bleu")


def easy():
    """Return a set on which more of the first feature is better; values are 0 to 1."""
    rng = np.random.default_rng(3)
    groups = [rng.normal(size=(5, 3)) for _ in range(20)]
    values = [1.0 / (1.0 + np.exp(-group[:, 0])) for group in groups]
    return tuning_set(groups, values)


def many(groups=40):
    """Return a set on which every sentence has something to teach."""
    rng = np.random.default_rng(2)
    texts, references = [], []
    for _ in range(groups):
        words = rng.choice(["a", "b", "c", "d", "e"], 8)
        references.append([" ".join(words)])
        texts += [" ".join(rng.permutation(words)) for _ in range(4)]
    return TuningSet(candidate_set(rng.normal(size=(groups, 4, 3)), (), texts, references), "bleu")


def random_training(tuner, seed, objective="document"):
    """Return a run over a random set, which has not begun to learn."""
    start = np.random.default_rng(seed).normal(size=WIDTH)
    about = random_texts(seed), objective_of(objective), start
    return tuner.training(*about, np.random.default_rng(seed + 1))


def learn_epochs(training):
    """Return the bits of what each epoch comes to, and how often weights changed."""
    found = []
    for epoch in range(EPOCHS):
        done = training.epoch(epoch)
        found.append((done.weights.tobytes(), done.entry.get("changes"), training.total.tolist()))
    return found
