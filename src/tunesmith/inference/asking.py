"""What a set can be asked, given weights, whatever form its candidates have.

Tuners and commands ask here, so that they need not know whether they sit on lists or on forests.
What only forests need is imported when there are some.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.inference.examples import Examples
from tunesmith.inference.hypotheses import Hypotheses
from tunesmith.inference.lists.examples import ListExamples
from tunesmith.inference.lists.hypotheses import ListHypotheses, best
from tunesmith.tasks.base import Tunable
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet
from tunesmith.tasks.live import LiveTuning


class TuningHypotheses(Hypotheses, Protocol):
    """Hypotheses that know what they are of."""

    @property
    def tuning(self) -> Tunable:
        """The set."""
        ...

    def sizes(self) -> Floats:
        """Return each feature's size: the spread of dense ones, of sparse ones where they are on.

        The spread of a feature that is seldom on is small. In units of it a change of the weight
        would count little, and whatever tells a few candidates from others would be learnt by
        heart.
        """
        ...

    def renewed(self, weights: Floats, before: TuningHypotheses | None = None) -> TuningHypotheses:
        """Return what expectations around some weights are over.

        It is usually all there is. Where only lists of a forest's derivations have expectations,
        it is lists of the best ones under the weights, with all that was there before: what was
        returned for other weights.
        """
        ...


#: How many derivations of a forest tell what is usual: lengths, and how much scores differ.
USUAL = 20
#: How sharp the distribution of samples is, in units of the deviation of the scores.
SAMPLES_SHARPNESS = 3.0


def hypotheses_of(tuning: Tunable) -> TuningHypotheses:
    """Return what line searches and gradients ask.

    Of sentences that are decoded when they are needed it is the forests under the start.
    """
    if isinstance(tuning, LiveTuning):
        tuning = tuning.usual
    if isinstance(tuning, ForestTuning):
        from tunesmith.inference.forests.hypotheses import ForestHypotheses

        return ForestHypotheses(tuning)
    return ListHypotheses(_lists(tuning))


def examples_of(tuning: Tunable) -> Examples:
    """Return the sentences, one at a time."""
    if isinstance(tuning, LiveTuning):
        from tunesmith.inference.forests.live import LiveExamples

        return LiveExamples(tuning)
    if isinstance(tuning, ForestTuning):
        from tunesmith.inference.forests.examples import ForestExamples

        return ForestExamples(tuning)
    return ListExamples(_lists(tuning))


def winners(tuning: Tunable, weights: Floats) -> TuningSet:
    """Return what weights choose: a set with one candidate per group, and no features."""
    if isinstance(tuning, LiveTuning):
        from tunesmith.inference.forests.live import live_outputs

        return live_outputs(tuning, weights)
    if isinstance(tuning, ForestTuning):
        from tunesmith.inference.forests.lists import outputs

        return TuningSet(outputs(tuning.forests, weights), tuning.metric)
    held = _lists(tuning)
    chosen = best(held.candidates, weights)
    return held.of(held.candidates.chosen(chosen), held.stats[chosen])


def total_at(tuning: Tunable, weights: Floats) -> Stats:
    """Return the sum of the statistics [K] of what weights choose."""
    if isinstance(tuning, TuningSet):
        return tuning.total(best(tuning.candidates, weights))
    total: Stats = winners(tuning, weights).stats.sum(axis=0)
    return total


def score_at(tuning: Tunable, weights: Floats) -> float:
    """Score what weights choose, on the customary scale."""
    if isinstance(tuning, TuningSet):
        return tuning.score(best(tuning.candidates, weights))
    return all_of(winners(tuning, weights))


def all_of(outputs_alone: TuningSet) -> float:
    """Score a set that has one candidate per group."""
    return outputs_alone.score(np.arange(outputs_alone.groups))


def changed_choices(tuning: Tunable, before: Floats, after: Floats) -> int:
    """Return how many groups choose another candidate with other weights."""
    if isinstance(tuning, TuningSet):
        first, second = (best(tuning.candidates, weights) for weights in (before, after))
        return int((first != second).sum())
    one, other = (winners(tuning, weights).candidates.texts for weights in (before, after))
    return sum(one[g].tobytes() != other[g].tobytes() for g in range(tuning.groups))


def usual_lists(tuning: Tunable, weights: Floats) -> TuningSet:
    """Return lists that tell what is usual: the set itself, or a few of the best derivations."""
    if isinstance(tuning, LiveTuning):
        tuning = tuning.usual
    if isinstance(tuning, ForestTuning):
        from tunesmith.inference.forests.lists import kbest_lists

        return TuningSet(kbest_lists(tuning.forests, weights, USUAL), tuning.metric)
    return _lists(tuning)


def best_lists(tuning: ForestTuning, weights: Floats, most: int | None = None) -> TuningSet:
    """Return the best derivations of each forest as lists, of the size that its options say.

    With ``most`` lists are shorter, so that there are about so many derivations in all.
    """
    from tunesmith.inference.forests.lists import kbest_lists

    size = tuning.options.size
    if most is not None:
        size = max(1, min(size, most // tuning.groups))
    return TuningSet(kbest_lists(tuning.forests, weights, size), tuning.metric)


def merged_lists(before: TuningSet, more: TuningSet) -> TuningSet:
    """Return two lists of the same forests as one; nothing is counted again."""
    from tunesmith.inference.forests.lists import merged

    return merged(before, more)


def learning_lists(tuning: Tunable, weights: Floats, rng: np.random.Generator) -> TuningSet:
    """Return lists to learn from: the set itself, or those that a forest's options ask for.

    Samples are of the distribution exp(3 w·h / σ), σ being the deviation of the scores of all
    derivations: neither the best alone, nor anything at all.
    """
    if not isinstance(tuning, ForestTuning):
        return _lists(tuning)
    from tunesmith.inference.forests.expectation import score_deviation
    from tunesmith.inference.forests.lists import sampled_lists

    forests, size = tuning.forests, tuning.options.size
    if tuning.options.lists == "kbest":
        return best_lists(tuning, weights)
    deviation = score_deviation(forests, weights)
    sharpness = SAMPLES_SHARPNESS / deviation if deviation > 0.0 else 0.0
    seed = int(rng.integers(2**62))
    return TuningSet(sampled_lists(forests, weights, sharpness, size, seed), tuning.metric)


def oracle_at(tuning: Tunable, weights: Floats, worst: bool = False) -> tuple[float, bool]:
    """Return the best score that any choice has, and whether none is better.

    Where it is not exact it is a bound: what was found, never worse than what the weights choose.
    """
    if isinstance(tuning, LiveTuning):
        tuning = tuning.forests(weights)
    if isinstance(tuning, ForestTuning):
        from tunesmith.inference.forests.oracle import forest_oracle

        return forest_oracle(tuning, weights, worst)
    held = _lists(tuning)
    found = held.oracle(worst, begin=best(held.candidates, weights))
    return found.score, found.exact


def _lists(tuning: Tunable) -> TuningSet:
    if not isinstance(tuning, TuningSet):
        raise TypeError(f"{type(tuning).__name__} is neither a TuningSet nor a ForestTuning")
    return tuning
