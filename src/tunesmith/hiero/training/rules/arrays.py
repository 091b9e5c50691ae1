"""From rows of rules, in the order of their source sides, to the arrays of a grammar."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.memory import own_pages
from tunesmith.hiero.grammar.rule_trie import children
from tunesmith.hiero.store import frozen
from tunesmith.hiero.tables import GrammarArrays
from tunesmith.hiero.training.rules.extract import BITS, PAD, Shape
from tunesmith.kernels import kernel

#: Features of rules: log10 of probabilities, and 1 for what was seen once.
NAMES = (
    "TargetGivenSource",
    "SourceGivenTarget",
    "LexTargetGivenSource",
    "LexSourceGivenTarget",
    "Singleton",
)


class RuleArrays:
    """The arrays of a grammar, which are filled a block of rules after the other.

    Parameters
    ----------
    rules, nodes, targets, links
        How many rules, nodes of the trie below its root, symbols of target sides and links there
        will be.
    """

    def __init__(self, rules: int, nodes: int, targets: int, links: int) -> None:
        self.parents = own_pages((nodes + 1,), np.int32)
        self.symbols = own_pages((nodes + 1,), np.int32)
        self.rule_start = own_pages((nodes + 2,), np.int64)
        self.target_start = own_pages((rules + 1,), np.int64)
        self.targets = own_pages((targets,), np.int32)
        self.feature_start = own_pages((rules + 1,), np.int64)
        self.feature_ids = own_pages((rules * len(NAMES),), np.int32)
        self.feature_values = own_pages((rules * len(NAMES),), np.float64)
        self.link_start = own_pages((rules + 1,), np.int64)
        self.links = own_pages((links, 2), np.int32)
        self.parents[0] = -1
        self.state = np.array([0, 1], np.int64)  # rules and nodes so far
        self._path = np.zeros(64, np.int32)
        self._last = np.full(64, PAD, np.int32)

    def add(self, rows: Ids, shape: Shape, scores: Floats) -> None:
        """Add rules that come after those that are there."""
        first = int(self.state[0])
        _add_nodes(
            rows,
            shape,
            self._last,
            self._path,
            self.parents,
            self.symbols,
            self.rule_start,
            self.state,
        )
        _add_rules(
            rows,
            shape,
            scores,
            first,
            self.target_start,
            self.targets,
            self.feature_start,
            self.feature_ids,
            self.feature_values,
            self.link_start,
            self.links,
        )

    def frozen(self, limit: int) -> GrammarArrays:
        """Return the arrays, when all rules are there."""
        rules = int(self.state[0])
        self.rule_start[1:] = np.cumsum(self.rule_start[1:])
        features = int(self.feature_start[rules])
        arrays = GrammarArrays(
            roots=np.zeros(1, np.int32),
            limits=np.array([limit], np.int32),
            **children(self.parents, self.symbols),
            parents=self.parents,
            symbols=self.symbols,
            rule_start=self.rule_start,
            heads=np.zeros(rules, np.int32),
            target_start=self.target_start,
            targets=self.targets,
            feature_start=self.feature_start,
            feature_ids=self.feature_ids[:features],
            feature_values=self.feature_values[:features],
            link_start=self.link_start,
            links=self.links,
        )
        return GrammarArrays(*(frozen(array) for array in arrays))


@kernel
def sizes_of(rows: Ids, shape: Shape, last: Ids, sizes: Ints) -> None:
    """Count the nodes, the symbols of target sides and the links that rules need."""
    before = last
    for rule in range(rows.shape[0]):
        row = rows[rule]
        agrees = True
        for k in range(shape.source):
            agrees &= row[k] == before[k]
            sizes[0] += not agrees and row[k] != PAD
        for k in range(shape.source, shape.source + shape.target):
            sizes[1] += row[k] != PAD
        for k in range(shape.source + shape.target, row.shape[0]):
            for bit in range(BITS):
                sizes[2] += row[k] >> bit & 1
        before = row[: shape.source]


@kernel
def _add_nodes(
    rows: Ids,
    shape: Shape,
    last: Ids,
    path: Ids,
    parents: Ids,
    symbols: Ids,
    rule_start: Ints,
    state: Ints,
) -> None:
    """Add what is new of each source side to the trie; ``path`` is where the last one went.

    Source sides ascend and shorter ones come first, so nodes come in the order of their rules.
    """
    for rule in range(rows.shape[0]):
        row = rows[rule]
        node = 0
        agrees = True
        for k in range(shape.source):
            agrees &= row[k] == last[k]
            last[k] = row[k]
            if row[k] == PAD:
                continue
            if not agrees:
                parents[state[1]] = node
                symbols[state[1]] = row[k]
                path[k] = state[1]
                state[1] += 1
            node = path[k]
        rule_start[node + 1] += 1
    state[0] += rows.shape[0]


@kernel
def _add_rules(
    rows: Ids,
    shape: Shape,
    scores: Floats,
    first: int,
    target_start: Ints,
    targets: Ids,
    feature_start: Ints,
    feature_ids: Ids,
    feature_values: Floats,
    link_start: Ints,
    links: Ids,
) -> None:
    target, feature, link = target_start[first], feature_start[first], link_start[first]
    for rule in range(rows.shape[0]):
        row = rows[rule]
        for k in range(shape.target):
            if row[shape.source + k] != PAD:
                targets[target] = row[shape.source + k]
                target += 1
        for k in range(scores.shape[1]):
            if scores[rule, k] != 0.0:
                feature_ids[feature] = k
                feature_values[feature] = scores[rule, k]
                feature += 1
        for bit in range(shape.source * shape.target):
            if row[shape.source + shape.target + bit // BITS] >> (bit % BITS) & 1:
                links[link, 0] = bit // shape.target
                links[link, 1] = bit % shape.target
                link += 1
        target_start[first + rule + 1] = target
        feature_start[first + rule + 1] = feature
        link_start[first + rule + 1] = link
