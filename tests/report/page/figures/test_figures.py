"""Figures: a file for each picture and kind, whatever names and numbers there are."""

from __future__ import annotations

import dataclasses
import os
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.helpers.report.records import lists_of, record_of
from tunesmith.errors import MissingExtraError, TunesmithError, UsageError
from tunesmith.report.page.figures.figures import pictures_of, safe, write_figures
from tunesmith.report.page.figures.words import displayed
from tunesmith.report.page.maps import maps_of
from tunesmith.report.page.surfaces import surfaces_of
from tunesmith.report.page.view import (
    PairRound,
    RoundsView,
    Sentences,
    SentenceView,
    Summary,
    View,
    WeightRow,
    WeightTable,
)

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}
HOSTILE = [
    "<script>alert(1)</script>",
    "$x_1$ \\frac{1}{2}",
    "a\x00b\x1b[31m\n",
    "../../../etc/passwd",
    "_hidden",
    "كلمة 漢字 🙂",
    "x" * 5000,
    "\ud800\ufffe",
    "",
    "--> <!--",
]


def summary(metric="bleu", higher=True):
    return Summary("run", "mert", metric, higher, "ended", (), "signature", (), ())


def empty(**more):
    parts = {
        "version": "0",
        "summary": summary(),
        "warnings": (),
        "rounds": None,
        "weights": WeightTable((), ()),
        "surfaces": None,
        "maps": None,
        "sentences": (),
        "pairs": (),
        "certificate": None,
        "path": None,
        "missing": (),
    }
    return View(**parts | more)


def rounds(count=3, names=None):
    names = tuple(names or (str(k) for k in range(count)))
    tune = tuple(30.0 + k for k in range(len(names)))
    dev = (29.0, *[None] * (len(names) - 2), 28.5)[-len(names) :]
    series = {"tune": tune, "dev": dev, "promised": (None, *tune[:-1])}
    lengths = {"tune": tuple(0.9 + 0.01 * k for k in range(len(names)))}
    return RoundsView("round", names, series, lengths, len(names) - 1)


def sentence(influence):
    return SentenceView("1", "", (), (), (), None, None, influence, (), 1)


@pytest.fixture(scope="module")
def full():
    """Return a view with all there is, and three features."""
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(6, 3)).tolist() for _ in range(8)]
    values = [rng.integers(0, 9, 6).tolist() for _ in groups]
    record = record_of(lists=lists_of(groups, values), weights={"f0": 1.0, "f1": -2.0, "f2": 0.0})
    surfaces = surfaces_of(record)
    rows = tuple(
        WeightRow(name, 1.0, value, (1.0, value), 0.5)
        for name, value in (("f0", 1.0), ("f1", -2.0), ("f2", 0.0))
    )
    side = {"length": 9.0, "score": 3.0}
    return empty(
        rounds=rounds(),
        weights=WeightTable(("0", "1"), rows),
        surfaces=surfaces,
        maps=maps_of(record, surfaces, [("f0", "f1")]),
        sentences=(
            Sentences("tune", 9, 5, 2, 1, (), "BLEU+1", (sentence(0.2), sentence(-0.1))),
            Sentences("dev", 9, 0, 0, 0, (), "BLEU+1", ()),
        ),
        replicates=RoundsView("seed", ("1", "2"), {"tune": (3.0, 4.0)}, {}, 0, is_ordered=False),
        pairs=(PairRound("0", None, 5, side, side, 8.0), PairRound("1", None, 5, {}, {})),
    )


@pytest.mark.long
def test_a_file_for_each_picture_and_kind(full, tmp_path):
    files = write_figures(full, tmp_path / "new" / "folder", ("png", "svg"))
    names = {file.name for file in files}
    pictures = [
        "scores",
        "replicates",
        "lengths",
        "weights",
        "weights-rounds",
        "pairs",
        "sentences",
    ]
    pictures += [f"surface-{k + 1:02d}-{c.feature}" for k, c in enumerate(full.surfaces.curves)]
    pictures += ["map-01-f0-f1"]
    assert names == {f"{name}.{kind}" for name in pictures for kind in ("png", "svg")}
    assert names == set(os.listdir(tmp_path / "new" / "folder"))
    for file in files:
        assert file.read_bytes().startswith(MAGIC[file.suffix[1:]])
        if file.suffix == ".svg":
            ElementTree.parse(file)


@pytest.mark.long
def test_the_same_numbers_are_the_same_bytes(tmp_path):
    view = empty(rounds=rounds())
    kinds = "png", "svg", "pdf"
    first, second = (write_figures(view, tmp_path / name, kinds) for name in "ab")
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
    assert len(first) == 6


@pytest.mark.long
def test_hostile_names(full, tmp_path):
    curve, one = full.surfaces.curves[0], full.maps.maps[0]
    pair = full.pairs[0]
    rows = tuple(WeightRow(name, 1.0, 2.0, (1.0, 2.0), 1.0) for name in HOSTILE)
    # Names that a file could have, or that are not one line of XML.
    named = [HOSTILE[k] for k in (2, 3, 6, 8)]
    view = empty(
        summary=summary(HOSTILE[0] + HOSTILE[1]),
        rounds=rounds(names=HOSTILE),
        weights=WeightTable((HOSTILE[2], HOSTILE[7]), rows),
        surfaces=dataclasses.replace(
            full.surfaces, curves=tuple(dataclasses.replace(curve, feature=n) for n in named)
        ),
        maps=dataclasses.replace(
            full.maps, maps=(dataclasses.replace(one, x=HOSTILE[5], y=HOSTILE[9]),)
        ),
        pairs=tuple(dataclasses.replace(pair, name=name) for name in HOSTILE),
    )
    files = write_figures(view, tmp_path / "figures", ("svg",))
    assert len(files) == 5 + len(named) + 1
    assert {file.name for file in files} == set(os.listdir(tmp_path / "figures"))
    assert os.listdir(tmp_path) == ["figures"]
    for file in files:
        tree = ElementTree.parse(file)
        assert not [one for one in tree.iter() if one.tag.endswith("script")]


