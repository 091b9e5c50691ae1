"""What a page shows, as plain values: the page's script and the figures see nothing else.

Every class is a part of one JSON object. Numbers are finite or None, texts are as they were in
the data: pages and pictures treat them as text.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

SCHEMA = "tunesmith.report/1"

#: Two ends; None is infinite.
Range = tuple[float | None, float | None]


@dataclass(frozen=True)
class Caution:
    """Something to be careful about.

    Attributes
    ----------
    kind
        ``overfitting``, ``length``, ``monsters``, ``edge`` (of a plateau), ``metric`` (tuned and
        tested alike, or a model's scores), ``overlap`` (of sets), ``test`` (scored for choosing),
        ``said`` (by the run itself).
    text, advice
        What is so, and what to do; plain sentences.
    """

    kind: str
    text: str
    advice: str = ""


@dataclass(frozen=True)
class SetScores:
    """What was reached on a set, by one metric.

    Attributes
    ----------
    which, metric
        ``tune``, ``dev`` or ``test``; the metric as the user wrote it.
    called
        The metric as a person reads it.
    """

    which: str
    metric: str
    before: float | None
    after: float | None
    oracle: float | None = None
    oracle_exact: bool = False
    length_ratio: float | None = None
    brevity_penalty: float | None = None
    called: str = ""


@dataclass(frozen=True)
class Summary:
    """The head of the page.

    Attributes
    ----------
    title
        Which run it is.
    tuner, metric, higher_is_better
        What was done.
    state
        ``running``, ``ended`` or ``interrupted``.
    scores
        A row for each set and metric.
    signature
        What has to be known to run the same again.
    settings
        Names and values, in the order in which they are shown.
    data
        Files: ``path``, ``sha256``, ``format``.
    notes
        What else is to be known: why the loop ended, why a setting was chosen.
    called
        The metric as a person reads it.
    verdict
        What held-out sentences say of the tuned weights, and what to do; empty where a run does
        not tell.
    date, version, command
        When it ended (ISO 8601), the version of tunesmith that it ran with, and the command that
        runs it again; empty where a run does not tell.
    """

    title: str
    tuner: str
    metric: str
    higher_is_better: bool
    state: str
    scores: tuple[SetScores, ...]
    signature: str
    settings: tuple[tuple[str, str], ...]
    data: tuple[dict[str, str], ...]
    notes: tuple[str, ...] = ()
    called: str = ""
    verdict: str = ""
    date: str = ""
    version: str = ""
    command: str = ""

    @property
    def is_running(self) -> bool:
        """Whether more is to come."""
        return self.state == "running"


@dataclass(frozen=True)
class RoundsView:
    """Scores by round of a loop, by epoch, or by step of a tuner.

    Attributes
    ----------
    unit
        What a row is: ``round``, ``setting``, ``run``, ``epoch``, ``pass``, ``climb``,
        ``step``, or ``seed`` of replicates.
    names
        Of the rows.
    series
        By name: a score or None for each row. ``tune``, ``dev``, ``test``; in a loop ``promised``,
        what the row's weights had on the lists that they were tuned on; of climbs ``best so
        far``; ``smoothed`` and ``bound`` where a tuner has them. Of a set that is not looked at
        on the way only the start and the chosen row have a score.
    length_ratios
        The same for lengths; empty where there are none.
    chosen
        The row whose weights were taken, or None.
    table
        Further columns: name -> a value for each row (numbers, texts or None).
    is_ordered
        Whether rows follow on each other, so that a line from one to the next means something:
        runs, climbs and algorithms do not.
    """

    unit: str
    names: tuple[str, ...]
    series: dict[str, tuple[float | None, ...]]
    length_ratios: dict[str, tuple[float | None, ...]]
    chosen: int | None
    table: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    is_ordered: bool = True


@dataclass(frozen=True)
class WeightRow:
    """A feature's weights.

    Attributes
    ----------
    start, tuned
        Before and after.
    by_round
        In each row of ``WeightTable.rounds``; empty where that is.
    spread
        The standard deviation of the feature within groups: weight times spread is how much it
        says. None where no candidates could be read.
    """

    feature: str
    start: float
    tuned: float
    by_round: tuple[float | None, ...] = ()
    spread: float | None = None


@dataclass(frozen=True)
class WeightTable:
    """All weights, those that say most first.

    Attributes
    ----------
    rounds
        Names of the rounds that ``by_round`` is of; their weights are scaled alike (the sum of
        their sizes is that of the tuned weights), for the scale has no influence.
    left_out
        How many features there are beside the rows.
    unit
        What ``rounds`` are: ``round``, or ``run``.
    """

    rounds: tuple[str, ...]
    rows: tuple[WeightRow, ...]
    left_out: int = 0
    unit: str = "round"


@dataclass(frozen=True)
class SurfaceCurve:
    """The exact metric along one weight.

    Attributes
    ----------
    feature, weight
        Which, and its tuned value.
    score
        The metric there.
    window, close
        What is shown first, and around the weight.
    edges, scores
        Where the metric changes within the window, ascending, and the metric on the intervals:
        one more. Where there are too many they are empty, and ``band`` is there.
    band
        Instead of steps: ``ends`` of columns, the ``low``est and ``high``est score in each. The
        steps within ``close`` are in ``close_edges`` and ``close_scores``.
    plateau
        The interval around the weight on which the metric does not change.
    width
        The plateau's, relative to the size of the weight (of the largest one, if it is 0); None
        is infinite. ``edge`` is the distance to its nearer end, likewise.
    best, best_score
        The best interval, and the metric there.
    steady, drop
        The widest interval around the weight on which the metric is nowhere worse by more than
        ``drop``. Of large sets plateaus are narrow whatever the weight: this says more.
    """

    feature: str
    weight: float
    score: float
    window: tuple[float, float]
    close: tuple[float, float]
    edges: tuple[float, ...]
    scores: tuple[float, ...]
    band: dict[str, tuple[float, ...]] | None
    close_edges: tuple[float, ...]
    close_scores: tuple[float, ...]
    plateau: Range
    width: float | None
    edge: float | None
    best: Range
    best_score: float
    steady: Range = (None, None)
    drop: float = 0.0


@dataclass(frozen=True)
class Surfaces:
    """The metric along each feature, on one set.

    Attributes
    ----------
    left_out
        How many features there are beside these.
    note
        What the candidates are, where they are not all that there were.
    """

    which: str
    curves: tuple[SurfaceCurve, ...]
    left_out: int = 0
    note: str = ""


@dataclass(frozen=True)
class Map:
    """The metric over two weights: pixels, of which each has the mean along its line.

    Attributes
    ----------
    x, y
        The features.
    x_range, y_range
        The ranges of both axes.
    columns, rows
        How many pixels; the first row is the lowest.
    low, high
        The scores of the values 0 and 65535.
    pixels
        Base 64 of unsigned 16-bit little-endian numbers, row by row.
    current
        x, y and score of the tuned weights.
    best
        The same of the best pixel's middle.
    """

    x: str
    y: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    columns: int
    rows: int
    low: float
    high: float
    pixels: str
    current: tuple[float, float, float]
    best: tuple[float, float, float]


@dataclass(frozen=True)
class Maps:
    """Maps of pairs of features; ``left_out`` counts pairs of which there is none."""

    maps: tuple[Map, ...]
    left_out: int = 0


#: What a piece of a text is to the other: the same, or not there.
Mark = Literal["same", "out", "in"]


@dataclass(frozen=True)
class CandidateView:
    """A candidate of a sentence that is looked into.

    Attributes
    ----------
    rank_before, rank_after
        Its place under both weights, from 1.
    score
        Its sentence-level score, by the metric or by its sentence-level stand-in.
    total
        Its model score under the tuned weights.
    contributions
        Weight times value of each feature of ``Sentences.features``, less that of the candidate
        that is chosen.
    """

    text: str
    rank_before: int
    rank_after: int
    score: float | None
    total: float
    contributions: tuple[float, ...]


@dataclass(frozen=True)
class SentenceView:
    """A sentence whose output changed.

    Attributes
    ----------
    id, source, references
        As in the data; the source may be empty.
    before, after
        Pieces of both outputs, with what they are to each other.
    score_before, score_after
        The sentence-level score of each.
    influence
        By how much the metric on the whole set falls if only this sentence goes back to what it
        was: what the change was worth, in the metric's unit, more being better.
    candidates
        The first ones under either weights, and the best by the metric.
    count
        How many candidates the sentence has.
    """

    id: str
    source: str
    references: tuple[str, ...]
    before: tuple[tuple[str, Mark], ...]
    after: tuple[tuple[str, Mark], ...]
    score_before: float | None
    score_after: float | None
    influence: float
    candidates: tuple[CandidateView, ...]
    count: int


@dataclass(frozen=True)
class Sentences:
    """What changed in the output of a set.

    Attributes
    ----------
    sentences, changed, better, worse
        How many sentences there are, whose output changed, for the better, for the worse.
    features
        Those of the contributions; the last may stand for all others together.
    score_name
        What the score of a single sentence is.
    shown
        Those that changed most.
    """

    which: str
    sentences: int
    changed: int
    better: int
    worse: int
    features: tuple[str, ...]
    score_name: str
    shown: tuple[SentenceView, ...]


@dataclass(frozen=True)
class PairRound:
    """What PRO learnt from in a round.

    Attributes
    ----------
    pairs, kept
        How many pairs were looked at, and learnt from.
    positive, negative
        Means over the better and the worse members: ``length`` in words, ``score``, and what
        else the run has noted.
    reference_length
        The mean length of the references that they are compared with.
    sentences_without
        How many sentences have no pairs to learn from.
    """

    name: str
    pairs: int | None
    kept: int | None
    positive: dict[str, float | None]
    negative: dict[str, float | None]
    reference_length: float | None = None
    sentences_without: int | None = None


@dataclass(frozen=True)
class View:
    """All that a page shows.

    Attributes
    ----------
    certificate
        As in the result of ``tune``.
    path
        The settings among which a held-out set chose, as in the result of ``tune``.
    missing
        What is not shown, and what to do about it.
    replicates
        Independent runs, of which this is one: a row for each.
    verdict
        As in the result of ``tune``; None where a run does not tell.
    certified
        The metric, the score, the certificate and the curve of ``certify``.
    """

    version: str
    summary: Summary
    warnings: tuple[Caution, ...]
    rounds: RoundsView | None
    weights: WeightTable
    surfaces: Surfaces | None
    maps: Maps | None
    sentences: tuple[Sentences, ...]
    pairs: tuple[PairRound, ...]
    certificate: dict[str, Any] | None
    path: list[dict[str, Any]] | None
    missing: tuple[str, ...]
    replicates: RoundsView | None = None
    verdict: dict[str, Any] | None = None
    certified: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"schema": SCHEMA, "signature": self.summary.signature, **asdict(self)}
