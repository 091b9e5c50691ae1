"""Running checks, and seeing which of them fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tunesmith.parallel.local import threads
from tunesmith.testing import Check, ConformanceError, NotApplicable


def failing(checks: Sequence[Check[Any]]) -> dict[str, str]:
    """Return the message of each check that fails, in their order."""
    found = {}
    with threads(1):  # the sets are small: starting threads would take longer than the work
        for check in checks:
            try:
                check()
            except NotApplicable:
                continue
            except ConformanceError as error:
                found[error.check] = str(error)
    return found


def caught(checks: Sequence[Check[Any]], first: str, others: set[str], said: str) -> None:
    """Demand that just these checks fail, the first with a message that helps."""
    messages = failing(checks)
    assert set(messages) == {first, *others}, messages
    assert next(iter(messages)) == first, messages
    text = messages[first]
    assert said in text, text
    assert text.startswith(f"{checks[0].subject} fails {first}: "), text
    assert "\n" not in text, text
    assert all(text.rpartition("; ")), "no remedy"
