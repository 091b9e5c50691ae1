"""A command in this process, with what it prints kept."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass

from tunesmith.cli.app import main


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    errors: str


def run(arguments: list[str]) -> Ran:
    """Run a command."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    errors = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(arguments)
    out.flush()
    return Ran(code, out.buffer.getvalue().decode("utf-8", "replace"), errors.getvalue())


def wrong_end(ran: Ran) -> str | None:
    """Return what is wrong with how a command ended: by its exit code and its error lines."""
    lines = [line for line in ran.errors.splitlines() if line.startswith("tunesmith: error:")]
    if "Traceback (most recent call last)" in ran.errors:
        return "a traceback is shown"
    if ran.code == 0:
        return "exit code 0 with an error line" if lines else None
    if ran.code != 2:
        told = lines[-1][:150] if lines else ""
        return f"exit code {ran.code}: {told}"
    if len(lines) != 1:
        return f"exit code 2 with {len(lines)} error lines"
    if not ran.errors.endswith(lines[0] + "\n"):
        return "the error line is not the last"
    return None
