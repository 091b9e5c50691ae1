"""Sentences that are decoded while the one before is learnt from.

A learner needs each sentence under the weights of the moment, and the sentence before may change
them. Many do not: where the 1-best was good enough, there is no update. So a thread decodes the
next sentence under the weights of now; if they are still the same to the last bit when the learner
reaches it, that is its forest, and otherwise it is decoded again. What is learnt is therefore the
same, whether or not anything is decoded ahead.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, NamedTuple, TypeVar

from tunesmith.arrays import Floats
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.local import threads_of_piece

T = TypeVar("T")

#: How much the last sentence counts in the share of those that leave the weights as they are, and
#: from which share on decoding ahead is worth what is decoded in vain.
RECENT, ENOUGH = 0.1, 0.2


class Pending(NamedTuple, Generic[T]):
    """A sentence that is being decoded ahead, under which weights, and what comes of it."""

    group: int
    weights: bytes
    result: Future[T]


class DecodingAhead(Generic[T]):
    """Decodes the sentences of an order, as a context: each as it is asked for, and the next.

    Parameters
    ----------
    decode
        Decodes a sentence under weights; two threads call it at the same time.
    order
        The numbers of the sentences, each once.

    Attributes
    ----------
    taken
        How many sentences had been decoded ahead under the right weights.
    """

    def __init__(self, decode: Callable[[int, Floats], T], order: Sequence[int]) -> None:
        self.taken = 0
        self._decode = decode
        self._following = dict(itertools.pairwise(order))
        self._pool = ThreadPoolExecutor(1)
        self._pending: Pending[T] | None = None
        self._last = b""
        self._same = 1.0

    def __enter__(self) -> DecodingAhead[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def __call__(self, group: int, weights: Floats) -> T:
        """Return what a sentence is decoded to under weights, and begin with the next one."""
        now = weights.tobytes()
        if self._last:
            self._same += RECENT * ((now == self._last) - self._same)
        self._last = now
        pending, self._pending = self._pending, None
        is_right = pending is not None and (pending.group, pending.weights) == (group, now)
        if pending is not None and not is_right:
            pending.result.cancel()
        if group in self._following and self._same >= ENOUGH:
            following = self._following[group]
            # Of its own: the learner changes its weights in place.
            result = self._pool.submit(self._decode_aside, following, weights.copy())
            self._pending = Pending(following, now, result)
        if pending is not None and is_right:
            self.taken += 1
            return pending.result.result()
        return self._decode(group, weights)

    def _decode_aside(self, group: int, weights: Floats) -> T:
        with threads_of_piece(1), working_on(None):
            return self._decode(group, weights)
