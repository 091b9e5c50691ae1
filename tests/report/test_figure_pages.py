"""Interactive pictures in a real browser: drawn, readable, narrow and wide, light and dark."""

from __future__ import annotations

import numpy as np
import pytest

import tunesmith as ts
from tests.helpers.report.browser import browser, violations, why_not
from tunesmith.report.map.html import page as map_page
from tunesmith.report.surface.html import page as surface_page
from tunesmith.report.surface.surface import error_surface

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(why_not() is not None, reason=f"no browser: {why_not()}"),
]


@pytest.fixture(scope="module")
def window():
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def tuning(bundled):
    return ts.TuningSet(ts.read(bundled / "tune.nbest.gz", references=bundled / "tune.ref"))


@pytest.fixture(scope="module")
def pages(tuning, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    names = tuning.candidates.features.names
    weights = ts.Weights(names, np.full(len(names), 0.1))
    surface = error_surface(tuning, weights, features=["LM0", "WordPenalty0"])
    (folder / "surface.html").write_text(surface_page(surface), encoding="utf-8")
    metric_map = ts.metric_map(tuning, weights, ("LM0", "WordPenalty0"))
    (folder / "map.html").write_text(map_page(metric_map), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["surface", "map"])
@pytest.mark.parametrize("is_dark", [False, True])
def test_a_picture_is_drawn_and_can_be_read(window, pages, name, is_dark):
    window.complaints()
    window.dark(is_dark)
    for width in (1280, 400):
        window.size(width, 900)
        window.open(pages / f"{name}.html")
        window.wait("document.querySelector('.chart .mark') !== null")
        assert window.run("return document.documentElement.scrollWidth") <= width
        assert violations(window) == []
        paper = window.run("return getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") is not is_dark
    assert window.complaints() == []


def test_a_zoom_ends_before_numbers_do(window, pages):
    """Between neighbouring numbers there is no tick, and looking for one would never end."""
    window.size(1280, 900)
    window.open(pages / "surface.html")
    window.wait("document.querySelector('.chart .mark') !== null")
    label = window.run(
        "const b = () => document.querySelector('.chart button[aria-label=\"Zoom in\"]');"
        "b().focus(); for (let k = 0; k < 80; k++) b().click();"
        "return document.activeElement.getAttribute('aria-label')"
    )
    assert label == "Zoom in"
    assert window.run("return document.querySelectorAll('.chart .frame').length") > 0


def test_panels_and_words_do_not_overlap_on_a_phone(window, pages):
    window.dark(False)
    window.size(400, 900)
    window.open(pages / "surface.html")
    window.wait("document.querySelectorAll('.chart .frame').length === 4")
    boxes = window.run(
        "return [...document.querySelectorAll('.chart .frame, .chart .title, .chart .x-title')]"
        ".map(e => { const b = e.getBoundingClientRect();"
        "return [b.left, b.right, b.top, b.bottom] })"
    )
    assert len(boxes) == 12
    assert all(left >= 0 and right <= 400 for left, right, _, _ in boxes)
    for k, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[:k]:
            apart = right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
            assert apart, (boxes[k], other)
