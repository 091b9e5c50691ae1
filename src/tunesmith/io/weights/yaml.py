"""Weights as YAML: a mapping of names to numbers, by itself or as ``weights`` of another."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, MissingExtraError
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.weights.base import WEIGHTS_FORMATS
from tunesmith.io.weights.cdec import first_line, has_bare_pair

_KEY = re.compile(rb"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#\[\]{}"'=][^#]*?)\s*:(\s.*)?""")
_PLAIN = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)
#: Words that are not text in YAML 1.1.
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


@WEIGHTS_FORMATS.register("yaml")
class YamlWeights:
    """YAML, ``name: value`` a line."""

    suffixes = (".yaml", ".yml")

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line is a key, or begins a YAML document."""
        line = first_line(head)
        if line.startswith((b"---", b"%YAML")):
            return True
        return _KEY.fullmatch(line) is not None and not has_bare_pair(head)

    def read(self, text: bytes, name: str) -> Weights:
        """Take ``weights`` of the mapping, or the mapping itself."""
        weights: dict[str, float] = {}
        for key, value in _entries(_mapping(text.decode(), name), name):
            line = key.start_mark.line + 1
            feature, number = key.value, getattr(value, "value", None)
            if feature in weights:
                raise FormatError(name, line, f"'{feature}' is given twice", "give it once")
            if not isinstance(number, str):
                problem = f"the weight of '{feature}' is not a number"
                raise FormatError(name, line, problem, "give a number")
            weights[feature] = float_or_nan(number.encode())
            if math.isnan(weights[feature]):
                raise number_error(number.encode(), name, line, f"the weight of '{feature}'")
        return Weights.from_dict(weights)

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Replace values and leave all else as it is; features that are new come at the end."""
        text = template.decode()
        if not text.strip():
            return "".join(f"{_key(n)}: {_number(v)}\n" for n, v in weights.items()).encode()
        mapping = _mapping(text, "the template")
        entries = _entries(mapping, "the template")
        places = {value.start_mark.index for _, value in entries}
        if len(places) < len(entries):  # aliases: one place stands for several weights
            return self.write(weights, b"")
        written = {key.value for key, _ in entries}
        new = [f"{_key(n)}: {_number(v)}" for n, v in weights.items() if n not in written]
        last = entries[-1][1]
        end = last.end_mark.index
        if mapping.flow_style:
            added = "".join(f", {entry}" for entry in new)
        else:
            indent = " " * entries[-1][0].start_mark.column
            end = text.find("\n", last.end_mark.index)
            added = "".join(f"\n{indent}{entry}" for entry in new)
        end = len(text) if end < 0 else end
        text = text[:end] + added + text[end:]
        for key, value in reversed(entries):
            if key.value in weights:
                lo, hi = value.start_mark.index, value.end_mark.index
                text = text[:lo] + _number(weights[key.value]) + text[hi:]
        return text.encode()


def _mapping(text: str, name: str) -> Any:
    """Return the node that holds the weights; texts stay as they are written."""
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("YAML weights", "formats") from None
    try:
        # Nodes are text with its place: no object is made, and no word becomes a truth value.
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = str(getattr(error, "problem", None) or "it cannot be read")
        line = None if mark is None else mark.line + 1
        raise FormatError(name, line, f"this is not YAML ({problem})", "repair it") from None
    if not isinstance(node, yaml.MappingNode):
        line = 1 if node is None else node.start_mark.line + 1
        raise FormatError(name, line, "this is no mapping", "write name: value, one per line")
    for key, value in node.value:
        if key.value == "weights" and isinstance(value, yaml.MappingNode):
            return value
    return node


def _entries(mapping: Any, name: str) -> list[tuple[Any, Any]]:
    for key, _ in mapping.value:
        if not isinstance(key.value, str):
            line = key.start_mark.line + 1
            raise FormatError(name, line, "a name is not text", "write name: value")
    return list(mapping.value)


def _key(name: str) -> str:
    plain = _PLAIN.fullmatch(name) and name.lower() not in _WORDS
    return name if plain else json.dumps(name, ensure_ascii=False)


def _number(value: float) -> str:
    """Write a number so that YAML 1.1 takes it for one: with a point, as 1.0e-05."""
    text = repr(float(value))
    return text if "." in text else text.replace("e", ".0e")
