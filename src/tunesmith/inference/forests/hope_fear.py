"""Kernels: derivations of a forest that are good, or bad, by the model and by BLEU together.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012):
forest reranking (section 5.2), and the derivation of a reference (section 4).
Forests have the counts of :mod:`tunesmith.inference.forests.ngrams.counts`.
"""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints, Number
from tunesmith.data.forests import ForestArrays
from tunesmith.inference.forests.derivations import LONGEST, grown, grown_floats
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.kernels.sorting import argsort, first_not_below
from tunesmith.metrics.bleu import ADD_K, score_rows

#: The derivation of a longer reference is not looked for.
LONGEST_REFERENCE = 1 << 12
#: The product of this many matches is still a finite number, however large the document is.
FEW = 4


@kernel
def rerank_choice(
    arrays: ForestArrays,
    forest: int,
    scores: Floats,
    document: Floats,
    factor: float,
    order: int,
    smoothing: int,
    smoothing_value: float,
    length_scale: float,
    sign: float,
) -> Ids:
    """Return the hyperedge of each node that forest reranking chooses; see :func:`rerank`."""
    scoring = (order, smoothing, smoothing_value, length_scale)
    return rerank(arrays, forest, scores, document, factor, scoring, sign)[0]


@kernel
def rerank(
    arrays: ForestArrays,
    forest: int,
    scores: Floats,
    document: Floats,
    factor: float,
    scoring: tuple[int, int, float, float],
    sign: float,
) -> tuple[Ids, Floats, Floats]:
    """Find at each node the derivation with the highest φ = w·h + sign · B (section 5.2).

    B(b) = factor · (BLEU(document + b) − BLEU(document)) of the counts b of the derivation, which
    is made of those that were chosen for its tails. It need not be the best of all. Among equals
    it takes the first hyperedge.

    Parameters
    ----------
    scores : float64[edges]
        w·h of each hyperedge.
    document : float64[K]
        Statistics of what was chosen for other sentences.
    scoring
        ``BLEU.scoring``.

    Returns
    -------
    choice : int32[nodes], value : float64[nodes], stats : float64[nodes, K]
        The hyperedge of each node, and w·h and counts of its derivation.
    """
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    tail_start, tails, counts = arrays.tail_start, arrays.tails, arrays.counts
    width = counts.shape[1]
    choice, value = np.empty(nodes, np.int32), np.empty(nodes)
    stats = np.empty((nodes, width))
    begin = add_k(document, scoring, 1.0)
    row = np.empty(width)
    times = sign * factor
    for n in range(nodes):
        best = edge_start[n]
        # Where there is no choice, nothing has to be scored.
        if edge_start[n + 1] - best > 1:
            top = -np.inf
            for e in range(edge_start[n], edge_start[n + 1]):
                edge_counts = counts[e]
                for k in range(width):
                    row[k] = begin[k] + edge_counts[k]
                total = scores[e - edge0]
                for t in range(tail_start[e], tail_start[e + 1]):
                    total += value[tails[t]]
                    below = stats[tails[t]]
                    for k in range(width):
                        row[k] += below[k]
                total += times * natural_bleu(row, scoring)
                if total > top:
                    top = total
                    best = e
        choice[n] = best - edge0
        total = scores[best - edge0]
        edge_counts, sums = counts[best], stats[n]
        for k in range(width):
            sums[k] = edge_counts[k]
        for t in range(tail_start[best], tail_start[best + 1]):
            total += value[tails[t]]
            below = stats[tails[t]]
            for k in range(width):
                sums[k] += below[k]
        value[n] = total
    return choice, value, stats


@kernel
def add_k(row: Floats, scoring: tuple[int, int, float, float], sign: float) -> Floats:
    """Return statistics with what add-k adds to all orders but the first, or without it."""
    order, smoothing, added, _ = scoring
    total = row.copy()
    if smoothing == ADD_K:
        for n in range(1, order):
            total[2 + n] += sign * added
            total[2 + order + n] += sign * added
    return total


