"""CKY: which rules of a grammar apply to which spans of a sentence, whatever the weights.

Chiang, "Hierarchical phrase-based translation" (Computational Linguistics 33, 2007), section 5.1.
A span lies between two nodes of a lattice, of which a sentence is a simple one: see ``arcs.py``.
Rules have any number of nonterminals: a chart of dotted rules walks the trie of source sides.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Ids, Ints, Number
from tunesmith.hiero.chart.arcs import (
    EMPTY_PATH,
    NONE,
    LatticeArcs,
    Paths,
    no_paths,
    with_path,
)
from tunesmith.hiero.tables import GrammarArrays
from tunesmith.inference.forests.derivations import grown, grown_offsets
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.bits import spread_bits
from tunesmith.kernels.copying import copy_rows
from tunesmith.kernels.sorting import argsort

# Columns of a dotted rule: its node in the trie; the dotted rule that it goes on from, or -1; the
# vertex that filled the last nonterminal, or -1 if the last symbol is a word; which part of the
# grammar it is of; how many nonterminals it has; the path of its words.
NODE, BEFORE, TAIL, PART, ARITY, PATH = range(6)
# Columns of a span: where its dotted rules and its vertices begin and end.
FIRST_ITEM, LAST_ITEM, FIRST_VERTEX, LAST_VERTEX = range(4)
# What is used: dotted rules, options, rules that are complete, vertices, bundles, tails, paths.
ITEMS, OPTIONS, COMPLETE, VERTICES, BUNDLES, TAILS, PATHS = range(7)


class Parse(NamedTuple):
    """All derivations of a sentence's source side: V vertices and B bundles of hyperedges.

    A vertex is a span and a category. A bundle is a set of vertices that the rules of one source
    side, its option, make into a vertex. Vertices come after those that they are made of. Where
    arcs have scores, an option is a source side and the path of its words.

    Attributes
    ----------
    begins, ends, categories : int32[V]
        The nodes between which a vertex lies, and what it is.
    needed : bool[V]
        Whether it is part of a derivation of the whole.
    bundle_start : int64[V + 1], bundle_options : int32[B]
        The bundles of each vertex, by their options.
    tail_start : int64[B + 1], tails : int32[...]
        The vertices that fill the nonterminals, in the order of the source side.
    option_nodes, option_heads : int32[O]
        The node in the trie whose rules an option has, and the category that they make; the node
        is -1 - a where the option is to pass the word of arc a through, and -1 - A - f, for A
        arcs, where it is the f-th forced translation.
    option_paths : int32[O], paths : int32[..., 2]
        The path of each option; paths as ``arcs.py`` has them.
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
    option_paths: Ids
    paths: Ids
    goal: int


class ParseOptions(NamedTuple):
    """Options under way, and a table of them by nodes and paths; see :class:`Parse`."""

    nodes: Ids
    heads: Ids
    paths: Ids
    table: Ids


class _Partial(NamedTuple):
    """Vertices and bundles under way; see :class:`Parse`."""

    begins: Ids
    ends: Ids
    categories: Ids
    bundle_start: Ints
    bundle_options: Ids
    tail_start: Ints
    tails: Ids


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
    waiting = [0] * categories
    for others in after:
        for c in others:
            waiting[c] += 1
    ready = deque(c for c in range(categories) if waiting[c] == 0)
    while ready:
        category = ready.popleft()
        order.append(category)
        for c in sorted(after[category]):
            waiting[c] -= 1
            if waiting[c] == 0:
                ready.append(c)
    if len(order) < categories:
        raise ValueError("rules of one nonterminal go round in circles")
    return np.array(order, np.int32)


