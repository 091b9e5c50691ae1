"""Kernels: what learners are told of one derivation of a forest."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Number
from tunesmith.data.forests import ForestArrays
from tunesmith.inference.forests.derivations import grown, spell
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.bits import STEP, spread_bits
from tunesmith.kernels.sorting import sorted_copy


@kernel
def describe(
    arrays: ForestArrays, forest: int, edges: Ids, sums: Floats, seen: Flags
) -> tuple[Ids, Ids, Floats, Number]:
    """Return the words of a derivation, its features and a key that is made of both.

    Features are added up in the order of the hyperedges, as ``add_features`` does it; ``sums``
    and ``seen`` [D] are 0 before and after.
    """
    edge0 = arrays.edge_start[arrays.node_start[forest]]
    start, ids, entries = arrays.feature_start, arrays.feature_ids, arrays.feature_values
    fired = np.empty(64, np.int32)
    count = 0
    for e in edges:
        for k in range(start[edge0 + e], start[edge0 + e + 1]):
            feature = ids[k]
            if not seen[feature]:
                seen[feature] = True
                fired = grown(fired, count + 1)
                fired[count] = feature
                count += 1
            sums[feature] += entries[k]
    features, values = np.empty(count, np.int32), np.empty(count)
    position = 0
    for feature in sorted_copy(fired[:count]):
        if sums[feature] != 0.0:
            features[position] = feature
            values[position] = sums[feature]
            position += 1
        sums[feature] = 0.0
        seen[feature] = False
    features, values = features[:position], values[:position]
    words = spell(arrays, forest, edges)
    return words, features, values, key_of(words, features, values)


@kernel
def key_of(words: Ids, features: Ids, values: Floats) -> Number:
    """Return a hash of words and features, 0 or more."""
    key = np.uint64(words.shape[0])
    for word in words:
        key = mix(key, np.uint64(word))
    bits = values.view(np.uint64)
    for k in range(features.shape[0]):
        key = mix(mix(key, np.uint64(features[k])), bits[k])
    return np.int64(key >> np.uint64(1))


@inlined
def mix(key: Number, more: Number) -> Number:
    """Stir a number into a hash, as splitmix64 goes on."""
    return spread_bits((key ^ more) + STEP)
