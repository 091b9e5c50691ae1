"""Options that several commands take, and what is done with them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.options.reading import reading
from tunesmith.errors import UsageError, WeightNamesError

if TYPE_CHECKING:
    from tunesmith.data.candidates import CandidateSet
    from tunesmith.derived.base import Derived
    from tunesmith.metrics.base import Metric

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
MetricName = Annotated[
    str,
    typer.Option(
        "--metric",
        "-m",
        help="Metric with its options, such as bleu:tokenize=13a; path/to/file.py:Name runs "
        "that file.",
        metavar="NAME",
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
        help="A file with one number per line for each candidate, as a further feature or a column "
        "to tune for; repeat it for several.",
        show_default=False,
        metavar="NAME=FILE",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Names of weights and features must be the same.")
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
) -> CandidateSet:
    """Read a set with everything that the options say of it.

    What a metric takes as its column is no feature.
    """
    from tunesmith.data.columns import with_columns
    from tunesmith.io.read import read

    files = dict(_named_file(text) for text in scores)
    if len(files) < len(scores):
        raise UsageError("two --scores have the same name; rename one")
    costs = frozenset(n for m in metrics if not m.higher_is_better for n in m.columns)
    how = reading().with_costs(costs)
    found = read(candidates, references, format_name, files, columns, keep_rows, how)
    # What is not there a metric misses itself, and says how to give it.
    there = {*found.columns, *found.features.names}
    wanted = [name for metric in metrics for name in metric.columns if name in there]
    found = with_columns(found, wanted)
    if derived:
        from tunesmith.derived.adding import derive

        found = derive(found, derived)
    textless = found.references is not None and not found.has_texts
    for metric in metrics:
        if textless and metric.needs_references and not metric.is_given(found):
            raise UsageError(
                f"{metric.name} counts texts, and all candidates have an empty one; give texts"
            )
    return found


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


def print_json(found: dict[str, Any]) -> None:
    """Write an object to standard output."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=not utf8, allow_nan=False) + "\n")
