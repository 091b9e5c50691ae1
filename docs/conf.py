"""Sphinx configuration; the build needs no network."""

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