def test_texts_are_one_line_that_can_be_shown():
    assert displayed("a\x00b\nc\ud800\ufffe") == "a\ufffdb\ufffdc\ufffd\ufffd"
    assert displayed("漢字 🙂 <b>$x$") == "漢字 🙂 <b>$x$"
    assert len(displayed("x" * 100)) == 40
    assert safe("../a b/ü\x00") == ".._a_b_"


def drawn(view, name):
    """Return the axes of one picture."""
    from matplotlib.figure import Figure

    (picture,) = (one for one in pictures_of(view) if one.name == name)
    figure = Figure()
    picture.draw(figure)
    return figure.axes


def points(axes):
    return {
        line.get_label(): list(zip(*map(np.ravel, line.get_data()), strict=True))
        for line in axes.lines
    }


def test_what_is_drawn_are_the_numbers(full):
    (axes,) = drawn(full, "scores")
    found = points(axes)
    assert found["tune"] == [(0, 30.0), (1, 31.0), (2, 32.0)]
    assert found["dev"] == [(0, 29.0), (2, 28.5)]
    (lengths,) = drawn(full, "lengths")
    assert [y for _, y in points(lengths)["tune"]] == pytest.approx([0.90, 0.91, 0.92])
    weights, says = drawn(full, "weights")
    assert [x for x, _ in points(weights)["tuned"]] == [1.0, -2.0, 0.0]
    # The start is 1 for each of the three, and has the size of the tuned weights.
    assert [x for x, _ in points(weights)["start, scaled alike"]] == [1.0, 1.0, 1.0]
    assert [bar.get_width() for bar in says.patches] == [0.5, 1.0, 0.0]
    counts, influences = drawn(full, "sentences")[:2]
    assert [bar.get_width() for bar in counts.patches] == [2, 1, 2, 4]
    assert [bar.get_height() for bar in influences.patches] == [0.2, -0.1]
    length, score = drawn(full, "pairs")
    assert points(length)["references"] == [(0, 8.0)]
    assert points(score)["positives"] == [(0, 3.0)]


@pytest.mark.long
def test_a_curve_is_drawn_as_its_steps(full):
    curve = full.surfaces.curves[0]
    whole, close = drawn(full, f"surface-01-{curve.feature}")
    for axes, window, edges, scores in (
        (whole, curve.window, curve.edges, curve.scores),
        (close, curve.close, curve.close_edges, curve.close_scores),
    ):
        (stairs,) = (one for one in axes.patches if hasattr(one, "get_data"))
        data = stairs.get_data()
        assert data.values == pytest.approx(np.array(scores))
        assert data.edges == pytest.approx(np.array([window[0], *edges, window[1]]))


def test_a_map_is_drawn_as_its_pixels(full):
    from tunesmith.report.page.maps import scores_of

    axes, _ = drawn(full, "map-01-f0-f1")
    (image,) = axes.images
    one = full.maps.maps[0]
    assert np.array_equal(np.asarray(image.get_array()), scores_of(one))
    assert image.get_extent() == [*one.x_range, *one.y_range]


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2, 200])
def test_any_number_of_rounds(tmp_path, count):
    rows = tuple(
        WeightRow(f"f{d}", 0.0, 10.0 ** (d - 3), (1.0,) * count, None) for d in range(count)
    )
    table = WeightTable(tuple(map(str, range(count))), rows, 7)
    files = write_figures(empty(rounds=rounds(count), weights=table), tmp_path, ("png",))
    assert len(files) == (3 if count == 1 else 4)


@pytest.mark.long
def test_curves_without_end_and_in_columns(full, tmp_path):
    flat = record_of(lists=lists_of([[(1.0,), (1.0,)]], [[1, 2]]))
    band = {"ends": (0.0, 1.0, 2.0), "low": (1.0, 2.0), "high": (1.0, 3.0)}
    columns = dataclasses.replace(
        full.surfaces.curves[0], band=band, edges=(), scores=(), window=(0.0, 2.0), best=(None, 1.0)
    )
    narrow = dataclasses.replace(
        full.surfaces.curves[0],
        weight=1e6,
        close=(1e6 - 1e-3, 1e6 + 1e-3),
        close_edges=(),
        close_scores=(2.0,),
        window=(0.0, 2e6),
    )
    surfaces = surfaces_of(flat)
    surfaces = dataclasses.replace(surfaces, curves=(*surfaces.curves, columns, narrow))
    loss = summary("loss", higher=False)
    files = write_figures(empty(surfaces=surfaces, maps=full.maps, summary=loss), tmp_path)
    assert len(files) == 8


def test_a_section_without_numbers_has_no_picture(tmp_path):
    assert write_figures(empty(), tmp_path) == []


def test_wrong_places_and_kinds(full, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(TunesmithError, match="this is a file; name a folder"):
        write_figures(full, file)
    with pytest.raises(TunesmithError, match="name a folder"):
        write_figures(full, file / "below")
    with pytest.raises(UsageError, match="'gif' is no kind"):
        write_figures(full, tmp_path / "never", ("gif",))
    assert file.read_text() == "mine"
    assert os.listdir(tmp_path) == ["file"]


def test_without_matplotlib(full, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="plot"):
        write_figures(full, tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_rounds_without_pairs_have_no_picture():
    lacking = {"length": None, "score": None}
    view = empty(pairs=(PairRound("0", None, 0, lacking, lacking),))
    assert list(pictures_of(view)) == []
