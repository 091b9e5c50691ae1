"""Language models from text: interpolated modified Kneser-Ney.

Chen & Goodman, "An empirical study of smoothing techniques for language modeling" (1998), with the
definitions of Heafield et al., "Scalable modified Kneser-Ney language model estimation" (ACL 2013),
so that models are those of KenLM's lmplz. For an n-gram "c w" with the adjusted count a(c w), the
discount D(a) of its order, and c' the context c without its first word::

    u(w | c)   = (a(c w) - D(a(c w))) / sum over x of a(c x)
    b(c)       = sum over x of D(a(c x)) / sum over x of a(c x)
    p(w | c)   = u(w | c) + b(c) p(w | c')

Below unigrams is the uniform distribution over all words, ``</s>`` and ``<unk>``.

Two things differ from lmplz, and only where a text is tiny. For the very last n-gram of each order
lmplz enters its occurrences instead of its adjusted count into the numbers that discounts come
from; and where a back-off is 0 it writes ``-inf``, which is -99 here.

Memory: the words of the text, some 150 bytes each, are always held. Sorting takes what the caller
allows. All other arrays, about 70 bytes for each distinct n-gram of any order, are in memory up to
``tunesmith.data.memory.budget`` and on disk beyond; they are read and written mostly in order.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints, Number
from tunesmith.data.memory import own_pages
from tunesmith.errors import UsageError
from tunesmith.hiero.lm.arpa import MAX_ORDER
from tunesmith.hiero.tables import Singles
from tunesmith.hiero.training.lm.ngram_counts import NgramCounter
from tunesmith.hiero.training.lm.ngram_text import BEGIN, NO_FILE, NumberedText, check_words
from tunesmith.hiero.training.lm.ngram_tree import Level, contexts_of, frequent, tree_of
from tunesmith.kernels import inlined, kernel
from tunesmith.progress import progress, tell

if TYPE_CHECKING:
    from tunesmith.hiero.lm.language_model import LanguageModel

#: Discounts of counts of 1, 2, and 3 or more where text does not tell (lmplz's own).
FALLBACK = (0.5, 1.0, 1.5)
#: What files have for the logarithm of 0.
LOG_ZERO = -99.0
#: Default limit of the bytes that sorting may take.
MEMORY = 1 << 28


@dataclass(frozen=True, eq=False)
class EstimatedModel:
    """A language model as it was estimated.

    Attributes
    ----------
    words
        The vocabulary, ``<unk>``, ``<s>`` and ``</s>`` first.
    levels
        The n-grams of each order, those that are pruned too.
    stays
        Which n-grams of each order are not pruned.
    probabilities, backoffs
        Logarithms to base 10, of each n-gram of each order; the highest has no back-offs.
    discounts
        Those of counts of 1, 2, and 3 or more, of each order.
    """

    words: tuple[str, ...]
    levels: tuple[Level, ...]
    stays: tuple[Flags, ...]
    probabilities: tuple[Singles, ...]
    backoffs: tuple[Singles, ...]
    discounts: tuple[tuple[float, float, float], ...]

    @property
    def order(self) -> int:
        """The length of its longest n-grams."""
        return len(self.levels)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many n-grams of each order it has."""
        return tuple(int(np.count_nonzero(stays)) for stays in self.stays)

    def write_arpa(self, path: str | os.PathLike[str]) -> None:
        """Write it as an ARPA file, compressed if its name ends in .gz, .bz2, .xz or .zst."""
        from tunesmith.hiero.training.lm.arpa_writer import write_arpa

        write_arpa(self, path)

    def language_model(self) -> LanguageModel:
        """Return the model that a decoder asks, by way of a temporary ARPA file."""
        from tunesmith.hiero.lm.language_model import LanguageModel

        with tempfile.TemporaryDirectory(prefix="tunesmith-") as folder:
            path = Path(folder) / "model.arpa"
            self.write_arpa(path)
            return LanguageModel.read(path)


