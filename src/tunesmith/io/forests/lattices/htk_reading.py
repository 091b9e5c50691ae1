"""Reading HTK's lattices: fields of lines, nodes and arcs; see ``htk`` for the format."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tunesmith.data.candidates import GroupId
from tunesmith.data.raw_forest import RawForest
from tunesmith.errors import FormatError
from tunesmith.io.compression import without_suffix
from tunesmith.io.forests.base import Numbering, is_pipe, whole_number
from tunesmith.io.forests.lattices.base import (
    MARKS,
    NOWHERE,
    LatticeBuilder,
    fields_of,
    id_of,
)
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan, number_error, parse_number

NULL = "!NULL"
NO_WORDS = MARKS | {NULL, "!SENT_START", "!SENT_END"}
#: The features of fields whose names are not their own.
FEATURES = {"a": "acoustic", "l": "language", "ngram": "n"}
#: Features whose values are logarithms to the base of the header.
LOGARITHMS = frozenset({"acoustic", "language", "n", "r", "ds", *(f"x{k}" for k in range(1, 10))})
#: Fields of nodes and arcs that are no scores.
NO_SCORES = frozenset(
    {"I", "J", "S", "START", "E", "END", "W", "WORD", "L"}
    | {"t", "time", "v", "var", "d", "div", "s", "states"}
)
ENDINGS = (".lat", ".slf")

_VALUE = r"""("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')(?=[ \t\r\f\v]|\Z)|((?:[^ \t\r\f\v\\]|\\.)*+)"""
_FIELD = re.compile(rf"([^ \t\r\f\v=]++)=(?:{_VALUE})[ \t\r\f\v]*+")
_ESCAPED = re.compile(rb"\\([0-7]{3}|[^\n])")


def fields_in(text: str, source_name: str, line: int) -> list[tuple[str, str]]:
    """Return the fields of a line, without quotes."""
    if not any(c in text for c in "\"'\\#"):
        pairs = [part.partition("=") for part in fields_of(text)]
        if all(equals and name for name, equals, _ in pairs):
            return [(name, value) for name, _, value in pairs]
    fields = []
    at = len(text) - len(text.lstrip(" \t\r\f\v"))
    while at < len(text) and text[at] != "#":
        matched = _FIELD.match(text, at)
        if matched is None:
            problem = f"'{fields_of(text[at:])[0]}' is no field with its value"
            raise FormatError(source_name, line, problem, "write name=value")
        value = matched[3] if matched[2] is None else matched[2][1:-1]
        fields.append((matched[1], _unescaped(value, source_name, line)))
        at = matched.end()
    return fields


def _unescaped(text: str, source_name: str, line: int) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else code

    try:
        unescaped = _ESCAPED.sub(character, text.encode()).decode()
    except UnicodeDecodeError:
        problem = f"the characters of '{text}' are no UTF-8"
        raise FormatError(source_name, line, problem, "convert the file to UTF-8") from None
    if "\0" in unescaped:
        problem = f"'{text}' holds the character NUL"
        raise FormatError(source_name, line, problem, "remove it, it has no place in text")
    return unescaped


@dataclass(frozen=True)
class _Label:
    """What a node or an arc says: words, and values of features; None where it says nothing."""

    words: list[int] | None = None
    values: Mapping[int, float] = field(default_factory=dict)

    def filled(self, other: _Label) -> _Label:
        """Take from another what is not said."""
        words = other.words if self.words is None else self.words
        return _Label(words, {**other.values, **self.values})


def _without_zeros(text: str) -> str:
    return text.lstrip("0") or "0" if text.isascii() and text.isdigit() else text


class HtkReading:
    """One lattice while it is read."""

    #: Fields by their short names.
    SHORT: ClassVar = {
        "START": "S",
        "END": "E",
        "WORD": "W",
        "NODES": "N",
        "LINKS": "L",
        "UTTERANCE": "U",
        "SUBLAT": "S",
    }

    def __init__(self, source: Source, names: Numbering, words: Numbering, line: int) -> None:
        self.source = source
        self.name = source.name
        self.names = names
        self.words = words
        self.line = self.last_line = self.size_line = line
        self.header: dict[str, str] = {}
        self.scale = 1.0
        #: Fields whose values are taken as they are, with the numbers of their features.
        self.plain: dict[str, int] = {}
        self.nodes: dict[int, _Label] = {}
        self.arcs: dict[int, tuple[int, int, _Label, int]] = {}

    @property
    def terms(self) -> bool:
        """Whether nodes or arcs have begun."""
        return bool(self.nodes or self.arcs)

    def add(self, fields: list[tuple[str, str]], line: int) -> None:
        """Take in a line."""
        self.last_line = line
        self._check_once(fields, line)
        kind = fields[0][0]
        if kind not in {"I", "J"}:
            self._add_header(fields, line)
            return
        if not {"N", "L"} <= self.header.keys():
            problem = "the numbers of nodes and arcs are missing"
            raise self._error(line, problem, "write N= and L= before the first node")
        known: Mapping[int, object] = self.arcs if kind == "J" else self.nodes
        number, most = self._number(fields[0][1], "L" if kind == "J" else "N", line)
        if number >= most or number in known:
            kind_name = "arc" if kind == "J" else "node"
            wrong = "is there twice" if number in known else f"is not one of {most}"
            remedy = f"number {kind_name}s from 0 to {most - 1}"
            raise self._error(line, f"{kind_name} {number} {wrong}", remedy)
        if kind == "J":
            source, target = self._ends_of(number, fields, line)
            self.arcs[number] = source, target, self._label(fields, line), line
        elif any(name == "L" for name, _ in fields):
            raise self._no_sublattices(line)
        else:
            self.nodes[number] = self._label(fields, line)

    def _check_once(self, fields: list[tuple[str, str]], line: int) -> None:
        """Raise an error if a line has a field twice, by whichever of its names."""
        seen = set()
        for name, _ in fields:
            same = self.SHORT.get(name) or FEATURES.get(name, name)
            if same in seen:
                raise self._error(line, f"the field {name}= is there twice", "give it once")
            seen.add(same)

    def _ends_of(self, arc: int, fields: list[tuple[str, str]], line: int) -> tuple[int, int]:
        """Return the two nodes of an arc."""
        by_name = {self.SHORT.get(name, name): value for name, value in fields}
        if not {"S", "E"} <= by_name.keys():
            raise self._error(line, f"arc {arc} has not both ends", "write S= and E=")
        source, count = self._number(by_name["S"], "N", line)
        target, _ = self._number(by_name["E"], "N", line)
        if max(source, target) >= count:
            problem = f"arc {arc} has node {max(source, target)}, which is not one of {count}"
            raise self._error(line, problem, f"number nodes from 0 to {count - 1}")
        return source, target

    def _number(self, text: str, count: str, line: int) -> tuple[int, int]:
        """Return a number, and how many there are of its kind."""
        number = whole_number(text, self.name, line, "a number of a node or an arc")
        return number, int(self.header[count])

    def _add_header(self, fields: list[tuple[str, str]], line: int) -> None:
        for name, value in fields:
            short = self.SHORT.get(name, name)
            if short == "S":
                raise self._no_sublattices(line)
            if short in {"N", "L"}:
                whole_number(value, self.name, line, f"{name}=")
                self.size_line = line
            elif short == "base":
                self._set_base(value, line)
            self.header[short] = value

    def _set_base(self, text: str, line: int) -> None:
        """Keep what logarithms are multiplied with; 0 if values are no logarithms."""
        base = parse_number(text, self.name, line, "base=")
        if base < 0.0 or base == 1.0:
            problem = f"base={text} is no base of logarithms"
            raise self._error(line, problem, "give another, or 0 for probabilities")
        self.scale = math.log(base) if base > 0.0 else 0.0

    def _no_sublattices(self, line: int) -> FormatError:
        problem = "the lattice has sub-lattices, which are not read"
        return self._error(line, problem, "write it expanded")

    def _label(self, fields: list[tuple[str, str]], line: int) -> _Label:
        words: list[int] | None = None
        values: dict[int, float] = {}
        for name, text in fields:
            number = self.plain.get(name)
            if number is not None:
                value = float_or_nan(text)
                if not math.isnan(value):
                    values[number] = value
                    continue
            if name in {"W", "WORD"}:
                words = [] if text in NO_WORDS else self.words.split(text)
            elif name not in NO_SCORES:
                self._add_score(name, text, values, line)
        return _Label(words, values)

    def _add_score(self, name: str, text: str, values: dict[int, float], line: int) -> None:
        feature = FEATURES.get(name, name)
        value = self._value(feature, text, line)
        if value is not None:
            values[self.names[feature]] = value
            if self.scale == 1.0 or feature not in LOGARITHMS:
                self.plain[name] = self.names[feature]

    def _value(self, feature: str, text: str, line: int) -> float | None:
        """Return the value of a score; None if it is a field that we know nothing of."""
        value = float_or_nan(text)
        if math.isnan(value):
            known = feature in LOGARITHMS or feature == "p"
            if known or text.lstrip("+-").lower() in {"nan", "inf", "infinity"}:
                raise number_error(text.encode(), self.name, line, f"'{feature}'")
            return None
        if feature not in LOGARITHMS:
            return value
        if self.scale != 0.0:
            value *= self.scale
        elif value > 0.0:
            value = math.log(value)
        else:
            problem = f"'{feature}' is {text}, a probability that has no logarithm"
            raise self._error(line, problem, "leave such arcs out")
        if not math.isfinite(value):
            problem = f"'{feature}' is too large as a natural logarithm"
            raise self._error(line, problem, "give a smaller number")
        return value

    def lattice(self, last_line: int) -> RawForest:
        """Return what has been read, if it is whole."""
        if not {"N", "L"} <= self.header.keys():
            problem = "the numbers of nodes and arcs are missing"
            raise self._error(last_line, problem, "write N= and L= after the header")
        self._check_sizes(last_line)
        start, end = self._ends()
        backward = self.header.get("dir", "f").startswith("b")
        builder = LatticeBuilder()
        first = _Label() if backward else self.nodes.get(start, _Label())
        builder.add(NOWHERE, start, first.words or [], first.values, self.size_line)
        for source, target, label, line in self.arcs.values():
            node = self.nodes.get(source if backward else target, _Label())
            whole = label.filled(node)
            builder.add(source, target, whole.words or [], whole.values, line)
        last = self.nodes.get(end, _Label()) if backward else _Label()
        if last.words or last.values:
            # Of a backward lattice no arc has what its end says.
            goal = int(self.header["N"])
            builder.add(end, goal, last.words or [], last.values, self.size_line)
            end = goal
        return builder.forest(self._id(), end, self.line)

    def _check_sizes(self, last_line: int) -> None:
        nodes, arcs = int(self.header["N"]), int(self.header["L"])
        if len(self.arcs) < arcs or (arcs == 0 and nodes > len(self.nodes)):
            problem = f"L={arcs} and there are {len(self.arcs)} arcs"
            if arcs == 0:
                problem = f"N={nodes} and there are {len(self.nodes)} nodes and no arcs"
            remedy = "copy or write it again, it is truncated"
            raise self._error(last_line, problem, remedy)
        if nodes == 0:
            remedy = "leave it out, or write it again"
            raise self._error(self.size_line, "the lattice is empty", remedy)
        # Nodes need no lines of their own, but if there are some there are all.
        if self.nodes and len(self.nodes) < nodes:
            problem = f"N={nodes} and there are {len(self.nodes)} nodes"
            raise self._error(self.size_line, problem, "write a line for each, or for none")

    def _ends(self) -> tuple[int, int]:
        """Return the first and the last node."""
        sources = {source for source, *_ in self.arcs.values()}
        targets = {target for _, target, *_ in self.arcs.values()}
        alone = set(self.nodes) if not self.arcs else set()
        return (
            self._end("start", (sources | alone) - targets, "no arc leads to"),
            self._end("end", (targets | alone) - sources, "no arc leaves"),
        )

    def _end(self, header_field: str, candidates: set[int], description: str) -> int:
        if header_field in self.header:
            node, count = self._number(self.header[header_field], "N", self.line)
            if node >= count:
                problem = f"{header_field}={node} is not one of {count} nodes"
                raise self._error(self.line, problem, f"number nodes from 0 to {count - 1}")
            return node
        if not candidates:
            problem = f"there is no node that {description}: arcs go round in a cycle"
            raise self._error(self.size_line, problem, "remove the cycle; a lattice has none")
        if len(candidates) > 1:
            some = " and ".join(str(node) for node in sorted(candidates)[:2])
            problem = f"there are {len(candidates)} nodes that {description}, {some} among them"
            raise self._error(self.size_line, problem, f"name one in the header: {header_field}=")
        return candidates.pop()

    @property
    def utterance(self) -> str:
        """The name that the lattice has in a file of transcripts."""
        if "U" in self.header:
            return self.header["U"]
        if is_pipe(self.source.path):
            return "0"
        stem = os.path.basename(without_suffix(self.source.path))
        for ending in ENDINGS:
            stem = stem.removesuffix(ending)
        # A name need not be UTF-8; what is written must be.
        return os.fsencode(stem).decode("utf-8", "backslashreplace")

    def _id(self) -> GroupId:
        # The numbers of files may have zeros before them, so that they are in order.
        return id_of(self.utterance if "U" in self.header else _without_zeros(self.utterance))

    def _error(self, line: int, problem: str, remedy: str) -> FormatError:
        return FormatError(self.name, line, problem, remedy)
