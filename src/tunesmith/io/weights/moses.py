"""Weights of Moses: ``Name= v v ...`` a line, alone or as the section [weight] of a moses.ini.

A name with several values, on one line or on several, becomes Name_1, Name_2 ..., as in
the n-best lists.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.moses_names import regrouped
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.weights.base import WEIGHTS_FORMATS

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
        return _named(_entries(enumerate(text.splitlines(), 1), name), name)

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Keep the lines as they are laid out; features that are new come at the end."""
        return b"".join(_rewritten(template.splitlines(keepends=True), weights))


@WEIGHTS_FORMATS.register("moses-ini")
class MosesIni:
    """The section [weight] of a moses.ini."""

    suffixes = (".ini",)

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether there is a section [weight]."""
        return any(_is_weight_section(line) for line in head.splitlines())

    def read(self, text: bytes, name: str) -> Weights:
        """Take the lines of the section."""
        lines = text.splitlines()
        first, last = _section(lines)
        for number, line in enumerate(lines[last:], last + 1):
            if _is_weight_section(line):
                problem = "there is a second section [weight]"
                raise FormatError(name, number, problem, "join the two")
        return _named(_entries(enumerate(lines[first:last], first + 1), name), name)

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Replace the section's values and leave the rest of the file alone."""
        lines = template.splitlines(keepends=True) or [b"[weight]\n"]
        first, last = _section(lines)
        section = _rewritten(lines[first:last], weights)
        return b"".join([*lines[:first], *section, *lines[last:]])


def _is_weight_section(line: bytes) -> bool:
    match = _SECTION.fullmatch(line)
    return match is not None and match.group(1) == b"weight"


def _section(lines: list[bytes]) -> tuple[int, int]:
    """Return the first line of [weight] and the one after its last, from 0."""
    first = next(i for i, line in enumerate(lines) if _is_weight_section(line)) + 1
    last = next((i for i in range(first, len(lines)) if _SECTION.fullmatch(lines[i])), len(lines))
    return first, last


def _fields(line: bytes) -> tuple[str, list[bytes]] | None:
    """Split ``Name= v v``; None for an empty line or a comment."""
    code = line.partition(b"#")[0]
    if not code.strip():
        return None
    name, _, values = code.rpartition(b"=")
    return name.strip().decode(), values.split()


def _entries(numbered: Iterable[tuple[int, bytes]], path: str) -> Iterator[tuple[str, float]]:
    for number, line in numbered:
        entry = _fields(line)
        if entry is None:
            continue
        name, values = entry
        if not name or not values or name[0] == "[" or any(c.isspace() for c in name):
            shown = line.strip().decode()
            raise FormatError(path, number, f"'{shown}' is no weight", "write Name= value")
        for text in values:
            value = float_or_nan(text)
            if math.isnan(value):
                raise number_error(text, path, number, f"the weight of '{name}'")
            yield name, value


def _named(entries: Iterable[tuple[str, float]], path: str) -> Weights:
    by_name: dict[str, list[float]] = {}
    for name, value in entries:
        by_name.setdefault(name, []).append(value)
    named = [
        (name if len(values) == 1 else f"{name}_{k}", value)
        for name, values in by_name.items()
        for k, value in enumerate(values, 1)
    ]
    weights = dict(named)
    if len(weights) < len(named):
        names = [name for name, _ in named]
        twice = next(name for name in names if names.count(name) > 1)
        raise FormatError(path, None, f"two weights are both called '{twice}'", "rename one")
    return Weights.from_dict(weights)


def _check_names(weights: Weights) -> None:
    for name in weights:
        if not name or "#" in name or "[" in name[:1] or any(c.isspace() for c in name):
            raise UsageError(f"a weight of Moses cannot be called '{name}'; write json")


def _rewritten(lines: list[bytes], weights: Weights) -> Iterator[bytes]:
    """Yield the lines with new values; comments and line ends stay."""
    _check_names(weights)
    entries = [_fields(line) for line in lines]
    total: dict[str, int] = {}
    for name, values in filter(None, entries):
        total[name] = total.get(name, 0) + len(values)
    met = dict.fromkeys(total, 0)
    written = set()
    end = b"\n"
    for line, entry in zip(lines, entries, strict=True):
        body = line.rstrip(b"\r\n")
        end = line[len(body) :] or end
        if entry is None:
            yield line
            continue
        name, values = entry
        shown = []
        for value in values:
            met[name] += 1
            feature = name if total[name] == 1 else f"{name}_{met[name]}"
            written.add(feature)
            shown.append(repr(weights[feature]) if feature in weights else value.decode())
        _, mark, comment = body.partition(b"#")
        remark = b" #" + comment if mark else b""
        yield f"{name}= {' '.join(shown)}".encode() + remark + line[len(body) :]
    new = regrouped([name for name in weights if name not in written], total)
    if new and lines and not lines[-1].endswith(b"\n"):
        yield end
    for name, features in new.items():
        yield f"{name}= {' '.join(repr(weights[f]) for f in features)}".encode() + end
