"""Grammars from aligned text: every score against the definition, in plain Python."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.helpers.hiero.aligned_text import Pair, Rule, counted, extractions, pairs, text_of
from tunesmith.errors import TunesmithError
from tunesmith.hiero.grammar.grammar import Grammar, Nonterminal
from tunesmith.hiero.training.rules import table as rule_table
from tunesmith.hiero.training.rules.extract import Extraction
from tunesmith.hiero.training.rules.source_filter import sentence_arrays
from tunesmith.hiero.training.rules.table import RuleTable
from tunesmith.parallel.local import threads

Sides = tuple[tuple[object, ...], tuple[object, ...]]
WORDS = 8
#: Nonterminals around a word, in either order: their target sides count together.
BOTH_ORDERS = [
    Pair((0, 1, 2), (0, 1, 2), frozenset({(0, 0), (1, 1), (2, 2)})),
    Pair((0, 1, 2), (2, 1, 0), frozenset({(0, 2), (1, 1), (2, 0)})),
]
texts = st.lists(pairs(longest=5), min_size=1, max_size=4)


def expected_rules(
    several: Sequence[Pair], limits: Extraction
) -> dict[Sides, tuple[dict[str, float], set[frozenset[tuple[int, int]]]]]:
    """Return features, and the links that are the most frequent (there may be several)."""
    found = counted(several, limits)
    counts: dict[Sides, Fraction] = defaultdict(Fraction)
    times: Counter[Sides] = Counter()
    of_source: dict[object, Fraction] = defaultdict(Fraction)
    of_target: dict[object, Fraction] = defaultdict(Fraction)
    links: dict[Sides, Counter[frozenset[tuple[int, int]]]] = defaultdict(Counter)
    for (source, target, own), (count, number) in found.items():
        counts[source, target] += count
        times[source, target] += number
        of_source[source] += count
        of_target[shape_of(target)] += count
        links[source, target][own] += number
    result = {}
    for (source, target), count in counts.items():
        most = max(links[source, target].values())
        result[source, target] = (
            {
                "TargetGivenSource": math.log10(count / of_source[source]),
                "SourceGivenTarget": math.log10(count / of_target[shape_of(target)]),
                "Singleton": float(times[source, target] == 1),
            },
            {own for own, number in links[source, target].items() if number == most},
        )
    return result


def shape_of(target: tuple[object, ...]) -> tuple[object, ...]:
    return tuple("X" if isinstance(t, int) and t < 0 else t for t in target)


def lexical(rule: Rule, several: Sequence[Pair]) -> tuple[float, float]:
    """Koehn, Och and Marcu (2003), with NULL for words without links."""
    together: Counter[tuple[int | None, int | None]] = Counter()
    for pair in several:
        together.update((pair.source[i], pair.target[j]) for i, j in pair.links)
        sources, targets = ({link[k] for link in pair.links} for k in (0, 1))
        together.update((w, None) for i, w in enumerate(pair.source) if i not in sources)
        together.update((None, w) for j, w in enumerate(pair.target) if j not in targets)
    source, target, links = rule
    logs = []
    for side, other, own, k in ((target, source, 1, 1), (source, target, 0, 0)):
        total = 0.0
        for place, word in enumerate(side):
            if not isinstance(word, int) or word < 0:
                continue
            linked: list[object] = [other[x[1 - own]] for x in links if x[own] == place] or [None]
            shares = []
            for w in linked:
                both = (w, word) if k == 1 else (word, w)
                given_w = sum(n for key, n in together.items() if key[1 - k] == w)
                shares.append(together[both] / given_w)  # type: ignore[index]
            total += math.log10(sum(shares) / len(shares))
        logs.append(total)
    return logs[0], logs[1]


def rules_in(grammar: Grammar) -> dict[Sides, tuple[dict[str, float], frozenset[tuple[int, int]]]]:
    found = {}
    for rule in grammar.rules():
        source = tuple("X" if isinstance(s, Nonterminal) else int(s[1:]) for s in rule.source)
        target = tuple(-t if isinstance(t, int) else int(t[1:]) for t in rule.target)
        assert rule.head == "X"
        assert (source, target) not in found
        found[source, target] = (dict(rule.features), frozenset(rule.links))
    return found


@given(several=texts, limits=extractions)
@example(several=BOTH_ORDERS, limits=Extraction(max_phrase=3))
def test_all_scores(several: list[Pair], limits: Extraction) -> None:
    expected = expected_rules(several, limits)
    assume(expected)
    grammar = RuleTable(limits, keep_best=10**6).grammar(*text_of(several))
    grammar.check("rules")
    found = rules_in(grammar)
    assert found.keys() == expected.keys()
    for sides, (features, links) in expected.items():
        own, kept = found[sides]
        assert kept in links
        names = ("LexTargetGivenSource", "LexSourceGivenTarget")
        words = dict(zip(names, lexical((*sides, kept), several), strict=True))
        for name, value in (features | words).items():
            assert own.get(name, 0.0) == pytest.approx(value, abs=1e-8), (sides, name)
            assert name == "Singleton" or own.get(name, 0.0) <= 0.0


def applies(source: tuple[object, ...], sentence: Sequence[int]) -> bool:
    """Try all ways of giving each nonterminal some words."""
    if not source:
        return True
    if source[0] == "X":
        return any(begins_with(source[1:], sentence[k:]) for k in range(1, len(sentence) + 1))
    return any(begins_with(source, sentence[k:]) for k in range(len(sentence)))


def begins_with(source: tuple[object, ...], sentence: Sequence[int]) -> bool:
    if not source:
        return True
    if source[0] == "X":
        return any(begins_with(source[1:], sentence[k:]) for k in range(1, len(sentence) + 1))
    return bool(sentence) and sentence[0] == source[0] and begins_with(source[1:], sentence[1:])


@given(
    several=texts,
    sentences=st.lists(st.lists(st.integers(-1, 3), max_size=6), min_size=1, max_size=4),
    is_filtered=st.booleans(),
    keep_best=st.integers(1, 3),
    min_count=st.integers(1, 2),
)
def test_what_is_kept(
    several: list[Pair],
    sentences: list[list[int]],
    is_filtered: bool,
    keep_best: int,
    min_count: int,
) -> None:
    limits = Extraction(max_phrase=5)
    text, links = text_of(several)
    found = counted(several, limits)
    times: Counter[Sides] = Counter()
    for rule, (_, number) in found.items():
        times[rule[:2]] += number
    assume(found)
    whole = rules_in(RuleTable(limits, keep_best=10**6).grammar(text, links))
    fitting = {
        sides
        for sides in whole
        if times[sides] >= min_count
        and (not is_filtered or any(applies(sides[0], s) for s in sentences))
    }
    table = RuleTable(limits, keep_best, min_count)
    lengths = np.array([len(s) for s in sentences])
    words = np.array([w for s in sentences for w in s], np.int32)
    index = sentence_arrays(lengths, words, WORDS) if is_filtered else None
    if not fitting:
        with pytest.raises(TunesmithError, match="no rule is left"):
            table.grammar(text, links, index)
        return
    kept = rules_in(table.grammar(text, links, index))
    assert {sides[0] for sides in kept} == {sides[0] for sides in fitting}
    for source in {sides[0] for sides in fitting}:
        all_of = {s: whole[s][0].get("TargetGivenSource", 0.0) for s in fitting if s[0] == source}
        own = [s for s in kept if s[0] == source]
        assert len(own) == min(keep_best, len(all_of))
        best = sorted(all_of.values(), reverse=True)[: len(own)]
        assert sorted((all_of[s] for s in own), reverse=True) == best
    for sides, scored in kept.items():  # the same as without the filter, to the last bit
        assert scored == whole[sides]


def test_neither_memory_nor_threads_change_a_bit() -> None:
    rng = np.random.default_rng(3)
    several = []
    for _ in range(300):
        size = int(rng.integers(1, 9))
        places = rng.permutation(size)
        links = frozenset((k, int(places[k])) for k in range(size) if rng.random() < 0.8)
        words = rng.integers(0, WORDS, (2, size))
        several.append(Pair(tuple(words[0].tolist()), tuple(words[1].tolist()), links))
    text, links_of = text_of(several)
    with threads(2):
        one = RuleTable().grammar(text, links_of)
    small = patch.multiple(rule_table, PAIRS=7, SHOWN=70, SORTING=1 << 12, LEAST=300)
    with small, threads(1):
        other = RuleTable().grammar(text, links_of)
    assert len(one) > 1000
    for own, its in zip(one.arrays, other.arrays, strict=True):
        np.testing.assert_array_equal(own, its)


def test_text_without_links() -> None:
    text, links = text_of([Pair((1, 2), (3,), frozenset())])
    with pytest.raises(TunesmithError, match="no rule is left; give text whose words are aligned"):
        RuleTable().grammar(text, links)
