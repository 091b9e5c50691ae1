"""Cube pruning: the best derivations of each vertex, language models included.

Huang and Chiang, "Forest rescoring: faster decoding with integrated language models" (ACL 2007);
Chiang (Computational Linguistics 33, 2007), section 5.3. What waits in a queue has an estimate
until it comes to its front; only then language models are asked, and it waits again with what it
is worth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.hiero.chart.cube_queue import (
    BUNDLE,
    NONE,
    PLACE,
    RANKS,
    RULE,
    CubeItem,
    Queue,
    empty_queue,
    is_new,
    pop,
    push,
    row_hash,
    same_rows,
    with_entries,
    with_rows,
)
from tunesmith.hiero.chart.parse import Parse
from tunesmith.hiero.chart.sentence_rules import SentenceRules
from tunesmith.hiero.lm.states import add_phrase, add_word, begin, clear, longest_context
from tunesmith.hiero.tables import ModelArrays, Singles
from tunesmith.inference.forests.derivations import grown, grown_floats, grown_offsets
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_rows, copy_to
from tunesmith.kernels.sorting import argsort

#: As a rule of a hyperedge: the goal's, which says what its tail says.
GOAL = -1
#: More than there ever are.
ALL = 1 << 62
# What is used: nodes, hyperedges, tails; entries of the queue, places of its heap, evaluations.
NODES, EDGES, TAILS, ENTRIES, WAITING, EVALUATED = range(6)


class Chart(NamedTuple):
    """What was found for one sentence, with M language models: N nodes and E hyperedges.

    A node is a vertex with states of the language models. Nodes come after those that they are
    made of; the last is the goal.

    Attributes
    ----------
    vertices : int32[N]
        The vertex of each node; the goal's is that of the whole sentence.
    scores : float64[N], best : int32[N]
        The score of its best derivation, and the hyperedge that this ends in.
    heads, rules : int32[E]
        The node that a hyperedge makes, and its rule, or GOAL.
    tail_start : int64[E + 1], tails : int32[...]
        The nodes that it is made of, in the order of the source side.
    probabilities : float64[E, M]
        What each language model adds: log10.
    """

    vertices: Ids
    scores: Floats
    best: Ids
    heads: Ids
    rules: Ids
    tail_start: Ints
    tails: Ids
    probabilities: Floats


class Nodes(NamedTuple):
    """Nodes of an unfinished chart, with their states; those of each vertex best first.

    Attributes
    ----------
    ints : int32[N, M * (3 + 2K)], floats : float32[N, M * K]
        The states of the language models, one after the other.
    order : int32[N]
        The nodes of vertex v from place ``first[v]`` on, by score.
    """

    vertices: Ids
    scores: Floats
    best: Ids
    ints: Ids
    floats: Singles
    order: Ids


class Edges(NamedTuple):
    """Hyperedges under way, as in a chart."""

    heads: Ids
    rules: Ids
    tail_start: Ints
    tails: Ids
    probabilities: Floats


@kernel
def search(
    parse: Parse,
    rules: SentenceRules,
    rule_scores: Floats,
    models: ModelArrays,
    model_weights: Floats,
    pop_limit: int,
    option_limit: int,
    has_ends: bool,
) -> Chart:
    """Find good derivations.

    Parameters
    ----------
    parse
        All derivations of the source side; there is a goal.
    rules
        The rules of its options.
    rule_scores : float64[R]
        w·h of each, without language models.
    models, model_weights : float64[M]
        The language models, and their weights.
    pop_limit
        How many hyperedges a vertex gets at most; 0 for all.
    option_limit
        How many rules of an option are tried; 0 for all.
    has_ends
        Whether the beginning and the end of the sentence are still to be added.
    """
    count = model_weights.shape[0]
    context = longest_context(models)
    limit = pop_limit if pop_limit > 0 else ALL
    few = option_limit if option_limit > 0 else ALL
    guesses = rule_scores.copy()
    for m in range(count):
        for rule in range(guesses.shape[0]):
            guesses[rule] += model_weights[m] * rules.estimates[rule, m]
    ranked = _rank_rules(rules.option_start, guesses)
    arity = _greatest_arity(parse)
    nodes = _more_nodes(_no_nodes(count, context), 1024)
    edges = _more_edges(_no_edges(count), 1024, 1024)
    first = np.zeros(parse.goal + 2, np.int64)
    queue, evaluated = empty_queue(arity, count, context)
    seen, table = np.full(512, NONE, np.int32), np.full(512, NONE, np.int32)
    used = np.zeros(6, np.int64)
    for v in range(parse.goal + 1):
        first[v] = used[NODES]
        first[v + 1] = used[NODES]
        if not parse.needed[v]:
            continue
        seen[:] = NONE
        table[:] = NONE
        bundles = parse.bundle_start[v + 1] - parse.bundle_start[v]
        queue = with_entries(queue, bundles)
        _begin(parse, rules.option_start, v, guesses, ranked, first, nodes, queue, used)
        pops = 0
        while used[WAITING] > 0 and pops < limit:
            entry, used[WAITING] = pop(queue, used[WAITING])
            bundle = queue.rows[entry, BUNDLE]
            option = rules.option_start[parse.bundle_options[bundle]]
            rule = ranked[option + queue.rows[entry, RULE]]
            tails = parse.tails[parse.tail_start[bundle] : parse.tail_start[bundle + 1]]
            queue = with_entries(queue, used[ENTRIES] + 1 + tails.shape[0])
            if queue.rows[entry, PLACE] == NONE:
                evaluated = with_rows(evaluated, used[EVALUATED] + 1)
                side = rules.target_words[
                    :, rules.target_start[rule] : rules.target_start[rule + 1]
                ]
                last = min(rules.option_start[parse.bundle_options[bundle] + 1], option + few)
                guess = queue.priorities[entry]
                _evaluate(
                    models, model_weights, side, tails, entry, rule_scores[rule], first, nodes,
                    queue, evaluated, used,
                )  # fmt: skip
                after = option + queue.rows[entry, RULE] + 1
                if after < last and _is_plain(queue.rows[entry, RANKS:]):
                    guess += guesses[ranked[after]] - guesses[rule]
                    _next_rule(entry, guess, queue, used)
                continue
            pops += 1
            if used[NODES] == nodes.scores.shape[0]:
                nodes = _more_nodes(nodes, 2 * used[NODES])
            edges = _with_room(edges, used[EDGES] + 1, used[TAILS] + tails.shape[0])
            _settle(v, entry, rule, tails, first, nodes, edges, queue, evaluated, table, used)
            if 2 * (used[NODES] - first[v]) > table.shape[0]:
                table = _with_nodes(nodes.ints, first[v], used[NODES], 4 * table.shape[0])
            if tails.shape[0] > 1 and 2 * (used[ENTRIES] + tails.shape[0]) > seen.shape[0]:
                seen = _with_seen(queue.rows, used[ENTRIES], used[ENTRIES] + tails.shape[0])
            value = evaluated.values[queue.rows[entry, PLACE]]
            _push_successors(entry, tails, guesses[rule], value, first, nodes, queue, seen, used)
        first[v + 1] = used[NODES]
        by_score = argsort(_negative(nodes.scores[first[v] : used[NODES]]))
        for k in range(by_score.shape[0]):
            nodes.order[first[v] + k] = first[v] + by_score[k]
    return _chart_of(nodes, edges, used, first[parse.goal], models, model_weights, has_ends)


@kernel
def _begin(
    parse: Parse,
    option_start: Ints,
    v: int,
    guesses: Floats,
    ranked: Ids,
    first: Ints,
    nodes: Nodes,
    queue: Queue,
    used: Ints,
) -> None:
    """Let the best rule of each bundle of a vertex wait, with the best of its tails."""
    used[ENTRIES] = used[WAITING] = used[EVALUATED] = 0
    for b in range(parse.bundle_start[v], parse.bundle_start[v + 1]):
        guess = guesses[ranked[option_start[parse.bundle_options[b]]]]
        for k in range(parse.tail_start[b], parse.tail_start[b + 1]):
            guess += nodes.scores[nodes.order[first[parse.tails[k]]]]
        row = queue.rows[used[ENTRIES]]
        row[:] = 0
        row[BUNDLE], row[PLACE] = b, NONE
        _wait(guess, queue, used)


@kernel
def _wait(guess: float, queue: Queue, used: Ints) -> None:
    """Let the entry wait that was written last."""
    queue.priorities[used[ENTRIES]] = guess
    used[WAITING] = push(queue, used[WAITING], used[ENTRIES])
    used[ENTRIES] += 1


@kernel
def _is_plain(ranks: Ids) -> bool:
    """Whether all tails are the best."""
    k = 0
    while k < ranks.shape[0] and ranks[k] == 0:
        k += 1
    return bool(k == ranks.shape[0])


@kernel
def _evaluate(
    models: ModelArrays,
    model_weights: Floats,
    side: Ids,
    tails: Ids,
    entry: int,
    value: float,
    first: Ints,
    nodes: Nodes,
    queue: Queue,
    evaluated: CubeItem,
    used: Ints,
) -> None:
    """Score an entry with the language models, and put it into the queue of evaluated ones.

    ``side`` is the target side of its rule for each model, ``value`` the score of the rule.
    """
    place = used[EVALUATED]
    used[EVALUATED] += 1
    row = queue.rows[entry]
    row[PLACE] = place
    count = model_weights.shape[0]
    context = evaluated.floats.shape[1] // max(1, count)
    width = 3 + 2 * context
    for m in range(count):
        ints = evaluated.ints[place, m * width : (m + 1) * width]
        floats = evaluated.floats[place, m * context : (m + 1) * context]
        clear(ints, floats)
        total = 0.0
        for k in range(side.shape[1]):
            word = side[m, k]
            if word < 0:
                node = nodes.order[first[tails[-1 - word]] + row[RANKS - 1 - word]]
                state = nodes.ints[node, m * width : (m + 1) * width]
                own_floats = nodes.floats[node, m * context : (m + 1) * context]
                total += add_phrase(models, m, state, own_floats, ints, floats)
            elif word == models.begins[m]:
                begin(models, m, ints, floats)
            else:
                total += add_word(models, m, word, ints, floats)
        evaluated.probabilities[place, m] = total
        value += model_weights[m] * total
    for k in range(tails.shape[0]):
        value += nodes.scores[nodes.order[first[tails[k]] + row[RANKS + k]]]
    evaluated.values[place] = value
    queue.priorities[entry] = value
    used[WAITING] = push(queue, used[WAITING], entry)


@kernel
def _next_rule(entry: int, guess: float, queue: Queue, used: Ints) -> None:
    """Let the next rule of an entry's option wait."""
    row = queue.rows[used[ENTRIES]]
    copy_to(row, 0, queue.rows[entry])
    row[RULE] += 1
    row[PLACE] = NONE
    _wait(guess, queue, used)


