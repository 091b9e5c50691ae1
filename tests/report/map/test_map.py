"""Maps of two weights: numbers against a dense scan, windows, words and files."""

from __future__ import annotations

import json
import math
import struct
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, best_by_hand, tuning_set
from tests.helpers.tiers import examples
from tunesmith.errors import MissingExtraError, UnknownNameError, UsageError
from tunesmith.report.map import html as map_html
from tunesmith.report.map.files import write_map
from tunesmith.report.map.map import metric_map, pixels
from tunesmith.report.map.words import scale, star_of, summary

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-", "html": b"<!doctype html>"}
SMALL = (6, 8)


def problem(seed=0, width=3, metric=None):
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(5, width)).tolist() for _ in range(6)]
    values = [rng.integers(0, 10, 5).tolist() for _ in blocks]
    return blocks, values, tuning_set(blocks, values, metric=metric)


def score_at(blocks, values, weights):
    chosen = [best_by_hand(block, weights) for block in blocks]
    return float(np.mean([v[k] for v, k in zip(values, chosen, strict=True)]))


WEIGHTS = {"f0": 0.5, "f1": -1.0, "f2": 0.7}


@pytest.mark.long
@pytest.mark.parametrize("metric", [None, Loss()])
def test_pixels_are_those_of_a_dense_scan(metric):
    blocks, values, tuning = problem(metric=metric)
    window = ((-1.0, 2.0), (-2.0, 1.0))
    found = metric_map(tuning, WEIGHTS, ["f0", "f2"], window=window, size=SMALL)
    assert found.mean.shape == found.low.shape == found.high.shape == SMALL
    for r, y in enumerate(np.linspace(-2.0, 1.0, 13)[1::2]):
        assert found.rows[r] == pytest.approx(y)
        for c in range(SMALL[1]):
            ends = np.linspace(-1.0, 2.0, 9)[c : c + 2]
            xs = np.linspace(*ends, 101)[:-1] + (ends[1] - ends[0]) / 200
            scores = [score_at(blocks, values, (x, -1.0, y)) for x in xs]
            assert found.low[r, c] <= min(scores) + 1e-12
            assert found.high[r, c] >= max(scores) - 1e-12
            assert found.mean[r, c] == pytest.approx(np.mean(scores), abs=0.2)
    sign = 1.0 if metric is None else -1.0
    at = found.best_row
    assert score_at(blocks, values, (at.x, -1.0, at.y)) == pytest.approx(at.score)
    extreme = found.high.max() if metric is None else found.low.min()
    assert at.score == pytest.approx(extreme)
    assert found.current.score == pytest.approx(score_at(blocks, values, WEIGHTS.values()))
    best = found.best
    assert found.proven
    assert sign * best.score >= sign * at.score - 1e-12
    assert score_at(blocks, values, (best.x, -1.0, best.y)) == pytest.approx(best.score)


@settings(max_examples=examples(60))
@given(
    st.lists(st.integers(-8, 8), max_size=12),
    st.lists(st.integers(0, 5), min_size=13, max_size=13),
    st.integers(1, 5),
)
def test_a_mean_is_the_area(edges, scores, columns):
    edges = np.array(sorted(edges), float)
    scores = np.array(scores[: len(edges) + 1], float)
    ends = np.linspace(-4.5, 4.5, columns + 1)
    mean, low, high = pixels(edges, scores, ends)
    for c in range(columns):
        area, seen = 0.0, []
        corners = [-math.inf, *edges, math.inf]
        for k, score in enumerate(scores):
            part = min(corners[k + 1], ends[c + 1]) - max(corners[k], ends[c])
            if part > 0:
                area += part * score
                seen.append(score)
        assert mean[c] == pytest.approx(area / (ends[c + 1] - ends[c]), abs=1e-9)
        assert low[c] <= min(seen) <= mean[c] + 1e-9
        assert high[c] >= max(seen) >= mean[c] - 1e-9


def test_the_window_holds_the_current_and_the_best_weights():
    for seed in range(5):
        _, _, tuning = problem(seed)
        found = metric_map(tuning, WEIGHTS, ["f0", "f1"], size=SMALL)
        assert found.holds(found.current)
        mark, what = star_of(found)
        if found.holds(found.best):
            assert (mark, what) == (found.best, "best of the plane, proven")
        else:
            assert (mark, what) == (found.best_row, "best on the lines of the rows")
            assert "not on the map" in summary(found)[2]


def test_a_plane_through_zero_is_as_far_from_it_as_the_weights():
    _, _, tuning = problem(3, width=2)
    found = metric_map(tuning, {"f0": 3.0, "f1": 4.0}, ["f0", "f1"], size=SMALL)
    assert 1.0 < math.hypot(found.best.x, found.best.y) < 25.0
    assert found.best.score >= found.best_row.score


