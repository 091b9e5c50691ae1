"""The page of a view: one file without external resources."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from functools import cache
from importlib import resources
from typing import Any

from tunesmith.errors import MissingExtraError
from tunesmith.report.page.view import View

#: The parts of the page's script, in their order; together they are one.
SCRIPTS = ("dom.js", "plots.js", "sections.js", "weights.js", "sentences.js", "page.js")
#: What could end the element that holds JSON, or a line of script, as escapes that JSON has.
ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def page_of(view: View) -> str:
    """Return the page of a view."""
    return _page(view.to_dict(), view.summary.title, 0.0)


def live_page(data: dict[str, Any], title: str, interval: float = 2.0) -> str:
    """Return a page that asks its server every few seconds for what ``data`` has become."""
    return _page(data, title, interval)


def require() -> None:
    """Raise an error if a page cannot be made here."""
    _plotly()


def policy(live: bool) -> str:
    """Return what the page may do: run its own scripts, and no more; live, ask its server."""
    scripts = " ".join(f"'sha256-{_digest(text)}'" for text in (_script(), _plotly()))
    asks = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; "
        f"img-src data: blob:; connect-src {asks}; base-uri 'none'; form-action 'none'"
    )


def embedded(value: Any) -> str:
    """Return JSON that can stand in a page whatever its texts are.

    Halves of surrogate pairs, which UTF-8 cannot have, are escapes too.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:  # not a number: the page shows that there is none
        return embedded(_finite(value))
    return text.translate(ESCAPES).encode("utf-8", "backslashreplace").decode()


def _page(data: dict[str, Any], title: str, interval: float) -> str:
    name = title.encode("utf-8", "replace").decode()
    parts = {
        "live": f"{interval:g}",
        "policy": html.escape(policy(interval > 0.0)),
        "title": html.escape("".join(c if c.isprintable() else "\ufffd" for c in name)),
        "style": _asset("page.css"),
        "view": embedded(data),
        "script": _script(),
        "plotly": _plotly(),
    }
    pieces = _asset("page.html").split("{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        part, _, rest = piece.partition("}")
        filled += [parts[part], rest]
    return "".join(filled)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _script() -> str:
    parts = "\n".join(_asset(name) for name in SCRIPTS)
    return f'\n"use strict";\n(() => {{\n{parts}}})();\n'


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtraError("a page", "plot") from None
    script: str = get_plotlyjs()
    # An end of the element within would show the rest of the script as text.
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n")
