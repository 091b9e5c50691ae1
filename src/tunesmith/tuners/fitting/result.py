"""What a tuner returns."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from tunesmith.data.candidates import FileDigest
from tunesmith.data.weights import Weights
from tunesmith.parallel.engine import current_engine
from tunesmith.parallel.threads import ThreadEngine
from tunesmith.tuners.fitting.verdict import UNKNOWN, Verdict

if TYPE_CHECKING:
    from rich.console import Group

SCHEMA = "tunesmith.tune/1"

#: What several runs become.
Combine = Literal["best", "average", "median"]


def _workers() -> int:
    """Return how many processes beside this one are at work."""
    engine = current_engine()
    return 0 if isinstance(engine, ThreadEngine) else engine.workers


def who_works() -> dict[str, Any]:
    """Return what a result says of who works now."""
    return {"engine": current_engine().name, "workers": _workers()}


@dataclass(frozen=True)
class Scores:
    """What weights reach on one set.

    Attributes
    ----------
    brevity_penalty
        That of BLEU; None where a metric has none.
    sentence_bleu
        The mean of the sentences' own BLEU+1, times 100; None where n-grams are not counted.
    """

    score: float
    initial_score: float
    length_ratio: float | None
    brevity_penalty: float | None = None
    sentence_bleu: float | None = None


@dataclass(frozen=True)
class OtherScores:
    """What the weights reach by a metric that they were not tuned for.

    Attributes
    ----------
    metric
        Its name, with options as they were given.
    signature
        What has to be known to compute the same score again.
    dev, test
        The same on a development set and on a test set.
    """

    metric: str
    signature: str
    score: float
    initial_score: float
    length_ratio: float | None
    dev: Scores | None
    test: Scores | None = None


@dataclass(frozen=True)
class TuneResult:
    """Tuned weights and how they came about; prints as tables, and converts to JSON.

    Attributes
    ----------
    tuner, metric
        Their names.
    weights
        All weights: the tuned ones, and those of the start whose features the data lack.
    start
        The starting weights.
    score, initial_score, oracle_score
        On the metric's customary scale, evaluated afresh. The oracle is the best choice
        of candidates: the best there is if ``oracle_exact``, otherwise the best found.
    length_ratio
        Length of the output over that of the references; None where a metric has none.
    brevity_penalty, sentence_bleu
        Of BLEU: its brevity penalty, and the mean of the sentences' own BLEU+1.
    dev
        The same on a development set, whose only influence was to choose from the path.
    path
        If a tuner had several settings, the result of each: its options, ``score``,
        ``dev_score``, ``test_score``, the number of weights that are not 0, and whether it was
        ``chosen``.
    history
        One entry per step; ``run`` numbers several runs from 0. Files that the command line writes
        may lack the steps within climbs.
    certificate
        What is proven about the weights; None where nothing is.
    line_searches, seconds, seed, threads
        The effort, the time, and the settings.
    warnings
        What to be careful about; each was also issued as a warning.
    data
        The files that were read, with their digests.
    signature
        One line with everything needed to repeat the run.
    others
        The scores of the same weights by other metrics.
    runs
        If there were several: ``run``, ``score`` and ``weights`` of each.
    test
        The scores on a test set, which had no influence.
    prior
        The weights towards which a penalty pulled.
    reason
        Why this setting was chosen, if more than a score decided.
    rounds
        With a decoder in the loop, the result of each round: ``score`` (``dev_score``,
        ``test_score``) and ``length_ratio`` (likewise) of the decoder's output, the ``weights`` it
        was decoded with, how many candidates were ``new`` and how many there are, the
        ``list_score`` that the tuner predicted, ``decode_seconds``, ``tune_seconds``, and whether
        it was ``chosen``.
    stopped
        Why a loop ended, or the last step before an interruption.
    interrupted
        Whether an interruption ended the run early; the weights are the best found by then.
    inputs
        The files that were read, as the user named them, so that they can be read again:
        ``metrics``, and for each of ``tune``, ``dev`` and ``test`` its files. None outside the
        command line.
    test_scored
        How often the test set has been scored, with other settings each time, for results that
        went to the same file; None without a test set or a file.
    replicates
        If there were several independent runs, of which this is the median: ``seed``, ``score``,
        ``dev_score``, ``test_score`` and ``file`` of each, and their spread.
    verdict
        What held-out sentences say about the tuned weights, and what to do.
    committee
        For a committee: its ``members`` with their scores on sentences that they were not tuned
        on, and the ``step`` from the start towards their average. None for other tuners.
    lenpen
        For a tuned length penalty: ``length``, ``exponent``, the interval ``low`` to ``high``
        around it on which nothing changes, its ``range``, the features that are ``plain``, and
        exponent and score of all that were ``tried``. Otherwise None.
    engine, workers
        The engine, and how many processes worked besides this one.
    """

    tuner: str
    metric: str
    weights: Weights
    start: Weights
    score: float
    initial_score: float
    oracle_score: float
    oracle_exact: bool
    length_ratio: float | None
    dev: Scores | None
    path: list[dict[str, Any]] | None
    history: list[dict[str, Any]]
    certificate: dict[str, Any] | None
    line_searches: int
    seconds: float
    seed: int | None
    threads: int
    warnings: list[str]
    data: tuple[FileDigest, ...]
    signature: str
    others: tuple[OtherScores, ...] = ()
    runs: list[dict[str, Any]] | None = None
    test: Scores | None = None
    prior: Weights | None = None
    reason: str | None = None
    brevity_penalty: float | None = None
    sentence_bleu: float | None = None
    rounds: list[dict[str, Any]] | None = None
    stopped: str | None = None
    interrupted: bool = False
    inputs: dict[str, Any] | None = None
    test_scored: int | None = None
    replicates: dict[str, Any] | None = None
    verdict: Verdict = UNKNOWN
    committee: dict[str, Any] | None = None
    lenpen: dict[str, Any] | None = None
    engine: str = field(default_factory=lambda: current_engine().name)
    workers: int = field(default_factory=_workers)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``tunesmith tune``."""
        values = {"schema": SCHEMA, **{f.name: getattr(self, f.name) for f in fields(self)}}
        values["weights"] = dict(self.weights)
        values["start"] = dict(self.start)
        values["dev"] = None if self.dev is None else asdict(self.dev)
        values["test"] = None if self.test is None else asdict(self.test)
        values["prior"] = None if self.prior is None else dict(self.prior)
        values["others"] = [asdict(other) for other in self.others]
        values["verdict"] = self.verdict.to_dict()
        values["data"] = [asdict(file) for file in self.data]
        return values

    def _repr_html_(self) -> str:
        from tunesmith.tuners.fitting.markup import result_html

        return result_html(self)

    def __rich__(self) -> Group:
        from tunesmith.tuners.fitting.tables import result_table

        return result_table(self)

    def __str__(self) -> str:
        from tunesmith.tuners.fitting.tables import as_text

        return as_text(self)
