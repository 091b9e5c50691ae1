"""The rules that apply to one sentence, as the search needs them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints, Number
from tunesmith.hiero.chart.arcs import EMPTY_PATH, ArcScores, count_scores, write_scores
from tunesmith.hiero.chart.parse import Parse
from tunesmith.hiero.lm.states import add_word, begin, clear, longest_context
from tunesmith.hiero.tables import GrammarArrays, ModelArrays
from tunesmith.inference.forests.derivations import grown, grown_floats
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to


class SentenceRules(NamedTuple):
    """The R rules of a parse's O options, with what M language models say of them.

    Attributes
    ----------
    option_start : int64[O + 1]
        The rules of each option.
    target_start : int64[R + 1], targets : int32[...]
        Target sides: ids of words, and -k for the k-th tail, from 1 on.
    target_words : int32[M, ...]
        The same words as nodes of each model; at tails as in ``targets``.
    feature_start : int64[R + 1], feature_ids : int32[...], feature_values : float64[...]
        All features that a rule has by itself, ids ascending.
    estimates : float64[R, M]
        The log10 probability of the words between the tails, without any context.
    """

    option_start: Ints
    target_start: Ints
    targets: Ids
    target_words: Ids
    feature_start: Ints
    feature_ids: Ids
    feature_values: Floats
    estimates: Floats


class OwnFeatures(NamedTuple):
    """Features that are no feature of the grammar: their ids, -1 for those that are not there.

    Attributes
    ----------
    unknown : int32[M]
        How many words a language model does not know.
    words, word_unit
        The word penalty, and what a word counts.
    rules, uncounted
        How many rules there are; those that make the category ``uncounted`` are glue, and none.
    passed, passed_values : float64[C]
        Words that are passed through, and what one counts, by the category that it becomes.
    """

    unknown: Ids
    words: int
    word_unit: float
    rules: int
    uncounted: int
    passed: int
    passed_values: Floats


class ForcedWords(NamedTuple):
    """What F forced translations say.

    Attributes
    ----------
    start : int64[F + 1], words : int32[...]
        Their words.
    logarithms : float64[F]
        Of their probabilities; 0 where none is given.
    feature
        The feature of these; -1 where there is none.
    """

    start: Ints
    words: Ids
    logarithms: Floats
    feature: int


@kernel
def rules_of(
    parse: Parse,
    grammar: GrammarArrays,
    renamed: Ids,
    word_nodes: Ids,
    strange_nodes: Ids,
    passed_words: Ids,
    drops: Flags,
    models: ModelArrays,
    own_features: OwnFeatures,
    forced: ForcedWords,
    scores: ArcScores,
) -> SentenceRules:
    """Collect the rules of all options.

    Parameters
    ----------
    parse, grammar
        Which rules they are, and the rules.
    renamed : int32[D]
        The ids that the grammar's features have here.
    word_nodes : int32[M, W], strange_nodes : int32[M, ...]
        The nodes in each model of the grammar's words, and of further words from the id W on.
    passed_words : int32[A]
        What the word of each arc becomes when it is passed through.
    drops : bool[A]
        Which of them are left out instead.
    models
        The language models.
    own_features
        Which further features rules have.
    forced
        Forced translations; their options have the nodes from -1 - A on.
    scores
        What the arcs of a rule's path add to its features.
    """
    length = passed_words.shape[0]
    options = parse.option_nodes.shape[0]
    option_start = np.zeros(options + 1, np.int64)
    for o in range(options):
        node = parse.option_nodes[o]
        fits = 1
        if node >= 0:
            fits = 0
            for rule in range(grammar.rule_start[node], grammar.rule_start[node + 1]):
                if grammar.heads[rule] == parse.option_heads[o]:
                    fits += 1
        option_start[o + 1] = option_start[o] + fits
    size = option_start[options]
    target_start, targets = np.zeros(size + 1, np.int64), np.empty(4 * size, np.int32)
    feature_start = np.zeros(size + 1, np.int64)
    ids, values = np.empty(8 * size, np.int32), np.empty(8 * size)
    r = 0
    for o in range(options):
        node = parse.option_nodes[o]
        first = grammar.rule_start[node] if node >= 0 else 0
        last = grammar.rule_start[node + 1] if node >= 0 else 1
        for rule in range(first, last):
            if node >= 0 and grammar.heads[rule] != parse.option_heads[o]:
                continue
            at, feature_count = target_start[r], feature_start[r]
            if node < -length:
                f = -1 - node - length
                lo, hi = forced.start[f], forced.start[f + 1]
                targets = grown(targets, at + hi - lo)
                copy_to(targets, at, forced.words[lo:hi])
                target_start[r + 1] = at + hi - lo
            elif node < 0:
                targets = grown(targets, at + 1)
                targets[at] = passed_words[-1 - node]
                target_start[r + 1] = at + (0 if drops[-1 - node] else 1)
            else:
                lo, hi = grammar.target_start[rule], grammar.target_start[rule + 1]
                targets = grown(targets, at + hi - lo)
                copy_to(targets, at, grammar.targets[lo:hi])
                target_start[r + 1] = at + hi - lo
            side = targets[at : target_start[r + 1]]
            lo, hi = 0, 0
            if node >= 0:
                lo, hi = grammar.feature_start[rule], grammar.feature_start[rule + 1]
            room = feature_count + hi - lo + own_features.unknown.shape[0] + 3
            path = parse.option_paths[o]
            if path != EMPTY_PATH:
                room += count_scores(parse.paths, path, scores)
            ids, values = grown(ids, room), grown_floats(values, room)
            if (
                own_features.rules >= 0
                and node >= 0
                and parse.option_heads[o] != own_features.uncounted
            ):
                ids[feature_count], values[feature_count] = own_features.rules, 1.0
                feature_count += 1
            if node < -length:
                f = -1 - node - length
                if forced.logarithms[f] != 0.0:
                    ids[feature_count], values[feature_count] = forced.feature, forced.logarithms[f]
                    feature_count += 1
            elif own_features.passed >= 0 and node < 0:
                ids[feature_count], values[feature_count] = (
                    own_features.passed,
                    own_features.passed_values[parse.option_heads[o]],
                )
                feature_count += 1
            end = _own_features(
                own_features, side, word_nodes, strange_nodes, models, ids, values, feature_count
            )
            if path != EMPTY_PATH:
                end = write_scores(parse.paths, path, scores, ids, values, end)
            for k in range(lo, hi):
                ids[end] = renamed[grammar.feature_ids[k]]
                values[end] = grammar.feature_values[k]
                end += 1
            feature_start[r + 1] = _in_order(ids, values, feature_start[r], end)
            r += 1
    count = models.orders.shape[0]
    targets = targets[: target_start[size]].copy()
    nodes = np.empty((count, targets.shape[0]), np.int32)
    for m in range(count):
        for k in range(targets.shape[0]):
            word = targets[k]
            nodes[m, k] = _node(word_nodes, strange_nodes, m, word) if word >= 0 else word
    return SentenceRules(
        option_start,
        target_start,
        targets,
        nodes,
        feature_start,
        ids[: feature_start[size]].copy(),
        values[: feature_start[size]].copy(),
        _estimates(models, target_start, nodes),
    )


@kernel
def _node(word_nodes: Ids, strange_nodes: Ids, m: int, word: int) -> Number:
    """Return the node of a word in a model."""
    known = word_nodes.shape[1]
    return word_nodes[m, word] if word < known else strange_nodes[m, word - known]


@kernel
def _own_features(
    own_features: OwnFeatures,
    side: Ids,
    word_nodes: Ids,
    strange_nodes: Ids,
    models: ModelArrays,
    ids: Ids,
    values: Floats,
    end: int,
) -> int:
    """Write the features that are not the grammar's; return where they end."""
    terminals = 0
    for symbol in side:
        terminals += 1 if symbol >= 0 else 0
    for m in range(own_features.unknown.shape[0]):
        strange = 0
        for symbol in side:
            if symbol >= 0:
                node = _node(word_nodes, strange_nodes, m, symbol)
                strange += 1 if node == models.unknowns[m] else 0
        if strange and own_features.unknown[m] >= 0:
            ids[end], values[end] = own_features.unknown[m], strange
            end += 1
    if own_features.words >= 0 and terminals:
        ids[end], values[end] = own_features.words, own_features.word_unit * terminals
        end += 1
    return end


