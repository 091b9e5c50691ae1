"""BLEU (Papineni et al. 2002), digit for digit as sacrebleu (Post 2018) computes it."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from tunesmith._version import __version__
from tunesmith.arrays import Floats, Ids, Ints, Number, Stats
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.errors import MissingExtraError, TunesmithError, UnknownNameError, UsageError
from tunesmith.kernels import kernel
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.parallel.local import map_pieces, pieces_of
from tunesmith.registry import option

SMOOTHINGS = ("none", "floor", "add-k", "exp")
REFERENCE_LENGTHS = ("closest", "shortest", "average")


@METRICS.register("bleu")
@dataclass(frozen=True)
class BLEU(Metric):
    """BLEU of a corpus.

    The statistics are the lengths of hypothesis and reference, then the matched n-grams
    and all n-grams of the hypothesis for n from 1 to ``order``, as in sacrebleu.
    """

    order: int = option(4, "longest n-gram")
    smoothing: Literal["none", "floor", "add-k", "exp"] = option(
        "exp", "what stands for an order without a match, as in sacrebleu"
    )
    smoothing_value: float = option(-1.0, "for floor and add-k; -1 is sacrebleu's default")
    reference_length: Literal["closest", "shortest", "average"] = option(
        "closest", "which of several references' lengths counts"
    )
    tokenize: str = option("none", "one of sacrebleu's tokenizers: 13a, intl, char, zh ...")
    lowercase: bool = option(False, "ignore case")

    def __post_init__(self) -> None:
        if self.order < 1:
            raise UsageError(f"the order of bleu is {self.order}; give 1 or more")

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Lengths, matches and totals."""
        orders = range(1, self.order + 1)
        return (
            "length",
            "reference_length",
            *(f"matches_{n}" for n in orders),
            *(f"total_{n}" for n in orders),
        )

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of one hypothesis."""
        words: dict[str, int] = {}

        def ids(text: str) -> list[int]:
            return [words.setdefault(w, len(words)) for w in self._preprocess(text).split()]

        held = [ids(text) for text in references]
        one: Stats = self._count(
            np.array([0, 1]),
            _ragged([ids(hypothesis)]),
            References(np.array([0, len(held)]), _ragged(held)),
        )[0]
        return one

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics of all candidates."""
        self.check(candidates)
        references = candidates.references
        assert references is not None
        if self.tokenize == "none" and not self.lowercase:
            return self._count(candidates.start, candidates.texts, references)
        words: dict[str, int] = {}

        def again(texts: Texts) -> Texts:
            ids, start = array("i"), array("q", [0])
            for i in range(len(texts)):
                tokens = self._preprocess(candidates.join(texts[i])).split()
                ids.extend([words.setdefault(w, len(words)) for w in tokens])
                start.append(len(ids))
            return Texts(np.array(start, np.int64), np.array(ids, np.int32))

        return self._count(
            candidates.start,
            again(candidates.texts),
            References(references.group_start, again(references.texts)),
        )

    def _count(self, start: Ints, texts: Texts, references: References) -> Stats:
        average = self.reference_length == "average"
        stats = np.zeros((len(texts), 2 + 2 * self.order), np.float64 if average else np.int32)
        mode = REFERENCE_LENGTHS.index(self.reference_length)

        def count(groups: slice) -> None:
            _count_groups(
                start,
                groups.start,
                groups.stop,
                texts.start,
                texts.ids,
                references.group_start,
                references.texts.start,
                references.texts.ids,
                mode,
                self.order,
                stats,
            )

        map_pieces(count, pieces_of(len(start) - 1, weights=np.diff(start)))
        return stats

    def _preprocess(self, text: str) -> str:
        if self.lowercase:
            text = text.lower()
        return str(_tokenizer(self.tokenize)(text.rstrip()))

    def score(self, stats: Stats) -> Floats:
        """Return BLEU in per cent."""
        rows = stats.reshape(-1, stats.shape[-1])
        out = np.empty(len(rows))
        value = self.smoothing_value
        if value < 0:
            value = {"floor": 0.1, "add-k": 1.0}.get(self.smoothing, 0.0)
        _score(rows, self.order, SMOOTHINGS.index(self.smoothing), value, out)
        return out.reshape(stats.shape[:-1])

    def details(self, stats: Stats) -> dict[str, float]:
        """Return length ratio and brevity penalty."""
        length, reference = float(stats[0]), float(stats[1])
        penalty = 1.0
        if length < reference:
            penalty = float(np.exp(1 - reference / length)) if length > 0 else 0.0
        ratio = length / reference if reference > 0 else 0.0
        return {"length_ratio": ratio, "brevity_penalty": penalty}

    def signature(self) -> str:
        """Return sacrebleu's fields and our own."""
        value = "" if self.smoothing_value < 0 else f"[{self.smoothing_value:.2f}]"
        return "|".join(
            [
                "bleu",
                f"case:{'lc' if self.lowercase else 'mixed'}",
                "eff:no",
                f"tok:{self.tokenize}",
                f"smooth:{self.smoothing}{value}",
                f"order:{self.order}",
                f"reflen:{self.reference_length}",
                f"version:tunesmith-{__version__}",
            ]
        )


def _ragged(texts: Sequence[Sequence[int]]) -> Texts:
    start = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
    return Texts(start, np.array([i for t in texts for i in t], np.int32))


