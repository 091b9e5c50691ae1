"""Sentences that are decoded when a learner comes to them.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012):
Algorithm 1 decodes a sentence under the weights of the moment; the 1-best, hope and fear are of the
same forest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tunesmith.arrays import Floats
from tunesmith.inference.examples import Derivation, Example, Risk
from tunesmith.inference.forests.examples import ForestExamples
from tunesmith.inference.forests.lists import outputs
from tunesmith.metrics.candidate_scorer import Worth
from tunesmith.progress import progress
from tunesmith.tasks.lists import TuningSet
from tunesmith.tasks.live import LiveTuning

if TYPE_CHECKING:
    from collections.abc import Callable

#: Weights whose outputs are kept: an evaluation asks for the start again and again.
MOST_OUTPUTS = 32

_outputs: WeakKeyDictionary[LiveTuning, dict[bytes, TuningSet]] = WeakKeyDictionary()


class LiveExamples:
    """The sentences of a set; of each there is a forest as long as its example lives."""

    def __init__(self, tuning: LiveTuning) -> None:
        self.tuning = tuning
        self.names = tuning.names
        self.groups = tuning.groups
        self._asked = 0

    def example(self, group: int, worth: Worth) -> LiveExample:
        """Return a sentence, valued as of now, that is not decoded yet."""
        progress("sentences", self._asked % self.groups, self.groups)
        self._asked += 1
        return LiveExample(partial(self._decoded, group, worth))

    def _decoded(self, group: int, worth: Worth, weights: Floats) -> Example:
        return ForestExamples(self.tuning.forests(weights, [group])).example(0, worth)


class LiveExample:
    """One sentence: its forest is that of the weights of the first question."""

    def __init__(self, decode: Callable[[Floats], Example]) -> None:
        self._decode = decode
        self._found: Example | None = None

    def _at(self, weights: Floats) -> Example:
        if self._found is None:
            self._found = self._decode(weights)
        return self._found

    def best(self, weights: Floats) -> Derivation:
        """Return the derivation with the highest w·h."""
        return self._at(weights).best(weights)

    def augmented(self, weights: Floats, factor: float) -> Derivation:
        """Return a derivation with a high w·h + factor · B."""
        return self._at(weights).augmented(weights, factor)

    def most_worth(self, weights: Floats, among: int | None = None) -> Derivation:
        """Return the derivation that is worth most, among the so many best or all that is found."""
        return self._at(weights).most_worth(weights, among)

    def reference(self, weights: Floats) -> Derivation | None:
        """Return the best derivation of a reference translation, if there is one."""
        return self._at(weights).reference(weights)

    def risk(self, weights: Floats, temperature: float) -> Risk:
        """Return the expected worth at a temperature, and its derivative."""
        return self._at(weights).risk(weights, temperature)


def live_outputs(tuning: LiveTuning, weights: Floats) -> TuningSet:
    """Decode all sentences, and return the best derivation of each.

    What was returned for a few weights before is kept: texts alone, beside forests they are small.
    """
    held = _outputs.setdefault(tuning, {})
    key = (weights + 0.0).tobytes()
    if key not in held:
        found = tuning.forests(weights)
        while len(held) >= MOST_OUTPUTS:
            held.pop(next(iter(held)))
        held[key] = TuningSet(outputs(found.forests, weights), found.metric)
    return held[key]
