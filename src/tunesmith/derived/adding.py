"""Derived features are added to lists, and to the hyperedges of forests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
from scipy.sparse import csc_array, hstack

from tunesmith.arrays import Floats
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.features import Features
from tunesmith.data.forests import Block, ForestArrays, Forests, ForestSet, cut
from tunesmith.data.rows import offsets
from tunesmith.derived.base import PREFIX, Derived, OfWords, derived_in, derived_of
from tunesmith.derived.lists import Rank
from tunesmith.errors import TunesmithError, UsageError

Data = TypeVar("Data", bound="CandidateSet | Forests")


def derive(data: Data, features: str | Sequence[str | Derived]) -> Data:
    """Add derived features to lists or forests; existing ones stay as they are.

    Parameters
    ----------
    data
        Candidates or forests. For forests, features must be sums over words.
    features
        As on the command line: ``"words"``, ``"vote:number"``. Their names begin with ``derived:``,
        so that ``rerank`` can derive the features again from the names in the weights alone.
    """
    specs = (features,) if isinstance(features, str) else features
    every = [derived_of(f) if isinstance(f, str) else f for f in specs]
    by_name = {feature.feature: feature for feature in every}
    names = data.names if isinstance(data, Forests) else data.features.names
    new = [feature for name, feature in by_name.items() if name not in names]
    if not new:
        return data
    if isinstance(data, Forests):
        return cast(Data, _on_forests(data, new))
    return cast(Data, _on_lists(data, new))


def with_features_of(data: Data, names: Iterable[str], path: str | None = None) -> Data:
    """Add the derived features that weights are for, by the names of the weights."""
    features = derived_in(names, path)
    return derive(data, features) if features else data


def _on_lists(candidates: CandidateSet, new: Sequence[Derived]) -> CandidateSet:
    if not candidates.has_texts and not all(isinstance(feature, Rank) for feature in new):
        name = next(feature.feature for feature in new if not isinstance(feature, Rank))
        raise TunesmithError(f"'{name}' is derived from texts, and all are empty; give texts")
    old = candidates.features
    whole = [feature for feature in new if not feature.is_sparse(candidates)]
    few = [feature for feature in new if feature.is_sparse(candidates)]
    dense = np.vstack([old.dense, *(feature.values(candidates) for feature in whole)])
    sparse = old.sparse
    if few:
        columns = [csc_array(feature.values(candidates)[:, None]) for feature in few]
        sparse = csc_array(hstack([sparse, *columns]))
    features = Features(
        old.dense_names + tuple(feature.feature for feature in whole),
        dense,
        old.sparse_names + tuple(feature.feature for feature in few),
        sparse,
        old.gaps,
    )
    return replace(candidates, features=features)


def _on_forests(forests: Forests, new: Sequence[Derived]) -> Forests:
    for feature in new:
        if not isinstance(feature, OfWords):
            raise UsageError(
                f"feature '{feature.feature.removeprefix(PREFIX)}' is no sum over words, and "
                "forests have no list to derive it from; make lists with `tunesmith convert "
                "--forests F --nbest N`, or drop it"
            )
    of_words = cast("Sequence[OfWords]", new)
    table = np.array([feature.of_vocabulary(forests.vocabulary) for feature in of_words])
    names = tuple(feature.feature for feature in new)
    if forests.bytes_per_edge == 0.0:
        whole = forests.in_memory()
        block = extended(whole.block(0, whole.groups), len(whole.names), table)
        return replace(whole, arrays=block.arrays, names=whole.names + names)
    return DerivingForests(forests, names, table)


class DerivingForests(Forests):
    """Forests on disk with further features, which are derived for each block that is read."""

    def __init__(self, whole: Forests, added: tuple[str, ...], table: Floats) -> None:
        self.whole, self._added, self._table = whole, added, table
        self.names = whole.names + added
        self.ids, self.edges, self.vocabulary = whole.ids, whole.edges, whole.vocabulary
        self.references, self.sources, self.files = whole.references, whole.sources, whole.files

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what they are made of."""
        return type(self), (self.whole, self._added, self._table)

    @property
    def bytes_per_edge(self) -> float:
        """Twice that of the whole, which is loaded first, and the new values."""
        return 2.0 * self.whole.bytes_per_edge + 12.0 * len(self._added)

    def block(self, first: int, last: int) -> Block:
        """Return a range of the forests with all features."""
        return extended(self.whole.block(first, last), len(self.whole.names), self._table)

    def in_memory(self) -> ForestSet:
        """Return all forests in memory."""
        return self.with_arrays(cut(self.block(0, self.groups)))


def extended(block: Block, first: int, table: Floats) -> Block:
    """Add features to the hyperedges of a block: sums over the words of their target sides.

    Parameters
    ----------
    block
        Forests.
    first
        The number of the first new feature, above all others.
    table : float64[F, V]
        What each word adds to each.
    """
    arrays = block.arrays
    is_word = arrays.words >= 0
    edges = len(arrays.word_start) - 1
    values = np.empty((edges, len(table)))
    for k, of_word in enumerate(table):
        parts = (
            np.where(is_word, of_word[np.maximum(arrays.words, 0)], 0.0) if len(of_word) else 0.0
        )
        sums = np.append(0.0, np.cumsum(np.broadcast_to(parts, arrays.words.shape)))
        values[:, k] = sums[arrays.word_start[1:]] - sums[arrays.word_start[:-1]]
    return Block(_with_values(arrays, first, values), block.first, block.last)


def _with_values(arrays: ForestArrays, first: int, values: Floats) -> ForestArrays:
    """Put values [E, F] behind the features of hyperedges, zeros left out."""
    there = values != 0.0
    old_sizes, more = np.diff(arrays.feature_start), there.sum(axis=1)
    start = offsets(old_sizes + more)
    ids = np.empty(start[-1], np.int32)
    numbers = np.empty(start[-1])
    shift = start[:-1] - arrays.feature_start[:-1]
    at = np.arange(len(arrays.feature_ids)) + np.repeat(shift, old_sizes)
    ids[at], numbers[at] = arrays.feature_ids, arrays.feature_values
    edge, feature = np.nonzero(there)
    place = np.arange(len(edge)) - np.repeat(offsets(more)[:-1], more)
    at = start[:-1][edge] + old_sizes[edge] + place
    ids[at], numbers[at] = first + feature, values[edge, feature]
    return arrays._replace(feature_start=start, feature_ids=ids, feature_values=numbers)
