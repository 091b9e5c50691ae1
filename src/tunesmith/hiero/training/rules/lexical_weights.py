"""Lexical weights of rules: how well their words go together, one by one.

Koehn, Och and Marcu, "Statistical phrase-based translation" (NAACL 2003), section 4.4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Words
from tunesmith.hiero.training.rules.extract import BITS, PairArrays, Shape
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import first_not_below


class WordTable(NamedTuple):
    """Probabilities of words, as relative frequencies of links; V words.

    A word without a link has one to NULL, which counts as a word of the other side.

    Attributes
    ----------
    keys : uint64[...]
        ``source << 32 | target``, ascending.
    target_given_source, source_given_target : float64[...]
        Of each.
    target_given_null, source_given_null : float64[V]
        Of words without a link.
    """

    keys: Words
    target_given_source: Floats
    source_given_target: Floats
    target_given_null: Floats
    source_given_null: Floats


def word_table(pairs: PairArrays, words: int) -> WordTable:
    """Count the links of words."""
    linked = np.empty(len(pairs.links), np.uint64)
    lone_sources, lone_targets = np.zeros(words, np.int64), np.zeros(words, np.int64)
    _count(pairs, linked, lone_sources, lone_targets)
    linked.sort()
    keys, counts = np.unique(linked, return_counts=True)
    sources = (keys >> np.uint64(32)).astype(np.int64)
    targets = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    of_source = lone_sources + np.bincount(sources, counts, words)
    of_target = lone_targets + np.bincount(targets, counts, words)
    return WordTable(
        keys,
        counts / of_source[sources],
        counts / of_target[targets],
        lone_targets / max(1, lone_targets.sum()),
        lone_sources / max(1, lone_sources.sum()),
    )


@kernel
def _count(pairs: PairArrays, linked: Words, lone_sources: Ints, lone_targets: Ints) -> None:
    for pair in range(pairs.source_start.shape[0] - 1):
        source = pairs.sources[pairs.source_start[pair] : pairs.source_start[pair + 1]]
        target = pairs.targets[pairs.target_start[pair] : pairs.target_start[pair + 1]]
        has_source, has_target = (
            np.zeros(source.shape[0], np.bool_),
            np.zeros(target.shape[0], np.bool_),
        )
        for k in range(pairs.link_start[pair], pairs.link_start[pair + 1]):
            i, j = pairs.links[k, 0], pairs.links[k, 1]
            has_source[i] = has_target[j] = True
            linked[k] = (np.uint64(source[i]) << np.uint64(32)) | np.uint64(target[j])
        for i in range(source.shape[0]):
            if not has_source[i]:
                lone_sources[source[i]] += 1
        for j in range(target.shape[0]):
            if not has_target[j]:
                lone_targets[target[j]] += 1


@kernel
def lexical_weights(rows: Ids, shape: Shape, table: WordTable, weights: Floats) -> None:
    """Write log10 of the weight of the target side given the source side, and the reverse.

    A word's probability is the mean over the words that it is linked to, or that of NULL.
    """
    sums = np.zeros((max(shape.source, shape.target), 2))
    counts = np.zeros((sums.shape[0], 2), np.int64)
    for rule in range(rows.shape[0]):
        row = rows[rule]
        sums[:] = 0.0
        counts[:] = 0
        for bit in range(shape.source * shape.target):
            column = row[shape.source + shape.target + bit // BITS]
            if column >> (bit % BITS) & 1 == 0:
                continue
            i, j = bit // shape.target, bit % shape.target
            key = (np.uint64(row[i]) << np.uint64(32)) | np.uint64(row[shape.source + j])
            at = first_not_below(table.keys, 0, table.keys.shape[0], key)
            sums[j, 0] += table.target_given_source[at]
            sums[i, 1] += table.source_given_target[at]
            counts[j, 0] += 1
            counts[i, 1] += 1
        total = 0.0
        for j in range(shape.target):
            word = row[shape.source + j]
            if counts[j, 0] > 0:
                total += np.log10(sums[j, 0] / counts[j, 0])
            elif word >= 0:
                total += np.log10(table.target_given_null[word])
        weights[rule, 0] = min(total, 0.0)
        total = 0.0
        for i in range(shape.source):
            if counts[i, 1] > 0:
                total += np.log10(sums[i, 1] / counts[i, 1])
            elif row[i] >= 0:
                total += np.log10(table.source_given_null[row[i]])
        weights[rule, 1] = min(total, 0.0)
