"""Forests that a decoder gives: of one call, of a whole set, and of all rounds so far."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tunesmith.arrays import Ids, Ints
from tunesmith.data import memory
from tunesmith.data.candidates import FileDigest, GroupId
from tunesmith.data.forests import ForestArrays, Forests, ForestSet, cut, joined
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Decoder, Sentence, block_size, check_forests
from tunesmith.errors import UsageError
from tunesmith.inference.forests.lists import outputs
from tunesmith.io.forests.arrow.temporary import TemporaryForests
from tunesmith.loop.inputs import Inputs
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.local import pieces_of
from tunesmith.parallel.threads import ThreadEngine
from tunesmith.progress import part_of, progress
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet

#: What forests may take of the budget before they go to disk.
SHARE = 1 / 4


#: Forests with the words that they are over.
_Made: TypeAlias = tuple[ForestArrays, Sequence[str]]


class Words:
    """One vocabulary for forests of several calls, each of which had its own.

    Words are numbered in the order in which they first occur, whatever forests came together.
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    @property
    def all(self) -> tuple[str, ...]:
        """The words so far."""
        return tuple(self._number)

    def renumbered(self, arrays: ForestArrays, vocabulary: Sequence[str]) -> ForestArrays:
        """Return forests over this vocabulary, to which their words are added."""
        side = arrays.words
        used, first, place = np.unique(side[side >= 0], return_index=True, return_inverse=True)
        number = self._number
        new_ids = np.empty(len(used), np.int32)
        for k in np.argsort(first).tolist():
            new_ids[k] = number.setdefault(vocabulary[used[k]], len(number))
        words: Ids = side.copy()
        words[side >= 0] = new_ids[place]
        return arrays._replace(words=words)


class ForestCollector:
    """Forests as they come, in memory, or on disk from some point on."""

    def __init__(self) -> None:
        self._parts: list[ForestArrays] = []
        self._pending = 0
        self._on_disk: TemporaryForests | None = None

    def add(self, arrays: ForestArrays) -> None:
        """Add some forests."""
        self._pending += arrays.bytes
        self._parts.append(arrays)
        # While they are laid together they take twice as much.
        if self._on_disk is None and 2 * self._pending <= SHARE * memory.budget():
            return
        if self._on_disk is None:
            self._on_disk = TemporaryForests()
        for part in self._parts:
            self._on_disk.add(part)
        self._parts.clear()

    def finish(
        self,
        ids: Sequence[GroupId],
        names: tuple[str, ...],
        words: tuple[str, ...],
        sources: tuple[str, ...] | None = None,
    ) -> Forests:
        """Return the set."""
        if self._on_disk is not None:
            return self._on_disk.finish(ids, names, words, sources=sources)
        return ForestSet(tuple(ids), joined(self._parts), names, words, sources=sources)


def decoded_forests(decoder: Decoder, weights: Weights, sentences: Sequence[Sentence]) -> Forests:
    """Return the forests of sentences, over a vocabulary of the words that occur in them.

    They are in memory, or on disk if memory does not hold them.
    """
    names, words, collected = decoder.names, Words(), ForestCollector()
    size = block_size()
    for first in range(0, len(sentences), size):
        with part_of(first, len(sentences)):
            for arrays, vocabulary in _decode_in_workers(
                decoder, weights, sentences[first : first + size]
            ):
                collected.add(words.renumbered(arrays, vocabulary))
    return collected.finish([sentence.id for sentence in sentences], names, words.all)


def _decode_in_workers(
    decoder: Decoder, weights: Weights, sentences: Sequence[Sentence]
) -> list[_Made]:
    """Decode forests, in copies of the decoder where workers can have one."""
    engine = current_engine()
    is_here = isinstance(engine, ThreadEngine) or len(sentences) == 1
    if is_here or decoder.shares_out or not decoder.is_portable:
        return [_forests_of(decoder, sentences, weights)]
    pieces = [sentences[piece] for piece in pieces_of(len(sentences), workers=engine.workers)]
    parts = engine.map(_forests_of, decoder, pieces, weights)
    progress("decoding", len(sentences), len(sentences))
    return parts


def _forests_of(decoder: Decoder, sentences: Sequence[Sentence], weights: Weights) -> _Made:
    """Return forests with their words."""
    forests = decoder.forests(weights, sentences)
    check_forests(forests, sentences, decoder.names)
    return forests.arrays, forests.vocabulary


