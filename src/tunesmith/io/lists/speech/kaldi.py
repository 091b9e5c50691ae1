"""n-best lists as Kaldi's scripts leave them: a file of words and files of scores beside it.

``steps/rnnlmrescore.sh`` and ``nbest-to-linear`` write archives, in text form a line for each
candidate: ``utterance-3 word word ...`` (words_text) and ``utterance-3 value`` (acwt, lmwt.nolm,
lmwt.rnn ...). Binary archives of words (numbers, whose table is needed) and of scores are read
too. The values are costs and are kept as they are, so weights come out negative.
"""

from __future__ import annotations

import codecs
import contextlib
import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.compression import DamagedError, decompress, kind_of, without_suffix
from tunesmith.io.forests.lattices.kaldi import NO_WORDS, read_word_table
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.lists.speech.kaldi_archives import (
    begins_nbest,
    is_binary,
    read_numbers,
    read_words,
)
from tunesmith.io.lists.speech.transcripts import Transcripts
from tunesmith.io.rows import Place
from tunesmith.io.streams import Source, writing
from tunesmith.io.text.numbers import float_or_nan, number_error
from tunesmith.io.values import check_one_line, feature_values, write_numbers
from tunesmith.registry import option

_KEY = re.compile(r"(.+)-(\d+)")
_FIRST_LINES = re.compile(rb"\s*(\S+)-1(?: [^\n]*)?(?:\n(?:\1-2|\S+-1)(?:[ \r\n]|\Z)|\n?\Z)")
#: Archives of the same folder that hold no scores: numbers of words and of states.
NO_SCORES = {"words", "ali", "text"}
#: Names that the scripts give to scores.
_USUAL = re.compile(r"(ac|lm|graph)wt(\..+)?")
#: What is meant as a number, be it finite or not.
_NUMBER = re.compile(rb"[+-]?(\.?\d|nan|inf)", re.IGNORECASE)
#: Bytes of a file that show whether it holds scores.
GLANCE = 1 << 14


