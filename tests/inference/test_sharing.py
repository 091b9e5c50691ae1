"""Many lines at once: what is made of each is what it is alone, and envelopes are not kept."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.builders import Mean, candidate_set
from tests.helpers.parallel.pickling import PicklingEngine
from tests.helpers.search.line import random_task
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet


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
    follow = hypotheses._breakpoints

    def breakpoints(slopes, rows, point):
        nonlocal alive, most
        with lock:
            alive += len(rows)
            most = max(most, alive)
        return follow(slopes, rows, point)

    def work(point, direction, envelope):
        nonlocal alive
        with lock:
            alive -= 1
        return np.size(envelope.at)

    monkeypatch.setattr(hypotheses, "_breakpoints", breakpoints)
    with threads(count):
        assert len(hypotheses.map_envelopes(work, lines)) == len(lines)
    assert (alive, most <= count) == (0, True)


@pytest.mark.parametrize("sparse", [[], [0], [0, 1]])
def test_directions_that_recur_are_followed_together(sparse):
    rng = np.random.default_rng(5)
    groups = [rng.integers(-2, 3, (size, 3)).tolist() for size in (1, 9, 40, 5)]
    stats = rng.integers(0, 9, (55, 2))
    hypotheses = ListHypotheses(TuningSet(candidate_set(groups, sparse), Mean(), stats))
    points = [hypotheses.point(rng.standard_normal(3)) for _ in range(2)]
    ways = [Direction.of(rng.standard_normal(3), f"axis {k}") for k in range(3)]
    ways += [Direction.along(k, f"f{k}") for k in range(3)]
    again = [replace(way, recurs=True) for way in ways]
    alone = [
        described(point, way, hypotheses.envelope(point, way)) for point in points for way in ways
    ]
    lines = [(point, way) for point in points for way in again]
    for count in (1, 2, 1):
        with threads(count):
            assert hypotheses.map_envelopes(described, lines) == alone


def test_there_is_room_for_any_number_of_breakpoints():
    x = np.arange(-60.0, 61.0)
    groups = [np.column_stack([x, -x * x]).tolist()]
    hypotheses = ListHypotheses(TuningSet(candidate_set(groups), Mean(), np.ones((121, 2), int)))
    point = hypotheses.point(np.array([0.0, 1.0]))
    envelope = hypotheses.envelope(point, Direction.along(0, "f0"))
    assert np.sort(envelope.at).tolist() == (x[:-1] + x[1:]).tolist()
