"""Small aligned texts for tests, and rules straight from their definition."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from tunesmith.data.candidates import pack_texts
from tunesmith.hiero.training.links import Links
from tunesmith.hiero.training.parallel_text import ParallelText
from tunesmith.hiero.training.rules.extract import Extraction, PairArrays
from tunesmith.hiero.vocabulary import Vocabulary

#: Source side ("X" for nonterminals), target side (-k for them), links.
Rule = tuple[tuple[object, ...], tuple[object, ...], frozenset[tuple[int, int]]]
Phrase = tuple[int, int, int, int]


@dataclass(frozen=True)
class Pair:
    source: tuple[int, ...]
    target: tuple[int, ...]
    links: frozenset[tuple[int, int]]


@st.composite
def pairs(draw: st.DrawFn, longest: int = 6, words: int = 3) -> Pair:
    """Draw any links, or about one for each word: with those there are many rules."""
    source = draw(st.lists(st.integers(0, words - 1), min_size=1, max_size=longest))
    target = draw(st.lists(st.integers(0, words - 1), min_size=1, max_size=longest))
    link = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    links = draw(st.frozensets(link, max_size=longest + 2))
    if draw(st.booleans()):
        order = draw(st.permutations(range(len(target))))
        one_each = [(i, j) for i, j in enumerate(order) if i < len(source)]
        links = frozenset(one_each) - links
    return Pair(tuple(source), tuple(target), links)


extractions = st.builds(
    Extraction,
    max_phrase=st.integers(1, 6),
    max_symbols=st.integers(1, 6),
    max_nonterminals=st.integers(0, 2),
    min_gap=st.integers(1, 2),
    tight=st.booleans(),
    adjacent=st.booleans(),
)


def arrays_of(several: Sequence[Pair]) -> PairArrays:
    text, links = text_of(several)
    return PairArrays(
        text.source.start,
        text.source.ids,
        text.target.start,
        text.target.ids,
        links.start,
        links.places,
    )


def text_of(several: Sequence[Pair], words: int = 8) -> tuple[ParallelText, Links]:
    source = pack_texts([np.array(p.source, np.int32) for p in several])
    target = pack_texts([np.array(p.target, np.int32) for p in several])
    places = [link for p in several for link in sorted(p.links)]
    start = np.cumsum([0, *(len(p.links) for p in several)]).astype(np.int64)
    vocabulary = Vocabulary.of([f"w{k}" for k in range(words)])
    text = ParallelText(source, target, vocabulary, np.arange(len(several)), len(several))
    return text, Links(start, np.array(places, np.int32).reshape(-1, 2))


def phrases_of(pair: Pair, limits: Extraction) -> list[Phrase]:
    """Initial phrase pairs (Chiang 2007, definition 1): first and last words of both sides."""
    found = []
    spans = [
        [(a, b) for a in range(len(side)) for b in range(a, len(side)) if b - a < limits.max_phrase]
        for side in (pair.source, pair.target)
    ]
    for (i, j), (k, m) in itertools.product(*spans):
        inside = [(s, t) for s, t in pair.links if i <= s <= j and k <= t <= m]
        crossing = any((i <= s <= j) != (k <= t <= m) for s, t in pair.links)
        ends = {i, j} <= {s for s, _ in inside} and {k, m} <= {t for _, t in inside}
        if inside and not crossing and (ends or not limits.tight):
            found.append((i, j, k, m))
    return found


def rules_of(pair: Pair, limits: Extraction) -> Iterator[tuple[Rule, Fraction]]:
    """Rules each time that they are extracted, with their part of a phrase pair's count."""
    phrases = phrases_of(pair, limits)
    for whole in phrases:
        inner = [
            p
            for p in phrases
            if whole[0] <= p[0]
            and p[1] <= whole[1]
            and whole[2] <= p[2]
            and p[3] <= whole[3]
            and p[1] - p[0] + 1 >= limits.min_gap
        ]
        found = [
            rule
            for size in range(limits.max_nonterminals + 1)
            for gaps in itertools.permutations(inner, size)
            if (rule := rule_of(pair, whole, gaps, limits)) is not None
        ]
        yield from ((rule, Fraction(1, len(found))) for rule in found)


def rule_of(pair: Pair, whole: Phrase, gaps: tuple[Phrase, ...], limits: Extraction) -> Rule | None:
    sources = [set(range(p[0], p[1] + 1)) for p in gaps]
    targets = [set(range(p[2], p[3] + 1)) for p in gaps]
    if list(gaps) != sorted(gaps):
        return None
    if len(gaps) == 2:
        if sources[0] & sources[1] or targets[0] & targets[1]:
            return None
        if gaps[0][1] + 1 == gaps[1][0] and not limits.adjacent:
            return None
    source = symbols(whole[0], whole[1], sources)
    target = symbols(whole[2], whole[3], targets)
    if len(source) > limits.max_symbols:
        return None
    links = frozenset(
        (source.index((s, 0)), target.index((t, 0)))
        for s, t in pair.links
        if (s, 0) in source and (t, 0) in target
    )
    if not links:
        return None
    return (
        tuple("X" if gap else pair.source[place] for place, gap in source),
        tuple(-gap if gap else pair.target[place] for place, gap in target),
        links,
    )


def symbols(first: int, last: int, gaps: list[set[int]]) -> list[tuple[int, int]]:
    """Return places of words, with 0, and the numbers of gaps, from 1."""
    found = []
    for place in range(first, last + 1):
        gap = next((k for k, own in enumerate(gaps, 1) if place in own), 0)
        if not gap:
            found.append((place, 0))
        elif (-1, gap) not in found:
            found.append((-1, gap))
    return found


def counted(several: Sequence[Pair], limits: Extraction) -> dict[Rule, tuple[Fraction, int]]:
    """Return the counts of rules, and how many times each is extracted."""
    counts: Counter[Rule] = Counter()
    times: Counter[Rule] = Counter()
    for pair in several:
        for rule, part in rules_of(pair, limits):
            counts[rule] += part  # type: ignore[assignment]
            times[rule] += 1
    return {rule: (Fraction(counts[rule]), times[rule]) for rule in counts}
