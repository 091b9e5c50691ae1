"""BLEU (Papineni et al. 2002), digit for digit as sacrebleu (Post 2018) computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tunesmith._version import __version__
from tunesmith.arrays import Flags, Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import UsageError
from tunesmith.kernels import inlined, kernel
from tunesmith.metrics.base import METRICS, Metric, as_rows
from tunesmith.metrics.ngrams.counts import (
    LONGEST,
    check_references,
    count_ngrams,
    ngram_names,
    times,
)
from tunesmith.metrics.preparation import Preparation
from tunesmith.registry import option

SMOOTHINGS = ("none", "floor", "add-k", "exp")
NONE, FLOOR, ADD_K, EXP = range(4)
#: What ``smoothing_value`` is -1 for.
USUAL_VALUE = {"floor": 0.1, "add-k": 1.0}
#: BLEU of orders up to this is compared with a floor by products, which do not overflow; with so
#: much less than the floor to the power of the order, so that rounding does not matter.
SHORT, MARGIN = 8, 1.0 - 1e-9
#: A sum of statistics that is smaller counts as so much in a slope, which stays finite.
TINY = 1e-300


class Scoring(NamedTuple):
    """How statistics are scored: the last arguments of kernels, in their order."""

    order: int
    smoothing: int
    smoothing_value: float
    length_scale: float


@METRICS.register("bleu")
@dataclass(frozen=True)
class BLEU(Metric):
    """BLEU of a corpus.

    The statistics are the lengths of hypothesis and reference, then the matched n-grams
    and all n-grams of the hypothesis for n from 1 to ``order``, as in sacrebleu.
    """

    # The statistics of a lower order are among those of a higher one.
    scoring_options = frozenset({"order", "smoothing", "smoothing_value", "reference_length_scale"})

    order: int = option(4, "longest n-gram", least=1, most=LONGEST)
    smoothing: Literal["none", "floor", "add-k", "exp"] = option(
        "exp", "smoothing of an order without a match, as in sacrebleu"
    )
    smoothing_value: float = option(-1.0, "for floor and add-k; -1 is sacrebleu's default")
    reference_length: Literal["closest", "shortest", "average"] = option(
        "closest", "which of several references' lengths counts"
    )
    tokenize: str = option("none", "one of sacrebleu's tokenizers: 13a, intl, char, zh ...")
    lowercase: bool = option(False, "ignore case")
    reference_length_scale: float = option(
        1.0,
        "factor on the reference length in the brevity penalty",
        above=0,
        below=np.inf,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smoothing_value != -1 and not 0 <= self.smoothing_value < np.inf:
            raise UsageError(
                f"smoothing-value of metric 'bleu' is {self.smoothing_value:g}; give 0 or more, "
                "or -1 for sacrebleu's default"
            )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Lengths, matches and totals."""
        return ngram_names(self.order)

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of one hypothesis."""
        check_references(self.name, references)
        texts, reference_ids = self.preparation.numbered(hypothesis, references)
        stats: Stats = count_ngrams(
            np.array([0, 1]), texts, reference_ids, self.order, self.reference_length
        )[0]
        return stats

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics of all candidates."""
        self.check(candidates)
        texts, reference_ids = self.preparation.candidates(candidates)
        return count_ngrams(
            candidates.start, texts, reference_ids, self.order, self.reference_length
        )

    @property
    def preparation(self) -> Preparation:
        """What is done to texts before they are counted."""
        return Preparation(self.tokenize, self.lowercase)

    @property
    def scoring(self) -> Scoring:
        """How statistics are scored, as kernels know it."""
        is_set = self.smoothing_value >= 0 and self.smoothing in USUAL_VALUE
        value = self.smoothing_value if is_set else USUAL_VALUE.get(self.smoothing, 0.5)
        return Scoring(
            self.order, SMOOTHINGS.index(self.smoothing), value, self.reference_length_scale
        )

    def score(self, stats: Stats) -> Floats:
        """Return BLEU in per cent."""
        rows = as_rows(stats)
        out = np.empty(len(rows))
        score_rows(rows, *self.scoring, out)
        return out.reshape(stats.shape[:-1])

    def gains_along(
        self, total: Stats, changes: Stats, order: Ints, counts: Flags, floor: float
    ) -> Floats:
        """Compute those gains alone that may be the greatest so far; the others are −∞."""
        if type(self) is not BLEU:  # a class made of it may score in another way
            return super().gains_along(total, changes, order, counts, floor)
        gains = np.empty(len(order) + 1)
        _greatest_gains(total, changes, order, counts, floor, *self.scoring, gains)
        return gains

    def slope(self, stats: Stats) -> Floats:
        """Return the derivative of BLEU in natural units, d BLEU = BLEU · d log BLEU.

        Without a match of an order that nothing stands for, BLEU is 0 and so is this.
        """
        rows = as_rows(stats)
        out = np.zeros(rows.shape)
        _slope(rows, *self.scoring, out)
        return out.reshape(stats.shape)

    def details(self, stats: Stats) -> dict[str, float]:
        """Return length ratio and brevity penalty; the scale changes the penalty alone."""
        length, reference = float(stats[0]), float(stats[1])
        scaled = reference * self.reference_length_scale
        penalty = 1.0
        if length < scaled:
            penalty = float(np.exp(1 - scaled / length)) if length > 0 else 0.0
        ratio = length / reference if reference > 0 else 0.0
        return {"length_ratio": ratio, "brevity_penalty": penalty}

    def signature(self) -> str:
        """Return sacrebleu's fields and our own."""
        value = ""
        if self.smoothing_value >= 0:  # with two digits, as sacrebleu, where that is all
            short = f"{self.smoothing_value:.2f}"
            exact = short if float(short) == self.smoothing_value else repr(self.smoothing_value)
            value = f"[{exact}]"
        scale = self.reference_length_scale
        return "|".join(
            [
                "bleu",
                f"case:{'lc' if self.lowercase else 'mixed'}",
                "eff:no",
                f"tok:{self.tokenize}",
                f"smooth:{self.smoothing}{value}",
                f"order:{self.order}",
                f"reflen:{self.reference_length}",
                *([f"reflenscale:{scale!r}"] if scale != 1 else []),
                f"version:tunesmith-{__version__}",
            ]
        )