@kernel
def parse_sentence(
    grammar: GrammarArrays,
    order: Ids,
    arcs: LatticeArcs,
    passed: Flags,
    passed_categories: Ids,
    top: int,
    forced: Ids,
) -> Parse:
    """Parse a sentence, or a lattice.

    Parameters
    ----------
    grammar
        The rules.
    order : int32[C]
        The categories as :func:`unary_order` has them.
    arcs
        The words, at least one.
    passed : bool[A]
        Which words may be passed through, as each of ``passed_categories``.
    top
        The category of the whole.
    forced : int32[F, 2]
        Where forced translations begin and end; they are of each of ``passed_categories``.
    """
    size = arcs.start.shape[0] - 2
    reach = 1
    for limit in grammar.limits:
        reach = max(reach, min(limit, size))
    for f in range(forced.shape[0]):
        reach = max(reach, forced[f, 1] - forced[f, 0])
    # Nodes of a lattice may lie far apart, and have few words between them.
    longest = size if arcs.widths.shape[0] else reach
    cells = np.zeros((size * (longest + 1) + size + 1, 4), np.int64)
    items, complete = np.empty((256, 6), np.int32), np.empty((64, 2), np.int32)
    options, numbers = _nothing()
    paths = no_paths()
    present = np.zeros(order.shape[0], np.bool_)
    used = np.zeros(7, np.int64)
    used[PATHS] = 1
    for width in range(1, size + 1):
        for i in range(size - width + 1 if width <= longest else 1):
            words = arcs.widths[i, i + width] if arcs.widths.shape[0] else width
            if i > 0 and words > reach:
                continue
            cell = cells[_cell(i, i + width, size, longest)]
            cell[FIRST_ITEM] = used[ITEMS]
            items, paths = _advance(
                grammar, arcs, i, i + width, words, longest, cells, items, numbers, paths, used
            )
            present[:] = False
            used[COMPLETE] = 0
            for arc in range(arcs.start[i + width], arcs.start[i + width + 1]):
                if arcs.sources[arc] == i and passed[arc]:
                    path = EMPTY_PATH
                    if arcs.is_scored[arc]:
                        path, paths = _path_with(paths, path, arc, used)
                    options, complete = _pass(
                        arc, path, passed_categories, options, complete, present, used
                    )
            for f in range(forced.shape[0]):
                if forced[f, 0] == i and forced[f, 1] == i + width:
                    options, complete = _pass(
                        arcs.words.shape[0] + f, EMPTY_PATH, passed_categories, options, complete,
                        present, used,
                    )  # fmt: skip
            items, options, complete = _complete(
                grammar, order, i, words, cell[FIRST_ITEM], items, options, complete, present, used
            )
            cell[LAST_ITEM] = used[ITEMS]
            cell[FIRST_VERTEX] = used[VERTICES]
            cell_items = items[cell[FIRST_ITEM] : used[ITEMS]]
            numbers = _number(i, i + width, order, present, cell_items, numbers, used)
            cell[LAST_VERTEX] = used[VERTICES]
            if used[COMPLETE] > 0:
                numbers = _bundle(
                    cell[FIRST_VERTEX], order, items, options, complete, numbers, used
                )
    goal, whole = NONE, cells[_cell(0, size, size, longest)]
    for v in range(whole[FIRST_VERTEX], whole[LAST_VERTEX]):
        if numbers.categories[v] == top:
            goal = v
    parse = Parse(
        numbers.begins[: used[VERTICES]].copy(),
        numbers.ends[: used[VERTICES]].copy(),
        numbers.categories[: used[VERTICES]].copy(),
        np.zeros(used[VERTICES], np.bool_),
        numbers.bundle_start[: used[VERTICES] + 1].copy(),
        numbers.bundle_options[: used[BUNDLES]].copy(),
        numbers.tail_start[: used[BUNDLES] + 1].copy(),
        numbers.tails[: used[TAILS]].copy(),
        options.nodes[: used[OPTIONS]].copy(),
        options.heads[: used[OPTIONS]].copy(),
        options.paths[: used[OPTIONS]].copy(),
        paths.rows[: used[PATHS]].copy(),
        goal,
    )
    _mark_needed(parse)
    return parse


@kernel
def _nothing() -> tuple[ParseOptions, _Partial]:
    """Return room for options, vertices and bundles."""
    size = 64
    table = np.full(4 * size, NONE, np.int32)
    return (
        ParseOptions(
            np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32), table
        ),
        _Partial(
            np.empty(size, np.int32),
            np.empty(size, np.int32),
            np.empty(size, np.int32),
            np.zeros(size + 1, np.int64),
            np.empty(size, np.int32),
            np.zeros(size + 1, np.int64),
            np.empty(size, np.int32),
        ),
    )


