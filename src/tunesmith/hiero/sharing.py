"""Sentences shared out among threads, or processes with a copy of the model each."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.candidates import GroupId
from tunesmith.decoders.base import DecoderError
from tunesmith.errors import TunesmithError
from tunesmith.hiero.assembly import Input, Parts, WordForest, spell_out, together
from tunesmith.hiero.engine import Translation
from tunesmith.hiero.traces import Trace, Tracer
from tunesmith.inference.forests.kbest.search import kbest_of_block
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.local import pieces_of
from tunesmith.parallel.threads import ThreadEngine
from tunesmith.progress import Show, shown

T = TypeVar("T")


class Some(NamedTuple):
    """Sentences that are searched one after the other.

    Attributes
    ----------
    ids, inputs
        Their names, and what they are.
    added
        The features that grammars of single sentences have added, where one of these has such.
    """

    ids: tuple[GroupId, ...]
    inputs: tuple[Input, ...]
    added: tuple[str, ...] = ()


class Counter:
    """Shows how many sentences are done; a copy in another process shows nothing."""

    def __init__(self, total: int, show: Show | None = None) -> None:
        self._show, self._count, self._total = show, 0, total

    def __reduce__(self) -> tuple[type[Counter], tuple[int]]:
        return Counter, (self._total,)

    def count(self) -> None:
        """Show that one more is done."""
        self._count += 1
        if self._show is not None:
            self._show("decoding", self._count, self._total, "")

    def finish(self) -> None:
        """Show that all are done."""
        if self._count < self._total:
            self._count = self._total - 1
            self.count()


def search_sentences(
    parts: Parts, ids: Sequence[GroupId], inputs: Sequence[Input], weights: Floats, best_only: bool
) -> list[WordForest]:
    """Search sentences with the engine in force; a single one in this process.

    Parameters
    ----------
    parts
        The model; it knows the features of the sentences' own grammars.
    ids, inputs
        The sentences.
    weights : float64[D]
        In the order of the features.
    best_only
        Whether the best derivation is enough.
    """
    return share(search, parts, ids, inputs, weights, best_only)


def share(
    work: Callable[..., T],
    parts: Parts,
    ids: Sequence[GroupId],
    inputs: Sequence[Input],
    *arguments: Any,
) -> list[T]:
    """Share sentences out to the engine in force; a single one stays in this process."""
    engine, counter = current_engine(), Counter(len(inputs), shown())
    if len(inputs) == 1:
        return [work(parts, Some(tuple(ids), tuple(inputs)), *arguments, counter)]
    lengths = np.array([1 + len(sentence.words) for sentence in inputs])
    pieces = pieces_of(len(inputs), lengths, 8, engine.workers)
    some = [Some(tuple(ids[piece]), tuple(inputs[piece])) for piece in pieces]
    if not isinstance(engine, ThreadEngine):
        some = [_portable(parts, sentence) for sentence in some]
    results = engine.map(work, parts, some, *arguments, counter)
    counter.finish()
    return results


def _portable(parts: Parts, some: Some) -> Some:
    """Add what a copy of the model cannot know: features met since, and where files are."""
    if not any(_has_own_features(sentence) for sentence in some.inputs):
        return some
    inputs = tuple(
        dataclasses.replace(sentence, grammar=os.path.abspath(sentence.grammar))
        if sentence.grammar
        else sentence
        for sentence in some.inputs
    )
    return Some(some.ids, inputs, parts.added)


def _has_own_features(sentence: Input) -> bool:
    return bool(sentence.grammar or sentence.forced or sentence.lattice)


def search(
    parts: Parts, some: Some, weights: Floats, best_only: bool, counter: Counter
) -> WordForest:
    """Search some sentences; an error says which it is of."""
    results = []
    for _, translation in _translations(parts, some, weights):
        results.append(spell_out(translation, best_only, parts.conventions))
        counter.count()
    return together(results)


class Traced(NamedTuple):
    """The best derivations of a sentence, as hyperedges of its forest, and their traces."""

    forest: WordForest
    start: Ints
    edges: Ids
    traces: tuple[Trace, ...]


def search_traced(
    parts: Parts, some: Some, weights: Floats, size: int, unique: bool, counter: Counter
) -> list[Traced]:
    """Search some sentences, and trace the best derivations of each."""
    results = []
    best_only = size == 1
    for sentence, translation in _translations(parts, some, weights):
        forest = spell_out(translation, best_only, parts.conventions)
        _, start, edges, _ = kbest_of_block(forest.arrays, 0, 1, weights, size, unique)
        engine = parts.engine_of(sentence)
        ends_are_words = engine.settings.has_end_words
        tracer = Tracer(translation, engine.grammar, ends_are_words, best_only, sentence.lattice)
        traces = tuple(tracer.trace(edges[lo:hi].tolist()) for lo, hi in pairwise(start.tolist()))
        results.append(Traced(forest, start, edges, traces))
        counter.count()
    return results


def _translations(parts: Parts, some: Some, weights: Floats) -> Iterator[tuple[Input, Translation]]:
    """Search sentences one after the other; an error says which it is of."""
    parts.take(some.added)
    for name, sentence in zip(some.ids, some.inputs, strict=True):
        try:
            translation = parts.translation_of(sentence, weights)
        except TunesmithError as error:
            raise DecoderError(f"sentence {name}: {error}") from None
        yield sentence, translation
