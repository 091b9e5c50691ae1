"""Maps of a page: pixels against a dense scan of their lines, what is chosen, what is packed."""

from __future__ import annotations

import base64
import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean, best_by_hand
from tests.helpers.report.records import lists_of, record_of
from tests.helpers.tiers import examples
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.report.page import maps as module
from tunesmith.report.page.maps import maps_of, scores_of
from tunesmith.report.page.surfaces import surfaces_of

WEIGHTS = {"f0": 0.5, "f1": -1.0, "f2": 0.7}


def problem(seed=0, width=3):
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(5, width)).tolist() for _ in range(6)]
    return blocks, [rng.integers(0, 10, 5).tolist() for _ in blocks]


def score_at(blocks, values, weights):
    chosen = [best_by_hand(block, weights) for block in blocks]
    return float(np.mean([v[k] for v, k in zip(values, chosen, strict=True)]))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "ROWS", 5)
    monkeypatch.setattr(module, "COLUMNS", 7)


@pytest.mark.long
@pytest.mark.parametrize("metric", [Mean(), Loss()])
def test_pixels_are_means_of_a_dense_scan(small, metric):
    blocks, values = problem()
    record = record_of(lists=lists_of(blocks, values, metric=metric), weights=WEIGHTS)
    surfaces = surfaces_of(record)
    (one,) = maps_of(record, surfaces, [("f0", "f2")]).maps
    for feature, (low, high) in (("f0", one.x_range), ("f2", one.y_range)):
        (curve,) = (curve for curve in surfaces.curves if curve.feature == feature)
        assert curve.window[0] <= low < curve.weight < high <= curve.window[1]
    assert (one.columns, one.rows) == (7, 5)
    scores = scores_of(one)
    assert scores.shape == (5, 7)
    middles = np.linspace(*one.y_range, 11)[1::2]
    ends = np.linspace(*one.x_range, 8)
    for (r, y), c in itertools.product(enumerate(middles), range(7)):
        width = ends[c + 1] - ends[c]
        xs = ends[c] + width * (np.arange(200) + 0.5) / 200
        dense = np.mean([score_at(blocks, values, (x, -1.0, y)) for x in xs])
        # Each of the steps within a pixel, six sentences at most, may fall between two samples.
        assert scores[r, c] == pytest.approx(dense, abs=0.15)
    assert one.current == (0.5, 0.7, pytest.approx(score_at(blocks, values, WEIGHTS.values())))
    better = np.max if metric.higher_is_better else np.min
    x, y, score = one.best
    assert score == better(scores)
    column, row = int((x - ends[0]) / width), int(np.argmin(np.abs(middles - y)))
    assert scores[row, column] == score
    assert x == pytest.approx(0.5 * (ends[column] + ends[column + 1]))


@pytest.mark.parametrize("is_band", [False, True])
@pytest.mark.parametrize("higher", [False, True])
def test_axes_show_where_the_metric_is_good(higher, is_band):
    blocks, values = problem()
    record = record_of(lists=lists_of(blocks, values), weights=WEIGHTS)
    curve = surfaces_of(record).curves[0]
    hill = (10.0, 10.0, 10.0, 30.0, 10.0, 10.0, 10.0)
    edges = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)
    made = {"weight": 0.5, "window": (-100.0, 100.0), "edges": edges, "scores": hill}
    if is_band:
        ends = np.linspace(-100.0, 100.0, 201)
        tops = [30.0 if -1.0 <= x < 1.0 else 10.0 for x in ends[:-1]]
        band = {"ends": tuple(ends), "low": tuple(tops), "high": tuple(tops)}
        made = {"weight": 0.5, "window": (-100.0, 100.0), "edges": (), "scores": (), "band": band}
    if not higher:
        made["scores"] = tuple(-score for score in made["scores"])
        if is_band:
            made["band"] = band | {key: tuple(-np.array(tops)) for key in ("low", "high")}
    low, high = module.window_of(dataclasses.replace(curve, **made), higher)
    # The hill is from -1 to 1, and has three quarters of that on both sides.
    assert (low, high) == pytest.approx((-2.5, 2.5), abs=0.01)
    far = dataclasses.replace(curve, **made | {"weight": 90.0})
    assert module.window_of(far, higher)[1] > 90.0


def test_where_nothing_changes_an_axis_shows_all():
    curve = surfaces_of(record_of(lists=lists_of([[(1.0,), (1.0,)]], [[1, 2]]))).curves[0]
    assert module.window_of(curve, True) == curve.window


@settings(max_examples=examples(50))
@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6), st.booleans())
def test_packing_and_unpacking(numbers, constant):
    means = np.array([numbers[0]] * 6 if constant else numbers).reshape(2, 3)
    low, high = float(means.min()), float(means.max())
    pixels = module._packed(means, low, high)
    one = module.Map("x", "y", (0, 1), (0, 1), 3, 2, low, high, pixels, (0, 0, 0.0), (0, 0, 0.0))
    assert len(base64.b64decode(pixels)) == 12
    assert np.abs(scores_of(one) - means).max() <= (high - low) / 65535 / 2 + 1e-9 * abs(high)


def test_pairs_of_those_that_say_most(small):
    blocks, values = problem(width=4)
    blocks = [[[*vector, 7.0] for vector in block] for block in blocks]
    weights = {"f0": 0.1, "f1": -3.0, "f2": 2.0, "f3": 0.2, "f4": 100.0}
    record = record_of(lists=lists_of(blocks, values), weights=weights)
    found = maps_of(record, surfaces_of(record), features=3)
    # The fifth never varies: it says nothing, and a map would be the same everywhere.
    assert [(one.x, one.y) for one in found.maps] == [("f1", "f2"), ("f1", "f3"), ("f2", "f3")]
    assert found.left_out == 7


def test_large_sets_have_fewer_maps(small, monkeypatch):
    record = record_of(lists=lists_of(*problem(width=5)), weights={f"f{d}": 1.0 for d in range(5)})
    surfaces = surfaces_of(record)
    assert len(maps_of(record, surfaces).maps) == 10
    # 30 candidates and 5 rows: four features have six maps of 900 together.
    monkeypatch.setattr(module, "WORK", 900)
    assert len(maps_of(record, surfaces).maps) == 6
    monkeypatch.setattr(module, "WORK", 1)
    assert len(maps_of(record, surfaces).maps) == 3


def test_a_feature_without_a_curve_has_a_window_of_its_own(small):
    record = record_of(lists=lists_of(*problem()), weights=WEIGHTS)
    every = surfaces_of(record)
    fewer = dataclasses.replace(every, curves=every.curves[:1])
    (one,) = maps_of(record, fewer, [("f0", "f2")]).maps
    low, high = one.y_range
    assert low < 0.7 < high


def test_wrong_pairs():
    record = record_of(lists=lists_of(*problem()), weights=WEIGHTS)
    surfaces = surfaces_of(record)
    with pytest.raises(UnknownNameError, match="lm"):
        maps_of(record, surfaces, [("f0", "lm")])
    with pytest.raises(UsageError, match="two features"):
        maps_of(record, surfaces, [("f0", "f0")])
    assert maps_of(record_of(), None) is None


def test_one_feature_has_no_pair():
    lists = lists_of([[(0.0,), (1.0,)]], [[1, 2]])
    record = record_of(lists=lists)
    found = maps_of(record, surfaces_of(record))
    assert (found.maps, found.left_out) == ((), 0)
