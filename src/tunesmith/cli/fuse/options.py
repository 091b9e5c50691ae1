"""Options about runs, judgements and normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli.options.common import one_standard_input
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.data.rankings.normalisation import Normalisation
    from tunesmith.data.rankings.rankings import Rankings

Runs = Annotated[
    list[str],
    typer.Option(
        "--run",
        help="A run in TREC's format (- is standard input): a feature with the name of the "
        "file; repeat it for each run.",
        show_default=False,
        metavar="FILE|NAME=FILE",
    ),
]
Letor = Annotated[
    str | None,
    typer.Option(
        "--letor",
        help="Or rows of features with grades, in the format of LETOR and LightGBM.",
        show_default=False,
        metavar="FILE",
    ),
]
Qrels = Annotated[
    str | None,
    typer.Option(
        "--qrels",
        "-q",
        help="Judgements in TREC's format: query, 0, document, grade.",
        show_default=False,
        metavar="FILE",
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        help="Score of a document that a run did not return: lowest (that of its "
        "last document for the query), zero, or a number; auto is zero, or "
        "lowest with the normalisations none and z.",
        metavar="lowest|zero|NUMBER",
    ),
]


#: Commands that take candidates or runs.
TAKING_RUNS = ("tune", "rerank", "evaluate")


def are_meant(arguments: Sequence[str]) -> bool:
    """Tell whether arguments that are not parsed yet speak of rankings."""
    flags = {argument.partition("=")[0] for argument in arguments}
    return bool(flags & {"--run", "--letor", "--qrels"})


def read_judged(runs: list[str], qrels: str | None, *others: str | None) -> Rankings:
    """Read runs and judgements that options name; standard input may be one of the files."""
    from tunesmith.io.rankings.read import named_runs, read_rankings

    if not runs or qrels is None:
        raise UsageError("--run and --qrels go together; give a run or more, and judgements")
    named = named_runs(runs)
    one_standard_input(*named.values(), qrels, *others)
    return read_rankings(named, qrels)


def read_set(
    runs: list[str], letor: str | None, qrels: str | None, *others: str | None
) -> Rankings:
    """Read runs with judgements, or rows of features, that options name."""
    from tunesmith.io.rankings.letor import read_letor

    if (letor is None) == (not runs):
        raise UsageError("either runs or rows of features are needed; give --run or --letor")
    if letor is not None:
        if qrels is not None:
            raise UsageError("--letor has the grades in it; drop --qrels")
        one_standard_input(letor, *others)
        return read_letor(letor)
    return read_judged(runs, qrels, *others)


def normalisation_of(text: str | None, missing: str) -> Normalisation | None:
    """Return what options say is done to scores; None if they say nothing."""
    from tunesmith.data.rankings.normalisation import Normalisation

    if text is None:
        if missing != "auto":
            raise UsageError("--missing goes with --normalisation; give both, or drop it")
        return None
    return Normalisation.of(text, missing)
