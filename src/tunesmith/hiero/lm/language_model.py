"""Back-off language models: scores of words, in memory or on disk.

Katz, "Estimation of probabilities from sparse data for the language model component of a speech
recognizer" (1987): p(w | h) is that of the n-gram h w if it is there; otherwise the back-off of h
times p(w | h') with h' shorter by its first word.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Floats, Ids, Ints, Number
from tunesmith.data.candidates import FileDigest
from tunesmith.errors import FormatError, UsageError
from tunesmith.hiero.lm.arpa import MAX_ORDER, ArpaReader
from tunesmith.hiero.lm.kenlm import BINARY, read_binary
from tunesmith.hiero.lm.keys import child_key
from tunesmith.hiero.lm.tables import build, joined, model_arrays
from tunesmith.hiero.store import (
    ABOUT,
    Portable,
    frozen,
    load_array,
    read_header,
    save_arrays,
)
from tunesmith.hiero.tables import (
    EMPTY,
    ENTRY,
    EXTENDS_LEFT,
    EXTENDS_RIGHT,
    HASHED,
    MASK,
    PLAIN,
    TABLE,
    ModelArrays,
)
from tunesmith.hiero.vocabulary import Vocabulary
from tunesmith.io.streams import Source
from tunesmith.io.text.tokens import Interner, tokenize
from tunesmith.kernels import kernel
from tunesmith.kernels.bits import spread_bits
from tunesmith.kernels.copying import copy_to

#: What a saved model says that it is.
SCHEMA = "tunesmith.lm/2"

_1 = np.uint64(1)


class WordScore(NamedTuple):
    """What a model says of a word in its context.

    Attributes
    ----------
    log10
        The logarithm of its probability.
    length
        The words of the n-gram that was found, the word itself among them.
    unknown
        Whether the model does not know the word.
    """

    log10: float
    length: int
    unknown: bool


@dataclass(frozen=True)
class Perplexity:
    """How well a model foresees a text; the end of each line is a word.

    Attributes
    ----------
    including, excluding
        The perplexity with and without the unknown words.
    words, unknown
        How many words there are, ends of lines among them, and how many are unknown.
    log10
        The logarithm of the probability of all words.
    """

    including: float
    excluding: float
    words: int
    unknown: int
    log10: float


@dataclass(frozen=True, eq=False)
class LanguageModel(Portable):
    """One model.

    Attributes
    ----------
    arrays
        What kernels see, with M = 1.
    vocabulary
        Its words; their numbers are the nodes of the unigrams.
    files
        What it was read from.
    """

    arrays: ModelArrays
    vocabulary: Vocabulary
    files: tuple[FileDigest, ...] = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> LanguageModel:
        """Read an ARPA file or KenLM's form of one, compressed or not, or a folder."""
        if Path(path).is_dir():
            if not (Path(path) / ABOUT).exists() and (Path(path) / "lm" / ABOUT).is_file():
                problem = "this is a whole model, not a language model"
                raise FormatError(str(path), None, problem, f"name {Path(path) / 'lm'}")
            return _load(path)
        source = Source(path)
        if source.head().startswith(BINARY):
            arrays, words = read_binary(source)
            return cls(arrays, Vocabulary.of(words), (source.digest("kenlm"),))
        reader = ArpaReader(source)
        reader.read()
        arrays, words = build(reader)
        return cls(arrays, Vocabulary.of(words), (source.digest("arpa"),))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model into a folder, from where it is mapped when it is read."""
        arrays = self.arrays
        header = {
            "schema": SCHEMA,
            "order": self.order,
            "begin": int(arrays.begins[0]),
            "end": int(arrays.ends[0]),
            "unknown": int(arrays.unknowns[0]),
            "hashed": int(arrays.layout[0, HASHED]),
            "files": [[file.path, file.sha256, file.format] for file in self.files],
        }
        stored: dict[str, NDArray[Any]] = {"entries": arrays.entries, **self.vocabulary.arrays()}
        save_arrays(folder, stored, header)

    @property
    def order(self) -> int:
        """The greatest length of its n-grams."""
        return int(self.arrays.orders[0])

    def lookup(self, words: Sequence[str]) -> Ids:
        """Return the nodes of words, that of ``<unk>`` for those that are not there."""
        ids = self.vocabulary.ids_of(words)
        return np.where(ids < 0, self.arrays.unknowns[0], ids).astype(np.int32)

    def lookup_all(self, vocabulary: Vocabulary) -> Ids:
        """Return the nodes of all words of a vocabulary, as :meth:`lookup` does."""
        ids = vocabulary.ids_in(self.vocabulary)
        return np.where(ids < 0, self.arrays.unknowns[0], ids).astype(np.int32)

    def score(self, words: Sequence[str], bos: bool = True, eos: bool = True) -> list[WordScore]:
        """Return what the model says of each word, and of the end of the sentence.

        Parameters
        ----------
        words
            A sentence.
        bos
            Whether it stands behind ``<s>``, or in no context at all.
        eos
            Whether ``</s>`` follows, which has a score too.
        """
        nodes = self.lookup(words)
        if eos:
            nodes = np.append(nodes, self.arrays.ends)
        log10, lengths = np.zeros(len(nodes)), np.zeros(len(nodes), np.int64)
        _score(self.arrays, nodes, bos, log10, lengths)
        unknown = nodes == self.arrays.unknowns[0]
        rows = zip(log10.tolist(), lengths.tolist(), unknown.tolist(), strict=True)
        return [WordScore(*row) for row in rows]

    def perplexity(self, lines: Iterable[str]) -> Perplexity:
        """Return how well the model foresees lines of words."""
        block = "".join(" ".join(line.split()) + "\n" for line in lines).encode()
        if not block:
            raise UsageError("there are no lines; give a text")
        interner = Interner()
        texts = tokenize(block, interner)
        nodes = self.lookup(interner.words())[texts.ids]
        sums = np.zeros(2)
        counts = np.zeros(2, np.int64)
        _score_lines(self.arrays, texts.start, nodes, sums, counts)
        every, known = counts.sum(), counts[0]
        return Perplexity(
            including=_perplexity(sums.sum(), every),
            excluding=_perplexity(sums[0], known),
            words=int(every),
            unknown=int(counts[1]),
            log10=float(sums.sum()),
        )


def _perplexity(log10: float, words: int) -> float:
    with np.errstate(over="ignore"):
        return float(np.power(10.0, -log10 / words)) if words else float("nan")


@dataclass(frozen=True, eq=False)
class LanguageModels(Portable):
    """Several models that score together.

    Attributes
    ----------
    models
        Each by the name of its feature.
    """

    models: Mapping[str, LanguageModel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.models:
            raise UsageError("there is no language model; give at least one")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of their features, in the order of the models."""
        return tuple(self.models)

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """What they were read from."""
        return tuple(file for model in self.models.values() for file in model.files)

    @property
    def arrays(self) -> ModelArrays:
        """All models, as kernels see them; a single one is not copied."""
        return self._joined

    def lookup(self, words: Sequence[str]) -> Ids:
        """Return the nodes of words in each model: int32[M, n]; ``<unk>`` for unknown ones."""
        return frozen(np.stack([model.lookup(words) for model in self.models.values()]))

    def lookup_all(self, vocabulary: Vocabulary) -> Ids:
        """Return the nodes of all words of a vocabulary, as :meth:`lookup` does."""
        return frozen(np.stack([model.lookup_all(vocabulary) for model in self.models.values()]))

    @cached_property
    def _joined(self) -> ModelArrays:
        return joined([model.arrays for model in self.models.values()])


