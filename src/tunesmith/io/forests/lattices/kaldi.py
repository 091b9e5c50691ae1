"""Lattices of Kaldi: archives in text form, as of ``lattice-copy ark:lat.1 ark,t:-``, or binary.

An archive is a lattice after the other: the utterance's id on a line of its own, a line for each
arc and for each final state, and an empty line. Both of Kaldi's types are read:

- CompactLattice, ``from to word graph,acoustic,transition-ids``;
- Lattice, ``from to transition-id word graph,acoustic``.

Final states are ``state graph,acoustic,...``. Costs that are not there are 0. The state of the
first line is the start. Each final state has a hyperedge without words to the goal.

Costs become the features ``graph`` and ``acoustic`` with their signs turned, so that more is
better (in Kaldi's n-best lists, format ``kaldi``, they are costs as they are in the files).
Transition ids are not kept. Words are numbers in Kaldi; ``kaldi-lattice:words=words.txt`` puts the
words of that table in their place, without it the numbers, or what ``int2sym.pl`` made of them,
are the tokens. 0, ``<eps>``, ``<s>`` and ``</s>`` are no words.

``kaldi-lattice:references=text`` takes the transcripts from a file with an utterance a line, its id
and its words. If ids are numbers, references may also be a file with a line for each, as elsewhere.

Binary archives (``kaldi_binary``) hold the same. Lattices are written as CompactLattice in text
form, without transition ids.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from tunesmith.data.forests import Forests
from tunesmith.data.raw_forest import RawForest
from tunesmith.errors import FormatError, UsageError, shortened
from tunesmith.io.forests.base import (
    FOREST_FORMATS,
    Numbering,
    are_numbers,
    warn_of_numbers,
    whole_number,
)
from tunesmith.io.forests.lattices.base import (
    MARKS,
    NOWHERE,
    Arc,
    Lattice,
    LatticeBuilder,
    UtteranceFormat,
    fields_of,
    id_of,
    lattices,
)
from tunesmith.io.forests.lattices.kaldi_binary import binary_lattices, is_binary
from tunesmith.io.streams import Source, writing
from tunesmith.io.text.numbers import parse_number, shortest
from tunesmith.io.text.utf8 import check_utf8
from tunesmith.registry import option

#: In the order of the two costs.
FEATURES = ("graph", "acoustic")
EPSILON = "<eps>"
#: Tokens that are no words.
NO_WORDS = MARKS | {EPSILON, "0"}

_SECOND = rb"\d+(?:[ \t]+\d+[ \t]+\S+(?:[ \t]+\S+){0,2}|[ \t]+[^\s,]+,[^\s,]+(?:,[\d_]*)?)?"
_HEAD = re.compile(rb"\s*\S+[ \t]*\r?\n" + _SECOND + rb"[ \t]*\r?\n")
#: Two costs, and transition ids if it is of the compact kind.
_WEIGHT = re.compile(r"([^,]+),([^,]+)(?:,[0-9_]*)?")
#: The same with two numbers: no word looks so.
_NUMBERS = re.compile(r"[-+.0-9eE]+,[-+.0-9eE]+(?:,[0-9_]*)?")


@FOREST_FORMATS.register("kaldi-lattice")
@dataclass(frozen=True)
class KaldiLattice(UtteranceFormat):
    """Lattices of Kaldi, many in an archive; binary archives are read too."""

    suffixes = (".lats",)
    ends_lines = True
    word_table = "kaldi-lattice:words=FILE"

    words: str = option("", "a table of words and their numbers: words.txt", "FILE")

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether there is an id alone on the first line, and an arc on the second.

        A binary archive has a key and an FST.
        """
        return _HEAD.match(head) is not None or is_binary(head)

    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield the lattice of each utterance."""
        ids = names[FEATURES[0]], names[FEATURES[1]]
        tokens = _Tokens(words, self._table if self.words else None, self.words)
        is_one = is_binary(source.head())
        for name, lattice in (_of_binary if is_one else _of_text)(source, ids, tokens):
            yield self.with_transcript(lattice, words, name)
        if self.references and not self.words and tokens.labels:
            transcribed = chain.from_iterable(text.split() for text in self._transcripts.values())
            warn_of_numbers(source.name, tokens.labels, transcribed, self.word_table)

    def write(self, forests: Forests, path: str | os.PathLike[str]) -> None:
        """Write an archive."""
        for name in forests.names:
            if name not in FEATURES:
                raise UsageError(
                    f"kaldi-lattice has no place for the feature '{name}'; write htk or arrow"
                )
        labels = self._labels()
        ids = [_index(forests.names, name) for name in FEATURES]
        for i in forests.ids:
            if [str(i)] != str(i).split():
                raise UsageError(f"the id '{i}' has white space in it, or is empty; write arrow")
        text = ""
        with writing(path) as file:
            for i, lattice in lattices(forests, self.name):
                lines = _written(lattice, ids, labels)
                file.write(f"{i} \n{''.join(lines)}\n".encode())
                if labels is None and not text:
                    words = (arc.word for arc in lattice.arcs if arc.word is not None)
                    text = next((word for word in words if not are_numbers([word])), "")
        if text:
            warnings.warn(
                f"words are written as they are, as '{shortened(text)}', and Kaldi itself reads "
                f"numbers only; for it write {self.word_table}",
                stacklevel=3,
            )

    def _labels(self) -> dict[str, str] | None:
        """Return the number of each word, if there is a table."""
        return {word: number for number, word in self._table.items()} if self.words else None

    @cached_property
    def _table(self) -> dict[str, str]:
        return read_word_table(self.words)


def read_word_table(path: str) -> dict[str, str]:
    """Return the words of Kaldi's words.txt by their numbers."""
    table: dict[str, str] = {}
    source = Source(path)
    for line, text in source.lines():
        fields = fields_of(text)
        if len(fields) != 2:
            problem = f"there are {len(fields)} fields, not a word and its number"
            raise FormatError(source.name, line, problem, "give Kaldi's words.txt")
        number = str(whole_number(fields[1], source.name, line, "the number of a word"))
        if table.setdefault(number, fields[0]) != fields[0]:
            problem = f"the number {number} is there twice"
            raise FormatError(source.name, line, problem, "give each word its own number")
    return table


