"""The k best derivations of forests, or the k best with different words.

Lazy enumeration (Huang and Chiang 2005, algorithm 3): a node's derivations are found one after
the other, and only as many as others ask for. A derivation is a hyperedge with one derivation of
each of its tails; those next in rank have, in one of these places, the next of that tail. To
come by each of them in one way only, just the last place that is not the best, and those after
it, move on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Number
from tunesmith.data.forests import ForestArrays, Forests
from tunesmith.errors import UsageError
from tunesmith.inference.forests.derivations import (
    LONGEST,
    Derivations,
    check_length,
    edge_scores,
    grown,
    grown_floats,
    grown_offsets,
    joined_derivations,
    viterbi,
)
from tunesmith.inference.forests.kbest.items import (
    CHILD,
    EDGE,
    HEAD,
    ITEMS,
    MOVED,
    NEXT,
    NONE,
    PARTS,
    PARTS_USED,
    SIBLING,
    Items,
    is_new_text,
    meld,
    with_room_for,
    with_room_for_text,
    without_top,
)
from tunesmith.inference.forests.kbest.string_hash import EMPTY, joined, with_word
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_rows, copy_to
from tunesmith.parallel.engine import map_over


def kbest_derivations(
    forests: Forests, weights: Floats, size: int, unique: bool = False
) -> tuple[Derivations, Floats]:
    """Return the derivations with the highest w·h of each forest, best first, and their scores.

    Parameters
    ----------
    size
        How many of each forest, as far as it has them.
    unique
        Only the best derivation of each text.

    Notes
    -----
    The first is that of :func:`best_derivations`. The order among equals is always the same.
    """
    if size < 1:
        raise UsageError(f"{size} derivations of each forest are asked for; give 1 or more")
    parts = map_over(forests, _find, forests.pieces(), weights, size, unique)
    forest = np.concatenate(
        [np.zeros(0, np.int64), *(piece_forests for piece_forests, *_ in parts)]
    )
    scores = np.concatenate([np.zeros(0), *(part[3] for part in parts)])
    return joined_derivations(forest, [part[1:3] for part in parts]), scores


def _find(
    forests: Forests, piece: slice, weights: Floats, size: int, unique: bool
) -> tuple[Ints, Ints, Ids, Floats]:
    block = forests.block(piece.start, piece.stop)
    counts, start, edges, scores = kbest_of_block(*block, weights, size, unique)
    groups = np.repeat(np.arange(piece.start, piece.stop), counts)
    check_length(start, forests, groups)
    return groups, start, edges, scores


@kernel
def kbest_of_block(
    arrays: ForestArrays, first: int, last: int, weights: Floats, size: int, unique: bool
) -> tuple[Ints, Ints, Ids, Floats]:
    """Return how many derivations each forest has, and :func:`kbest_of` of each, joined."""
    counts = np.zeros(last - first, np.int64)
    start, edges = np.zeros(1 << 6, np.int64), np.empty(1 << 10, np.int32)
    scores = np.empty(1 << 6)
    total, used = 0, 0
    for s in range(first, last):
        offsets, derivations, item_scores = kbest_of(
            arrays, s, edge_scores(arrays, s, weights), size, unique
        )
        count = item_scores.shape[0]
        counts[s - first] = count
        start, scores = grown_offsets(start, total + count + 1), grown_floats(scores, total + count)
        edges = grown(edges, used + derivations.shape[0])
        copy_to(scores, total, item_scores)
        copy_to(edges, used, derivations)
        for i in range(count):
            start[total + i + 1] = offsets[i + 1] + used if offsets[i + 1] >= 0 else -1
        total, used = total + count, used + derivations.shape[0]
    return counts, start[: total + 1], edges[:used], scores[:total]


@kernel
def kbest_of(
    arrays: ForestArrays, forest: int, scores: Floats, size: int, unique: bool
) -> tuple[Ints, Ids, Floats]:
    """Return the best derivations of one forest: offsets, hyperedges, and scores.

    Parameters
    ----------
    scores : float64[E]
        w·h of its hyperedges.

    Notes
    -----
    An offset of -1 stands for a derivation that is too long, and is the last.
    """
    value, choice = viterbi(arrays, forest, scores)
    model = _Model(arrays, forest, scores, value, _best_texts(arrays, forest, choice, unique))
    goal = value.shape[0] - 1
    nodes = np.full((goal + 1, 4), NONE, np.int64)
    stack = np.empty((goal + 1, 3), np.int64)
    room = 1 << 8
    items = Items(
        np.empty(room),
        np.empty((room, 7), np.int64),
        np.empty(room, np.int32),
        np.empty((room if unique else 0, 2), np.int64),
        np.full(room, NONE, np.int64),
    )
    used = np.zeros(3, np.int64)
    items_of_goal = np.empty(1 << 8, np.int64)
    count = 0
    while count < size:
        items = _advance(model, goal, nodes, stack, items, used, unique)
        if nodes[goal, STATE] == DONE:
            break
        items_of_goal = grown_offsets(items_of_goal, count + 1)
        items_of_goal[count] = nodes[goal, LAST]
        count += 1
    return _written(arrays, forest, choice, items, items_of_goal[:count])


class _Model(NamedTuple):
    """What does not change: a forest, its scores, what Viterbi says, hashes of its best texts."""

    arrays: ForestArrays
    forest: int
    scores: Floats
    value: Floats
    texts: Ints


# Columns of a node: the top of its heap, the first and the last item found.
TOP, FIRST, LAST, STATE = range(4)
OPEN, DONE = range(2)


@kernel
def _advance(
    model: _Model,
    goal: int,
    nodes: Ints,
    stack: Ints,
    items: Items,
    used: Ints,
    unique: bool,
) -> Items:
    """Find the next derivation of the goal; items that need a tail's next one wait on the stack.

    Tails come before heads, so no node is on the stack twice.
    """
    tail_start, tails = model.arrays.tail_start, model.arrays.tails
    edge0 = model.arrays.edge_start[model.arrays.node_start[model.forest]]
    depth = _wait(stack, 0, nodes, items.link, goal)
    while depth > 0:
        n, item, place = stack[depth - 1]
        if nodes[n, STATE] == NONE:
            items = _open(model, n, nodes, items, used)
        if item != NONE:
            edge = edge0 + items.link[item, EDGE]
            if place < tail_start[edge + 1] - tail_start[edge]:
                tail = tails[tail_start[edge] + place]
                now: Number = items.part[items.link[item, PARTS] + place]
                if now == NONE:
                    now = nodes[tail, FIRST]
                after = NONE if now == NONE else items.link[now, NEXT]
                if after == NONE and nodes[tail, STATE] != DONE:
                    depth = _wait(stack, depth, nodes, items.link, tail)
                    continue
                if after != NONE:
                    items = _add(model, n, edge - edge0, item, place, after, nodes, items, used)
                stack[depth - 1, 2] = place + 1
                continue
        top = nodes[n, TOP]
        if top == NONE:
            nodes[n, STATE] = DONE
            depth -= 1
            continue
        nodes[n, TOP] = without_top(items, top)
        if unique:
            items = with_room_for_text(items, used)
            if not is_new_text(items, used, top):
                # Its words are known, but not the words after it.
                stack[depth - 1, 1], stack[depth - 1, 2] = top, items.link[top, MOVED]
                continue
        if nodes[n, FIRST] == NONE:
            nodes[n, FIRST] = top
        else:
            items.link[nodes[n, LAST], NEXT] = top
        nodes[n, LAST] = top
        depth -= 1
    return items


@kernel
def _wait(stack: Ints, depth: int, nodes: Ints, link: Ints, node: int) -> int:
    """Put a node on the stack: it owes what comes after its last derivation, then the next."""
    last = nodes[node, LAST]
    stack[depth, 0], stack[depth, 1] = node, last
    stack[depth, 2] = 0 if last == NONE else link[last, MOVED]
    return depth + 1


@kernel
def _open(model: _Model, node: int, nodes: Ints, items: Items, used: Ints) -> Items:
    """Make an item of each hyperedge into a node, with the best derivations of its tails."""
    edge_start = model.arrays.edge_start[model.arrays.node_start[model.forest] :]
    nodes[node, STATE] = OPEN
    for edge in range(edge_start[node] - edge_start[0], edge_start[node + 1] - edge_start[0]):
        items = _add(model, node, edge, NONE, 0, NONE, nodes, items, used)
    return items


@kernel
def _add(
    model: _Model,
    node: int,
    edge: int,
    like: int,
    place: int,
    part: int,
    nodes: Ints,
    items: Items,
    used: Ints,
) -> Items:
    """Add an item to its node's heap: one like another, with another part at one place."""
    tail_start, tails = model.arrays.tail_start, model.arrays.tails
    edge0 = model.arrays.edge_start[model.arrays.node_start[model.forest]]
    first = tail_start[edge0 + edge]
    arity = tail_start[edge0 + edge + 1] - first
    items = with_room_for(items, used[ITEMS] + 1, used[PARTS_USED] + arity)
    new, begin = used[ITEMS], used[PARTS_USED]
    used[ITEMS] += 1
    used[PARTS_USED] += arity
    score = model.scores[edge]
    # In the order of Viterbi's sum, so that the best has its very score.
    for k in range(arity):
        part_of_item: Number = NONE if like == NONE else items.part[items.link[like, PARTS] + k]
        if part != NONE and k == place:
            part_of_item = part
        items.part[begin + k] = part_of_item
        score += (
            model.value[tails[first + k]] if part_of_item == NONE else items.score[part_of_item]
        )
    items.score[new] = score
    link = items.link[new]
    link[HEAD], link[EDGE], link[PARTS], link[MOVED] = node, edge, begin, place
    link[NEXT] = link[CHILD] = link[SIBLING] = NONE
    if len(model.texts) > 0:
        _hash(model, items, new)
    nodes[node, TOP] = meld(items, nodes[node, TOP], new)
    return items