@inlined
def _cell(i: Number, j: Number, size: Number, longest: Number) -> Number:
    """Return the place of a span: wide ones all begin with the sentence."""
    return i * (longest + 1) + j - i if j - i <= longest else size * (longest + 1) + j


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
    items: Ids, used: Ints, node: int, before: int, tail: int, part: int, arity: int, path: int
) -> Ids:
    """Add a dotted rule."""
    count = used[ITEMS]
    used[ITEMS] += 1
    if count == items.shape[0]:
        items = _with_double_rows(items)
    row = items[count]
    row[NODE], row[BEFORE], row[TAIL] = node, before, tail
    row[PART], row[ARITY], row[PATH] = part, arity, path
    return items


@kernel
def _path_with(paths: Paths, path: int, arc: int, used: Ints) -> tuple[int, Paths]:
    """Return the path that goes on with an arc that has scores."""
    path, used[PATHS], paths = with_path(paths, used[PATHS], path, arc)
    return path, paths


@kernel
def _with_double_rows(rows: Ids) -> Ids:
    larger = np.empty((2 * rows.shape[0], rows.shape[1]), np.int32)
    copy_rows(larger, 0, rows)
    return larger


@kernel
def _advance(
    grammar: GrammarArrays,
    arcs: LatticeArcs,
    i: int,
    j: int,
    width: int,
    longest: int,
    cells: Ints,
    items: Ids,
    numbers: _Partial,
    paths: Paths,
    used: Ints,
) -> tuple[Ids, Paths]:
    """Add the dotted rules of a span whose last symbol is a word or a narrower vertex."""
    start, symbols, nodes = grammar.child_start, grammar.child_symbols, grammar.child_nodes
    limits, size = grammar.limits, arcs.start.shape[0] - 2
    for arc in range(arcs.start[j], arcs.start[j + 1]):
        source, word, first = arcs.sources[arc], arcs.words[arc], used[ITEMS]
        if source == i:
            for part in range(grammar.roots.shape[0]):
                if _may(limits[part], i, width):
                    node = _child(start, symbols, nodes, grammar.roots[part], word)
                    if node >= 0:
                        items = _with_item(items, used, node, NONE, NONE, part, 0, EMPTY_PATH)
        elif source > i:
            left = cells[_cell(i, source, size, longest)]
            for item in range(left[FIRST_ITEM], left[LAST_ITEM]):
                part = items[item, PART]
                if _may(limits[part], i, width):
                    node = _child(start, symbols, nodes, items[item, NODE], word)
                    if node >= 0:
                        path, arity = items[item, PATH], items[item, ARITY]
                        items = _with_item(items, used, node, item, NONE, part, arity, path)
        if arcs.is_scored[arc]:
            paths = _with_arc(items, first, arc, paths, used)
    for k in range(max(i + 1, j - longest), j):
        right = cells[_cell(k, j, size, longest)]
        left = cells[_cell(i, k, size, longest)]
        if right[FIRST_VERTEX] == right[LAST_VERTEX]:
            continue
        for item in range(left[FIRST_ITEM], left[LAST_ITEM]):
            before, part = items[item, NODE], items[item, PART]
            # Nonterminals come first among the children.
            has_some = start[before] < start[before + 1] and symbols[start[before]] < 0
            if not has_some or not _may(limits[part], i, width):
                continue
            for v in range(right[FIRST_VERTEX], right[LAST_VERTEX]):
                node = _child(start, symbols, nodes, before, -1 - numbers.categories[v])
                if node >= 0:
                    arity, path = items[item, ARITY] + 1, items[item, PATH]
                    items = _with_item(items, used, node, item, v, part, arity, path)
    return items, paths


@kernel
def _with_arc(items: Ids, first: int, arc: int, paths: Paths, used: Ints) -> Paths:
    """Let the paths of the last dotted rules, from the first on, go on with an arc."""
    for item in range(first, used[ITEMS]):
        items[item, PATH], paths = _path_with(paths, items[item, PATH], arc, used)
    return paths


