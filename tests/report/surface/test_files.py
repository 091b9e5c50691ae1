"""Pictures and JSON files: valid, of the expected size, without what could go wrong in them."""

from __future__ import annotations

import json
import math
import re
import struct
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.helpers.builders import Loss, candidate_set, tuning_set
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.features import Features
from tunesmith.errors import MissingExtraError, TunesmithError, UsageError
from tunesmith.metrics.bleu import BLEU
from tunesmith.report import drawing
from tunesmith.report.surface import html as surface_html
from tunesmith.report.surface.files import kind_of, write_surface
from tunesmith.report.surface.surface import error_surface
from tunesmith.tasks.lists import TuningSet

pytestmark = pytest.mark.long

LINES = [[0.0, 0.0], [1.0, -2.0], [2.0, -8.0]]
MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-", "html": b"<!doctype html>"}


def tuning(values=(0.0, 1.0, 0.5), metric=None):
    return tuning_set([LINES], [list(values)], metric=metric)


def surface_at(weight=3.0, **options):
    options = options or {"features": ["f0"]}
    return error_surface(tuning(), {"f0": weight, "f1": 1.0}, **options)


def two_metrics():
    candidates = candidate_set([LINES], texts=["a", "a b", "b"], references=[["a b"]])
    tunings = [
        TuningSet(candidates, BLEU(order=2)),
        TuningSet(candidates, Loss(), np.array([[1, 1], [0, 1], [2, 1]])),
    ]
    return error_surface(tunings, {"f0": 3.0, "f1": 1.0}, features=["f0", "f1"])


def png_size(path):
    return struct.unpack(">II", path.read_bytes()[16:24])


# Every kind of file


@pytest.mark.parametrize(
    ("ending", "weight"),
    [("png", 0.0), ("png", 2.0), ("png", 7.0), *((ending, 3.0) for ending in MAGIC)],
)
def test_a_picture_is_written(tmp_path, ending, weight):
    path = tmp_path / f"surface.{ending}"
    write_surface(surface_at(weight), path)
    assert path.read_bytes().startswith(MAGIC[ending])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ["png", "html"])
@pytest.mark.parametrize(
    "options",
    [
        {"to": {"f0": 1.0, "f1": 1.0}},
        {"direction": {"f0": 1.0, "f1": -1.0}},
        {"features": ["f0"], "span": (100.0, 200.0)},
    ],
)
def test_other_lines_are_drawn(tmp_path, ending, options):
    path = tmp_path / f"surface.{ending}"
    write_surface(surface_at(**options), path)
    assert path.read_bytes().startswith(MAGIC[ending])