@kernel
def _hash(model: _Model, items: Items, item: int) -> None:
    """Hash the words of an item from those of its parts."""
    arrays = model.arrays
    edge = arrays.edge_start[arrays.node_start[model.forest]] + items.link[item, EDGE]
    parts = items.part[items.link[item, PARTS] :]
    text = EMPTY
    for k in range(arrays.word_start[edge], arrays.word_start[edge + 1]):
        word = arrays.words[k]
        if word >= 0:
            text = with_word(text, word)
            continue
        part = parts[-word - 1]
        if part == NONE:
            tail = arrays.tails[arrays.tail_start[edge] - word - 1]
            text = joined(text, (model.texts[tail, 0], model.texts[tail, 1]))
        else:
            text = joined(text, (items.text[part, 0], items.text[part, 1]))
    items.text[item, 0], items.text[item, 1] = text


@kernel
def _best_texts(arrays: ForestArrays, forest: int, choice: Ids, are_needed: bool) -> Ints:
    """Return hash and power of each node's best text; of none if they are not wanted."""
    references = np.empty((choice.shape[0] if are_needed else 0, 2), np.int64)
    edge0 = arrays.edge_start[arrays.node_start[forest]]
    for n in range(references.shape[0]):
        edge = edge0 + choice[n]
        text = EMPTY
        for k in range(arrays.word_start[edge], arrays.word_start[edge + 1]):
            word = arrays.words[k]
            if word >= 0:
                text = with_word(text, word)
            else:
                tail = arrays.tails[arrays.tail_start[edge] - word - 1]
                text = joined(text, (references[tail, 0], references[tail, 1]))
        references[n, 0], references[n, 1] = text
    return references