@kernel
def _in_order(ids: Ids, values: Floats, first: int, last: int) -> int:
    """Sort features by their ids, add up those of one id; return where they end."""
    for k in range(first + 1, last):
        feature, value = ids[k], values[k]
        at = k
        while at > first and ids[at - 1] > feature:
            ids[at], values[at] = ids[at - 1], values[at - 1]
            at -= 1
        ids[at], values[at] = feature, value
    end = first
    for k in range(first, last):
        if end > first and ids[end - 1] == ids[k]:
            values[end - 1] += values[k]
        else:
            ids[end], values[end] = ids[k], values[k]
            end += 1
    return end


@kernel
def _estimates(models: ModelArrays, start: Ints, nodes: Ids) -> Floats:
    """Return what each model says of each target side's words [R, M], tails forgotten."""
    size, count = start.shape[0] - 1, models.orders.shape[0]
    estimates = np.zeros((size, count))
    width = longest_context(models)
    ints, floats = np.zeros(3 + 2 * width, np.int32), np.zeros(width, np.float32)
    for m in range(count):
        for r in range(size):
            clear(ints, floats)
            total = 0.0
            for k in range(start[r], start[r + 1]):
                word = nodes[m, k]
                if word < 0:
                    clear(ints, floats)
                elif word == models.begins[m]:
                    begin(models, m, ints, floats)
                else:
                    total += add_word(models, m, word, ints, floats)
            estimates[r, m] = total
    return estimates


@kernel
def rule_scores(rules: SentenceRules, weights: Floats) -> Floats:
    """Return w·h of each rule [R], without language models."""
    size = rules.target_start.shape[0] - 1
    scores = np.zeros(size)
    for r in range(size):
        total = 0.0
        for k in range(rules.feature_start[r], rules.feature_start[r + 1]):
            total += weights[rules.feature_ids[k]] * rules.feature_values[k]
        scores[r] = total
    return scores
