"""What static pictures, by matplotlib, and interactive pages, by plotly, have in common."""

from __future__ import annotations

import contextlib
import html
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.errors import MissingExtraError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DPI = 130
#: Names are shown as they are, and the same picture is the same bytes.
STYLE: dict[Any, Any] = {"text.parse_math": False, "svg.hashsalt": "tunesmith", "font.size": 10.0}
METADATA: dict[str, dict[str, Any]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 1em auto; max-width: 1500px; padding: 0 1em; }}
h1 {{ font-size: 1.2em; }}
pre {{ white-space: pre-wrap; }}
</style>
</head>
<body>
<h1>{title}</h1>
<pre>{summary}</pre>
{figure}
<p>{caption}</p>
</body>
</html>
"""


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
    drawn = figure.to_html(
        full_html=False,
        include_plotlyjs=True,
        div_id=name,
        config={"displaylogo": False, "responsive": True},
    )
    return PAGE.format(
        title=html.escape(title),
        summary=html.escape("\n".join(summary)),
        figure=drawn,
        caption=caption,
    )
