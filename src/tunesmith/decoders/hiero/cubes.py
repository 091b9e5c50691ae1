"""Cube pruning: the best derivations of each vertex, language models included.

Huang and Chiang, "Forest rescoring: faster decoding with integrated language models" (ACL 2007);
Chiang (Computational Linguistics 33, 2007), section 5.3. What waits in a queue has an estimate
until it comes to its front; only then language models are asked, and it waits again with what it
is worth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Number
from tunesmith.bits import STEP, spread_bits
from tunesmith.decoders.hiero.lm_states import add_phrase, add_word, begin, clear
from tunesmith.decoders.hiero.parse import Parse
from tunesmith.decoders.hiero.sentence_rules import SentenceRules
from tunesmith.decoders.hiero.tables import ModelArrays, Singles
from tunesmith.inference.derivations import grown, grown_floats, grown_offsets
from tunesmith.kernels import inlined, kernel

# Columns of what waits: its bundle, the rank of its rule among those of its option, where its
# evaluation is (-1 before it has one); then a rank for each tail.
BUNDLE, RULE, PLACE, RANKS = range(4)
NONE = -1
#: As a rule of a hyperedge: the goal's, which says what its tail says.
GOAL = -1


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


@kernel
def searched(
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
    context = models.orders.max() - 1 if count else 0
    width = 3 + 2 * context
    limit = pop_limit if pop_limit > 0 else 1 << 62
    few = option_limit if option_limit > 0 else 1 << 62
    guesses = rule_scores.copy()
    for m in range(count):
        guesses += model_weights[m] * rules.estimates[:, m]
    ranked = _ranked(rules.option_start, guesses)
    arity = _greatest_arity(parse)
    # Nodes and hyperedges as they are found.
    nodes = edges = tail_count = 0
    vertices, best = np.empty(1024, np.int32), np.empty(1024, np.int32)
    scores = np.empty(1024)
    ints, floats = np.empty((1024, count * width), np.int32), np.empty((1024, count * context), np.float32)  # fmt: skip # noqa: E501
    heads, edge_rules = np.empty(1024, np.int32), np.empty(1024, np.int32)
    tail_start, tails = np.zeros(1025, np.int64), np.empty(1024, np.int32)
    probabilities = np.empty((1024, count))
    # The nodes of a vertex, best first.
    first = np.zeros(parse.goal + 2, np.int64)
    order = np.empty(1024, np.int32)
    # What waits, and evaluations of it.
    entries, priorities = np.empty((256, RANKS + arity), np.int32), np.empty(256)
    heap = np.empty(256, np.int32)
    ints_of, floats_of = np.empty((256, count * width), np.int32), np.empty((256, count * context), np.float32)  # fmt: skip # noqa: E501
    values_of, probabilities_of = np.empty(256), np.empty((256, count))
    seen, found = np.full(512, NONE, np.int32), np.full(512, NONE, np.int32)
    for v in range(parse.goal + 1):
        first[v] = nodes
        first[v + 1] = nodes
        if not parse.needed[v]:
            continue
        waiting = entered = evaluated = pops = 0
        seen[:] = NONE
        found[:] = NONE
        for b in range(parse.bundle_start[v], parse.bundle_start[v + 1]):
            guess = guesses[ranked[rules.option_start[parse.bundle_options[b]]]]
            for k in range(parse.tail_start[b], parse.tail_start[b + 1]):
                guess += scores[order[first[parse.tails[k]]]]
            entries, priorities = _rows(entries, entered + 1), grown_floats(priorities, entered + 1)
            entries[entered, BUNDLE] = b
            entries[entered, RULE] = 0
            entries[entered, PLACE] = NONE
            entries[entered, RANKS:] = 0
            priorities[entered] = guess
            heap = grown(heap, waiting + 1)
            waiting = _push(heap, priorities, waiting, entered)
            entered += 1
        while waiting > 0 and pops < limit:
            entry, waiting = _pop(heap, priorities, waiting)
            b = entries[entry, BUNDLE]
            option = parse.bundle_options[b]
            lo, hi = parse.tail_start[b], parse.tail_start[b + 1]
            rule = ranked[rules.option_start[option] + entries[entry, RULE]]
            if entries[entry, PLACE] == NONE:
                ints_of, floats_of = _rows(ints_of, evaluated + 1), _rows(floats_of, evaluated + 1)
                values_of = grown_floats(values_of, evaluated + 1)
                probabilities_of = _rows(probabilities_of, evaluated + 1)
                value = rule_scores[rule] + _asked(
                    models,
                    rules.target_words[:, rules.target_start[rule] : rules.target_start[rule + 1]],
                    parse.tails[lo:hi],
                    entries[entry, RANKS:],
                    first,
                    order,
                    ints,
                    floats,
                    model_weights,
                    ints_of[evaluated],
                    floats_of[evaluated],
                    probabilities_of[evaluated],
                )
                plain = True
                for k in range(lo, hi):
                    rank = entries[entry, RANKS + k - lo]
                    value += scores[order[first[parse.tails[k]] + rank]]
                    plain = plain and rank == 0
                entries[entry, PLACE] = evaluated
                values_of[evaluated] = value
                # What it was estimated at may be kept: successors are estimated from both.
                guess = priorities[entry]
                priorities[entry] = value
                waiting = _push(heap, priorities, waiting, entry)
                evaluated += 1
                after = rules.option_start[option] + entries[entry, RULE] + 1
                begun = rules.option_start[option]
                if plain and after < min(rules.option_start[option + 1], begun + few):
                    entries = _rows(entries, entered + 1)
                    priorities = grown_floats(priorities, entered + 1)
                    entries[entered] = entries[entry]
                    entries[entered, RULE] += 1
                    entries[entered, PLACE] = NONE
                    priorities[entered] = guess - guesses[rule] + guesses[ranked[after]]
                    heap = grown(heap, waiting + 1)
                    waiting = _push(heap, priorities, waiting, entered)
                    entered += 1
                continue
            pops += 1
            place = entries[entry, PLACE]
            value = values_of[place]
            node, slot = _node_of(ints_of[place], ints, first[v], found)
            if node == NONE:
                node = nodes
                vertices, best = grown(vertices, node + 1), grown(best, node + 1)
                scores = grown_floats(scores, node + 1)
                ints, floats = _rows(ints, node + 1), _rows(floats, node + 1)
                vertices[node], best[node], scores[node] = v, edges, value
                ints[node], floats[node] = ints_of[place], floats_of[place]
                found[slot] = node
                nodes += 1
                if 2 * (nodes - first[v]) > found.shape[0]:
                    found = _with_nodes(ints, first[v], nodes, 4 * found.shape[0])
            elif value > scores[node]:
                scores[node], best[node] = value, edges
            heads, edge_rules = grown(heads, edges + 1), grown(edge_rules, edges + 1)
            probabilities = _rows(probabilities, edges + 1)
            tail_start = grown_offsets(tail_start, edges + 2)
            tails = grown(tails, tail_count + hi - lo)
            heads[edges], edge_rules[edges] = node, rule
            probabilities[edges] = probabilities_of[place]
            for k in range(lo, hi):
                tails[tail_count] = order[first[parse.tails[k]] + entries[entry, RANKS + k - lo]]
                tail_count += 1
            edges += 1
            tail_start[edges] = tail_count
            for k in range(lo, hi):
                column = RANKS + k - lo
                begun = first[parse.tails[k]]
                rank = entries[entry, column]
                if begun + rank + 1 >= first[parse.tails[k] + 1]:
                    continue
                entries, priorities = _rows(entries, entered + 1), grown_floats(priorities, entered + 1)  # fmt: skip # noqa: E501
                entries[entered] = entries[entry]
                entries[entered, column] += 1
                entries[entered, PLACE] = NONE
                if hi - lo > 1:
                    if 2 * entered > seen.shape[0]:
                        seen = _with_entries(entries, entered, 4 * seen.shape[0])
                    if not _is_new(entries, entered, seen):
                        continue
                # The language model's opinion of the one before may not be that of this one.
                guess = guesses[rule]
                for t in range(lo, hi):
                    guess += scores[order[first[parse.tails[t]] + entries[entered, RANKS + t - lo]]]
                step = scores[order[begun + rank + 1]] - scores[order[begun + rank]]
                priorities[entered] = max(guess, value + step)
                heap = grown(heap, waiting + 1)
                waiting = _push(heap, priorities, waiting, entered)
                entered += 1
        first[v + 1] = nodes
        order = grown(order, nodes)
        by_score = np.argsort(-scores[first[v] : nodes], kind="mergesort")
        for k in range(nodes - first[v]):
            order[first[v] + k] = first[v] + by_score[k]
    last = first[parse.goal]
    chart = Chart(
        grown(vertices, nodes + 1)[: nodes + 1].copy(),
        grown_floats(scores, nodes + 1)[: nodes + 1].copy(),
        grown(best, nodes + 1)[: nodes + 1].copy(),
        np.concatenate((heads[:edges], np.full(nodes - last, nodes, np.int32))),
        np.concatenate((edge_rules[:edges], np.full(nodes - last, GOAL, np.int32))),
        np.concatenate((tail_start[: edges + 1], tail_count + 1 + np.arange(nodes - last))),
        np.concatenate((tails[:tail_count], order[last:nodes])),
        np.concatenate((probabilities[:edges], np.zeros((nodes - last, count)))),
    )
    _finish(chart, edges, models, model_weights, has_ends, ints, floats)
    return chart


@kernel
def _finish(
    chart: Chart,
    edges: int,
    models: ModelArrays,
    model_weights: Floats,
    has_ends: bool,
    ints: Ids,
    floats: Singles,
) -> None:
    """Fill in the hyperedges into the goal, and the goal."""
    goal = chart.vertices.shape[0] - 1
    chart.vertices[goal] = chart.vertices[goal - 1]
    chart.scores[goal] = -np.inf
    chart.best[goal] = edges
    count = model_weights.shape[0]
    context = models.orders.max() - 1 if count else 0
    width = 3 + 2 * context
    state, backoffs = np.zeros(width, np.int32), np.zeros(context, np.float32)
    for e in range(edges, chart.heads.shape[0]):
        node = chart.tails[chart.tail_start[e]]
        score = chart.scores[node]
        if has_ends:
            for m in range(count):
                begin(models, m, state, backoffs)
                own = ints[node, m * width : (m + 1) * width]
                own_backoffs = floats[node, m * context : (m + 1) * context]
                total = add_phrase(models, m, own, own_backoffs, state, backoffs)
                total += add_word(models, m, models.ends[m], state, backoffs)
                chart.probabilities[e, m] = total
                score += model_weights[m] * total
        if score > chart.scores[goal]:
            chart.scores[goal], chart.best[goal] = score, e


@kernel
def _asked(
    models: ModelArrays,
    words: Ids,
    tails: Ids,
    ranks: Ids,
    first: Ints,
    order: Ids,
    ints: Ids,
    floats: Singles,
    model_weights: Floats,
    state: Ids,
    backoffs: Singles,
    probabilities: Floats,
) -> float:
    """Ask the language models what a rule adds to its tails, weighted; write their new states."""
    count = model_weights.shape[0]
    context = models.orders.max() - 1 if count else 0
    width = 3 + 2 * context
    value = 0.0
    for m in range(count):
        own, own_backoffs = state[m * width : (m + 1) * width], backoffs[m * context : (m + 1) * context]  # fmt: skip # noqa: E501
        clear(own, own_backoffs)
        total = 0.0
        for k in range(words.shape[1]):
            word = words[m, k]
            if word < 0:
                node = order[first[tails[-1 - word]] + ranks[-1 - word]]
                other = ints[node, m * width : (m + 1) * width]
                other_backoffs = floats[node, m * context : (m + 1) * context]
                total += add_phrase(models, m, other, other_backoffs, own, own_backoffs)
            elif word == models.begins[m]:
                begin(models, m, own, own_backoffs)
            else:
                total += add_word(models, m, word, own, own_backoffs)
        probabilities[m] = total
        value += model_weights[m] * total
    return value


@kernel
def _ranked(option_start: Ints, guesses: Floats) -> Ids:
    """Return the rules of each option, those first that are expected to be best."""
    ranked = np.empty(guesses.shape[0], np.int32)
    for o in range(option_start.shape[0] - 1):
        lo, hi = option_start[o], option_start[o + 1]
        if hi - lo == 1:
            ranked[lo] = lo
            continue
        by_guess = np.argsort(-guesses[lo:hi], kind="mergesort")
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
def _rows(rows: Number, room: int) -> Number:
    """Return rows with room for so many, twice as many where there have to be more."""
    if room <= rows.shape[0]:
        return rows
    larger = np.empty((max(room, 2 * rows.shape[0]), rows.shape[1]), rows.dtype)
    larger[: rows.shape[0]] = rows
    return larger


@inlined
def _goes_before(one: Number, other: Number, priorities: Number) -> Number:
    """Whether an entry comes first: by priority, then as they were made."""
    return priorities[one] > priorities[other] or (
        priorities[one] == priorities[other] and one < other
    )


@kernel
def _push(heap: Ids, priorities: Floats, size: int, entry: int) -> int:
    """Add an entry to a binary heap, which has room for it; return its new size."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if not _goes_before(entry, heap[above], priorities):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = entry
    return size + 1


