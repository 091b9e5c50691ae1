"""What static pictures, by matplotlib, and interactive pages have in common."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, BinaryIO

from tunesmith._version import __version__
from tunesmith.errors import MissingExtraError
from tunesmith.report.standalone import asset, page, script_of

DPI = 130
#: The colour of lines and outlines.
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
    chart: dict[str, Any], title: str, summary: Sequence[str], caption: str
) -> str:
    """Return a page with one chart, as ``assets/charts.js`` takes it, and words around it."""
    view = {"title": title, "summary": list(summary), "chart": chart, "caption": caption}
    return page(title, _script(), {**view, "version": __version__})


@cache
def _script() -> str:
    return script_of(asset("figure.js"))
