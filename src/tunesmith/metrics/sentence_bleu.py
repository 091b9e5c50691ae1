"""BLEU of single sentences, averaged: one scorer with independent switches.

Lin and Och (2004) smooth BLEU so that one sentence can be scored; PRO (Hopkins and May 2011)
smooths unigrams too. Sections 3.2 and 3.3 of Nakov, Guzmán and Vogel, "Optimizing for
sentence-level BLEU+1 yields short translations" (COLING 2012), change the smoothing and the
brevity penalty. Each row of its Tables 2 and 3 is a setting of these switches:

========================================  ==========================================
row                                       options
========================================  ==========================================
PRO                                       (defaults: BLEU+1)
PRO, PC-unsmoothed                        smoothing=none
PRO, PC-grounded                          grounded=true
PRO, BP-smoothed                          brevity=smoothed
PRO, BP-smoothed, PC-grounded             brevity=smoothed,grounded=true
PRO, scaled                               reference-length-scale=X
PRO, unclipped                            unclipped=true
PRO, unclipped, scaled                    unclipped=true,reference-length-scale=X
========================================  ==========================================

There X is the ratio of lengths after the iteration before, which the caller sets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tunesmith._version import __version__
from tunesmith.arrays import Floats, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.kernels import kernel
from tunesmith.metrics.base import METRICS, Metric, as_rows, ratio_slope
from tunesmith.metrics.ngrams.counts import (
    LONGEST,
    check_references,
    count_ngrams,
    times,
)
from tunesmith.metrics.preparation import Preparation
from tunesmith.registry import option

BREVITIES = ("standard", "smoothed", "none")
#: Scores are multiples of it. Then sums of a few thousand are exact in any order, and a line
#: search that adds and subtracts them has no rounding; the error is below 1e-10 points.
QUANTUM = 2.0**-40


@METRICS.register("sentence-bleu")
@dataclass(frozen=True)
class SentenceBLEU(Metric):
    """The mean of the sentences' BLEU.

    With m matches among h n-grams of length n, c words in the hypothesis and r in the
    reference, a sentence has (equations 1 and 2 of the paper)::

        BP · (p_1 · ... · p_N)^(1/N),  p_n = (m + α)/(h + α),  BP = min(1, exp(1 − r/c))

    p_n is 0 where h + α is 0. BP is 1 if both lengths are 0. An empty hypothesis of a
    sentence whose reference is not empty has 0, whatever the switches.
    """

    is_sum = True

    order: int = option(4, "longest n-gram", least=1, most=LONGEST)
    smoothing: Literal["add-one", "none", "add-alpha", "lin-och"] = option(
        "add-one", "what is added to matches and totals; lin-och is add-one without unigrams"
    )
    alpha: float = option(1.0, "what add-alpha adds", above=0, below=math.inf)
    grounded: bool = option(False, "subtract the precision of a text without any match")
    brevity: Literal["standard", "smoothed", "none"] = option(
        "standard", "the brevity penalty; smoothed: the reference has one word more"
    )
    unclipped: bool = option(False, "let the brevity penalty be above 1 for long hypotheses")
    reference_length_scale: float = option(
        1.0,
        "factor on the reference length in the brevity penalty",
        above=0,
        below=math.inf,
    )
    reference_length: Literal["closest", "shortest", "average"] = option(
        "closest", "which of several references' lengths counts"
    )
    tokenize: str = option("none", "one of sacrebleu's tokenizers: 13a, intl, char, zh ...")
    lowercase: bool = option(False, "ignore case")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha != 1 and self.smoothing != "add-alpha":
            raise UsageError(
                f"alpha of {self.name} needs smoothing=add-alpha, it is {self.smoothing}; "
                "set one or leave out the other"
            )
        if self.brevity == "none" and (self.unclipped or self.reference_length_scale != 1):
            raise UsageError(
                f"{self.name} with brevity=none has no use for unclipped and "
                "reference-length-scale; leave them out"
            )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The sum of the sentences' scores, their number, and lengths."""
        return ("sum", "count", "length", "reference_length")

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of one hypothesis."""
        check_references(self.name, references)
        texts, reference_ids = self._preparation.numbered(hypothesis, references)
        counts = count_ngrams(
            np.array([0, 1]), texts, reference_ids, self.order, self.reference_length
        )
        stats: Stats = self._stats_of(counts)[0]
        return stats

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics of all candidates."""
        return self._stats_of(self.ngram_counts(candidates))

    def ngram_counts(self, candidates: CandidateSet) -> Stats:
        """Return the counts [N, 2 + 2 * order] of BLEU that the scores are made of."""
        self.check(candidates)
        texts, reference_ids = self._preparation.candidates(candidates)
        return count_ngrams(
            candidates.start, texts, reference_ids, self.order, self.reference_length
        )

    def sentence_scores(self, counts: Stats) -> Floats:
        """Return the score in natural units (1 for a perfect match) of each row of counts.

        Parameters
        ----------
        counts : [..., 2 + 2 * order]
            Lengths, matches and totals as BLEU's statistics; of one sentence, or of a
            sentence added to a pseudo-document. They need not be whole.
        """
        if counts.shape[-1] != 2 + 2 * self.order:
            raise TunesmithError(
                f"{self.name} of order {self.order} is made of {2 + 2 * self.order} counts, "
                f"not of {counts.shape[-1]}; count with the same order"
            )
        rows = as_rows(counts)
        out = np.empty(len(rows))
        _scores(
            rows,
            self.order,
            0.0 if self.smoothing == "none" else self.alpha,
            1 if self.smoothing == "lin-och" else 0,
            self.grounded,
            BREVITIES.index(self.brevity),
            self.unclipped,
            self.reference_length_scale,
            out,
        )
        return out.reshape(counts.shape[:-1])

    def _stats_of(self, counts: Stats) -> Stats:
        stats = np.ones((len(counts), 4))
        stats[:, 0] = QUANTUM * np.rint(self.sentence_scores(counts) / QUANTUM)
        stats[:, 2:] = counts[:, :2]
        return stats

    @property
    def _preparation(self) -> Preparation:
        return Preparation(self.tokenize, self.lowercase)

    def score(self, stats: Stats) -> Floats:
        """Return the mean, times 100."""
        count = stats[..., 1]
        return 100.0 * stats[..., 0] / np.where(count > 0, count, 1)

    def slope(self, stats: Stats) -> Floats:
        """Return the derivative of the mean; lengths are for information."""
        return ratio_slope(stats, 0, 1)

    def details(self, stats: Stats) -> dict[str, float]:
        """Return the length ratio of the corpus."""
        return {"length_ratio": float(stats[2] / stats[3]) if stats[3] > 0 else 0.0}

    def signature(self) -> str:
        """Return all switches."""
        alpha = f"[{self.alpha!r}]" if self.smoothing == "add-alpha" else ""
        scale = self.reference_length_scale
        return "|".join(
            [
                "sentence-bleu",
                f"case:{'lc' if self.lowercase else 'mixed'}",
                f"tok:{self.tokenize}",
                f"smooth:{self.smoothing}{alpha}",
                f"grounded:{'yes' if self.grounded else 'no'}",
                f"brevity:{self.brevity}",
                f"unclipped:{'yes' if self.unclipped else 'no'}",
                f"order:{self.order}",
                f"reflen:{self.reference_length}",
                *([f"reflenscale:{scale!r}"] if scale != 1 else []),
                f"version:tunesmith-{__version__}",
            ]
        )


