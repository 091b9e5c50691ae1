"""Many lines at once: what is made of each is what it is alone, and envelopes are not kept."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tests.helpers.parallel.pickling import PicklingEngine
from tests.helpers.search.line import random_task
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import threads


def described(point, direction, envelope):
    parts = point.weights, envelope.total, envelope.at, envelope.change
    return [direction.label, *(part.tobytes() for part in parts)]


def lines_through(hypotheses, rng, count=40):
    points = [hypotheses.point(rng.standard_normal(2)) for _ in range(3)]
    return [
        (points[k % 3], Direction.of(rng.standard_normal(2), f"line {k}")) for k in range(count)
    ]


def test_a_batch_is_its_lines_one_by_one_whoever_works():
    tuning, rng = random_task(3)
    hypotheses = ListHypotheses(tuning)
    lines = lines_through(hypotheses, rng)
    alone = [described(*line, hypotheses.envelope(*line)) for line in lines]
    for count in (1, 2, 5):
        with threads(count):
            assert hypotheses.map_envelopes(described, lines) == alone
    with working_on(PicklingEngine(2)):
        assert hypotheses.map_envelopes(described, lines) == alone
    assert hypotheses.map_envelopes(described, lines[:1]) == alone[:1]
    assert hypotheses.map_envelopes(described, []) == []


@pytest.mark.parametrize("count", [1, 3])
def test_no_more_envelopes_are_held_than_threads_work(count, monkeypatch):
    tuning, rng = random_task(4)
    hypotheses = ListHypotheses(tuning)
    lines = lines_through(hypotheses, rng)
    lock, alive, most = threading.Lock(), 0, 0
    follow = hypotheses.envelope

    def envelope(point, direction):
        nonlocal alive, most
        with lock:
            alive += 1
            most = max(most, alive)
        return follow(point, direction)

    def work(point, direction, envelope):
        nonlocal alive
        with lock:
            alive -= 1
        return np.size(envelope.at)

    monkeypatch.setattr(hypotheses, "envelope", envelope)
    with threads(count):
        assert len(hypotheses.map_envelopes(work, lines)) == len(lines)
    assert (alive, most <= count) == (0, True)
