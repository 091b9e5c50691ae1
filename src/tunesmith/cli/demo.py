"""``tunesmith demo``: the main job on lists of a neural translator that come with the package."""

from __future__ import annotations

import gzip
import json
import shlex
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.errors import MissingExtraError, TunesmithError

if TYPE_CHECKING:
    from rich.table import Table

    from tunesmith.tasks.lists import TuningSet
    from tunesmith.tuners.base import TuneResult

#: The score of the model that made the lists.
MODEL = "forward"
#: Along whose weight the picture goes.
FEATURE = "backward"
SETS = ("tune", "dev", "test")


def run(
    *,
    session: Session,
    out: Annotated[
        str, typer.Option(help="Folder for lists, weights and picture.", metavar="FOLDER")
    ] = "tunesmith-demo",
    seed: Annotated[int, typer.Option(help="Seed of all randomness.", metavar="INTEGER")] = 1,
) -> None:
    """Tune the six scores of a neural translator's lists and rerank them."""
    from rich.console import Console

    from tunesmith.io.read import read
    from tunesmith.io.streams import check_writable, write_atomically
    from tunesmith.randomness import checked_seed
    from tunesmith.tasks.lists import TuningSet
    from tunesmith.tuners.auto import Auto
    from tunesmith.tuners.fitting.tables import weight_table

    checked_seed(seed)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TunesmithError(f"{folder}: {error.strerror}; name a folder with --out") from None
    written, picture = folder / "weights.json", folder / "surface.png"
    for path in (written, picture):
        check_writable(path)
    lists = _copied(folder)
    sets = {name: TuningSet(read(*lists[name])) for name in SETS}
    size = len(sets["tune"].candidates)
    session.say(f"tuning on {sets['tune'].groups} sentences, {size:,} translations ...")
    result = Auto().fit(sets["tune"], None, sets["dev"], seed, test=sets["test"], baseline=MODEL)
    result = replace(result, inputs=_inputs(lists))
    session.say(f"{result.seconds:.1f} s")
    console = Console()
    console.print(weight_table(result), crop=False)
    console.print(_scores(sets["tune"], sets["test"], result), crop=False)
    typer.echo(result.verdict.text(result.metric))
    write_atomically(written, json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n")
    typer.echo(f"\nweights: {written}")
    try:
        typer.echo(f"picture: {_draw(sets['tune'], result, picture)}")
    except MissingExtraError as error:
        typer.echo(f"picture: none; {error}")
    test = shlex.quote(str(lists["test"][0]))
    typer.echo(
        f"lists:   {test} and the others, one JSON object per translation\n\n"
        "next, choose the best translations by these weights, or look at the whole run:\n"
        f"  tunesmith rerank --candidates {test} --weights {shlex.quote(str(written))}\n"
        f"  tunesmith report {shlex.quote(str(written))} --out report.html"
    )


def _copied(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Copy the lists and their references into a folder, and return where each set is."""
    from tunesmith.io.streams import write_atomically

    bundled = resources.files("tunesmith") / "bundled_neural"
    names = [f"{name}.{kind}" for name in SETS for kind in ("jsonl.gz", "ref")]
    for name in (*names, "NOTICES.txt"):
        content = (bundled / name).read_bytes()
        # What is written to a name in .gz is compressed on the way.
        packed = name.endswith(".gz")
        write_atomically(folder / name, gzip.decompress(content) if packed else content)
    return {name: (folder / f"{name}.jsonl.gz", folder / f"{name}.ref") for name in SETS}


def _inputs(lists: dict[str, tuple[Path, Path]]) -> dict[str, object]:
    """Return what a result says of its files, so that a report finds them."""
    from tunesmith.cli.tune.inputs import files_named

    return {
        "metrics": ["bleu"],
        **{
            name: files_named(None, candidates=[str(paths[0])], references=[str(paths[1])])
            for name, paths in lists.items()
        },
    }


def _scores(tuning: TuningSet, test: TuningSet, result: TuneResult) -> Table:
    """Lay out what reranking by several weights gives on unseen sentences."""
    from rich.table import Table

    from tunesmith.tuners.base import equal_weights
    from tunesmith.tuners.fitting.tables import shown_score

    oracle = test.oracle()
    table = Table(
        title=f"{test.groups} unseen test sentences", title_justify="left", title_style="bold"
    )
    table.add_column("weights")
    table.add_column("BLEU", justify="right")
    rows = {
        f"the model's own choice ({MODEL} alone)": test.score_at(result.start.aligned(test.names)),
        "equal weights": test.score_at(equal_weights(tuning)),
        f"tuned ({result.tuner})": test.score_at(result.weights.aligned(test.names)),
    }
    for name, value in rows.items():
        table.add_row(name, shown_score(value))
    sign = "" if oracle.exact else "≥ "
    table.add_row("the best translation of each list", f"{sign}{shown_score(oracle.score)}")
    return table


def _draw(tuning: TuningSet, result: TuneResult, path: Path) -> Path:
    from tunesmith.report.surface.files import write_surface
    from tunesmith.report.surface.surface import error_surface

    write_surface(error_surface(tuning, result.weights, features=[FEATURE]), path)
    return path
