"""n-best lists of SRILM: a folder with a file for each utterance, in one of three formats.

``acoustic language words text``, logarithms to base 10 (``ngram -rescore``); or after a line
``NBestList1.0`` ``(score) text``, in units of Decipher's (bytelogs); or after ``NBestList2.0``
``(score) word ( st: 0.1 et: 0.3 g: -12 a: -340 ) word ( ... ) ...``, with scores of each word.
The values are kept as they are. The id is the file's name, without its ending.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.compression import without_suffix
from tunesmith.io.forests.lattices.base import id_of
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.lists.speech.transcripts import Transcripts
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.registry import option

FIRST, SECOND = "NBestList1.0", "NBestList2.0"
#: Tokens that are no words.
NO_WORDS = {"<s>", "</s>", "-pau-"}
#: Endings of names that are no part of an utterance's id.
ENDINGS = (".nbest", ".score")
_NUMBER = rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_SCORED = re.compile(rb"%b[ \t]+%b[ \t]+(\d+)[ \t]+(\S[^\n]*)" % (_NUMBER, _NUMBER))
_LINE = re.compile(r"\(([^()]*)\)(.*)")
_FIELDS = re.compile(r"\(([^()]*:[^()]*)\)")
#: The scores of a word.
UNITS = {"a:": "acoustic", "g:": "language"}

Features = dict[str, float]


@FORMATS.register("srilm")
@dataclass(frozen=True)
class SrilmFormat(CandidateFormat):
    """n-best lists of SRILM: a folder with a file for each utterance."""

    scores: str = option(
        "", "folders with more scores, with + between them: files of the same names, one per line"
    )
    references: str = option("", "transcripts: the id of an utterance and its words on each line")

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether there is SRILM's header, or two scores, how many words, and so many."""
        if head.startswith((FIRST.encode(), SECOND.encode())):
            return True
        match = _SCORED.match(head)
        if match is None:
            return False
        words = match[2].decode("utf-8", "replace").split()
        marks = sum(word in NO_WORDS for word in words)
        return len(words) - marks <= int(match[1][:9]) <= len(words)

    @staticmethod
    def files_in(folder: str) -> list[str]:
        """Return the files of a folder, if the first is a list of SRILM's."""
        files = sorted(p for p in Path(folder).iterdir() if p.is_file() and p.name[0] != ".")
        is_ours = bool(files) and SrilmFormat.recognises(Source(files[0]).head())
        return [os.fspath(path) for path in files] if is_ours else []

    def read(self, source: Source, collector: Collector) -> None:
        """Add the candidates of one utterance to the collector."""
        name = _utterance(source.path)
        group = id_of(name)
        columns = {}
        for folder in filter(None, self.scores.split("+")):
            other = _file_in(folder, source)
            columns[os.path.basename(folder.rstrip("/"))] = _read_scores(other)
            collector.files.append(other.digest(self.name))
        count = 0
        for line, text, features in _candidates(source):
            for column, values in columns.items():
                if count >= len(values):
                    problem = f"there are {len(values)} scores of '{name}' in {column}"
                    raise FormatError(source.name, line, problem, "give one for each candidate")
                features[column] = values[count]
            collector.add(group, text, features, place=(source.name, line))
            count += 1
        for column, values in columns.items():
            if len(values) > count:
                problem = f"it has {count} candidates and {column} has {len(values)} scores"
                raise FormatError(source.name, None, problem, "give one for each candidate")
        if self.references:
            remedy = "name others: srilm:references=FILE"
            self._transcripts.add_to(collector, {name: group}, remedy)

    @cached_property
    def _transcripts(self) -> Transcripts:
        return Transcripts(self.references)


def _utterance(path: str) -> str:
    name = os.path.basename(without_suffix(path))
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _file_in(folder: str, source: Source) -> Source:
    """Return the file of another folder with scores of the same utterance."""
    stem = os.path.basename(without_suffix(source.path))
    names = (os.path.basename(source.path), stem, f"{stem}.gz", _utterance(source.path))
    paths = (os.path.join(folder, name) for name in names)
    path_there = next((path for path in paths if os.path.isfile(path)), None)
    if path_there is None:
        problem = f"there is no file of that name in {folder}"
        raise FormatError(source.name, None, problem, "give scores of the same utterances")
    return Source(path_there)


def _read_scores(source: Source) -> list[float]:
    return [_number(text.strip(), source, line) for line, text in source.lines()]


def _number(text: str, source: Source, line: int) -> float:
    value = float_or_nan(text.encode())
    if math.isnan(value):
        raise number_error(text.encode(), source.name, line, "a score")
    return value


def _candidates(source: Source) -> Iterator[tuple[int, str, Features]]:
    """Yield the line, the text and the features of each candidate."""
    header = ""
    for line, text in source.lines():
        if text.strip() in (FIRST, SECOND) and not header:
            header = text.strip()
            continue
        if not header:
            yield line, *_scored(text, source, line)
            continue
        matched = _LINE.fullmatch(text.strip())
        if matched is None:
            problem = "there is no score in brackets"
            raise FormatError(source.name, line, problem, "write (score) word word ...")
        score = _number(matched[1].strip(), source, line)
        if header == FIRST:
            yield line, _text(matched[2].split()), {"score": score}
        else:
            yield line, *_timed(matched[2], source, line)


def _scored(text: str, source: Source, line: int) -> tuple[str, Features]:
    fields = text.split(None, 3)
    if len(fields) < 3:
        problem = "there are fewer than three numbers"
        raise FormatError(source.name, line, problem, "write acoustic language words text")
    names = ("acoustic", "language", "words")
    values = [_number(field, source, line) for field in fields[:3]]
    return _text("".join(fields[3:]).split()), dict(zip(names, values, strict=True))


def _timed(text: str, source: Source, line: int) -> tuple[str, Features]:
    """Return the words and the sums of their scores; units within words are passed over."""
    parts = _FIELDS.split(text)
    if len(parts) % 2 == 0 or parts[-1].strip():
        problem = "a word has no times and scores"
        remedy = "write word ( st: time et: time g: score a: score )"
        raise FormatError(source.name, line, problem, remedy)
    words = []
    sums = dict.fromkeys(UNITS.values(), 0.0)
    ends = (math.inf, -math.inf)
    for word, annotation in zip(parts[::2], parts[1::2], strict=False):
        fields = annotation.split()
        values = dict(zip(fields[::2], fields[1::2], strict=False))
        if not {"st:", "et:", *UNITS} <= values.keys():
            problem = f"'{word.strip()}' lacks one of st:, et:, g: and a:"
            raise FormatError(source.name, line, problem, "write all four of each word")
        start, end = (_number(values[key], source, line) for key in ("st:", "et:"))
        if ends[0] <= start and end <= ends[1]:
            continue
        ends = start, end
        words.append(word.strip())
        for key, name in UNITS.items():
            sums[name] += _number(values[key], source, line)
    text = _text(words)
    return text, {**sums, "words": float(len(text.split()))}


def _text(words: list[str]) -> str:
    return " ".join(word for word in words if word not in NO_WORDS)
