"""The options of a command, from the command itself."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import typer

from tunesmith.cli.app import build


@dataclass(frozen=True)
class Flag:
    """An option that a command declares.

    Attributes
    ----------
    names
        Its own names, and that which turns it off.
    metavar
        What stands for its value in the help; None where it takes none.
    several
        Whether it may be repeated.
    """

    names: tuple[str, ...]
    metavar: str | None
    several: bool

    @property
    def name(self) -> str:
        """Its name without dashes."""
        return self.names[0].lstrip("-")


@functools.cache
def flags_of(*arguments: str) -> tuple[Flag, ...]:
    """Return the options of a command; those of ``tune`` depend on its tuner."""
    made: Any = typer.main.get_command(build(list(arguments)))
    found = []
    for declared in made.commands[arguments[0]].params:
        if not declared.opts[0].startswith("-"):
            continue
        names = (*declared.opts, *declared.secondary_opts)
        takes_none = getattr(declared, "is_flag", False)
        metavar = None if takes_none else declared.metavar or "TEXT"
        found.append(Flag(names, metavar, bool(getattr(declared, "multiple", False))))
    return tuple(found)
