r"""HTK's Standard Lattice Format (SLF), as HTK 3 and SRILM's lattice-tool write it.

Lines of ``name=value`` fields: a header, its last line ``N=nodes L=arcs``, then a line ``I=`` for
each node and ``J=`` for each arc. Short and long names are the same (``S=`` and ``START=``). A
file holds one lattice, or several, each with its header. ``#`` begins a comment. Values may be in
quotes, with ``\"`` for a quote and ``\101`` for the character with that octal number.

Words are on arcs (``W=`` after ``J=``), or on nodes; a node's word, and the scores that it has, are
those of all arcs into it that name none (with ``dir=b`` of all that leave it). ``!NULL``,
``!SENT_START``, ``!SENT_END``, ``<s>`` and ``</s>`` are no words.

Scores become features: ``a=`` is ``acoustic``, ``l=`` ``language``; all others keep the names of
their fields, such as ``n`` (n-gram), ``r`` (pronunciation), ``p`` (posterior), ``ds`` (duration),
``x1`` to ``x9``. A field that is none of these and whose value is a number is a feature too.
Times, pronunciation variants, segmentations and states (t, v, d, s) are not kept. Likelihoods are
logarithms to the base ``base=``, e if there is none, and become natural ones; with ``base=0`` they
are probabilities, of which the logarithm is taken. A posterior is a probability and stays one,
and so stays whatever the format does not define. ``lmscale=``, ``wdpenalty=`` and all other scales
are weights, not values, and are left alone.

Start and end are those of the header, or the node that no arc leads to and the one that none
leaves. The id is what ``UTTERANCE=`` says, or the file's name without its ending
(``007.lat`` is 7).
``htk:references=FILE`` takes the transcripts from a file with an id and its words a line. Networks
with sub-lattices are not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tunesmith.data.candidates import GroupId
from tunesmith.data.forests import Forests
from tunesmith.data.raw_forest import RawForest
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.compression import without_suffix
from tunesmith.io.forests.base import FOREST_FORMATS, Numbering, number_in
from tunesmith.io.forests.folders import writing_folder
from tunesmith.io.forests.lattices.base import Lattice, UtteranceFormat, lattices
from tunesmith.io.forests.lattices.htk_reading import (
    ENDINGS,
    FEATURES,
    NO_SCORES,
    NO_WORDS,
    NULL,
    HtkReading,
    fields_in,
)
from tunesmith.io.streams import Source, writing
from tunesmith.io.text.numbers import shortest

_FIRST = r"(?:VERSION|V|UTTERANCE|U|SUBLAT|NODES|N|LINKS|L|base|lmname|lmscale|start|dir|vocab)"
_HEAD = re.compile(rb"(?:\s*#[^\n]*\n)*\s*" + _FIRST.encode() + rb"=\S")


@FOREST_FORMATS.register("htk")
@dataclass(frozen=True)
class HtkLattice(UtteranceFormat):
    """Lattices of HTK (SLF): a folder with one file per lattice, or single files."""

    suffixes = ENDINGS
    single_endings = ENDINGS
    ends_lines = True

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line that is no comment has a field of a header."""
        return _HEAD.match(head) is not None

    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield the lattices of a file."""
        reading: HtkReading | None = None
        for line, text in source.lines():
            fields = fields_in(text, source.name, line)
            if not fields:
                continue
            is_header = fields[0][0] not in {"I", "J"}
            if reading is None or (is_header and reading.terms):
                if reading is not None:
                    lattice = reading.lattice(line - 1)
                    yield self.with_transcript(lattice, words, reading.utterance)
                reading = HtkReading(source, names, words, line)
            reading.add(fields, line)
        if reading is None:
            problem = "there is no lattice in it"
            raise FormatError(source.name, None, problem, "give a file with one")
        lattice = reading.lattice(reading.last_line)
        yield self.with_transcript(lattice, words, reading.utterance)

    def write(self, forests: Forests, path: str | os.PathLike[str]) -> None:
        """Write one lattice to a file that ends in .lat or .slf, or all to a new folder."""
        fields = [_field_of(name) for name in forests.names]
        if without_suffix(path).lower().endswith(ENDINGS):
            if forests.groups != 1:
                raise UsageError(
                    f"a file of HTK is one lattice and there are {forests.groups}; name a folder, "
                    "without an ending"
                )
            for name, lattice in lattices(forests, self.name):
                _write_file(name, lattice, fields, path)
            return
        _check_names(forests.ids)
        with writing_folder(path) as folder:
            for name, lattice in lattices(forests, self.name):
                _write_file(name, lattice, fields, os.path.join(folder, f"{name}{ENDINGS[0]}"))


def _field_of(name: str) -> str:
    """Return the field for a feature."""
    field = {feature: short for short, feature in FEATURES.items() if len(short) == 1}.get(
        name, name
    )
    is_read = FEATURES.get(field, field) == name and field not in NO_SCORES
    if not is_read or not re.fullmatch(r"[^\s=#\"'\\]+", field):
        raise UsageError(f"htk has no place for the feature '{name}'; write arrow")
    return field


def _check_names(ids: tuple[GroupId, ...]) -> None:
    """Raise an error if ids cannot be the names of files of one folder."""
    numbered = 0
    for i in ids:
        if not str(i) or str(i).startswith(".") or any(c in str(i) for c in "/\\\0"):
            raise UsageError(f"the id '{i}' cannot be the name of a file; write arrow")
        numbered += number_in(f"{i}{ENDINGS[0]}") is not None
    if 0 < numbered < len(ids):
        problem = "some ids are numbers and some are not"
        raise UsageError(f"{problem}, so that a folder would be read in part; write arrow")


def _write_file(
    name: GroupId, lattice: Lattice, fields: list[str], path: str | os.PathLike[str]
) -> None:
    with writing(path) as file:
        for line in _lines(name, lattice, fields):
            file.write(line.encode() + b"\n")


def _lines(name: GroupId, lattice: Lattice, fields: list[str]) -> Iterator[str]:
    yield "VERSION=1.0"
    yield f"UTTERANCE={_quoted(str(name))}"
    yield f"start=0 end={lattice.states - 1}"
    yield f"N={lattice.states} L={len(lattice.arcs)}"
    for node in range(lattice.states):
        yield f"I={node}"
    for k, arc in enumerate(lattice.arcs):
        if arc.word in NO_WORDS:
            raise UsageError(
                f"'{arc.word}' stands for no word in htk; write kaldi-lattice or arrow"
            )
        word = NULL if arc.word is None else _quoted(arc.word)
        values = [f"{fields[f]}={shortest(v)}" for f, v in arc.features.items()]
        yield " ".join([f"J={k} S={arc.source} E={arc.target} W={word}", *values])


def _quoted(text: str) -> str:
    """Write a text so that it is read as it is: in quotes only if there is white space in it."""
    shown = "".join(f"\\{c}" if c in "\"'\\" else c for c in text)
    return f'"{shown}"' if any(c.isspace() for c in text) or not text else shown
