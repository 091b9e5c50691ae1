"""Pages that are one file: scripts, styles and data inside, and nothing is loaded from elsewhere.

plotly's script is most of such a page. It is stored compressed, and unpacked by the browser
(``unpack.js``) before the first chart is drawn.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from functools import cache
from importlib import resources
from typing import Any

from tunesmith.errors import MissingExtraError

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


def content_policy(*scripts: str, connect: str = "'none'") -> str:
    """Return a content security policy: these scripts and plotly run, and nothing else is asked."""
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in (*scripts, plotly_script()))
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        f"img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


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


@cache
def plotly_script() -> str:
    """Return plotly's script."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtraError("a page", "plot") from None
    script: str = get_plotlyjs()
    return script


@cache
def packed_plotly() -> str:
    """Return plotly's script, compressed, as base 64."""
    return base64.b64encode(gzip.compress(plotly_script().encode(), 9, mtime=0)).decode()


@cache
def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
