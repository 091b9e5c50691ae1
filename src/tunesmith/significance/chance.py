"""How likely a difference is by chance: p-values, intervals, and corrections for many tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.significance.scoring import Scores


def p_value(samples: Scores, difference: float, slack: float = 0.0) -> float:
    """Return the share of samples beyond a difference, as MultEval and sacrebleu count it.

    The difference itself counts as one more sample, so that the probability of rejecting a true
    hypothesis is no greater than the level of the test. A sample that equals it does not count.

    Parameters
    ----------
    slack
        By how much rounding may have moved what is equal.
    """
    beyond = int(np.sum(samples > difference + slack))
    return (beyond + 1) / (len(samples) + 1)


def p_value_with_ties(samples: Scores, difference: float, slack: float = 0.0) -> float:
    """Return the same where samples that equal the difference count too: never too small."""
    beyond = int(np.sum(samples >= difference - slack))
    return (beyond + 1) / (len(samples) + 1)


def centred(differences: Scores) -> Scores:
    """Return sizes of bootstrapped differences as if there were none, as sacrebleu does."""
    sizes: Scores = np.abs(differences)
    moved: Scores = sizes - sizes.mean()
    return moved


def half_interval(scores: Scores) -> tuple[float, float]:
    """Return the mean and half the width of the 95 % interval, as sacrebleu's ``estimate_ci``."""
    ordered = np.sort(scores)
    lower, upper = _edges(ordered)
    return float(ordered.mean()), float(0.5 * (ordered[upper] - ordered[lower]))


def interval(scores: Scores) -> tuple[float, float]:
    """Return the ends of the 95 % interval."""
    ordered = np.sort(scores)
    lower, upper = _edges(ordered)
    return float(ordered[lower]), float(ordered[upper])


def _edges(ordered: Scores) -> tuple[int, int]:
    lower = len(ordered) // 40
    return lower, len(ordered) - lower - 1


def holm(values: Sequence[float]) -> list[float]:
    """Correct p-values for being several (Holm 1979).

    If all those up to a level are called significant, the probability that any of them is so by
    chance is no greater than the level.
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    corrected = [1.0] * len(values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[i]))
        corrected[i] = highest
    return corrected
