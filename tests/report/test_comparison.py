"""The page of a comparison: what it says, and that no text in it becomes anything else."""

from __future__ import annotations

import json
import re

import pytest

from tests.helpers.report.browser import browser, text_of, violations, why_not
from tests.helpers.report.views import HOSTILE
from tunesmith.report.comparison import comparison_page, verdict
from tunesmith.significance.comparing import compare
from tunesmith.significance.comparison import MetricComparison, PairedTest

REFERENCES = ["a b c d e", "f g h i j", "k l m n o"]
OUTPUTS = {"old": ["a b c x e", "f g h i", "k l x n o"], "new": ["a b c d e", "f g h i j", "k l m"]}
FEW = {"resamples": 100, "randomizations": 100}

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def view_in(page):
    (text,) = re.findall(r'id="view">([^<]+)<', page)
    return json.loads(text)


def verdict_of(difference, interval, *, higher=True):
    better = None if difference == 0 else "ab"[(difference > 0) == higher]
    p = dict.fromkeys(
        ("p_bootstrap", "p_randomization", "p_bootstrap_holm", "p_randomization_holm"), 0.5
    )
    test = PairedTest(
        *("a", "b", difference, better, interval),
        **p,
        p_randomization_with_ties=0.5,
        variance_selection=1.0,
        variance_optimizer=None,
    )
    return verdict(MetricComparison("bleu" if higher else "ter", "", higher, (), (test,)), test)


def test_a_verdict_needs_an_interval_on_one_side_of_zero():
    assert verdict_of(1.0, (0.5, 1.5)).startswith("b is better than a: +1.0")
    assert verdict_of(-1.0, (-1.5, -0.5)).startswith("b is worse than a: −1.0")
    assert verdict_of(-1.0, (-1.5, -0.5), higher=False).startswith("b is better than a: −1.0")
    assert "do not differ by more than chance" in verdict_of(1.0, (-0.5, 1.5))
    assert "do not differ by more than chance" in verdict_of(1.0, (0.0, 1.5))
    assert verdict_of(0.0, (0.0, 0.0)) == "a and b have the same BLEU."


def test_a_page_has_what_the_comparison_says():
    found = compare(OUTPUTS, ["bleu", "ter"], [REFERENCES], rank=True, **FEW)
    view = view_in(comparison_page(found, 2))
    plain = json.loads(json.dumps(found.to_dict()))
    for shown, wanted in zip(view["metrics"], plain["metrics"], strict=True):
        assert {key: shown[key] for key in wanted} == wanted
    sentences = view["rankings"][0]["sentences"]
    assert [s["sentence"] for s in sentences] == [
        s["sentence"] for s in plain["differences"][0]["sentences"][:2]
    ]
    assert " ".join(text for text, _ in sentences[0]["text_a"]) in OUTPUTS["old"]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_a_part_of_the_page(text):
    line = " ".join(text.encode("utf-8", "replace").decode().split()).replace("\0", "?") or "x"
    name = "".join(c if c.isprintable() else "?" for c in line)
    outputs = {"old": [line, "b"], f"new {name}": ["a", line]}
    found = compare(outputs, ["ter"], [["a", "b"]], rank=True, **FEW)
    page = comparison_page(found, 2)
    assert page.count("<script") == 2
    assert view_in(page)["metrics"][0]["systems"][1]["name"] == found.metrics[0].systems[1].name


@pytest.mark.long
@pytest.mark.skipif(why_not() is not None, reason=f"no browser: {why_not()}")
def test_a_page_in_a_browser(tmp_path):
    path = tmp_path / "c.html"
    found = compare(OUTPUTS, ["bleu", "ter"], [REFERENCES], rank=True, **FEW)
    path.write_text(comparison_page(found, 2), encoding="utf-8")
    with browser() as window:
        for width in (1280, 400):
            for is_dark in (False, True):
                window.dark(is_dark)
                window.size(width, 900)
                window.open(path)
                assert text_of(window, "h1") == "Comparison of old and new"
                assert window.run("return document.documentElement.scrollWidth") <= width
                assert violations(window) == []
        # The line on a bar is the interval, and the bar begins at 0.
        (low, high), (left, right), zero = window.run(
            "const box = (s) => document.querySelector(`#metric-0 ${s}`).getBoundingClientRect();"
            "const ends = (s) => { const b = box(s); return [b.left, b.right] };"
            "return [ends('.range'), ends('.bar'), box('.zero').left]"
        )
        test = found.metrics[0].tests[0]
        unit = (high - low) / (test.interval[1] - test.interval[0])
        assert low - zero == pytest.approx(unit * test.interval[0], abs=2)
        end = left if test.difference < 0 else right
        assert end - zero == pytest.approx(unit * test.difference, abs=2)
        assert window.complaints() == []
