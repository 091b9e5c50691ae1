"""The pictures of a page as files, by matplotlib."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.io.streams import writing
from tunesmith.progress import progress
from tunesmith.report.drawing import DPI, METADATA, drawing, require_matplotlib
from tunesmith.report.page.figures import changes as figures_changes
from tunesmith.report.page.figures import rounds as figures_rounds
from tunesmith.report.page.figures import surfaces as figures_surfaces
from tunesmith.report.page.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Characters of a feature's name in the name of a file.
LONGEST = 40


@dataclass(frozen=True)
class Picture:
    """A picture that can be drawn.

    Attributes
    ----------
    name
        Of its files, without ending.
    size
        Inches.
    draw
        Draws it.
    """

    name: str
    size: tuple[float, float]
    draw: Callable[[Figure], None]


def write_figures(
    view: View, folder: str | os.PathLike[str], kinds: Sequence[str] = ("png", "svg")
) -> list[Path]:
    """Write every picture of a page to a folder, which is made; return the files.

    Parameters
    ----------
    view
        What the page shows.
    folder
        Where they go. Files of the same names are replaced, each whole or not at all.
    kinds
        Of files: ``png``, ``svg`` or ``pdf``.
    """
    for kind in kinds:
        if kind not in METADATA:
            known = ", ".join(METADATA)
            raise UsageError(f"'{kind}' is no kind of picture; choose among {known}")
    require_matplotlib()
    place = _make_folder(folder)
    pictures = list(pictures_of(view))
    files = []
    for k, picture in enumerate(pictures):
        files += _save(picture, place, kinds)
        progress("figures", k + 1, len(pictures))
    return files


def pictures_of(view: View) -> Iterator[Picture]:
    """Return the pictures that there are: a section without numbers has none."""
    metric = view.summary.called or view.summary.metric
    higher = view.summary.higher_is_better
    rounds = view.rounds
    if rounds is not None and rounds.series:
        draw = partial(figures_rounds.scores, rounds=rounds, metric=metric, higher=higher)
        yield Picture("scores", figures_rounds.SIZE, draw)
    if view.replicates is not None and view.replicates.series:
        draw = partial(figures_rounds.scores, rounds=view.replicates, metric=metric, higher=higher)
        yield Picture("replicates", figures_rounds.SIZE, draw)
    if rounds is not None and rounds.length_ratios:
        yield Picture(
            "lengths", figures_rounds.SIZE, partial(figures_rounds.lengths, rounds=rounds)
        )
    if view.weights.rows:
        size = figures_rounds.weights_size(view.weights)
        yield Picture("weights", size, partial(figures_rounds.weights, table=view.weights))
    if len(view.weights.rounds) > 1 and view.weights.rows:
        draw = partial(figures_rounds.weights_by_round, table=view.weights)
        yield Picture("weights-rounds", figures_rounds.SIZE, draw)
    for n, curve in enumerate(view.surfaces.curves if view.surfaces is not None else ()):
        draw = partial(figures_surfaces.curve, curve=curve, metric=metric, higher=higher)
        name = f"surface-{n + 1:02d}-{safe(curve.feature)}"
        yield Picture(name, figures_surfaces.CURVE_SIZE, draw)
    for n, drawn_map in enumerate(view.maps.maps if view.maps is not None else ()):
        draw = partial(figures_surfaces.pixels, drawn_map=drawn_map, metric=metric, higher=higher)
        name = f"map-{n + 1:02d}-{safe(drawn_map.x)}-{safe(drawn_map.y)}"
        yield Picture(name, figures_surfaces.MAP_SIZE, draw)
    if figures_changes.noted_columns(view.pairs):
        yield Picture(
            "pairs", figures_changes.PAIRS_SIZE, partial(figures_changes.pairs, rounds=view.pairs)
        )
    if view.sentences:
        draw = partial(figures_changes.sentences, sets=view.sentences, metric=metric)
        yield Picture("sentences", figures_changes.sentences_size(view.sentences), draw)


def safe(name: str) -> str:
    """Return what of a feature's name any file system takes."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:LONGEST]


def _make_folder(folder: str | os.PathLike[str]) -> Path:
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise TunesmithError(f"{place}: this is a file; name a folder for the figures") from None
    except (OSError, ValueError) as error:
        problem = (getattr(error, "strerror", None) or "it cannot be made").lower()
        raise TunesmithError(
            f"{place}: {problem}; name a folder for the figures that can be made"
        ) from None
    return place


def _save(picture: Picture, place: Path, kinds: Sequence[str]) -> list[Path]:
    """Draw a picture once, and write it in each kind."""
    from matplotlib.figure import Figure

    files = []
    with drawing():
        figure = Figure(figsize=picture.size, dpi=DPI, layout="constrained")
        picture.draw(figure)
        layout = figure.get_layout_engine()
        if layout is not None:
            # Once for all kinds; savefig would do it for each, and draw twice.
            layout.execute(figure)
            figure.set_layout_engine("none")
        for kind in kinds:
            path = place / f"{picture.name}.{kind}"
            with writing(path) as file:
                _print(figure, file, kind)
            files.append(path)
    return files


def _print(figure: Figure, file: BinaryIO, kind: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    canvases: dict[str, Any] = {
        "png": FigureCanvasAgg,
        "svg": FigureCanvasSVG,
        "pdf": FigureCanvasPdf,
    }
    getattr(canvases[kind](figure), f"print_{kind}")(file, metadata=METADATA[kind])
