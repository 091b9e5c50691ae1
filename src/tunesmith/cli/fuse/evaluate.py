"""``tunesmith evaluate --run``: what runs score, or a mix of them under weights."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from tunesmith.cli.app import Session
from tunesmith.cli.fuse.options import Letor, Missing, Qrels, Runs, normalisation_of, read_set
from tunesmith.cli.options.common import Json, Strict, names_of, print_json
from tunesmith.errors import UsageError

SCHEMA = "tunesmith.evaluate/1"


def run(
    *,
    session: Session,
    runs: Runs = [],  # noqa: B006  (typer's way; never changed)
    letor: Letor = None,
    qrels: Qrels = None,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            "-w",
            help="Weights of the runs; without them each run is scored separately.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    normalisation: Annotated[
        str | None,
        typer.Option(
            help="Normalisation of scores, if the weights do not name it.",
            show_default=False,
            metavar="NAME",
        ),
    ] = None,
    missing: Missing = "auto",
    metric: Annotated[
        list[str],
        typer.Option(
            "--metric",
            "-m",
            help="Metric, such as ndcg@10, map or rr; repeat it for several.",
            metavar="NAME",
        ),
    ] = ["ndcg@10"],  # noqa: B006
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Score runs separately, or their mixture under given weights."""
    from tunesmith.data.rankings.normalisation import Normalisation
    from tunesmith.io.rankings.model import read_model
    from tunesmith.metrics.rankings.metric import RankingMetric
    from tunesmith.tasks.rankings import RankingTask

    if weights is None and (letor is not None or normalisation is not None or missing != "auto"):
        flag = "letor" if letor is not None else "normalisation" if normalisation else "missing"
        raise UsageError(f"--{flag} and --weights go together; give both")
    measures = [RankingMetric.of(text) for text in metric]
    model, how = None, Normalisation("none")
    if weights is not None:
        model, how = read_model(weights, normalisation_of(normalisation, missing))
    rankings = read_set(runs, letor, qrels, weights)
    session.note(f"{rankings!r}")
    entries: list[dict[str, Any]] = []
    for measure in measures:
        if model is None or weights is None:
            for name in rankings.names:
                alone = RankingTask(rankings.of_run(name), measure, how)
                entries.append(_figures(alone, np.ones(1), name))
            continue
        task = RankingTask(rankings, measure, how)
        with names_of(weights):
            values = model.matched(rankings.names, strict)
        entries.append(_figures(task, values, weights))
    if as_json:
        print_json({**entries[0], "others": entries[1:]})
        return
    for entry in entries:
        typer.echo(
            f"{entry['metric']} {entry['score']:.4f}  oracle {entry['oracle_score']:.4f}  "
            f"{entry['name']}"
        )


def _figures(task: Any, weights: Any, name: str) -> dict[str, Any]:
    """Return the JSON object; the oracle is the best order of the documents that are there."""
    best, is_exact = task.oracle_at(weights)
    return {
        "schema": SCHEMA,
        "signature": task.signature(),
        "metric": task.metric.name,
        "higher_is_better": True,
        "name": name,
        "score": task.score_at(weights),
        "queries": task.groups,
        "oracle_score": best,
        "oracle_exact": is_exact,
        "anti_oracle_score": task.oracle_at(weights, worst=True)[0],
    }
