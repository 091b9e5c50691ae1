"""Traces: the rules of a derivation, the spans that they cover, and which words go together.

Of a lattice, the words are those of the path that the derivation takes.

Links of a translation are those of its rules, moved to where the rules are applied. A word that
passes through is linked to itself; rules without an alignment have no links, and neither have
forced translations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.arrays import Ids
from tunesmith.hiero.chart.cubes import GOAL
from tunesmith.hiero.chart.forest import forest_edges
from tunesmith.hiero.engine import BEGIN, END, Translation
from tunesmith.hiero.grammar.grammar import Grammar, Nonterminal, Rule
from tunesmith.hiero.lattice import WordLattice


@dataclass(frozen=True)
class TraceStep:
    """A rule where it is applied.

    Attributes
    ----------
    rule
        The rule.
    begin, end
        The words of the sentence that it covers: from ``begin`` on, without ``end``.
    tails
        The steps that fill its nonterminals, in the order of the source side.
    """

    rule: Rule
    begin: int
    end: int
    tails: tuple[int, ...]


@dataclass(frozen=True)
class Trace:
    """How a translation was derived.

    Attributes
    ----------
    steps
        The first makes the sentence; each comes before those that fill its nonterminals.
    links
        Places of words of the sentence and of the translation that go together, ascending.
    path
        The words of the path through a lattice, in place of a sentence; None for a sentence.
    """

    steps: tuple[TraceStep, ...]
    links: tuple[tuple[int, int], ...]
    path: tuple[str, ...] | None = None

    @property
    def alignment(self) -> str:
        """The links as text: ``0-0 1-2``."""
        return " ".join(f"{i}-{j}" for i, j in self.links)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        steps = [
            {"rule": text_of(step.rule), "span": [step.begin, step.end], "tails": list(step.tails)}
            for step in self.steps
        ]
        path = {} if self.path is None else {"path": " ".join(self.path)}
        return {**path, "alignment": self.alignment, "steps": steps}


def text_of(rule: Rule) -> str:
    """Write a rule as grammars have it: category, source side, target side."""
    source, slots = [], 0
    for symbol in rule.source:
        slots += isinstance(symbol, Nonterminal)
        source.append(f"[{symbol.category},{slots}]" if isinstance(symbol, Nonterminal) else symbol)
    target = [f"[{symbol}]" if isinstance(symbol, int) else symbol for symbol in rule.target]
    return " ||| ".join([f"[{rule.head}]", " ".join(source), " ".join(target)])


class Tracer:
    """Traces derivations of one sentence.

    Parameters
    ----------
    translation
        What was found for it.
    grammar
        The rules that were searched.
    ends_are_words
        Whether rules cover ``<s>`` and ``</s>`` too; they are none of the output.
    best_only
        Which hyperedges derivations are made of: those of this forest.
    lattice
        What was translated, if it is no sentence.
    """

    def __init__(
        self,
        translation: Translation,
        grammar: Grammar,
        ends_are_words: bool,
        best_only: bool = False,
        lattice: WordLattice | None = None,
    ) -> None:
        self._chart, self._prepared = translation
        self._grammar = grammar
        self._words = self._prepared.words
        self._has_path = lattice is not None
        self._shift = 1 if ends_are_words else 0
        self._edges: Ids = forest_edges(self._chart, best_only)
        self._rules: dict[int, Rule] = {}

    def trace(self, derivation: Sequence[int]) -> Trace:
        """Trace a derivation: hyperedges of the forest, each followed by those of its slots."""
        edges = [int(self._edges[e]) for e in derivation]
        # The goal says what its tail says; a sentence without words has nothing else.
        edges = [e for e in edges if self._chart.rules[e] != GOAL]
        rules = [self._rule(int(self._chart.rules[e])) for e in edges]
        tails = _tails(rules)
        spans, source = _spans(rules, tails)
        size = len(source) - 2 * self._shift
        within = [[min(max(k - self._shift, 0), size) for k in span] for span in spans]
        steps = tuple(
            TraceStep(rule, begin, end, tail)
            for rule, (begin, end), tail in zip(rules, within, tails, strict=True)
        )
        links = _links(rules, spans, tails, self._is_said)
        moved = ((i - self._shift, j) for i, j in links)
        path = source[self._shift : self._shift + size] if self._has_path else None
        return Trace(steps, tuple(sorted({(i, j) for i, j in moved if 0 <= i < size})), path)

    def _is_said(self, word: str) -> bool:
        """Tell whether a word of a target side is one of the output."""
        return not (self._shift and word in (BEGIN, END))

    def _source(self, place: int) -> tuple[str, ...]:
        """Return the word that passes through, or those that have a forced translation."""
        if place < len(self._words):
            return (self._words[place],)
        forced = self._prepared.forced[place - len(self._words)]
        return tuple(self._words[forced.begin : forced.end])

    def _rule(self, number: int) -> Rule:
        """Return a rule by its number among those of the sentence."""
        if number not in self._rules:
            parse, rules, arrays = self._prepared.parse, self._prepared.rules, self._grammar.arrays
            option = int(np.searchsorted(rules.option_start, number, side="right")) - 1
            node, head = int(parse.option_nodes[option]), int(parse.option_heads[option])
            if node < 0:
                target = rules.targets[rules.target_start[number] : rules.target_start[number + 1]]
                output = tuple(map(self._prepared.word, target.tolist()))
                source, passes = self._source(-1 - node), -1 - node < len(self._words)
                links = ((0, 0),) if passes and output else ()
                rule = Rule(self._grammar.categories[head], source, output, {}, links)
            else:
                first, last = arrays.rule_start[node : node + 2].tolist()
                fitting = first + np.flatnonzero(arrays.heads[first:last] == head)
                place = number - int(rules.option_start[option])
                rule = self._grammar.rule(int(fitting[place]))
            self._rules[number] = rule
        return self._rules[number]


def _tails(rules: Sequence[Rule]) -> list[tuple[int, ...]]:
    """Return the steps that fill the nonterminals of each; they come in the order of slots."""
    tails = [[-1] * sum(isinstance(symbol, int) for symbol in rule.target) for rule in rules]
    waiting: list[tuple[int, int]] = []
    for step, rule in enumerate(rules):
        if waiting:
            parent, slot = waiting.pop()
            tails[parent][slot - 1] = step
        waiting += [(step, symbol) for symbol in reversed(rule.target) if isinstance(symbol, int)]
    return [tuple(steps) for steps in tails]


def _spans(
    rules: Sequence[Rule], tails: Sequence[tuple[int, ...]]
) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    """Return the places that each rule covers among the words of all of them, and these words."""
    spans = [(0, 0)] * len(rules)
    source: list[str] = []
    # A step whose next symbol is due, and where it began; steps may lie deep in one another.
    waiting = [(0, 0, 0, 0)] if rules else []
    while waiting:
        step, at, slot, begin = waiting.pop()
        symbols = rules[step].source
        while at < len(symbols) and isinstance(symbols[at], str):
            source.append(str(symbols[at]))
            at += 1
        if at == len(symbols):
            spans[step] = (begin, len(source))
            continue
        waiting.append((step, at + 1, slot + 1, begin))
        waiting.append((tails[step][slot], 0, 0, len(source)))
    return spans, tuple(source)


def _links(
    rules: Sequence[Rule],
    spans: Sequence[tuple[int, int]],
    tails: Sequence[tuple[int, ...]],
    is_said: Callable[[str], bool],
) -> list[tuple[int, int]]:
    """Return the links of all rules, at the places of their words in both sentences."""
    lengths = [0] * len(rules)
    for step in range(len(rules) - 1, -1, -1):
        lengths[step] = sum(
            lengths[tails[step][symbol - 1]] if isinstance(symbol, int) else is_said(symbol)
            for symbol in rules[step].target
        )
    begins = [0] * len(rules)
    links = []
    for step, rule in enumerate(rules):
        source, target = {}, {}
        at, slot = spans[step][0], 0
        for place, symbol in enumerate(rule.source):
            if isinstance(symbol, Nonterminal):
                at = spans[tails[step][slot]][1]
                slot += 1
            else:
                source[place] = at
                at += 1
        at = begins[step]
        for place, word in enumerate(rule.target):
            if isinstance(word, int):
                tail = tails[step][word - 1]
                begins[tail] = at
                at += lengths[tail]
            elif is_said(word):
                target[place] = at
                at += 1
        links += [(source[i], target[j]) for i, j in rule.links if i in source and j in target]
    return links