@kernel
def _settle(
    v: int,
    entry: int,
    rule: int,
    tails: Ids,
    first: Ints,
    nodes: Nodes,
    edges: Edges,
    queue: Queue,
    evaluated: CubeItem,
    table: Ids,
    used: Ints,
) -> None:
    """Make an entry a hyperedge, into the node of its states."""
    place = queue.rows[entry, PLACE]
    value = evaluated.values[place]
    edge = used[EDGES]
    node, slot = _node_of(evaluated.ints[place], nodes.ints, table)
    if node == NONE:
        node = used[NODES]
        used[NODES] += 1
        table[slot] = node
        nodes.vertices[node] = v
        copy_to(nodes.ints[node], 0, evaluated.ints[place])
        copy_to(nodes.floats[node], 0, evaluated.floats[place])
        nodes.best[node], nodes.scores[node] = edge, value
    elif value > nodes.scores[node]:
        nodes.best[node], nodes.scores[node] = edge, value
    edges.heads[edge], edges.rules[edge] = node, rule
    copy_to(edges.probabilities[edge], 0, evaluated.probabilities[place])
    for k in range(tails.shape[0]):
        rank = queue.rows[entry, RANKS + k]
        edges.tails[used[TAILS]] = nodes.order[first[tails[k]] + rank]
        used[TAILS] += 1
    used[EDGES] += 1
    edges.tail_start[used[EDGES]] = used[TAILS]


