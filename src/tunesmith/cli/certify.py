"""``tunesmith certify``: how far weights are from the optimum, at most."""

from __future__ import annotations

from typing import Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import (
    Candidates,
    Format,
    Json,
    References,
    Scores,
    Strict,
    names_of,
    one_standard_input,
    print_json,
    read_candidates,
)
from tunesmith.search.exact.extreme import TOLERANCE
from tunesmith.tuners.certify import SECONDS, certify, check_options


def run(
    *,
    session: Session,
    candidates: Candidates,
    weights: Annotated[
        str, typer.Option(help="The weights, in any format, from any tuner.", metavar="FILE")
    ],
    references: References = [],  # noqa: B006  (typer's way; never changed)
    scores: Scores = [],  # noqa: B006
    metric: Annotated[
        list[str],
        typer.Option(
            help="Metric with its options: one that is a sum over sentences, as sentence-bleu, "
            "ter, wer, cer or column:NAME. path/to/file.py:Name runs that file.",
            metavar="NAME",
        ),
    ] = ["sentence-bleu"],  # noqa: B006
    time_limit: Annotated[
        float, typer.Option(help="Seconds; the bound is the tighter the more.", metavar="NUMBER")
    ] = SECONDS,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Lead of a winner that counts, for scaled features and weights of length 1.",
            metavar="NUMBER",
        ),
    ] = TOLERANCE,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.", metavar="INTEGER")] = 1,
    format_name: Format = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Prove how much better than given weights any others can be."""
    from tunesmith.errors import UsageError
    from tunesmith.io.weights.files import read_weights
    from tunesmith.metrics.base import METRICS
    from tunesmith.randomness import checked_seed
    from tunesmith.tasks.lists import TuningSet

    one_standard_input(*candidates, *references, weights)
    checked_seed(seed)
    check_options(time_limit, tolerance)
    if len(metric) > 1:
        raise UsageError("a certificate is about one metric; give --metric once")
    measure = METRICS.create(metric[0])
    measure.check_sum("a certificate")
    held = read_weights(weights).weights
    found = read_candidates(candidates, references, format_name, scores, [measure])
    session.note(f"{found!r}")
    with names_of(weights):
        result = certify(
            TuningSet(found, measure),
            held,
            time_limit=time_limit,
            tolerance=tolerance,
            rng=seed,
            strict=strict,
        )
    if as_json:
        print_json(result.to_dict())
    else:
        from rich.console import Console

        Console().print(result, crop=False)