@pytest.mark.parametrize("ending", ["png", "html"])
def test_a_feature_that_changes_nothing_can_be_drawn(tmp_path, ending):
    flat = tuning_set([[[1.0, 0.0], [1.0, 1.0]]], [[0.0, 1.0]])
    path = tmp_path / f"flat.{ending}"
    write_surface(error_surface(flat, {"f0": 1.0, "f1": 1.0}, features=["f0"]), path)
    assert path.stat().st_size > 1000


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_the_same_surface_is_the_same_bytes(tmp_path, ending):
    paths = [tmp_path / f"{k}.{ending}" for k in range(2)]
    for path in paths:
        write_surface(two_metrics(), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_json_is_the_object(tmp_path):
    path = tmp_path / "surface.JSON"
    write_surface(two_metrics(), path)
    assert json.loads(path.read_text(encoding="utf-8")) == two_metrics().to_dict()


# Static pictures


def test_a_picture_grows_with_its_rows(tmp_path):
    one, four = tmp_path / "one.png", tmp_path / "four.png"
    write_surface(surface_at(), one)
    write_surface(two_metrics(), four)
    dpi = drawing.DPI
    assert png_size(one) == (12 * dpi, 4.5 * dpi)
    assert png_size(four) == (12 * dpi, int((4 * 2.9 + 0.5) * dpi))


def test_a_picture_says_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.setitem(drawing.STYLE, "svg.fonttype", "none")
    path = tmp_path / "surface.svg"
    write_surface(two_metrics(), path)
    texts = [
        "".join(element.itertext())
        for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    ]
    for wanted in (
        "weight of f0",
        "weight of f1",
        "bleu:order=2 (higher is better)",
        "loss (lower is better)",
        "current weights",
        "plateau around them",
        "best interval on the line",
        "now 0.0000 at 3.00, plateau 2.00 to 6.00, width 4",
    ):
        assert wanted in texts


def test_names_are_drawn_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setitem(drawing.STYLE, "svg.fonttype", "none")
    features = Features(("a$^$", "特徴"), np.array([[0.0, 1.0], [0.0, -1.0]]), (), _nothing(2))
    base = candidate_set([[[0.0], [1.0]]])
    named = CandidateSet(base.ids, base.start, features, base.texts, base.vocabulary)
    held = TuningSet(named, Loss(), np.array([[0, 1], [1, 1]]))
    surface = error_surface(held, {"a$^$": 1.0, "特徴": 2.0}, features=["a$^$", "特徴"])
    for ending in ("svg", "png"):
        write_surface(surface, tmp_path / f"names.{ending}")
    text = (tmp_path / "names.svg").read_text(encoding="utf-8")
    assert "weight of a$^$" in text
    assert "weight of 特徴" in text


def _nothing(n):
    from scipy.sparse import csc_array

    return csc_array((n, 0))


def test_a_narrow_close_up_is_labelled_by_differences(tmp_path, monkeypatch):
    monkeypatch.setitem(drawing.STYLE, "svg.fonttype", "none")
    # Two steps, a millionth beside a weight of 1.
    lines = [[0.0, 0.0], [1.0, -0.999999], [2.0, -2.0]]
    held = tuning_set([lines], [[0.0, 1.0, 0.5]])
    path = tmp_path / "narrow.svg"
    write_surface(error_surface(held, {"f0": 1.0, "f1": 1.0}, features=["f0"]), path)
    assert "weight of f0 − 1" in path.read_text(encoding="utf-8")


# Pages


def test_a_page_needs_nothing_else(tmp_path):
    path = tmp_path / "surface.html"
    write_surface(two_metrics(), path)
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)[^>]*(src|href)\s*=\s*[\"']?(?!data:)[^\"'\s]", text)
    assert "best 1" in text
    assert "along f0: 2 breakpoints" in text


def test_names_in_a_page_are_text(tmp_path):
    name = "</script><script>alert(1)</script><b>"
    features = Features((name,), np.array([[0.0, 1.0, 2.0]]), (), _nothing(3))
    base = candidate_set([[[0.0], [1.0], [2.0]]])
    named = CandidateSet(base.ids, base.start, features, base.texts, base.vocabulary)
    held = TuningSet(named, Loss(), np.array([[0, 1], [1, 1], [0, 1]]))
    path = tmp_path / "surface.html"
    write_surface(error_surface(held, {name: 1.0}, features=[name]), path)
    text = path.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_a_page_shows_every_step_and_mark():
    surface = two_metrics()
    chart = surface_html.build(surface)
    panels = chart["panels"]
    assert len(panels) == 8  # two features, two metrics, the whole and a close-up
    for panel, curve in zip(panels[::2][:2], surface.lines[0].curves, strict=True):
        (steps,) = (mark for mark in panel["marks"] if mark["kind"] == "steps")
        assert steps["values"] == curve.scores.tolist()
        assert steps["ends"][1:-1] == pytest.approx(curve.edges)
        assert steps["label"] == curve.metric
    assert {entry["name"] for entry in chart["legend"]} == {
        "current weights",
        "plateau around them",
        "best interval on the line",
    }
    rules = [mark for panel in panels for mark in panel["marks"] if mark["kind"] == "rule"]
    assert {mark["x"] for mark in rules} == {3.0, 1.0}
    assert panels[0]["x"]["title"] == "weight of f0"
    # Both metrics along a line are zoomed together, its close-ups apart, other lines as well.
    first, close, below, _, other = (panel["link"] for panel in panels[:5])
    assert first == below
    assert len({first, close, other}) == 3