@FORMATS.register("kaldi")
@dataclass(frozen=True)
class KaldiFormat(CandidateFormat):
    """n-best lists of Kaldi: a file of words, and files of scores beside it."""

    holds = frozenset({"references"})

    scores: str = option(
        "", "score files with + between them, beside the words; by default all that are there"
    )
    references: str = option("", "transcripts; by default the file text beside the words")
    words: str = option("", "a table of words and their numbers: words.txt", "FILE")

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first two lines begin with ``key-1`` and the key that comes next."""
        if begins_nbest(head):
            return True
        return b"|||" not in head[:GLANCE] and _FIRST_LINES.match(head) is not None

    @staticmethod
    def files_in(folder: str) -> list[str]:
        """Return the file of words in a folder of archives, or those of the jobs below it.

        Words that are numbers, in ``words``, are those of what ``nbest-to-linear`` writes.
        """
        below = sorted(Path(folder).glob("archives.*"), key=_job)
        for name, beside in (("words_text", ""), ("words", "acwt")):
            for places in ([Path(folder)], below):
                folders = [p for p in places if (p / name).is_file() and (p / beside).exists()]
                if folders:
                    return [os.fspath(place / name) for place in folders]
        return []

    def read(self, source: Source, collector: Collector) -> None:
        """Add all candidates to the collector."""
        words = _Words.of(source, self.words)
        scores = {}
        for path in self._score_files(words, source):
            name = without_suffix(os.path.basename(path))
            if name in scores:
                raise UsageError(f"two score files are called '{name}'; rename one")
            other = Source(path)
            scores[name] = words.read_scores(other)
            collector.files.append(other.digest(self.name))
        rows = zip(*[values.tolist() for values in scores.values()], strict=True)
        ids = words.ids()
        for utterance, text, line, row in zip(
            words.utterances, words.texts, words.lines, rows, strict=True
        ):
            features = dict(zip(scores, row, strict=True))
            collector.add(ids[utterance], text, features, place=(source.name, line))
        transcripts = self._transcripts(source)
        if transcripts is not None:
            remedy = "name others: kaldi:references=FILE"
            Transcripts(transcripts).add_to(collector, ids, remedy)

    def _score_files(self, words: _Words, source: Source) -> list[str]:
        folder = os.path.dirname(source.path)
        if self.scores:
            named = self.scores.split("+")
            return [name if os.path.dirname(name) else os.path.join(folder, name) for name in named]
        there = {} if source.path == "-" else _score_files_in(folder, source.path, words.index)
        for total, parts in _SUMS:
            if parts <= there.keys():
                there = {name: path for name, path in there.items() if not name.startswith(total)}
        if not there:
            problem = "there are no score files beside it"
            raise FormatError(source.name, None, problem, "name them: kaldi:scores=acwt+lmwt")
        return list(there.values())

    def _transcripts(self, source: Source) -> str | None:
        if self.references:
            return self.references
        beside = os.path.join(os.path.dirname(source.path), "text")
        same = source.path == "-" or os.path.basename(source.path) == "text"
        return beside if not same and os.path.isfile(beside) else None

    def write(
        self, candidates: CandidateSet, order: Ints, scores: Floats, path: str | os.PathLike[str]
    ) -> None:
        """Write the words, each feature to a file of its name beside them, and ``text``."""
        if os.fspath(path) == "-":
            raise UsageError("kaldi writes several files; name the file of words with --out")
        values = feature_values(candidates)
        if not values:
            raise UsageError("kaldi has a file for each feature and there are none; write jsonl")
        check_one_line(candidates)
        folder = Path(path).parent
        ending = os.fspath(path)[len(without_suffix(path)) :]
        for name in values:
            _check_name(name, folder / (name + ending), Path(path))
        if candidates.references is not None and (candidates.references.counts != 1).any():
            raise UsageError("kaldi has one transcript an utterance; write jsonl for several")
        keys = _keys(candidates)
        for name, column in values.items():
            write_numbers(os.fspath(folder / (name + ending)), column, order, keys)
        if candidates.references is not None:
            with writing(folder / "text") as file:
                for g, i in enumerate(candidates.ids):
                    file.write(f"{i} {candidates.reference_texts(g)[0]}\n".encode())
        with writing(path) as file:
            for key, i in zip(keys, order, strict=True):
                file.write(f"{key} {candidates.text(i)}\n".encode())


def _job(folder: Path) -> tuple[int, str]:
    """Return the number of a job's folder, and its name."""
    number = folder.name.rpartition(".")[2]
    return int(number) if number.isascii() and number.isdigit() else 0, folder.name


#: Files of ``steps/rnnlmrescore.sh`` that are sums of others: their name, and the others.
_SUMS = (
    ("lmwt.withlm", {"lmwt.nolm", "lmwt.lmonly"}),
    ("lmwt.interp.", {"lmwt.nolm", "lmwt.rnn"}),
)


