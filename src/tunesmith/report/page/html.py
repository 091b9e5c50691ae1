"""The page of a view: one file without external resources."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from tunesmith.report.page.view import View
from tunesmith.report.standalone import content_policy, page, script_of

#: The parts of the page's script, in their order, after those of every page.
SCRIPTS = ("plots.js", "sections.js", "weights.js", "sentences.js", "page.js")


def page_of(view: View) -> str:
    """Return the page of a view."""
    return page(view.summary.title, _script(), view.to_dict())


def live_page(data: dict[str, Any], title: str, interval: float = 2.0) -> str:
    """Return a page that asks its server every few seconds for what ``data`` has become."""
    return page(title, _script(), data, interval)


def policy(live: bool) -> str:
    """Return what the page may do: run its own scripts, and no more; live, ask its server."""
    return content_policy(_script(), live)


@cache
def _script() -> str:
    return script_of(*(_asset(name) for name in SCRIPTS))


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")
