"""The site is built without a warning; every link within it and in the README leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import tunesmith
from tests.helpers.docs.blocks import ROOT
from tests.helpers.docs.site import site_pages

#: Pages that are read where the source is, not on the site.
SOURCES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


class Links(HTMLParser):
    """The links, pictures and anchors of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"href", "src"} and value:
                self.links.append(value)
            elif name == "id" and value:
                self.anchors.add(value)


@pytest.fixture(scope="module")
def site() -> dict[Path, Links]:
    """The pages of the site."""
    return {page: Links(page) for page in site_pages()}


def is_elsewhere(link: str) -> bool:
    """Tell whether a link leads out of the project; such a one must be well-formed."""
    parts = urlsplit(link)
    if not parts.scheme:
        return False
    if parts.scheme in {"data", "mailto"}:
        return True
    assert parts.scheme in {"http", "https"}, link
    assert "." in parts.netloc, link
    return True


def wrong_links(site: dict[Path, Links]) -> list[str]:
    """Return the links within a site that lead to no file, or to no anchor of it."""
    wrong = []
    for page, held in site.items():
        for link in held.links:
            if is_elsewhere(link):
                continue
            parts = urlsplit(link)
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchors = {"", *site[target].anchors} if target in site else {parts.fragment}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                wrong.append(f"{page.name}: {link}")
    return wrong


@pytest.mark.long
def test_links_of_the_site_lead_somewhere(site: dict[Path, Links]) -> None:
    assert wrong_links(site) == []
    assert len(site) > 25


@pytest.mark.long
def test_every_public_name_has_a_page_with_types(site: dict[Path, Links]) -> None:
    texts = {page.stem: page.read_text(encoding="utf-8") for page in site}
    names = [name for name in tunesmith.__all__ if name != "__version__"]
    assert [name for name in names if f"tunesmith.{name}" not in texts] == []
    page = re.sub(r"<[^>]+>", "", texts["tunesmith.MERT"])
    assert "restarts: int | None = None" in " ".join(page.split())
    assert "**options" not in page
    assert "_core_prior" not in page


def test_wrong_links_of_a_site_are_found(tmp_path: Path) -> None:
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    first.write_text(
        '<a href="b.html#there"> <a href="b.html#not"> <a href="c.html"> <a href="#x">'
    )
    second.write_text('<p id="there"> <img src="p.png"> <a href="https://example.org/#y">')
    site = {page: Links(page) for page in (first, second)}
    wanted = ["a.html: b.html#not", "a.html: c.html", "a.html: #x", "b.html: p.png"]
    assert wrong_links(site) == wanted


def anchors_of(text: str) -> set[str]:
    """Return the anchors of a page's headings, as they are made where the source is shown."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    found = set()
    for heading in re.findall(r"^#+ (.*)$", plain, flags=re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.lower().strip())
        found.add(words.replace(" ", "-"))
    return found


def links_of(text: str) -> Iterator[str]:
    """Yield the targets of links and pictures of a page, but not those of code."""
    plain = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"\]\(<?([^)>\s]+)>?\)", plain)
    yield from re.findall(r"<(https?://[^>\s]+)>", plain)


@pytest.mark.parametrize("name", SOURCES)
def test_links_of_the_source_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    count = 0
    for link in links_of(text):
        count += 1
        if is_elsewhere(link):
            continue
        path, _, anchor = link.partition("#")
        target = ROOT / unquote(path) if path else ROOT / name
        assert target.exists(), f"{name}: {link}"
        if anchor:
            assert anchor in anchors_of(target.read_text(encoding="utf-8")), f"{name}: {link}"
    assert count > 1 or name == "SECURITY.md"


def test_links_are_found_wrong_that_are() -> None:
    text = (
        "# A page\n[a](b.md#c) `[no](link)` ![p](d.png)\n```text\n[no](link)\n```\n## Two words!\n"
    )
    assert list(links_of(text)) == ["b.md#c", "d.png"]
    assert anchors_of(text) == {"a-page", "two-words"}
    with pytest.raises(AssertionError):
        is_elsewhere("htp://example.org")
    with pytest.raises(AssertionError):
        is_elsewhere("https://nowhere")