def test_no_time_for_the_best():
    _, _, tuning = problem()
    found = metric_map(tuning, WEIGHTS, ["f0", "f1"], time_limit=1e-9, size=SMALL)
    assert (found.best, found.proven) == (None, False)
    assert star_of(found)[0] is found.best_row
    assert "--time-limit" in summary(found)[2]
    assert found.to_dict()["best"] is None


def test_a_map_without_any_change():
    tuning = tuning_set([[[1, 2]], [[3, 4]]], [[1.0], [2.0]])
    found = metric_map(tuning, {"f0": 1.0, "f1": 0.0}, ["f0", "f1"], size=SMALL)
    assert (found.mean == 1.5).all()
    low, high = scale(found)
    assert low < 1.5 < high


def test_what_is_refused():
    _, _, tuning = problem()
    for features in (["f0"], ["f0", "f0"], ["f0", "f1", "f2"]):
        with pytest.raises(UsageError, match="two axes"):
            metric_map(tuning, WEIGHTS, features)
    with pytest.raises(UnknownNameError, match="f9"):
        metric_map(tuning, WEIGHTS, ["f0", "f9"])
    with pytest.raises(UsageError, match="range is 2:1"):
        metric_map(tuning, WEIGHTS, ["f0", "f1"], window=((0.0, 1.0), (2.0, 1.0)))


@pytest.mark.long
@pytest.mark.parametrize("window", [None, ((10.0, 11.0), (20.0, 21.0))])
@pytest.mark.parametrize("ending", MAGIC)
def test_a_picture_is_written(tmp_path, ending, window):
    _, _, tuning = problem()
    found = metric_map(tuning, WEIGHTS, ["f0", "f1"], window=window, size=SMALL)
    path, again = tmp_path / f"map.{ending}", tmp_path / f"again.{ending}"
    write_map(found, path)
    assert path.read_bytes().startswith(MAGIC[ending])
    if ending != "html":
        write_map(found, again)
        assert path.read_bytes() == again.read_bytes()
    if ending == "svg":
        ElementTree.parse(path)
    if ending == "png":
        width, height = struct.unpack(">II", path.read_bytes()[16:24])
        assert (width, height) == (1092, 832)


def test_a_page_shows_the_same_numbers():
    _, _, tuning = problem(metric=Loss())
    found = metric_map(tuning, WEIGHTS, ["f0", "f1"], size=SMALL)
    (panel,) = map_html.build(found)["panels"]
    pixels, *marks = panel["marks"]
    for key, scores in (("values", found.mean), ("lowest", found.low), ("highest", found.high)):
        assert np.allclose(pixels[key], scores, atol=1e-5)
    assert (pixels["x"], pixels["y"]) == tuple(map(list, found.window))
    # Bright is good: the colours of an error rate are the other way round.
    _, _, other = problem()
    more = map_html.build(metric_map(other, WEIGHTS, ["f0", "f1"], size=SMALL))
    assert pixels["reversed"]
    assert not more["panels"][0]["marks"][0]["reversed"]
    assert marks[0]["name"] == "current weights"
    assert (marks[0]["x"], marks[0]["y"]) == ([0.5], [-1.0])


@pytest.mark.long
def test_names_cannot_become_part_of_a_page(tmp_path):
    _, _, tuning = problem()
    found = metric_map(tuning, WEIGHTS, ["f0", "f1"], size=SMALL)
    odd = "<script>alert(1)</script>"
    object.__setattr__(found, "features", (odd, "$x_1$ %"))
    assert odd not in map_html.page(found)
    write_map(found, tmp_path / "map.png")


def test_json(tmp_path):
    _, _, tuning = problem()
    found = metric_map(tuning, WEIGHTS, ["f0", "f1"], size=SMALL)
    path = tmp_path / "map.json"
    write_map(found, path)
    held = json.loads(path.read_text(encoding="utf-8"))
    assert held["schema"] == "tunesmith.map/1"
    assert held["features"] == ["f0", "f1"]
    assert (len(held["rows"]), len(held["columns"])) == (SMALL[0], SMALL[1] + 1)
    assert np.array(held["mean"]).tolist() == found.mean.tolist()
    assert held["current"] == {"x": 0.5, "y": -1.0, "score": found.current.score}
    assert "plane:f0,f1" in held["signature"]


def test_missing_library(tmp_path, monkeypatch):
    _, _, tuning = problem()
    found = metric_map(tuning, WEIGHTS, ["f0", "f1"], size=SMALL)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="plot"):
        write_map(found, tmp_path / "map.svg")
    assert list(tmp_path.iterdir()) == []