@kernel
def _push_successors(
    entry: int,
    tails: Ids,
    guess: float,
    value: float,
    first: Ints,
    nodes: Nodes,
    queue: Queue,
    seen: Ids,
    used: Ints,
) -> None:
    """Let those wait that have the next best node in one of an entry's tails.

    They are estimated by the rule alone, ``guess``, and by the language models' opinion of the
    entry, ``value``, which may not be that of its successor: the better one counts.
    """
    total = guess
    for k in range(tails.shape[0]):
        total += nodes.scores[nodes.order[first[tails[k]] + queue.rows[entry, RANKS + k]]]
    for k in range(tails.shape[0]):
        place = first[tails[k]] + queue.rows[entry, RANKS + k]
        if place + 1 >= first[tails[k] + 1]:
            continue
        row = queue.rows[used[ENTRIES]]
        copy_to(row, 0, queue.rows[entry])
        row[RANKS + k] += 1
        row[PLACE] = NONE
        if tails.shape[0] == 1 or is_new(queue.rows, used[ENTRIES], seen):
            step = nodes.scores[nodes.order[place + 1]] - nodes.scores[nodes.order[place]]
            _wait(max(total, value) + step, queue, used)


@kernel
def _chart_of(
    nodes: Nodes,
    edges: Edges,
    used: Ints,
    first: int,
    models: ModelArrays,
    model_weights: Floats,
    has_ends: bool,
) -> Chart:
    """Make a chart, with a goal above the nodes of the whole sentence, from the first on."""
    goal, count = used[NODES], used[EDGES]
    all_edges = count + goal - first
    heads, rules = np.full(all_edges, goal, np.int32), np.full(all_edges, GOAL, np.int32)
    copy_to(heads, 0, edges.heads[:count])
    copy_to(rules, 0, edges.rules[:count])
    tail_start = np.empty(all_edges + 1, np.int64)
    copy_to(tail_start, 0, edges.tail_start[: count + 1])
    for e in range(count, all_edges):
        tail_start[e + 1] = tail_start[e] + 1
    tails = np.empty(tail_start[all_edges], np.int32)
    copy_to(tails, 0, edges.tails[: used[TAILS]])
    copy_to(tails, used[TAILS], nodes.order[first:goal])
    probabilities = np.zeros((all_edges, model_weights.shape[0]))
    copy_rows(probabilities, 0, edges.probabilities[:count])
    chart = Chart(
        grown(nodes.vertices, goal + 1)[: goal + 1].copy(),
        grown_floats(nodes.scores, goal + 1)[: goal + 1].copy(),
        grown(nodes.best, goal + 1)[: goal + 1].copy(),
        heads,
        rules,
        tail_start,
        tails,
        probabilities,
    )
    chart.vertices[goal] = chart.vertices[goal - 1]
    chart.scores[goal], chart.best[goal] = -np.inf, count
    context = longest_context(models)
    width = 3 + 2 * context
    ints, floats = np.zeros(width, np.int32), np.zeros(context, np.float32)
    for e in range(count, all_edges):
        node = chart.tails[chart.tail_start[e]]
        score = chart.scores[node]
        if has_ends:
            for m in range(model_weights.shape[0]):
                begin(models, m, ints, floats)
                state = nodes.ints[node, m * width : (m + 1) * width]
                own_floats = nodes.floats[node, m * context : (m + 1) * context]
                total = add_phrase(models, m, state, own_floats, ints, floats)
                total += add_word(models, m, models.ends[m], ints, floats)
                chart.probabilities[e, m] = total
                score += model_weights[m] * total
        if score > chart.scores[goal]:
            chart.scores[goal], chart.best[goal] = score, e
    return chart


