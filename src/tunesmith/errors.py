"""Errors that a user can act on, one line each, with the place and the remedy; and warnings."""

from __future__ import annotations

import contextlib
import difflib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence

#: Characters of what a message shows of a file.
LONGEST = 400
#: Without a near name, up to this many are listed; of more (there may be a million features) only
#: the first few.
MANY, FEW = 40, 3
#: What people tune for that candidates bring with them.
SCORES = frozenset(
    (
        *("accuracy", "correct", "score", "reward", "label", "grade", "quality", "exact_match"),
        *("f1", "comet", "bleurt", "metricx", "bertscore", "rouge", "meteor", "pass@1"),
    )
)


#: Packages that are called otherwise when they are imported.
PACKAGES = {
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "thot": "sil-thot",
    "machine": "sil-machine",
}


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
        self.remedy = remedy
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {shortened(problem)}; {remedy}")


class UsageError(TunesmithError):
    """Options or arguments that do not go together."""


class UnknownNameError(TunesmithError):
    """A name that nothing is registered under; the nearest ones are shown."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = nearest(name, names, FEW if len(names) > MANY else MANY)
        remedy = f"did you mean {' or '.join(near)}?" if near else "there is none"
        is_far = kind == "metric" and not nearest(name.lower(), names, 0)
        if kind == "metric" and (name.lower() in SCORES or is_far):
            remedy = f"a score that comes with the candidates is column:{name}, a cost cost:{name}"
        super().__init__(f"unknown {kind} '{shortened(name)}'; {remedy}")


class WeightNamesError(TunesmithError):
    """Names of weights and names of features that do not go together."""


class MissingExtraError(TunesmithError):
    """An optional dependency is not installed.

    While an ImportError is handled, the message names what could not be imported.
    """

    def __init__(self, what: str, extra: str) -> None:
        error = sys.exc_info()[1]
        name = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
        package = PACKAGES.get(name, name) or "an optional package"
        super().__init__(f"{what} needs {package}; pip install 'tunesmith[{extra}]'")


def nearest(name: str, known: Sequence[str], otherwise: int = FEW, alike: float = 0.5) -> list[str]:
    """Return up to three names that look like one, or the first few where none does.

    Those that begin with it come before all others: it may be an abbreviation.
    """
    longer = [other for other in known if name and other.startswith(name)]
    near = difflib.get_close_matches(name[:LONGEST], longer, n=3, cutoff=0.0)
    near = near or difflib.get_close_matches(name[:LONGEST], known, n=3, cutoff=alike)
    near = near or [other for other in known if other.lower() == name.lower()]
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


@contextlib.contextmanager
def recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Record all warnings within the block, repeated ones too, instead of issuing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield caught


def reissue(caught: Iterable[warnings.WarningMessage]) -> None:
    """Issue recorded warnings, as from where they came."""
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def honour_old_names(cls: type, new_names: Mapping[str, str]) -> None:
    """Let a new subclass override and call methods by deprecated names, with a warning.

    Parameters
    ----------
    cls
        The class, within ``__init_subclass__`` of a base class that has both names of each method.
    new_names
        The new names by the old ones.
    """
    for old, new in new_names.items():
        owner = next(base for base in cls.__mro__ if old in vars(base) or new in vars(base))
        if new not in vars(owner):
            text = f"{cls.__name__}: the method {old} is deprecated; name it {new}"
            warnings.warn(text, DeprecationWarning, stacklevel=3)
            setattr(cls, new, vars(owner)[old])
        elif old not in vars(owner):
            setattr(cls, old, vars(owner)[new])
