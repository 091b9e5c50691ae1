"""Small decoders that give forests, for tests: every word may be kept, left out or doubled."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.helpers.forests import forest_arrays
from tests.helpers.loop.toy import NAMES, Toy
from tunesmith.data.forests import ForestSet, joined
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Sentence
from tunesmith.inference.forests.lists import kbest_lists
from tunesmith.inference.forests.prune import prune_beam


@dataclass(frozen=True)
class ForestToy(Toy):
    """The candidates of ``Toy`` as forests; those within a beam of the best, if it is given.

    Words have other numbers in every call, as they may.
    """

    name = "forest-toy"
    gives_forests = True
    beam: float | None = None

    def start(self) -> Weights:
        """Return the usual weights, but so small that what derivations are worth counts too."""
        return Weights(NAMES, 0.1 * super().start().vector)

    @property
    def names(self) -> tuple[str, ...]:
        return NAMES

    def forests(self, weights: Weights, sentences: Sequence[Sentence]) -> Any:
        words: dict[str, int] = {}
        parts = []
        for sentence in sentences[::-1]:  # so that numbers depend on the call
            edges: list[Any] = [(0, [], [], {})]
            node = 0
            for word in sentence.text.split()[:4]:
                number = words.setdefault(word, len(words))
                vowel = float(word.endswith("a"))
                for way in range(3):
                    values = {0: float(way), 1: vowel * way, 2: float(way == 2)}
                    side = [-1, *[number] * way]
                    edges.append((node + 1, [node], side, {k: v for k, v in values.items() if v}))
                node += 1
            parts.append(forest_arrays(edges, node))
        found = ForestSet(tuple(s.id for s in sentences), joined(parts[::-1]), NAMES, tuple(words))
        if self.beam is None:
            return found
        pruned = prune_beam(found, weights.aligned(NAMES), self.beam).in_memory()
        return dataclasses.replace(pruned, names=NAMES)

    def decode(self, weights: Weights, sentences: Sequence[Sentence]) -> Any:
        found = self.forests(weights, sentences)
        return kbest_lists(found, weights.aligned(NAMES), self.nbest_size)


class Counting(ForestToy):
    """Notes what it is asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        object.__setattr__(self, "asked", [])

    def forests(self, weights: Weights, sentences: Sequence[Sentence]) -> Any:
        self.asked.append((np.array(weights.aligned(NAMES)), [s.id for s in sentences]))  # type: ignore[attr-defined]
        return super().forests(weights, sentences)
