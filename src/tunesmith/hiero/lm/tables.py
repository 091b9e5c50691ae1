"""From n-grams to the arrays of a language model, and several models in one.

Nodes are numbered as they come while a model is built, and found through a table of children;
the entries of the finished model are that table.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Bytes, Flags, Ids, Ints, Number, Words
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.hiero.lm.arpa import ArpaReader, Ngrams
from tunesmith.hiero.lm.keys import child_key
from tunesmith.hiero.store import frozen
from tunesmith.hiero.tables import (
    EMPTY,
    ENTRY,
    EXTENDS_LEFT,
    EXTENDS_RIGHT,
    FIRST,
    TABLE,
    ModelArrays,
    Singles,
)
from tunesmith.kernels import kernel
from tunesmith.kernels.bits import spread_bits

#: The greatest share of a table's places that is in use.
LOAD = 0.6
#: The log10 probability of unknown words where a model has none, as in KenLM.
NO_UNKNOWN = -100.0
#: The largest table: nodes have numbers of 31 bits.
LARGEST = 1 << 30


def build(reader: ArpaReader) -> tuple[ModelArrays, list[str]]:
    """Return a model and its words, whose numbers are nodes, from a file that was read."""
    name, words = reader.source.name, reader.words.words()
    known = require_ends(name, words)
    unknown = known.get("<unk>", known.get("<UNK>"))
    if unknown is None:
        unknown = len(words)
        words.append("<unk>")
        warn_of_unknown(name, NO_UNKNOWN)
    nodes = _Nodes(name, len(words), reader.lengths)
    for ngrams in reader.lengths[1:]:
        again = nodes.add(ngrams)
        if again is not None:
            problem = f"the {ngrams.order}-gram '{ngrams.text_of(again, words)}' is there already"
            raise FormatError(name, ngrams.line_of(again), problem, "list each n-gram once")
    begin, end = known["<s>"], known["</s>"]
    return nodes.arrays(len(reader.lengths), begin, end, unknown), words


def require_ends(name: str, words: Sequence[str]) -> dict[str, int]:
    """Return the numbers of words, among which the ends of sentences must be."""
    known = {word: k for k, word in enumerate(words)}
    for word in ("<s>", "</s>"):
        if word not in known:
            raise FormatError(name, None, f"there is no 1-gram {word}", "give a whole model")
    return known


def warn_of_unknown(name: str, log10: float) -> None:
    """Say that the file itself has nothing of unknown words."""
    warnings.warn(
        f"{name}: there is no 1-gram <unk>: the log10 probability of unknown words is {log10:g}",
        stacklevel=5,
    )


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
    order: int,
    begin: int,
    end: int,
    unknown: int,
    words: int,
    entries: NDArray[Any],
    is_hashed: bool = False,
) -> ModelArrays:
    """Return what kernels see of one model."""
    return ModelArrays(
        frozen(np.array([order], np.int64)),
        frozen(np.array([begin], np.int32)),
        frozen(np.array([end], np.int32)),
        frozen(np.array([unknown], np.int32)),
        frozen(np.array([[0, words, len(entries) - words - 1, is_hashed]], np.int64)),
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


#: A longer n-gram ends in this one; a longer one begins with it, or back-offs are due.
LEFT, RIGHT = np.uint8(1), np.uint8(2)

_0, _1, _32 = np.uint64(0), np.uint64(1), np.uint64(32)


@kernel
def find_child(keys: Words, children: Ids, node: Number, word: Number) -> Number:
    """Return the node of the n-gram that begins with a word before another n-gram, or -1."""
    mask = np.uint64(keys.shape[0] - 1)
    key = (np.uint64(node) << _32) | np.uint64(word)
    place = spread_bits(key) & mask
    while keys[place] != EMPTY:
        if keys[place] == key:
            return np.int64(children[place])
        place = (place + _1) & mask
    return np.int64(-1)


@kernel
def put_child(keys: Words, children: Ids, node: Number, word: Number, child: Number) -> None:
    """Add to a table a child that is not there yet."""
    mask = np.uint64(keys.shape[0] - 1)
    key = (np.uint64(node) << _32) | np.uint64(word)
    place = spread_bits(key) & mask
    while keys[place] != EMPTY:
        place = (place + _1) & mask
    keys[place] = key
    children[place] = child


@kernel
def add_ngrams(
    order: int,
    words: Ids,
    log_probabilities: Singles,
    given_backoffs: Singles,
    progress: Ints,
    probabilities: Singles,
    backoffs: Singles,
    flags: Bytes,
    parents: Ids,
    firsts: Ids,
    keys: Words,
    children: Ids,
    twice: Flags,
) -> bool:
    """Add n-grams of one length; all shorter ones are there.

    ``progress`` is the next n-gram and the number of nodes. Returns false where there may be no
    room for the next one, and true at the end, or where ``twice[0]`` says that it is there already.
    """
    chains = np.zeros((order + 1, order + 1), np.int64)
    while progress[0] < log_probabilities.shape[0]:
        at = progress[0]
        if progress[1] + order * order > probabilities.shape[0]:
            return False
        ngram = words[at * order : (at + 1) * order]
        suffix = _walk(ngram, 1, order, keys, children)
        prefix = _walk(ngram, 0, order - 1, keys, children)
        if suffix < 0 or prefix < 0:
            _add_parts(
                ngram,
                chains,
                progress,
                probabilities,
                backoffs,
                flags,
                parents,
                firsts,
                keys,
                children,
            )
            suffix, prefix = chains[order, order - 1], chains[order - 1, order - 1]
        elif find_child(keys, children, suffix, ngram[0]) >= 0:
            twice[0] = True
            return True
        node = progress[1]
        progress[1] = node + 1
        put_child(keys, children, suffix, ngram[0], node)
        probabilities[node] = log_probabilities[at]
        backoffs[node] = given_backoffs[at]
        flags[node] = 0
        parents[node], firsts[node] = suffix, ngram[0]
        flags[suffix] |= LEFT
        flags[prefix] |= RIGHT
        progress[0] = at + 1
    return True


@kernel
def _walk(ngram: Ids, first: int, last: int, keys: Words, children: Ids) -> Number:
    """Return the node of ``ngram[first:last]``, or -1."""
    node = np.int64(ngram[last - 1])
    for k in range(last - 2, first - 1, -1):
        node = find_child(keys, children, node, ngram[k])
        if node < 0:
            break
    return node


@kernel
def _add_parts(
    ngram: Ids,
    chains: Ints,
    progress: Ints,
    probabilities: Singles,
    backoffs: Singles,
    flags: Bytes,
    parents: Ids,
    firsts: Ids,
    keys: Words,
    children: Ids,
) -> None:
    """Add what lies within an n-gram and is missing, with what back-off gives, which is exact.

    ``chains[e, l]`` is then the node of the l words that end before place e.
    """
    order = ngram.shape[0]
    for e in range(1, order + 1):
        chains[e, 1] = ngram[e - 1]
        for length in range(2, min(e, order - 1) + 1):
            first, suffix = ngram[e - length], chains[e, length - 1]
            node = find_child(keys, children, suffix, first)
            if node < 0:
                context = chains[e - 1, length - 1]
                node = progress[1]
                progress[1] = node + 1
                put_child(keys, children, suffix, first, node)
                probabilities[node] = backoffs[context] + probabilities[suffix]
                backoffs[node] = 0.0
                flags[node] = 0
                parents[node], firsts[node] = suffix, first
                flags[suffix] |= LEFT
                flags[context] |= RIGHT
            chains[e, length] = node


@kernel
def mark_contexts(count: int, backoffs: Singles, flags: Bytes, parents: Ids) -> None:
    """Mark contexts that have a back-off, and what such a context ends in.

    So the words that matter of a context are always its last ones. A parent stands before its
    children.
    """
    for node in range(count - 1, -1, -1):
        if backoffs[node] != 0.0:
            flags[node] |= RIGHT
        if flags[node] & RIGHT and parents[node] >= 0:
            flags[parents[node]] |= RIGHT


@kernel
def copy_children(keys: Words, children: Ids, new_keys: Words, new_children: Ids) -> None:
    """Put all of a table into a larger one."""
    for place in range(keys.shape[0]):
        if keys[place] != EMPTY:
            node = np.int64(keys[place] >> _32)
            word = np.int64(keys[place] & np.uint64(0xFFFFFFFF))
            put_child(new_keys, new_children, node, word, children[place])


@kernel
def pack(
    words: int,
    probabilities: Singles,
    backoffs: Singles,
    flags: Bytes,
    parents: Ids,
    firsts: Ids,
    entries: NDArray[Any],
) -> None:
    """Fill the entries of a model: unigrams, and an empty table behind them.

    Nodes get the numbers of their entries; a parent stands before its children.
    """
    mask = np.uint64(entries.shape[0] - words - 1)
    numbers = np.zeros(probabilities.shape[0], np.int64)
    for node in range(probabilities.shape[0]):
        at = np.int64(node)
        key = np.uint64(0)
        if node >= words:
            key = child_key(0, _0, numbers[parents[node]], firsts[node])
            place = spread_bits(key) & mask
            while entries[words + np.int64(place)]["key"] != EMPTY:
                place = (place + _1) & mask
            at = words + np.int64(place)
        numbers[node] = at
        if flags[node] & LEFT:
            key |= EXTENDS_LEFT
        if flags[node] & RIGHT:
            key |= EXTENDS_RIGHT
        entries[at]["key"] = key
        entries[at]["probability"] = probabilities[node]
        entries[at]["backoff"] = backoffs[node]
