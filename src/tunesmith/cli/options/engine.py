"""Options of execution: threads of this process, worker processes, or a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunesmith.cli.options.adding import with_options
from tunesmith.cli.options.sections import EXECUTION
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.parallel.engine import Engine

#: Commands that use an engine.
COMMANDS = ("tune", "decode", "rerank", "evaluate")

Name = Annotated[
    str,
    typer.Option(
        help="Threads of this process, worker processes, or a Ray cluster; the result is the same.",
        metavar="threads|processes|ray",
        rich_help_panel=EXECUTION,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Worker processes [default: one for each of --threads, or for each core of the "
        "cluster].",
        show_default=False,
        metavar="INTEGER",
        rich_help_panel=EXECUTION,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="The cluster that --engine ray joins, or auto; without it one is started on "
        "this machine.",
        show_default=False,
        metavar="HOST:PORT",
        rich_help_panel=EXECUTION,
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        help="Seconds after which a worker that does not answer is replaced and its work "
        "repeated; 0 for never.",
        metavar="SECONDS",
        rich_help_panel=EXECUTION,
    ),
]


def with_engine(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of engines; it runs with the one that they name."""

    def run(
        engine: Name = "threads",
        workers: Workers = None,
        address: Address = None,
        worker_timeout: Timeout = 600.0,
        **options: Any,
    ) -> None:
        with _opened(engine, workers, address, worker_timeout) as opened:
            function(**options)
        if opened is not None and opened.losses:
            options["session"].say(_told(opened.losses))

    return with_options(function, run)


@contextlib.contextmanager
def _opened(
    name: str, workers: int | None, address: str | None, timeout: float
) -> Iterator[Engine | None]:
    """Have an engine work within the block, and end its workers however the block ends."""
    if not timeout >= 0:
        raise UsageError(f"--worker-timeout is {timeout:g}; give seconds, or 0 for never")
    if (name, workers, address) == ("threads", None, None):
        yield None
        return
    from tunesmith.parallel.choice import engine_of
    from tunesmith.parallel.engine import working_on

    with engine_of(name, workers, address, timeout or None) as engine, working_on(engine):
        yield engine


def _told(losses: Mapping[str, int]) -> str:
    """Say how many workers were lost: who has to replace many is slow."""
    count = sum(losses.values())
    lost = "a worker was" if count == 1 else f"{count} workers were"
    return f"{lost} lost and replaced ({'; '.join(losses)})"