def _load(folder: str | os.PathLike[str]) -> LanguageModel:
    """Return a model that was saved; arrays that do not go together are an error."""
    header = read_header(folder, SCHEMA)
    vocabulary = Vocabulary(
        load_array(folder, "word_start", np.int64),
        load_array(folder, "word_letters", np.uint8),
        load_array(folder, "word_hashes", np.uint64),
        load_array(folder, "word_order", np.int32),
    )
    arrays = model_arrays(
        _whole(folder, header, "order"),
        _whole(folder, header, "begin"),
        _whole(folder, header, "end"),
        _whole(folder, header, "unknown"),
        len(vocabulary.order),
        load_array(folder, "entries", ENTRY),
        _whole(folder, header, "hashed") != 0,
    )
    if not _sound(arrays, vocabulary):
        raise FormatError(
            str(folder), None, "its arrays do not go together", "make the folder again"
        )
    return LanguageModel(arrays, vocabulary, _files(folder, header))


def _whole(folder: str | os.PathLike[str], header: Mapping[str, Any], key: str) -> int:
    number = header.get(key)
    if type(number) is not int or not 0 <= number < 2**31:
        problem = f"its {key} is {number}, no number of this kind"
        raise FormatError(str(folder), None, problem, "make the folder again")
    return number


def _files(folder: str | os.PathLike[str], header: Mapping[str, Any]) -> tuple[FileDigest, ...]:
    try:
        return tuple(FileDigest(*map(str, file)) for file in header.get("files", []))
    except TypeError:
        raise FormatError(
            str(folder), None, "its list of files is damaged", "make the folder again"
        ) from None