@kernel
def _written(
    arrays: ForestArrays, forest: int, choice: Ids, items: Items, choices: Ints
) -> tuple[Ints, Ids, Floats]:
    """Write items down as derivations."""
    start, edges = np.zeros(choices.shape[0] + 1, np.int64), np.empty(1 << 10, np.int32)
    scores = np.empty(choices.shape[0])
    stack = np.empty((64, 2), np.int64)
    count = 0
    edge0 = arrays.edge_start[arrays.node_start[forest]]
    for i in range(choices.shape[0]):
        scores[i] = items.score[choices[i]]
        stack[0, 0], stack[0, 1] = choice.shape[0] - 1, choices[i]
        depth = 1
        while depth > 0:
            depth -= 1
            node, item = stack[depth]
            e = choice[node] if item == NONE else items.link[item, EDGE]
            if count - start[i] == LONGEST:
                start[i + 1] = -1
                return start[: i + 2], edges[:count], scores[: i + 1]
            edges = grown(edges, count + 1)
            edges[count] = e
            count += 1
            first_tail = arrays.tail_start[edge0 + e]
            arity = arrays.tail_start[edge0 + e + 1] - first_tail
            if depth + arity > stack.shape[0]:
                larger = np.empty((2 * (depth + arity), 2), np.int64)
                copy_rows(larger, 0, stack[:depth])
                stack = larger
            # The last slot first, so that the first is on top.
            for k in range(
                arrays.word_start[edge0 + e + 1] - 1, arrays.word_start[edge0 + e] - 1, -1
            ):
                place = -arrays.words[k] - 1
                if place >= 0:
                    stack[depth, 0] = arrays.tails[first_tail + place]
                    stack[depth, 1] = (
                        NONE if item == NONE else items.part[items.link[item, PARTS] + place]
                    )
                    depth += 1
        start[i + 1] = count
    return start, edges[:count], scores
