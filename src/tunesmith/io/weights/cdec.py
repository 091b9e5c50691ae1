"""Weights of cdec and Joshua: ``name value`` a line. Moses' sparse weights are written so too."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.weights.base import WEIGHTS_FORMATS

_LINE = re.compile(rb"(\s*\S+\s+)(\S+)(\s*)")


@WEIGHTS_FORMATS.register("cdec")
class CdecWeights:
    """Weights of cdec and Joshua, ``name value`` a line."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line is a name and a number, and not a key of YAML."""
        line = first_line(head)
        return is_pair(line) and (not line.split()[0].endswith(b":") or has_bare_pair(head))

    def read(self, text: bytes, name: str) -> Weights:
        """Take every line that is not a comment."""
        weights: dict[str, float] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not is_significant(line):
                continue
            fields = line.split()
            if len(fields) != 2:
                shown = line.strip().decode()
                raise FormatError(name, number, f"'{shown}' is no weight", "write name value")
            feature = fields[0].decode()
            if feature.endswith("="):
                problem = f"'{feature}' ends as a name of Moses does"
                raise FormatError(name, number, problem, "write name value")
            if feature in weights:
                raise FormatError(name, number, f"'{feature}' is given twice", "give it once")
            weights[feature] = float_or_nan(fields[1])
            if math.isnan(weights[feature]):
                raise number_error(fields[1], name, number, f"the weight of '{feature}'")
        return Weights.from_dict(weights)

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Keep lines and comments as they are; features that are new come at the end."""
        if weights and all(name.endswith(":") for name in weights):
            raise UsageError("all names end in a colon, as keys of YAML do; write yaml or json")
        for name in weights:
            if not is_token(name) or name.startswith("#"):
                raise UsageError(f"a weight of cdec cannot be called '{name}'; write json")
            if name.endswith("="):
                raise UsageError(f"'{name}' ends as a name of Moses does; write json")
        return b"".join(self._lines(weights, template))

    def _lines(self, weights: Weights, template: bytes) -> Iterator[bytes]:
        written = set()
        last = b"\n"
        for line in template.splitlines(keepends=True):
            last = line
            match = _LINE.fullmatch(line) if is_significant(line) else None
            if match is None:
                yield line
                continue
            name = line.split()[0].decode()
            written.add(name)
            value = match.group(2).decode() if name not in weights else repr(weights[name])
            yield match.group(1) + value.encode() + match.group(3)
        new = [name for name in weights if name not in written]
        if new and not last.endswith(b"\n"):
            yield b"\n"
        for name in new:
            yield f"{name} {weights[name]!r}\n".encode()


def is_token(name: str) -> bool:
    """Tell whether a name is read as it is written: white space that is not ASCII is no space."""
    return name.encode().split() == [name.encode()]


def is_significant(line: bytes) -> bool:
    """Tell whether a line is neither empty nor a comment."""
    return bool(line.strip()) and not line.lstrip().startswith(b"#")


def first_line(text: bytes) -> bytes:
    """Return the first line that is neither empty nor a comment."""
    return next(filter(is_significant, text.splitlines()), b"")


def is_pair(line: bytes) -> bool:
    """Tell whether a line is a name and a number."""
    fields = line.split()
    if len(fields) != 2 or fields[0].endswith(b"=") or fields[0] == b"-":
        return False
    return not math.isnan(float_or_nan(fields[1]))


def has_bare_pair(text: bytes) -> bool:
    """Tell whether some line is a name without a colon and a number.

    Names of words may end in a colon; keys of YAML all do.
    """
    lines = filter(is_significant, text.splitlines())
    return any(is_pair(line) and not line.split()[0].endswith(b":") for line in lines)
