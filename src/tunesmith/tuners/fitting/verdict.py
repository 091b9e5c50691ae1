"""Whether tuned weights are better than the start on sentences that they were not tuned on.

A score on the tuning set says little of other sentences. A verdict compares the tuned weights with
the start on held-out sentences, gives an interval, and says what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.metrics.base import Metric

Recommendation = Literal["use", "keep-start", "not-enough-data", "no-held-out-data"]
HeldOutKind = Literal["test", "dev", "folds", "hold-out"]

#: With fewer held-out sentences than this, an interval by resampling means little.
ENOUGH = 30
#: Samples drawn with replacement, and the random numbers that are in memory at a time.
RESAMPLES, AT_ONCE = 2000, 1 << 22
#: The share of samples in the interval.
CONFIDENCE = 0.95
#: Standard errors in half of a 95 % interval.
HALF_WIDTH = 1.96

#: Metrics whose names are abbreviations.
_UPPER = {"bleu", "ter", "wer", "cer"}
_COLUMNS = {"column", "cost"}


@dataclass(frozen=True)
class Verdict:
    """What held-out sentences say of tuned weights.

    Attributes
    ----------
    recommendation
        ``use`` if the whole interval is above 0, ``keep-start`` if not, ``not-enough-data`` with
        too few sentences, ``no-held-out-data`` where nothing was held out.
    gain
        By how much the tuned weights are better than the start, in the metric's unit: more is
        better, for error rates too.
    low, high
        The 95 % interval of the gain.
    on
        Where it was measured: on the ``test`` set, on ``folds`` of the tuning set in turn, on a
        part of it (``hold-out``), or on the ``dev`` set.
    sentences
        The number of held-out sentences.
    higher_is_better
        Whether more of the metric is better, so that a gain is a higher score.
    """

    recommendation: Recommendation
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    on: HeldOutKind | None = None
    sentences: int = 0
    higher_is_better: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return asdict(self)

    def text(
        self,
        metric: str,
        in_loop: bool = False,
        *,
        groups: str = "sentences",
        start: str = "the start",
        digits: int | None = None,
    ) -> str:
        """Say it in one line, as changes of a metric's score.

        ``in_loop`` says whether a decoder was in the loop, so that there can be no folds. Groups
        may be no sentences, and the start may have a name of its own.
        """
        if self.gain is None or self.low is None or self.high is None:
            remedy = "--folds 5, --hold-out 20% or a test set"
            if in_loop:
                remedy = "sentences as --dev-source or --test-source"
            return f"nothing was held out, so the gain on other {groups} is unknown; give {remedy}"
        unit = metric_label(metric)
        sign = 1.0 if self.higher_is_better else -1.0
        if digits is None:
            digits = 2 if max(abs(self.low), abs(self.high)) >= 0.1 else 4
        ends = sorted((sign * self.low + 0.0, sign * self.high + 0.0))  # no negative zeros
        interval = " to ".join(f"{end:+.{digits}f}" for end in ends)
        figures = f"{sign * self.gain + 0.0:+.{digits}f} {unit} (95 %: {interval})"
        measured = f"on {self.sentences} unseen {groups} {figures}"
        if self.on == "dev":
            measured = f"on the {self.sentences} {groups} of the held-out set {figures}"
        advice = {
            "use": "use these weights",
            "keep-start": f"no gain beyond chance: keep {start}",
            "not-enough-data": f"fewer than {ENOUGH} {groups}: not enough to tell",
        }[self.recommendation]
        if self.recommendation == "keep-start" and self.high < 0.0:
            advice = f"worse than {start}: keep {start}"
        return f"{measured}: {advice}"


#: Nothing was held out.
UNKNOWN = Verdict("no-held-out-data")


def metric_label(name: str) -> str:
    """Return how a metric's name is written in a sentence; of a column, the column's name."""
    short, _, rest = name.partition(":")
    if short in _COLUMNS:
        return rest
    return short.upper() if short in _UPPER else short


@dataclass(frozen=True)
class PairedStatistics:
    """Statistics of held-out sentences before and after tuning.

    Attributes
    ----------
    before, after : [S, K]
        Of what the start and the tuned weights choose in each sentence.
    fold : int64[S]
        In which fold each sentence was held out; None if one weight vector was tuned.
    """

    before: Stats
    after: Stats
    fold: Ints | None = None


def judge(metric: Metric, held_out: PairedStatistics, on: HeldOutKind) -> Verdict:
    """Estimate the gain on held-out sentences, with an interval.

    Sentences are drawn with replacement (Koehn 2004), the same ones before and after. Over folds,
    weights differ too: where the gains of the folds differ by more than their sentences explain,
    the interval is widened to the standard error of their mean.
    """
    sign = 1.0 if metric.higher_is_better else -1.0
    before, after, fold = held_out.before, held_out.after, held_out.fold
    sentences = len(before)

    def gain_of(rows: Any) -> float:
        scores = (float(metric.score(output[rows].sum(axis=0))) for output in (after, before))
        return sign * (next(scores) - next(scores))

    gain = gain_of(slice(None))
    if np.array_equal(before, after):
        low = high = 0.0
    else:
        scores = resampled_scores(metric, [before, after])
        gains = sign * (scores[:, 1] - scores[:, 0])
        tail = 50.0 * (1.0 - CONFIDENCE)
        low, high = (float(x) for x in np.percentile(gains, [tail, 100.0 - tail]))
        if fold is not None:
            of_folds = [gain_of(fold == k) for k in np.unique(fold)]
            error = float(np.std(of_folds, ddof=1)) / len(of_folds) ** 0.5
            half = HALF_WIDTH * error
            low, high = min(low, gain - half), max(high, gain + half)
    recommendation: Recommendation = "use" if low > 0.0 else "keep-start"
    if sentences < ENOUGH:
        recommendation = "not-enough-data"
    return Verdict(recommendation, gain, low, high, on, sentences, metric.higher_is_better)


def resampled_scores(metric: Metric, outputs: Sequence[Stats]) -> Floats:
    """Return the scores [RESAMPLES, n] of n outputs over sentences drawn with replacement.

    Parameters
    ----------
    outputs : [S, K]
        The statistics of the same sentences in each output; all are scored on the same draws.
    """
    sentences, width = outputs[0].shape
    both = np.concatenate(outputs, axis=1).astype(np.float64)
    rng = np.random.default_rng(sentences)
    at_once = max(1, AT_ONCE // sentences)
    sums = np.empty((RESAMPLES, len(outputs) * width))
    for first in range(0, RESAMPLES, at_once):
        count = min(at_once, RESAMPLES - first)
        drawn = rng.integers(0, sentences, (count, sentences))
        offset = sentences * np.arange(count)[:, None]
        times = np.bincount((drawn + offset).ravel(), minlength=count * sentences)
        # Unlike with BLAS, no bit depends on the number of threads.
        sums[first : first + count] = csr_array(times.reshape(count, sentences)) @ both
    return np.stack(
        [
            np.asarray(metric.score(sums[:, k : k + width]), np.float64)
            for k in range(0, sums.shape[1], width)
        ],
        axis=1,
    )