@kernel
def _negative(values: Floats) -> Floats:
    negative = np.empty(values.shape[0])
    for i in range(values.shape[0]):
        negative[i] = -values[i]
    return negative


@kernel
def _rank_rules(option_start: Ints, guesses: Floats) -> Ids:
    """Return the rules of each option, those first that are expected to be best."""
    ranked = np.empty(guesses.shape[0], np.int32)
    for o in range(option_start.shape[0] - 1):
        lo, hi = option_start[o], option_start[o + 1]
        if hi - lo == 1:
            ranked[lo] = lo
            continue
        by_guess = argsort(_negative(guesses[lo:hi]))
        for k in range(hi - lo):
            ranked[lo + k] = lo + by_guess[k]
    return ranked


@kernel
def _greatest_arity(parse: Parse) -> int:
    greatest = 0
    for b in range(parse.bundle_options.shape[0]):
        greatest = max(greatest, parse.tail_start[b + 1] - parse.tail_start[b])
    return greatest


@kernel
def _no_nodes(count: int, context: int) -> Nodes:
    return Nodes(
        np.empty(0, np.int32),
        np.empty(0),
        np.empty(0, np.int32),
        np.empty((0, count * (3 + 2 * context)), np.int32),
        np.empty((0, count * context), np.float32),
        np.empty(0, np.int32),
    )


