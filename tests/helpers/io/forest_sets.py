"""Sets of forests for the tests of formats, and whether two are the same."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.helpers.forests import drawn_forest, forest_arrays, forest_set
from tunesmith.data.candidates import References, pack_texts
from tunesmith.data.forests import ForestArrays, Forests, ForestSet, cut, joined

NAMES = ("LM0", "TranslationModel0_1", "a=b", "größe")
WORDS = ("the", '"', "\\", "#", "größe", "[", "a]b", "🎼")


@st.composite
def drawn_set(draw: st.DrawFn, words: tuple[str, ...] = WORDS, texts: bool = True) -> ForestSet:
    """Draw a few forests with numbers as ids; with references and sources if ``texts``."""
    count = draw(st.integers(1, 4))
    forest = drawn_forest(features=len(NAMES), words=len(words))
    parts = [draw(forest) for _ in range(count)]
    parts = [
        part._replace(
            covered=np.array(draw(st.lists(st.integers(-1, 40), min_size=n, max_size=n)), np.int32)
        )
        for part in parts
        for n in [len(part.covered)]
    ]
    ids = draw(st.lists(st.integers(0, 99), min_size=count, max_size=count, unique=True))
    held, sources = None, None
    if texts and draw(st.booleans()):
        one = st.lists(st.integers(0, len(words) - 1), max_size=3)
        own = [draw(st.lists(one, min_size=1, max_size=2)) for _ in range(count)]
        held = References(
            np.cumsum([0, *map(len, own)]),
            pack_texts([np.array(text, np.int32) for row in own for text in row]),
        )
    if texts and draw(st.booleans()):
        sources = tuple(draw(st.sampled_from(["ein Haus", "", "größe  \\ 🎼"])) for _ in ids)
    return ForestSet(tuple(sorted(ids)), joined(parts), NAMES, words, held, sources)


def in_target_order(found: dict[Any, Any]) -> dict[Any, Any]:
    """Return what :func:`whole` returned, with tails numbered as target sides name them."""

    def edge(tails: list[int], side: list[Any], features: dict[str, float]) -> Any:
        slots = [-w - 1 for w in side if isinstance(w, int)]
        count = itertools.count(1)
        renamed = [-next(count) if isinstance(w, int) else w for w in side]
        return [tails[k] for k in slots], renamed, features

    return {i: {**own, "edges": [edge(*one) for one in own["edges"]]} for i, own in found.items()}


def whole(forests: Forests) -> dict[Any, Any]:
    """Return all that a set holds, by id, with texts in place of numbers."""
    found = {}
    for s, i in enumerate(forests.ids):
        a = cut(forests.block(s, s + 1))
        bounds = [
            list(itertools.pairwise(start.tolist()))
            for start in (a.tail_start, a.word_start, a.feature_start)
        ]
        edges = [
            (
                a.tails[slice(*tails)].tolist(),
                [forests.vocabulary[w] if w >= 0 else int(w) for w in a.words[slice(*words)]],
                {
                    forests.names[k]: v
                    for k, v in zip(
                        a.feature_ids[slice(*own)].tolist(),
                        a.feature_values[slice(*own)].tolist(),
                        strict=True,
                    )
                },
            )
            for tails, words, own in zip(*bounds, strict=True)
        ]
        held = forests.references
        span = range(0) if held is None else range(*held.group_start[s : s + 2])
        found[i] = {
            "heads": a.edge_start.tolist(),
            "covered": a.covered.tolist(),
            "edges": edges,
            "references": [forests.join(held.texts[r]) for r in span] if held else None,
            "source": None if forests.sources is None else forests.sources[s],
            "counts": a.counts.tolist() if a.counts.size else [],
        }
    return found


def some(count: int = 7, references: bool = True) -> ForestSet:
    """Forests of different sizes, all features and words of which are in use."""
    parts: list[ForestArrays] = []
    for s in range(count):
        edges = [(0, [], [s % 3], {0: s + 0.5}), (0, [], [1, 2], {1: -1.0, 2: 0.25})]
        edges += [(n, [n - 1, 0], [-2, n % 3, -1], {n % 3: 1.0}) for n in range(1, 2 + s)]
        parts.append(forest_arrays(edges, 1 + s))
    texts = [[[s % 3], [0, 1]] for s in range(count)] if references else None
    return forest_set(parts, 3, 3, texts)
