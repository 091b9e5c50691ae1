"""Pages that are one file: scripts, styles and data inside; nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from functools import cache
from importlib import resources
from typing import Any

#: The scripts of every page, in their order: elements, charts, and what stands around them.
SHARED = ("dom.js", "charts.js", "marks.js", "pointer.js", "frame.js")
#: What could end the element that holds JSON, or a line of script, as escapes that JSON has.
ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def embedded(value: Any) -> str:
    """Return JSON that can stand in a page whatever its texts are.

    Halves of surrogate pairs, which UTF-8 cannot have, are escapes too.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:  # not a number: the page shows that there is none
        return embedded(_finite(value))
    return text.translate(ESCAPES).encode("utf-8", "backslashreplace").decode()


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def page(title: str, script: str, data: Any, interval: float = 0.0) -> str:
    """Return a page that a script draws from data.

    Parameters
    ----------
    title
        Plain text.
    script
        What :func:`script_of` returns.
    data
        What the script finds as JSON in the element ``view``.
    interval
        Seconds between two questions to the page's server; 0 for a page that is a file.
    """
    name = title.encode("utf-8", "replace").decode()
    parts = {
        "live": f"{interval:g}",
        "policy": html.escape(content_policy(script, live=interval > 0.0)),
        "title": html.escape("".join(c if c.isprintable() else "\ufffd" for c in name)),
        "style": asset("page.css"),
        "view": embedded(data),
        "script": script,
    }
    return filled(asset("page.html"), parts)


def content_policy(script: str, live: bool = False) -> str:
    """Return what a page may do: run this script and no other; live, ask its server."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    connect = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        f"img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def script_of(*parts: str) -> str:
    """Return the script of a page: what all pages share, and parts of its own."""
    together = "\n".join([*map(asset, SHARED), *parts])
    return f'\n"use strict";\n(() => {{\n{together}}})();\n'


def filled(template: str, parts: dict[str, str]) -> str:
    """Return a template with ``{name}`` replaced; braces in the parts have no meaning."""
    pieces = template.split("{")
    page = [pieces[0]]
    for piece in pieces[1:]:
        part, _, rest = piece.partition("}")
        page += [parts[part], rest]
    return "".join(page)


@cache
def asset(name: str) -> str:
    """Return a file of the folder ``assets``."""
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")
