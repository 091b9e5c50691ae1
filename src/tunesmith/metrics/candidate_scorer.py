"""What a candidate is worth to a tuner that learns from one sentence at a time.

The metric that is reported belongs to a whole set. Tuners that compare single candidates need a
stand-in for it: an :class:`Objective`. While a run lasts, its :class:`Worth` gives the values; it
may remember what was chosen before. The rows of Tables 2, 3 and 4 of Nakov, Guzmán and Vogel,
"Optimizing for sentence-level BLEU+1 yields short translations" (COLING 2012), are
:data:`PRESETS`.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.lengths import lengths_of
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.metrics.sentence_bleu import SentenceBLEU
from tunesmith.registry import Options, Registry, option

#: How a tuner learns: from pairs of candidates of all sentences, then again in the next round;
#: or from one sentence after the other.
Way = Literal["pairs", "examples"]

#: Rows of the length paper's tables, as settings of the switches.
PRESETS = {
    "bleu+1": "sentence",
    "unsmoothed": "sentence:smoothing=none",
    "grounded": "sentence:grounded=true",
    "brevity-smoothed": "sentence:brevity=smoothed",
    "brevity-smoothed-grounded": "sentence:brevity=smoothed,grounded=true",
    "scaled": "sentence:scaled=inverse",
    "scaled-literal": "sentence:scaled=literal",
    "unclipped": "sentence:unclipped=true",
    "unclipped-scaled": "sentence:unclipped=true,scaled=inverse",
}
#: What a scorer of sentences takes over from the metric.
TEXT_OPTIONS = ("order", "tokenize", "lowercase", "reference_length")
#: What values in a unit of their own are brought to: the pooled deviation within groups that
#: BLEU+1 has on real lists, about.
USUAL_DEVIATION = 0.1


class Worth(ABC):
    """The values of candidates during one run.

    Attributes
    ----------
    stats : [N, K]
        The statistics that values are made of, of all candidates.
    metric
        The metric that counts such statistics, of texts that are not among the candidates.
    """

    stats: Stats
    metric: Metric

    @abstractmethod
    def values(self, first: int, last: int) -> Floats:
        """Return what the candidates ``first`` to ``last - 1``, of one group, are worth.

        More is better. Differences within a group count, nothing else does.
        """

    def of(self, stats: Stats) -> Floats:
        """Return what candidates of one group are worth that have these statistics [n, K].

        They need not be among those of the set: derivations of a forest are not. Of those that
        are it is what ``values`` returns, to the last bit.
        """
        raise TunesmithError(
            f"{type(self).__name__} values the candidates of lists alone; give it a method 'of', "
            "or use another --objective"
        )

    def add(self, stats: Stats) -> None:  # noqa: B027
        """Take note of the statistics [K] that were chosen for a sentence."""

    def end_round(self, total: Stats) -> None:  # noqa: B027
        """Take note of the sum [K] of the winners' statistics after a round over all sentences."""

    def memory(self) -> dict[str, Any] | None:
        """Return as JSON what it has taken note of; None if it has, and does not say what."""
        takes_none = type(self).add is Worth.add and type(self).end_round is Worth.end_round
        return {} if takes_none else None

    def recall(self, memory: Mapping[str, Any]) -> None:  # noqa: B027
        """Go on from what another one, made in the same way, has returned as its memory."""


class Objective(Options, ABC):
    """What stands in for the metric; a subclass is a frozen dataclass of switches."""

    _owner_is = "objective"
    name: str

    @abstractmethod
    def begin(self, tuning: ScoredCandidates, way: Way) -> Worth:
        """Return the values of a set at the beginning of a run."""

    @property
    def changes_by_round(self) -> bool:
        """Whether values depend on what earlier rounds came to."""
        return False

    def check(self, metric: Metric) -> None:
        """Raise an error if it cannot stand in for a metric."""


OBJECTIVES: Registry[Objective] = Registry(
    "objective", "tunesmith.metrics", "tunesmith.objectives", Objective
)


def objective_of(spec: str) -> Objective:
    """Make an objective of its name and switches, or of the name of a preset."""
    if ":" not in spec and not spec.endswith(".py") and spec not in PRESETS:
        known = [*OBJECTIVES.names(), *PRESETS]
        if spec not in known:
            raise UnknownNameError("objective", spec, known)
    return OBJECTIVES.create(PRESETS.get(spec, spec))


