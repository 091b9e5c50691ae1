"""Whether a program can be started, and what to do if not."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence

from tunesmith.decoders.base import DecoderError
from tunesmith.errors import shortened

#: Arguments that a shell would make something of, and we do not.
_SHELL = re.compile(
    r"\|\|?|&&?|;|[0-9]?(?:<|>>?)(?:&[0-9])?|[0-9&]?>.+|~(?:/.*)?|.*\$[A-Za-z_({].*|.*`.*",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


def shell_syntax(arguments: Sequence[str]) -> str:
    """Return a remark on the first argument that is meant for a shell; empty if none is."""
    for argument in arguments:
        if _SHELL.fullmatch(argument) or (
            argument is arguments[0] and _ASSIGNMENT.fullmatch(argument)
        ):
            shown = shortened(argument)
            return f"a command runs without a shell, which '{shown}' needs; put it into a script"
    return ""


def check_program(arguments: Sequence[str]) -> str:
    """Return where a command's program is; raise an error if it cannot be started."""
    program = arguments[0]
    shown = shortened(program)
    path = find_program(program)
    if path is None:
        if remark := shell_syntax(arguments):
            raise DecoderError(f"there is no program '{shown}'; {remark}")
        where = "name one that exists" if os.sep in program else "is it on the PATH?"
        if os.path.isfile(program):
            where = f"write ./{shown}"
        raise DecoderError(f"there is no program '{shown}'; {where}")
    if os.path.isdir(path):
        raise DecoderError(f"'{shown}' is a folder; name the program in it")
    if not os.access(path, os.X_OK):
        raise DecoderError(f"'{shown}' is not executable; run chmod +x, or name its interpreter")
    _check_interpreter(path, shown)
    return path


def find_program(program: str) -> str | None:
    """Return the file of a program: a path as it is, a mere name on the PATH; None if none."""
    if os.sep in program:
        return program if os.path.exists(program) else None
    return shutil.which(program)


def _check_interpreter(path: str, shown: str) -> None:
    """Raise an error if a script does not say, or says wrongly, what runs it."""
    try:
        with open(path, "rb") as file:
            head = file.read(256)
    except OSError:  # executable and not readable: the system may start it all the same
        return
    if head.startswith(b"#!"):
        words = head[2:].split(b"\n", 1)[0].split()
        if not words or not os.path.exists(words[0]):
            name = words[0].decode("utf-8", "backslashreplace") if words else ""
            raise DecoderError(f"'{shown}' is a script for '{name}', which is not there; fix #!")
    elif b"\0" not in head:
        raise DecoderError(
            f"'{shown}' is no program: it is text without a first line such as #!/bin/sh; add one"
        )
