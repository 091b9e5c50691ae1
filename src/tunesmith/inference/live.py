"""Sentences that are decoded when a learner reaches them.

Chiang, "Hope and fear for discriminative training of statistical translation models" (JMLR 2012):
Algorithm 1 decodes a sentence under the weights of the moment; the 1-best, hope and fear are of the
same forest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from tunesmith.arrays import Floats
from tunesmith.inference.ahead import DecodingAhead
from tunesmith.inference.examples import Derivation, Example, Examples, Risk
from tunesmith.metrics.candidate_scorer import CandidateScorer
from tunesmith.parallel.local import thread_count
from tunesmith.progress import progress


class LiveExamples:
    """The sentences of a set; of each there is a forest as long as its example lives.

    Parameters
    ----------
    names, groups
        The features, and the number of sentences.
    decode
        Decodes a sentence under weights.
    is_thread_safe
        Whether threads may do so at the same time.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        groups: int,
        decode: Callable[[int, Floats], Examples],
        is_thread_safe: bool = False,
    ) -> None:
        self.names = names
        self.groups = groups
        self._decode = decode
        self._is_thread_safe = is_thread_safe
        self._count = 0

    @contextmanager
    def in_order(self, order: Sequence[int]) -> Iterator[None]:
        """Decode the next sentence of an order ahead, within the block, where a thread is free."""
        if not self._is_thread_safe or thread_count() < 2:
            yield
            return
        decode = self._decode
        with DecodingAhead(decode, order) as ahead:
            self._decode = ahead
            try:
                yield
            finally:
                self._decode = decode

    def example(self, group: int, scorer: CandidateScorer) -> LiveExample:
        """Return a sentence, valued as of now, that is not decoded yet."""
        progress("sentences", self._count % self.groups, self.groups)
        self._count += 1
        return LiveExample(partial(self._decoded, group, scorer))

    def _decoded(self, group: int, scorer: CandidateScorer, weights: Floats) -> Example:
        return self._decode(group, weights).example(0, scorer)


class LiveExample:
    """One sentence, decoded under the weights of the first question."""

    def __init__(self, decode: Callable[[Floats], Example]) -> None:
        self._decode = decode
        self._forest_example: Example | None = None

    def _at(self, weights: Floats) -> Example:
        if self._forest_example is None:
            self._forest_example = self._decode(weights)
        return self._forest_example

    def best(self, weights: Floats) -> Derivation:
        """Return the derivation with the highest w·h."""
        return self._at(weights).best(weights)

    def augmented(self, weights: Floats, factor: float) -> Derivation:
        """Return a derivation with a high w·h + factor · B."""
        return self._at(weights).augmented(weights, factor)

    def oracle(self, weights: Floats, among: int | None = None) -> Derivation:
        """Return the derivation with the highest gain, of the ``among`` best or of all."""
        return self._at(weights).oracle(weights, among)

    def reference(self, weights: Floats) -> Derivation | None:
        """Return the best derivation of a reference translation, if there is one."""
        return self._at(weights).reference(weights)

    def risk(self, weights: Floats, temperature: float) -> Risk:
        """Return the expected gain at a temperature, and its derivative."""
        return self._at(weights).risk(weights, temperature)