@kernel
def natural_bleu(row: Floats, scoring: tuple[int, int, float, float]) -> float:
    """Return BLEU in natural units of statistics to which add-k has added its part.

    With a match of each order nothing else is smoothed: it is a root of a product and, where
    the text is short, the brevity penalty.
    """
    order, smoothing, added, scale = scoring
    adds = smoothing == ADD_K and added > 0
    above, below = 1.0, 1.0
    least = min(row[2], row[2 + order])
    for n in range(order):
        above *= row[2 + n]
        below *= row[2 + order + n]
        if not adds:
            least = min(least, row[2 + n], row[2 + order + n])
    if order > FEW or least < 1.0:
        rows, out = np.empty((1, row.shape[0])), np.empty(1)
        copy_to(rows[0], 0, add_k(row, scoring, -1.0))
        score_rows(rows, order, smoothing, added, scale, out)
        return float(out[0]) / 100.0
    bleu = _root(above / below, order)
    if row[0] < scale * row[1]:
        bleu *= np.exp(1.0 - scale * row[1] / row[0])
    return bleu


@inlined
def _root(value: float, order: int) -> float:
    if order == 4:
        return float(np.sqrt(np.sqrt(value)))
    return value if order == 1 else float(value ** (1.0 / order))


@kernel
def reference_derivation(arrays: ForestArrays, forest: int, scores: Floats, reference: Ids) -> Ids:
    """Return the best derivation whose words are those of a reference; empty if there is none.

    At each node it finds which parts of the reference the node can stand for, and the best
    derivation of each: parts are from word i to before word j. A node that is used twice may
    stand for different parts, so that what is returned are hyperedges in the order of
    :class:`tunesmith.inference.forests.derivations.Derivations`, not a choice for each node.
    """
    node0 = arrays.node_start[forest]
    nodes = arrays.node_start[forest + 1] - node0
    edge_start = arrays.edge_start[node0 : node0 + nodes + 1]
    edge0 = edge_start[0]
    size = reference.shape[0] + 1
    if size > LONGEST_REFERENCE:
        return np.empty(0, np.int32)
    occurs = np.zeros(1 + (reference.max() if size > 1 else 0), np.bool_)
    occurs[reference] = True
    # Parts, by node: where they begin and end as i * size + j ascending, the value, the
    # hyperedge, and the last link of the parts that its tails stand for.
    part_start = np.zeros(nodes + 1, np.int64)
    keys, values = np.empty(64, np.int32), np.empty(64)
    edges, links = np.empty(64, np.int32), np.empty(64, np.int32)
    count = 0
    # Links: a part, and the link before it.
    link_part, link_before = np.empty(64, np.int32), np.empty(64, np.int32)
    linked = 0
    # The best of each key at a node, and within a hyperedge as far as it was read.
    place = np.full(size * size, -1, np.int32)
    marks = np.full(size * size, -1, np.int32)
    now_keys, now_values = np.empty(size * size, np.int32), np.empty(size * size)
    now_links = np.empty(size * size, np.int32)
    new_keys, new_values = np.empty(size * size, np.int32), np.empty(size * size)
    new_links = np.empty(size * size, np.int32)
    for n in range(nodes):
        begin = count
        for e in range(edge_start[n], edge_start[n + 1]):
            if not _may_match(arrays, e, occurs, part_start):
                continue
            states = size
            for i in range(size):
                now_keys[i], now_values[i], now_links[i] = i * size + i, scores[e - edge0], -1
            for k in range(arrays.word_start[e], arrays.word_start[e + 1]):
                word = arrays.words[k]
                if word >= 0:
                    states = _read_word(
                        word, reference, size, now_keys, now_values, now_links, states
                    )
                else:
                    tail = arrays.tails[arrays.tail_start[e] - word - 1]
                    lo, hi = part_start[tail], part_start[tail + 1]
                    link_part = grown(link_part, linked + size * size)
                    link_before = grown(link_before, linked + size * size)
                    now = (now_keys[:states], now_values[:states], now_links[:states])
                    new = (new_keys, new_values, new_links)
                    parts = (keys[lo:hi], values[lo:hi])
                    states, linked = _read_tail(
                        size, now, new, parts, lo, marks, link_part, link_before, linked
                    )
                    now_keys, new_keys = new_keys, now_keys
                    now_values, new_values = new_values, now_values
                    now_links, new_links = new_links, now_links
                if states == 0:
                    break
            keys, values = grown(keys, count + states), grown_floats(values, count + states)
            edges, links = grown(edges, count + states), grown(links, count + states)
            for i in range(states):
                at = place[now_keys[i]]
                if at < 0:
                    at = count
                    place[now_keys[i]] = at
                    keys[at], values[at] = now_keys[i], -np.inf
                    count += 1
                if now_values[i] > values[at]:
                    values[at], edges[at], links[at] = now_values[i], e - edge0, now_links[i]
        for at in range(begin, count):
            place[keys[at]] = -1
        _sort_parts(keys[begin:count], values[begin:count], edges[begin:count], links[begin:count])
        part_start[n + 1] = count
    for at in range(part_start[nodes - 1], count):
        if keys[at] == size - 1:
            return _written(at, edges, links, link_part, link_before)
    return np.empty(0, np.int32)


