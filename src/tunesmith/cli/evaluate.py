"""``tunesmith evaluate``: what an output, or weights, score."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import (
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
from tunesmith.cli.options.derived import derived_features
from tunesmith.cli.options.forests import ForestFiles, Memory, read_forest_files, set_memory
from tunesmith.cli.options.reading import warn_of_pieces
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.data.weights import Weights
    from tunesmith.derived.base import Derived
    from tunesmith.metrics.base import Metric
    from tunesmith.tasks.base import Task
    from tunesmith.tasks.lists import TuningSet

SCHEMA = "tunesmith.evaluate/1"


def command(arguments: Sequence[str]) -> Callable[..., None]:
    """Return the command that the arguments mean: on candidates, or on runs."""
    from tunesmith.cli.fuse.options import are_meant

    if are_meant(arguments):
        from tunesmith.cli.fuse import evaluate as of_runs

        return of_runs.run
    return run


def run(
    *,
    session: Session,
    references: References = [],  # noqa: B006  (typer's way; never changed)
    hypotheses: Annotated[
        str | None,
        typer.Option(help="An output, one text per line.", show_default=False, metavar="FILE"),
    ] = None,
    candidates: Annotated[
        list[str],
        typer.Option(
            "--candidates",
            "-c",
            help="Candidates to choose from.",
            show_default=False,
            metavar="FILE",
        ),
    ] = [],  # noqa: B006
    forests: ForestFiles = [],  # noqa: B006
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights", "-w", help="Weights to choose with.", show_default=False, metavar="FILE"
        ),
    ] = None,
    scores: Scores = [],  # noqa: B006
    metric: Annotated[
        list[str],
        typer.Option(
            "--metric",
            "-m",
            help="Metric with its options, such as bleu:tokenize=13a; repeat it for several. "
            "path/to/file.py:Name runs that file.",
            metavar="NAME",
        ),
    ] = ["bleu"],  # noqa: B006
    memory: Memory = None,
    format_name: Format = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Score an output, or the best candidates under given weights.

    Runs of documents: evaluate --run FILE --help.
    """
    from tunesmith.io.weights.files import read_weights
    from tunesmith.metrics.base import METRICS

    sets = [option for option in (hypotheses, candidates, forests) if option]
    if len(sets) != 1:
        raise UsageError(
            "either --hypotheses, --candidates or --forests is needed; give an output, or lists "
            "or forests with --weights"
        )
    if (weights is None) == (hypotheses is None):
        other = "--forests" if forests else "--candidates"
        raise UsageError(f"{other} and --weights go together; give both")
    if not candidates and scores:
        raise UsageError("--scores goes with --candidates; drop it")
    if hypotheses is not None and format_name is not None:
        raise UsageError("--format goes with --candidates and --forests; drop it")
    one_standard_input(hypotheses, *candidates, *forests, *references, weights)
    set_memory(memory)
    measures = [METRICS.create(name) for name in metric]
    if weights is None:
        figures = [
            _figures(entry) for entry in _scored(session, hypotheses or "", references, measures)
        ]
    else:
        weights_file = read_weights(weights)
        model = weights_file.weights
        if candidates:
            warn_of_pieces(weights, weights_file)
        derived = derived_features((), (weights, model))
        tasks = _tasks(
            session, candidates, forests, references, format_name, scores, measures, derived, model
        )
        figures = _under(session, weights, model, tasks, strict)
    if as_json:
        print_json({**figures[0], "others": figures[1:]})
    else:
        for entry in figures:
            typer.echo(_line(entry))


def _scored(
    session: Session, hypotheses: str, references: list[str], measures: list[Metric]
) -> list[TuningSet]:
    """Return an output with the statistics of each metric."""
    from tunesmith.io.read import read_hypotheses
    from tunesmith.tasks.lists import TuningSet

    read = read_hypotheses(hypotheses, references)
    session.note(f"{read!r}")
    return [TuningSet(read, measure) for measure in measures]


def _tasks(
    session: Session,
    candidates: list[str],
    forests: list[str],
    references: list[str],
    format_name: str | None,
    scores: list[str],
    measures: list[Metric],
    derived: list[Derived],
    weighted: Collection[str],
) -> list[Task]:
    """Return lists or forests with the statistics of each metric."""
    from tunesmith.tasks.forests import ForestTuning
    from tunesmith.tasks.lists import TuningSet

    if forests:
        read = read_forest_files(forests, references, format_name, derived)
        session.note(f"{read!r}")
        return [ForestTuning(read, measure) for measure in measures]
    lists = read_candidates(
        candidates, references, format_name, scores, measures, derived=derived, weighted=weighted
    )
    session.note(f"{lists!r}")
    return [TuningSet(lists, measure) for measure in measures]


def _under(
    session: Session, weights: str, model: Weights, tasks: list[Task], strict: bool
) -> list[dict[str, Any]]:
    """Return the figures of each metric under weights."""
    from tunesmith.cli.tune.inputs import is_tuned_on

    if is_tuned_on(weights, tasks[0].files):
        session.say("note: this is the set that the weights were tuned on")
    with names_of(weights):
        values = model.matched(tasks[0].names, strict)
    figures = []
    for task in tasks:
        top = task.oracle_at(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the same, they were said above
            bottom = task.oracle_at(values, worst=True)
        figures.append(_figures(task.winners(values), top, bottom))
    return figures


def _figures(
    chosen: TuningSet,
    top: tuple[float, bool] | None = None,
    bottom: tuple[float, bool] | None = None,
) -> dict[str, Any]:
    """Return the JSON object; bounds are of interest only where there was a choice."""
    metric = chosen.metric
    total = chosen.stats.sum(axis=0)
    details = metric.details(total)
    return {
        "schema": SCHEMA,
        "signature": chosen.signature(),
        "metric": metric.name,
        "higher_is_better": metric.higher_is_better,
        "score": chosen.output_score(),
        "length_ratio": details.get("length_ratio"),
        "brevity_penalty": details.get("brevity_penalty"),
        "statistics": dict(zip(metric.stat_names, total.tolist(), strict=True)),
        "oracle_score": top and top[0],
        "oracle_exact": top and top[1],
        "anti_oracle_score": bottom and bottom[0],
    }


def _line(figures: dict[str, Any]) -> str:
    parts = [f"{figures['metric']} {figures['score']:.4f}"]
    parts += [
        f"{name.replace('_', ' ')} {figures[name]:.4f}"
        for name in ("length_ratio", "brevity_penalty")
        if figures[name] is not None
    ]
    if figures["oracle_score"] is not None:
        least = "at least " if figures["higher_is_better"] else "at most "
        bound = "" if figures["oracle_exact"] else least
        parts.append(f"oracle {bound}{figures['oracle_score']:.4f}")
    return "  ".join(parts)
