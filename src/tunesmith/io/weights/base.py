"""The formats of weights files, by name."""

from __future__ import annotations

from typing import Protocol

from tunesmith.data.weights import Weights
from tunesmith.registry import Registry


class WeightsFormat(Protocol):
    """Reads and writes weights in one format."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell from the text whether a file is of this format."""
        ...

    def read(self, text: bytes, name: str) -> Weights:
        """Return the weights in a file's text."""
        ...

    def write(self, weights: Weights, template: bytes) -> bytes:
        """Return the text for weights.

        ``template`` is the file that they came from, empty where there is none.
        """
        ...


WEIGHTS_FORMATS: Registry[WeightsFormat] = Registry(
    "weights format", "tunesmith.io.weights", "tunesmith.weights_formats"
)
