"""``tunesmith tune --sharded``: lists whose parts stay with the workers that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tunesmith.cli.options.reading import reading
from tunesmith.cli.options.sections import EXECUTION
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.metrics.base import Metric
    from tunesmith.tasks.shards import ShardedLists
    from tunesmith.tuners.base import Tuner

Sharded = Annotated[
    bool,
    typer.Option(
        "--sharded",
        help="Leave each file of --candidates, or of a folder that it names, to one worker, which "
        "keeps what it reads: with --engine processes or ray, and --tuner mert or pro.",
        rich_help_panel=EXECUTION,
    ),
]


def check_sharded(tuner: Tuner, candidates: Sequence[str], needing: dict[str, bool]) -> None:
    """Raise an error if something cannot be done on shards.

    Parameters
    ----------
    candidates
        What is to be read.
    needing
        Options that need the whole set, and whether they are given.
    """
    from tunesmith.parallel.device import is_demanded
    from tunesmith.parallel.engine import current_engine

    if not candidates:
        raise UsageError("--sharded is of lists; give --candidates, or drop it")
    tuner.check_shards(is_sharded=True)
    if current_engine().name == "threads":
        raise UsageError(
            "--sharded is for workers with memory of their own; give --engine processes or ray"
        )
    given = [option for option, is_given in needing.items() if is_given]
    if given:
        remedies = {
            "--scores": "put the numbers into the parts",
            "--feature": "add the features to the parts with `tunesmith convert`",
            "--folds": "give a test set",
            "--hold-out": "give a test set",
        }
        remedy = remedies.get(given[0], "drop one of them")
        raise UsageError(
            f"{given[0]} needs all lists in one place, and --sharded has none; {remedy}"
        )
    if is_demanded():
        raise UsageError("a GPU is used by one process; drop --device cuda or --sharded")


def read_sharded(
    candidates: Sequence[str],
    references: Sequence[str],
    format_name: str | None,
    metric: Metric,
    others: Sequence[Metric],
) -> ShardedLists:
    """Have the workers of the engine read the files, each its own."""
    from tunesmith.metrics.taken_columns import use_of
    from tunesmith.tasks.shards import ShardedLists

    how = reading().used_for(use_of((metric, *others)))
    return ShardedLists.read(candidates, references, metric, format_name, how, others)
