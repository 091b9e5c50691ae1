"""What static pictures, by matplotlib, and interactive pages, by plotly, have in common."""

from __future__ import annotations

import contextlib
import html
import io
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from tunesmith._version import __version__
from tunesmith.errors import MissingExtraError
from tunesmith.report.standalone import asset, content_policy, embedded, filled, packed_plotly

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DPI = 130
#: The colour of lines and outlines; pages show it as that of their text.
INK = "#222222"
#: Names are shown as they are, and the same picture is the same bytes.
STYLE: dict[Any, Any] = {"text.parse_math": False, "svg.hashsalt": "tunesmith", "font.size": 10.0}
METADATA: dict[str, dict[str, Any]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


def require_matplotlib() -> None:
    """Raise an error if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("drawing", "plot") from None


def require_plotly() -> None:
    """Raise an error if plotly is missing."""
    try:
        import plotly.graph_objects  # noqa: F401
    except ImportError:
        raise MissingExtraError("an interactive picture", "plot") from None


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Draw with matplotlib within the block, in the common style.

    Figures are made without pyplot, which would change the backend of a notebook.
    """
    import matplotlib as mpl

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # names in other scripts
        yield


def png_of(draw: Callable[[Any, BinaryIO, str], None], shown: object) -> bytes | None:
    """Return a picture for a notebook; None where matplotlib is missing."""
    file = io.BytesIO()
    try:
        draw(shown, file, "png")
    except MissingExtraError:
        return None
    return file.getvalue()


def interactive_page(
    figure: Figure, name: str, title: str, summary: Sequence[str], caption: str
) -> str:
    """Return a page with a figure of plotly; it is one file and needs no network.

    Parameters
    ----------
    name
        The id of the figure's element.
    title, summary
        Plain text: a line, and lines.
    caption
        HTML below the figure.
    """
    shown = json.loads(figure.to_json())
    layout = {key: value for key, value in shown["layout"].items() if key != "template"}
    script = _script()
    parts = {
        "policy": html.escape(content_policy(script)),
        "title": html.escape(title),
        "style": asset("common.css") + asset("figure.css"),
        "summary": html.escape("\n".join(summary)),
        "name": name,
        "height": f"{layout.get('height', 450):g}",
        "caption": caption,
        "version": __version__,
        "figure": embedded({"data": shown["data"], "layout": layout, "ink": INK}),
        "plotly": packed_plotly(),
        "script": script,
    }
    return filled(asset("figure.html"), parts)


@cache
def _script() -> str:
    return f'\n"use strict";\n(() => {{\n{asset("unpack.js")}\n{asset("figure.js")}}})();\n'
