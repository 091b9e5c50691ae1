"""From n-grams to the arrays of a language model, and several models in one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.errors import FormatError, TunesmithError
from tunesmith.hiero.lm.arpa import ArpaReader, Ngrams
from tunesmith.hiero.lm.kernels import add_ngrams, copy_children, mark_contexts, pack
from tunesmith.hiero.store import frozen
from tunesmith.hiero.tables import EMPTY, ENTRY, FIRST, TABLE, ModelArrays

#: The greatest share of a table's places that is in use.
LOAD = 0.6
#: The log10 probability of unknown words where a model has none, as in KenLM.
NO_UNKNOWN = -100.0
#: The largest table: nodes have numbers of 31 bits.
LARGEST = 1 << 30


def build(reader: ArpaReader) -> tuple[ModelArrays, list[str]]:
    """Return a model and its words, whose numbers are nodes, from a file that was read."""
    name, words = reader.source.name, reader.words.words()
    known = {word: k for k, word in enumerate(words)}
    for word in ("<s>", "</s>"):
        if word not in known:
            raise FormatError(name, None, f"there is no 1-gram {word}", "give a whole model")
    unknown = known.get("<unk>", known.get("<UNK>"))
    if unknown is None:
        unknown = len(words)
        words.append("<unk>")
        warnings.warn(
            f"{name}: there is no 1-gram <unk>: the log10 probability of unknown words is "
            f"{NO_UNKNOWN:g}",
            stacklevel=4,
        )
    nodes = _Nodes(name, len(words), reader.lengths)
    for ngrams in reader.lengths[1:]:
        again = nodes.add(ngrams)
        if again is not None:
            problem = f"the {ngrams.order}-gram '{ngrams.text_of(again, words)}' is there already"
            raise FormatError(name, ngrams.line_of(again), problem, "list each n-gram once")
    begin, end = known["<s>"], known["</s>"]
    return nodes.arrays(len(reader.lengths), begin, end, unknown), words


def size_for(count: int, name: str) -> int:
    """Return the size of a table for ``count`` children."""
    size: int = 1 << max(2, int(np.ceil(count / LOAD)).bit_length())
    if size > LARGEST:
        raise TunesmithError(f"{name}: there are too many n-grams; give a smaller model")
    return size


class _Nodes:
    """Nodes as they are added, unigrams first."""

    def __init__(self, name: str, words: int, lengths: Sequence[Ngrams]) -> None:
        self.name = name
        self.words = self.count = words
        room = words + sum(len(ngrams.probabilities) for ngrams in lengths[1:])
        # Where n-grams lack parts, there will be more.
        room += len(lengths) ** 2
        self.probabilities = np.empty(room, np.float32)
        self.backoffs = np.zeros(room, np.float32)
        self.flags = np.zeros(room, np.uint8)
        self.parents = np.full(room, -1, np.int32)
        self.firsts = np.zeros(room, np.int32)
        self._make_table(room - words)
        unigrams = len(lengths[0].probabilities)
        self.probabilities[:unigrams] = lengths[0].probabilities
        self.probabilities[unigrams:words] = NO_UNKNOWN
        self.backoffs[:unigrams] = lengths[0].backoffs

    def _make_table(self, count: int) -> None:
        size = size_for(count, self.name)
        self.keys, self.children = np.full(size, EMPTY, np.uint64), np.full(size, -1, np.int32)

    def add(self, ngrams: Ngrams) -> int | None:
        """Add n-grams of one length, and return one that is there already, or None."""
        progress = np.array([0, self.count], np.int64)
        twice = np.zeros(1, np.bool_)
        while not add_ngrams(
            ngrams.order,
            ngrams.words,
            ngrams.probabilities,
            ngrams.backoffs,
            progress,
            self.probabilities,
            self.backoffs,
            self.flags,
            self.parents,
            self.firsts,
            self.keys,
            self.children,
            twice,
        ):
            self._grow()
        self.count = int(progress[1])
        return int(progress[0]) if twice[0] else None

    def _grow(self) -> None:
        room = len(self.probabilities)
        more = room // 2 + 1024
        self.probabilities = np.concatenate([self.probabilities, np.empty(more, np.float32)])
        self.backoffs = np.concatenate([self.backoffs, np.zeros(more, np.float32)])
        self.flags = np.concatenate([self.flags, np.zeros(more, np.uint8)])
        self.parents = np.concatenate([self.parents, np.full(more, -1, np.int32)])
        self.firsts = np.concatenate([self.firsts, np.zeros(more, np.int32)])
        keys, children = self.keys, self.children
        self._make_table(room + more - self.words)
        copy_children(keys, children, self.keys, self.children)

    def arrays(self, order: int, begin: int, end: int, unknown: int) -> ModelArrays:
        """Return the whole model."""
        mark_contexts(self.count, self.backoffs, self.flags, self.parents)
        size = size_for(self.count - self.words, self.name)
        entries = np.zeros(self.words + size, ENTRY)
        entries["key"][self.words :] = EMPTY
        count = self.count
        pack(
            self.words,
            self.probabilities[:count],
            self.backoffs[:count],
            self.flags[:count],
            self.parents[:count],
            self.firsts[:count],
            entries,
        )
        return model_arrays(order, begin, end, unknown, self.words, entries)


def model_arrays(
    order: int, begin: int, end: int, unknown: int, words: int, entries: NDArray[Any]
) -> ModelArrays:
    """Return what kernels see of one model."""
    return ModelArrays(
        frozen(np.array([order], np.int64)),
        frozen(np.array([begin], np.int32)),
        frozen(np.array([end], np.int32)),
        frozen(np.array([unknown], np.int32)),
        frozen(np.array([[0, words, len(entries) - words - 1]], np.int64)),
        frozen(entries),
    )


def joined(models: Sequence[ModelArrays]) -> ModelArrays:
    """Return several models as one; a single one is not copied."""
    if len(models) == 1:
        return models[0]
    layouts, first = [], 0
    for model in models:
        layout = model.layout.copy()
        layout[:, [FIRST, TABLE]] += first
        layouts.append(layout)
        first += len(model.entries)
    return ModelArrays(
        frozen(np.concatenate([model.orders for model in models])),
        frozen(np.concatenate([model.begins for model in models])),
        frozen(np.concatenate([model.ends for model in models])),
        frozen(np.concatenate([model.unknowns for model in models])),
        frozen(np.concatenate(layouts)),
        frozen(np.concatenate([model.entries for model in models])),
    )
