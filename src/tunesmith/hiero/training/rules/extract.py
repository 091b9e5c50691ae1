"""Hierarchical phrase extraction.

Chiang, "Hierarchical phrase-based translation" (Computational Linguistics 33, 2007), sections 3.1
and 3.2. Initial phrase pairs are those of phrase-based translation; a rule is one of them with up
to two smaller ones inside it replaced by nonterminals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Ids, Ints
from tunesmith.errors import UsageError
from tunesmith.kernels import kernel

#: What fills a side up to its width: less than every symbol, so that shorter sides come first.
PAD = np.int32(-(2**31))
#: An initial phrase pair has the count 1, in whole parts, so that sums are exact in any order.
ONE = np.int64(1 << 36)
#: Links that one column of a row holds.
BITS = 30
#: The nonterminal of source sides: category 0.
GAP = np.int32(-1)


class ExtractionLimits(NamedTuple):
    """Which rules are extracted, as kernels take it.

    Attributes
    ----------
    max_phrase
        Most words of an initial phrase, on either side.
    max_symbols
        Most words and nonterminals of a source side.
    max_nonterminals
        0, 1 or 2.
    min_gap
        Source words that a nonterminal stands for at least.
    tight
        Whether the words at the ends of initial phrases must be aligned.
    adjacent
        Whether nonterminals may be neighbours on the source side.
    """

    max_phrase: int
    max_symbols: int
    max_nonterminals: int
    min_gap: int
    tight: bool
    adjacent: bool


@dataclass(frozen=True)
class Extraction:
    """Which rules are extracted; Chiang's limits by default, see :class:`ExtractionLimits`."""

    max_phrase: int = 10
    max_symbols: int = 5
    max_nonterminals: int = 2
    min_gap: int = 1
    tight: bool = True
    adjacent: bool = False

    def __post_init__(self) -> None:
        ranges = {
            "max_phrase": (1, 50),
            "max_symbols": (1, 20),
            "max_nonterminals": (0, 2),
            "min_gap": (1, 50),
        }
        for name, (least, most) in ranges.items():
            if not least <= getattr(self, name) <= most:
                option = name.replace("_", "-")
                raise UsageError(
                    f"--{option} is {getattr(self, name)}; give a number from {least} to {most}"
                )

    @property
    def limits(self) -> ExtractionLimits:
        """The same for kernels."""
        return ExtractionLimits(
            self.max_phrase,
            self.max_symbols,
            self.max_nonterminals,
            self.min_gap,
            self.tight,
            self.adjacent,
        )

    @property
    def shape(self) -> Shape:
        """How its rules are laid out in rows."""
        source, target = min(self.max_symbols, self.max_phrase), self.max_phrase
        return Shape(source, target, -(-source * target // BITS))


class Shape(NamedTuple):
    """Columns of a row: a source side, a target side, and a bit for each link.

    A source side has words and ``GAP``; a target side has words, and -k for the k-th nonterminal
    of the source side. The link of symbols i and j is the bit ``i * target + j``.
    """

    source: int
    target: int
    links: int

    @property
    def sides(self) -> int:
        """Columns of both sides."""
        return self.source + self.target

    @property
    def width(self) -> int:
        """All columns."""
        return self.source + self.target + self.links


class PairArrays(NamedTuple):
    """Sentence pairs with their links, as kernels take them."""

    source_start: Ints
    sources: Ids
    target_start: Ints
    targets: Ids
    link_start: Ints
    links: Ids


@kernel
def extract(
    pairs: PairArrays,
    first: int,
    last: int,
    limits: ExtractionLimits,
    shape: Shape,
    rows: Ids,
    counts: Ints,
    progress: Ints,
) -> None:
    """Write the rules of the pairs from ``first`` on, each time that they are extracted.

    ``counts`` has the part of a phrase pair's count, and 1. ``progress`` becomes the pair at which
    ``rows`` was full, or ``last``; the rows that are written; and how many the next pair needs.
    """
    used = 0
    choices = np.empty((256, 2), np.int32)
    for pair in range(first, last):
        source = pairs.sources[pairs.source_start[pair] : pairs.source_start[pair + 1]]
        target = pairs.targets[pairs.target_start[pair] : pairs.target_start[pair + 1]]
        links = pairs.links[pairs.link_start[pair] : pairs.link_start[pair + 1]]
        phrases = initial_phrases(links, source.shape[0], target.shape[0], limits)
        begins = _begins(phrases, source.shape[0])
        linked = _links_by_word(links, source.shape[0])
        before, is_full = used, False
        for phrase in range(phrases.shape[0]):
            count = _choose(phrases, begins, linked, phrase, limits, choices)
            if count > choices.shape[0]:
                choices = np.empty((2 * count, 2), np.int32)
                _choose(phrases, begins, linked, phrase, limits, choices)
            is_full |= used + count > rows.shape[0]
            if not is_full and count > 0:
                part = (ONE + count // 2) // count
                for k in range(count):
                    _write(
                        source,
                        target,
                        links,
                        linked,
                        phrases,
                        phrase,
                        choices[k],
                        shape,
                        rows[used + k],
                    )
                    counts[used + k, 0] = part
                    counts[used + k, 1] = 1
            used += count
        if is_full:
            progress[0], progress[1], progress[2] = pair, before, used - before
            return
    progress[0], progress[1], progress[2] = last, used, 0


@kernel
def initial_phrases(links: Ids, words: int, target_words: int, limits: ExtractionLimits) -> Ids:
    """Return the initial phrase pairs (first and last word of both sides), by their source side."""
    ends = np.empty((words, 2), np.int32)
    ends[:, 0], ends[:, 1] = target_words, -1
    target_ends = np.empty((target_words, 2), np.int32)
    target_ends[:, 0], target_ends[:, 1] = words, -1
    for k in range(links.shape[0]):
        i, j = links[k, 0], links[k, 1]
        ends[i, 0], ends[i, 1] = min(ends[i, 0], j), max(ends[i, 1], j)
        target_ends[j, 0] = min(target_ends[j, 0], i)
        target_ends[j, 1] = max(target_ends[j, 1], i)
    phrases = np.empty((max(16, words * min(words, limits.max_phrase)), 4), np.int32)
    count = _find_phrases(ends, target_ends, limits, phrases)
    if count > phrases.shape[0]:
        phrases = np.empty((count, 4), np.int32)
        _find_phrases(ends, target_ends, limits, phrases)
    return phrases[:count]


@kernel
def _find_phrases(ends: Ids, target_ends: Ids, limits: ExtractionLimits, phrases: Ids) -> int:
    """Write the phrase pairs as long as there is room, and return how many there are."""
    count = 0
    words = ends.shape[0]
    for i in range(words):
        if limits.tight and ends[i, 1] < 0:
            continue
        low, high = target_ends.shape[0], -1
        for j in range(i, min(i + limits.max_phrase, words)):
            low, high = min(low, ends[j, 0]), max(high, ends[j, 1])
            if high - low >= limits.max_phrase:
                break
            if high < 0 or (limits.tight and ends[j, 1] < 0):
                continue
            first, last = words, -1
            for k in range(low, high + 1):
                first, last = min(first, target_ends[k, 0]), max(last, target_ends[k, 1])
            if first < i:  # a longer phrase has this link too
                break
            if last <= j:
                count = _widen(i, j, low, high, target_ends, limits, phrases, count)
    return count


@kernel
def _widen(
    i: int,
    j: int,
    low: int,
    high: int,
    target_ends: Ids,
    limits: ExtractionLimits,
    phrases: Ids,
    count: int,
) -> int:
    """Write a phrase pair and, if ends may be loose, those with more words without links."""
    begin = low
    while True:
        end = high
        while end - begin < limits.max_phrase:
            if count < phrases.shape[0]:
                row = phrases[count]
                row[0], row[1], row[2], row[3] = i, j, begin, end
            count += 1
            end += 1
            if limits.tight or end == target_ends.shape[0] or target_ends[end, 1] >= 0:
                break
        begin -= 1
        if limits.tight or begin < 0 or target_ends[begin, 1] >= 0:
            return count


@kernel
def _begins(phrases: Ids, words: int) -> Ints:
    """Return where the phrases that begin at each source word are."""
    start = np.zeros(words + 2, np.int64)
    for k in range(phrases.shape[0]):
        start[phrases[k, 0] + 1] += 1
    for i in range(words + 1):
        start[i + 1] += start[i]
    return start


@kernel
def _links_by_word(links: Ids, words: int) -> Ints:
    """Return where the links of each source word are."""
    start = np.zeros(words + 1, np.int64)
    for k in range(links.shape[0]):
        start[links[k, 0] + 1] += 1
    for i in range(words):
        start[i + 1] += start[i]
    return start


@kernel
def _choose(
    phrases: Ids, begins: Ints, linked: Ints, phrase: int, limits: ExtractionLimits, choices: Ids
) -> int:
    """Write which phrases inside one are replaced, in all ways; -1 for none.

    Writes as long as there is room, and returns how many ways there are. At least one link must
    be left: that of a word pair of the rule.
    """
    whole = phrases[phrase]
    size = whole[1] - whole[0] + 1
    links = linked[whole[1] + 1] - linked[whole[0]]
    count = 0
    if size <= limits.max_symbols:
        if count < choices.shape[0]:
            choices[count, 0] = choices[count, 1] = -1
        count += 1
    if limits.max_nonterminals == 0:
        return count
    apart = 1 if limits.adjacent else 2
    for a in range(begins[whole[0]], begins[whole[1] + 1]):
        candidate = phrases[a]
        length = candidate[1] - candidate[0] + 1
        left = links - (linked[candidate[1] + 1] - linked[candidate[0]])
        inside = candidate[1] <= whole[1] and candidate[2] >= whole[2] and candidate[3] <= whole[3]
        if not inside or length < limits.min_gap or left == 0:
            continue
        if size - length + 1 <= limits.max_symbols:
            if count < choices.shape[0]:
                choices[count, 0], choices[count, 1] = a, -1
            count += 1
        if limits.max_nonterminals == 1 or candidate[1] + apart > whole[1]:
            continue
        for b in range(begins[candidate[1] + apart], begins[whole[1] + 1]):
            two = phrases[b]
            more = two[1] - two[0] + 1
            inside = two[1] <= whole[1] and two[2] >= whole[2] and two[3] <= whole[3]
            disjoint = two[2] > candidate[3] or two[3] < candidate[2]
            lexical = left > linked[two[1] + 1] - linked[two[0]]
            fits = more >= limits.min_gap and size - length - more + 2 <= limits.max_symbols
            if inside and disjoint and lexical and fits:
                if count < choices.shape[0]:
                    choices[count, 0], choices[count, 1] = a, b
                count += 1
    return count


@kernel
def _write(
    source: Ids,
    target: Ids,
    links: Ids,
    linked: Ints,
    phrases: Ids,
    phrase: int,
    choice: Ids,
    shape: Shape,
    row: Ids,
) -> None:
    """Write one rule as a row, see :class:`Shape`."""
    whole = phrases[phrase]
    subphrase = phrases[max(choice[0], 0)]
    two = phrases[max(choice[1], 0)]
    has_one, has_two = choice[0] >= 0, choice[1] >= 0
    row[:] = PAD
    row[shape.source + shape.target :] = 0
    places = np.empty(whole[3] - whole[2] + 1, np.int32)  # of target words among the symbols
    at, j = 0, whole[2]
    while j <= whole[3]:
        symbol = target[j]
        places[j - whole[2]] = at
        if has_one and j == subphrase[2]:
            symbol, j = np.int32(-1), subphrase[3]
        elif has_two and j == two[2]:
            symbol, j = np.int32(-2), two[3]
        row[shape.source + at] = symbol
        at += 1
        j += 1
    at, i = 0, whole[0]
    while i <= whole[1]:
        if has_one and i == subphrase[0]:
            row[at] = GAP
            i = subphrase[1]
        elif has_two and i == two[0]:
            row[at] = GAP
            i = two[1]
        else:
            row[at] = source[i]
            for k in range(linked[i], linked[i + 1]):
                bit = at * shape.target + places[links[k, 1] - whole[2]]
                row[shape.source + shape.target + bit // BITS] |= np.int32(1) << (bit % BITS)
        at += 1
        i += 1
