"""Weights of Moses: ``Name= v v ...`` a line, alone or as the section [weight] of a moses.ini.

A name with several values, on one line or on several, becomes Name_1, Name_2 ..., as in
the n-best lists.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError
from tunesmith.io.formats import WEIGHTS_FORMATS
from tunesmith.io.numbers import number_error, parse_slowly

_SECTION = re.compile(rb"\s*\[(.+?)\]\s*")


@WEIGHTS_FORMATS.register("moses")
class MosesWeights:
    """Dense weights of Moses, ``Name= value`` a line."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line is ``Name= number``."""
        for line in head.splitlines():
            if line.strip() and not line.lstrip().startswith(b"#"):
                return b"= " in line and not _SECTION.fullmatch(line)
        return False

    def read(self, text: bytes, name: str) -> Weights:
        """Take every line."""
        return _named(_entries(enumerate(text.splitlines(), 1), name))

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Keep the lines as they are laid out; features that are new come at the end."""
        return b"\n".join(_rewritten(template.splitlines(), weights)) + b"\n"


@WEIGHTS_FORMATS.register("moses-ini")
class MosesIni:
    """The section [weight] of a moses.ini."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether there is a section [weight]."""
        return any(_is_weight_section(line) for line in head.splitlines())

    def read(self, text: bytes, name: str) -> Weights:
        """Take the lines of the section."""
        lines = text.splitlines()
        first, last = _section(lines)
        return _named(_entries(enumerate(lines[first:last], first + 1), name))

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Replace the section's values and leave the rest of the file alone."""
        lines = template.splitlines()
        first, last = _section(lines)
        section = _rewritten(lines[first:last], weights)
        return b"\n".join([*lines[:first], *section, *lines[last:]]) + b"\n"


def _is_weight_section(line: bytes) -> bool:
    found = _SECTION.fullmatch(line)
    return found is not None and found.group(1) == b"weight"


def _section(lines: list[bytes]) -> tuple[int, int]:
    """Return the first line of [weight] and the one after its last, from 0."""
    first = next(i for i, line in enumerate(lines) if _is_weight_section(line)) + 1
    last = next((i for i in range(first, len(lines)) if _SECTION.fullmatch(lines[i])), len(lines))
    return first, last


def _fields(line: bytes) -> tuple[str, list[bytes]] | None:
    """Split ``Name= v v``; None for an empty line or a comment."""
    if not line.strip() or line.lstrip().startswith(b"#"):
        return None
    name, _, values = line.partition(b"=")
    return name.strip().decode(), values.split()


def _entries(numbered: Iterable[tuple[int, bytes]], path: str) -> Iterator[tuple[str, float]]:
    for number, line in numbered:
        entry = _fields(line)
        if entry is None:
            continue
        name, values = entry
        if b"=" not in line or not name or not values:
            shown = line.strip().decode()
            raise FormatError(path, number, f"'{shown}' is no weight", "write Name= value")
        for text in values:
            value = parse_slowly(text)
            if math.isnan(value):
                raise number_error(text, path, number, f"the weight of '{name}'")
            yield name, value


def _named(entries: Iterator[tuple[str, float]]) -> Weights:
    values: dict[str, list[float]] = {}
    for name, value in entries:
        values.setdefault(name, []).append(value)
    return Weights.from_dict(
        {
            name if len(held) == 1 else f"{name}_{k}": value
            for name, held in values.items()
            for k, value in enumerate(held, 1)
        }
    )


def _rewritten(lines: list[bytes], weights: Weights) -> Iterator[bytes]:
    """Yield the lines with new values."""
    entries = [_fields(line) for line in lines]
    total: dict[str, int] = {}
    for name, values in filter(None, entries):
        total[name] = total.get(name, 0) + len(values)
    met = dict.fromkeys(total, 0)
    written = set()
    for line, entry in zip(lines, entries, strict=True):
        if entry is None:
            yield line
            continue
        name, values = entry
        shown = []
        for _ in values:
            met[name] += 1
            feature = name if total[name] == 1 else f"{name}_{met[name]}"
            written.add(feature)
            shown.append(f"{weights[feature]!r}")
        yield f"{name}= {' '.join(shown)}".encode()
    for feature in weights:
        if feature not in written:
            yield f"{feature}= {weights[feature]!r}".encode()