@kernel
def _scores(
    rows: Stats,
    order: int,
    alpha: float,
    smoothed_from: int,
    grounded: bool,
    brevity: int,
    unclipped: bool,
    scale: float,
    out: Floats,
) -> None:
    """Compute BLEU of each row; ``smoothed_from`` is the first smoothed order, from 0."""
    for r in range(rows.shape[0]):
        row = rows[r]
        product, logarithm = 1.0, 0.0
        ground, ground_logarithm = 1.0, 0.0
        for n in range(order):
            added = alpha if n >= smoothed_from else 0.0
            match, total = float(row[2 + n]) + added, float(row[2 + order + n]) + added
            product, logarithm = times(product, logarithm, match / total if total > 0 else 0.0)
            if grounded:
                share = added / total if total > 0 else 0.0
                ground, ground_logarithm = times(ground, ground_logarithm, share)
        precision = np.exp((np.log(product) + logarithm) / order) if product > 0 else 0.0
        if grounded and ground > 0:
            precision -= np.exp((np.log(ground) + ground_logarithm) / order)
        length, reference = float(row[0]), float(row[1])
        if length == 0 and reference > 0:
            precision = 0.0
        # Scaled is the reference's own length, not the word that smoothing adds.
        reference = scale * reference + (1.0 if brevity == 1 else 0.0)
        penalty = 0.0
        if brevity != 2 and reference != length and (unclipped or length < reference):
            penalty = 1.0 - reference / length if length > 0 else -np.inf
        out[r] = precision * np.exp(penalty)
