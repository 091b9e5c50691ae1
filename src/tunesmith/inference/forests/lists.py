"""Lists made of forests: their best derivations, samples of them, or what weights choose."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.data.duplicates import without_duplicates
from tunesmith.data.features import Features
from tunesmith.data.forests import Forests
from tunesmith.data.rows import offsets
from tunesmith.inference.forests.derivations import (
    Derivations,
    Vectors,
    best_derivations,
    features_of,
    texts_of,
)
from tunesmith.inference.forests.kbest.search import kbest_derivations
from tunesmith.inference.forests.sample import sampled_derivations
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.metrics.scored_forests import MOST_DENSE

S = TypeVar("S", bound=ScoredCandidates)


def candidates_of(forests: Forests, derivations: Derivations) -> CandidateSet:
    """Return derivations as candidates, in their order.

    Features are in the forests' order: all dense where they are few, otherwise all sparse.

    Parameters
    ----------
    forests
        What they are derivations of.
    derivations
        Forests ascend. One that has none becomes no group.
    """
    groups, sizes = np.unique(derivations.forest, return_counts=True)
    some = len(groups) < forests.groups
    references, sources = forests.references, forests.sources
    if some and references is not None:
        references = references.take(groups)
    if some and sources is not None:
        sources = tuple(sources[g] for g in groups)
    return CandidateSet(
        tuple(forests.ids[g] for g in groups),
        offsets(sizes),
        _features(forests.names, features_of(forests, derivations)),
        texts_of(forests, derivations),
        forests.vocabulary,
        references,
        sources=sources,
        files=forests.files,
    )


def _features(names: tuple[str, ...], vectors: Vectors) -> Features:
    count = len(vectors.start) - 1
    if len(names) > MOST_DENSE:
        rows = csr_array((vectors.values, vectors.features, vectors.start), (count, len(names)))
        return Features((), np.zeros((0, count)), names, csc_array(rows))
    dense = np.zeros((len(names), count))
    dense[vectors.features, np.repeat(np.arange(count), np.diff(vectors.start))] = vectors.values
    return Features(names, dense, (), csc_array((count, 0)))


def kbest_lists(forests: Forests, weights: Floats, size: int, unique: bool = True) -> CandidateSet:
    """Return the ``size`` derivations of each forest with the highest w·h, the best first.

    Parameters
    ----------
    forests, weights
        What is searched, and by what.
    size
        How many at most; a forest may have fewer.
    unique
        Of derivations with the same words, take the best one alone.
    """
    derivations, _ = kbest_derivations(forests, weights, size, unique)
    return candidates_of(forests, derivations)


def merged(before: S, more: S) -> S:
    """Return lists of the same forests as one, with the metric of the others; see ``with_more``."""
    together, origin = with_more(before.candidates, more.candidates)
    return more.of(together, np.concatenate([before.stats, more.stats])[origin])


def with_more(before: CandidateSet, more: CandidateSet) -> tuple[CandidateSet, Ints]:
    """Return lists of the same forests as one: what is new comes after what was there.

    Features stay in the forests' order, all dense or all sparse, as they are in both.

    Returns
    -------
    candidates
        Those that differ in words or features.
    origin : int64[N]
        Which of all, those before and then the others, each of them is.
    """
    sizes = [np.diff(lists.start) for lists in (before, more)]
    group = np.concatenate([np.repeat(np.arange(before.groups), size) for size in sizes])
    order = np.argsort(group, kind="stable")
    texts, added = before.texts, more.texts
    start = np.concatenate([texts.start, texts.start[-1] + added.start[1:]])
    features = Features(
        before.features.dense_names,
        np.hstack([before.features.dense, more.features.dense]),
        before.features.sparse_names,
        csc_array(vstack([before.features.sparse, more.features.sparse])),
    )
    together, keep = without_duplicates(
        replace(
            before,
            start=before.start + more.start,
            features=features.of(order),
            texts=Texts(start, np.concatenate([texts.ids, added.ids])).take(order),
        )
    )
    return together, order[keep]


def sampled_lists(
    forests: Forests, weights: Floats, sharpness: float, size: int, seed: int
) -> CandidateSet:
    """Return samples of the distribution exp(sharpness · w·h) over the derivations of each forest.

    ``size`` are drawn; of those that are equal in words and features the first stays.
    """
    derivations = sampled_derivations(forests, weights, sharpness, size, seed)
    return without_duplicates(candidates_of(forests, derivations))[0]


def outputs(forests: Forests, weights: Floats) -> CandidateSet:
    """Return the best derivation of each forest."""
    return candidates_of(forests, best_derivations(forests, weights))
