"""The option of the device: lists are searched by the processor, or by a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from tunesmith.cli.options.adding import with_options
from tunesmith.cli.options.sections import EXECUTION
from tunesmith.errors import UsageError

#: Commands that can work on a GPU.
COMMANDS = ("tune", "rerank", "evaluate", "surface")

Device = Annotated[
    str | None,
    typer.Option(
        help="The processor, or a GPU (extra gpu); auto uses a GPU if there is one and the "
        "lists are large enough to "
        "benefit. The result is the same. Also TUNESMITH_DEVICE. "
        "[default: auto]",
        show_default=False,
        metavar="cpu|cuda|auto",
        rich_help_panel=EXECUTION,
    ),
]


def with_device(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option of the device; it runs on the one that it names."""

    def run(device: Device = None, **options: Any) -> None:
        if device is None:
            function(**options)
            return
        from tunesmith.parallel.device import device as on_device

        is_decoded = "candidates" not in options
        if device == "cuda" and not (is_decoded or options["candidates"]):
            raise UsageError(
                "--device cuda is for lists of candidates; give --candidates, or drop it"
            )
        with on_device(device):
            function(**options)

    return with_options(function, run)