def estimate_files(
    paths: Sequence[str | os.PathLike[str]],
    order: int = 5,
    prune: Sequence[int] = (),
    memory: int = MEMORY,
) -> EstimatedModel:
    """Estimate a language model from files with one sentence per line, plain or compressed.

    See :func:`estimate`.
    """
    if not paths:
        raise UsageError("there are no files to estimate a language model from; name at least one")
    text = NumberedText()
    name = ", ".join(os.fspath(path) for path in paths)
    return _estimated(text, text.of_files(paths), name, order, prune, memory)


def estimate(
    lines: Iterable[str], order: int = 5, prune: Sequence[int] = (), memory: int = MEMORY
) -> EstimatedModel:
    """Estimate a language model from sentences.

    Parameters
    ----------
    lines
        A sentence each, words separated by white space. An empty one counts as a sentence.
    order
        The length of the longest n-grams. Where no sentence has such n-grams the model has a lower
        order, which makes no difference to any probability.
    prune
        An n-gram that occurs so often or less is left out, by order; the last number holds for
        all higher orders. They must not descend, and that of unigrams is 0. (lmplz's --prune.)
    memory
        Bytes that sorting may take; see the module for what else is held.

    Warns
    -----
    UserWarning
        If a text is too small to tell the discounts of some order, so that those of
        :data:`FALLBACK` are used. (lmplz's --discount_fallback.)
    """
    text = NumberedText()
    return _estimated(text, text.of_lines(lines), NO_FILE, order, prune, memory)


def _estimated(
    text: NumberedText,
    blocks: Iterator[tuple[Ids, Ints]],
    name: str,
    order: int,
    prune: Sequence[int],
    memory: int,
) -> EstimatedModel:
    if not 1 <= order <= MAX_ORDER:
        raise UsageError(f"order is {order}; give 1 to {MAX_ORDER}")
    thresholds = _thresholds(prune, order)
    counter = NgramCounter(order, memory)
    sentences = 0
    for ids, lengths in blocks:
        counter.add(ids, lengths)
        sentences += len(lengths)
        progress("counting n-grams", sentences, None, "sentences")
    words = text.words
    check_words(words, name)
    levels = tree_of(counter.ranges(), order)
    del counter
    tell(f"n-grams of orders 1 to {len(levels)}: {', '.join(str(len(x.words)) for x in levels)}")
    discounts = _discounts(levels)
    return _with_probabilities(words, levels, discounts, thresholds)


def _thresholds(prune: Sequence[int], order: int) -> list[int]:
    thresholds = list(prune) or [0]
    if len(thresholds) > order:
        raise UsageError(f"prune has {len(thresholds)} numbers for {order} orders; leave some out")
    if thresholds[0] != 0 or any(b < a for a, b in itertools.pairwise(thresholds)):
        shown = ",".join(map(str, thresholds))
        raise UsageError(f"prune is {shown}; begin with 0, and let no number be less than before")
    return thresholds + [thresholds[-1]] * (order - len(thresholds))


def _discounts(levels: Sequence[Level]) -> list[tuple[float, float, float]]:
    """Estimate the discounts of each order, or say that they cannot be."""
    discounts, without = [], []
    for n, level in enumerate(levels, 1):
        estimates = discounts_of(counts_of_counts(level.counts))
        if estimates is None:
            without.append(str(n))
        discounts.append(estimates or FALLBACK)
    if without:
        warnings.warn(
            f"the text is too small or too regular to estimate the discounts of n-grams of order "
            f"{', '.join(without)}; {', '.join(map(str, FALLBACK))} are used, more text is better",
            stacklevel=4,
        )
    return discounts


def discounts_of(counts: Ints) -> tuple[float, float, float] | None:
    """Return the discounts of counts of 1, 2, and 3 or more; None where there are none.

    Chen & Goodman 1998, equation 26.

    Parameters
    ----------
    counts : int64[5]
        How many n-grams have the adjusted count 0, 1, ... 4.
    """
    if (counts[1:4] == 0).any():
        return None
    y = counts[1] / (counts[1] + 2 * counts[2])
    d1, d2, d3 = (float(j - (j + 1) * y * counts[j + 1] / counts[j]) for j in (1, 2, 3))
    in_range = 0.0 <= d1 <= 1.0 and 0.0 <= d2 <= 2.0 and 0.0 <= d3 <= 3.0
    return (d1, d2, d3) if in_range else None


