"""What the search has found of a sentence: its best derivation, or all as a forest."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Number
from tunesmith.data.forests import ForestArrays
from tunesmith.hiero.chart.cubes import GOAL, Chart
from tunesmith.hiero.chart.parse import Parse
from tunesmith.hiero.chart.sentence_rules import SentenceRules
from tunesmith.hiero.lm.states import add_word, begin, longest_context
from tunesmith.hiero.tables import ModelArrays
from tunesmith.kernels import kernel


@kernel
def chart_forest(
    chart: Chart, parse: Parse, rules: SentenceRules, best_only: bool, hidden: Ids
) -> ForestArrays:
    """Return the forest of one sentence: what the goal is made of, or its best derivation alone.

    The features of a hyperedge are what each language model adds, with the ids 0 to M - 1, and
    then those of its rule. ``hidden`` words are not in it.
    """
    nodes = chart.vertices.shape[0]
    start, by_head, number, kept_edges = _in_forest(chart, best_only)
    used_nodes = 0
    for n in range(nodes):
        used_nodes = max(used_nodes, number[n] + 1)
    all_tails, all_features, all_words = 0, 0, 0
    for e in by_head:
        if number[chart.heads[e]] >= 0:
            arity, features, size = _sizes(chart, rules, e)
            all_tails += arity
            all_features += features
            all_words += size
    edge_start = np.zeros(used_nodes + 1, np.int64)
    tail_start, tails = np.zeros(kept_edges + 1, np.int64), np.empty(all_tails, np.int32)
    feature_start = np.zeros(kept_edges + 1, np.int64)
    ids, values = np.empty(all_features, np.int32), np.empty(all_features)
    word_start, words = np.zeros(kept_edges + 1, np.int64), np.empty(all_words, np.int32)
    covered = np.empty(used_nodes, np.int32)
    at = 0
    for n in range(nodes):
        if number[n] < 0:
            continue
        vertex = chart.vertices[n]
        covered[number[n]] = parse.ends[vertex] - parse.begins[vertex] if vertex >= 0 else 0
        for k in range(start[n], start[n + 1]):
            e = by_head[k]
            end = tail_start[at]
            for t in range(chart.tail_start[e], chart.tail_start[e + 1]):
                tails[end] = number[chart.tails[t]]
                end += 1
            tail_start[at + 1] = end
            feature_start[at + 1] = _write_features(chart, rules, e, feature_start[at], ids, values)
            word_start[at + 1] = _write_words(chart, rules, e, word_start[at], words, hidden)
            at += 1
        edge_start[number[n] + 1] = at
    node_start = np.zeros(2, np.int64)
    node_start[1] = used_nodes
    return ForestArrays(
        node_start,
        edge_start,
        tail_start,
        tails,
        feature_start,
        ids[: feature_start[kept_edges]].copy(),
        values[: feature_start[kept_edges]].copy(),
        word_start,
        words[: word_start[kept_edges]].copy(),
        covered,
        np.zeros((kept_edges, 0)),
    )


@kernel
def forest_edges(chart: Chart, best_only: bool) -> Ids:
    """Return the hyperedges of the chart that the forest has, in its order."""
    start, by_head, number, kept_edges = _in_forest(chart, best_only)
    edges = np.empty(kept_edges, np.int32)
    at = 0
    for n in range(number.shape[0]):
        if number[n] >= 0:
            for k in range(start[n], start[n + 1]):
                edges[at] = by_head[k]
                at += 1
    return edges


@kernel
def _in_forest(chart: Chart, best_only: bool) -> tuple[Ints, Ints, Ids, int]:
    """Return what ``_by_head`` does, each node's number in the forest or -1, and its hyperedges."""
    nodes = chart.vertices.shape[0]
    start, by_head = _by_head(chart, best_only)
    number = np.full(nodes, -1, np.int32)
    number[nodes - 1] = 0
    kept_edges = 0
    for n in range(nodes - 1, -1, -1):
        if number[n] < 0:
            continue
        for k in range(start[n], start[n + 1]):
            kept_edges += 1
            e = by_head[k]
            for t in range(chart.tail_start[e], chart.tail_start[e + 1]):
                number[chart.tails[t]] = 0
    used_nodes = 0
    for n in range(nodes):
        if number[n] == 0:
            number[n] = used_nodes
            used_nodes += 1
    return start, by_head, number, kept_edges


