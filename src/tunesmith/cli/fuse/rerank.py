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
            help="What is done to scores, where the weights do not say it.",
            show_default=False,
            metavar="NAME",
        ),
    ] = None,
    missing: Missing = "auto",
    depth: Annotated[
        int | None,
        typer.Option(
            help="The last rank that is written [default: all].",
            show_default=False,
            metavar="INTEGER",
        ),
    ] = None,
    tag: Annotated[str, typer.Option(help="What the run is called.", metavar="NAME")] = "tunesmith",
    out: Annotated[str, typer.Option("--out", "-o", help="Where to write.", metavar="FILE")] = "-",
    strict: Strict = False,
) -> None:
    """Write the documents of all queries in the order that weights give them, as a run of TREC."""
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
    held, how = read_model(weights, normalisation_of(normalisation, missing))
    found = read_rankings(named) if letor is None else read_letor(letor)
    session.note(f"{found!r}")
    with names_of(weights):
        values = held.matched(found.names, strict)
    scores = ScoredRankings(found, normalisation=how).features.dot(values)
    write_lines(out, run_lines(found, order_of(scores, found.start), scores, tag, depth))
