"""Language model scores for lattices that have none, and lattices in Kaldi's text form.

A word's score depends on the two words before it, so a node of the lattice becomes several: one
for each pair of words that a path to it ends with. That is exact, and too much to write down, so
what is far from the best path is left out: while going forward all but the best few pairs of a
node, then the arcs whose best paths are the worst.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tunesmith.data.forests import ForestArrays, Forests, cut

#: Pairs of words that a node is split by, at most.
PAIRS = 12
START, END = "<s>", "</s>"


class Arc(NamedTuple):
    """From state to state with a word, or None for a silence; logarithms of both models."""

    source: int
    target: int
    word: str | None
    acoustic: float
    language: float


@dataclass(frozen=True)
class Utterance:
    """What was heard, and the arcs of the lattice: from state 0 to the last one, in order."""

    heard: str
    arcs: list[Arc]


@dataclass(frozen=True)
class Scale:
    """Weights under which paths are compared; that of the acoustic score is 1."""

    language: float
    word: float

    def score(self, arc: Arc) -> float:
        """Return what an arc adds to the score of a path."""
        return arc.acoustic + self.language * arc.language + self.word * (arc.word is not None)


def with_language_model(
    lattice: Forests, probability: Callable[..., float], scale: Scale, size: int
) -> list[Arc]:
    """Return the arcs of a lattice with both scores.

    Parameters
    ----------
    lattice
        A single one, with at most a word on a hyperedge, and acoustic scores.
    probability
        Of a word after others, of which the last comes first, as a logarithm.
    scale
        Under which weights paths are compared.
    size
        How many arcs stay, those that tie with the last one aside.
    """
    arcs, states = _split(cut(lattice.block(0, 1)), lattice.vocabulary, probability, scale)
    return _pruned(arcs, states, scale, size)


def _split(
    arrays: ForestArrays,
    vocabulary: tuple[str, ...],
    probability: Callable[..., float],
    scale: Scale,
) -> tuple[list[Arc], int]:
    """Split nodes by the last two words; return all arcs, and how many states there are."""
    arcs: list[Arc] = []
    numbers = itertools.count(1)
    # Of each node, by the words before it, the last one first: its state, and the best score.
    ends: list[dict[tuple[str, ...], tuple[int, float]]] = []
    for first, last in itertools.pairwise(arrays.edge_start.tolist()):
        into: dict[tuple[str, ...], list[Arc]] = {}
        scores: dict[tuple[str, ...], float] = {}
        for tail, word, acoustic in _hyperedges(arrays, vocabulary, first, last):
            for before, (source, score) in ends[tail].items() if tail is not None else ():
                language = probability(word, *before) if word else 0.0
                pair = (word, before[0]) if word else before
                arc = Arc(source, 0, word, acoustic, language)
                into.setdefault(pair, []).append(arc)
                scores[pair] = max(score + scale.score(arc), scores.get(pair, -math.inf))
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:PAIRS]
        ends.append({pair: (next(numbers), scores[pair]) for pair in best})
        arcs += [arc._replace(target=ends[-1][pair][0]) for pair in best for arc in into[pair]]
        if not scores:
            ends[-1] = {(START,): (0, 0.0)}
    goal = next(numbers)
    for before, (state, _) in ends[-1].items():
        arcs.append(Arc(state, goal, None, 0.0, probability(END, *before)))
    return arcs, goal + 1


def _hyperedges(
    arrays: ForestArrays, vocabulary: tuple[str, ...], first: int, last: int
) -> Iterator[tuple[int | None, str | None, float]]:
    """Yield the tail of each hyperedge, its word and its acoustic score; each may be missing."""
    for edge in range(first, last):
        tails, values, tokens = (
            items[start[edge] : start[edge + 1]].tolist()
            for items, start in (
                (arrays.tails, arrays.tail_start),
                (arrays.feature_values, arrays.feature_start),
                (arrays.words, arrays.word_start),
            )
        )
        words = [vocabulary[token] for token in tokens if token >= 0]
        yield tails[0] if tails else None, words[0] if words else None, sum(values)


def _pruned(arcs: list[Arc], states: int, scale: Scale, size: int) -> list[Arc]:
    """Keep the arcs of good paths, and number the states that are left."""
    forward, backward = [-math.inf] * states, [-math.inf] * states
    forward[0] = backward[-1] = 0.0
    for arc in arcs:
        forward[arc.target] = max(forward[arc.target], forward[arc.source] + scale.score(arc))
    for arc in reversed(arcs):
        backward[arc.source] = max(backward[arc.source], backward[arc.target] + scale.score(arc))
    best = [forward[arc.source] + scale.score(arc) + backward[arc.target] for arc in arcs]
    # Rounding must not separate the arcs of one path, or states would lead nowhere.
    least = sorted(best, reverse=True)[:size][-1] - 1e-6
    good = [arc for arc, score in zip(arcs, best, strict=True) if score >= least > -math.inf]
    number = {state: i for i, state in enumerate(sorted({0} | {arc.target for arc in good}))}
    return [arc._replace(source=number[arc.source], target=number[arc.target]) for arc in good]


def kaldi_lines(name: str, arcs: list[Arc]) -> Iterator[str]:
    """Yield the lines of a lattice in Kaldi's archives: costs, of which less is better."""
    yield name
    for arc in sorted(arcs):
        word = arc.word or "<eps>"
        costs = f"{0.0 - arc.language:.3f},{0.0 - arc.acoustic:.2f},"
        yield f"{arc.source} {arc.target} {word} {costs}"
    yield f"{max(arc.target for arc in arcs)} 0,0,"
    yield ""
