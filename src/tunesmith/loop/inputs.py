"""Sentences to decode, and the references that their candidates are scored against."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.data.candidates import (
    CandidateSet,
    FileDigest,
    References,
    Texts,
    pack_texts,
)
from tunesmith.data.forests import Forests
from tunesmith.data.rows import offsets
from tunesmith.decoders.base import Sentence
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io.streams import Source
from tunesmith.io.text.utf8 import check_utf8

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Inputs:
    """A set to decode: to tune on, to choose by, or to test on.

    Attributes
    ----------
    sentences
        The sentences to decode.
    references
        The references of each sentence; empty for metrics that need none.
    files
        The files that the set was read from.
    """

    sentences: tuple[Sentence, ...]
    references: tuple[tuple[str, ...], ...] = ()
    files: tuple[FileDigest, ...] = ()

    def __post_init__(self) -> None:
        if not self.sentences:
            raise TunesmithError("there is no sentence to decode; give some")
        if self.references and len(self.references) != len(self.sentences):
            raise TunesmithError(
                f"there are {len(self.sentences)} sentences and {len(self.references)} references; "
                "give references for each sentence"
            )
        if any(not several for several in self.references):
            raise TunesmithError("a sentence has no reference; give one for each")
        ids = [sentence.id for sentence in self.sentences]
        if len(set(ids)) < len(ids):
            twice = next(i for k, i in enumerate(ids) if i in ids[:k])
            raise TunesmithError(f"two sentences are called {twice}; give each a name of its own")
        if len({isinstance(i, str) for i in ids}) > 1:
            raise TunesmithError("some ids are numbers and some are texts; give one kind")
        for sentence in self.sentences:
            if "\n" in sentence.text:
                raise TunesmithError(f"sentence {sentence.id} has a line end in it; take it out")

    @classmethod
    def of(cls, texts: Iterable[str], references: Iterable[str | Sequence[str]] = ()) -> Inputs:
        """Make a set from texts, with one or several references each; ids count from 0."""
        if isinstance(texts, str):
            raise TunesmithError("the texts are one text; give a list of them")
        reference_texts = tuple(
            (texts_of_sentence,) if isinstance(texts_of_sentence, str) else tuple(texts_of_sentence)
            for texts_of_sentence in references
        )
        return cls(tuple(Sentence(k, text) for k, text in enumerate(texts)), reference_texts)

    @classmethod
    def read(
        cls,
        source: Path | None,
        references: Path | Sequence[Path] = (),
        sentences: Sequence[Sentence] | None = None,
    ) -> Inputs:
        """Read a set from files with one line per sentence.

        Parameters
        ----------
        source
            The sentences; None if the decoder knows them.
        references
            Files of references; several files give several references per sentence.
        sentences
            The sentences that the decoder knows: their ids are lines of the references, from 0.
        """
        files: list[FileDigest] = []
        known = [] if sentences is None else list(sentences)
        if source is not None:
            lines, digest = _lines(source)
            known = [Sentence(k, text) for k, text in enumerate(lines)]
            files.append(digest)
        several: list[list[str]] = []
        for path in [references] if isinstance(references, str | os.PathLike) else references:
            lines, digest = _lines(path)
            _check_lines(lines, known, digest.path, source)
            several.append(
                [lines[k if source is not None else int(s.id)] for k, s in enumerate(known)]
            )
            files.append(digest)
        return cls(tuple(known), tuple(zip(*several, strict=True)), tuple(files))

    @property
    def pairs(self) -> list[tuple[str, tuple[str, ...]]]:
        """Sources with their references, of sentences that have either."""
        references = self.references or ((),) * len(self.sentences)
        pairs = [(s.text, several) for s, several in zip(self.sentences, references, strict=True)]
        return [pair for pair in pairs if any(pair)]

    def digest(self) -> dict[str, Any]:
        """Return what identifies the set."""
        sentences = [[sentence.id, sentence.text] for sentence in self.sentences]
        text = json.dumps([sentences, self.references], ensure_ascii=True)
        return {
            "sentences": len(sentences),
            "references": len(self.references[0]) if self.references else 0,
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the set as JSON has it, with its digest."""
        return {
            "sha256": self.digest()["sha256"],
            "ids": [sentence.id for sentence in self.sentences],
            "sources": [sentence.text for sentence in self.sentences],
            "references": [list(several) for several in self.references],
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Inputs:
        """Return the set that :meth:`to_dict` has written."""
        pairs = zip(found["ids"], found["sources"], strict=True)
        sentences = tuple(Sentence(name, text) for name, text in pairs)
        return cls(sentences, tuple(tuple(several) for several in found["references"]))

    @cached_property
    def _words_of_references(self) -> tuple[list[str], Ints, Texts]:
        """The words that occur in them, where those of a sentence begin, and texts over these."""
        words: dict[str, int] = {}
        texts = [
            np.array([words.setdefault(word, len(words)) for word in text.split()], np.int32)
            for text in itertools.chain.from_iterable(self.references)
        ]
        start = offsets([len(texts_of_sentence) for texts_of_sentence in self.references])
        return list(words), start.astype(np.int64), pack_texts(texts)

    @overload
    def with_references(self, decoded: CandidateSet) -> CandidateSet: ...

    @overload
    def with_references(self, decoded: Forests) -> Forests: ...

    def with_references(self, decoded: Any) -> Any:
        """Return candidates or forests of all sentences with references, over one vocabulary."""
        if not self.references:
            return decoded
        words = {word: k for k, word in enumerate(decoded.vocabulary)}
        words_used, start, texts = self._words_of_references
        ids = np.array([words.setdefault(word, len(words)) for word in words_used], np.int32)
        references = References(start, Texts(texts.start, ids[texts.ids]))
        return dataclasses.replace(
            decoded,
            vocabulary=tuple(words),
            references=references,
            sources=tuple(sentence.text for sentence in self.sentences),
        )


def _lines(path: Path) -> tuple[list[str], FileDigest]:
    source = Source(path)
    source.check_line_ends()
    text = source.read()
    check_utf8(text, source.name, 1)
    lines = text.decode().split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines], source.digest("text")


def _check_lines(lines: list[str], known: list[Sentence], path: str, source: Path | None) -> None:
    """Raise an error if references do not belong to the sentences."""
    if source is not None and len(lines) != len(known):
        problem = f"it has {len(lines)} lines and {os.fspath(source)} has {len(known)}"
        raise FormatError(path, None, problem, "give one reference line per sentence")
    if source is None:
        for sentence in known:
            if not isinstance(sentence.id, int) or not 0 <= sentence.id < len(lines):
                problem = f"there is no line for the sentence {sentence.id}"
                raise FormatError(path, None, problem, "give one reference line per sentence")
