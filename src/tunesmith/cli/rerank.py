"""``tunesmith rerank``: the best candidates under given weights."""

from __future__ import annotations

from typing import Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options import (
    Candidates,
    Format,
    Scores,
    Strict,
    names_of,
    one_standard_input,
    read_candidates,
)
from tunesmith.errors import TunesmithError


def run(
    *,
    session: Session,
    candidates: Candidates,
    weights: Annotated[str, typer.Option(help="Weights, in any format.", metavar="FILE")],
    scores: Scores = [],  # noqa: B006  (typer's way; never changed)
    nbest: Annotated[
        bool, typer.Option("--nbest", help="Write all candidates, the best of a group first.")
    ] = False,
    out: Annotated[str, typer.Option(help="Where to write.", metavar="FILE")] = "-",
    format_name: Format = None,
    strict: Strict = False,
) -> None:
    """Write the best candidate of each group under given weights, one a line."""
    from tunesmith.inference.lists import best
    from tunesmith.inference.rerank import ranking
    from tunesmith.io.formats import FORMATS
    from tunesmith.io.streams import check_writable, writing
    from tunesmith.io.weights import read_weights

    one_standard_input(*candidates, weights)
    check_writable(out)
    held = read_weights(weights).weights
    found = read_candidates(candidates, [], format_name, scores)
    session.note(f"{found!r}")
    if not nbest and not found.has_texts:
        raise TunesmithError("all candidates have an empty text; give texts, or use --nbest")
    with names_of(weights):
        values = held.matched(found.features.names, strict)
    if nbest:
        FORMATS.create(format_name or found.files[0].format).write(
            found, *ranking(found, values), out
        )
        return
    with writing(out) as file:
        for i in best(found, values):
            file.write(found.text(i).encode() + b"\n")
