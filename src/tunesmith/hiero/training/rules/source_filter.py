"""Which rules can apply to some sentences."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Ids, Ints, Number
from tunesmith.data.candidates import FileDigest
from tunesmith.data.rows import offsets
from tunesmith.errors import TunesmithError
from tunesmith.hiero.grammar.text import segment
from tunesmith.hiero.training.rules.extract import PAD
from tunesmith.hiero.vocabulary import Vocabulary
from tunesmith.io.streams import Source
from tunesmith.io.text.tokens import Interner, tokenize
from tunesmith.io.text.utf8 import check_utf8
from tunesmith.kernels import kernel


class SentenceArrays(NamedTuple):
    """Sentences, and in which of them each word is.

    Attributes
    ----------
    start : int64[N + 1], words : int32[...]
        The sentences, over the vocabulary of the rules; -1 for words that are not in it.
    holder_start : int64[V + 1], holders : int32[...]
        The sentences with each word, ascending, none twice.
    """

    start: Ints
    words: Ids
    holder_start: Ints
    holders: Ids


def read_sentences(
    paths: Sequence[str | os.PathLike[str]], vocabulary: Vocabulary
) -> tuple[SentenceArrays, tuple[FileDigest, ...]]:
    """Read the sentences of several files, with or without ``<seg>`` around them."""
    interner = Interner()
    texts, files = [], []
    for path in paths:
        source = Source(path)
        source.check_line_ends()
        line = 1
        for block in source.blocks():
            check_utf8(block, source.name, line)
            texts.append(tokenize(_without_markup(block, source.name, line), interner))
            line += block.count(b"\n")
        files.append(source.digest("text"))
    ids = vocabulary.ids_of(interner.words())
    lengths = np.concatenate([text.lengths for text in texts])
    words = ids[np.concatenate([text.ids for text in texts])]
    return sentence_arrays(lengths, words, len(vocabulary)), tuple(files)


def _without_markup(block: bytes, name: str, line: int) -> bytes:
    """Return the words that a decoder finds in each line, of which the first has a number."""
    if b"<seg" not in block:
        return block
    sentences = []
    for number, text in enumerate(block.decode().split("\n"), line):
        try:
            sentences.append(segment(text)[1])
        except TunesmithError as error:
            raise TunesmithError(f"{name}:{number}: {error}") from None
    return "\n".join(sentences).encode()


def sentence_arrays(lengths: Ints, words: Ids, vocabulary: int) -> SentenceArrays:
    """Make the index of sentences, given one after the other."""
    start = offsets(lengths)
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    known = words >= 0
    keys = np.unique((words[known].astype(np.int64) << 32) | sentences[known])
    counts = np.bincount(keys >> 32, minlength=vocabulary)
    holder_start = offsets(counts)
    return SentenceArrays(
        start, words.astype(np.int32), holder_start, (keys & 0xFFFFFFFF).astype(np.int32)
    )


@kernel
def applicable(sources: Ids, sentences: SentenceArrays, flags: Flags) -> None:
    """Say of each source side whether its words are in a sentence, with room for nonterminals.

    Equal source sides stand one after the other.
    """
    for rule in range(sources.shape[0]):
        side = sources[rule]
        if rule > 0:
            same = True
            for k in range(side.shape[0]):
                same &= side[k] == sources[rule - 1, k]
            if same:
                flags[rule] = flags[rule - 1]
                continue
        size, rarest = 0, -1
        while size < side.shape[0] and side[size] != PAD:
            word = side[size]
            if word >= 0 and (rarest < 0 or _lookup(sentences, word) < _lookup(sentences, rarest)):
                rarest = word
            size += 1
        flags[rule] = False
        for k in range(sentences.holder_start[rarest], sentences.holder_start[rarest + 1]):
            sentence = sentences.holders[k]
            words = sentences.words[sentences.start[sentence] : sentences.start[sentence + 1]]
            if _matches(side[:size], words):
                flags[rule] = True
                break


@kernel
def _lookup(sentences: SentenceArrays, word: int) -> Number:
    return sentences.holder_start[word + 1] - sentences.holder_start[word]


@kernel
def _matches(side: Ids, words: Ids) -> Number:
    """Find the runs of words of a source side in order, each as early as can be.

    A nonterminal stands for a word or more, so early is never worse than late.
    """
    k, at = 0, 0
    while k < side.shape[0]:
        if side[k] < 0:
            at += 1
            k += 1
            continue
        last = k
        while last < side.shape[0] and side[last] >= 0:
            last += 1
        while at + last - k <= words.shape[0] and not _stands(side[k:last], words, at):
            at += 1
        at += last - k
        k = last
    return at <= words.shape[0]


@kernel
def _stands(run: Ids, words: Ids, at: int) -> Number:
    same = True
    for i in range(run.shape[0]):
        same &= run[i] == words[at + i]
    return same