@kernel
def _may_match(arrays: ForestArrays, edge: int, occurs: Flags, part_start: Ints) -> bool:
    """Tell whether all words of a hyperedge are in the reference, and something of each tail."""
    for k in range(arrays.word_start[edge], arrays.word_start[edge + 1]):
        word = arrays.words[k]
        if word >= 0 and (word >= occurs.shape[0] or not occurs[word]):
            return False
    for k in range(arrays.tail_start[edge], arrays.tail_start[edge + 1]):
        if part_start[arrays.tails[k]] == part_start[arrays.tails[k] + 1]:
            return False
    return True


@kernel
def _read_word(
    word: int, reference: Ids, size: int, keys: Ids, values: Floats, links: Ids, states: int
) -> int:
    """Keep the parts that a word of the reference goes on, each with one word more."""
    survivors = 0
    for i in range(states):
        end = keys[i] % size
        if end < reference.shape[0] and reference[end] == word:
            keys[survivors], values[survivors], links[survivors] = keys[i] + 1, values[i], links[i]
            survivors += 1
    return survivors


@kernel
def _read_tail(
    size: int,
    now: tuple[Ids, Floats, Ids],
    new: tuple[Ids, Floats, Ids],
    parts: tuple[Ids, Floats],
    first: int,
    marks: Ids,
    link_part: Ids,
    link_before: Ids,
    linked: int,
) -> tuple[int, int]:
    """Put each part of a tail, the first of which has a number, behind those it goes on."""
    position = 0
    for i in range(now[0].shape[0]):
        begin, end = now[0][i] // size, now[0][i] % size
        at = first_not_below(parts[0], 0, parts[0].shape[0], end * size)
        while at < parts[0].shape[0] and parts[0][at] < (end + 1) * size:
            key = begin * size + parts[0][at] % size
            value = now[1][i] + parts[1][at]
            mark = marks[key]
            if mark < 0:
                mark = position
                marks[key] = mark
                new[0][mark], new[1][mark] = key, -np.inf
                new[2][mark] = linked
                position += 1
                linked += 1
            if value > new[1][mark]:
                new[1][mark] = value
                link_part[new[2][mark]], link_before[new[2][mark]] = first + at, now[2][i]
            at += 1
    for i in range(position):
        marks[new[0][i]] = -1
    return position, linked


@kernel
def _sort_parts(keys: Ids, values: Floats, edges: Ids, links: Ids) -> None:
    order = argsort(keys)
    copy_to(keys, 0, keys[order])
    copy_to(values, 0, values[order])
    copy_to(edges, 0, edges[order])
    copy_to(links, 0, links[order])


@kernel
def _written(part: int, edges: Ids, links: Ids, link_part: Ids, link_before: Ids) -> Ids:
    """Return the hyperedges of the derivation of a part, from the top; empty if too many."""
    derivation, stack = np.empty(64, np.int32), np.empty(64, np.int32)
    stack[0] = part
    depth, count = 1, 0
    while depth > 0:
        depth -= 1
        at = stack[depth]
        if count == LONGEST:
            return derivation[:0]
        derivation = grown(derivation, count + 1)
        derivation[count] = edges[at]
        count += 1
        # Links go from the last tail to the first, which so comes out on top.
        link: Number = links[at]
        while link >= 0:
            stack = grown(stack, depth + 1)
            stack[depth] = link_part[link]
            depth += 1
            link = link_before[link]
    return derivation[:count]
