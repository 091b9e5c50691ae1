"""What a user gives for a program: arguments beside ours, and how lines of files end."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection

from tunesmith.errors import UsageError, shortened


def split(arguments: str) -> list[str]:
    """Split arguments as a shell does."""
    try:
        return shlex.split(arguments)
    except ValueError as error:
        problem = str(error).lower()
        raise UsageError(f"the arguments '{shortened(arguments)}': {problem}; fix them") from None


def check_extra(
    arguments: str, ours: Collection[str], program: str, normal: Callable[[str], str] = str
) -> None:
    """Raise an error if some arguments are options that we give ourselves.

    ``normal`` makes one of all the ways in which a program lets an option be written.
    """
    for word in split(arguments):
        if word.startswith("-") and normal(word.lstrip("-").partition("=")[0]) in ours:
            raise UsageError(f"'{word}' is for us to give to {program}; leave it out")


def line_end(text: bytes) -> bytes:
    """Return how the first line of a file ends, for lines that are added to it."""
    return b"\r\n" if text.partition(b"\n")[0].endswith(b"\r") else b"\n"
