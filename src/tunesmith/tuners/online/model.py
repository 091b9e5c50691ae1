"""What online learning learns: weights w, learning rates Σ, and the average of the weights."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from tunesmith.arrays import Floats, Ids
from tunesmith.kernels import kernel
from tunesmith.search.space.space import Space

#: x of the update w + Σx: features, and their values.
Update: TypeAlias = tuple[Ids, Floats]


class Model:
    """Weights, learning rates, and what the average of the weights takes.

    The average is computed as in Daumé (2006, page 19): an update counts for all sentences that
    follow, so that only the weights that change are touched.

    Attributes
    ----------
    weights, rates : float64[D]
        w, and the diagonal of Σ.
    late : float64[D]
        tw − s, where s is the sum of the weights after each sentence.
    sentences
        t, the number of sentences seen.
    space
        What weights may be; None where nothing is restricted. Each update ends at the nearest
        weights of the space, by the metric of the update itself: Σ⁻¹. Weights that do not vary
        have no learning rate, so that an update does not count on them.
    """

    def __init__(self, weights: Floats, rates: Floats, space: Space | None = None) -> None:
        self.weights = weights
        self.rates = rates
        self.space = None if space is None or space.is_free else space
        if self.space is not None:
            weights[:] = self.space.exact(weights)
            rates[self.space.owner < 0] = 0.0
        self.sentences = 0
        self.late = np.zeros(len(weights))

    def add(self, update: Update | None) -> None:
        """Update the weights, or leave them as they are for this sentence."""
        if update is not None:
            add_update(*update, self.rates, self.sentences, self.weights, self.late)
            if self.space is not None:
                inside = self.space.nearest(self.weights, self.rates)
                self.late += self.sentences * (inside - self.weights)
                self.weights[:] = inside
        self.sentences += 1

    def move(self, weights: Floats, rates: Floats) -> None:
        """Continue from other weights and rates; s stays as it is."""
        if self.space is not None:
            weights = self.space.exact(weights)
        self.late += self.sentences * (weights - self.weights)
        self.weights[:], self.rates[:] = weights, rates

    def memory(self) -> dict[str, Any]:
        """Return the state as JSON."""
        return {
            "weights": encode_floats(self.weights),
            "rates": encode_floats(self.rates),
            "late": encode_floats(self.late),
            "sentences": self.sentences,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`memory` returned."""
        for name in ("weights", "rates", "late"):
            array, numbers = getattr(self, name), decode_floats(memory[name])
            if len(numbers) != len(array):
                raise ValueError(f"there are {len(numbers)} {name}, and not {len(array)}")
            array[:] = numbers
        self.sentences = int(memory["sentences"])


def average(models: Sequence[Model]) -> Floats:
    """Return the mean of all weights after each sentence: Σ s / Σ t (Algorithm 4, line 13)."""
    count = sum(model.sentences for model in models)
    if count == 0:
        return mean(models)[0]
    shares = [model.sentences / count * model.weights for model in models]
    late = reduce(np.add, [model.late for model in models])
    result: Floats = reduce(np.add, shares) - late / count
    return result


def mean(models: Sequence[Model]) -> tuple[Floats, Floats]:
    """Return the mean of the current weights, and of the rates."""
    weights = np.mean([model.weights for model in models], axis=0)
    rates = np.mean([model.rates for model in models], axis=0)
    return weights, rates


def encode_floats(numbers: Floats) -> str:
    """Return numbers as text for JSON, to the last bit.

    Most weights of many features are 0: this takes a sixth of what digits take.
    """
    block = zlib.compress(numbers.astype("<f8").tobytes(), 1)
    return base64.b64encode(block).decode("ascii")


def decode_floats(text: str | Sequence[float]) -> Floats:
    """Return the numbers of such a text; earlier versions wrote a list of them."""
    if not isinstance(text, str):
        return np.array(text, np.float64)
    try:
        block = zlib.decompress(base64.b64decode(text))
    except zlib.error as error:
        raise ValueError(str(error)) from None
    return np.frombuffer(block, "<f8").astype(np.float64)


@kernel
def add_update(
    features: Ids, values: Floats, rates: Floats, sentences: int, weights: Floats, late: Floats
) -> None:
    """Add Σx to the weights, and tΣx to what their sum lacks."""
    for k in range(features.shape[0]):
        feature = features[k]
        step = rates[feature] * values[k]
        weights[feature] += step
        late[feature] += sentences * step
