from __future__ import annotations

import numpy as np
import pytest

from tunesmith.inference.hypotheses import Point
from tunesmith.search.directions.stopping import StoppingRule


def point(gain):
    return Point(np.zeros(1), np.zeros(1), gain, None)


def gain_of(place):
    return place.gain


def rounds_of(gains, asked):
    """Return rounds that lead to one gain after the other, then stay."""
    left = iter([point(gain) for gain in gains])

    def make_round(place):
        asked.append(place.gain)
        return next(left, place)

    return make_round


@pytest.mark.parametrize(
    ("options", "gains", "end"),
    [
        ({}, [0.1, 0.1 + 1e-12], 0.1 + 1e-12),  # a step was taken, so it gained
        ({"smoothed": True, "tolerance": 0.01}, [0.1, 0.105, 0.5], 0.1),
        ({"penalised": True, "tolerance": 1e-4}, [0.2, 0.25, 0.5], 0.25),
    ],
)
def test_the_last_round_is_the_first_that_gains_too_little(options, gains, end):
    asked = []
    last = StoppingRule(**options).repeat(point(0.0), gain_of, rounds_of(gains, asked))
    assert last.gain == end
    assert len(asked) == (3 if not options else 2)


def test_another_kind_of_round_is_made_where_the_first_gains_too_little():
    first, second = [], []
    kinds = rounds_of([0.3, 0.31, 0.8], first), rounds_of([0.6], second)
    last = StoppingRule().repeat(point(0.0), gain_of, *kinds, least=0.1)
    assert (last.gain, first, second) == (0.8, [0.0, 0.3, 0.6, 0.8], [0.3, 0.8])


def test_nothing_is_left_to_gain_at_the_ceiling():
    rule = StoppingRule(ceiling=1.0)
    assert rule.at_top(1.0 - 1e-10)
    assert not rule.at_top(0.95)
    assert rule.at_top(0.95, least=0.1)
    assert not StoppingRule(ceiling=1.0, penalised=True).at_top(1.0)
    asked = []
    assert rule.repeat(point(0.95), gain_of, rounds_of([1.0], asked), least=0.1).gain == 0.95
    assert asked == []


def test_steps_are_counted_on_a_smoothed_objective_alone():
    assert StoppingRule(most_steps=2).has_steps_left(100)
    rule = StoppingRule(smoothed=True, most_steps=2)
    assert [rule.has_steps_left(k) for k in (1, 2)] == [True, False]
    assert [StoppingRule(0.1).takes_step(0.0, after) for after in (0.1, 0.2)] == [False, True]
