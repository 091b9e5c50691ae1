from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.report.views import HOSTILE, sample
from tunesmith.data.weights import Weights
from tunesmith.metrics.bleu import BLEU
from tunesmith.report.page import html
from tunesmith.report.page.assemble import summary_of
from tunesmith.report.page.html import live_page, page_of, policy
from tunesmith.report.page.run.record import RunRecord
from tunesmith.report.standalone import embedded

anything = st.text(st.characters(codec=None, exclude_categories=()))


class Elements(HTMLParser):
    """Which elements there are, and what is in scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script" and self.scripts:
            self.scripts[-1] += data


def parsed(page: str) -> Elements:
    found = Elements()
    found.feed(page)
    found.close()
    return found


@given(st.recursive(anything, lambda x: st.lists(x) | st.dictionaries(anything, x)))
def test_any_text_can_be_embedded(value):
    text = embedded(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")
    text.encode()  # UTF-8 has no halves of surrogate pairs


def test_numbers_that_are_none_are_shown_as_such():
    assert json.loads(embedded({"a": [1.5, float("nan")], "b": float("inf")})) == {
        "a": [1.5, None],
        "b": None,
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_changes_what_elements_a_page_has(text):
    plain, hostile = parsed(page_of(sample())), parsed(page_of(sample(text)))
    assert hostile.tags == plain.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in plain.attributes]
    assert json.loads(hostile.scripts[0]) == json.loads(json.dumps(sample(text).to_dict()))
    assert hostile.scripts[1:] == plain.scripts[1:]


def test_a_page_asks_nobody():
    page = page_of(sample())
    found = parsed(page)
    links = [v for name, v in found.attributes if name in {"src", "href", "action"} and v]
    assert all(link.startswith(("#", "data:")) for link in links)
    allowed = dict(part.split(" ", 1) for part in policy(live=False).split("; "))
    assert allowed["default-src"] == "'none'"
    assert allowed["connect-src"] == "'none'"
    assert "unsafe" not in allowed["script-src"]
    assert "connect-src 'self'" in policy(live=True)


def test_a_live_page_asks_its_server():
    data = {"view": sample(running=True).to_dict(), "is_running": True, "words": ""}
    found = parsed(live_page(data, "run/"))
    assert ("data-live", "2") in found.attributes
    told = json.loads(found.scripts[0])
    assert told["is_running"] is True
    assert told["view"]["summary"]["title"] == "run/"


def test_the_script_never_parses_data_as_html():
    script = html._script()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in script
    assert set(re.findall(r"https?://[^\"]*", script)) == {"http://www.w3.org/2000/svg"}


def test_pages_have_a_title_that_can_be_read():
    page = page_of(sample("<i>\x00\n\ud800"))
    (title,) = re.findall(r"<title>(.*?)</title>", page, re.DOTALL)
    assert title.startswith("run/&lt;i&gt;")
    assert title.replace("\ufffd", "?").isprintable()


def test_a_page_is_small_and_needs_no_other_package(monkeypatch):
    for name in ("plotly", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    assert len(page_of(sample()).encode()) < 200_000


def test_a_page_tells_when_it_was_made_and_how_to_make_it_again():
    result = {
        "tuner": "mert",
        "metric": "bleu",
        "signature": "mert|seed:1|bleu|version:tunesmith-0.1.0|nrefs:1",
        "inputs": {"date": "2026-11-19T12:30:00+00:00", "command": ["tune", "-c", "my list"]},
    }
    none = Weights((), np.zeros(0))
    record = RunRecord("w.json", False, result, BLEU(), none, none, {})
    summary = summary_of(record)
    assert summary.date == "2026-11-19T12:30:00+00:00"
    assert summary.version == "0.1.0"
    assert summary.command == "tunesmith tune -c 'my list'"
