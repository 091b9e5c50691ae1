"""The formats of candidate files and of weights files, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from tunesmith.data.weights import Weights
from tunesmith.registry import Registry

if TYPE_CHECKING:
    from tunesmith.io.collector import Collector


class Reader(Protocol):
    """Reads candidates of one format."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell from the first bytes whether a file is of this format."""
        ...

    def read(self, blocks: Iterable[bytes], name: str, collector: Collector) -> None:
        """Add all candidates in blocks of whole lines to the collector."""
        ...


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
        """Return the text for weights; ``template`` is the file that they came from."""
        ...


READERS: Registry[Reader] = Registry("format", "tunesmith.io", "tunesmith.formats")
WEIGHTS_FORMATS: Registry[WeightsFormat] = Registry(
    "weights format", "tunesmith.io", "tunesmith.weights_formats"
)
