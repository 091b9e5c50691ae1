"""Small grammars and language models, and all that they can say, by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st

from tunesmith.hiero.engine import Settings
from tunesmith.hiero.grammar.grammar import Nonterminal, Rule

SOURCE_WORDS = ("a", "b", "c")
TARGET_WORDS = ("A", "B", "C", "D")
UNIT = Settings().word_unit


@st.composite
def drawn_rules(draw: st.DrawFn, categories: tuple[str, ...] = ("X",)) -> list[Rule]:
    """Draw rules of a main grammar; with several categories also rules of one nonterminal.

    A category that comes later is made of earlier ones alone by such rules: there is no circle.
    """
    found = []
    for _ in range(draw(st.integers(1, 7))):
        head = draw(st.sampled_from(categories))
        size = draw(st.integers(1, 4))
        source: list[str | Nonterminal] = []
        for _ in range(size):
            if draw(st.booleans()):
                source.append(draw(st.sampled_from(SOURCE_WORDS)))
            else:
                source.append(Nonterminal(draw(st.sampled_from(categories))))
        if len(source) == 1 and isinstance(source[0], Nonterminal):
            place = categories.index(head)
            if place == 0:
                source = [draw(st.sampled_from(SOURCE_WORDS))]
            else:
                source = [Nonterminal(draw(st.sampled_from(categories[:place])))]
        slots = [k + 1 for k in range(sum(isinstance(s, Nonterminal) for s in source))]
        words = draw(st.lists(st.sampled_from(TARGET_WORDS), max_size=3))
        target = tuple(draw(st.permutations([*slots, *words])))
        names = draw(st.lists(st.sampled_from(["p", "q"]), unique=True))
        features = {name: float(draw(st.integers(-2, 2))) for name in names}
        found.append(Rule(head, tuple(source), target, features))
    return found


GLUE = [
    Rule("S", (Nonterminal("X"),), (1,)),
    Rule("S", (Nonterminal("S"), Nonterminal("X")), (1, 2), {"Glue": 1.0}),
]


@dataclass(frozen=True)
class Said:
    """What a derivation says: words, and features but for language models."""

    words: tuple[str, ...]
    features: tuple[tuple[str, float], ...]


def _sum(parts: list[tuple[tuple[str, float], ...]]) -> tuple[tuple[str, float], ...]:
    total: dict[str, float] = {}
    for part in parts:
        for name, value in part:
            total[name] = total.get(name, 0.0) + value
    return tuple(sorted((name, value) for name, value in total.items() if value != 0.0))


def everything(
    rules: list[Rule],
    sentence: tuple[str, ...],
    limit: int,
    passes: str = "all",
    unknown: str = "copy",
) -> list[Said]:
    """Return all derivations of [S] over a sentence, by plain recursion over spans."""
    known = {rule.source[0] for rule in rules if len(rule.source) == 1}
    memo: dict[tuple[int, int, str], list[Said]] = {}

    def of(i: int, j: int, category: str) -> list[Said]:
        key = (i, j, category)
        if key not in memo:
            memo[key] = list(_of(i, j, category))
        return memo[key]

    def _of(i: int, j: int, category: str) -> Iterator[Said]:
        for rule in [*rules, *GLUE]:
            is_glue = any(rule is one for one in GLUE)
            if rule.head == category and (i == 0 if is_glue else j - i <= limit):
                yield from by_rule(rule, i, j, is_glue)
        may_pass = passes == "all" or (passes == "unknown" and sentence[i] not in known)
        if category == "X" and j == i + 1 and may_pass:
            is_dropped = unknown == "drop" and sentence[i] not in known
            words = () if is_dropped else (sentence[i],)
            own = (("PassThrough", 1.0), ("WordPenalty", UNIT * len(words)))
            yield Said(words, _sum([own]))

    def by_rule(rule: Rule, i: int, j: int, is_glue: bool) -> Iterator[Said]:
        for fillers in filled(rule.source, i, j):
            for choice in itertools.product(*[of(*span) for span in fillers]):
                words: list[str] = []
                for symbol in rule.target:
                    words += choice[symbol - 1].words if isinstance(symbol, int) else (symbol,)
                own = sum(isinstance(symbol, str) for symbol in rule.target)
                counts = (("WordPenalty", UNIT * own), ("RuleCount", 0.0 if is_glue else 1.0))
                parts = [tuple(rule.features.items()), counts, *(one.features for one in choice)]
                yield Said(tuple(words), _sum(parts))

    def filled(source, i: int, j: int) -> Iterator[list[tuple[int, int, str]]]:
        if not source:
            if i == j:
                yield []
            return
        symbol, rest = source[0], source[1:]
        if isinstance(symbol, str):
            if i < j and sentence[i] == symbol:
                yield from filled(rest, i + 1, j)
            return
        for k in range(i + 1, j + 1):
            for others in filled(rest, k, j):
                yield [(i, k, symbol.category), *others]

    return of(0, len(sentence), "S")
