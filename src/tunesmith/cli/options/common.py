"""Options that several commands take, and what is done with them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.options.reading import reading
from tunesmith.errors import UsageError, WeightNamesError

if TYPE_CHECKING:
    from rich.console import Console

    from tunesmith.data.candidates import CandidateSet
    from tunesmith.derived.base import Derived
    from tunesmith.metrics.base import Metric

#: Characters of a line where results do not go to a terminal.
WIDTH_OF_FILES = 200

Candidates = Annotated[
    list[str],
    typer.Option(
        "--candidates",
        "-c",
        help="Candidates in any format (- is standard input); repeat it to merge several.",
        metavar="FILE",
    ),
]
References = Annotated[
    list[str],
    typer.Option(
        "--references",
        "-r",
        help="References, one per line; repeat it for several.",
        show_default=False,
        metavar="FILE",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        help="Format of the candidates or forests, with its options; recognised by default. "
        "path/to/file.py:Name runs that file.",
        show_default=False,
        metavar="NAME",
    ),
]
Scores = Annotated[
    list[str],
    typer.Option(
        help="A file with one number per candidate, one per line: a further "
        "feature, or a column to tune for; repeat it for several.",
        show_default=False,
        metavar="NAME=FILE",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Refuse weights and features whose names differ.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def one_standard_input(*paths: str | None) -> None:
    """Raise an error if standard input is to be read twice."""
    if paths.count("-") > 1:
        raise UsageError("standard input can be read once; give a file for the others")


def check_not_read(flag: str, out: str | None, read: Iterable[str | None]) -> None:
    """Raise an error if the output would take the place of a file that is read."""
    if out is None or out == "-" or not os.path.exists(out):
        return
    for path in read:
        if path and path != "-" and os.path.exists(path) and os.path.samefile(path, out):
            raise UsageError(f"{flag} {out} is read too, and would be lost; name another one")


def read_candidates(
    candidates: list[str],
    references: list[str],
    format_name: str | None,
    scores: list[str],
    metrics: Sequence[Metric] = (),
    columns: Sequence[str] = (),
    keep_rows: bool = False,
    derived: Sequence[Derived] = (),
    weighted: Collection[str] = (),
    needed: Sequence[str] = (),
    compares: bool = True,
) -> CandidateSet:
    """Read a set with everything that the options say of it.

    What a metric takes as its column is no feature, unless it is in ``weighted``, which has the
    names of given weights. ``needed`` are further columns to read. Where texts are not compared
    with references, nothing is said of how these look.
    """
    from tunesmith.io.read import read
    from tunesmith.metrics.taken_columns import use_of, with_columns_of

    files = dict(_named_file(text) for text in scores)
    if len(files) < len(scores):
        raise UsageError("two --scores have the same name; rename one")
    use = use_of(metrics, needed)
    how = reading().used_for(replace(use, compares=use.compares and compares))
    candidate_set = read(candidates, references, format_name, files, columns, keep_rows, how)
    candidate_set = with_columns_of(candidate_set, metrics, weighted)
    _check_directions(metrics, files)
    if derived:
        from tunesmith.derived.adding import derive

        candidate_set = derive(candidate_set, derived)
    return candidate_set


def _check_directions(metrics: Sequence[Metric], files: Mapping[str, str]) -> None:
    """Warn if a metric is the more, the better, and its scores the other way round."""
    from tunesmith.io.score_files import are_errors

    for metric in metrics:
        for name in {*metric.columns} - metric.costs:
            if files.get(name, "-") != "-" and are_errors(files[name]):
                warnings.warn(
                    f"{files[name]}: these look like scores of MetricX, of which less is better; "
                    f"give --metric cost:{name}",
                    stacklevel=3,
                )


def _named_file(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not name or not equals or not path:
        raise UsageError(f"--scores is '{text}'; write NAME=FILE")
    return name, path


@contextlib.contextmanager
def names_of(path: str | None) -> Iterator[None]:
    """Name the weights file in an error about names."""
    try:
        yield
    except WeightNamesError as error:
        if path is None:
            raise
        raise WeightNamesError(f"{path}: {error}") from None


def result_console() -> Console:
    """Return where results are printed; they are not broken into short lines in files and pipes."""
    from rich.console import Console

    is_file = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=WIDTH_OF_FILES if is_file else None)


def print_json(entries: dict[str, Any]) -> None:
    """Write an object to standard output."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(entries, indent=2, ensure_ascii=not utf8, allow_nan=False) + "\n")
