"""chrF (Popović 2015) and chrF++ (2017), digit for digit as sacrebleu computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tunesmith._version import __version__
from tunesmith.arrays import Floats, Ids, Ints, Number, Stats
from tunesmith.data.candidates import CandidateSet, References, Texts, pack_texts
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.kernels import inlined, kernel
from tunesmith.metrics.base import METRICS, Metric, as_rows
from tunesmith.metrics.chrf.score import f_scores, f_slopes
from tunesmith.metrics.preparation import characters_of, numbered
from tunesmith.parallel.local import map_pieces, pieces_of
from tunesmith.registry import option

PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


#: The longest n-grams, and the greatest weight of recall, that are allowed.
LONGEST = 100
LARGEST_BETA = 1e6


@METRICS.register("chrf")
@dataclass(frozen=True)
class CHRF(Metric):
    """F-score of character n-grams, and of word n-grams if ``word_order`` is not 0.

    The statistics are sacrebleu's: for each order, characters first, the n-grams of the
    hypothesis, those of the reference, and the matches. With several references, the one with
    the highest F-score counts; among equals, the first.
    """

    char_order: int = option(6, "longest n-gram of characters", least=0, most=LONGEST)
    word_order: int = option(0, "longest n-gram of words", least=0, most=LONGEST)
    beta: float = option(2.0, "weight of recall relative to precision", least=0, most=LARGEST_BETA)
    lowercase: bool = option(False, "ignore case")
    whitespace: bool = option(False, "count spaces as characters")
    eps_smoothing: bool = option(
        False, "average the F-scores of all orders, as chrF++.py, NLTK and Moses do"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.char_order + self.word_order < 1:
            raise UsageError(f"both orders of {self.name} are 0; give 1 or more for one of them")

    @property
    def stat_names(self) -> tuple[str, ...]:
        """N-grams of the hypothesis, of the reference, and matches, for each order."""
        orders = [f"char_{n}" for n in range(1, self.char_order + 1)]
        orders += [f"word_{n}" for n in range(1, self.word_order + 1)]
        kinds = ("hypothesis", "reference", "matches")
        return tuple(f"{kind}_{order}" for order in orders for kind in kinds)

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of one hypothesis."""
        # Each text is one token, so that its spaces are those that it has.
        texts = pack_texts([np.array([i], np.int32) for i in range(1 + len(references))])
        reference_words = Texts(texts.start[:-1], texts.ids[1:])
        group = References(np.array([0, len(references)]), reference_words)
        words = [hypothesis, *references]
        stats: Stats = self._count(np.array([0, 1]), texts, group, words)[0]
        return stats

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics of all candidates."""
        self.check(candidates)
        references = candidates.references
        assert references is not None
        return self._count(candidates.start, candidates.texts, references, candidates.vocabulary)

    def _count(
        self, start: Ints, texts: Texts, references: References, vocabulary: Sequence[str]
    ) -> Stats:
        """Count against the first references, then the second ones, and keep the better."""
        counts = references.counts
        if (counts < 1).any():
            raise TunesmithError(f"{self.name} needs a reference for each group; give one or more")
        words = [word.lower() for word in vocabulary] if self.lowercase else vocabulary
        chars, space = characters_of(
            words if self.whitespace else ["".join(w.split()) for w in words]
        )
        parts = (
            numbered([_separate_punctuation(w) for w in words], {}) if self.word_order else chars
        )
        kinds = [(chars, space if self.whitespace else -1), (parts, -1)]
        best = np.zeros((start[-1], 3 * (self.char_order + self.word_order)), np.int32)
        for k in range(counts.max(initial=0)):
            chosen = np.where(counts > k, references.group_start[:-1] + k, -1)
            stats = np.zeros_like(best) if k else best
            self._count_against(chosen, start, texts, references.texts, kinds, stats)
            if k:
                better = self.score(stats) > self.score(best)
                better &= np.repeat(counts > k, np.diff(start))
                best[better] = stats[better]
        return best

    def _count_against(
        self,
        chosen: Ints,
        start: Ints,
        texts: Texts,
        references: Texts,
        kinds: Sequence[tuple[Texts, int]],
        stats: Stats,
    ) -> None:
        """Count matches of characters and words with the chosen references; -1 is none."""
        end = 3 * self.char_order

        def count(groups: slice) -> None:
            for (parts, between), columns in zip(
                kinds, (stats[:, :end], stats[:, end:]), strict=True
            ):
                if columns.shape[1]:
                    _count_matches(
                        start,
                        groups.start,
                        groups.stop,
                        texts.start,
                        texts.ids,
                        chosen,
                        references.start,
                        references.ids,
                        parts.start,
                        parts.ids,
                        between,
                        columns,
                    )

        map_pieces(count, pieces_of(len(start) - 1, weights=np.diff(texts.start[start])))

    def score(self, stats: Stats) -> Floats:
        """Return chrF in per cent."""
        rows = as_rows(stats)
        out = np.empty(len(rows))
        f_scores(rows, float(self.beta) ** 2, self.eps_smoothing, out)
        return out.reshape(stats.shape[:-1])

    def slope(self, stats: Stats) -> Floats:
        """Return the derivative of chrF in natural units; 0 where nothing matches."""
        rows = as_rows(stats)
        out = np.zeros(rows.shape)
        f_slopes(rows, float(self.beta) ** 2, self.eps_smoothing, out)
        return out.reshape(stats.shape)

    def signature(self) -> str:
        """Return sacrebleu's fields and our own."""
        return "|".join(
            [
                f"chrf{self.beta:g}{'+' * self.word_order}",
                f"case:{'lc' if self.lowercase else 'mixed'}",
                f"eff:{'no' if self.eps_smoothing else 'yes'}",
                f"nc:{self.char_order}",
                f"nw:{self.word_order}",
                f"space:{'yes' if self.whitespace else 'no'}",
                f"version:tunesmith-{__version__}",
            ]
        )


