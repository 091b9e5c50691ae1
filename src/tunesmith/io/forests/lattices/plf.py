r"""PLF, the Python Lattice Format of Moses, cdec and Joshua: one lattice per line.

``((('a',0.5,1),('an',0.5,2),),(('b',1.0,1),),)``: a tuple of nodes, each a tuple of the arcs that
leave it: a word, scores, and how many nodes further the arc leads. One more node, the last, is the
end. A word is in quotes of either kind, with a backslash before quotes and backslashes; ``*EPS*``
and ``''`` are no words. Lines are read by a parser of our own: nothing in them is evaluated.

Scores become the feature ``PLF``, or ``PLF_1`` to ``PLF_k`` if arcs have several. Moses' sparse
features, ``name=value`` after the scores, and cdec's ``{'name': value}`` in their place become
features of those names. All are kept as they are written. Moses takes the logarithm of scores,
which are probabilities for it: ``plf:scores=probabilities`` does the same.

A lattice's id is the number of lines before it in the file; an empty line is a sentence without a
lattice. The words are token sequences: a
word with white space in it is several tokens.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NoReturn

from tunesmith.data.forests import Forests
from tunesmith.data.raw_forest import RawForest
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.forests.base import (
    FOREST_FORMATS,
    ForestFormat,
    Numbering,
    check_ids,
    whole_number,
)
from tunesmith.io.forests.lattices.base import NOWHERE, Arc, Lattice, LatticeBuilder, lattices
from tunesmith.io.streams import Source, writing
from tunesmith.io.text.numbers import parse_number, shortest
from tunesmith.registry import option

EPSILON = "*EPS*"
#: A feature of scores that have no names.
NAME = "PLF"

_QUOTED = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
#: An arc: its word, cdec's features in braces, and all else up to its end.
_ARC = re.compile(
    rf"""\(\s*+({_QUOTED})\s*+,\s*+(?:\{{((?:[^{{}}'"]|{_QUOTED})*+)\}}\s*+,)?([^(){{}}'"]*+)\)"""
)
_ENTRY = re.compile(rf"\s*+({_QUOTED})\s*+:\s*+([^,\s]++)\s*+(?:,|\Z)")
_ESCAPED = re.compile(r"\\(.)")
_SPACE = re.compile(r"\s*")
_HEAD = re.compile(rb"\s*\(\s*\(\s*\(\s*['\"]")


@FOREST_FORMATS.register("plf")
@dataclass(frozen=True)
class PlfFormat(ForestFormat):
    """Lattices in the Python Lattice Format, one per line."""

    suffixes = (".plf",)

    scores: Literal["plain", "probabilities"] = option(
        "plain", "what scores without a name are; of probabilities the logarithm is taken"
    )

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line begins with three brackets and a quote."""
        return _HEAD.match(head) is not None

    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield the lattice of each line."""
        expected: int | None = None
        for line, text in source.lines():
            parser = _PlfLine(text, source.name, line, self.scores == "probabilities", expected)
            yield parser.lattice(names, words)
            expected = parser.expected

    def write(self, forests: Forests, path: str | os.PathLike[str]) -> None:
        """Write one lattice per line; scores without names if all features are called PLF."""
        check_ids(forests.ids, self.name, "kaldi-lattice or arrow")
        if self.scores == "probabilities":
            raise UsageError("plf writes scores as they are; leave out scores=probabilities")
        plain = forests.names == tuple(score_names(len(forests.names)))
        with writing(path) as file:
            for _, lattice in lattices(forests, self.name):
                file.write(_written(lattice, forests.names, plain).encode() + b"\n")


def score_names(count: int) -> list[str]:
    """Return the names of scores that have none in the file."""
    return [NAME] if count == 1 else [f"{NAME}_{k}" for k in range(1, count + 1)]


def plf_lattice(
    text: str, names: Numbering, words: Numbering, probabilities: bool = False
) -> RawForest:
    """Return the lattice that a text is; errors say that it is line 1 of ``lattice``.

    Parameters
    ----------
    text
        The lattice.
    names, words
        Features and words so far; those of the lattice are added.
    probabilities
        Whether scores are probabilities, whose logarithms are taken.
    """
    return _PlfLine(text, "lattice", 1, probabilities, None).lattice(names, words)


class _PlfLine:
    """One lattice: a line, and how far it has been read."""

    def __init__(
        self, text: str, source_name: str, line: int, probabilities: bool, expected: int | None
    ) -> None:
        self.text = text
        self.source_name = source_name
        self.line = line
        self.probabilities = probabilities
        #: How many scores every arc has, once one is known.
        self.expected = expected
        self.at = 0
        #: Names of features as they are written, with their numbers.
        self.known: dict[str, int] = {}

    def lattice(self, names: Numbering, words: Numbering) -> RawForest:
        """Return the lattice."""
        builder = LatticeBuilder()
        builder.add(NOWHERE, 0, [], {}, self.line)
        node = furthest = 0
        self._expect("(")
        while not self._ends_here():
            self._expect("(")
            while not self._ends_here():
                step, side, features = self._arc(names, words)
                furthest = max(furthest, node + step)
                builder.add(node, node + step, side, features, self.line)
                self._comma()
            self._comma()
            node += 1
        self._skip_space()
        if self.at < len(self.text):
            self._fail("there is more after the lattice", "write one lattice per line")
        if node == 0:
            self._fail("the lattice is empty", "leave the line out, or write it again")
        if furthest > node:
            problem = f"an arc leads to node {furthest} and the last is {node}"
            self._fail(problem, "fix the distances; the lattice may be truncated")
        return builder.forest(self.line - 1, node, self.line)

    def _arc(self, names: Numbering, words: Numbering) -> tuple[int, list[int], dict[int, float]]:
        """Read an arc: its length, its words, its features."""
        self._skip_space()
        match = _ARC.match(self.text, self.at)
        if match is None:
            self._fail("here is no arc", "write arcs as ('word', score, distance)")
        self.at = match.end()
        fields = [part.strip() for part in match[3].split(",")]
        if len(fields) > 1 and not fields[-1]:  # a comma before the bracket
            fields.pop()
        step = whole_number(fields.pop(), self.source_name, self.line, "a distance")
        if step == 0:
            problem = "an arc has the distance 0: it would be in a cycle"
            raise FormatError(self.source_name, self.line, problem, "give 1 or more")
        named = [part for part in fields if "=" in part]
        scores = [part for part in fields if "=" not in part]
        # cdec's features stand in place of scores.
        features = self._scores(scores, names) if scores or match[2] is None else {}
        for part in named:
            name, _, value = part.rpartition("=")
            self._add(features, names[name.strip()], value.strip())
        if match[2] is not None:
            self._entries(match[2], features, names)
        word = _unquoted(match[1])
        return step, [] if word == EPSILON else words.split(word), features

    def _scores(self, scores: list[str], names: Numbering) -> dict[int, float]:
        if self.expected is None:
            self.expected = len(scores)
        if len(scores) != self.expected:
            problem = f"an arc has {len(scores)} scores and those before it have {self.expected}"
            raise FormatError(self.source_name, self.line, problem, "give all as many")
        values = [self._number(part) for part in scores]
        if self.probabilities:
            values = [self._logarithm(value) for value in values]
        return {names[n]: v for n, v in zip(score_names(len(values)), values, strict=True)}

    def _entries(self, text: str, features: dict[int, float], names: Numbering) -> None:
        """Read cdec's features: 'name': value, with commas between."""
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _ENTRY.match(text, at)
            if match is None:
                problem = f"'{text[at:].strip()}' is no feature"
                remedy = "write {'name': value, 'name': value}"
                raise FormatError(self.source_name, self.line, problem, remedy)
            quoted, value = match.groups()
            if quoted not in self.known:
                self.known[quoted] = names[_unquoted(quoted)]
            self._add(features, self.known[quoted], value)
            at = match.end()

    def _add(self, features: dict[int, float], name: int, value: str) -> None:
        features[name] = features.get(name, 0.0) + self._number(value)

    def _number(self, text: str) -> float:
        return parse_number(text, self.source_name, self.line, "a score")

    def _logarithm(self, value: float) -> float:
        if not value > 0.0:
            problem = f"a score is {shortest(value)}, which is no probability that has a logarithm"
            raise FormatError(self.source_name, self.line, problem, "leave such arcs out")
        return math.log(value)

    def _skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _expect(self, character: str) -> None:
        self._skip_space()
        if self.text[self.at : self.at + 1] != character:
            self._fail(f"'{character}' is missing here", "write ((('word',score,distance),),)")
        self.at += 1

    def _ends_here(self) -> bool:
        """Tell whether a tuple ends here, and go past its end."""
        self._skip_space()
        ends = self.text[self.at : self.at + 1] == ")"
        self.at += ends
        return ends

    def _comma(self) -> None:
        """Go past a comma, which may be missing before the end of a tuple."""
        self._skip_space()
        if self.text[self.at : self.at + 1] != ")":
            self._expect(",")

    def _fail(self, problem: str, remedy: str) -> NoReturn:
        shown = self.text[self.at : self.at + 20]
        place = f"at character {self.at + 1}, '{shown}'" if shown else "at the end of the line"
        if not shown:
            remedy = "write the line again, it is truncated" if "missing" in problem else remedy
        raise FormatError(self.source_name, self.line, f"{place}: {problem}", remedy)


def _unquoted(text: str) -> str:
    inside = text[1:-1]
    return _ESCAPED.sub(r"\1", inside) if "\\" in inside else inside


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _written(lattice: Lattice, names: tuple[str, ...], plain: bool) -> str:
    leaving: list[list[str]] = [[] for _ in range(lattice.states - 1)]
    for arc in lattice.arcs:
        leaving[arc.source].append(_written_arc(arc, names, plain))
    columns = [f"({''.join(arcs)})," for arcs in leaving]
    return f"({''.join(columns)})"


def _written_arc(arc: Arc, names: tuple[str, ...], plain: bool) -> str:
    if arc.word == EPSILON:
        raise UsageError(f"the word '{EPSILON}' stands for none in plf; write kaldi-lattice")
    word = _quoted(EPSILON if arc.word is None else arc.word)
    if plain:
        values = [arc.features.get(k, 0.0) for k in range(len(names))]
        scores = "".join(f"{shortest(value)}," for value in values)
    else:
        pairs = [f"{_quoted(names[k])}:{shortest(value)}" for k, value in arc.features.items()]
        scores = f"{{{','.join(pairs)}}},"
    return f"({word},{scores}{arc.target - arc.source}),"
