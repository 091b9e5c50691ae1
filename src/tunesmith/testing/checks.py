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
from tunesmith.parallel.local import threads

#: The same number, computed in another order, may differ by this much, relative to its scale.
CLOSE = 1e-9

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
    """A rule is broken: the problem, and how to fix it."""


def demand(condition: Any, problem: str, remedy: str) -> None:
    """Raise an error unless a rule holds."""
    if not condition:
        raise Broken(f"{problem}; {remedy}")


@dataclass(frozen=True)
class Check(Generic[P]):
    """One rule, checked on one plug-in when it is called.

    Attributes
    ----------
    subject
        The plug-in's name.
    rule
        The function that checks; its name is the check's, and its docstring states the rule.
    probe
        The plug-in with its test data.
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
            text = f"{described(error)}; {requirement(self.rule)}"
            raise ConformanceError(self.subject, self.name, text) from error


def instance_of(plugin: P | type[P]) -> P:
    """Return a plug-in; a class is instantiated with its defaults."""
    return plugin() if isinstance(plugin, type) else plugin


def checks_of(rules: Sequence[Callable[[P], None]], subject: str, probe: P) -> list[Check[P]]:
    """Return the rules as checks of one plug-in."""
    return [Check(subject, rule, probe) for rule in rules]


def run_all(checks: Sequence[Check[Any]]) -> None:
    """Run checks; the first that fails raises its error, those that do not apply pass."""
    for check in checks:
        with contextlib.suppress(NotApplicable):
            check()


def requirement(rule: Callable[..., Any]) -> str:
    """Return what a rule requires, from its docstring."""
    text = (rule.__doc__ or "").strip().split("\n")[0].rstrip(".")
    return f"it should {text[:1].lower()}{text[1:]}"


def described(error: BaseException) -> str:
    """Describe what was raised and where."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{text[:300]} (raised at {os.path.basename(last.filename)}:{last.lineno})"


def name_of(plugin: object) -> str:
    """Return the name of a plug-in."""
    return str(getattr(plugin, "name", None) or type(plugin).__name__)


def demand_no_global_randomness(work: Callable[[], R], same: Callable[[R, R], bool]) -> None:
    """Run twice with different seeds of the global generators, which must not matter."""
    results = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002  (the state that must not matter)
        before = _global_state()
        results.append(work())
        demand(
            _global_state() == before,
            "it draws from the global random numbers of Python or numpy",
            "use the generator that it is given, or none",
        )
    demand(
        same(*results),
        "two runs on the same input differ",
        "draw from nothing but the generator that it is given, and keep no state between calls",
    )


def demand_same_for_threads(work: Callable[[], Any], subject: str, remedy: str) -> None:
    """Run with one thread and with two, which must give the same bits."""
    results = []
    for count in (1, 2):
        with threads(count):
            results.append(work())
    demand(same_bits(*results), f"{subject} differ between one thread and two", remedy)


def same_bits(a: Any, b: Any) -> bool:
    """Tell whether two arrays are the same to the last bit."""
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


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
