"""Random small sets with ties, for comparing a GPU, or its simulator, with the processor."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array

from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.features import Features
from tunesmith.metrics.bleu import BLEU
from tunesmith.tasks.lists import TuningSet


def random_set(
    rng: np.random.Generator, groups: int, most: int, dense: int, sparse: int, digits: int
) -> TuningSet:
    """Make candidates with the statistics of BLEU; few digits make ties and equal slopes."""
    sizes = rng.integers(1, most + 1, groups)
    count = int(sizes.sum())
    rows = rng.standard_normal((dense, count)).round(digits)
    if rng.random() < 0.2:
        rows[0, rng.integers(count)] = 1e300
    fires = rng.random((count, sparse)) < 0.3
    columns = np.where(fires, rng.standard_normal((count, sparse)).round(digits), 0.0)
    features = Features(
        tuple(f"d{k}" for k in range(dense)),
        rows,
        tuple(f"s{k}" for k in range(sparse)),
        csc_array(columns),
    )
    lengths = rng.integers(5, 12, count)
    matches = np.sort(rng.integers(0, 5, (count, 4)))[:, ::-1]
    totals = [lengths - k for k in range(4)]
    stats = np.column_stack([lengths, np.full(count, 9), matches, *totals]).astype(np.int32)
    candidates = CandidateSet(
        tuple(map(str, range(groups))),
        np.concatenate([[0], np.cumsum(sizes)]),
        features,
        Texts(np.zeros(count + 1, np.int64), np.zeros(0, np.int32)),
        (),
    )
    return TuningSet(candidates, BLEU(), stats)