@lru_cache
def _tokenizer(name: str) -> Callable[[str], str]:
    if name == "none":
        return str
    try:
        from sacrebleu.metrics import bleu
    except ImportError:
        raise MissingExtraError(f"tokenize={name}", "tokenizers") from None
    known: list[Any] = list(bleu._TOKENIZERS)
    if name not in known:
        raise UnknownNameError("tokenizer", name, known)
    try:
        tokenizer: Callable[[str], str] = bleu._get_tokenizer(name)()
    except (RuntimeError, ImportError):
        extra = name.partition("-")[0]  # ja-mecab is in sacrebleu[ja]
        raise TunesmithError(
            f"tokenize={name} needs an extra of sacrebleu; pip install 'sacrebleu[{extra}]'"
        ) from None
    return tokenizer


@kernel
def _score(rows: Stats, order: int, smoothing: int, value: float, out: Floats) -> None:
    """Compute BLEU of each row, as sacrebleu's ``compute_bleu``."""
    for r in range(rows.shape[0]):
        row = rows[r]
        length, reference = float(row[0]), float(row[1])
        any_match = False
        product = 1.0
        halved = 1.0
        for n in range(order):
            match, total = float(row[2 + n]), float(row[2 + order + n])
            any_match |= match > 0
            if smoothing == 2 and n > 0:
                match, total = match + value, total + value
            if match == 0 and total > 0:
                if smoothing == 3:
                    halved *= 2.0
                    match = 1.0 / halved
                elif smoothing == 1:
                    match = value
            product *= match / total if total > 0 else 0.0
        out[r] = 0.0
        if any_match and product > 0:
            penalty = 1.0 - reference / length if length < reference else 0.0
            # The product of a few ratios cannot underflow: one logarithm is enough.
            out[r] = 100.0 * np.exp(penalty + np.log(product) / order)


@kernel
def _count_groups(
    start: Ints,
    first: int,
    last: int,
    text_start: Ints,
    tokens: Ids,
    group_references: Ints,
    reference_start: Ints,
    reference_tokens: Ids,
    mode: int,
    order: int,
    stats: Stats,
) -> None:
    """Count clipped n-gram matches, exactly: no n-gram is ever taken for another.

    The n-grams of a group's references form a trie. Its children stand in a hash table
    under (node, token), so a hypothesis is matched by walking down from each position
    until nothing is found, and most positions end after a step or two.
    """
    most = 0
    for g in range(first, last):
        words = reference_start[group_references[g + 1]] - reference_start[group_references[g]]
        most = max(most, words)
    nodes = most * order + 1
    size = 16
    while size < 3 * nodes:
        size *= 2
    keys = np.full(size, -1, np.int64)
    child = np.empty(size, np.int32)
    limit = np.zeros(nodes, np.int32)  # most often in one reference
    count = np.zeros(nodes, np.int32)
    for g in range(first, last):
        words = reference_start[group_references[g + 1]] - reference_start[group_references[g]]
        size = 16
        while size < 3 * (words * order + 1):
            size *= 2
        mask = size - 1
        keys[:size] = -1
        used = 1
        limit[: words * order + 1] = 0
        for r in range(group_references[g], group_references[g + 1]):
            lo, hi = reference_start[r], reference_start[r + 1]
            for i in range(lo, hi):
                node: Number = 0
                for j in range(i, min(i + order, hi)):
                    key = (np.int64(node) << 32) | np.int64(reference_tokens[j])
                    slot = _slot(key, keys, mask)
                    if keys[slot] < 0:
                        keys[slot] = key
                        child[slot] = used
                        used += 1
                    node = child[slot]
                    count[node] += 1
                    limit[node] = max(limit[node], count[node])
            for node in range(used):
                count[node] = 0
        for c in range(start[g], start[g + 1]):
            lo, hi = text_start[c], text_start[c + 1]
            row = stats[c]
            row[0] = hi - lo
            row[1] = _reference_length(hi - lo, g, group_references, reference_start, mode)
            for n in range(order):
                row[2 + order + n] = max(hi - lo - n, 0)
            for undo in range(2):
                for i in range(lo, hi):
                    node = 0
                    for j in range(i, min(i + order, hi)):
                        key = (np.int64(node) << 32) | np.int64(tokens[j])
                        slot = _slot(key, keys, mask)
                        if keys[slot] < 0:
                            break
                        node = child[slot]
                        if undo:
                            count[node] = 0
                        else:
                            count[node] += 1
                            if count[node] <= limit[node]:
                                row[2 + j - i] += 1


@kernel
def _slot(key: Number, keys: Ints, mask: int) -> Number:
    """Return where a key is, or the empty place where it would be."""
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(h >> np.uint64(40)) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def _reference_length(
    length: int, g: int, group_references: Ints, reference_start: Ints, mode: int
) -> Number:
    first, last = group_references[g], group_references[g + 1]
    if mode == 2:
        return (reference_start[last] - reference_start[first]) / (last - first)
    best = reference_start[first + 1] - reference_start[first]
    for r in range(first + 1, last):
        other = reference_start[r + 1] - reference_start[r]
        if mode == 1:
            best = min(best, other)
        else:
            nearer = abs(other - length) - abs(best - length)
            if nearer < 0 or (nearer == 0 and other < best):
                best = other
    return float(best)
