"""What all suites share: checks with names, and errors that say what to fix."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import traceback
import unittest
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from tunesmith.errors import MissingExtraError

P = TypeVar("P")
R = TypeVar("R")


class ConformanceError(AssertionError):
    """A plug-in breaks a rule.

    Attributes
    ----------
    subject
        The plug-in's name.
    check
        The name of the check that fails.
    """

    def __init__(self, subject: str, check: str, text: str) -> None:
        self.subject = subject
        self.check = check
        super().__init__(f"{subject} fails {check}: {text}")


class NotApplicable(unittest.SkipTest):
    """A check says nothing about this plug-in; pytest and unittest report it as skipped."""


class Broken(Exception):  # noqa: N818  (made into a ConformanceError)
    """A rule is broken: what happened, and how to fix it."""


def demand(condition: Any, problem: str, remedy: str) -> None:
    """Raise an error unless a rule holds."""
    if not condition:
        raise Broken(f"{problem}; {remedy}")


@dataclass(frozen=True)
class Check(Generic[P]):
    """One rule, held against one plug-in when it is called.

    Attributes
    ----------
    subject
        The plug-in's name.
    rule
        What is called; its name is the check's and its docstring says what is wanted.
    probe
        The plug-in with what it is tried on.
    """

    subject: str
    rule: Callable[[P], None]
    probe: P

    @property
    def name(self) -> str:
        """The rule's name."""
        return self.rule.__name__

    @property
    def __name__(self) -> str:
        return f"{self.subject}-{self.name}"  # what pytest takes for the id of a parameter

    def __repr__(self) -> str:
        return f"<check {self.name} of {self.subject}>"

    def __call__(self) -> None:
        """Raise a ConformanceError if the rule is broken."""
        try:
            with _seeded():
                self.rule(self.probe)
        except unittest.SkipTest:
            raise
        except Broken as error:
            raise ConformanceError(self.subject, self.name, str(error)) from error.__cause__
        except MissingExtraError as error:
            raise NotApplicable(str(error)) from None
        except Exception as error:
            text = f"{described(error)}; {wanted(self.rule)}"
            raise ConformanceError(self.subject, self.name, text) from error


def checks_of(rules: Sequence[Callable[[P], None]], subject: str, probe: P) -> list[Check[P]]:
    """Return the rules as checks of one plug-in."""
    return [Check(subject, rule, probe) for rule in rules]


def run_all(checks: Sequence[Check[Any]]) -> None:
    """Run checks; the first that fails raises its error, those that do not apply pass."""
    for check in checks:
        with contextlib.suppress(NotApplicable):
            check()


def wanted(rule: Callable[..., Any]) -> str:
    """Return what a rule wants, from its docstring."""
    text = (rule.__doc__ or "").strip().split("\n")[0].rstrip(".")
    return f"it should {text[:1].lower()}{text[1:]}"


def described(error: BaseException) -> str:
    """Say what was raised and where."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{what[:300]} (raised at {os.path.basename(last.filename)}:{last.lineno})"


def name_of(plugin: object) -> str:
    """Return what a plug-in is called."""
    return str(getattr(plugin, "name", None) or type(plugin).__name__)


def demand_no_global_randomness(work: Callable[[], R], same: Callable[[R, R], bool]) -> None:
    """Run twice with other seeds of the global generators, which must not change anything."""
    found = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002  (the state that must not matter)
        before = _global_state()
        found.append(work())
        demand(
            _global_state() == before,
            "it draws from the global random numbers of Python or numpy",
            "use the generator that it is given, or none",
        )
    demand(
        same(*found),
        "two runs on the same input differ",
        "draw from nothing but the generator that it is given, and keep no state between calls",
    )


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """Give every check the same global random numbers, and leave those of others as they were."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


def _global_state() -> bytes:
    return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002
