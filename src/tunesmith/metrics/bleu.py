"""BLEU (Papineni et al. 2002), digit for digit as sacrebleu (Post 2018) computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tunesmith._version import __version__
from tunesmith.arrays import Floats, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import UsageError
from tunesmith.kernels import kernel
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.ngrams import (
    check_options,
    check_references,
    count_ngrams,
    ngram_names,
    times,
)
from tunesmith.metrics.preparation import Preparation
from tunesmith.registry import option

SMOOTHINGS = ("none", "floor", "add-k", "exp")
#: What ``smoothing_value`` is -1 for.
USUAL_VALUE = {"floor": 0.1, "add-k": 1.0}


@METRICS.register("bleu")
@dataclass(frozen=True)
class BLEU(Metric):
    """BLEU of a corpus.

    The statistics are the lengths of hypothesis and reference, then the matched n-grams
    and all n-grams of the hypothesis for n from 1 to ``order``, as in sacrebleu.
    """

    # The statistics of a lower order are among those of a higher one.
    scoring_options = frozenset({"order", "smoothing", "smoothing_value", "reference_length_scale"})

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
    reference_length_scale: float = option(
        1.0, "what the reference length is multiplied by in the brevity penalty"
    )

    def __post_init__(self) -> None:
        check_options(self, self.order, self.reference_length_scale)
        if self.smoothing_value != -1 and not 0 <= self.smoothing_value < np.inf:
            raise UsageError(
                f"smoothing-value of bleu is {self.smoothing_value:g}; give 0 or more, "
                "or -1 for sacrebleu's default"
            )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Lengths, matches and totals."""
        return ngram_names(self.order)

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Return the statistics of one hypothesis."""
        check_references(self.name, references)
        texts, held = self._preparation.numbered(hypothesis, references)
        one: Stats = count_ngrams(np.array([0, 1]), texts, held, self.order, self.reference_length)[
            0
        ]
        return one

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the statistics of all candidates."""
        self.check(candidates)
        texts, held = self._preparation.candidates(candidates)
        return count_ngrams(candidates.start, texts, held, self.order, self.reference_length)

    @property
    def _preparation(self) -> Preparation:
        return Preparation(self.tokenize, self.lowercase)

    def score(self, stats: Stats) -> Floats:
        """Return BLEU in per cent."""
        rows = stats.reshape(-1, stats.shape[-1])
        out = np.empty(len(rows))
        value = self.smoothing_value
        if value < 0:
            value = USUAL_VALUE.get(self.smoothing, 0.0)
        smoothing = SMOOTHINGS.index(self.smoothing)
        _score(rows, self.order, smoothing, value, self.reference_length_scale, out)
        return out.reshape(stats.shape[:-1])

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


@kernel
def _score(
    rows: Stats, order: int, smoothing: int, value: float, scale: float, out: Floats
) -> None:
    """Compute BLEU of each row, as sacrebleu's ``compute_bleu``."""
    for r in range(rows.shape[0]):
        row = rows[r]
        length, reference = float(row[0]), scale * float(row[1])
        any_match = False
        product, logarithm = 1.0, 0.0
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
            factor = match / total if total > 0 else 0.0
            product, logarithm = times(product, logarithm, factor)
        out[r] = 0.0
        if any_match and product > 0:
            penalty = 1.0 - reference / length if length < reference else 0.0
            out[r] = 100.0 * np.exp(penalty + (np.log(product) + logarithm) / order)
