"""Values of JSON objects and of nested tables, checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tunesmith.data.candidates import GroupId
from tunesmith.errors import FormatError
from tunesmith.io.rows import Place

#: Characters of a value that errors show.
SHOWN = 60


@dataclass(frozen=True)
class Values:
    """The values of one object, and what to do if one of them is not as it should be."""

    record: Mapping[str, Any]
    place: Place
    remedy: str

    def error(self, problem: str) -> FormatError:
        """Return an error of this object."""
        return FormatError(*self.place, problem, self.remedy)

    def inner(self, name: str) -> Values:
        """Return the object within this one; an empty one where there is none."""
        value = self.record.get(name)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self.error(f"'{name}' is {shown(value)}, not an object")
        return Values(value, self.place, self.remedy)

    def objects(self, name: str) -> list[Values]:
        """Return a list of objects."""
        return [Values(entry, self.place, self.remedy) for entry in self._list(name, Mapping)]

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        return self._list(name, str)

    def lists(self, name: str) -> list[list[Any]]:
        """Return a list of lists."""
        return self._list(name, list)

    def numbers(self, name: str) -> list[float]:
        """Return a list of finite numbers."""
        return [self._checked(name, value) for value in self._list(name, int | float)]

    def text(self, name: str) -> str:
        """Return a text."""
        value = self.record.get(name)
        if not isinstance(value, str):
            raise self.error(f"'{name}' is {shown(value)}, not a text")
        return value

    def number(self, name: str) -> float:
        """Return a finite number."""
        return self._checked(name, self.record.get(name))

    def group(self, name: str) -> GroupId:
        """Return the id of a group."""
        value = self.record.get(name)
        if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
            raise self.error(f"'{name}' is {shown(value)}, not a whole number or a text")
        return value

    def finite(self, name: str, value: Any) -> float:
        """Return a number that was found under a name."""
        return self._checked(name, value)

    def _list(self, name: str, kind: Any) -> list[Any]:
        value = self.record.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(entry, kind) for entry in value):
            contents = {str: "texts", Mapping: "objects", list: "lists"}.get(kind, "numbers")
            raise self.error(f"'{name}' is {shown(value)}, not a list of {contents}")
        return value

    def _checked(self, name: str, value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not is_finite(value):
            raise self.error(f"'{name}' is {shown(value)}, not a finite number")
        return float(value)


def is_finite(value: float) -> bool:
    """Tell whether a number is finite as a float."""
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 300 digits
        return False


def shown(value: Any) -> str:
    """Return a value as errors show it."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."
