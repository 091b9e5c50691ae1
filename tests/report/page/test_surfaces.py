"""Curves of a page equal brute force: scores inside intervals, plateaus, relative widths."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean
from tests.helpers.report.records import lists_of, record_of
from tests.helpers.report.scan import crossings, moved, scan, winners_at
from tests.helpers.tiers import examples
from tunesmith.report.page import surfaces as module
from tunesmith.report.page.surfaces import surfaces_of

quarters = st.integers(-8, 8).map(lambda n: n / 4)


@st.composite
def problems(draw):
    """Draw groups with three features, a value each, and weights."""
    groups, values = [], []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, 5))
        vector = st.tuples(*[st.integers(-3, 3)] * 3)
        groups.append(draw(st.lists(vector, min_size=size, max_size=size)))
        values.append(draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)))
    return groups, values, draw(st.tuples(quarters, quarters, quarters))


def scorer(values):
    return lambda chosen: float(np.mean([v[k] for v, k in zip(values, chosen, strict=True)]))


@settings(max_examples=examples(80))
@given(problems(), st.sampled_from([(), (2,)]), st.booleans(), st.integers(0, 2**32))
def test_curves_equal_brute_force(problem, sparse, is_loss, seed):
    groups, values, weights = problem
    lists = lists_of(groups, values, sparse, Loss() if is_loss else Mean())
    named = {f"f{d}": w for d, w in enumerate(weights)}
    found = surfaces_of(record_of(lists=lists, weights=named))
    assert {curve.feature for curve in found.curves} == {"f0", "f1", "f2"}
    assert (found.which, found.left_out, found.note) == ("tune", 0, "")
    rng = np.random.default_rng(seed)
    for curve in found.curves:
        d = int(curve.feature[1])
        direction = [float(k == d) for k in range(3)]
        assert curve.weight == weights[d]
        check_scores(curve, groups, weights, direction, scorer(values), rng)
        check_steady(curve, groups, weights, direction, scorer(values), -1 if is_loss else 1)
        check_plateau(curve, groups, weights, direction, scorer(values), min if is_loss else max)


def check_scores(curve, groups, weights, direction, score, rng):
    """Look at random points within the intervals of both ranges."""
    for window, edges, scores in (
        (curve.window, curve.edges, curve.scores),
        (curve.close, curve.close_edges, curve.close_scores),
    ):
        ends = [window[0], *edges, window[1]]
        assert ends == sorted(ends)
        assert len(scores) == len(edges) + 1
        ties = [float(at) + curve.weight for at in crossings(groups, weights, direction)]
        for low, high, held in zip(ends[:-1], ends[1:], scores, strict=True):
            at = low + (high - low) * rng.uniform(0.01, 0.99)
            if high > low and all(abs(at - tie) > 1e-9 for tie in ties):
                step = Fraction(at) - Fraction(curve.weight)
                there = score(winners_at(groups, moved(weights, direction, step)))
                assert held == pytest.approx(there, abs=1e-12)
    assert curve.window[0] <= curve.close[0] < curve.weight < curve.close[1] <= curve.window[1]


def check_plateau(curve, groups, weights, direction, score, better):
    """Compare with the scan's interval around the weight."""
    edges, scores = scan(groups, weights, direction, score)
    edges = [float(edge) + curve.weight for edge in edges]
    current = score(winners_at(groups, moved(weights, direction, Fraction(0))))
    assert curve.score == pytest.approx(current, abs=1e-12)
    low, high = (
        math.inf * sign if end is None else end
        for end, sign in zip(curve.plateau, (-1, 1), strict=True)
    )
    ends = [-math.inf, *edges, math.inf]
    around = [
        (a, b)
        for a, b, held in zip(ends[:-1], ends[1:], scores, strict=True)
        if a <= curve.weight <= b and abs(held - current) <= 1e-12
    ]
    expected = around or [(curve.weight, curve.weight)]  # a tie that is a point of its own
    assert any((low, high) == pytest.approx(one, abs=1e-9) for one in expected)
    size = abs(curve.weight) or max(map(abs, weights)) or 1.0
    for held, exact in (
        (curve.width, (high - low) / size),
        (curve.edge, min(curve.weight - low, high - curve.weight) / size),
    ):
        assert held is None if math.isinf(exact) else held == pytest.approx(exact, abs=1e-9)
    assert curve.best_score == pytest.approx(better([*scores, current]), abs=1e-12)


