"""Derivations of forests: the best one, its words and its features.

A derivation is the list of its hyperedges, numbered within their forest: that of the goal first,
then, in the order of the target side, those of what is put in place of each slot. Read from
the front it says at every slot which hyperedge comes next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints, Number
from tunesmith.data.candidates import Texts
from tunesmith.data.forests import ForestArrays, Forests
from tunesmith.data.rows import offsets
from tunesmith.errors import TunesmithError
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.bits import STEP, spread_bits
from tunesmith.kernels.copying import copy_to
from tunesmith.kernels.sorting import sorted_copy
from tunesmith.parallel.engine import map_over

#: The most hyperedges of a derivation, and words of a text. Real ones have hundreds; a
#: forest that uses a node twice may have derivations that grow with the power of its depth.
LONGEST = 1 << 20


class Derivations(NamedTuple):
    """n derivations.

    Attributes
    ----------
    forest : int64[n]
        Which forest of the set each is of.
    start : int64[n + 1], edges : int32[...]
        Its hyperedges, numbered within the forest.
    """

    forest: Ints
    start: Ints
    edges: Ids


def best_derivations(forests: Forests, weights: Floats) -> Derivations:
    """Return the derivation with the highest w·h of each forest (Viterbi).

    Among equals it takes the first hyperedge, at every node.
    """
    parts = map_over(forests, _best, forests.pieces(), weights)
    return joined_derivations(np.arange(forests.groups), parts)


def _best(forests: Forests, piece: slice, weights: Floats) -> tuple[Ints, Ids]:
    block = forests.block(piece.start, piece.stop)
    start, edges = best_of_block(*block, weights)
    check_length(start, forests, np.arange(piece.start, piece.stop))
    return start, edges


def joined_derivations(forest: Ints, parts: list[tuple[Ints, Ids]]) -> Derivations:
    """Lay derivations, as offsets and hyperedges, one after the other."""
    sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(start) for start, _ in parts)])
    edges = np.concatenate([np.zeros(0, np.int32), *(piece_edges for _, piece_edges in parts)])
    return Derivations(forest, offsets(sizes), edges)


def check_length(start: Ints, forests: Forests, forest: Ints) -> None:
    """Raise an error if a derivation was too long to be written down: its offset is -1."""
    wrong = np.flatnonzero(start < 0)
    if len(wrong):
        name = forests.ids[int(forest[wrong[0] - 1])]
        raise TunesmithError(
            f"forest {name} has a derivation of more than {LONGEST} hyperedges or words; "
            "prune the forest, or leave it out"
        )


def _of_each(forests: Forests, derivations: Derivations) -> list[tuple[slice, Derivations]]:
    """Return runs of forests with their own derivations, where they have some."""
    pieces = []
    for piece in forests.pieces():
        lo, hi = np.searchsorted(derivations.forest, [piece.start, piece.stop])
        if lo < hi:
            start = derivations.start[lo : hi + 1]
            edges = derivations.edges[start[0] : start[-1]]
            derivation = Derivations(derivations.forest[lo:hi], start - start[0], edges)
            pieces.append((piece, derivation))
    return pieces


def texts_of(forests: Forests, derivations: Derivations) -> Texts:
    """Return the words of derivations, whose forests ascend."""
    parts = map_over(forests, _spell, _of_each(forests, derivations))
    joined = joined_derivations(derivations.forest, parts)
    return Texts(joined.start, joined.edges)


def _spell(forests: Forests, task: tuple[slice, Derivations]) -> tuple[Ints, Ids]:
    piece, derivations = task
    block = forests.block(piece.start, piece.stop)
    places = derivations.forest - piece.start + block.first
    start, words = spell_all(block.arrays, places, derivations.start, derivations.edges)
    check_length(start, forests, derivations.forest)
    return start, words


class Vectors(NamedTuple):
    """Feature vectors, a row after the other.

    Attributes
    ----------
    start : int64[n + 1], features : int32[...], values : float64[...]
        Features ascend within a row; none is 0.
    """

    start: Ints
    features: Ids
    values: Floats


def features_of(forests: Forests, derivations: Derivations) -> Vectors:
    """Return the features of derivations, whose forests ascend."""
    parts = map_over(forests, _add, _of_each(forests, derivations))
    none = Vectors(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    sizes, features, values = zip(
        *((np.diff(part.start), part.features, part.values) for part in [none, *parts]),
        strict=True,
    )
    start = offsets(np.concatenate(sizes))
    return Vectors(start, np.concatenate(features), np.concatenate(values))


def _add(forests: Forests, task: tuple[slice, Derivations]) -> Vectors:
    piece, derivations = task
    block = forests.block(piece.start, piece.stop)
    places = derivations.forest - piece.start + block.first
    return Vectors(
        *add_features(
            block.arrays, places, derivations.start, derivations.edges, len(forests.names)
        )
    )


@kernel
def best_of_block(arrays: ForestArrays, first: int, last: int, weights: Floats) -> tuple[Ints, Ids]:
    """Return the best derivation of each forest; an offset of -1 stands for a too long one."""
    start = np.zeros(last - first + 1, np.int64)
    all_edges = np.empty(1 << 10, np.int32)
    count = 0
    for s in range(first, last):
        scores = edge_scores(arrays, s, weights)
        _, choice = viterbi(arrays, s, scores)
        edges = unfold(arrays, s, choice)
        if edges.shape[0] == 0:
            start[s - first + 1] = -1
            break
        all_edges = grown(all_edges, count + edges.shape[0])
        copy_to(all_edges, count, edges)
        count += edges.shape[0]
        start[s - first + 1] = count
    return start, all_edges[:count]


@kernel
def edge_scores(arrays: ForestArrays, forest: int, weights: Floats) -> Floats:
    """Return w·h of each hyperedge of a forest."""
    nodes = arrays.node_start[forest], arrays.node_start[forest + 1]
    first, last = arrays.edge_start[nodes[0]], arrays.edge_start[nodes[1]]
    feature_start, ids, values = arrays.feature_start, arrays.feature_ids, arrays.feature_values
    scores = np.empty(last - first)
    for e in range(scores.shape[0]):
        total = 0.0
        for k in range(feature_start[first + e], feature_start[first + e + 1]):
            total += weights[ids[k]] * values[k]
        scores[e] = total
    return scores


@kernel
def viterbi(arrays: ForestArrays, forest: int, scores: Floats) -> tuple[Floats, Ids]:
    """Return the best score of each node of a forest, and the hyperedge that has it."""
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    tail_start, tails = arrays.tail_start, arrays.tails
    value = np.empty(nodes)
    choice = np.empty(nodes, np.int32)
    for n in range(nodes):
        top = -np.inf
        best = edge_start[n]
        for e in range(edge_start[n], edge_start[n + 1]):
            total = scores[e - edge0]
            for k in range(tail_start[e], tail_start[e + 1]):
                total += value[tails[k]]
            if total > top:
                top = total
                best = e
        value[n] = top
        choice[n] = best - edge0
    return value, choice


@kernel
def unfold(arrays: ForestArrays, forest: int, choice: Ids) -> Ids:
    """Return the derivation that has the chosen hyperedge at each node; empty if it is too long."""
    node0 = arrays.node_start[forest]
    edge0 = arrays.edge_start[node0]
    tail_start, tails = arrays.tail_start, arrays.tails
    word_start, words = arrays.word_start, arrays.words
    unfolded = np.empty(64, np.int32)
    stack = np.empty(64, np.int32)
    stack[0] = choice.shape[0] - 1
    depth, count = 1, 0
    while depth > 0:
        depth -= 1
        e = choice[stack[depth]]
        if count == LONGEST:
            return unfolded[:0]
        unfolded = grown(unfolded, count + 1)
        unfolded[count] = e
        count += 1
        first_tail = tail_start[edge0 + e]
        stack = grown(stack, depth + tail_start[edge0 + e + 1] - first_tail)
        # The last slot first, so that the first is on top.
        for k in range(word_start[edge0 + e + 1] - 1, word_start[edge0 + e] - 1, -1):
            if words[k] < 0:
                stack[depth] = tails[first_tail - words[k] - 1]
                depth += 1
    return unfolded[:count]


@kernel
def spell(arrays: ForestArrays, forest: int, edges: Ids) -> Ids:
    """Return the words of a derivation; one that is too long ends early."""
    edge0 = arrays.edge_start[arrays.node_start[forest]]
    word_start, words = arrays.word_start, arrays.words
    spelled = np.empty(64, np.int32)
    # Where to go on in each open hyperedge, and where it ends.
    at, end = np.empty(16, np.int64), np.empty(16, np.int64)
    at[0], end[0] = word_start[edge0 + edges[0]], word_start[edge0 + edges[0] + 1]
    depth, used, count = 1, 1, 0
    while depth > 0:
        k = at[depth - 1]
        if k == end[depth - 1]:
            depth -= 1
            continue
        at[depth - 1] = k + 1
        if words[k] >= 0:
            if count > LONGEST:
                break
            spelled = grown(spelled, count + 1)
            spelled[count] = words[k]
            count += 1
            continue
        e = edge0 + edges[used]
        used += 1
        at, end = grown_offsets(at, depth + 1), grown_offsets(end, depth + 1)
        at[depth], end[depth] = word_start[e], word_start[e + 1]
        depth += 1
    return spelled[:count]


@kernel
def spell_all(arrays: ForestArrays, forest: Ints, starts: Ints, edges: Ids) -> tuple[Ints, Ids]:
    """Return the words of derivations; an offset of -1 stands for a text that is too long."""
    start = np.zeros(forest.shape[0] + 1, np.int64)
    spelled = np.empty(1 << 10, np.int32)
    count = 0
    for i in range(forest.shape[0]):
        words = spell(arrays, forest[i], edges[starts[i] : starts[i + 1]])
        if words.shape[0] > LONGEST:
            start[i + 1] = -1
            break
        spelled = grown(spelled, count + words.shape[0])
        copy_to(spelled, count, words)
        count += words.shape[0]
        start[i + 1] = count
    return start, spelled[:count]


@kernel
def add_features(
    arrays: ForestArrays, forest: Ints, starts: Ints, edges: Ids, width: int
) -> tuple[Ints, Ids, Floats]:
    """Return the features of derivations, row after row."""
    sums = np.zeros(width)
    seen = np.zeros(width, np.bool_)
    fired = np.empty(width, np.int32)
    start = np.zeros(forest.shape[0] + 1, np.int64)
    features, values = np.empty(1 << 10, np.int32), np.empty(1 << 10)
    count = 0
    for i in range(forest.shape[0]):
        edge0 = arrays.edge_start[arrays.node_start[forest[i]]]
        position = 0
        for j in range(starts[i], starts[i + 1]):
            e = edge0 + edges[j]
            for k in range(arrays.feature_start[e], arrays.feature_start[e + 1]):
                feature = arrays.feature_ids[k]
                if not seen[feature]:
                    seen[feature] = True
                    fired[position] = feature
                    position += 1
                sums[feature] += arrays.feature_values[k]
        features = grown(features, count + position)
        values = grown_floats(values, count + position)
        for feature in sorted_copy(fired[:position]):
            if sums[feature] != 0.0:
                features[count] = feature
                values[count] = sums[feature]
                count += 1
            sums[feature] = 0.0
            seen[feature] = False
        start[i + 1] = count
    return start, features[:count], values[:count]


@kernel
def grown(array: Ids, room: int) -> Ids:
    """Return an array with at least that room, twice as large where it has to grow."""
    if room <= array.shape[0]:
        return array
    larger = np.empty(max(room, 2 * array.shape[0]), np.int32)
    copy_to(larger, 0, array)
    return larger


@kernel
def grown_floats(array: Floats, room: int) -> Floats:
    """Return an array with at least that room; see :func:`grown`."""
    if room <= array.shape[0]:
        return array
    larger = np.empty(max(room, 2 * array.shape[0]))
    copy_to(larger, 0, array)
    return larger


@kernel
def grown_offsets(array: Ints, room: int) -> Ints:
    """Return an array with at least that room; see :func:`grown`."""
    if room <= array.shape[0]:
        return array
    larger = np.empty(max(room, 2 * array.shape[0]), np.int64)
    copy_to(larger, 0, array)
    return larger


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
    """Mix a number into a hash, with the step of splitmix64."""
    return spread_bits((key ^ more) + STEP)
