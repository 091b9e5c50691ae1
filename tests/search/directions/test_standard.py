from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.helpers.search.line import random_task
from tests.helpers.search.single import search
from tunesmith.errors import UnknownNameError
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.directions.base import DIRECTIONS, Climb


@pytest.mark.parametrize("name", ["coordinate", "powell", "random"])
@pytest.mark.parametrize("seed", range(20))
def test_a_climb_never_falls_and_ends_where_no_feature_gains(name, seed):
    tuning, rng = random_task(seed)
    hypotheses = ListHypotheses(tuning)
    climb = Climb(hypotheses, hypotheses.spread(), rng)
    point = hypotheses.point(rng.standard_normal(2))
    end = DIRECTIONS.get(name)().climb(climb, point)
    gains = [point.gain, *(entry["gain"] for entry in climb.history)]
    assert all(a < b for a, b in itertools.pairwise(gains))
    assert end.gain == gains[-1]
    assert climb.searches > 0
    if name != "random":
        for direction in climb.coordinates():
            assert search(hypotheses, end, direction).gain <= end.gain + 1e-9


def test_koehns_first_step_is_the_best_of_all_features():
    improved = 0
    for seed in range(30):
        tuning, rng = random_task(seed)
        hypotheses = ListHypotheses(tuning)
        climb = Climb(hypotheses, hypotheses.spread(), rng)
        point = hypotheses.point(np.array([-1.0, 0.3]))
        best = max(search(hypotheses, point, d).gain for d in climb.coordinates())
        DIRECTIONS.get("coordinate")().climb(climb, point)
        if best > point.gain:
            assert climb.history[0]["gain"] == best
            improved += 1
    assert improved > 10


def test_unknown_directions():
    with pytest.raises(UnknownNameError, match="did you mean powell"):
        DIRECTIONS.get("powel")
