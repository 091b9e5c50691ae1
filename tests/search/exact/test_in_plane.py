"""All regions of up to three features: none that counts is too narrow to be looked at."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.builders import tuning_set
from tests.helpers.search.exact_checks import plain_loss
from tunesmith.search.exact.certificate import ExactResult, SearchLimits
from tunesmith.search.exact.in_plane import completed
from tunesmith.search.exact.problem import Problem

TOLERANCE = 1e-6
NOTHING = ExactResult(None, 2**60, 0, 0)


@pytest.mark.parametrize("width", [2, 3])
def test_a_narrow_region_between_far_points(width):
    # The middle one of three leads by 2e-6, which counts, where the first weight is 0 to 5e-8.
    rng = np.random.default_rng(1)
    blocks = [rng.standard_normal((6, width)).tolist() for _ in range(30)]
    values = [rng.random(6).tolist() for _ in blocks]
    far = np.zeros((3, width))
    far[:, 0], far[1, 1] = (-40.0, 0.0, 40.0), 2e-6
    problem = Problem.of(
        tuning := tuning_set([*blocks, far.tolist()], [*values, [0.0, 100.0, 0.0]])
    )
    inside = []
    for angle in np.linspace(-1.5, 1.5, 200):
        vector = np.zeros(width)
        vector[1], vector[-1] = np.cos(angle), (np.sin(angle) if width == 3 else np.cos(angle))
        inside.append(plain_loss(problem, vector / np.linalg.norm(vector), TOLERANCE))
    least = min(loss for loss in inside if loss is not None)
    found = completed(tuning, problem, NOTHING, SearchLimits(), TOLERANCE)
    assert found.optimal
    assert found.bound <= least
    assert plain_loss(problem, found.vector, 0.1 * TOLERANCE) == found.loss


def test_points_too_far_away_for_numbers():
    # With one at 10^6 regions that count are narrower than rounding: nothing is said of them.
    rng = np.random.default_rng(2)
    blocks = [rng.standard_normal((6, 2)).tolist() for _ in range(5)]
    blocks[0][0][0] = 1e6
    tuning = tuning_set(blocks, [rng.random(6).tolist() for _ in blocks])
    assert completed(tuning, Problem.of(tuning), NOTHING, SearchLimits(), TOLERANCE) is NOTHING
