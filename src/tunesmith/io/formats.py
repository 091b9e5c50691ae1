"""The formats of candidate files and of weights files, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.registry import Registry

if TYPE_CHECKING:
    from tunesmith.io.collector import Collector


class CandidateFormat(Protocol):
    """Reads and writes candidates in one format."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell from the first bytes whether a file is of this format."""
        ...

    def read(self, blocks: Iterable[bytes], name: str, collector: Collector) -> None:
        """Add all candidates in blocks of whole lines to the collector."""
        ...

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Write candidates in an order of one's own, with their model scores."""
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


FORMATS: Registry[CandidateFormat] = Registry("format", "tunesmith.io", "tunesmith.formats")
WEIGHTS_FORMATS: Registry[WeightsFormat] = Registry(
    "weights format", "tunesmith.io", "tunesmith.weights_formats"
)