def check_steady(curve, groups, weights, direction, score, sign):
    """Look to both sides of the weight for the first interval that is worse."""
    edges, scores = scan(groups, weights, direction, score)
    ends = [-math.inf, *(float(edge) + curve.weight for edge in edges), math.inf]
    assert curve.drop == pytest.approx(0.002 * abs(curve.score))
    spans = list(zip(ends[:-1], ends[1:], scores, strict=True))
    worse = [(a, b) for a, b, held in spans if sign * held < sign * curve.score - curve.drop]
    below = [min(b, curve.weight) for a, b in worse if a < curve.weight]
    above = [max(a, curve.weight) for a, b in worse if b > curve.weight]
    expected = max(below, default=None), min(above, default=None)
    for held, end in zip(curve.steady, expected, strict=True):
        assert held is None if end is None else held == pytest.approx(end, abs=1e-9)


def problem_of(groups=40, width=3, seed=0):
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(12, width)).tolist() for _ in range(groups)]
    return blocks, [rng.integers(0, 50, 12).tolist() for _ in blocks]


def test_too_many_steps_become_a_band(monkeypatch):
    weights = {"f0": 0.5, "f1": -1.0, "f2": 0.7}
    record = record_of(lists=lists_of(*problem_of()), weights=weights)
    exact = {curve.feature: curve for curve in surfaces_of(record).curves}
    for name, value in {"STEPS": 30, "FEWEST": 10, "MOST": 20, "COLUMNS": 16}.items():
        monkeypatch.setattr(module, name, value)
    for curve in surfaces_of(record).curves:
        whole = exact[curve.feature]
        assert (curve.edges, curve.scores) == ((), ())
        assert (curve.close_edges, curve.close_scores) == (whole.close_edges, whole.close_scores)
        ends = [whole.window[0], *whole.edges, whole.window[1]]
        columns = curve.band["ends"]
        assert columns == pytest.approx(np.linspace(*whole.window, 17))
        for k in range(16):
            inside = [
                score
                for a, b, score in zip(ends[:-1], ends[1:], whole.scores, strict=True)
                if a < columns[k + 1] and b > columns[k]
            ]
            assert curve.band["low"][k] == min(inside)
            assert curve.band["high"][k] == max(inside)


def test_the_close_range_has_not_too_many_steps(monkeypatch):
    record = record_of(lists=lists_of(*problem_of()), weights={"f0": 0.5, "f1": -1.0, "f2": 0.7})
    monkeypatch.setattr(module, "CLOSE_MOST", 5)
    for curve in surfaces_of(record).curves:
        assert 1 <= len(curve.close_edges) <= 5


def test_those_that_say_most_come_first():
    groups = [[(0.0, 0.0, 0.0, 1.0), (1.0, 10.0, 0.1, 1.0)]]
    lists = lists_of(groups, [[1, 2]])
    weights = {"f0": 2.0, "f1": 1.0, "f2": 3.0, "f3": 50.0}
    record = record_of(lists=lists, weights=weights)
    found = surfaces_of(record)
    # Weight times spread is 1, 5, 0.15 and 0: the last never varies within a sentence.
    assert [curve.feature for curve in found.curves] == ["f1", "f0", "f2", "f3"]
    assert found.curves[-1].plateau == (None, None)
    assert (found.curves[-1].width, found.curves[-1].edge) == (None, None)
    first = surfaces_of(record, most=2)
    assert ([c.feature for c in first.curves], first.left_out) == (["f1", "f0"], 2)


def test_what_the_candidates_are_is_said():
    lists = lists_of([[(0.0,), (1.0,)]], [[1, 2]])
    assert "a part" in surfaces_of(record_of(lists=lists, is_partial=True)).note
    assert "all rounds" in surfaces_of(record_of({"rounds": [{"round": 0}]}, lists)).note
    assert surfaces_of(record_of()) is None


class Odd(Mean):
    """No number where values are large."""

    def score(self, stats):
        return np.where(stats[..., 0] > 1, np.inf, stats[..., 0])


def test_a_metric_that_is_no_number_is_left_out():
    lists = lists_of([[(0.0, 1.0), (1.0, 1.0)]], [[1, 2]], metric=Odd())
    record = record_of(lists=lists, weights={"f0": -1.0, "f1": 1.0})
    found = surfaces_of(record)
    assert [curve.feature for curve in found.curves] == ["f1"]
    assert found.left_out == 1
    assert "not a finite number" in found.note
