"""Maps as files: the ending of the name chooses between pictures and JSON."""

from __future__ import annotations

import os

from tunesmith.report.map import html as map_html
from tunesmith.report.map import static as map_static
from tunesmith.report.map.map import MetricMap
from tunesmith.report.surface.files import write_drawing


def write_map(found: MetricMap, path: str | os.PathLike[str]) -> None:
    """Write a map to a file, whole or not at all.

    Parameters
    ----------
    found
        What :func:`tunesmith.metric_map` returned.
    path
        A name ending in .html (interactive), .png, .svg, .pdf or .json.
    """
    write_drawing(found, path, map_html.page, map_static.draw)