class DecodedSentences:
    """A decoder and a set of sentences: a ``LiveSource``."""

    def __init__(self, decoder: Decoder, inputs: Inputs) -> None:
        self.decoder = decoder
        self.inputs = inputs
        self.names = decoder.names

    @property
    def is_portable(self) -> bool:
        """Whether copies of it, in other processes, decode as it does."""
        return self.decoder.is_portable

    @property
    def is_thread_safe(self) -> bool:
        """Whether threads may decode sentences at the same time."""
        return self.decoder.is_thread_safe

    def __getstate__(self) -> dict[str, Any]:
        if not self.is_portable:
            raise UsageError(
                f"the decoder '{self.decoder.name}' cannot be sent to other processes; work in "
                "threads, or see is_portable in the guide to plug-ins"
            )
        return vars(self)

    def parted(self) -> tuple[Callable[[Any], DecodedSentences], Any]:
        """Return what makes a copy elsewhere, and what is large in the decoder."""
        make, large = self.decoder.parted()
        return partial(_sentences_of, make, self.inputs), large

    @property
    def reference_counts(self) -> list[int]:
        """How many references each sentence has."""
        return [len(references) for references in self.inputs.references]

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """What the sentences were read from."""
        return self.inputs.files

    def __len__(self) -> int:
        return len(self.inputs.sentences)

    def forests(self, weights: Weights, numbers: Sequence[int]) -> Forests:
        """Decode some sentences."""
        inputs = self.inputs
        if len(numbers) < len(self):
            sentences = tuple(inputs.sentences[k] for k in numbers)
            references = inputs.references
            inputs = Inputs(sentences, tuple(references[k] for k in numbers) if references else ())
        return inputs.with_references(decoded_forests(self.decoder, weights, inputs.sentences))


def _sentences_of(make: Callable[[Any], Decoder], inputs: Inputs, large: Any) -> DecodedSentences:
    return DecodedSentences(make(large), inputs)


class ForestsSoFar:
    """The forests of all rounds, merged: one per sentence, with all derivations.

    A forest that was there already, to the last bit, is not added again. Others may share
    derivations, which then are there twice. That changes neither winners nor envelopes; in
    expectations over a forest they count twice.

    Attributes
    ----------
    output
        The best derivations under the weights of the last decoding: the decoder's output.
    merged
        All of it, to tune on.
    new, size
        How many hyperedges the last decoding added, and how many there are.
    """

    output: TuningSet
    merged: ForestTuning

    def __init__(self, inputs: Inputs, metric: Metric, options: ForestOptions) -> None:
        self.inputs = inputs
        self.metric = metric
        self.options = options
        self.new = self.size = 0
        self._words = Words()
        self._known: set[tuple[int, bytes]] = set()

    def add(self, decoded: Forests, weights: Weights) -> None:
        """Add what a decoder returned under some weights."""
        whole = self.inputs.with_references(decoded)
        self.output = TuningSet(outputs(whole, weights.aligned(whole.names)), self.metric)
        before = self.merged.forests if hasattr(self, "merged") else None
        self.new = 0
        collected = ForestCollector()
        for part in self._united(before, decoded):
            collected.add(part)
        self.size += self.new
        if before is None or self.new:
            merged_forests = collected.finish(decoded.ids, decoded.names, self._words.all)
            self.merged = ForestTuning(
                self.inputs.with_references(merged_forests), self.metric, self.options
            )

    def _united(self, before: Forests | None, decoded: Forests) -> Iterator[ForestArrays]:
        for s in range(decoded.groups):
            renumbered = self._words.renumbered(cut(decoded.block(s, s + 1)), decoded.vocabulary)
            old = None if before is None else cut(before.block(s, s + 1))
            key = s, _digest(renumbered)
            if key not in self._known:
                self._known.add(key)
                self.new += int(decoded.edges[s])
                old = renumbered if old is None else unite(old, renumbered)
            assert old is not None  # what is known has been added
            yield old

    def oracle(self, weights: Weights) -> tuple[float, bool]:
        """Return the best score that a choice of derivations has, and whether it is certain."""
        return self.merged.oracle_at(weights.aligned(self.merged.names))


def unite(first: ForestArrays, second: ForestArrays) -> ForestArrays:
    """Return a forest with the derivations of two: a goal above both of theirs.

    Among equals those of the first come first.
    """
    nodes, edges = len(first.edge_start) - 1, len(first.tail_start) - 1
    both = joined([first, second])
    count = len(both.edge_start) - 1
    tails = both.tails.copy()
    tails[first.tail_start[edges] :] += np.int32(nodes)  # numbers within a forest
    return ForestArrays(
        np.array([0, count + 1]),
        np.append(both.edge_start, both.edge_start[-1] + 2),
        _longer(both.tail_start),
        np.append(tails, [nodes - 1, count - 1]).astype(np.int32),
        np.append(both.feature_start, [both.feature_start[-1]] * 2),
        both.feature_ids,
        both.feature_values,
        _longer(both.word_start),
        np.append(both.words, [-1, -1]).astype(np.int32),
        np.append(both.covered, both.covered[nodes - 1]).astype(np.int32),
        np.vstack([both.counts, np.zeros((2, both.counts.shape[1]))]),
    )


def _longer(start: Ints) -> Ints:
    """Return offsets with two more rows of one entry each."""
    return np.append(start, start[-1] + np.array([1, 2]))


def _digest(arrays: ForestArrays) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.int64(array.size).tobytes())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()
