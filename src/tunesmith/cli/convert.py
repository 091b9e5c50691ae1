"""``tunesmith convert``: candidates or weights from one format to another."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli.app import Session
from tunesmith.cli.options.common import (
    Candidates,
    Format,
    References,
    Scores,
    names_of,
    one_standard_input,
    read_candidates,
)
from tunesmith.cli.options.derived import DerivedFeatures, derived_features
from tunesmith.cli.options.forests import (
    ForestFiles,
    Memory,
    Prune,
    Pruning,
    check_size,
    list_writer,
    read_forest_files,
    set_memory,
    write_lists,
)
from tunesmith.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from tunesmith.data.candidates import CandidateSet
    from tunesmith.data.forests import Forests
    from tunesmith.data.weights import Weights
    from tunesmith.io.forests.base import ForestFormat
    from tunesmith.io.lists.base import CandidateFormat


def run(
    *,
    session: Session,
    candidates: Candidates = [],  # noqa: B006  (typer's way; never changed)
    forests: ForestFiles = [],  # noqa: B006
    references: References = [],  # noqa: B006
    scores: Scores = [],  # noqa: B006
    column: Annotated[
        list[str],
        typer.Option(
            help="A feature that is an external metric; repeat it for several.",
            metavar="NAME",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    statistics: Annotated[
        list[str],
        typer.Option(
            help="Add the statistics of this metric as columns.",
            metavar="METRIC",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    feature: DerivedFeatures = [],  # noqa: B006
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            "-w",
            help="Weights for the score field of lists, for lists made from forests, "
            "and for pruning; without candidates or forests, the file to "
            "convert.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Format to write; by default the one that the ending of --out names.",
            metavar="FORMAT",
            show_default=False,
        ),
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", help="Where to write.", metavar="FILE")] = "-",
    nbest: Annotated[
        int | None,
        typer.Option(
            help="Write lists of the N best distinct texts of each forest under the weights.",
            metavar="INTEGER",
            show_default=False,
        ),
    ] = None,
    prune: Prune = None,
    memory: Memory = None,
    format_name: Format = None,
) -> None:
    """Convert candidates, forests or a weights file from one format to another."""
    from tunesmith.io.streams import check_writable
    from tunesmith.io.weights.files import read_weights

    one_standard_input(*candidates, *forests, *references, weights)
    set_memory(memory)
    if not forests and (nbest is not None or prune is not None):
        raise UsageError(f"--{'prune' if nbest is None else 'nbest'} goes with --forests; drop it")
    if forests:
        if candidates or scores or column or statistics:
            raise UsageError("--forests takes no --candidates, --scores and the like; drop them")
        if weights is None and (nbest is not None or prune is not None):
            raise UsageError("lists and pruning need weights; give --weights")
        if weights is not None and nbest is None and prune is None:
            raise UsageError("--weights with --forests goes with --nbest or --prune; drop it")
        _convert_forests(
            session, forests, references, format_name, feature, weights, nbest, prune, to, out
        )
    elif candidates:
        check_writable(out)
        target = _target(to, out)
        model = None if weights is None else read_weights(weights).weights
        derived = derived_features(feature, *([] if model is None else [(weights, model)]))
        candidate_set = read_candidates(
            candidates,
            references,
            format_name,
            scores,
            columns=column,
            keep_rows=True,
            derived=derived,
        )
        session.note(f"{candidate_set!r}")
        candidate_set = _with_statistics(candidate_set, statistics)
        _write(candidate_set, target, weights, model, out)
    elif weights is not None:
        if references or scores or column or statistics or feature or format_name:
            raise UsageError("a weights file takes --weights, --to and --out alone; drop the rest")
        check_writable(out)
        _convert_weights(weights, to, out)
    else:
        raise UsageError(
            "there is nothing to convert; give --candidates, --forests, or --weights alone"
        )


def _convert_forests(
    session: Session,
    paths: list[str],
    references: list[str],
    format_name: str | None,
    feature: list[str],
    weights: str | None,
    nbest: int | None,
    prune: str | None,
    to: str | None,
    out: str,
) -> None:
    """Write forests in another format, pruned if requested, or as lists."""
    from tunesmith.io.weights.files import read_weights

    pruning = None if prune is None else Pruning.of(prune)
    model = None if weights is None else read_weights(weights).weights
    lists = forest_writer = None
    if nbest is not None:
        check_size(nbest)
        lists = list_writer(out, to)
    else:
        forest_writer = _forest_writer(to, out)
    derived = derived_features(feature, *([] if model is None else [(weights, model)]))
    forests = read_forest_files(paths, references, format_name, derived)
    session.note(f"{forests!r}")
    values = None
    if model is not None:
        with names_of(weights):
            values = model.matched(forests.names)
    if pruning is not None and values is not None:
        forests = pruning.pruned(forests, values)
    if lists is not None and nbest is not None and values is not None:
        write_lists(forests, values, nbest, out, lists)
    elif forest_writer is not None:
        forest_writer.write(forests, out)
        warn_of_lost(forest_writer, forests, out)


def _forest_writer(to: str | None, out: str) -> ForestFormat:
    """Return the writer of forests; raise an error if the result cannot be written."""
    from tunesmith.io.forests.base import FOREST_FORMATS
    from tunesmith.io.forests.write import forest_format_of
    from tunesmith.io.streams import check_writable

    try:
        writer = FOREST_FORMATS.create(to or forest_format_of(out))
    except UsageError as error:
        if to is not None:
            raise
        raise UsageError(str(error).replace("; name one of", "; name one with --to:")) from None
    if not os.path.isdir(out):  # one that is empty is fine where forests are a file each
        check_writable(out)
    return writer


def _target(to: str | None, out: str) -> str:
    from tunesmith.io.lists.base import FORMATS
    from tunesmith.io.write import format_of

    if to is None:
        return format_of(out)
    FORMATS.create(to)
    return to


def _with_statistics(candidates: CandidateSet, specs: list[str]) -> CandidateSet:
    from tunesmith.metrics.base import METRICS
    from tunesmith.tasks.lists import TuningSet

    for spec in specs:
        metric = METRICS.create(spec)
        stats = TuningSet(candidates, metric).stats
        counted = dict(zip(metric.statistic_columns(), stats.T.astype(float), strict=True))
        candidates = replace(candidates, columns={**candidates.columns, **counted})
    return candidates


def _write(
    candidates: CandidateSet,
    target: str,
    weights: str | None,
    model: Weights | None,
    out: str,
) -> None:
    import numpy as np

    from tunesmith.io.lists.base import FORMATS

    totals = candidates.totals
    if totals is None:
        totals = np.full(len(candidates), np.nan)
    if model is not None:
        with names_of(weights):
            values = model.matched(candidates.features.names)
        totals = candidates.features.dot(values)
    writer = FORMATS.create(target)
    warn_of_lost(writer, candidates, out)
    writer.write(candidates, np.arange(len(candidates)), totals, out)


def warn_of_lost(
    writer: CandidateFormat | ForestFormat, data: CandidateSet | Forests, out: str
) -> None:
    """Warn of what a format has no place for; raise an error if a text would be several."""
    from tunesmith.data.candidates import CandidateSet
    from tunesmith.io.values import check_one_line

    if isinstance(data, CandidateSet) and "white space" not in writer.holds:
        check_one_line(data)
    there = {
        "references": data.references is not None,
        "sources": data.sources is not None,
        "columns": bool(getattr(data, "columns", ())),
        "white space": getattr(data, "originals", None) is not None,
    }
    lost = [part for part, is_there in there.items() if is_there and part not in writer.holds]
    if lost:
        warnings.warn(
            f"{out}: format {writer.name} has no place for {' and '.join(lost)}", stacklevel=2
        )


def _convert_weights(path: str, to: str | None, out: str) -> None:
    from tunesmith.io.streams import write_atomically
    from tunesmith.io.weights.base import WEIGHTS_FORMATS
    from tunesmith.io.weights.files import read_weights

    if to is not None and to not in WEIGHTS_FORMATS.names():
        raise UnknownNameError("weights format", to, WEIGHTS_FORMATS.names())
    target = to or _of_ending(out)
    weights_file = read_weights(path)
    write_atomically(out, WEIGHTS_FORMATS.get(target)().write(weights_file.weights, b""))


def _of_ending(out: str) -> str:
    from tunesmith.io.compression import without_suffix
    from tunesmith.io.weights.base import WEIGHTS_FORMATS

    for name in WEIGHTS_FORMATS.names():
        suffixes: tuple[str, ...] = getattr(WEIGHTS_FORMATS.get(name), "suffixes", ())
        if suffixes and without_suffix(out).lower().endswith(suffixes):
            return name
    known = ", ".join(WEIGHTS_FORMATS.names())
    raise UsageError(f"the ending of '{out}' is of no weights format; name one with --to: {known}")
