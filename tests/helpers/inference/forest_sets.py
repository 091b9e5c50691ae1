"""Sets of small forests: drawn, written as lists too, and loaded block by block."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csc_array

from tests.helpers.forests import drawn_forest, forest_arrays, forest_set
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.features import Features
from tunesmith.data.forests import Block, Forests, ForestSet, cut
from tunesmith.metrics.scored_forests import ForestOptions

WEIGHTS = st.lists(st.floats(-2, 2, width=16), min_size=3, max_size=3).map(np.array)
SEEDS = st.integers(0, 2**32 - 1)
#: More than any forest here has derivations.
ALL = 100_000


class OnDisk(Forests):
    """Forests that are loaded anew, with offsets of their own, whenever they are asked for."""

    def __init__(self, held):
        self.held = held
        self.loads: list[tuple[int, int]] = []
        for name in ("ids", "edges", "names", "vocabulary", "references", "sources", "files"):
            setattr(self, name, getattr(held, name))

    @property
    def bytes_per_edge(self):
        return 100.0

    def block(self, first, last):
        self.loads.append((first, last))
        arrays = cut(Block(self.held.arrays, first, last))
        return Block(arrays, 0, last - first)


@st.composite
def drawn_set(draw, **options):
    """Draw a few forests with a reference or two each."""
    forests = draw(st.lists(drawn_forest(**options), min_size=1, max_size=3))
    text = st.lists(st.integers(0, 3), min_size=1, max_size=6)
    references = [draw(st.lists(text, min_size=1, max_size=2)) for _ in forests]
    held = forest_set(forests, 3, 4, references)
    return replace(held, sources=tuple(f"source {k}" for k in range(len(forests))))


def rows_of(candidates):
    """Return the features of all candidates, a row each."""
    features = candidates.features
    return np.hstack([features.dense.T, features.sparse.toarray()])


def options(search, size=ALL):
    return ForestOptions(search=search, size=size)


def one_node_forests(seed, groups=4, features=3, size=None):
    """Draw lists and write each as a forest of one node; no word is twice in a text.

    Then no match is clipped. There is one reference, so that all lengths of it are the same.
    Lists are of some sizes, or all of one.
    """
    rng = np.random.default_rng(seed)
    words = 14
    arrays, references, texts, rows, sizes = [], [], [], [], []
    for _ in range(groups):
        reference = rng.permutation(words)[: rng.integers(6, 10)]
        edges, seen = [], set()
        wanted = int(rng.integers(1, 9)) if size is None else size
        while len(edges) < wanted:
            cutoff = min(len(reference), int(rng.integers(0, len(reference) + 3)))
            others = rng.permutation(np.setdiff1d(np.arange(words), reference[:cutoff]))
            # Often it is the reference itself.
            more = 0 if cutoff == len(reference) else rng.integers(0, 5)
            text = [*reference[:cutoff], *others[:more]]
            text = [int(w) for w in text]
            if tuple(text) in seen:
                continue
            seen.add(tuple(text))
            values = {d: float(v) for d, v in enumerate(rng.normal(size=features)) if v < 0.9}
            edges.append((0, [], text, values))
            texts.append(text)
            rows.append([values.get(d, 0.0) for d in range(features)])
        arrays.append(forest_arrays(edges, 0))
        references.append([[int(w) for w in reference]])
        sizes.append(len(edges))
    forests = forest_set(arrays, features, words, references)
    flat = np.array([w for text in texts for w in text], np.int32)
    candidates = CandidateSet(
        forests.ids,
        np.cumsum([0, *sizes]),
        Features(forests.names, np.array(rows).T, (), csc_array((len(rows), 0))),
        Texts(np.cumsum([0, *map(len, texts)]), flat),
        forests.vocabulary,
        forests.references,
    )
    return forests, candidates, rng


@dataclass(frozen=True, repr=False)
class Loaded(Forests):
    """Forests that are loaded block by block, as those on disk are."""

    whole: ForestSet
    size: int

    def __post_init__(self) -> None:
        for name in ("ids", "edges", "names", "vocabulary", "references", "sources", "files"):
            object.__setattr__(self, name, getattr(self.whole, name))

    @property
    def bytes_per_edge(self) -> float:
        return 1.0

    def pieces(self, per_thread: int = 4) -> list[slice]:
        ends = [*range(0, self.groups, self.size), self.groups]
        return [slice(a, b) for a, b in itertools.pairwise(ends)]

    def block(self, first: int, last: int) -> Block:
        return Block(cut(Block(self.whole.arrays, first, last)), 0, last - first)
