"""Surfaces as files: the ending of the name chooses between pictures and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import BinaryIO, TypeVar

from tunesmith.errors import UsageError
from tunesmith.io.streams import writing
from tunesmith.report.drawing import require_matplotlib
from tunesmith.report.map.map import MetricMap
from tunesmith.report.surface import html as surface_html
from tunesmith.report.surface import static as surface_static
from tunesmith.report.surface.surface import ErrorSurface

T = TypeVar("T", ErrorSurface, MetricMap)

PICTURES = ("png", "svg", "pdf")
ENDINGS = ("html", *PICTURES, "json")


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of file that a name asks for; an error if it cannot be made."""
    kind = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
    if kind not in ENDINGS:
        known = ", ".join(f".{ending}" for ending in ENDINGS)
        raise UsageError(f"{os.fspath(path)}: the ending is none of {known}; name one of these")
    if kind in PICTURES:
        require_matplotlib()
    return kind


def write_surface(surface: ErrorSurface, path: str | os.PathLike[str]) -> None:
    """Write a surface to a file, whole or not at all.

    Parameters
    ----------
    surface
        What :func:`tunesmith.error_surface` returned.
    path
        A name ending in .html (interactive), .png, .svg, .pdf or .json.
    """
    write_drawing(surface, path, surface_html.page, surface_static.draw)


def write_drawing(
    shown: T,
    path: str | os.PathLike[str],
    page: Callable[[T], str],
    draw: Callable[[T, BinaryIO, str], None],
) -> None:
    """Write a page, a picture or JSON, as the ending of the name says."""
    kind = kind_of(path)
    with writing(path) as file:
        if kind == "json":
            file.write(to_json(shown).encode())
        elif kind == "html":
            file.write(page(shown).encode())
        else:
            draw(shown, file, kind)


def to_json(shown: ErrorSurface | MetricMap) -> str:
    """Return the JSON object as text, on one line."""
    return json.dumps(shown.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