def _with_probabilities(
    words: tuple[str, ...],
    levels: Sequence[Level],
    discounts: Sequence[tuple[float, float, float]],
    thresholds: Sequence[int],
) -> EstimatedModel:
    """Compute all probabilities, order by order, from what the next lower order has."""
    stays = [np.ones(len(levels[0].words), np.bool_)]
    current = _unigrams(levels[0], discounts[0])
    probabilities, backoffs = [_logarithms(current)], []
    contexts = levels[0].words
    for n in range(1, len(levels)):
        progress("estimating probabilities", n, len(levels), "orders")
        level = levels[n]
        stays.append(frequent(level, thresholds[n]))
        contexts = contexts_of(levels, n, contexts)
        by_count = np.array([0.0, *discounts[n]])
        totals, freed = (own_pages((len(levels[n - 1].words),), np.float64) for _ in range(2))
        add_up(contexts, level.counts, stays[n], by_count, totals, freed)
        longer: Floats = own_pages((len(level.words),), np.float64)
        interpolate(
            levels[n - 1].children,
            contexts,
            level.counts,
            by_count,
            totals,
            freed,
            current,
            longer,
        )
        current = longer
        probabilities.append(_logarithms(current))
        backoffs.append(_logarithms(_shares(freed, totals)))
    progress("estimating probabilities", len(levels), len(levels), "orders")
    return EstimatedModel(
        words,
        tuple(levels),
        tuple(stays),
        tuple(probabilities),
        tuple(backoffs),
        tuple(discounts),
    )


def _unigrams(level: Level, discounts: tuple[float, float, float]) -> Floats:
    """Return p(w) of all words; that of <s> is 1, so that it may be scored with a sentence."""
    by_count = np.array([0.0, *discounts])
    discounted = by_count[np.minimum(level.counts, 3)]
    uniform = 1.0 / (len(level.words) - 1)  # <unk> is one of them, <s> is not
    values = (level.counts - discounted + discounted.sum() * uniform) / level.counts.sum()
    values[BEGIN] = 1.0
    return np.asarray(values, np.float64)


def _shares(freed: Floats, totals: Floats) -> Floats:
    """Divide in place; what is no context of anything keeps all: 1."""
    none = totals == 0.0
    freed[none] = totals[none] = 1.0
    return np.divide(freed, totals, out=freed)


def _logarithms(values: Floats) -> Singles:
    logarithms: Singles = own_pages((len(values),), np.float32)
    take_logarithms(values, logarithms)
    return logarithms


@inlined
def _capped(count: Number) -> Number:
    return 3 if count > 3 else count


@kernel
def counts_of_counts(counts: Ints) -> Ints:
    """Return how many n-grams have the count 0, 1, ... 4."""
    histogram = np.zeros(5, np.int64)
    for i in range(counts.shape[0]):
        if counts[i] < 5:
            histogram[counts[i]] += 1
    return histogram


@kernel
def add_up(
    contexts: Ids, counts: Ints, stays: Flags, by_count: Floats, totals: Floats, freed: Floats
) -> None:
    """Add up the counts of each context's n-grams, and what is taken off them for lower orders.

    Off an n-gram that is pruned all is taken.
    """
    for i in range(contexts.shape[0]):
        context = contexts[i]
        totals[context] += counts[i]
        freed[context] += by_count[_capped(counts[i])] if stays[i] else counts[i]


@kernel
def interpolate(
    children: Ints,
    contexts: Ids,
    counts: Ints,
    by_count: Floats,
    totals: Floats,
    freed: Floats,
    lower: Floats,
    probabilities: Floats,
) -> None:
    """Write p(w | c) of each n-gram; ``lower`` has p(w | c') of their parents."""
    for parent in range(lower.shape[0]):
        for i in range(children[parent], children[parent + 1]):
            context = contexts[i]
            discounted = counts[i] - by_count[_capped(counts[i])]
            probabilities[i] = (discounted + freed[context] * lower[parent]) / totals[context]


@kernel
def take_logarithms(values: Floats, logarithms: Singles) -> None:
    """Logarithms to base 10, in single precision."""
    for i in range(values.shape[0]):
        logarithms[i] = np.log10(values[i]) if values[i] > 0.0 else LOG_ZERO
