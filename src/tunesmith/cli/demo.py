"""``tunesmith demo``: the main job on the lists that come with the package."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.errors import MissingExtraError, TunesmithError

if TYPE_CHECKING:
    from tunesmith.tasks.lists import TuningSet
    from tunesmith.tuners.base import TuneResult

FEATURE = "LM0"


def run(
    *,
    session: Session,
    out: Annotated[str, typer.Option(help="Folder for the result and the picture.")] = (
        "tunesmith-demo"
    ),
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 1,
) -> None:
    """Tune on the lists that come with tunesmith, and draw an error surface."""
    from rich.console import Console

    from tunesmith.io.read import read
    from tunesmith.io.streams import check_writable, write_atomically
    from tunesmith.io.weights.files import read_weights
    from tunesmith.randomness import checked_seed
    from tunesmith.tasks.lists import TuningSet
    from tunesmith.tuners.fitting.tables import demo_tables
    from tunesmith.tuners.mert.mert import MERT

    checked_seed(seed)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TunesmithError(f"{folder}: {error.strerror}; name a folder with --out") from None
    written, picture = folder / "weights.json", folder / "surface.png"
    check_writable(written)
    check_writable(picture)
    with resources.as_file(resources.files("tunesmith") / "bundled") as data:
        sets = {
            name: TuningSet(read(data / f"{name}.nbest.gz", data / f"{name}.ref"))
            for name in ("tune", "test")
        }
        start = read_weights(data / "weights.initial").weights
    session.say(f"tuning {sets['tune'].candidates!r} with MERT, 20 restarts ...")
    result = MERT().fit(sets["tune"], start, sets["test"], seed)
    Console().print(demo_tables(result, sets["test"].oracle()), crop=False)
    typer.echo(
        "200 sentences are few: what is gained on them need not arrive on others. "
        "Tune on 1000 or more."
    )
    write_atomically(written, json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n")
    typer.echo(f"result:  {written}")
    try:
        typer.echo(f"picture: {_draw(sets['tune'], result, picture)}")
    except MissingExtraError as error:
        typer.echo(f"no picture: {error}")


def _draw(tuning: TuningSet, result: TuneResult, path: Path) -> Path:
    from tunesmith.report.surface.files import write_surface
    from tunesmith.report.surface.surface import error_surface

    write_surface(error_surface(tuning, result.weights, features=[FEATURE]), path)
    return path
