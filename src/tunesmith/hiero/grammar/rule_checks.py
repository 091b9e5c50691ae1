"""What is checked of every grammar before a kernel sees it, wherever it comes from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Ids, Ints, Number
from tunesmith.hiero.tables import GrammarArrays
from tunesmith.kernels import kernel

#: The most nonterminals of a rule.
MOST_NONTERMINALS = 255

# What can be wrong: of the trie, which no text can cause, and of rules.
FINE, BAD_TRIE = 0, 1
EMPTY_SOURCE, MANY_NONTERMINALS, BAD_HEAD, BAD_WORD, ONE_SIDED, LINKED_TWICE = (
    10,
    11,
    12,
    13,
    14,
    15,
)
BAD_FEATURE, FEATURE_TWICE, NOT_FINITE, BAD_LINK, SELF_LOOP = 16, 17, 18, 19, 20

#: Problem and remedy of each fault of a rule.
FAULTS = {
    EMPTY_SOURCE: ("the source side is empty", "write at least one word there"),
    MANY_NONTERMINALS: (
        f"it has more than {MOST_NONTERMINALS} nonterminals",
        "leave the rule out",
    ),
    BAD_HEAD: ("it makes a category that is not there", "make the grammar again"),
    BAD_WORD: ("it has a word that is not there", "make the grammar again"),
    ONE_SIDED: (
        "a nonterminal is on one side only",
        "link every nonterminal of the source side to one of the target side, as in [X,1] and [1]",
    ),
    LINKED_TWICE: (
        "two nonterminals of the target side have the same index",
        "give each index once",
    ),
    BAD_FEATURE: ("it has a feature that is not there", "make the grammar again"),
    FEATURE_TWICE: ("a feature is given twice", "give it once"),
    NOT_FINITE: ("a feature value is not finite", "give a finite number"),
    BAD_LINK: (
        "an alignment point is beyond the rule's symbols",
        "count symbols from 0, nonterminals included",
    ),
    SELF_LOOP: (
        "the source side is one nonterminal of the category that the rule makes",
        "leave the rule out, it would be used without end",
    ),
}


@kernel
def trie_fault(
    arrays: GrammarArrays, words: int, categories: int, depths: Ints, arities: Ints
) -> int:
    """Return whether a trie is one, and fill in the symbols and nonterminals above each node.

    Offsets are as long as they should be, and within their arrays, see :func:`offsets_fault`.
    """
    size = arrays.parents.shape[0]
    roots = 0
    for node in range(size):
        parent, symbol = np.int64(arrays.parents[node]), np.int64(arrays.symbols[node])
        if parent < 0:
            roots += 1
            depths[node] = arities[node] = 0
            continue
        # Parents come first, so that no walk to a root is endless.
        if parent >= node or symbol >= words or symbol < -categories:
            return BAD_TRIE
        depths[node] = depths[parent] + 1
        arities[node] = arities[parent] + (symbol < 0)
    if roots != arrays.roots.shape[0] or arrays.limits.shape[0] != roots:
        return BAD_TRIE
    for root in arrays.roots:
        if root < 0 or root >= size or arrays.parents[root] >= 0:
            return BAD_TRIE
    for node in range(size):
        for k in range(arrays.child_start[node], arrays.child_start[node + 1]):
            child = np.int64(arrays.child_nodes[k])
            if child < 0 or child >= size or arrays.parents[child] != node:
                return BAD_TRIE
            if arrays.symbols[child] != arrays.child_symbols[k]:
                return BAD_TRIE
            if (
                k > arrays.child_start[node]
                and arrays.child_symbols[k - 1] >= arrays.child_symbols[k]
            ):
                return BAD_TRIE
    return FINE if arrays.child_nodes.shape[0] + roots == size else BAD_TRIE


@kernel
def first_fault(
    arrays: GrammarArrays,
    words: int,
    categories: int,
    names: int,
    depths: Ints,
    arities: Ints,
) -> tuple[Number, Number]:
    """Return the first rule that is wrong, and what is; -1 where none is."""
    seen = np.full(MOST_NONTERMINALS + 1, -1, np.int64)
    for node in range(arrays.parents.shape[0]):
        first, last = arrays.rule_start[node], arrays.rule_start[node + 1]
        if first == last:
            continue
        if depths[node] == 0:
            return first, EMPTY_SOURCE
        if arities[node] > MOST_NONTERMINALS:
            return first, MANY_NONTERMINALS
        for rule in range(first, last):
            if arrays.heads[rule] < 0 or arrays.heads[rule] >= categories:
                return rule, BAD_HEAD
            if depths[node] == 1 and arrays.symbols[node] == -1 - arrays.heads[rule]:
                return rule, SELF_LOOP
            target = arrays.targets[arrays.target_start[rule] : arrays.target_start[rule + 1]]
            fault = _target_fault(target, words, arities[node], rule, seen)
            if fault == FINE:
                fault = _features_fault(arrays, rule, names)
            if fault == FINE:
                fault = _links_fault(arrays, rule, node, depths[node])
            if fault != FINE:
                return rule, fault
    return -1, FINE


@kernel
def _target_fault(target: Ids, words: int, arity: int, rule: int, seen: Ints) -> int:
    linked = 0
    for symbol in target:
        if symbol >= words:
            return BAD_WORD
        if symbol < 0:
            if -symbol > arity:
                return ONE_SIDED
            if seen[-symbol] == rule:
                return LINKED_TWICE
            seen[-symbol] = rule
            linked += 1
    return FINE if linked == arity else ONE_SIDED


@kernel
def _features_fault(arrays: GrammarArrays, rule: int, names: int) -> int:
    before: Number = -1
    for k in range(arrays.feature_start[rule], arrays.feature_start[rule + 1]):
        name = np.int64(arrays.feature_ids[k])
        if name < 0 or name >= names:
            return BAD_FEATURE
        if name <= before:
            return FEATURE_TWICE
        if not np.isfinite(arrays.feature_values[k]):
            return NOT_FINITE
        before = name
    return FINE


@kernel
def _links_fault(arrays: GrammarArrays, rule: int, node: int, depth: int) -> int:
    first = arrays.target_start[rule]
    for k in range(arrays.link_start[rule], arrays.link_start[rule + 1]):
        i, j = np.int64(arrays.links[k, 0]), np.int64(arrays.links[k, 1])
        if i < 0 or i >= depth or j < 0 or j >= arrays.target_start[rule + 1] - first:
            return BAD_LINK
        above: Number = node
        for _ in range(depth - 1 - i):
            above = np.int64(arrays.parents[above])
        if arrays.symbols[above] < 0 or arrays.targets[first + j] < 0:
            return BAD_LINK
    return FINE


def offsets_fault(arrays: GrammarArrays) -> str:
    """Return the name of an array whose size or offsets cannot be, or nothing."""
    nodes, rules = len(arrays.parents), len(arrays.heads)
    if arrays.symbols.shape != (nodes,):
        return "symbols"
    if arrays.links.ndim != 2 or arrays.links.shape[1] != 2:
        return "links"
    for name, rows, last in (
        ("child_start", nodes, len(arrays.child_nodes)),
        ("child_start", nodes, len(arrays.child_symbols)),
        ("rule_start", nodes, rules),
        ("target_start", rules, len(arrays.targets)),
        ("feature_start", rules, len(arrays.feature_ids)),
        ("feature_start", rules, len(arrays.feature_values)),
        ("link_start", rules, len(arrays.links)),
    ):
        start = getattr(arrays, name)
        if start.shape != (rows + 1,) or start[0] != 0 or start[-1] != last:
            return name
        if (start[1:] < start[:-1]).any():
            return name
    return ""


def unary_circle(arrays: GrammarArrays) -> list[tuple[int, int]]:
    """Return rules over one nonterminal each that lead back to where they began, or none.

    Returns
    -------
        Rules, and the categories that each makes, in the order of the circle.
    """
    steps: dict[int, dict[int, int]] = {}
    for node in np.flatnonzero((arrays.symbols < 0) & np.isin(arrays.parents, arrays.roots)):
        for rule in range(int(arrays.rule_start[node]), int(arrays.rule_start[node + 1])):
            below = -1 - int(arrays.symbols[node])
            steps.setdefault(below, {}).setdefault(int(arrays.heads[rule]), rule)
    done: set[int] = set()
    for category in steps:
        circle = _circle(category, steps, done)
        if circle:
            return circle
    return []


def _circle(
    category: int, steps: dict[int, dict[int, int]], done: set[int]
) -> list[tuple[int, int]]:
    """Search from one category, without recursion: there may be thousands of categories."""
    path: list[tuple[int, int]] = []
    on_path = {category: 0}
    waiting: list[Sequence[tuple[int, int]]] = [list(steps.get(category, {}).items())]
    places = [category]
    while waiting:
        if not waiting[-1]:
            waiting.pop()
            done.add(places[-1])
            del on_path[places.pop()]
            if path:
                path.pop()
            continue
        (head, rule), *rest = waiting[-1]
        waiting[-1] = rest
        if head in on_path:
            return [*path[on_path[head] :], (rule, head)]
        if head in done:
            continue
        path.append((rule, head))
        on_path[head] = len(path)
        places.append(head)
        waiting.append(list(steps.get(head, {}).items()))
    return []
