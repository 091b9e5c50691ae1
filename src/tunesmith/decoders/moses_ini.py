"""A moses.ini as Moses itself reads it: its weights, and where each stands."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tunesmith.data.weights import Weights
from tunesmith.decoders.shared import line_end
from tunesmith.errors import FormatError, shortened
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.text.utf8 import check_utf8
from tunesmith.io.weights.cdec import CdecWeights

_TOKEN = re.compile(rb"\S+")
#: Sections that hold weights in the format that Moses had before version 1.
_OLD = re.compile(r"weight-(slm|bl|d|dlm|lr|generation|i|l|lex|glm|wt|pp|pb|t|p|w|u|e)")


@dataclass(frozen=True)
class Entry:
    """A line of the section [weight].

    Attributes
    ----------
    line
        Its number, from 0.
    values
        The numbers.
    spans
        Where each of them stands in the line, in bytes.
    """

    line: int
    values: tuple[float, ...]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Function:
    """A feature function, as ``-show-weights`` shows it.

    Attributes
    ----------
    name
        As in the lists.
    shown
        The weights of its values; None for a value that is not tuned and so not in the lists.
    tuneable
        Whether its values are in the lists at all.
    """

    name: str
    shown: tuple[float | None, ...]
    tuneable: bool

    def places(self, width: int) -> dict[str, int]:
        """Return which of its ``width`` values each name of a weight is, from 0.

        The lists pass over values that are not tuned, and number the others from 1. Those of
        a function that is not tuned at all are numbered as they are.
        """
        places = [i for i, value in enumerate(self.shown) if value is not None]
        if not self.tuneable:
            places = list(range(width))
        if len(places) == 1:
            return {self.name: places[0]}
        return {f"{self.name}_{k}": i for k, i in enumerate(places, 1)}


class MosesConfiguration:
    """A moses.ini: what stands in it, byte by byte.

    Parameters
    ----------
    path
        For errors.
    text
        The whole file.
    """

    def __init__(self, path: str, text: bytes) -> None:
        check_utf8(text, path, 1)
        self.path = path
        self.text = text
        # Moses ends lines at line feeds alone.
        self.lines = io.BytesIO(text).readlines()
        self.entries: dict[str, Entry] = {}
        self.weight_file: str | None = None
        self._after: int | None = None
        self._section = ""
        for number, line in enumerate(self.lines):
            self._take(number, line.partition(b"#")[0])

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> MosesConfiguration:
        """Read a file."""
        name = os.fspath(path)
        try:
            return cls(name, Path(path).read_bytes())
        except OSError as error:
            problem = (error.strerror or "it cannot be read").lower()
            raise FormatError(name, None, problem, "name a moses.ini") from None

    def _take(self, number: int, line: bytes) -> None:
        code = line.strip().decode()
        if not code:
            return
        if code.startswith("["):
            self._section = code[1:].partition("]")[0]
            if _OLD.fullmatch(self._section):
                raise FormatError(
                    self.path,
                    number + 1,
                    f"[{self._section}] is of the format before version 1 of Moses",
                    "write its weights as Name= value into a section [weight]",
                )
            if self._section == "weight":
                self._after = number + 1
        elif self._section == "weight":
            self._take_weight(number, line)
        elif self._section == "weight-file" and self.weight_file is None:
            self.weight_file = code

    def _take_weight(self, number: int, line: bytes) -> None:
        first, *rest = _TOKEN.finditer(line)
        name = first.group().decode()
        if len(name) < 2 or not name.endswith("=") or not rest:
            problem = f"'{shortened(line.strip().decode())}' is no weight"
            raise FormatError(self.path, number + 1, problem, "write Name= value")
        name = name[:-1]
        if name in self.entries:
            # Moses would take the last line alone.
            problem = f"'{shortened(name)}' has a line already"
            raise FormatError(self.path, number + 1, problem, "put all its values on one")
        values = []
        for token in rest:
            values.append(float_or_nan(token.group()))
            if math.isnan(values[-1]):
                field = f"the weight of '{shortened(name)}'"
                raise number_error(token.group(), self.path, number + 1, field)
        self.entries[name] = Entry(number, tuple(values), tuple(t.span() for t in rest))
        self._after = number + 1

    @cached_property
    def sparse_file(self) -> Weights:
        """The weights of the file that [weight-file] names; relative to where Moses runs."""
        if self.weight_file is None:
            return Weights.from_dict({})
        try:
            text = Path(self.weight_file).read_bytes()
        except OSError as error:
            problem = (error.strerror or "it cannot be read").lower()
            remedy = f"fix [weight-file] in {self.path}"
            raise FormatError(self.weight_file, None, problem, remedy) from None
        check_utf8(text, self.weight_file, 1)
        return CdecWeights().read(text, self.weight_file)

    def rewritten(
        self, values: Mapping[str, Mapping[int, float]], new: Mapping[str, Sequence[float]]
    ) -> bytes:
        """Return the file with other weights; all other bytes stay.

        Parameters
        ----------
        values
            For lines that are there: by name and place on the line, from 0.
        new
            Lines that are not: they come after the last weight.
        """
        lines = list(self.lines)
        for name, changes in values.items():
            entry = self.entries[name]
            line = lines[entry.line]
            for place, value in sorted(changes.items(), reverse=True):
                begin, end = entry.spans[place]
                if value != entry.values[place]:
                    line = line[:begin] + repr(value).encode() + line[end:]
            lines[entry.line] = line
        added = [f"{n}= {' '.join(map(repr, vs))}".encode() for n, vs in new.items()]
        before, after = lines[: self._after], lines[len(lines) :]
        if self._after is not None:
            after = lines[self._after :]
        elif added:
            added.insert(0, b"[weight]")
        ending = line_end(self.text)
        if added and before and not before[-1].endswith(b"\n"):
            before[-1] += ending
        return b"".join([*before, *(line + ending for line in added), *after])


def shown_functions(output: str) -> list[Function]:
    """Return what ``-show-weights`` printed; other lines are passed over."""
    functions = []
    for line in output.splitlines():
        first, *values = line.split() or [""]
        if first.endswith("=") and len(first) > 1:
            shown = [
                None if v == "UNTUNEABLECOMPONENT" else float_or_nan(v.encode()) for v in values
            ]
            if not any(v is not None and math.isnan(v) for v in shown):
                functions.append(Function(first[:-1], tuple(shown), True))
        elif values == ["UNTUNEABLE"]:
            functions.append(Function(first, (), False))
    return functions
