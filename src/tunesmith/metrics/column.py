"""The mean of an external score: COMET, a reward, 0/1 correctness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import TunesmithError
from tunesmith.metrics.base import METRICS, Metric, ratio_slope
from tunesmith.registry import option


@METRICS.register("column")
@dataclass(frozen=True)
class Column(Metric):
    """The mean of a column over the chosen candidates, in its own unit: column:NAME.

    The numbers come with the candidates: from ``metrics`` in JSON lines, columns of a table or a
    score file. The statistics are the value and 1.
    """

    takes_text: ClassVar[str] = "column"
    scale = 1.0
    is_sum = True
    needs_references = False
    column: str = option("", "which column")

    def __post_init__(self) -> None:
        super().__post_init__()
        # Results name the column, not only the kind.
        vars(self)["name"] = f"{type(self).name}:{self.column}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that must be there."""
        return (self.column,)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The value, and the number of sentences."""
        return ("value", "count")

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Refuse: a text has no external score."""
        raise TunesmithError(f"{self.name} is a number of a candidate; score candidates with it")

    def candidate_stats(self, candidates: CandidateSet) -> Stats:
        """Return the value and 1 for each candidate."""
        self.check(candidates)
        return np.column_stack([candidates.columns[self.column], np.ones(len(candidates))])

    def score(self, stats: Stats) -> Floats:
        """Return the mean."""
        mean: Floats = stats[..., 0] / stats[..., 1]
        return mean

    def slope(self, stats: Stats) -> Floats:
        """Return the derivative of the mean."""
        slope = ratio_slope(stats, 0, 1)
        return slope if self.higher_is_better else -slope

    def signature(self) -> str:
        """Return the name alone: how the numbers were made is not known here."""
        return f"{self.name}|mean"


@METRICS.register("cost")
@dataclass(frozen=True)
class Cost(Column):
    """The mean of a column over the chosen candidates, where less is better: cost:NAME."""

    higher_is_better = False
