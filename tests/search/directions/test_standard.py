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


def test_a_line_is_followed_once_through_a_point():
    tuning, rng = random_task(3)
    hypotheses = ListHypotheses(tuning)
    followed = []
    ask = hypotheses.map_envelopes

    def count(work, lines):
        followed.extend((point.gain, direction.label) for point, direction in lines)
        return ask(work, lines)

    hypotheses.map_envelopes = count
    climb = Climb(hypotheses, hypotheses.spread(), rng)
    first, second = climb.coordinates()
    point, other = (hypotheses.point(np.array(w)) for w in ([1.0, -0.5], [-0.25, 1.0]))
    one = climb.search(point, [first])
    assert climb.search(point, [second, first])[1] == one[0]
    assert [label for _, label in followed] == [first.label, second.label]
    climb.search(other, [first, second])
    assert climb.search(point, [first]) == one
    assert len(followed) == climb.searches - 1 == 5


def test_unknown_directions():
    with pytest.raises(UnknownNameError, match="did you mean powell"):
        DIRECTIONS.get("powel")
