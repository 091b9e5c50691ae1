"""Errors that a user can act on: one line each, with the place and the remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

#: Characters of what a message shows of a file.
LONGEST = 400
#: Where no name is near, so many are listed at most; of more (there may be a million features)
#: the first few.
MANY, FEW = 40, 3


class TunesmithError(Exception):
    """Wrong input or usage; its text is one line that says what to do."""


class FormatError(TunesmithError):
    """A file does not hold what it should.

    Parameters
    ----------
    path
        The file as the user named it.
    line
        Its line, from 1; None where the whole file is meant.
    problem, remedy
        What is wrong, and what to do about it.
    """

    def __init__(self, path: str, line: int | None, problem: str, remedy: str) -> None:
        self.path = path
        self.line = line
        self.problem = problem
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {shortened(problem)}; {remedy}")


class UsageError(TunesmithError):
    """Options or arguments that do not go together."""


class UnknownNameError(TunesmithError):
    """A name that nothing is registered under; the nearest ones are shown."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = nearest(name, names) if len(names) > MANY else nearest(name, names, MANY)
        remedy = f"did you mean {' or '.join(near)}?" if near else "there is none"
        super().__init__(f"unknown {kind} '{shortened(name)}'; {remedy}")


class WeightNamesError(TunesmithError):
    """Names of weights and names of features that do not go together."""


class MissingExtraError(TunesmithError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package; pip install 'tunesmith[{extra}]'")


def nearest(name: str, known: Sequence[str], otherwise: int = FEW, alike: float = 0.5) -> list[str]:
    """Return up to three names that look like one, or the first few where none does.

    Those that begin with it come before all others: it may be an abbreviation.
    """
    longer = [other for other in known if name and other.startswith(name)]
    near = difflib.get_close_matches(name[:LONGEST], longer, n=3, cutoff=0.0)
    near = near or difflib.get_close_matches(name[:LONGEST], known, n=3, cutoff=alike)
    return near or list(known[:otherwise])


def shortened(text: str) -> str:
    """Return a text without its middle if it is very long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 50]} ... {text[-40:]}"


def one_line(message: str) -> str:
    """Return a message in one line, in which nothing of a file steers a terminal."""
    line = re.sub(r"[ \t\r\n]+", " ", message).strip()
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