@kernel
def _more_nodes(nodes: Nodes, room: int) -> Nodes:
    """Return nodes with room for more."""
    ints = np.empty((room, nodes.ints.shape[1]), np.int32)
    floats = np.empty((room, nodes.floats.shape[1]), np.float32)
    copy_rows(ints, 0, nodes.ints)
    copy_rows(floats, 0, nodes.floats)
    return Nodes(
        grown(nodes.vertices, room),
        grown_floats(nodes.scores, room),
        grown(nodes.best, room),
        ints,
        floats,
        grown(nodes.order, room),
    )


@kernel
def _no_edges(count: int) -> Edges:
    none = np.empty(0, np.int32)
    return Edges(none, none, np.zeros(1, np.int64), none, np.empty((0, count)))


@kernel
def _more_edges(edges: Edges, room: int, tails: int) -> Edges:
    """Return hyperedges with room for at least ``room``, and for ``tails`` tails."""
    before = edges.probabilities.shape[0]
    probabilities = np.empty((max(room, before), edges.probabilities.shape[1]))
    copy_rows(probabilities, 0, edges.probabilities)
    return Edges(
        grown(edges.heads, room),
        grown(edges.rules, room),
        grown_offsets(edges.tail_start, room + 1),
        grown(edges.tails, tails),
        probabilities,
    )


@kernel
def _with_room(edges: Edges, room: int, tails: int) -> Edges:
    if room <= edges.probabilities.shape[0] and tails <= edges.tails.shape[0]:
        return edges
    return _more_edges(edges, 2 * room, 2 * tails)


@kernel
def _node_of(state: Ids, ints: Ids, table: Ids) -> tuple[int, int]:
    """Return the node of a state, or -1, and its place in the table."""
    mask = np.uint64(table.shape[0] - 1)
    at = row_hash(state) & mask
    while table[at] != NONE:
        if same_rows(ints[table[at]], state):
            return table[at], int(at)
        at = (at + np.uint64(1)) & mask
    return NONE, int(at)


@kernel
def _with_nodes(ints: Ids, first_node: int, end: int, size: int) -> Ids:
    """Return a larger table of the nodes of a vertex."""
    table = np.full(size, NONE, np.int32)
    for node in range(first_node, end):
        _, at = _node_of(ints[node], ints, table)
        table[at] = node
    return table


@kernel
def _with_seen(rows: Ids, count: int, room: int) -> Ids:
    """Return a larger hash table of entries in the queue, with room for ``room``."""
    size = 512
    while size < 4 * room:
        size *= 2
    table = np.full(size, NONE, np.int32)
    for entry in range(count):
        is_new(rows, entry, table)
    return table
