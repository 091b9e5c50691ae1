"""How features are expressed does not matter to MERT."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.tuners.collinear import collinear_set, mixed
from tunesmith.tuners.mert.mert import MERT

pytestmark = pytest.mark.filterwarnings("ignore:.* are nearly collinear")


@pytest.mark.long
@pytest.mark.parametrize("which", range(3))
def test_seeds_agree_where_features_are_nearly_collinear(which):
    tuning = collinear_set(which)
    ends = [100 * MERT().fit(tuning, rng=seed).score for seed in range(1, 21)]
    assert max(ends) - min(ends) <= 0.1
    alone = [100 * MERT(axes=False).fit(tuning, rng=seed).score for seed in range(1, 6)]
    assert min(alone) < min(ends)


def test_two_seeds_agree_where_features_are_nearly_collinear():
    tuning = collinear_set(0, 60)
    ends = [MERT().fit(tuning, rng=seed).score for seed in (1, 2)]
    assert abs(ends[0] - ends[1]) <= 0.001


@pytest.mark.long
def test_mixed_features_give_the_same_bleu(shared_data):
    from tunesmith.io.read import read
    from tunesmith.io.weights.files import read_weights
    from tunesmith.tasks.lists import TuningSet

    folder = shared_data / "catalogs-nbest"
    tuning = TuningSet(read(folder / "tune.nbest.gz", [folder / "tune.ref"]))
    rng = np.random.default_rng(1)
    size = len(tuning.names)
    turn, _ = np.linalg.qr(rng.standard_normal((size, size)))
    spread = tuning.hypotheses().spread()
    matrix = (turn * np.exp(rng.uniform(-1.0, 1.0, size))) / spread
    start = read_weights(folder / "weights.initial").weights.aligned(tuning.names)
    others = mixed(tuning, matrix)
    same = np.linalg.solve(matrix.T, start)
    plain = MERT().fit(tuning, dict(zip(tuning.names, start, strict=True)), rng=1)
    other = MERT().fit(others, dict(zip(others.names, same, strict=True)), rng=1)
    assert abs(plain.initial_score - other.initial_score) <= 1e-9
    assert abs(plain.score - other.score) <= 0.05


def test_restrictions_hold_along_axes():
    tuning = collinear_set(4, 40)
    tuner = MERT(restarts=4, bound=("f0=0:1",), fix=("f4=-1",), tie=("f2=f3",))
    result = tuner.fit(tuning, rng=1)
    assert 0.0 <= result.weights["f0"] <= 1.0
    assert result.weights["f4"] == -1.0
    assert result.weights["f2"] == result.weights["f3"]