@kernel
def _by_head(chart: Chart, best_only: bool) -> tuple[Ints, Ints]:
    """Return where the hyperedges of each node begin, and all of them, by node, as found."""
    nodes, edges = chart.vertices.shape[0], chart.heads.shape[0]
    start = np.zeros(nodes + 1, np.int64)
    if best_only:
        return np.arange(nodes + 1), chart.best.astype(np.int64)
    for head in chart.heads:
        start[head + 1] += 1
    for n in range(nodes):
        start[n + 1] += start[n]
    at, by_head = start[:-1].copy(), np.empty(edges, np.int64)
    for e in range(edges):
        head = chart.heads[e]
        by_head[at[head]] = e
        at[head] += 1
    return start, by_head


@kernel
def _sizes(chart: Chart, rules: SentenceRules, e: int) -> tuple[Number, Number, Number]:
    """Return how many tails, features and words a hyperedge has at most."""
    tails = chart.tail_start[e + 1] - chart.tail_start[e]
    features, words = chart.probabilities.shape[1], tails
    rule = chart.rules[e]
    if rule != GOAL:
        features += rules.feature_start[rule + 1] - rules.feature_start[rule]
        words = rules.target_start[rule + 1] - rules.target_start[rule]
    return tails, features, words


@kernel
def _write_features(
    chart: Chart, rules: SentenceRules, e: int, end: int, ids: Ids, values: Floats
) -> int:
    for m in range(chart.probabilities.shape[1]):
        if chart.probabilities[e, m] != 0.0:
            ids[end], values[end] = m, chart.probabilities[e, m]
            end += 1
    rule = chart.rules[e]
    if rule != GOAL:
        for k in range(rules.feature_start[rule], rules.feature_start[rule + 1]):
            if rules.feature_values[k] != 0.0:
                ids[end], values[end] = rules.feature_ids[k], rules.feature_values[k]
                end += 1
    return end


@kernel
def _write_words(
    chart: Chart, rules: SentenceRules, e: int, end: int, words: Ids, hidden: Ids
) -> int:
    rule = chart.rules[e]
    if rule == GOAL:
        if chart.tail_start[e + 1] > chart.tail_start[e]:
            words[end] = -1
            end += 1
        return end
    for k in range(rules.target_start[rule], rules.target_start[rule + 1]):
        symbol = rules.targets[k]
        is_hidden = False
        for word in hidden:
            is_hidden = is_hidden or symbol == word
        if not is_hidden:
            words[end] = symbol
            end += 1
    return end


@kernel
def chart_of_nothing(models: ModelArrays, model_weights: Floats, has_ends: bool) -> Chart:
    """Return the chart of a sentence without words: it becomes one without words."""
    count = model_weights.shape[0]
    context = longest_context(models)
    state, backoffs = np.zeros(3 + 2 * context, np.int32), np.zeros(context, np.float32)
    probabilities = np.zeros((1, count))
    score = 0.0
    if has_ends:
        for m in range(count):
            begin(models, m, state, backoffs)
            probabilities[0, m] = add_word(models, m, models.ends[m], state, backoffs)
            score += model_weights[m] * probabilities[0, m]
    return Chart(
        np.full(1, -1, np.int32),
        np.full(1, score),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.full(1, GOAL, np.int32),
        np.zeros(2, np.int64),
        np.zeros(0, np.int32),
        probabilities,
    )
