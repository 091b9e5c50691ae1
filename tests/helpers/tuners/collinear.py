"""Sets whose features are nearly collinear, as log-probabilities and lengths are."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.helpers.builders import tuning_set
from tunesmith.data.features import Features
from tunesmith.tasks.lists import TuningSet


def collinear_set(seed: int, sentences: int = 150, candidates: int = 12) -> TuningSet:
    """Return best-of-N answers: what tells right ones is the small part of two large features.

    The log-probability of an answer is about minus its length; how much it differs from that says
    whether the answer is right. So do two scores that are noisier.
    """
    rng = np.random.default_rng(seed)
    shape = (sentences, candidates)
    length = rng.gamma(4.0, 25.0, shape)
    confidence = rng.normal(size=shape)
    reward = 0.4 * confidence + rng.normal(size=shape)
    agreement = 0.4 * confidence + rng.normal(size=shape)
    logprob = -length + 3.0 * confidence
    repeated = rng.poisson(1.0, shape).astype(float)
    values = 1.2 * confidence + 0.6 * reward - 0.3 * repeated + rng.normal(size=shape)
    correct = (values > np.quantile(values, 0.75)).astype(float)
    features = np.stack([logprob, length, reward, agreement, repeated], axis=-1)
    return tuning_set(features, correct)


def mixed(tuning: TuningSet, matrix: np.ndarray) -> TuningSet:
    """Return the same set with its dense features multiplied by a matrix."""
    features = tuning.candidates.features
    dense = np.ascontiguousarray(matrix @ features.dense)
    names = tuple(f"m{k}" for k in range(len(matrix)))
    own = Features(names, dense, features.sparse_names, features.sparse)
    return TuningSet(
        dataclasses.replace(tuning.candidates, features=own), tuning.metric, tuning.stats
    )