@kernel
def _pass(
    i: int,
    path: int,
    categories: Ids,
    options: ParseOptions,
    complete: Ids,
    present: Flags,
    used: Ints,
) -> tuple[ParseOptions, Ids]:
    """Let the word of the i-th arc pass through as some categories, or what is forced."""
    for category in categories:
        options = _with_option(options, -1 - i, category, path, used)
        complete = _with_complete(complete, used[OPTIONS] - 1, NONE, used)
        present[category] = True
    return options, complete


@kernel
def _with_complete(complete: Ids, option: int, item: int, used: Ints) -> Ids:
    count = used[COMPLETE]
    used[COMPLETE] += 1
    if count == complete.shape[0]:
        complete = _with_double_rows(complete)
    complete[count, 0], complete[count, 1] = option, item
    return complete


@kernel
def _complete(
    grammar: GrammarArrays,
    order: Ids,
    i: int,
    width: int,
    first: int,
    items: Ids,
    options: ParseOptions,
    complete: Ids,
    present: Flags,
    used: Ints,
) -> tuple[Ids, ParseOptions, Ids]:
    """Find the rules that are complete, and start others with what they cover of this span.

    A category that rules of one nonterminal make comes later in the order than what they make it
    of, so that one pass over the order is enough.
    """
    turn = 0
    while True:
        for item in range(first, used[ITEMS]):
            node = items[item, NODE]
            if grammar.rule_start[node] < grammar.rule_start[node + 1]:
                path = items[item, PATH]
                option = _option_of(options.table, options.nodes, options.paths, node, path)
                if option < 0:
                    option, options = _with_options(grammar, node, path, options, used)
                while (
                    option < used[OPTIONS]
                    and options.nodes[option] == node
                    and options.paths[option] == path
                ):
                    complete = _with_complete(complete, option, item, used)
                    present[options.heads[option]] = True
                    option += 1
        first = used[ITEMS]
        while turn < order.shape[0] and not present[order[turn]]:
            turn += 1
        if turn == order.shape[0]:
            return items, options, complete
        items = _begin(grammar, i, width, order[turn], items, used)
        turn += 1


@kernel
def _begin(
    grammar: GrammarArrays, i: int, width: int, category: int, items: Ids, used: Ints
) -> Ids:
    """Add the dotted rules that begin with a vertex of this very span, not yet numbered."""
    start, symbols, nodes = grammar.child_start, grammar.child_symbols, grammar.child_nodes
    for part in range(grammar.roots.shape[0]):
        if _may(grammar.limits[part], i, width):
            node = _child(start, symbols, nodes, grammar.roots[part], -1 - category)
            if node >= 0:
                items = _with_item(items, used, node, NONE, -2 - category, part, 1, EMPTY_PATH)
    return items


@kernel
def _option_of(table: Ids, nodes: Ids, paths: Ids, node: int, path: int) -> int:
    """Return the first option of a trie node and a path, or -1."""
    mask = np.uint64(table.shape[0] - 1)
    at = _spread(node, path) & mask
    while table[at] >= 0 and not (nodes[table[at]] == node and paths[table[at]] == path):
        at = (at + np.uint64(1)) & mask
    return int(table[at])


@kernel
def _with_options(
    grammar: GrammarArrays, node: int, path: int, options: ParseOptions, used: Ints
) -> tuple[int, ParseOptions]:
    """Add the options of a trie node and a path, one for each category that is made."""
    first = used[OPTIONS]
    _enter(options.table, node, path, first)
    for rule in range(grammar.rule_start[node], grammar.rule_start[node + 1]):
        head = grammar.heads[rule]
        is_new = True
        for k in range(first, used[OPTIONS]):
            is_new = is_new and options.heads[k] != head
        if is_new:
            options = _with_option(options, node, head, path, used)
    if 2 * used[OPTIONS] > options.table.shape[0]:
        options = _with_larger_table(options, used[OPTIONS])
    return first, options


