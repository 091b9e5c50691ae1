"""The result of a comparison: prints itself, and is a JSON object."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

    from tunesmith.significance.sentences import Ranking

SCHEMA = "tunesmith.compare/1"


@dataclass(frozen=True)
class RunScore:
    """What one run scores: its file or number, and its score."""

    file: str
    score: float


@dataclass(frozen=True)
class SystemScores:
    """What a system scores over its runs.

    Attributes
    ----------
    runs
        The score of each.
    mean, minimum, maximum
        Over runs.
    deviation
        The sample deviation over runs, by optimizer instability; None for a single run.
    selection_deviation
        That over bootstrap resamples of the test set, averaged over runs.
    bootstrap_mean, bootstrap_half_width
        The mean over resamples and half the width of the 95 % interval, as sacrebleu prints them.
    interval
        The ends of that interval.
    """

    name: str
    runs: tuple[RunScore, ...]
    mean: float
    deviation: float | None
    selection_deviation: float
    minimum: float
    maximum: float
    bootstrap_mean: float
    bootstrap_half_width: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class PairedTest:
    """Whether two systems differ by more than chance.

    Attributes
    ----------
    a, b
        The systems; ``a`` is the baseline.
    difference
        The mean score of ``b`` minus that of ``a``.
    better
        Which is better; None where both score the same. Of error rates it is the lower one.
    interval
        The 95 % interval of the difference over bootstrap resamples.
    p_bootstrap, p_randomization
        By paired bootstrap, and by approximate randomisation over all runs.
    p_bootstrap_holm, p_randomization_holm
        Corrected for the number of tests by this metric (Holm 1979).
    p_randomization_with_ties
        Where shufflings that come to exactly the same difference count too.
    variance_selection
        Of the difference, by the choice of the test set: over bootstrap resamples.
    variance_optimizer
        Of the difference, by optimizer instability: the variance of the mean of one system's runs
        plus that of the other's. None where a system has a single run.
    """

    a: str
    b: str
    difference: float
    better: str | None
    interval: tuple[float, float]
    p_bootstrap: float
    p_randomization: float
    p_bootstrap_holm: float
    p_randomization_holm: float
    p_randomization_with_ties: float
    variance_selection: float
    variance_optimizer: float | None


@dataclass(frozen=True)
class MetricComparison:
    """Systems and tests by one metric."""

    metric: str
    signature: str
    higher_is_better: bool
    systems: tuple[SystemScores, ...]
    tests: tuple[PairedTest, ...]


@dataclass(frozen=True)
class Comparison:
    """Systems compared by one metric or several.

    Attributes
    ----------
    metrics
        The results by each metric.
    sentences
        The number of sentences.
    resamples, randomizations, seed
        How chance was sampled.
    notes
        What the numbers do and do not show.
    warnings
        What to check before you trust them.
    rankings
        Where systems differ, sentence by sentence; empty unless requested.
    """

    metrics: tuple[MetricComparison, ...]
    sentences: int
    resamples: int
    randomizations: int
    seed: int
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    rankings: tuple[Ranking, ...] = ()

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """Return the JSON object of ``tunesmith compare``.

        What the first metric says stands at the top too. With ``most`` a ranking holds no more
        than this many sentences.
        """
        metrics = [asdict(comparison) for comparison in self.metrics]
        return {
            "schema": SCHEMA,
            **metrics[0],
            "metrics": metrics,
            "sentences": self.sentences,
            "resamples": self.resamples,
            "randomizations": self.randomizations,
            "seed": self.seed,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "differences": [ranking.to_dict(most) for ranking in self.rankings],
        }

    def to_latex(self) -> str:
        """Return a table for a paper, with the rules of the package booktabs."""
        from tunesmith.significance.tables import latex_table

        return latex_table(self)

    def __rich__(self) -> Group:
        from tunesmith.significance.tables import comparison_table

        return comparison_table(self)

    def __str__(self) -> str:
        from tunesmith.significance.tables import as_text

        return as_text(self)