@kernel
def _pop(heap: Ids, priorities: Floats, size: int) -> tuple[int, int]:
    """Take the first entry out of a heap; return it, and the new size."""
    top = heap[0]
    size -= 1
    moved = heap[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _goes_before(heap[below + 1], heap[below], priorities):
            below += 1
        if not _goes_before(heap[below], moved, priorities):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = moved
    return top, size


@kernel
def _hash(row: Ids) -> Number:
    total = np.uint64(row.shape[0])
    for value in row:
        total = spread_bits(total ^ np.uint64(value)) + STEP
    return total


@kernel
def _same(one: Ids, other: Ids) -> bool:
    k = 0
    while k < one.shape[0] and one[k] == other[k]:
        k += 1
    return k == one.shape[0]


@kernel
def _node_of(state: Ids, ints: Ids, begun: int, table: Ids) -> tuple[int, int]:
    """Return the node of a state, or -1, and its place in the table."""
    mask = np.uint64(table.shape[0] - 1)
    at = _hash(state) & mask
    while table[at] != NONE:
        if _same(ints[table[at]], state):
            return table[at], int(at)
        at = (at + np.uint64(1)) & mask
    return NONE, int(at)


@kernel
def _with_nodes(ints: Ids, begun: int, end: int, size: int) -> Ids:
    """Return a larger table of the nodes of a vertex."""
    table = np.full(size, NONE, np.int32)
    for node in range(begun, end):
        _, at = _node_of(ints[node], ints, begun, table)
        table[at] = node
    return table


@kernel
def _is_new(entries: Ids, entry: int, table: Ids) -> bool:
    """Enter a row into the table of those that were met; whether it was not there."""
    mask = np.uint64(table.shape[0] - 1)
    place = entries[entry, PLACE]
    entries[entry, PLACE] = 0
    at = _hash(entries[entry]) & mask
    entries[entry, PLACE] = place
    while table[at] != NONE:
        other = entries[table[at]]
        same = other[BUNDLE] == entries[entry, BUNDLE] and other[RULE] == entries[entry, RULE]
        if same and _same(other[RANKS:], entries[entry, RANKS:]):
            return False
        at = (at + np.uint64(1)) & mask
    table[at] = entry
    return True


@kernel
def _with_entries(entries: Ids, count: int, size: int) -> Ids:
    """Return a larger table of what was met."""
    table = np.full(size, NONE, np.int32)
    for entry in range(count):
        _is_new(entries, entry, table)
    return table
