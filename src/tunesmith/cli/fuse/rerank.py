"""``tunesmith rerank --run``: the documents of queries in the order that weights give them."""

from __future__ import annotations

from typing import Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.fuse.options import Letor, Missing, Runs, normalisation_of
from tunesmith.cli.options.common import Strict, check_not_read, names_of, one_standard_input
from tunesmith.errors import UsageError


def run(
    *,
    session: Session,
    runs: Runs = [],  # noqa: B006  (typer's way; never changed)
    letor: Letor = None,
    weights: Annotated[
        str,
        typer.Option(
            "--weights",
            "-w",
            help="A result of fuse or tune, or weights in any format.",
            metavar="FILE",
        ),
    ],
    normalisation: Annotated[
        str | None,
        typer.Option(
            help="Normalisation of scores, if the weights do not name it.",
            show_default=False,
            metavar="NAME",
        ),
    ] = None,
    missing: Missing = "auto",
    depth: Annotated[
        int | None,
        typer.Option(
            help="Write at most this many ranks [default: all].",
            show_default=False,
            metavar="INTEGER",
        ),
    ] = None,
    tag: Annotated[str, typer.Option(help="Name of the run.", metavar="NAME")] = "tunesmith",
    out: Annotated[str, typer.Option("--out", "-o", help="Where to write.", metavar="FILE")] = "-",
    strict: Strict = False,
) -> None:
    """Rank the documents of all queries under given weights, and write a TREC run."""
    from tunesmith.inference.rankings.values import order_of
    from tunesmith.io.rankings.letor import read_letor
    from tunesmith.io.rankings.model import read_model
    from tunesmith.io.rankings.read import named_runs, read_rankings
    from tunesmith.io.rankings.trec import run_lines, write_lines
    from tunesmith.io.streams import check_writable
    from tunesmith.metrics.rankings.scored import ScoredRankings

    if (letor is None) == (not runs):
        raise UsageError("either runs or rows of features are needed; give --run or --letor")
    if depth is not None and depth < 1:
        raise UsageError(f"--depth is {depth}; give 1 or more")
    if not tag or tag.split() != [tag]:
        raise UsageError("--tag has white space in it; give a word")
    named = named_runs(runs)
    read = [*named.values(), letor, weights]
    one_standard_input(*read)
    check_not_read("--out", out, read)
    check_writable(out)
    model, how = read_model(weights, normalisation_of(normalisation, missing))
    rankings = read_rankings(named) if letor is None else read_letor(letor)
    session.note(f"{rankings!r}")
    with names_of(weights):
        values = model.matched(rankings.names, strict)
    scores = ScoredRankings(rankings, normalisation=how).features.dot(values)
    write_lines(out, run_lines(rankings, order_of(scores, rankings.start), scores, tag, depth))
