"""What pictures show: ranges, steps and columns, numbers in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import Loss, tuning_set
from tunesmith.report.surface.along import along_feature
from tunesmith.report.surface.curves import Best, Curve
from tunesmith.report.surface.panels import (
    CLOSE_MOST,
    Band,
    StepCurve,
    best_text,
    close_window,
    heading,
    interval,
    number,
    plateau_text,
    shape_within,
    summary,
    whole_window,
)
from tunesmith.report.surface.surface import Line, error_surface


def curve(edges, scores=None, plateau=(-1.0, 1.0), at=0.0):
    edges = np.array(edges, float)
    scores = np.arange(len(edges) + 1.0) if scores is None else np.array(scores, float)
    return Curve("m", "m", True, edges, scores, 0.0, None, plateau, Best(9.0, at, at, at))


def line(*curves, weight=0.0, span=None):
    along = along_feature(("f",), np.array([weight]), "f")
    return Line(along, weight, 0, span, curves)


# Windows


def test_the_whole_leaves_out_tails_and_shows_the_weight():
    edges = [-1e9, *np.linspace(-1, 1, 98), 1e9]
    low, high = whole_window(line(curve(edges), weight=5.0))
    assert -2 < low < -0.5
    assert 5.0 < high < 6.0


@pytest.mark.parametrize(("at", "shown"), [(2.5, True), (1e6, False)])
def test_the_whole_shows_the_best_unless_it_is_far_off(at, shown):
    low, high = whole_window(line(curve(np.linspace(-1, 1, 100), at=at)))
    assert (low < at < high) == shown
    assert high < 10


def test_a_range_is_the_whole():
    assert whole_window(line(curve([1.0, 2.0]), span=(0.5, 1.5))) == (0.5, 1.5)


@pytest.mark.parametrize("weight", [0.0, -3.0])
def test_windows_without_edges_have_some_width(weight):
    for window in (whole_window, close_window):
        low, high = window(line(curve([], plateau=(-math.inf, math.inf), at=weight), weight=weight))
        assert low < weight < high
        assert math.isfinite(high - low)


@given(
    st.lists(st.floats(-1e6, 1e6), max_size=60, unique=True).map(sorted),
    st.floats(-100, 100),
)
def test_windows_show_the_weight_and_the_close_up_shows_the_plateau(edges, weight):
    after = int(np.searchsorted(edges, weight, side="right"))
    ends = [-math.inf, *edges, math.inf]
    plateau = ends[after], ends[after + 1]
    held = line(curve(edges, plateau=plateau, at=weight), weight=weight)
    low, high = whole_window(held)
    assert low < weight < high
    low, high = close_window(held)
    assert low < weight < high
    assert all(low < end < high for end in plateau if math.isfinite(end))


def test_a_close_up_has_no_more_steps_than_can_be_drawn():
    many = curve(np.linspace(-10, 10, 100_000), plateau=(-0.0001, 0.0001))
    few = curve([-5.0, 5.0], plateau=(-5.0, 5.0))
    low, high = close_window(line(many, few))
    inside = (many.edges > low) & (many.edges < high)
    assert CLOSE_MOST / 2 < inside.sum() <= CLOSE_MOST + 1


# Shapes


def test_few_steps_are_drawn_one_by_one():
    shape = shape_within(curve([1.0, 2.0, 3.0]), (1.5, 10.0), 4, 2)
    assert isinstance(shape, StepCurve)
    assert shape.ends.tolist() == [1.5, 2.0, 3.0, 10.0]
    assert shape.scores.tolist() == [1.0, 2.0, 3.0]


@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=40, unique=True).map(sorted),
    st.integers(-50, 40),
    st.integers(1, 60),
    st.integers(1, 9),
    st.randoms(use_true_random=False),
)
def test_columns_show_the_lowest_and_the_highest_score(edges, low, width, columns, random):
    held = curve(edges, [random.randint(0, 99) for _ in range(len(edges) + 1)])
    shape = shape_within(held, (float(low), float(low + width)), columns, -1)
    assert isinstance(shape, Band)
    assert len(shape.low) == len(shape.high) == columns
    for k in range(columns):
        a, b = shape.ends[k], shape.ends[k + 1]
        ends = [-math.inf, *edges, math.inf]
        inside = [held.scores[j] for j in range(len(ends) - 1) if ends[j] < b and ends[j + 1] > a]
        assert (shape.low[k], shape.high[k]) == (min(inside), max(inside))


# Words


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (0.5, 0.00122, "0.50000"),
        (-1.0328, 0.0357, "-1.0328"),
        (123.456, 40.0, "123.5"),
        (123456.7, 4e4, "123457"),
        (2e9, 1e3, "2e+09"),
        (0.123456789, math.inf, "0.123457"),
        (1.0, 0.0, "1"),
        (1.0, 1e-20, "1"),
    ],
)
def test_numbers_have_the_digits_that_matter(value, width, text):
    assert number(value, width) == text


@given(st.floats(-10, 10), st.floats(1e-9, 10))
def test_both_ends_of_an_interval_can_be_told_apart(low, width):
    a, b = interval(low, low + width).split(" to ")
    assert float(b) - float(a) == pytest.approx(width, rel=0.02)


def test_plateaus_in_words():
    assert plateau_text(-math.inf, math.inf) == "the same everywhere"
    assert plateau_text(-math.inf, 2.0) == "plateau without end below 2"
    assert plateau_text(2.0, math.inf) == "plateau without end above 2"
    assert plateau_text(2.0, 2.0) == "no plateau: candidates are tied"
    assert plateau_text(2.0, 6.0) == "plateau 2.00 to 6.00, width 4"


def test_a_summary_has_all_numbers():
    lines = [[0.0, 0.0], [1.0, -2.0], [2.0, -8.0]]
    tuning = tuning_set([lines], [[1.0, 0.0, 0.5]], metric=Loss())
    held = error_surface(tuning, {"f0": 7.0, "f1": 1.0}, features=["f0"]).lines[0]
    assert summary(held) == [
        "along f0: 2 breakpoints",
        "loss (lower is better): now 0.5000 at 7, plateau without end above 6; "
        "best 0.0000 at 4.00 (2.00 to 6.00)",
    ]
    held = error_surface(tuning, {"f0": 3.0, "f1": 1.0}, features=["f0"]).lines[0]
    assert best_text(held, held.curves[0]) == "best 0.0000, by the current weights"


def test_one_breakpoint_is_singular():
    tuning = tuning_set([[[0.0], [1.0]]], [[0.0, 1.0]])
    held = error_surface(tuning, {"f0": 1.0}, to={"f0": -1.0}).lines[0]
    assert heading(held) == "from current to other: 1 breakpoint"
    assert summary(held)[1].endswith("at γ = 1: 0.0000")
