"""``tunesmith synth``: a task whose best weights are known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith._version import __version__
from tunesmith.cli.app import Session
from tunesmith.cli.options.common import Json, print_json
from tunesmith.errors import TunesmithError, UsageError

if TYPE_CHECKING:
    from tunesmith.data.candidates import CandidateSet
    from tunesmith.data.weights import Weights

SCHEMA = "tunesmith.synth/1"
GIGABYTE = 1e9


def run(
    *,
    session: Session,
    out: Annotated[
        str, typer.Option(help="Folder for candidates.arrow and gold.json.", metavar="FOLDER")
    ],
    sentences: Annotated[
        int, typer.Option(help="Number of groups of candidates.", metavar="INTEGER")
    ] = 1000,
    candidates: Annotated[
        int, typer.Option(help="Number of candidates in each group.", metavar="INTEGER")
    ] = 500,
    features: Annotated[int, typer.Option(help="Number of features.", metavar="INTEGER")] = 100,
    noise: Annotated[
        float,
        typer.Option(
            help="Standard deviation of the noise that is added to features.", metavar="NUMBER"
        ),
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.", metavar="INTEGER")] = 1,
    as_json: Json = False,
) -> None:
    """Generate candidates whose best weights are known (Hopkins and May 2011)."""
    from tunesmith.data.synthetic import check_sizes, synthetic
    from tunesmith.io.streams import writing
    from tunesmith.io.tables.arrow import arrow
    from tunesmith.io.write import write
    from tunesmith.progress import progress
    from tunesmith.randomness import checked_seed

    check_sizes(sentences, candidates, features, noise)
    checked_seed(seed)
    if out in {"", "-"}:
        raise UsageError(f"--out is '{out}', and there are two files to write; name a folder")
    arrow()
    paths = _prepared(Path(out), 8 * (features + 2) * sentences * candidates)
    candidate_set, gold = synthetic(sentences, candidates, features, noise, seed)
    sizes = f"sentences:{sentences}|candidates:{candidates}|features:{features}"
    report = {
        "schema": SCHEMA,
        "signature": f"synth|{sizes}|noise:{noise!r}|seed:{seed}|version:tunesmith-{__version__}",
        "sentences": sentences,
        "candidates": candidates,
        "features": features,
        "noise": noise,
        "seed": seed,
        "score": _score(candidate_set, gold),
        "weights": dict(gold),
    }
    progress("writing", 0, None)
    # The candidates first: weights never stand beside those of another task.
    with writing(paths["gold"]) as file:
        write(candidate_set, paths["candidates"])
        file.write((json.dumps(report, indent=2) + "\n").encode())
    progress("writing", 1, 1)
    files = {name: str(path) for name, path in paths.items()}
    if as_json:
        print_json({**report, "files": files})
    else:
        typer.echo(_lines(report, files))


def _prepared(folder: Path, size: int) -> dict[str, Path]:
    """Return the files to write, in a folder that exists and has room for them."""
    from tunesmith.io.streams import check_writable

    above = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    if above.is_dir() and shutil.disk_usage(above).free < size:
        needed, free = size / GIGABYTE, shutil.disk_usage(above).free / GIGABYTE
        raise TunesmithError(
            f"{folder}: the candidates take {needed:.1f} GB and {free:.1f} GB are free; "
            "make fewer, or name another folder with --out"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = (error.strerror or "it cannot be created").lower()
        raise TunesmithError(f"{folder}: {problem}; name a folder with --out") from None
    paths = {"candidates": folder / "candidates.arrow", "gold": folder / "gold.json"}
    for path in paths.values():
        check_writable(path)
    return paths


def _score(candidate_set: CandidateSet, gold: Weights) -> float:
    """Return what the gold weights reach on the features as they are now."""
    from tunesmith.data.synthetic import COLUMN
    from tunesmith.inference.lists.hypotheses import best
    from tunesmith.tasks.lists import TuningSet

    return TuningSet(candidate_set, f"column:{COLUMN}").score(best(candidate_set, gold.vector))


def _lines(report: dict[str, Any], files: dict[str, str]) -> str:
    sizes = (
        f"{report['sentences']} × {report['candidates']} candidates, {report['features']} features"
    )
    return (
        f"{sizes}, noise {report['noise']:g}; the gold weights reach {report['score']:.4f}\n"
        f"candidates: {files['candidates']}\n"
        f"gold:       {files['gold']}"
    )
