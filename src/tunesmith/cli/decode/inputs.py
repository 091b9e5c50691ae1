"""Sentences to be translated, some at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tunesmith.errors import FormatError

if TYPE_CHECKING:
    from tunesmith.decoders.base import Sentence
    from tunesmith.hiero import HieroDecoder
    from tunesmith.io.streams import Source

#: An id that is a number; formats have no place for longer ones.
NUMBER = re.compile("[0-9]{1,18}")
#: What other decoders read as more than words: ends of a sentence, and elements of XML.
_SENTENCE = re.compile(r"<s>(\s.*)?\s</s>")
_MARKUP = re.compile(
    r"<[A-Za-z][\w.-]*(\s+[\w:.-]+\s*=\s*(\"[^\"]*\"|'[^']*'))+\s*/?>|</(?!s>)[A-Za-z][\w.-]*>"
)

#: Sentences that are translated at once, with how many came before them.
Block = tuple[int, list["Sentence"]]


def blocks_of(path: str, decoder: HieroDecoder) -> Iterator[Block]:
    """Yield sentences, some at a time, with how many came before; blank lines are sentences.

    Each is looked at, so that an error of one has its line.
    From standard input, those that have arrived do not wait for others.
    """
    from tunesmith.decoders.base import DecoderError, Sentence, block_size
    from tunesmith.hiero.grammar.text import segment
    from tunesmith.io.streams import Source

    size = block_size()
    source = Source(path, is_live=path == "-")
    names: set[int | str] | None = None
    block: list[Sentence] = []
    count = 0
    for lines in _lines(source):
        for line in lines:
            try:
                segment_id = segment(line)[0].get("id", "")
            except DecoderError as error:
                wrong, _, remedy = str(error).partition("; ")
                raise FormatError(source.name, count + 1, wrong, remedy) from None
            if count == 0 and segment_id:
                names = set()
            name: int | str = (
                int(segment_id) if NUMBER.fullmatch(segment_id) else segment_id or count
            )
            problem = _wrong_name(names, name, bool(segment_id))
            if problem:
                remedy = "give each one of its own, or none"
                raise FormatError(source.name, count + 1, problem, remedy)
            not_words = _not_words(line, decoder)
            if not_words:
                problem, remedy = not_words
                raise FormatError(source.name, count + 1, problem, remedy)
            block.append(Sentence(name, line))
            count += 1
            if len(block) == size:
                yield count - size, block
                block = []
        if block and path == "-":
            yield count - len(block), block
            block = []
    if block:
        yield count - len(block), block


def _not_words(line: str, decoder: HieroDecoder) -> tuple[str, str] | None:
    """Return what a line is that the decoder does not read, or not as it is, and a remedy."""
    from tunesmith.hiero.grammar.text import segment
    from tunesmith.hiero.lattice import LATTICE

    text = segment(line)[1].strip()
    if decoder.lattice_input is not None:
        return _problem(decoder, line)
    if LATTICE.match(text):
        remedy = "give --lattice-input plain, or probabilities, as the scores of its arcs are"
        return "it is a lattice (PLF), and words are decoded", remedy
    if _SENTENCE.fullmatch(text):
        return "it stands between <s> and </s>", "leave them out; the language model adds them"
    markup = _MARKUP.search(text)
    if markup and decoder.xml_input is None:
        remedy = "take the elements out, or give --xml-input for those that force translations"
        return f"'{markup[0]}' is markup", remedy
    return _problem(decoder, line) if decoder.xml_input is not None else None


def _problem(decoder: HieroDecoder, line: str) -> tuple[str, str] | None:
    """Return what is wrong with a lattice, or with elements that force translations."""
    from tunesmith.decoders.base import DecoderError

    try:
        decoder.check(line)
    except DecoderError as error:
        problem, _, remedy = str(error).rpartition("; ")
        return problem, remedy
    return None


def _wrong_name(names: set[int | str] | None, name: int | str, is_given: bool) -> str:
    """Say what is wrong with the id of a sentence, and take note of it."""
    if (names is not None) != is_given:
        return "some sentences have an id and others have none"
    if names is None:
        return ""
    if name in names:
        return f"two sentences have the id {name}"
    names.add(name)
    return ""


def _lines(source: Source) -> Iterator[list[str]]:
    """Yield all lines, blank ones too, as they come."""
    from tunesmith.io.text.utf8 import check_utf8

    source.check_line_ends()
    number = 1
    for block in source.blocks():
        check_utf8(block, source.name, number)
        lines = block.decode().split("\n")
        if not lines[-1]:
            lines.pop()
        number += len(lines)
        yield [line.removesuffix("\r") for line in lines]


def shown(
    blocks: Iterator[Block],
    path: str,
) -> Iterator[list[Sentence]]:
    """Yield the sentences of all blocks, and let progress count through them."""
    from tunesmith.io.streams import Source
    from tunesmith.progress import is_shown, part_of

    total = None
    if is_shown() and os.path.isfile(path):
        total = sum(map(len, _lines(Source(path))))
    for before, sentences in blocks:
        with part_of(before, total):
            yield sentences
