"""``tunesmith evaluate``: what an output, or weights, score."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options import (
    Format,
    Json,
    MetricName,
    References,
    Strict,
    names_of,
    one_standard_input,
    print_json,
)
from tunesmith.errors import UsageError

SCHEMA = "tunesmith.evaluate/1"


def run(
    *,
    session: Session,
    references: References = [],  # noqa: B006  (typer's way; never changed)
    hypotheses: Annotated[
        str | None, typer.Option(help="An output, one text a line.", show_default=False)
    ] = None,
    candidates: Annotated[
        list[str], typer.Option(help="n-best lists to choose from.", show_default=False)
    ] = [],  # noqa: B006
    weights: Annotated[
        str | None, typer.Option(help="Weights to choose with.", show_default=False)
    ] = None,
    metric: MetricName = "bleu",
    format_name: Format = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Score an output, or the best candidates under given weights."""
    from tunesmith.inference.lists import best
    from tunesmith.io.read import read, read_hypotheses
    from tunesmith.io.weights import read_weights
    from tunesmith.metrics.base import METRICS
    from tunesmith.metrics.tuning import TuningSet

    if (hypotheses is None) == (not candidates):
        raise UsageError("give either --hypotheses, or --candidates with --weights")
    if candidates and weights is None:
        raise UsageError("--candidates without --weights; give both")
    if weights is not None and not candidates:
        raise UsageError("--weights without --candidates; give both")
    one_standard_input(hypotheses, *candidates, *references, weights)
    measure = METRICS.create(metric)
    oracles: dict[str, Any] = dict.fromkeys(("oracle_score", "oracle_exact", "anti_oracle_score"))
    if hypotheses is not None:
        tuning = TuningSet(read_hypotheses(hypotheses, references), measure)
        chosen = tuning.candidates.start[:-1]
    else:
        held = read_weights(weights or "").weights
        tuning = TuningSet(read(candidates, references, format_name), measure)
        with names_of(weights):
            values = held.matched(tuning.candidates.features.names, strict)
        chosen = best(tuning.candidates, values)
        top, bottom = tuning.oracle(), tuning.oracle(worst=True)
        oracles = {
            "oracle_score": top.score,
            "oracle_exact": top.exact,
            "anti_oracle_score": bottom.score,
        }
    session.note(f"{tuning.candidates!r}")
    total = tuning.total(chosen)
    details = measure.details(total)
    found = {
        "schema": SCHEMA,
        "signature": tuning.signature(),
        "metric": measure.name,
        "score": tuning.score(chosen),
        "length_ratio": details.get("length_ratio"),
        "brevity_penalty": details.get("brevity_penalty"),
        "statistics": dict(zip(measure.stat_names, total.tolist(), strict=True)),
        **oracles,
    }
    if as_json:
        print_json(found)
        return
    line = f"{measure.name} {found['score']:.4f}"
    for name, value in details.items():
        line += f"  {name.replace('_', ' ')} {value:.4f}"
    if found["oracle_score"] is not None:
        bound = "" if found["oracle_exact"] else "at least "
        line += f"  oracle {bound}{found['oracle_score']:.4f}"
    typer.echo(line)
