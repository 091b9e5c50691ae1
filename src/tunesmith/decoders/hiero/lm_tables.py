"""From n-grams to the arrays of a language model, and several models in one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Ids, Words
from tunesmith.decoders.hiero.arpa import ArpaReader, Ngrams
from tunesmith.decoders.hiero.arpa_kernels import add_ngrams, copy_children, mark_contexts
from tunesmith.decoders.hiero.lm_states import EMPTY
from tunesmith.decoders.hiero.store import frozen
from tunesmith.decoders.hiero.tables import ModelArrays
from tunesmith.errors import FormatError, TunesmithError

#: Of the places of a table at most so many are taken.
LOAD = 0.6
#: The log10 probability of unknown words where a model has none, as in KenLM.
NO_UNKNOWN = -100.0
#: Nodes have numbers of 32 bits.
MOST_NODES = 2**31 - 2


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
    nodes = _Nodes(len(words), reader.lengths)
    for ngrams in reader.lengths[1:]:
        again = nodes.add(ngrams, name)
        if again is not None:
            problem = f"the {ngrams.order}-gram '{ngrams.text_of(again, words)}' is there already"
            raise FormatError(name, ngrams.line_of(again), problem, "list each n-gram once")
    begin, end = known["<s>"], known["</s>"]
    return nodes.arrays(len(reader.lengths), begin, end, unknown), words


def table(count: int) -> tuple[Words, Ids]:
    """Return an empty table with room for so many children."""
    size = 1 << max(2, int(np.ceil(count / LOAD)).bit_length())
    return np.full(size, EMPTY, np.uint64), np.full(size, -1, np.int32)


class _Nodes:
    """Nodes as they are added, unigrams first."""

    def __init__(self, words: int, lengths: Sequence[Ngrams]) -> None:
        self.words = self.count = words
        room = words + sum(len(ngrams.probabilities) for ngrams in lengths[1:])
        # Where n-grams lack parts, there will be more.
        room += len(lengths) ** 2
        self.probabilities = np.empty(room, np.float32)
        self.backoffs = np.zeros(room, np.float32)
        self.flags = np.zeros(room, np.uint8)
        self.parents = np.full(room, -1, np.int32)
        self.keys, self.children = table(room - words)
        own = len(lengths[0].probabilities)
        self.probabilities[:own] = lengths[0].probabilities
        self.probabilities[own:words] = NO_UNKNOWN
        self.backoffs[:own] = lengths[0].backoffs

    def add(self, ngrams: Ngrams, name: str) -> int | None:
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
            self.keys,
            self.children,
            twice,
        ):
            self._grow(name)
        self.count = int(progress[1])
        return int(progress[0]) if twice[0] else None

    def _grow(self, name: str) -> None:
        room = len(self.probabilities)
        more = room // 2 + 1024
        if room + more > MOST_NODES:
            raise TunesmithError(f"{name}: there are too many n-grams; give a smaller model")
        self.probabilities = np.concatenate([self.probabilities, np.empty(more, np.float32)])
        self.backoffs = np.concatenate([self.backoffs, np.zeros(more, np.float32)])
        self.flags = np.concatenate([self.flags, np.zeros(more, np.uint8)])
        self.parents = np.concatenate([self.parents, np.full(more, -1, np.int32)])
        keys, children = self.keys, self.children
        self.keys, self.children = table(room + more - self.words)
        copy_children(keys, children, 0, self.keys, self.children)

    def arrays(self, order: int, begin: int, end: int, unknown: int) -> ModelArrays:
        """Return the whole model."""
        mark_contexts(self.count, self.backoffs, self.flags, self.parents)
        return ModelArrays(
            frozen(np.array([order], np.int64)),
            frozen(np.array([begin], np.int32)),
            frozen(np.array([end], np.int32)),
            frozen(np.array([unknown], np.int32)),
            frozen(self.probabilities[: self.count]),
            frozen(self.backoffs[: self.count]),
            frozen(self.flags[: self.count]),
            frozen(self.keys),
            frozen(self.children),
        )


def joined(models: Sequence[ModelArrays]) -> tuple[ModelArrays, list[int]]:
    """Return several models as one, and what is added to the nodes of each."""
    sizes = [len(model.probabilities) for model in models]
    shifts = np.concatenate([[0], np.cumsum(sizes)]).tolist()[:-1]
    if len(models) == 1:
        return models[0], shifts
    if sum(sizes) > MOST_NODES:
        raise TunesmithError("there are too many n-grams; give fewer or smaller models")
    keys, children = table(sum(sizes))
    for model, shift in zip(models, shifts, strict=True):
        copy_children(model.keys, model.children, shift, keys, children)
    placed = list(zip(models, shifts, strict=True))
    whole = ModelArrays(
        frozen(np.concatenate([model.orders for model in models])),
        frozen(np.concatenate([model.begins + np.int32(shift) for model, shift in placed])),
        frozen(np.concatenate([model.ends + np.int32(shift) for model, shift in placed])),
        frozen(np.concatenate([model.unknowns + np.int32(shift) for model, shift in placed])),
        frozen(np.concatenate([model.probabilities for model in models])),
        frozen(np.concatenate([model.backoffs for model in models])),
        frozen(np.concatenate([model.flags for model in models])),
        frozen(keys),
        frozen(children),
    )
    return whole, shifts
