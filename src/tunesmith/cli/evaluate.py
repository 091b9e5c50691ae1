"""``tunesmith evaluate``: what an output, or weights, score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options import (
    Format,
    Json,
    MetricName,
    References,
    Scores,
    Strict,
    names_of,
    one_standard_input,
    print_json,
    read_candidates,
)
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.arrays import Ints
    from tunesmith.metrics.tuning import TuningSet

SCHEMA = "tunesmith.evaluate/1"


def run(
    *,
    session: Session,
    references: References = [],  # noqa: B006  (typer's way; never changed)
    hypotheses: Annotated[
        str | None,
        typer.Option(help="An output, one text a line.", show_default=False, metavar="FILE"),
    ] = None,
    candidates: Annotated[
        list[str],
        typer.Option(help="Candidates to choose from.", show_default=False, metavar="FILE"),
    ] = [],  # noqa: B006
    weights: Annotated[
        str | None, typer.Option(help="Weights to choose with.", show_default=False, metavar="FILE")
    ] = None,
    scores: Scores = [],  # noqa: B006
    metric: MetricName = "bleu",
    format_name: Format = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Score an output, or the best candidates under given weights."""
    from tunesmith.inference.lists import best
    from tunesmith.io.read import read_hypotheses
    from tunesmith.io.weights import read_weights
    from tunesmith.metrics.base import METRICS
    from tunesmith.metrics.tuning import TuningSet

    if (hypotheses is None) == (not candidates):
        raise UsageError(
            "either --hypotheses or --candidates is needed; give an output, or lists with --weights"
        )
    if (weights is None) == bool(candidates):
        raise UsageError("--candidates and --weights go together; give both")
    if hypotheses is not None and (scores or format_name is not None):
        option = "--scores" if scores else "--format"
        raise UsageError(f"{option} goes with --candidates; drop it")
    one_standard_input(hypotheses, *candidates, *references, weights)
    measure = METRICS.create(metric)
    if weights is None:
        tuning = TuningSet(read_hypotheses(hypotheses or "", references), measure)
        chosen = tuning.candidates.start[:-1]
    else:
        held = read_weights(weights).weights
        tuning = TuningSet(
            read_candidates(candidates, references, format_name, scores, [measure]), measure
        )
        with names_of(weights):
            values = held.matched(tuning.candidates.features.names, strict)
        chosen = best(tuning.candidates, values)
    session.note(f"{tuning.candidates!r}")
    found = _figures(tuning, chosen, oracles=weights is not None)
    if as_json:
        print_json(found)
    else:
        typer.echo(_line(found))


def _figures(tuning: TuningSet, chosen: Ints, oracles: bool) -> dict[str, Any]:
    """Return the JSON object; bounds are of interest only where there was a choice."""
    metric = tuning.metric
    total = tuning.total(chosen)
    details = metric.details(total)
    top = tuning.oracle(begin=chosen) if oracles else None
    bottom = tuning.oracle(worst=True, begin=chosen) if oracles else None
    return {
        "schema": SCHEMA,
        "signature": tuning.signature(),
        "metric": metric.name,
        "higher_is_better": metric.higher_is_better,
        "score": tuning.score(chosen),
        "length_ratio": details.get("length_ratio"),
        "brevity_penalty": details.get("brevity_penalty"),
        "statistics": dict(zip(metric.stat_names, total.tolist(), strict=True)),
        "oracle_score": top and top.score,
        "oracle_exact": top and top.exact,
        "anti_oracle_score": bottom and bottom.score,
    }


def _line(found: dict[str, Any]) -> str:
    parts = [f"{found['metric']} {found['score']:.4f}"]
    parts += [
        f"{name.replace('_', ' ')} {found[name]:.4f}"
        for name in ("length_ratio", "brevity_penalty")
        if found[name] is not None
    ]
    if found["oracle_score"] is not None:
        least = "at least " if found["higher_is_better"] else "at most "
        bound = "" if found["oracle_exact"] else least
        parts.append(f"oracle {bound}{found['oracle_score']:.4f}")
    return "  ".join(parts)
