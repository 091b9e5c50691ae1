"""``tunesmith rerank``: the best candidates under given weights."""

from __future__ import annotations

from typing import Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import (
    Candidates,
    Format,
    Scores,
    Strict,
    names_of,
    one_standard_input,
    read_candidates,
)
from tunesmith.cli.options.forests import (
    USUAL_SIZE,
    ForestFiles,
    ListSize,
    Memory,
    check_size,
    list_writer,
    one_kind,
    read_forest_files,
    set_memory,
    write_lists,
)
from tunesmith.errors import TunesmithError, UsageError


def run(
    *,
    session: Session,
    weights: Annotated[str, typer.Option(help="Weights, in any format.", metavar="FILE")],
    candidates: Candidates = [],  # noqa: B006  (typer's way; never changed)
    forests: ForestFiles = [],  # noqa: B006
    scores: Scores = [],  # noqa: B006
    nbest: Annotated[
        bool,
        typer.Option(
            "--nbest",
            help="Write all candidates, the best of a group first; of a forest, the best distinct "
            "--list-size.",
        ),
    ] = False,
    list_size: ListSize = USUAL_SIZE,
    memory: Memory = None,
    out: Annotated[str, typer.Option(help="Where to write.", metavar="FILE")] = "-",
    format_name: Format = None,
    strict: Strict = False,
) -> None:
    """Write the best candidate of each group under given weights, one per line."""
    from tunesmith.inference.lists.hypotheses import best
    from tunesmith.inference.lists.rerank import ranking
    from tunesmith.io.lists.base import FORMATS
    from tunesmith.io.streams import check_writable, writing
    from tunesmith.io.weights.files import read_weights

    one_kind(candidates, forests)
    one_standard_input(*candidates, *forests, weights)
    check_size(list_size)
    if list_size != USUAL_SIZE and not (forests and nbest):
        raise UsageError("--list-size goes with --forests and --nbest; give both, or drop it")
    if forests and scores:
        raise UsageError("--scores goes with --candidates; drop it")
    set_memory(memory)
    check_writable(out)
    if forests:
        size = list_size if nbest else None
        _rerank_forests(session, forests, weights, size, out, format_name, strict)
        return
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


def _rerank_forests(
    session: Session,
    forests: list[str],
    weights: str,
    size: int | None,
    out: str,
    format_name: str | None,
    strict: bool,
) -> None:
    """Write the best derivation of each forest, or the N best as a list."""
    from tunesmith.inference.forests.lists import outputs
    from tunesmith.io.streams import writing
    from tunesmith.io.weights.files import read_weights

    held = read_weights(weights).weights
    found = read_forest_files(forests, [], format_name)
    session.note(f"{found!r}")
    with names_of(weights):
        values = held.matched(found.names, strict)
    if size is not None:
        write_lists(found, values, size, out, list_writer(out, None))
        return
    best = outputs(found, values)
    with writing(out) as file:
        for i in range(len(best)):
            file.write(best.text(i).encode() + b"\n")