@METRICS.register("chrf++")
@dataclass(frozen=True)
class CHRFPlusPlus(CHRF):
    """chrF with words and pairs of words."""

    word_order: int = option(2, "longest n-gram of words")


def _separate_punctuation(text: str) -> list[str]:
    """Return the words of a text, with one punctuation mark split off the end or the start."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


@kernel
def _count_matches(
    start: Ints,
    first: int,
    last: int,
    text_start: Ints,
    tokens: Ids,
    chosen: Ints,
    reference_start: Ints,
    reference_tokens: Ids,
    part_start: Ints,
    parts: Ids,
    between: int,
    stats: Stats,
) -> None:
    """Count n-grams and matches of some groups against one reference of each, exactly.

    The n-grams of the reference form a trie whose children stand in a hash table under
    (node, symbol). A node's link leads to the same n-gram without its first symbol (Aho and
    Corasick 1975), so a hypothesis is read once, a symbol at a time, and all n-grams that
    end at a symbol are met along the links.
    """
    longest, widest = 1, 1
    for g in range(first, last):
        r = chosen[g]
        if r >= 0:
            ids = reference_tokens[reference_start[r] : reference_start[r + 1]]
            widest = max(widest, _length(ids, part_start, between))
            for c in range(start[g], start[g + 1]):
                ids = tokens[text_start[c] : text_start[c + 1]]
                longest = max(longest, _length(ids, part_start, between))
    order = stats.shape[1] // 3
    nodes = widest * order + 1
    size = 16
    while size < 3 * nodes:
        size *= 2
    symbols = np.empty(max(longest, widest), np.int32)
    keys = np.empty(size, np.int64)
    child = np.empty(size, np.int32)
    # Of each node: its link, its depth, how often the reference has it, and the hypothesis.
    trie = np.empty((nodes, 4), np.int32)
    for g in range(first, last):
        r = chosen[g]
        if r < 0:
            continue
        ids = reference_tokens[reference_start[r] : reference_start[r + 1]]
        width = _spell(ids, part_start, parts, between, symbols)
        size = 16
        while size < 3 * (width * order + 1):
            size *= 2
        used = _build(symbols[:width], order, keys[:size], child, trie)
        for c in range(start[g], start[g + 1]):
            ids = tokens[text_start[c] : text_start[c + 1]]
            length = _spell(ids, part_start, parts, between, symbols)
            row = stats[c]
            for k in range(order):
                row[3 * k] = max(length - k, 0) if width > k else 0
                row[3 * k + 1] = max(width - k, 0)
            _match(symbols[:length], order, keys[:size], child, trie[:used], row)


@kernel
def _length(tokens: Ids, part_start: Ints, between: int) -> Number:
    length = max(len(tokens) - 1, 0) if between >= 0 else 0
    for k in range(len(tokens)):
        length += part_start[tokens[k] + 1] - part_start[tokens[k]]
    return length


@kernel
def _spell(tokens: Ids, part_start: Ints, parts: Ids, between: int, symbols: Ids) -> Number:
    """Write the parts of all tokens, with ``between`` between tokens unless it is below 0."""
    length = 0
    for k in range(len(tokens)):
        if between >= 0 and k > 0:
            symbols[length] = between
            length += 1
        for p in range(part_start[tokens[k]], part_start[tokens[k] + 1]):
            symbols[length] = parts[p]
            length += 1
    return length


@inlined
def _hash(node: int, symbol: int) -> Number:
    """Spread (node, symbol); both are below 2^31, so nothing overflows."""
    return ((np.int64(node) * 0x9E3779B1) ^ (np.int64(symbol) * 0x85EBCA77)) >> 15


@kernel
def _build(symbols: Ids, order: int, keys: Ints, child: Ids, trie: Ids) -> Number:
    """Make the trie of all n-grams up to an order; return the number of its nodes."""
    for slot in range(len(keys)):
        keys[slot] = -1
    for k in range(4):
        trie[0, k] = 0
    used = 1
    mask = len(keys) - 1
    # The nodes of the n-grams that begin one symbol further on.
    path = np.zeros(order + 1, np.int64)
    for i in range(len(symbols) - 1, -1, -1):
        node: Number = 0
        link: Number = 0
        for k in range(min(order, len(symbols) - i)):
            symbol = symbols[i + k]
            key = (np.int64(node) << 32) | np.int64(symbol)
            slot = _hash(node, symbol) & mask
            while keys[slot] >= 0 and keys[slot] != key:
                slot = (slot + 1) & mask
            if keys[slot] < 0:
                keys[slot] = key
                child[slot] = used
                trie[used, 0], trie[used, 1], trie[used, 2] = link, k + 1, 0
                used += 1
            node = child[slot]
            trie[node, 2] += 1
            link, path[k + 1] = path[k + 1], node
    return used


@kernel
def _match(symbols: Ids, order: int, keys: Ints, child: Ids, trie: Ids, row: Stats) -> None:
    """Add the matches of one hypothesis to its row: an n-gram at most as often as it is."""
    mask = len(keys) - 1
    for node in range(len(trie)):
        trie[node, 3] = 0
    state: Number = 0
    for i in range(len(symbols)):
        symbol = symbols[i]
        if trie[state, 1] == order:
            state = trie[state, 0]
        while True:
            key = (np.int64(state) << 32) | np.int64(symbol)
            slot = _hash(state, symbol) & mask
            while keys[slot] >= 0 and keys[slot] != key:
                slot = (slot + 1) & mask
            if keys[slot] >= 0 or state == 0:
                break
            state = trie[state, 0]
        state = child[slot] if keys[slot] >= 0 else 0
        node = state
        while node > 0:
            at = trie[node]
            at[3] += 1
            if at[3] <= at[2]:
                row[3 * at[1] - 1] += 1
            node = at[0]
