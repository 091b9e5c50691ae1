"""CKY: which rules of a grammar apply to which spans of a sentence, whatever the weights.

Chiang, "Hierarchical phrase-based translation" (Computational Linguistics 33, 2007), section 5.1.
Rules have any number of nonterminals: a chart of dotted rules walks the trie of source sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Ids, Ints, Number
from tunesmith.bits import spread_bits
from tunesmith.decoders.hiero.tables import GrammarArrays
from tunesmith.inference.derivations import grown, grown_offsets
from tunesmith.kernels import inlined, kernel

# Columns of a dotted rule: its node in the trie; the dotted rule that it goes on from, or -1; the
# vertex that filled the last nonterminal, or -1 if the last symbol is a word; which part of the
# grammar it is of; how many nonterminals it has.
NODE, BEFORE, TAIL, PART, ARITY = range(5)
NONE = -1


class Parse(NamedTuple):
    """All derivations of a sentence's source side: V vertices and B bundles of hyperedges.

    A vertex is a span and a category. A bundle is a set of vertices that the rules of one source
    side, its option, make into a vertex. Vertices come after those that they are made of.

    Attributes
    ----------
    begins, ends, categories : int32[V]
        The words that a vertex covers, and what it is.
    needed : bool[V]
        Whether it is part of a derivation of the whole.
    bundle_start : int64[V + 1], bundle_options : int32[B]
        The bundles of each vertex, by their options.
    tail_start : int64[B + 1], tails : int32[...]
        The vertices that fill the nonterminals, in the order of the source side.
    option_nodes, option_heads : int32[O]
        The node in the trie whose rules an option has, and the category that they make; the node
        is -1 - p where the option is to pass the p-th word through.
    goal
        The vertex of the whole sentence; -1 if there is none.
    """

    begins: Ids
    ends: Ids
    categories: Ids
    needed: Flags
    bundle_start: Ints
    bundle_options: Ids
    tail_start: Ints
    tails: Ids
    option_nodes: Ids
    option_heads: Ids
    goal: int


def unary_order(grammar: GrammarArrays, categories: int) -> Ids:
    """Return the categories so that those come first which rules of one nonterminal start from.

    Grammars in which such rules go round in circles are refused when they are made.
    """
    after: list[set[int]] = [set() for _ in range(categories)]
    for root in grammar.roots.tolist():
        first, last = grammar.child_start[root : root + 2].tolist()
        for k in range(first, last):
            symbol, node = int(grammar.child_symbols[k]), int(grammar.child_nodes[k])
            if symbol < 0:
                heads = grammar.heads[grammar.rule_start[node] : grammar.rule_start[node + 1]]
                after[-1 - symbol] |= set(heads.tolist())
    order: list[int] = []
    waiting = [sum(c in others for others in after) for c in range(categories)]
    ready = [c for c in range(categories) if waiting[c] == 0]
    while ready:
        category = ready.pop(0)
        order.append(category)
        for c in sorted(after[category]):
            waiting[c] -= 1
            if waiting[c] == 0:
                ready.append(c)
    if len(order) < categories:
        raise ValueError("rules of one nonterminal go round in circles")
    return np.array(order, np.int32)


@kernel
def parsed(
    grammar: GrammarArrays,
    order: Ids,
    words: Ids,
    passed: Flags,
    passed_categories: Ids,
    top: int,
) -> Parse:
    """Parse a sentence.

    Parameters
    ----------
    grammar
        The rules.
    order : int32[C]
        The categories as :func:`unary_order` has them.
    words : int32[n]
        The sentence, at least one word; ids that no rule has for unknown words.
    passed : bool[n]
        Which words may be passed through, as each of ``passed_categories``.
    top
        The category of the whole.
    """
    size = words.shape[0]
    rank = np.empty(order.shape[0], np.int32)
    for k in range(order.shape[0]):
        rank[order[k]] = k
    items = np.empty((256, 5), np.int32)
    item_count = 0
    item_begin = np.zeros(size * (size + 1) + size + 1, np.int64)
    item_end = item_begin.copy()
    vertex_begin, vertex_end = item_begin.copy(), item_begin.copy()
    begins, ends, categories = (
        np.empty(64, np.int32),
        np.empty(64, np.int32),
        np.empty(64, np.int32),
    )
    vertices = 0
    bundle_start, bundle_options = np.zeros(65, np.int64), np.empty(64, np.int32)
    tail_start, tails = np.zeros(65, np.int64), np.empty(64, np.int32)
    bundles = tail_count = 0
    option_nodes, option_heads = np.empty(64, np.int32), np.empty(64, np.int32)
    table = np.full(256, NONE, np.int32)
    options = 0
    present = np.zeros(order.shape[0], np.bool_)
    vertex_of = np.zeros(order.shape[0], np.int32)
    pending = np.empty((64, 2), np.int32)
    longest = 0
    for limit in grammar.limits:
        longest = max(longest, limit)
    for width in range(1, size + 1):
        for i in range(size - width + 1):
            if i > 0 and width > longest and width > 1:
                break
            j = i + width
            cell = i * (size + 1) + j
            item_begin[cell] = item_count
            items, item_count = _advance(
                grammar, words, i, j, item_begin, item_end, items, item_count,
                vertex_begin, vertex_end, categories,
            )  # fmt: skip
            present[:] = False
            waiting = 0
            if width == 1 and passed[i]:
                for category in passed_categories:
                    option_nodes = grown(option_nodes, options + 1)
                    option_heads = grown(option_heads, options + 1)
                    option_nodes[options] = -1 - i
                    option_heads[options] = category
                    present[category] = True
                    if waiting == pending.shape[0]:
                        pending = _doubled(pending)
                    pending[waiting, 0], pending[waiting, 1] = options, NONE
                    options += 1
                    waiting += 1
            first = item_begin[cell]
            turn = 0
            # Items of words and narrower vertices first, then those of this very span's vertices.
            while True:
                for item in range(first, item_count):
                    node = items[item, NODE]
                    if grammar.rule_start[node] == grammar.rule_start[node + 1]:
                        continue
                    option, option_nodes, option_heads, table, options = _options(
                        grammar, node, option_nodes, option_heads, table, options
                    )
                    while option < options and option_nodes[option] == node:
                        if waiting == pending.shape[0]:
                            pending = _doubled(pending)
                        pending[waiting, 0], pending[waiting, 1] = option, item
                        waiting += 1
                        present[option_heads[option]] = True
                        option += 1
                first = item_count
                while turn < order.shape[0] and not present[order[turn]]:
                    turn += 1
                if turn == order.shape[0]:
                    break
                items, item_count = _begin(grammar, i, width, order[turn], items, item_count)
                turn += 1
            item_end[cell] = item_count
            vertex_begin[cell] = vertices
            for k in range(order.shape[0]):
                if present[order[k]]:
                    begins, ends = grown(begins, vertices + 1), grown(ends, vertices + 1)
                    categories = grown(categories, vertices + 1)
                    begins[vertices], ends[vertices], categories[vertices] = i, j, order[k]
                    vertex_of[order[k]] = vertices
                    vertices += 1
            vertex_end[cell] = vertices
            for item in range(item_begin[cell], item_count):
                if items[item, TAIL] < NONE:
                    items[item, TAIL] = vertex_of[-2 - items[item, TAIL]]
            ranks = np.empty(waiting, np.int32)
            for k in range(waiting):
                ranks[k] = rank[option_heads[pending[k, 0]]]
            bundle_start = grown_offsets(bundle_start, vertices + 1)
            at = vertex_begin[cell]
            for k in np.argsort(ranks, kind="mergesort"):
                option, item = pending[k, 0], pending[k, 1]
                while categories[at] != option_heads[option]:
                    at += 1
                    bundle_start[at] = bundles
                bundle_options = grown(bundle_options, bundles + 1)
                tail_start = grown_offsets(tail_start, bundles + 2)
                arity = items[item, ARITY] if item >= 0 else 0
                tails = grown(tails, tail_count + arity)
                bundle_options[bundles] = option
                _unroll(items, item, tails[tail_count : tail_count + arity])
                tail_count += arity
                bundles += 1
                tail_start[bundles] = tail_count
            if vertices > vertex_begin[cell]:
                bundle_start[vertices] = bundles
    goal = NONE
    for v in range(vertex_begin[size], vertex_end[size]):
        if categories[v] == top:
            goal = v
    found = Parse(
        begins[:vertices].copy(),
        ends[:vertices].copy(),
        categories[:vertices].copy(),
        np.zeros(vertices, np.bool_),
        bundle_start[: vertices + 1].copy(),
        bundle_options[:bundles].copy(),
        tail_start[: bundles + 1].copy(),
        tails[:tail_count].copy(),
        option_nodes[:options].copy(),
        option_heads[:options].copy(),
        goal,
    )
    _mark_needed(found)
    return found


@kernel
def _child(start: Ints, symbols: Ids, nodes: Ids, node: int, symbol: int) -> int:
    """Return the child of a trie node for a symbol, or -1."""
    low, high = start[node], start[node + 1]
    last = high
    while low < high:
        middle = (low + high) // 2
        if symbols[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    return nodes[low] if low < last and symbols[low] == symbol else NONE


@inlined
def _may(limit: Number, i: Number, width: Number) -> Number:
    """Whether rules of a part of the grammar may cover a span."""
    return (i == 0) if limit < 0 else (width <= limit)


@kernel
def _with_item(
    items: Ids, count: int, node: int, before: int, tail: int, part: int, arity: int
) -> Ids:
    if count == items.shape[0]:
        items = _doubled(items)
    items[count, NODE] = node
    items[count, BEFORE] = before
    items[count, TAIL] = tail
    items[count, PART] = part
    items[count, ARITY] = arity
    return items


@kernel
def _doubled(rows: Ids) -> Ids:
    larger = np.empty((2 * rows.shape[0], rows.shape[1]), np.int32)
    larger[: rows.shape[0]] = rows
    return larger


@kernel
def _advance(
    grammar: GrammarArrays,
    words: Ids,
    i: int,
    j: int,
    item_begin: Ints,
    item_end: Ints,
    items: Ids,
    count: int,
    vertex_begin: Ints,
    vertex_end: Ints,
    categories: Ids,
) -> tuple[Ids, int]:
    """Add the dotted rules of a span whose last symbol is a word or a narrower vertex."""
    start, symbols, nodes = grammar.child_start, grammar.child_symbols, grammar.child_nodes
    size = words.shape[0]
    width = j - i
    word = words[j - 1]
    if width == 1:
        for part in range(grammar.roots.shape[0]):
            if _may(grammar.limits[part], i, width):
                node = _child(start, symbols, nodes, grammar.roots[part], word)
                if node >= 0:
                    items = _with_item(items, count, node, NONE, NONE, part, 0)
                    count += 1
        return items, count
    before = i * (size + 1) + j - 1
    for item in range(item_begin[before], item_end[before]):
        if _may(grammar.limits[items[item, PART]], i, width):
            node = _child(start, symbols, nodes, items[item, NODE], word)
            if node >= 0:
                part, arity = items[item, PART], items[item, ARITY]
                items = _with_item(items, count, node, item, NONE, part, arity)
                count += 1
    for k in range(i + 1, j):
        right = k * (size + 1) + j
        if vertex_begin[right] == vertex_end[right]:
            continue
        left = i * (size + 1) + k
        for item in range(item_begin[left], item_end[left]):
            first = start[items[item, NODE]]
            # Nonterminals come first among the children.
            if (
                first == start[items[item, NODE] + 1]
                or symbols[first] >= 0
                or not _may(grammar.limits[items[item, PART]], i, width)
            ):
                continue
            for v in range(vertex_begin[right], vertex_end[right]):
                node = _child(start, symbols, nodes, items[item, NODE], -1 - categories[v])
                if node >= 0:
                    part, arity = items[item, PART], items[item, ARITY] + 1
                    items = _with_item(items, count, node, item, v, part, arity)
                    count += 1
    return items, count


@kernel
def _begin(
    grammar: GrammarArrays, i: int, width: int, category: int, items: Ids, count: int
) -> tuple[Ids, int]:
    """Add the dotted rules that begin with a vertex of this very span, not yet numbered."""
    start, symbols, nodes = grammar.child_start, grammar.child_symbols, grammar.child_nodes
    for part in range(grammar.roots.shape[0]):
        if _may(grammar.limits[part], i, width):
            node = _child(start, symbols, nodes, grammar.roots[part], -1 - category)
            if node >= 0:
                items = _with_item(items, count, node, NONE, -2 - category, part, 1)
                count += 1
    return items, count


@kernel
def _options(
    grammar: GrammarArrays, node: int, nodes: Ids, heads: Ids, table: Ids, count: int
) -> tuple[int, Ids, Ids, Ids, int]:
    """Return the first option of a trie node, one for each category that its rules make."""
    mask = table.shape[0] - 1
    at = spread_bits(np.uint64(node)) & np.uint64(mask)
    while table[at] >= 0:
        if nodes[table[at]] == node:
            return table[at], nodes, heads, table, count
        at = (at + np.uint64(1)) & np.uint64(mask)
    first = count
    table[at] = first
    for rule in range(grammar.rule_start[node], grammar.rule_start[node + 1]):
        head = grammar.heads[rule]
        is_new = True
        for k in range(first, count):
            is_new = is_new and heads[k] != head
        if is_new:
            nodes, heads = grown(nodes, count + 1), grown(heads, count + 1)
            nodes[count], heads[count] = node, head
            count += 1
    if 2 * count > mask:
        table = np.full(4 * table.shape[0], NONE, np.int32)
        mask = table.shape[0] - 1
        for k in range(count):
            if nodes[k] >= 0 and (k == 0 or nodes[k - 1] != nodes[k]):
                at = spread_bits(np.uint64(nodes[k])) & np.uint64(mask)
                while table[at] >= 0:
                    at = (at + np.uint64(1)) & np.uint64(mask)
                table[at] = k
    return first, nodes, heads, table, count


@kernel
def _unroll(items: Ids, item: int, tails: Ids) -> None:
    """Write the vertices that fill a dotted rule's nonterminals, in their order."""
    at = tails.shape[0]
    while item >= 0:
        if items[item, TAIL] >= 0:
            at -= 1
            tails[at] = items[item, TAIL]
        item = items[item, BEFORE]


@kernel
def _mark_needed(parse: Parse) -> None:
    """Mark what the goal is made of."""
    if parse.goal < 0:
        return
    parse.needed[parse.goal] = True
    for v in range(parse.goal, -1, -1):
        if parse.needed[v]:
            for b in range(parse.bundle_start[v], parse.bundle_start[v + 1]):
                for k in range(parse.tail_start[b], parse.tail_start[b + 1]):
                    parse.needed[parse.tails[k]] = True