@OBJECTIVES.register("sentence")
@dataclass(frozen=True)
class SentenceObjective(Objective):
    """BLEU of the sentence alone, with the switches of ``sentence-bleu``; BLEU+1 by default.

    ``scaled`` multiplies the reference length by the ratio of lengths after the round before:
    the references' length over the candidates', so that a too short output is held against a
    longer reference in the next round. The paper's text asks for that; its formula, ``literal``,
    has the ratio the other way round. In the first round it is 1. Where the metric scales
    reference lengths, its scale counts too, for sentences and for ratios.
    """

    smoothing: Literal["add-one", "none", "add-alpha", "lin-och"] = option(
        "add-one", "what is added to matches and totals; lin-och is add-one without unigrams"
    )
    alpha: float = option(1.0, "what add-alpha adds")
    grounded: bool = option(False, "subtract the precision that no match at all would have")
    brevity: Literal["standard", "smoothed", "none"] = option(
        "standard", "the brevity penalty; smoothed: the reference has one word more"
    )
    unclipped: bool = option(False, "let the brevity penalty be above 1 for long hypotheses")
    scaled: Literal["none", "inverse", "literal"] = option(
        "none", "whether the reference length follows the last round's ratio of lengths"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._scorer(None)
        if self.scaled != "none" and self.brevity == "none":
            raise UsageError("scaled has no use without a brevity penalty; leave out one of them")

    @property
    def changes_by_round(self) -> bool:
        """Whether the reference length follows the rounds."""
        return self.scaled != "none"

    def _scorer(self, metric: Metric | None) -> SentenceBLEU:
        """Return the scorer, which sees texts as the metric does."""
        about = {
            option: getattr(metric, option)
            for option in TEXT_OPTIONS
            if isinstance(metric, BLEU | SentenceBLEU)
        }
        if self.brevity != "none" and about:
            about["reference_length_scale"] = getattr(metric, "reference_length_scale", 1.0)
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del own["scaled"]
        return SentenceBLEU(**own, **about)

    def begin(self, tuning: ScoredCandidates, way: Way) -> Worth:
        """Count n-grams, where the metric has not done it, and score all candidates."""
        scorer = self._scorer(tuning.metric)
        counts = tuning.stats
        if not isinstance(tuning.metric, BLEU):
            if tuning.candidates.references is None:
                raise TunesmithError(
                    "the objective counts n-grams, and there are no references; give "
                    "--references, or use --objective metric or document"
                )
            if not tuning.candidates.has_texts:
                raise TunesmithError(
                    "the objective counts n-grams, and the candidates have no texts; give them, "
                    "or use --objective metric or document"
                )
            counts = scorer.ngram_counts(tuning.candidates)
        factor = 1.0
        if way == "examples":
            factor = float(counts[:, 1].mean())
        return _SentenceWorth(tuning.metric, scorer, counts, factor, self.scaled)


class _SentenceWorth(Worth):
    def __init__(
        self, metric: Metric, scorer: SentenceBLEU, counts: Stats, factor: float, scaled: str
    ) -> None:
        self.stats = counts
        self.metric = metric
        if not isinstance(metric, BLEU):
            self.metric = BLEU(**{option: getattr(scorer, option) for option in TEXT_OPTIONS})
        self._scorer = self._now = scorer
        self._factor = factor
        self._scaled = scaled
        self._values = self.of(counts)

    def values(self, first: int, last: int) -> Floats:
        return self._values[first:last]

    def of(self, stats: Stats) -> Floats:
        return self._factor * self._now.sentence_scores(stats)

    def end_round(self, total: Stats) -> None:
        own = self._scorer.reference_length_scale
        length, reference = float(total[0]), own * float(total[1])
        if self._scaled == "none" or min(length, reference) <= 0:
            return
        ratio = reference / length if self._scaled == "inverse" else length / reference
        self.recall({"scale": own * ratio})

    def memory(self) -> dict[str, Any]:
        return {"scale": self._now.reference_length_scale}

    def recall(self, memory: Mapping[str, Any]) -> None:
        self._now = dataclasses.replace(self._scorer, reference_length_scale=memory["scale"])
        self._values = self.of(self.stats)


@OBJECTIVES.register("metric")
@dataclass(frozen=True)
class MetricObjective(Objective):
    """The metric itself, as if the sentence were the whole set."""

    def begin(self, tuning: ScoredCandidates, way: Way) -> Worth:
        """Score all candidates."""
        return _MetricWorth(tuning, way)


class _MetricWorth(Worth):
    def __init__(self, tuning: ScoredCandidates, way: Way) -> None:
        self.stats = tuning.stats
        self.metric = tuning.metric
        own = tuning.metric.gain(tuning.stats)
        self._unit = unit_of(tuning, own, way)
        self._values = self._unit * own

    def values(self, first: int, last: int) -> Floats:
        return self._values[first:last]

    def of(self, stats: Stats) -> Floats:
        return self._unit * self.metric.gain(stats)


@OBJECTIVES.register("document")
@dataclass(frozen=True)
class DocumentObjective(Objective):
    """What a candidate adds to the metric of a document of what was chosen before.

    Chiang, "Hope and fear" (JMLR 2012), equation 3: B(b) = n · (BLEU(b̄ + b) − BLEU(b̄)), where b̄
    are the statistics of the document and n is its length in words; after each sentence b̄ is
    decay · (b̄ + b). For other metrics n is the number of sentences. The document begins with an
    average candidate, so that there is a score from the first sentence on.

    Learning from pairs (section 3.3 of the length paper), each round begins with the winners of
    the rounds before, those of the last weighted by the decay, and the candidates that were
    preferred are added one by one. There the differences are measured in sentences, not in
    words: thresholds for differences mean the same as for a sentence's own score.
    """

    decay: float = option(
        0.9, "what is left of the document after each sentence, or round", least=0, most=1
    )

    @property
    def changes_by_round(self) -> bool:
        """Always."""
        return True

    def begin(self, tuning: ScoredCandidates, way: Way) -> DocumentWorth:
        """Return values with a document of an average candidate."""
        return DocumentWorth(tuning, self.decay, way)


class DocumentWorth(Worth):
    """Values within a document.

    Attributes
    ----------
    document : float64[K]
        Its statistics.
    sentences
        How many it is made of; less where they have faded.
    """

    def __init__(self, tuning: ScoredCandidates, decay: float, way: Way) -> None:
        self.tuning = tuning
        self.stats = tuning.stats
        self.metric = tuning.metric
        self.decay = decay
        self.way = way
        self.document: Floats = tuning.stats.mean(axis=0, dtype=np.float64)
        self.sentences = 1.0
        self._background = np.zeros(len(self.document))
        self._rounds = 0.0
        self._counts_words = isinstance(self.metric, BLEU)
        self._unit = 1.0
        if not self._counts_words:
            self._unit = unit_of(tuning, self.metric.gain(self.stats), way)

    def values(self, first: int, last: int) -> Floats:
        """Return what each candidate of a group would add, times the document's length."""
        return self.of(self.stats[first:last])

    def of(self, stats: Stats) -> Floats:
        """Return what statistics of a group would add, times the document's length."""
        added: Floats = self.metric.gain(self.document + stats) - self.metric.gain(self.document)
        return self.factor(stats) * added

    def factor(self, rows: Stats) -> float:
        """Return what a difference of the document's score counts, for some rows of a group."""
        if not self._counts_words:
            # With the sentence itself: so the differences of an average are the sentence's own.
            return self._unit * (self.sentences + 1.0)
        own = max(1.0, float(rows[:, 1].mean()))
        # Where nothing is left of the document, the sentence is all there is.
        words = float(self.document[0]) if self.document[0] >= 1.0 else own
        return words if self.way == "examples" else words / own

    def add(self, stats: Stats) -> None:
        """Add a sentence; learning from examples, let the document fade."""
        self.document = self.document + stats
        self.sentences += 1.0
        if self.way == "examples":
            self.document = self.decay * self.document
            self.sentences *= self.decay

    def end_round(self, total: Stats) -> None:
        """Learning from pairs, begin again with the winners of all rounds."""
        if self.way == "examples":
            return
        self._background = self.decay * (self._background + total)
        self._rounds = self.decay * (self._rounds + self.tuning.candidates.groups)
        self.document, self.sentences = self._background, self._rounds

    def memory(self) -> dict[str, Any]:
        """Return the document, and the rounds before."""
        return {
            "document": self.document.tolist(),
            "sentences": self.sentences,
            "background": self._background.tolist(),
            "rounds": self._rounds,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Take over a document."""
        self.document = np.array(memory["document"], np.float64)
        self.sentences = float(memory["sentences"])
        self._background = np.array(memory["background"], np.float64)
        self._rounds = float(memory["rounds"])


def unit_of(tuning: ScoredCandidates, values: Floats, way: Way) -> float:
    """Return what values are multiplied by, so that thresholds and rates have one meaning.

    Scores in per cent are taken as they are from 0 to 1; learning from examples, times the mean
    length of the references, as n of a document. Values in a unit of their own get the deviation
    within groups that such scores have.
    """
    lengths = lengths_of(tuning)
    if tuning.metric.scale == 100.0 and (way == "pairs" or lengths is not None):
        return 1.0 if way == "pairs" or lengths is None else float(lengths.references.mean())
    deviation = _deviation_within(values, tuning)
    wanted = USUAL_DEVIATION if way == "pairs" else 1.0
    return wanted / deviation if deviation > 0 and math.isfinite(deviation) else 1.0


def _deviation_within(values: Floats, tuning: ScoredCandidates) -> float:
    start = tuning.candidates.start
    sizes = np.diff(start)
    largest = float(np.abs(values).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return largest
    values = values / largest  # squares of 1e300 and of 1e-300 are no numbers
    means = np.add.reduceat(values, start[:-1]) / sizes
    return largest * float(np.sqrt(np.mean(np.square(values - np.repeat(means, sizes)))))