@inlined
def _log_penalty(length: float, reference: float) -> float:
    if length >= reference:
        return 0.0
    return 1.0 - reference / length if length > 0 else -np.inf


@inlined
def _smoothed(
    match: float, total: float, n: int, smoothing: int, value: float
) -> tuple[float, float, float]:
    """Return matches and n-grams of order n + 1 as they count, and how much of a match lacks.

    For whole numbers this is sacrebleu's ``compute_bleu``: with floor and exp the value stands
    for the matches where there is none, with exp half of it from the next order on. Expected
    counts lie between whole numbers. There the value counts as far as a first match lacks, from
    1 without any to 0 with one, and less than one n-gram is divided by 1. So nothing jumps where
    a match or an n-gram just becomes possible, and the sharper the distribution, the nearer is
    the score to that of the best candidates.
    """
    lacks = 0.0
    if _adds(n, smoothing, value):
        match, total = match + value, total + value
    elif total > 0:
        if match < 1 and match < total and smoothing in (FLOOR, EXP):
            lacks = min(total, 1.0) - match
            match += value * lacks
        total = max(total, 1.0)
    return match, total, lacks


@inlined
def _adds(n: int, smoothing: int, value: float) -> bool:
    """Tell whether something is added to matches and n-grams of order n + 1."""
    return smoothing == ADD_K and n > 0 and value > 0


@kernel
def score_rows(
    rows: Stats, order: int, smoothing: int, value: float, scale: float, out: Floats
) -> None:
    """Compute BLEU of each row, as sacrebleu's ``compute_bleu``."""
    for r in range(rows.shape[0]):
        row = rows[r]
        length, reference = float(row[0]), scale * float(row[1])
        most = 0.0
        product, logarithm = 1.0, 0.0
        stand_in = value
        for n in range(order):
            match, total = float(row[2 + n]), float(row[2 + order + n])
            most = max(most, match)
            match, total, lacks = _smoothed(match, total, n, smoothing, stand_in)
            if smoothing == EXP and lacks > 0:
                stand_in *= 1.0 - 0.5 * lacks
            factor = match / total if total > 0 else 0.0
            product, logarithm = times(product, logarithm, factor)
        out[r] = 0.0
        if most > 0 and product > 0:
            penalty = _log_penalty(length, reference)
            out[r] = 100.0 * np.exp(penalty + (np.log(product) + logarithm) / order)
            if most < 1 and smoothing in (FLOOR, EXP):
                out[r] *= most  # nothing stands for a match of any order at all