@dataclass(frozen=True)
class _Tokens:
    """What stands for words in a file, as token ids."""

    words: Numbering
    table: dict[str, str] | None
    table_name: str
    #: What stood for words, where there is no table.
    labels: set[str] = field(default_factory=set)

    def of(self, label: str, source_name: str, line: int | None) -> list[int]:
        """Return the token of a label; none where that is no word."""
        if self.table is not None:
            word = self.table.get(label)
            if word is None:
                problem = f"the word '{label}' is not in {self.table_name}"
                raise FormatError(source_name, line, problem, "give the words.txt of the decoder")
            label = EPSILON if label == "0" else word
            return [] if label == EPSILON or label in MARKS else self.words.split(label)
        if label in NO_WORDS:
            return []
        self.labels.add(label)
        return self.words.split(label)


def _of_text(
    source: Source, ids: tuple[int, int], tokens: _Tokens
) -> Iterator[tuple[str, RawForest]]:
    """Yield utterances and their lattices of an archive in text form."""
    is_compact: bool | None = None
    for entry in _entries(source):
        is_compact = entry.is_compact(is_compact)
        yield entry.id, entry.lattice(ids, tokens, is_compact)


def _of_binary(
    source: Source, ids: tuple[int, int], tokens: _Tokens
) -> Iterator[tuple[str, RawForest]]:
    """Yield utterances and their lattices of a binary archive, or of a file with one."""
    for binary in binary_lattices(source.buffer(), source.name):
        builder = LatticeBuilder()
        builder.add(NOWHERE, binary.start, [], {}, 0)
        for state, target, word, costs in binary.arcs:
            words = tokens.of(str(word), source.name, None)
            builder.add(state, target, words, _features(ids, costs), 0)
        goal = 1 + max(*builder.sources, *builder.targets, *binary.finals)
        for state, costs in binary.finals.items():
            builder.add(state, goal, [], _features(ids, costs), 0)
        name = binary.id or "0"
        yield name, replace(builder.forest(id_of(name), goal, 0), lines=None, line=None)


def _features(ids: tuple[int, int], costs: tuple[float, float]) -> dict[int, float]:
    return {k: 0.0 - cost for k, cost in zip(ids, costs, strict=True)}