@dataclass
class _Words:
    """The file of words."""

    name: str
    utterances: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=list)
    #: Which candidate has a key.
    index: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Source, table: str = "") -> _Words:
        """Read all entries."""
        result = cls(source.name)
        if is_binary(source.head()) and not table:
            problem = "its words are numbers"
            raise FormatError(source.name, None, problem, "name their table: kaldi:words=words.txt")
        words = read_word_table(table) if table else {}
        for key, text, line in read_words(source):
            matched = _KEY.fullmatch(key)
            if matched is None:
                problem = f"the key '{key}' does not end in - and a number"
                raise FormatError(source.name, line, problem, "write utterance-3 word word ...")
            if key in result.index:
                raise FormatError(source.name, line, f"'{key}' is there twice", "rename one")
            result.index[key] = len(result.index)
            result.utterances.append(matched.group(1))
            place = source.name, line
            result.texts.append(_named(text, words, table, place) if table else text)
            result.lines.append(line)
        if not result.index:
            raise FormatError(source.name, None, "there is no candidate in it", "give some")
        return result

    def ids(self) -> dict[str, GroupId]:
        """Return the group of each utterance: a number where all are."""
        names = dict.fromkeys(self.utterances)
        if all(u.isascii() and u.isdigit() and str(int(u)) == u for u in names):
            return {u: int(u) for u in names}
        return {u: u for u in names}

    def read_scores(self, source: Source) -> Floats:
        """Read a number for each candidate."""
        index = self.index
        by_row: dict[int, float] = {}
        for key, numbers, line in read_numbers(source):
            if len(numbers) != 1:
                problem = f"there are {1 + len(numbers)} fields, not a key and a number"
                raise FormatError(source.name, line, problem, "write one value per candidate")
            k = index.get(key)
            if k is None:
                problem = f"'{key}' is not in {self.name}"
                raise FormatError(source.name, line, problem, "give files of the same candidates")
            if k in by_row:
                raise FormatError(source.name, line, f"'{key}' is there twice", "drop one")
            by_row[k] = float_or_nan(numbers[0].encode())
            if math.isnan(by_row[k]):
                raise number_error(numbers[0].encode(), source.name, line, "a score")
        values = np.full(len(index), np.nan)
        values[list(by_row)] = list(by_row.values())
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            key = list(self.index)[missing[0]]
            problem = f"'{key}' is not in {source.name}"
            raise FormatError(self.name, self.lines[missing[0]], problem, "copy that file again")
        return values


def _named(text: str, words: dict[str, str], table: str, place: Place) -> str:
    """Return the words of numbers; those that are no words are left out."""
    named = []
    for number in text.split():
        if number not in words:
            problem = f"the word '{number}' is not in {table}"
            raise FormatError(*place, problem, "give the words.txt of the decoder")
        if number != "0" and words[number] not in NO_WORDS:
            named.append(words[number])
    return " ".join(named)


def _score_files_in(folder: str, words: str, index: dict[str, int]) -> dict[str, str]:
    """Return the files that hold scores, by name.

    Those that Kaldi's scripts call so must, whatever is in them: one that is damaged is no
    feature less. Of all others the first line tells: a key and a number.
    """
    paths = {}
    for path in sorted(Path(folder or ".").iterdir()):
        name = without_suffix(path.name)
        is_words = path.name == os.path.basename(words)
        if not is_words and name not in NO_SCORES and not name.startswith(".") and path.is_file():
            fields = _first_line(path).split()
            keyed = len(fields) == 2 and fields[0].decode("utf-8", "replace") in index
            if _USUAL.fullmatch(name) or (keyed and _NUMBER.match(fields[1])):
                paths[name] = os.path.join(folder, path.name)
    return paths


def _first_line(path: Path) -> bytes:
    with contextlib.suppress(OSError, DamagedError), open(path, "rb") as file:
        head = file.read(GLANCE)
        kind = kind_of(head)
        if kind is not None:
            head = next(decompress(kind, [head]), b"")
        lines = head.removeprefix(codecs.BOM_UTF8).split(b"\n")
        return next((line for line in lines if line.strip()), b"")
    return b""


def _check_name(name: str, path: Path, words: Path) -> None:
    is_reserved = name in NO_SCORES or path.name == words.name
    if is_reserved or not name or "/" in name or "\0" in name or name.startswith("."):
        raise UsageError(f"feature '{name}' cannot be the name of a score file; write jsonl")


def _keys(candidates: CandidateSet) -> list[str]:
    for i in candidates.ids:
        if not str(i) or any(c.isspace() for c in str(i)):
            raise UsageError(f"the id '{i}' has white space in it; write jsonl")
    sizes = np.diff(candidates.start).tolist()
    return [f"{i}-{k}" for i, n in zip(candidates.ids, sizes, strict=True) for k in range(1, n + 1)]
