"""The README is short, and readable on a package index."""

from __future__ import annotations

import re
import runpy
from html.parser import HTMLParser

import pytest

from tests.helpers.docs.blocks import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
LONGEST = 900


class Rendered(HTMLParser):
    """The tags and link targets of a rendered page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.targets: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.targets += [value for name, value in attrs if name in {"href", "src"} and value]


def rendered(source: str | None) -> Rendered:
    markdown = pytest.importorskip("readme_renderer.markdown", reason="readme-renderer is missing")
    pytest.importorskip("hatchling", reason="hatchling is missing")
    for_an_index = runpy.run_path(str(ROOT / "hatch_build.py"))["for_an_index"]
    page = markdown.render(for_an_index(TEXT, source))
    assert page
    return Rendered(page)


def test_it_is_short() -> None:
    assert len(TEXT.split()) <= LONGEST


def test_links_are_absolute_on_an_index() -> None:
    page = rendered("https://example.org/tunesmith/")
    assert page.tags.count("table") == 2
    assert {"img", "pre"} <= set(page.tags)
    assert all(link.startswith(("https://", "#")) for link in page.targets)
    assert "https://example.org/tunesmith/raw/main/docs/images/surface.png" in page.targets
    assert "https://example.org/tunesmith/blob/main/docs/quickstart.md" in page.targets
    relative = re.findall(r"\]\((?!http)[^)]+\)", TEXT)
    assert len(relative) == sum("example.org" in link for link in page.targets)


def test_without_a_home_there_is_no_link_that_leads_nowhere() -> None:
    page = rendered(None)
    assert page.tags.count("table") == 2
    assert "img" not in page.tags
    assert all(link.startswith(("https://", "#")) for link in page.targets)
