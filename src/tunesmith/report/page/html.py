"""The page of a view: one file without external resources."""

from __future__ import annotations

import html
from functools import cache
from importlib import resources
from typing import Any

from tunesmith.report import standalone
from tunesmith.report.page.view import View
from tunesmith.report.standalone import asset, content_policy, embedded, filled

#: The parts of the page's script, in their order; together they are one.
SCRIPTS = ("dom.js", "plots.js", "sections.js", "weights.js", "sentences.js", "page.js")


def page_of(view: View) -> str:
    """Return the page of a view."""
    return _page(view.to_dict(), view.summary.title, 0.0)


def live_page(data: dict[str, Any], title: str, interval: float = 2.0) -> str:
    """Return a page that asks its server every few seconds for what ``data`` has become."""
    return _page(data, title, interval)


def require() -> None:
    """Raise an error if a page cannot be made here."""
    standalone.plotly_script()


def policy(live: bool) -> str:
    """Return what the page may do: run its own scripts, and no more; live, ask its server."""
    return content_policy(_script(), connect="'self'" if live else "'none'")


def _page(data: dict[str, Any], title: str, interval: float) -> str:
    name = title.encode("utf-8", "replace").decode()
    parts = {
        "live": f"{interval:g}",
        "policy": html.escape(policy(interval > 0.0)),
        "title": html.escape("".join(c if c.isprintable() else "\ufffd" for c in name)),
        "style": asset("common.css") + _asset("page.css"),
        "view": embedded(data),
        "script": _script(),
        "plotly": standalone.packed_plotly(),
    }
    return filled(_asset("page.html"), parts)


@cache
def _script() -> str:
    parts = "\n".join([asset("unpack.js"), *(_asset(name) for name in SCRIPTS)])
    return f'\n"use strict";\n(() => {{\n{parts}}})();\n'


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")