@kernel
def _enter(table: Ids, node: int, path: int, option: int) -> None:
    mask = np.uint64(table.shape[0] - 1)
    at = _spread(node, path) & mask
    while table[at] >= 0:
        at = (at + np.uint64(1)) & mask
    table[at] = option


@inlined
def _spread(node: Number, path: Number) -> Number:
    return spread_bits((np.uint64(path) << np.uint64(32)) | np.uint64(node))


@kernel
def _with_option(
    options: ParseOptions, node: int, head: int, path: int, used: Ints
) -> ParseOptions:
    count = used[OPTIONS]
    used[OPTIONS] += 1
    if count == options.nodes.shape[0]:
        options = ParseOptions(
            grown(options.nodes, count + 1),
            grown(options.heads, count + 1),
            grown(options.paths, count + 1),
            options.table,
        )
    options.nodes[count], options.heads[count], options.paths[count] = node, head, path
    return options


@kernel
def _with_larger_table(options: ParseOptions, count: int) -> ParseOptions:
    nodes, paths = options.nodes, options.paths
    table = np.full(4 * options.table.shape[0], NONE, np.int32)
    for k in range(count):
        if nodes[k] < 0:
            continue
        if k == 0 or nodes[k - 1] != nodes[k] or paths[k - 1] != paths[k]:
            _enter(table, nodes[k], paths[k], k)
    return ParseOptions(nodes, options.heads, paths, table)


@kernel
def _number(
    i: int, j: int, order: Ids, present: Flags, items: Ids, numbers: _Partial, used: Ints
) -> _Partial:
    """Give the vertices of a span their numbers, and fill them into its dotted rules."""
    room = used[VERTICES] + order.shape[0]
    numbers = _Partial(
        grown(numbers.begins, room),
        grown(numbers.ends, room),
        grown(numbers.categories, room),
        grown_offsets(numbers.bundle_start, room + 1),
        numbers.bundle_options,
        numbers.tail_start,
        numbers.tails,
    )
    vertex_of = np.empty(order.shape[0], np.int32)
    for category in order:
        if present[category]:
            v = used[VERTICES]
            used[VERTICES] += 1
            numbers.begins[v], numbers.ends[v], numbers.categories[v] = i, j, category
            vertex_of[category] = v
    for k in range(items.shape[0]):
        if items[k, TAIL] < NONE:
            items[k, TAIL] = vertex_of[-2 - items[k, TAIL]]
    return numbers


@kernel
def _bundle(
    first: int,
    order: Ids,
    items: Ids,
    options: ParseOptions,
    complete: Ids,
    numbers: _Partial,
    used: Ints,
) -> _Partial:
    """Add the bundles of a span, from its first vertex on, in the order of the vertices."""
    rank = np.empty(order.shape[0], np.int32)
    for k in range(order.shape[0]):
        rank[order[k]] = k
    ranks = np.empty(used[COMPLETE], np.int32)
    tails = used[TAILS]
    for k in range(used[COMPLETE]):
        ranks[k] = rank[options.heads[complete[k, 0]]]
        tails += items[complete[k, 1], ARITY] if complete[k, 1] >= 0 else 0
    bundles = used[BUNDLES] + used[COMPLETE]
    numbers = _Partial(
        numbers.begins,
        numbers.ends,
        numbers.categories,
        numbers.bundle_start,
        grown(numbers.bundle_options, bundles),
        grown_offsets(numbers.tail_start, bundles + 1),
        grown(numbers.tails, tails),
    )
    v = first
    for k in argsort(ranks):
        option, item = complete[k, 0], complete[k, 1]
        while numbers.categories[v] != options.heads[option]:
            v += 1
            numbers.bundle_start[v] = used[BUNDLES]
        arity = items[item, ARITY] if item >= 0 else 0
        _unroll(items, item, numbers.tails[used[TAILS] : used[TAILS] + arity])
        numbers.bundle_options[used[BUNDLES]] = option
        used[BUNDLES] += 1
        used[TAILS] += arity
        numbers.tail_start[used[BUNDLES]] = used[TAILS]
    numbers.bundle_start[used[VERTICES]] = used[BUNDLES]
    return numbers


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
