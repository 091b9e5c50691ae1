"""Options that several commands take, and what is done with them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from tunesmith.errors import UsageError, WeightNamesError

Candidates = Annotated[
    list[str],
    typer.Option(
        help="n-best lists (.gz too, - is standard input); repeat it to merge several.",
        metavar="FILE",
    ),
]
References = Annotated[
    list[str],
    typer.Option(
        help="References, one a line; repeat it for several.", show_default=False, metavar="FILE"
    ),
]
MetricName = Annotated[
    str, typer.Option(help="Metric with its options, as bleu or bleu:tokenize=13a.", metavar="NAME")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of the candidates; recognised by default.",
        show_default=False,
        metavar="NAME",
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


@contextlib.contextmanager
def names_of(path: str | None) -> Iterator[None]:
    """Name the weights file in an error about names."""
    try:
        yield
    except WeightNamesError as error:
        raise WeightNamesError(f"{path}: {error}") from None


def print_json(found: dict[str, Any]) -> None:
    """Write an object to standard output."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=not utf8, allow_nan=False) + "\n")
