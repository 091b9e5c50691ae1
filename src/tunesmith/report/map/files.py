"""Maps as files: the ending of the name chooses between pictures and JSON."""

from __future__ import annotations

import json
import os

from tunesmith.io.streams import writing
from tunesmith.report.map import html as map_html
from tunesmith.report.map import static as map_static
from tunesmith.report.map.map import MetricMap
from tunesmith.report.surface.files import kind_of


def write_map(found: MetricMap, path: str | os.PathLike[str]) -> None:
    """Write a map to a file, whole or not at all.

    Parameters
    ----------
    found
        What :func:`tunesmith.report.map.map.metric_map` found.
    path
        A name ending in .html (interactive), .png, .svg, .pdf or .json.
    """
    kind = kind_of(path)
    with writing(path) as file:
        if kind == "json":
            text = json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False)
            file.write(f"{text}\n".encode())
        elif kind == "html":
            file.write(map_html.page(found).encode())
        else:
            map_static.draw(found, file, kind)
