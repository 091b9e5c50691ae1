"""Results without what differs from run to run."""

from __future__ import annotations

from typing import Any

#: Keys of JSON objects whose values depend on the clock, the machine, or what was warned of.
OF_THE_RUN = frozenset({"threads", "warnings", "inputs", "test_scored", "begun", "ended"})


def timeless(value: Any) -> Any:
    """Return JSON without such keys, at any depth."""
    if isinstance(value, dict):
        return {
            key: timeless(one)
            for key, one in value.items()
            if key not in OF_THE_RUN and not key.endswith("seconds")
        }
    if isinstance(value, list):
        return [timeless(one) for one in value]
    return value
