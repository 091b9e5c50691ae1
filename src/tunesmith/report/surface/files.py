"""Surfaces as files: the ending of the name chooses between pictures and JSON."""

from __future__ import annotations

import json
import os

from tunesmith.errors import UsageError
from tunesmith.io.streams import writing
from tunesmith.report.surface import html as surface_html
from tunesmith.report.surface import static as surface_static
from tunesmith.report.surface.surface import ErrorSurface

PICTURES = ("png", "svg", "pdf")
ENDINGS = ("html", *PICTURES, "json")


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of file that a name asks for; an error if it cannot be made."""
    kind = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
    if kind not in ENDINGS:
        known = ", ".join(f".{ending}" for ending in ENDINGS)
        raise UsageError(f"{os.fspath(path)}: the ending is none of {known}; name one of these")
    if kind == "html":
        surface_html.require()
    elif kind in PICTURES:
        surface_static.require()
    return kind


def write_surface(surface: ErrorSurface, path: str | os.PathLike[str]) -> None:
    """Write a surface to a file, whole or not at all.

    Parameters
    ----------
    surface
        What :func:`tunesmith.report.surface.surface.error_surface` found.
    path
        A name ending in .html (interactive), .png, .svg, .pdf or .json.
    """
    kind = kind_of(path)
    with writing(path) as file:
        if kind == "json":
            file.write(to_json(surface).encode())
        elif kind == "html":
            file.write(surface_html.page(surface).encode())
        else:
            surface_static.draw(surface, file, kind)


def to_json(surface: ErrorSurface) -> str:
    """Return the JSON object as text, long lists on one line."""
    return json.dumps(surface.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