def _sound(arrays: ModelArrays, vocabulary: Vocabulary) -> bool:
    """Tell whether no search leaves the arrays or goes on forever."""
    entries, words = arrays.entries, len(vocabulary)
    size = len(entries) - words
    if entries.ndim != 1 or not vocabulary.is_sound():
        return False
    if words == 0 or size < 1 or size & (size - 1):
        return False
    if max(arrays.begins[0], arrays.ends[0], arrays.unknowns[0]) >= words:
        return False
    if not 1 <= arrays.orders[0] <= MAX_ORDER:
        return False
    # Where there are no contexts, no place is kept for them.
    flags = entries["key"][:words] & (EXTENDS_LEFT | EXTENDS_RIGHT)
    return bool(_ends(entries, words)) and not (arrays.orders[0] == 1 and flags.any())


@kernel
def _ends(entries: NDArray[Any], words: int) -> bool:
    """Tell whether there is an empty place, where searches end."""
    at = words
    while at < entries.shape[0] and entries[at]["key"] != EMPTY:
        at += 1
    return bool(at < entries.shape[0])


@kernel
def _child(models: ModelArrays, node: Number, word: Number) -> Number:
    """Return the node of the n-gram that begins with a word before another one, or -1."""
    table, mask = models.layout[0, TABLE], np.uint64(models.layout[0, MASK])
    key = child_key(models.layout[0, HASHED], models.entries[node]["key"], node, word)
    place = spread_bits(key) & mask
    while True:
        at = table + np.int64(place)
        stored_key = models.entries[at]["key"]
        if stored_key == EMPTY:
            return np.int64(-1)
        if stored_key & PLAIN == key:
            return at
        place = (place + _1) & mask


@kernel
def _score(models: ModelArrays, words: Ids, begins: bool, log10: Floats, lengths: Ints) -> None:
    """Score words one after the other by the longest n-grams that end in them."""
    order = models.orders[0]
    before = 1 if begins else 0  # words before the first one
    # The nodes of the n-grams of 1, 2, ... words that end in the word before: the contexts.
    contexts = np.zeros(order, np.int64)
    contexts[0] = models.begins[0]
    known = min(before, order - 1)
    for i in range(words.shape[0]):
        due = 0.0
        node = np.int64(words[i])
        length = 1
        while True:
            # A context takes the place of one of the same length that the n-gram goes beyond,
            # and whose back-off is not due.
            shorter = node
            node = np.int64(-1)
            if length < order and length <= i + before:
                first = words[i - length] if length <= i else models.begins[0]
                node = _child(models, shorter, first)
            if node < 0:
                break
            contexts[length - 1] = shorter
            length += 1
        for k in range(length, known + 1):
            due += np.float64(models.entries[contexts[k - 1]]["backoff"])
        log10[i] = np.float64(models.entries[shorter]["probability"]) + due
        lengths[i] = length
        contexts[length - 1] = shorter
        known = min(length, order - 1)


@kernel
def _score_lines(models: ModelArrays, start: Ints, words: Ids, sums: Floats, counts: Ints) -> None:
    """Add up the scores and the number of known and unknown words, line by line."""
    longest = 0
    for line in range(start.shape[0] - 1):
        longest = max(longest, start[line + 1] - start[line])
    sentence = np.zeros(longest + 1, np.int32)
    log10 = np.zeros(longest + 1)
    lengths = np.zeros(longest + 1, np.int64)
    for line in range(start.shape[0] - 1):
        n = start[line + 1] - start[line]
        copy_to(sentence, 0, words[start[line] : start[line + 1]])
        sentence[n] = models.ends[0]
        _score(models, sentence[: n + 1], True, log10, lengths)
        for k in range(n + 1):
            unknown = 1 if sentence[k] == models.unknowns[0] else 0
            sums[unknown] += log10[k]
            counts[unknown] += 1
