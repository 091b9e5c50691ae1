"""What must hold of whatever was read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tunesmith.data.candidates import CandidateSet, References
from tunesmith.data.forests import Forests


def _check(holds: object, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)


def _check_starts(start: Any, count: int, what: str) -> None:
    _check(start[0] == 0 and start[-1] == count, f"{what} do not begin at 0 or end at their number")
    _check((np.diff(start) >= 0).all(), f"{what} go backwards")


def _check_ids(ids: Any, size: int, what: str) -> None:
    _check(len(ids) == 0 or (ids.min() >= 0 and ids.max() < size), f"{what} out of range")


def _check_references(held: References | None, groups: int, words: int) -> None:
    if held is None:
        return
    _check(len(held.group_start) == groups + 1, "references of other groups")
    _check_starts(held.group_start, len(held.texts), "references")
    _check_starts(held.texts.start, len(held.texts.ids), "texts of references")
    _check_ids(held.texts.ids, words, "words of references")


def check_candidates(found: CandidateSet) -> None:
    """Raise an error if a set is not sound."""
    features = found.features
    count = len(found)
    _check(np.isfinite(features.dense).all(), "a dense feature is not finite")
    _check(np.isfinite(features.sparse.data).all(), "a sparse feature is not finite")
    _check(features.dense.shape == (len(features.dense_names), count), "the dense block is cut")
    _check(features.sparse.shape == (count, len(features.sparse_names)), "the sparse block is cut")
    _check(len(set(features.names)) == len(features.names), "two features have one name")
    _check(all(np.isfinite(v).all() for v in found.columns.values()), "a column is not finite")
    _check(len(set(found.ids)) == len(found.ids) == found.groups, "ids and groups differ")
    _check_starts(found.start, count, "groups")
    _check((np.diff(found.start) > 0).all(), "a group is empty")
    _check(len(found.texts) == count, "texts and candidates differ")
    _check_starts(found.texts.start, len(found.texts.ids), "texts")
    _check_ids(found.texts.ids, len(found.vocabulary), "words")
    _check_references(found.references, found.groups, len(found.vocabulary))
    _check(found.sources is None or len(found.sources) == found.groups, "sources and groups differ")


def check_forests(found: Forests) -> None:
    """Raise an error if forests are not sound."""
    for first in range(len(found.ids)):
        arrays, lo, hi = found.block(first, first + 1)
        nodes = slice(arrays.node_start[lo], arrays.node_start[hi])
        edges = slice(arrays.edge_start[nodes.start], arrays.edge_start[nodes.stop])
        _check(nodes.stop > nodes.start and edges.stop > edges.start, "a forest is empty")
        values = arrays.feature_values
        _check(np.isfinite(values).all(), "a feature is not finite")
        _check_ids(arrays.feature_ids, len(found.names), "features")
        words = arrays.words
        _check(len(words) == 0 or words.max() < len(found.vocabulary), "words out of range")
        for node in range(nodes.start, nodes.stop):
            for edge in range(arrays.edge_start[node], arrays.edge_start[node + 1]):
                tails = arrays.tails[arrays.tail_start[edge] : arrays.tail_start[edge + 1]]
                _check((tails >= 0).all() and (tails < node - nodes.start).all(), "a cycle")
                side = words[arrays.word_start[edge] : arrays.word_start[edge + 1]]
                slots = sorted((-side[side < 0]).tolist())
                _check(slots == list(range(1, len(tails) + 1)), "slots and tails differ")
    _check_references(found.references, len(found.ids), len(found.vocabulary))


def check_weights(found: Any) -> None:
    """Raise an error if a weight is no finite number."""
    for value in found.values():
        _check(math.isfinite(value), "a weight is not finite")
