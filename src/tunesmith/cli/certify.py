"""``tunesmith certify``: how far weights are from the optimum, at most."""

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
    check_not_read,
    names_of,
    one_standard_input,
    print_json,
    read_candidates,
    result_console,
)
from tunesmith.cli.options.derived import derived_features
from tunesmith.search.exact.extreme import TOLERANCE
from tunesmith.tuners.certify import MEMORY, SECONDS, Certified, certify, check_options

if TYPE_CHECKING:
    from tunesmith.io.weights.files import WeightsFile


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
            help="Metric with its options: a sum over sentences, such as sentence-bleu, ter, "
            "wer, cer or "
            "column:NAME. path/to/file.py:Name runs that file.",
            metavar="NAME",
        ),
    ] = ["sentence-bleu"],  # noqa: B006
    time_limit: Annotated[
        float,
        typer.Option(
            help="Time limit in seconds; more time gives a tighter bound.", metavar="NUMBER"
        ),
    ] = SECONDS,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Smallest lead by which a winner counts, for scaled features and "
            "weights of norm 1.",
            metavar="NUMBER",
        ),
    ] = TOLERANCE,
    within: Annotated[
        str | None,
        typer.Option(
            help="Only weights within this angle of the given ones, such as 5deg; "
            "several, such as 1,2,5deg, have a bound each.",
            metavar="DEGREES",
        ),
    ] = None,
    curve: Annotated[
        bool,
        typer.Option("--curve", help="A bound for each of the angles 0.5, 1, 2, 3, 5, 8 and 12."),
    ] = False,
    cosine: Annotated[
        float | None,
        typer.Option(
            help="Only weights with at least this cosine to the given ones: another "
            "way to say --within.",
            metavar="NUMBER",
        ),
    ] = None,
    box: Annotated[
        str | None,
        typer.Option(
            help="Only weights of which none differs from the given one by more than "
            "this share of it, such as 20%.",
            metavar="SHARE",
        ),
    ] = None,
    fix: Annotated[
        list[str], typer.Option(help="Fix a weight at this value.", metavar="NAME=VALUE")
    ] = [],  # noqa: B006
    bound: Annotated[
        list[str],
        typer.Option(
            help="The range of a weight; either side may be left out.", metavar="NAME=LOW:HIGH"
        ),
    ] = [],  # noqa: B006
    tie: Annotated[
        list[str], typer.Option(help="Keep these weights equal.", metavar="NAME=NAME")
    ] = [],  # noqa: B006
    non_negative: Annotated[
        bool, typer.Option("--non-negative", help="Allow no weight below 0.")
    ] = False,
    memory_limit: Annotated[
        float,
        typer.Option(
            help="Memory in megabytes for the open parts of the search.", metavar="NUMBER"
        ),
    ] = MEMORY,
    out: Annotated[
        str | None,
        typer.Option(
            help="Write the best weights found, in the format of --weights, or as "
            "JSON if the name ends in .json.",
            metavar="FILE",
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(help="Draw the bounds of --curve: a .png, .svg or .pdf.", metavar="FILE"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.", metavar="INTEGER")] = 1,
    format_name: Format = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Prove how much better any other weights can be."""
    from tunesmith.errors import UsageError
    from tunesmith.io.streams import check_writable
    from tunesmith.io.weights.files import read_weights
    from tunesmith.metrics.base import METRICS
    from tunesmith.randomness import checked_seed
    from tunesmith.report.bounds import check_picture, write_bounds
    from tunesmith.search.space.constraints import Constraints
    from tunesmith.tasks.lists import TuningSet

    one_standard_input(*candidates, *references, weights)
    checked_seed(seed)
    angles = _angles(within, cosine, curve)
    constraints = Constraints.parse(fix, bound, tie, non_negative=non_negative)
    share = None if box is None else _share(box)
    check_options(time_limit, tolerance, angles, share, constraints or None)
    if not memory_limit > 0.0:
        raise UsageError(f"memory-limit is {memory_limit:g}; give megabytes above 0")
    if plot is not None:
        if angles is None or len(angles) < 2:
            raise UsageError("--plot draws the bounds of several angles; give --curve")
        check_picture(plot)
    for flag, path in (("--out", out), ("--plot", plot)):
        check_not_read(flag, path, [*candidates, *references, weights])
        if path is not None:
            check_writable(path)
    if len(metric) > 1:
        raise UsageError("a certificate is about one metric; give --metric once")
    measure = METRICS.create(metric[0])
    measure.check_sum("a certificate")
    weights_file = read_weights(weights)
    derived = derived_features((), (weights, weights_file.weights))
    candidate_set = read_candidates(
        candidates, references, format_name, scores, [measure], derived=derived
    )
    session.note(f"{candidate_set!r}")
    with names_of(weights):
        result = certify(
            TuningSet(candidate_set, measure),
            weights_file.weights,
            time_limit=time_limit,
            tolerance=tolerance,
            rng=seed,
            strict=strict,
            within=angles,
            box=share,
            constraints=constraints or None,
            memory_limit=memory_limit,
        )
    if out is not None:
        _write_weights(out, weights_file, result)
    if plot is not None and result.curve is not None:
        write_bounds(plot, result.curve, result.score, result.found_score, result.metric)
    if as_json:
        print_json(result.to_dict())
    else:
        result_console().print(result, crop=False)


def _angles(within: str | None, cosine: float | None, curve: bool) -> list[float] | None:
    """Return the angles that are asked for, in degrees; None if none is."""
    from tunesmith.errors import UsageError
    from tunesmith.tuners.certify import CURVE

    if (within is not None) + (cosine is not None) + curve > 1:
        raise UsageError("--within, --cosine and --curve all give angles; drop all but one")
    if curve:
        return list(CURVE)
    if cosine is not None:
        if not 0.0 < cosine < 1.0:
            raise UsageError(f"cosine is {cosine:g}; give a number above 0 and below 1")
        return [math.degrees(math.acos(cosine))]
    if within is None:
        return None
    parts = [part.strip() for part in within.removesuffix("deg").split(",")]
    try:
        return [float(part.removesuffix("deg")) for part in parts]
    except ValueError:
        raise UsageError(f"within is '{within}'; give degrees, as 5deg or 1,2,5deg") from None


def _share(box: str) -> float:
    """Return the share that a text says, with or without a sign of per cent."""
    from tunesmith.errors import UsageError

    try:
        number = float(box.strip().removesuffix("%"))
    except ValueError:
        raise UsageError(f"box is '{box}'; give a share, as 20% or 0.2") from None
    return number / 100.0 if box.strip().endswith("%") else number


def _write_weights(out: str, weights_file: WeightsFile, result: Certified) -> None:
    """Write the best weights found, in the format of the given ones."""
    import json

    from tunesmith.io.streams import write_atomically

    if out.endswith(".json"):
        text = json.dumps(dict(result.found_weights), indent=2, ensure_ascii=False) + "\n"
        write_atomically(out, text)
    else:
        write_atomically(out, weights_file.rewritten(result.found_weights))
