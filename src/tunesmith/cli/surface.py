"""``tunesmith surface``: the metric as a function of a weight."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import (
    Candidates,
    Format,
    Json,
    References,
    Scores,
    Strict,
    one_standard_input,
    print_json,
    read_candidates,
)
from tunesmith.cli.options.derived import derived_features
from tunesmith.errors import UsageError

#: Seconds for the search of a map's best weights, unless the user says how many.
MAP_SECONDS = 60.0

if TYPE_CHECKING:
    from tunesmith.arrays import Floats
    from tunesmith.report.map.map import Window
    from tunesmith.tasks.lists import TuningSet


def run(
    *,
    session: Session,
    candidates: Candidates,
    weights: Annotated[
        str, typer.Option(help="The current weights, in any format.", metavar="FILE")
    ],
    references: References = [],  # noqa: B006  (typer's way; never changed)
    metric: Annotated[
        list[str],
        typer.Option(
            help="Metric with its options, such as bleu:tokenize=13a; path/to/file.py:Name "
            "runs that file. Repeat it to compare several.",
            metavar="NAME",
        ),
    ] = ["bleu"],  # noqa: B006
    feature: Annotated[
        list[str],
        typer.Option(
            help="Vary the weight of this feature; repeat it for several.",
            show_default=False,
            metavar="NAME",
        ),
    ] = [],  # noqa: B006
    direction: Annotated[
        str | None,
        typer.Option(
            help="Or the line along γ times the weights in this file.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Or the line to the weights in this file, at γ = 1.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    exponent: Annotated[
        bool,
        typer.Option("--exponent", help="Or vary the exponent of the weights' length penalty."),
    ] = False,
    plane: Annotated[
        str | None,
        typer.Option(
            help="Or vary the weights of two features: a map, with the best of all such weights.",
            show_default=False,
            metavar="NAME,NAME",
        ),
    ] = None,
    span: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="LOW:HIGH",
            help="Part of the line, in units of the weight or of γ; for a map LOW:HIGH,LOW:HIGH.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for the search of a map's best weights [default: 60].",
            show_default=False,
            metavar="SECONDS",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="Where to write: .html (interactive), .png, .svg, .pdf or .json.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    scores: Scores = [],  # noqa: B006
    format_name: Format = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Show the exact metric along a weight, a direction, the line to other weights, or a map."""
    from tunesmith.io.streams import check_writable
    from tunesmith.io.weights.files import read_weights
    from tunesmith.metrics.base import METRICS
    from tunesmith.report.surface.along import along_direction, along_feature, along_to
    from tunesmith.report.surface.exponent import exponent_surface
    from tunesmith.report.surface.files import kind_of, write_surface
    from tunesmith.report.surface.panels import summary
    from tunesmith.report.surface.surface import trace
    from tunesmith.tasks.lists import TuningSet

    ways_given = [exponent, *(way is not None for way in (direction, to, plane))]
    if bool(feature) + sum(ways_given) != 1:
        raise UsageError(
            "a line or a plane is needed; give exactly one of --feature, --direction, --to, "
            "--exponent and --plane"
        )
    one_standard_input(*candidates, *references, weights, direction, to)
    if time_limit is not None and plane is None:
        raise UsageError("--time-limit goes with --plane; drop it")
    limits = None if span is None or plane is not None else parse_range(span)
    window = None if span is None or plane is None else parse_ranges(span)
    labels = list(dict.fromkeys(metric))
    measures = [METRICS.create(spec) for spec in labels]
    if plane is not None and len(measures) > 1:
        raise UsageError("a map shows one metric; give one --metric, and a map for each")
    if time_limit is not None and not time_limit > 0.0:
        raise UsageError(f"the time limit is {time_limit:g}; give seconds above 0")
    if out is not None:
        kind_of(out)
        check_writable(out)
    begin = read_weights(weights).weights
    ways = [(path, read_weights(path).weights) for path in (direction, to) if path is not None]

    derived = derived_features((), (weights, begin), *ways)
    candidate_set = read_candidates(
        candidates, references, format_name, scores, measures, derived=derived
    )
    session.note(f"{candidate_set!r}")
    names = candidate_set.features.names
    current = begin.matched(names, strict, f"{weights}: ")
    if plane is not None:
        tuning = TuningSet(candidate_set, measures[0])
        seconds = MAP_SECONDS if time_limit is None else time_limit
        _show_map(tuning, current, plane, window, seconds, labels[0], out, as_json)
        return
    tunings = [TuningSet(candidate_set, m) for m in measures]
    lines = [along_feature(names, current, name) for name in dict.fromkeys(feature)]
    for path, target in ways:
        vector = target.matched(names, strict, f"{path}: ")
        if to is None:
            lines.append(along_direction(vector, path))
        else:
            lines.append(along_to(current, vector, weights, path))
    if exponent:
        surface = exponent_surface(tunings, begin, limits, labels)
    else:
        surface = trace(tunings, current, lines, limits, labels)
    if out is not None:
        write_surface(surface, out)
    if as_json:
        print_json(surface.to_dict())
    else:
        typer.echo("\n".join(text for line in surface.lines for text in summary(line)))


def _show_map(
    tuning: TuningSet,
    current: Floats,
    plane: str,
    window: Window | None,
    time_limit: float,
    label: str,
    out: str | None,
    as_json: bool,
) -> None:
    """Draw the map of two weights, and say what is on it."""
    from tunesmith.report.map.files import write_map
    from tunesmith.report.map.map import draw_map
    from tunesmith.report.map.words import summary

    features = [name.strip() for name in plane.split(",")]
    drawn = draw_map(tuning, current, features, window, time_limit, label=label)
    if out is not None:
        write_map(drawn, out)
    if as_json:
        print_json(drawn.to_dict())
    else:
        typer.echo("\n".join(summary(drawn)))


def parse_ranges(text: str) -> Window:
    """Turn LOW:HIGH,LOW:HIGH into numbers; one range is that of both axes."""
    parts = text.split(",")
    if len(parts) > 2:
        raise UsageError(f"the range is '{text}'; give LOW:HIGH,LOW:HIGH, one for each weight")
    return parse_range(parts[0]), parse_range(parts[-1])


def parse_range(text: str) -> tuple[float, float]:
    """Turn LOW:HIGH into numbers."""
    low, colon, high = text.partition(":")
    try:
        limits = float(low), float(high)
    except ValueError:
        limits = math.nan, math.nan
    # Not a number is not below another one either.
    if not colon or not -math.inf < limits[0] < limits[1] < math.inf:
        raise UsageError(f"the range is '{text}'; give LOW:HIGH, two numbers, the lower one first")
    return limits
