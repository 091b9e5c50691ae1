"""What weights can be tuned on, whatever form its candidates have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from tunesmith.arrays import Flags
from tunesmith.data.candidates import FileDigest
from tunesmith.metrics.base import Metric


class Tunable(ABC):
    """Candidates of any form with a metric: lists (``TuningSet``) or forests (``ForestTuning``).

    What can be asked of it, given weights, is in :mod:`tunesmith.inference.asking`.
    """

    metric: Metric

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The features."""

    @property
    @abstractmethod
    def dense(self) -> Flags:
        """Which features [D] most candidates have."""

    @property
    @abstractmethod
    def groups(self) -> int:
        """The number S of inputs."""

    @property
    @abstractmethod
    def files(self) -> tuple[FileDigest, ...]:
        """What it was read from."""

    @abstractmethod
    def with_features(self, keep: str | Sequence[str] = (), drop: str | Sequence[str] = ()) -> Self:
        """Return the same with some of the features."""

    @abstractmethod
    def with_metric(self, metric: Metric) -> Self:
        """Return the same with a metric that scores the same statistics in another way."""

    @abstractmethod
    def signature(self) -> str:
        """Return the metric's signature, with the number of references."""


def reference_signature(counts: Sequence[int]) -> str:
    """Return the part of a signature that tells how many references the inputs have."""
    least, most = min(counts), max(counts)
    return f"nrefs:{least}" if least == most else f"nrefs:{least}-{most}"
