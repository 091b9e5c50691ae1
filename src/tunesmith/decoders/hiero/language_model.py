"""Language models with back-off: what they say of words, in memory or on disk.

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

from tunesmith.arrays import Floats, Ids, Ints, Words
from tunesmith.data.candidates import FileDigest
from tunesmith.decoders.hiero.arpa import MAX_ORDER, ArpaReader
from tunesmith.decoders.hiero.arpa_kernels import find_child
from tunesmith.decoders.hiero.lm_states import EMPTY
from tunesmith.decoders.hiero.lm_tables import build, joined
from tunesmith.decoders.hiero.store import frozen, load_array, read_about, save_arrays
from tunesmith.decoders.hiero.tables import ModelArrays
from tunesmith.decoders.hiero.vocabulary import Vocabulary
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.streams import Source
from tunesmith.io.tokens import Interner, tokenize
from tunesmith.kernels import kernel

#: What a saved model says that it is.
SCHEMA = "tunesmith.lm/1"


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
class LanguageModel:
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
        """Read an ARPA file, plain or compressed, or a folder that was saved."""
        if Path(path).is_dir():
            return _load(path)
        reader = ArpaReader(Source(path))
        reader.read()
        arrays, words = build(reader)
        return cls(arrays, Vocabulary.of(words), (reader.source.digest("arpa"),))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model into a folder, from where it is mapped when it is read."""
        arrays = self.arrays
        held: dict[str, NDArray[Any]] = {
            "probabilities": arrays.probabilities,
            "backoffs": arrays.backoffs,
            "flags": arrays.flags,
            "keys": arrays.keys,
            "children": arrays.children,
            **self.vocabulary.arrays(),
        }
        about = {
            "schema": SCHEMA,
            "order": self.order,
            "begin": int(arrays.begins[0]),
            "end": int(arrays.ends[0]),
            "unknown": int(arrays.unknowns[0]),
            "files": [[file.path, file.sha256, file.format] for file in self.files],
        }
        save_arrays(folder, held, about)

    @property
    def order(self) -> int:
        """The greatest length of its n-grams."""
        return int(self.arrays.orders[0])

    def lookup(self, words: Sequence[str]) -> Ids:
        """Return the nodes of words, that of ``<unk>`` for those that are not there."""
        ids = self.vocabulary.ids_of(words)
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
class LanguageModels:
    """Several models that are asked together.

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
        return self._joined[0]

    def lookup(self, words: Sequence[str]) -> Ids:
        """Return the nodes of words in each model: int32[M, n]; ``<unk>`` for unknown ones."""
        rows = [
            model.lookup(words) + np.int32(shift)
            for model, shift in zip(self.models.values(), self._joined[1], strict=True)
        ]
        return frozen(np.stack(rows))

    @cached_property
    def _joined(self) -> tuple[ModelArrays, list[int]]:
        return joined([model.arrays for model in self.models.values()])


def _load(folder: str | os.PathLike[str]) -> LanguageModel:
    """Return a model that was saved; arrays that do not go together are an error."""
    about = read_about(folder, SCHEMA)
    arrays = ModelArrays(
        frozen(np.array([_whole(folder, about, "order")], np.int64)),
        frozen(np.array([_whole(folder, about, "begin")], np.int32)),
        frozen(np.array([_whole(folder, about, "end")], np.int32)),
        frozen(np.array([_whole(folder, about, "unknown")], np.int32)),
        load_array(folder, "probabilities", np.float32),
        load_array(folder, "backoffs", np.float32),
        load_array(folder, "flags", np.uint8),
        load_array(folder, "keys", np.uint64),
        load_array(folder, "children", np.int32),
    )
    vocabulary = Vocabulary(
        load_array(folder, "word_start", np.int64),
        load_array(folder, "word_letters", np.uint8),
        load_array(folder, "word_hashes", np.uint64),
        load_array(folder, "word_order", np.int32),
    )
    if not _sound(arrays, vocabulary):
        raise FormatError(
            str(folder), None, "its arrays do not go together", "make the folder again"
        )
    return LanguageModel(arrays, vocabulary, _files(folder, about))


def _whole(folder: str | os.PathLike[str], about: Mapping[str, Any], key: str) -> int:
    number = about.get(key)
    if type(number) is not int or not 0 <= number < 2**31:
        problem = f"its {key} is {number}, no number of this kind"
        raise FormatError(str(folder), None, problem, "make the folder again")
    return number


def _files(folder: str | os.PathLike[str], about: Mapping[str, Any]) -> tuple[FileDigest, ...]:
    try:
        return tuple(FileDigest(*map(str, file)) for file in about.get("files", []))
    except TypeError:
        raise FormatError(
            str(folder), None, "its list of files is damaged", "make the folder again"
        ) from None


def _sound(arrays: ModelArrays, vocabulary: Vocabulary) -> bool:
    """Tell whether no kernel can leave the arrays."""
    words, nodes, places = len(vocabulary.order), len(arrays.probabilities), len(arrays.keys)
    start, order, held = vocabulary.start, vocabulary.order, arrays[4:]
    if any(array.ndim != 1 for array in (*held, start, order, vocabulary.letters)):
        return False
    same = len(arrays.backoffs) == len(arrays.flags) == nodes and len(arrays.children) == places
    if not same or not 0 < words <= nodes or places & (places - 1) or places == 0:
        return False
    if vocabulary.hashes.shape != (words,) or start.shape != (words + 1,):
        return False
    if start[0] != 0 or start[-1] != len(vocabulary.letters) or np.any(np.diff(start) < 0):
        return False
    if order.min() < 0 or order.max() >= words:
        return False
    if not 1 <= arrays.orders[0] <= MAX_ORDER or (arrays.orders[0] == 1 and arrays.flags.any()):
        return False
    if max(arrays.begins[0], arrays.ends[0], arrays.unknowns[0]) >= words:
        return False
    return bool(_sound_table(arrays.keys, arrays.children, nodes))


@kernel
def _sound_table(keys: Words, children: Ids, nodes: int) -> bool:
    """Tell whether a search ends, at a node or at an empty place."""
    empty, wrong = 0, 0
    for place in range(keys.shape[0]):
        free = keys[place] == EMPTY
        child = children[place]
        empty += free
        wrong += (child < 0) != free
        wrong += child >= nodes
    return empty > 0 and wrong == 0


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
                node = find_child(models.keys, models.children, shorter, first)
            if node < 0:
                break
            contexts[length - 1] = shorter
            length += 1
        for k in range(length, known + 1):
            due += np.float64(models.backoffs[contexts[k - 1]])
        log10[i] = np.float64(models.probabilities[shorter]) + due
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
        sentence[:n] = words[start[line] : start[line + 1]]
        sentence[n] = models.ends[0]
        _score(models, sentence[: n + 1], True, log10, lengths)
        for k in range(n + 1):
            unknown = 1 if sentence[k] == models.unknowns[0] else 0
            sums[unknown] += log10[k]
            counts[unknown] += 1
