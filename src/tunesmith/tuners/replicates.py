"""Several independent runs of a tuner: how much the result depends on random numbers.

Clark, Dyer, Lavie and Smith, "Better hypothesis testing for statistical machine translation:
controlling for optimizer instability" (ACL 2011), ask for several runs of every optimizer, with
mean and deviation reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tunesmith.errors import UsageError, recorded_warnings, reissue
from tunesmith.interruption import Interruption
from tunesmith.tuners.fitting.result import OtherScores, TuneResult

if TYPE_CHECKING:
    from rich.console import Group


@dataclass(frozen=True)
class Spread:
    """The scores of several runs on one set: their mean, sample deviation, and ends."""

    metric: str
    set: str
    mean: float
    deviation: float
    minimum: float
    maximum: float


@dataclass(frozen=True)
class Replicates:
    """Independent runs, of which the one in the middle stands for all.

    Attributes
    ----------
    results
        One for each seed.
    chosen
        Which is in the middle by the score on the held-out set, or on the tuning set where there
        is none; of an even number of runs the worse of the middle two. A test set never chooses.
    by
        What chose: ``dev`` or ``tune``.
    """

    results: tuple[TuneResult, ...]
    chosen: int
    by: Literal["dev", "tune"]

    @classmethod
    def of(cls, results: Sequence[TuneResult], higher_is_better: bool) -> Replicates:
        """Find the run in the middle."""
        if len(results) < 2:
            raise UsageError(f"replicates is {len(results)}; give 2 or more")
        by: Literal["dev", "tune"] = "tune" if results[0].dev is None else "dev"
        sign = 1.0 if higher_is_better else -1.0
        order = sorted(range(len(results)), key=lambda k: sign * _deciding(results[k]))
        return cls(tuple(results), order[(len(results) - 1) // 2], by)

    @property
    def are_same(self) -> bool:
        """Whether all runs came to the same scores: random numbers play no part."""
        return all(spread.minimum == spread.maximum for spread in self.spreads())

    def spreads(self) -> list[Spread]:
        """Return mean and deviation of each metric on each set."""
        spreads = []
        # By place: two metrics may have the same name, with other options.
        for same in zip(*map(_all_scores, self.results), strict=True):
            (metric, name, _), scores = same[0], [score for _, _, score in same]
            mean, deviation = float(np.mean(scores)), float(np.std(scores, ddof=1))
            spreads.append(Spread(metric, name, mean, deviation, min(scores), max(scores)))
        return spreads

    def to_dict(self, files: Sequence[str | None]) -> dict[str, Any]:
        """Return what the result of the chosen run says of all; ``files`` are theirs."""
        runs = [
            {
                "seed": result.seed,
                "score": result.score,
                "dev_score": result.dev and result.dev.score,
                "test_score": result.test and result.test.score,
                "file": file,
                "chosen": k == self.chosen,
            }
            for k, (result, file) in enumerate(zip(self.results, files, strict=True))
        ]
        spreads = self.spreads()
        decides = next(s for s in spreads if (s.metric, s.set) == (self._metric, self.by))
        return {
            "runs": runs,
            "chosen_by": self.by,
            "mean": decides.mean,
            "deviation": decides.deviation,
            "scores": [asdict(spread) for spread in spreads],
        }

    def result(self, files: Sequence[str | None]) -> TuneResult:
        """Return the run in the middle, which knows of all."""
        return replace(self.results[self.chosen], replicates=self.to_dict(files))

    @property
    def _metric(self) -> str:
        return self.results[0].metric

    def __rich__(self) -> Group:
        from tunesmith.tuners.fitting.tables import replicates_table

        return replicates_table(self)


def replicate(fit: Callable[[int], TuneResult], seed: int, count: int) -> list[TuneResult]:
    """Tune with each of so many seeds, from a first one on.

    What is warned of again is said once. An interruption leaves the runs that are complete, or
    what the first has come to.
    """
    results: list[TuneResult] = []
    messages: set[str] = set()
    for k in range(count):
        try:
            with recorded_warnings() as caught:
                result = fit(seed + k)
        except Interruption:
            if not results:
                raise
            return results
        if results and result.interrupted:
            return results
        results.append(result)
        for warning in caught:
            if str(warning.message) not in messages:
                messages.add(str(warning.message))
                reissue([warning])
        if result.interrupted:
            break
    return results


def _deciding(result: TuneResult) -> float:
    return result.score if result.dev is None else result.dev.score


def _all_scores(result: TuneResult) -> Iterator[tuple[str, str, float]]:
    """Give metric, set and score of all that was scored."""
    every: list[TuneResult | OtherScores] = [result, *result.others]
    for scored in every:
        sets: dict[str, Any] = {"tune": scored, "dev": scored.dev, "test": scored.test}
        for name, scores in sets.items():
            if scores is not None:
                yield scored.metric, name, scores.score