# Many steps


@pytest.fixture(scope="module")
def many():
    """A line with 300,000 steps."""
    groups, size = 1000, 301
    slopes = np.tile(np.arange(size, dtype=float), groups)
    rng = np.random.default_rng(5)
    # The candidate of slope k wins from the k-th to the next breakpoint.
    breaks = np.sort(rng.normal(0.0, 2.0, (groups, size - 1)), axis=1)
    offsets = -np.concatenate([np.zeros((groups, 1)), np.cumsum(breaks, axis=1)], axis=1)
    rows = np.array([slopes, offsets.ravel()])
    features = Features(("slope", "offset"), rows, (), _nothing(rows.shape[1]))
    base = candidate_set([[[0.0]]])
    start = np.arange(0, groups * size + 1, size)
    texts = type(base.texts)(np.zeros(groups * size + 1, np.int64), np.zeros(0, np.int32))
    candidates = CandidateSet(tuple(range(groups)), start, features, texts, ())
    gains = np.exp(-np.square((np.arange(size) - 200) / 80.0))
    stats = np.column_stack([np.tile(gains, groups), np.ones(groups * size)])
    held = TuningSet(candidates, Loss(), stats)
    return error_surface(held, {"slope": 0.5, "offset": 1.0}, features=["slope"])


def test_many_steps_are_all_in_the_json(many):
    (line,) = many.to_dict()["lines"]
    assert line["breakpoints"] == 300_000
    (held,) = line["metrics"]
    assert len(held["edges"]) > 290_000
    assert len(held["scores"]) == len(held["edges"]) + 1
    assert (np.diff(held["edges"]) > 0).all()


@pytest.mark.parametrize(("ending", "most"), [("svg", 400_000), ("pdf", 200_000)])
def test_many_steps_do_not_make_a_large_picture(many, tmp_path, ending, most):
    path = tmp_path / f"many.{ending}"
    write_surface(many, path)
    assert path.stat().st_size < most


def test_many_steps_do_not_make_a_large_page(many, tmp_path):
    few, path = tmp_path / "few.html", tmp_path / "many.html"
    write_surface(surface_at(), few)
    write_surface(many, path)
    assert path.stat().st_size < few.stat().st_size + 1_500_000
    assert "lowest and the highest score" in path.read_text(encoding="utf-8")
    assert "lowest and the highest score" not in few.read_text(encoding="utf-8")


def test_a_picture_of_many_steps_says_so(many, tmp_path, monkeypatch):
    monkeypatch.setitem(drawing.STYLE, "svg.fonttype", "none")
    path = tmp_path / "many.svg"
    write_surface(many, path)
    assert "lowest to highest in a pixel column (left)" in path.read_text(encoding="utf-8")


# What cannot be written


@pytest.mark.parametrize("name", ["surface", "surface.jpg", "-", "surface.", "html"])
def test_an_unknown_ending_is_refused(name):
    with pytest.raises(UsageError, match=r"\.html, \.png, \.svg, \.pdf, \.json"):
        kind_of(name)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tunesmith\[plot\]'"):
        kind_of("surface.png")
    assert kind_of("surface.json") == "json"
    assert kind_of("surface.html") == "html"


@pytest.mark.parametrize("ending", ["png", "html"])
def test_too_many_rows_are_refused_and_nothing_is_left(tmp_path, ending):
    surface = surface_at()
    crowd = type(surface)(surface.lines * 100, surface.signature, surface.files)
    with pytest.raises(TunesmithError, match="100 rows"):
        write_surface(crowd, tmp_path / f"surface.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_no_number_in_json_is_infinite():
    for weight in (0.0, 3.0, 7.0):
        text = json.dumps(surface_at(weight).to_dict(), allow_nan=False)
        assert "Infinity" not in text
    assert math.isinf(surface_at(7.0).lines[0].curves[0].plateau[1])
