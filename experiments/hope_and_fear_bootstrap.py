"""Whether two outputs differ by more than accident: paired bootstrap resampling.

Koehn, "Statistical significance tests for machine translation evaluation" (EMNLP 2004).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tunesmith as ts

SAMPLES = 1000


def p_value(one: ArrayLike, other: ArrayLike, samples: int = SAMPLES) -> float:
    """Return how often outputs that do not differ would differ as much as these, either way.

    Parameters
    ----------
    one, other : [S, K]
        What BLEU counts of each sentence, of two outputs of the same sentences.
    samples
        How often sentences are drawn with replacement, the same of both outputs.
    """
    first, second = np.asarray(one, float), np.asarray(other, float)
    times = drawn(len(first), samples)
    differences = bleu(times @ first) - bleu(times @ second)
    observed = bleu(first.sum(axis=0)) - bleu(second.sum(axis=0))
    # Under the hypothesis that both are equally good the differences lie around 0.
    as_far = np.abs(differences - differences.mean()) >= np.abs(observed)
    return float((1 + np.count_nonzero(as_far)) / (1 + samples))


def drawn(sentences: int, samples: int) -> NDArray[np.float64]:
    """Return how often each sentence is in each sample [samples, sentences]."""
    rng = np.random.default_rng(1)
    even = np.full(sentences, 1.0 / sentences)
    return rng.multinomial(sentences, even, size=samples).astype(float)


def bleu(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return BLEU of summed counts [..., K]."""
    return np.asarray(ts.BLEU().score(sums))