@dataclass
class _Entry:
    """One utterance: its lines, split at white space."""

    source_name: str
    id: str
    line: int
    rows: list[tuple[int, list[str]]] = field(default_factory=list)

    def lattice(self, ids: tuple[int, int], tokens: _Tokens, is_compact: bool) -> RawForest:
        """Return the lattice."""
        if not self.rows:
            problem = f"the lattice of '{self.id}' is empty"
            raise FormatError(self.source_name, self.line, problem, "leave it out")
        label = 2 if is_compact else 3
        builder = LatticeBuilder()
        first_line, first = self.rows[0]
        start = self._state(first[0], first_line)
        builder.add(NOWHERE, start, [], {}, first_line)
        # The goal comes after all states, so that arcs ascend if the file's do.
        final: dict[int, tuple[dict[int, float], int]] = {}
        for line, fields in self.rows:
            state = self._state(fields[0], line)
            if len(fields) <= 2:
                if state in final:
                    problem = f"state {state} is final twice"
                    remedy = "end each lattice with an empty line"
                    raise FormatError(self.source_name, line, problem, remedy)
                final[state] = self._costs(fields[1:], ids, line), line
            elif len(fields) in {label + 1, label + 2}:
                target = self._state(fields[1], line)
                words = tokens.of(fields[label], self.source_name, line)
                builder.add(state, target, words, self._costs(fields[label + 1 :], ids, line), line)
            else:
                problem = f"there are {len(fields)} fields, unlike on the lines before"
                remedy = "write from to word graph,acoustic,ids"
                raise FormatError(self.source_name, line, problem, remedy)
        if not final:
            problem = f"the lattice of '{self.id}' has no final state"
            remedy = "write it again, it is truncated"
            raise FormatError(self.source_name, self.rows[-1][0], problem, remedy)
        goal = 1 + max(*builder.sources, *builder.targets, *final)
        for state, (features, line) in final.items():
            builder.add(state, goal, [], features, line)
        return builder.forest(id_of(self.id), goal, self.line)

    def is_compact(self, before: bool | None) -> bool:
        """Tell the type from the number of fields; if all arcs have four, from the last ones.

        Costs on one arc are enough, or with ids at one final state: what is damaged elsewhere
        must not be taken for a word. If there are none, the type is that of the lattice before.
        """
        arcs = [(line, fields) for line, fields in self.rows if len(fields) > 2]
        sizes = {len(fields) for _, fields in arcs}
        costs = [line for line, fields in arcs if _NUMBERS.fullmatch(fields[-1])]
        short = {line for line, fields in arcs if len(fields) == 4}
        if 5 in sizes:
            if wrong := short.intersection(costs):
                problem = "an arc has four fields, the last of them costs, and another has five"
                remedy = "give each arc two states, one label or two, and costs"
                raise FormatError(self.source_name, min(wrong), problem, remedy)
            return False
        if 3 in sizes or not arcs or costs:
            return True
        finals = [fields[1] for _, fields in self.rows if len(fields) == 2]
        return before is True or any(costs.count(",") == 2 for costs in finals)

    def _state(self, text: str, line: int) -> int:
        if not (text.isascii() and text.isdigit()):
            problem = f"a state is '{text}', not a whole number"
            remedy = "end each lattice with an empty line, and number states from 0"
            raise FormatError(self.source_name, line, problem, remedy)
        return whole_number(text, self.source_name, line, "a state")

    def _costs(self, fields: list[str], ids: tuple[int, int], line: int) -> dict[int, float]:
        """Return the features for the field of costs, which may be missing."""
        if not fields:
            return {}
        match = _WEIGHT.fullmatch(fields[0])
        if match is None:
            problem = f"'{fields[0]}' is no pair of costs"
            raise FormatError(self.source_name, line, problem, "write graph,acoustic,ids")
        pairs = zip(ids, FEATURES, match.groups(), strict=True)
        return {
            k: 0.0 - parse_number(text, self.source_name, line, f"the {name} cost")
            for k, name, text in pairs
        }


def _entries(source: Source) -> Iterator[_Entry]:
    """Yield the utterances of an archive; each ends with an empty line."""
    source.check_line_ends()
    number = 0
    entry: _Entry | None = None
    for block in source.blocks():
        check_utf8(block, source.name, number + 1)
        for text in block.decode().removesuffix("\n").split("\n"):
            number += 1
            fields = fields_of(text)
            if entry is None and len(fields) > 1:
                problem = "here should be the id of an utterance, alone on its line"
                remedy = "write lattices as lattice-copy ark:F ark,t:- does"
                raise FormatError(source.name, number, problem, remedy)
            if entry is None and fields:
                entry = _Entry(source.name, fields[0], number)
            elif entry is not None and fields:
                entry.rows.append((number, fields))
            elif entry is not None:
                yield entry
                entry = None
    if entry is not None:
        problem = f"the lattice of '{entry.id}' does not end with an empty line"
        raise FormatError(source.name, number, problem, "copy the file again, it is truncated")


def _index(names: tuple[str, ...], name: str) -> int:
    return names.index(name) if name in names else -1


def _written(lattice: Lattice, ids: list[int], labels: dict[str, str] | None) -> Iterator[str]:
    """Yield the lines of a lattice.

    Arcs into the goal are final costs, if no two are of one state and none has a word; otherwise
    the goal is a final state itself.
    """
    goal = lattice.states - 1
    last = [arc for arc in lattice.arcs if arc.target == goal]
    states = {arc.source for arc in last}
    is_state = len(states) < len(last) or any(arc.word is not None for arc in last)
    for arc in lattice.arcs:
        costs = ",".join(shortest(0.0 - arc.features.get(k, 0.0)) for k in ids) + ","
        if arc.target == goal and not is_state:
            yield f"{arc.source}\t{costs}\n"
        else:
            yield f"{arc.source}\t{arc.target}\t{_label(arc, labels)}\t{costs}\n"
    if is_state:
        yield f"{goal}\t0,0,\n"


def _label(arc: Arc, labels: dict[str, str] | None) -> str:
    word = arc.word
    if word is None:
        return "0" if labels is None or EPSILON not in labels else labels[EPSILON]
    if word == EPSILON or word in MARKS or (labels is None and word in NO_WORDS):
        raise UsageError(f"'{word}' stands for no word in kaldi-lattice; write arrow")
    if labels is not None and word not in labels:
        problem = f"the word '{shortened(word)}' is not in the table of words"
        raise UsageError(f"{problem}; give a larger one")
    return word if labels is None else labels[word]