@kernel
def _greatest_gains(
    total: Stats,
    changes: Stats,
    steps: Ints,
    counts: Flags,
    floor: float,
    order: int,
    smoothing: int,
    value: float,
    scale: float,
    gains: Floats,
) -> None:
    """Compute BLEU in natural units after each change, or −∞ where a greater one was before."""
    row = total.copy()
    rows, score = np.empty((1, total.shape[0])), np.empty(1)
    greatest, least = floor, _least_power(floor, order)
    for t in range(gains.shape[0]):
        if t > 0:
            change = steps[t - 1]
            for k in range(row.shape[0]):
                row[k] += changes[change, k]
        gains[t] = -np.inf
        if not counts[t]:
            continue
        # BLEU to the power of the order, numerator and denominator, where nothing is smoothed.
        matches, totals, fewest = 1.0, least, np.inf
        for n in range(order):
            match, among = float(row[2 + n]), float(row[2 + order + n])
            fewest = min(fewest, match)
            added = value if _adds(n, smoothing, value) else 0.0
            matches *= match + added
            totals *= among + added
        if fewest >= 1.0:
            length, reference = float(row[0]), scale * float(row[1])
            if length < reference:
                # The penalty is exp(−x), and some terms of exp(x) are less than all of them.
                x = order * (reference / length - 1.0)
                totals *= 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0)))
            if matches < totals:
                continue
        for k in range(row.shape[0]):
            rows[0, k] = row[k]
        score_rows(rows, order, smoothing, value, scale, score)
        gains[t] = score[0] / 100.0
        if gains[t] > greatest:
            greatest = gains[t]
            least = _least_power(greatest, order)


@inlined
def _least_power(gain: float, order: int) -> float:
    """Return a bit less than a gain to the power of the order; 0 where that may not be exact."""
    if gain <= 0.0 or order > SHORT:
        return 0.0
    return MARGIN * gain**order


@kernel
def _slope(
    rows: Stats, order: int, smoothing: int, value: float, scale: float, out: Floats
) -> None:
    """Compute the derivative of BLEU in [0, 1] by each statistic of each row; ``out`` is 0.

    The logarithm of BLEU is min(0, 1 - R/C) + 1/N Σ (log m_n - log c_n) (Galley et al. 2013,
    section 4.1), where m_n and c_n are smoothed. Smoothing by exp hands a value from one order
    to the next, so orders are gone through backwards.
    """
    values = np.empty(order)
    for r in range(rows.shape[0]):
        row, slope = rows[r], out[r]
        length, reference = float(row[0]), scale * float(row[1])
        best = 0
        logarithm = _log_penalty(length, reference)
        stand_in = value
        for n in range(order):
            match, total = float(row[2 + n]), float(row[2 + order + n])
            if match > row[2 + best]:
                best = n
            values[n] = stand_in
            match, total, lacks = _smoothed(match, total, n, smoothing, stand_in)
            if smoothing == EXP:
                stand_in *= 1.0 - 0.5 * lacks
            share = match / total if total > 0 else 0.0
            logarithm += np.log(share) / order if share > 0 else -np.inf
        whole = np.exp(logarithm)
        if whole == 0.0:
            continue
        if smoothing in (FLOOR, EXP) and row[2 + best] < 1:
            slope[2 + best] = whole
            whole *= row[2 + best]
        if length < reference:
            near = max(length, TINY)
            slope[0] = whole * (reference / near / near)
            slope[1] = whole * (-scale / near)
        by_value = 0.0  # the derivative of the logarithm by the value of the next order
        for n in range(order - 1, -1, -1):
            match, total = float(row[2 + n]), float(row[2 + order + n])
            counted, among, lacks = _smoothed(match, total, n, smoothing, values[n])
            by_match = 1.0 / (order * max(counted, TINY))
            by_total = 0.0
            if total >= 1 or _adds(n, smoothing, value):
                by_total = -1.0 / (order * among)
            by_lack = values[n] * (by_match - 0.5 * by_value) if lacks > 0 else 0.0
            slope[2 + n] += whole * (by_match - by_lack)
            slope[2 + order + n] = whole * (by_total + by_lack if total < 1 else by_total)
            if smoothing == EXP:
                by_value = by_match * lacks + by_value * (1.0 - 0.5 * lacks)
