"""Weights of Travatar: ``name=value`` with white space between them, on one line or several."""

from __future__ import annotations

import math
import re

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.weights.base import WEIGHTS_FORMATS
from tunesmith.io.weights.cdec import first_line, is_significant, is_token

_TOKEN = re.compile(rb"\S+")


@WEIGHTS_FORMATS.register("travatar")
class TravatarWeights:
    """Weights of Travatar, ``name=value``."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line consists of ``name=number``."""
        tokens = [token.rpartition(b"=") for token in first_line(head).split()]
        return bool(tokens) and all(
            name and not math.isnan(float_or_nan(value)) for name, _, value in tokens
        )

    def read(self, text: bytes, name: str) -> Weights:
        """Take every pair."""
        weights: dict[str, float] = {}
        for number, line in enumerate(text.splitlines(), 1):
            for token in line.split() if is_significant(line) else ():
                feature, value = _split(token)
                if not feature or not value or feature.startswith("#"):
                    problem = f"'{token.decode()}' is no weight"
                    raise FormatError(name, number, problem, "write name=value without spaces")
                if feature in weights:
                    raise FormatError(name, number, f"'{feature}' is given twice", "give it once")
                weights[feature] = float_or_nan(value)
                if math.isnan(weights[feature]):
                    raise number_error(value, name, number, f"the weight of '{feature}'")
        return Weights.from_dict(weights)

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Keep lines and comments as they are; features that are new come at the end."""
        for name in weights:
            if not is_token(name) or name.startswith("#"):
                raise UsageError(f"a weight of Travatar cannot be called '{name}'; write json")
        written = set()

        def renewed(token: re.Match[bytes]) -> bytes:
            feature, _ = _split(token.group())
            written.add(feature)
            return token.group() if feature not in weights else _pair(weights, feature)

        lines = [
            _TOKEN.sub(renewed, line) if is_significant(line) else line
            for line in template.splitlines(keepends=True)
        ]
        new = [_pair(weights, name) + b"\n" for name in weights if name not in written]
        if new and lines and not lines[-1].endswith(b"\n"):
            lines.append(b"\n")
        return b"".join(lines + new)


def _split(token: bytes) -> tuple[str, bytes]:
    name, _, value = token.rpartition(b"=")
    return name.decode(), value


def _pair(weights: Weights, name: str) -> bytes:
    return f"{name}={weights[name]!r}".encode()
