"""A metric of your own: how many outputs equal a reference."""

from dataclasses import dataclass

import numpy as np

from tunesmith.metrics.base import METRICS, Metric, ratio_slope
from tunesmith.registry import option


@METRICS.register("exact-match")
@dataclass(frozen=True)
class ExactMatch(Metric):
    """The share of outputs that equal a reference, in per cent."""

    is_sum = True  # an average over sentences: each can be chosen by itself
    stat_names = ("right", "all")
    lowercase: bool = option(False, "ignore case")

    def stats(self, hypothesis, references):
        """Return the statistics of one output; they are added up over sentences."""
        texts = [t.lower() if self.lowercase else t for t in (hypothesis, *references)]
        return np.array([texts[0] in texts[1:], 1])

    def score(self, stats):
        """Score summed statistics [..., 2], on the scale that users see."""
        return 100.0 * stats[..., 0] / stats[..., 1]

    def slope(self, stats):
        """Return the derivative of right/all by each of the two; for gradients, may be left out."""
        return ratio_slope(stats, 0, 1)

    def signature(self):
        """Say what is needed to compute the same again."""
        return f"exact-match|case:{'lc' if self.lowercase else 'mixed'}"
