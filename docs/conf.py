"""Sphinx configuration; the build needs no network."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from tunesmith import __version__

project = "tunesmith"
author = "The tunesmith authors"
copyright = author  # noqa: A001
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = f"tunesmith {release}"
html_show_copyright = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False


def options_as_parameters(
    app: Any, what: str, name: str, obj: Any, given: Any, lines: list[str]
) -> None:
    """Add the options of a tuner, metric or decoder to its docstring: their help is there."""
    expand_names(lines)
    for number, line in enumerate(lines):  # a trailing underscore in a type is no link
        name, colon, kind = line.partition(" : ")
        if colon and name.strip(" _").isidentifier():
            lines[number] = name + colon + re.sub(r"_(?!\w)", r"\\_", kind)
    if what != "class" or not dataclasses.is_dataclass(obj):
        return
    options = [field for field in dataclasses.fields(obj) if field.metadata.get("help")]
    if not options or "Parameters" in lines:
        return
    lines += ["", "Parameters", "----------"]
    for option in sorted(options, key=lambda field: bool(field.kw_only)):  # own ones come first
        lines += [option.name, f"    {option.metadata['help']}; {option.default!r} by default."]
    lines += [""]


def expand_names(lines: list[str]) -> None:
    """Give every name of ``one, other`` its own entry: attributes are one a line."""
    for number in reversed(range(len(lines) - 1)):
        names = lines[number].split(", ")
        if len(names) < 2 or not all(map(str.isidentifier, names)):
            continue
        end = number + 1
        while end < len(lines) and lines[end].startswith("    "):
            end += 1
        said = lines[number + 1 : end]
        if said:
            lines[number:end] = [line for name in names for line in (name, *said)]


def short_signature(
    app: Any, what: str, name: str, obj: Any, given: Any, signature: str | None, returned: Any
) -> tuple[str, Any] | None:
    """Leave out of a class's signature what its options say below it."""
    if what == "class" and inspect.isclass(obj) and dataclasses.is_dataclass(obj):
        fields = [field for field in dataclasses.fields(obj) if field.init]
        if len(fields) > 6 and all("help" in field.metadata for field in fields):
            return "(**options)", returned
    return None


def setup(app: Any) -> None:
    """Connect the two; the first before the docstrings are read as NumPy's."""
    app.connect("autodoc-process-docstring", options_as_parameters, priority=400)
    app.connect("autodoc-process-signature", short_signature)
