"""Scores of single candidates, for tuners that learn from one sentence at a time.

The metric that is reported is defined on a whole set. Tuners that compare single candidates need a
substitute for it: an :class:`Objective`. During a run its :class:`CandidateScorer` scores
candidates; it may remember which ones were chosen before. The rows of Tables 2, 3 and 4 of Nakov,
Guzmán and Vogel, "Optimizing for sentence-level BLEU+1 yields short translations" (COLING 2012),
are :data:`PRESETS`.
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

#: How a tuner learns: in rounds, each from pairs of candidates of all sentences; or from one
#: sentence after the other.
Way = Literal["pairs", "examples"]

#: Rows of the tables of Nakov et al. (2012), as options of the objective.
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
#: Options that sentence BLEU takes from the metric.
TEXT_OPTIONS = ("order", "tokenize", "lowercase", "reference_length")
#: Scores in a unit of their own are scaled to this pooled deviation within groups: about that of
#: BLEU+1 on real lists.
USUAL_DEVIATION = 0.1


class CandidateScorer(ABC):
    """Scores candidates during one run; more is better.

    Attributes
    ----------
    stats : [N, K]
        The statistics of all candidates that scores are computed from.
    metric
        The metric that counts such statistics for other texts.
    """

    stats: Stats
    metric: Metric

    @abstractmethod
    def values(self, first: int, last: int) -> Floats:
        """Score the candidates ``first`` to ``last - 1``, which are of one group.

        Only differences within a group matter.
        """

    def of(self, stats: Stats) -> Floats:
        """Score candidates of one group by their statistics [n, K].

        They need not be candidates of the set: derivations of a forest are not. For candidates of
        the set the scores equal those of ``values`` to the last bit.
        """
        raise TunesmithError(
            f"{type(self).__name__} scores only the candidates of lists; give it a method 'of', "
            "or use another --objective"
        )

    def add(self, stats: Stats) -> None:  # noqa: B027
        """Record the statistics [K] of the candidate chosen for a sentence."""

    def end_round(self, total: Stats) -> None:  # noqa: B027
        """Record the sum [K] of the winners' statistics after a round over all sentences."""

    def memory(self) -> dict[str, Any] | None:
        """Return what was recorded as JSON; None if a subclass records without saying what."""
        cls, base = type(self), CandidateScorer
        records_nothing = cls.add is base.add and cls.end_round is base.end_round
        return {} if records_nothing else None

    def recall(self, memory: Mapping[str, Any]) -> None:  # noqa: B027
        """Continue from the memory of another scorer of the same objective and set."""


class Objective(Options, ABC):
    """A substitute for the metric on single candidates; a subclass is a frozen dataclass."""

    _owner_is = "objective"
    name: str

    @abstractmethod
    def begin(self, tuning: ScoredCandidates, way: Way) -> CandidateScorer:
        """Return a scorer of the candidates of a set for a new run."""

    @property
    def changes_by_round(self) -> bool:
        """Whether scores depend on the results of earlier rounds."""
        return False

    def check(self, metric: Metric) -> None:
        """Raise an error if it cannot replace a metric."""

    def is_local(self, metric: Metric) -> bool:
        """Whether pairs need of a candidate nothing but its own statistics, in place of a metric.

        Then a part of a set values its candidates as the whole does.
        """
        return False


OBJECTIVES: Registry[Objective] = Registry(
    "objective", "tunesmith.metrics", "tunesmith.objectives", Objective
)


def objective_of(spec: str) -> Objective:
    """Make an objective from its name and options, or from the name of a preset."""
    if ":" not in spec and not spec.endswith(".py") and spec not in PRESETS:
        known = [*OBJECTIVES.names(), *PRESETS]
        if spec not in known:
            raise UnknownNameError("objective", spec, known)
    return OBJECTIVES.create(PRESETS.get(spec, spec))


@OBJECTIVES.register("sentence")
@dataclass(frozen=True)
class SentenceObjective(Objective):
    """BLEU of the sentence alone, with the options of ``sentence-bleu``; BLEU+1 by default.

    ``scaled`` multiplies the reference length by the length ratio after the previous round:
    references over candidates, so that after a too short output the next round compares with
    longer references. The paper's text asks for that; its formula, ``literal``, has the ratio the
    other way round. In the first round it is 1. Where the metric scales reference lengths, its
    scale applies too, to sentences and to ratios.
    """

    smoothing: Literal["add-one", "none", "add-alpha", "lin-och"] = option(
        "add-one", "what is added to matches and totals; lin-och is add-one without unigrams"
    )
    alpha: float = option(1.0, "what add-alpha adds")
    grounded: bool = option(False, "subtract the precision of a text without any match")
    brevity: Literal["standard", "smoothed", "none"] = option(
        "standard", "the brevity penalty; smoothed: the reference has one word more"
    )
    unclipped: bool = option(False, "let the brevity penalty be above 1 for long hypotheses")
    scaled: Literal["none", "inverse", "literal"] = option(
        "none", "whether the reference length follows the last round's ratio of lengths"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._sentence_bleu(None)
        if self.scaled != "none" and self.brevity == "none":
            raise UsageError("scaled has no use without a brevity penalty; leave out one of them")

    @property
    def changes_by_round(self) -> bool:
        """Whether the reference length depends on earlier rounds."""
        return self.scaled != "none"

    def is_local(self, metric: Metric) -> bool:
        """Whether the reference length depends on no round before."""
        return not self.changes_by_round

    def _sentence_bleu(self, metric: Metric | None) -> SentenceBLEU:
        """Return sentence BLEU with these options, and with the metric's for texts."""
        options = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del options["scaled"]
        if isinstance(metric, BLEU | SentenceBLEU):
            options |= {name: getattr(metric, name) for name in TEXT_OPTIONS}
            if self.brevity != "none":
                options["reference_length_scale"] = metric.reference_length_scale
        return SentenceBLEU(**options)

    def begin(self, tuning: ScoredCandidates, way: Way) -> CandidateScorer:
        """Count n-grams, unless the metric has counted them, and score all candidates."""
        sentence_bleu = self._sentence_bleu(tuning.metric)
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
            counts = sentence_bleu.ngram_counts(tuning.candidates)
        factor = 1.0
        if way == "examples":
            factor = float(counts[:, 1].mean())
        return _SentenceScorer(tuning.metric, sentence_bleu, counts, factor, self.scaled)


class _SentenceScorer(CandidateScorer):
    def __init__(
        self,
        metric: Metric,
        sentence_bleu: SentenceBLEU,
        counts: Stats,
        factor: float,
        scaled: str,
    ) -> None:
        self.stats = counts
        self.metric = metric
        if not isinstance(metric, BLEU):
            self.metric = BLEU(**{name: getattr(sentence_bleu, name) for name in TEXT_OPTIONS})
        self._unscaled = self._sentence_bleu = sentence_bleu
        self._factor = factor
        self._scaled = scaled
        self._values = self.of(counts)

    def values(self, first: int, last: int) -> Floats:
        return self._values[first:last]

    def of(self, stats: Stats) -> Floats:
        return self._factor * self._sentence_bleu.sentence_scores(stats)

    def end_round(self, total: Stats) -> None:
        scale = self._unscaled.reference_length_scale
        length, reference = float(total[0]), scale * float(total[1])
        if self._scaled == "none" or min(length, reference) <= 0:
            return
        ratio = reference / length if self._scaled == "inverse" else length / reference
        self.recall({"scale": scale * ratio})

    def memory(self) -> dict[str, Any]:
        return {"scale": self._sentence_bleu.reference_length_scale}

    def recall(self, memory: Mapping[str, Any]) -> None:
        scale = memory["scale"]
        self._sentence_bleu = dataclasses.replace(self._unscaled, reference_length_scale=scale)
        self._values = self.of(self.stats)


@OBJECTIVES.register("metric")
@dataclass(frozen=True)
class MetricObjective(Objective):
    """The metric itself, as if the sentence were the whole set."""

    def is_local(self, metric: Metric) -> bool:
        """Whether scores are in per cent; others are scaled by their deviation."""
        return metric.scale == 100.0

    def begin(self, tuning: ScoredCandidates, way: Way) -> CandidateScorer:
        """Score all candidates."""
        return _MetricScorer(tuning, way)


class _MetricScorer(CandidateScorer):
    def __init__(self, tuning: ScoredCandidates, way: Way) -> None:
        self.stats = tuning.stats
        self.metric = tuning.metric
        gains = tuning.metric.gain(tuning.stats)
        self._unit = unit_of(tuning, gains, way)
        self._values = self._unit * gains

    def values(self, first: int, last: int) -> Floats:
        return self._values[first:last]

    def of(self, stats: Stats) -> Floats:
        return self._unit * self.metric.gain(stats)


@OBJECTIVES.register("document")
@dataclass(frozen=True)
class DocumentObjective(Objective):
    """What a candidate adds to the metric of a pseudo-document of earlier choices.

    Chiang, "Hope and fear" (JMLR 2012), equation 3: B(b) = n · (BLEU(b̄ + b) − BLEU(b̄)), where b̄
    are the statistics of the document and n is its length in words; after each sentence b̄ becomes
    decay · (b̄ + b). For other metrics n is the number of sentences. The document begins with an
    average candidate, so that there is a score from the first sentence on.

    Learning from pairs (section 3.3 of Nakov et al. 2012), each round begins with the winners of
    the previous rounds, those of the last weighted by the decay, and the candidates that were
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

    def begin(self, tuning: ScoredCandidates, way: Way) -> DocumentScorer:
        """Return a scorer whose document is one average candidate."""
        return DocumentScorer(tuning, self.decay, way)


class DocumentScorer(CandidateScorer):
    """Scores candidates by what they add to a pseudo-document.

    Attributes
    ----------
    document : float64[K]
        Its statistics.
    sentences
        The number of its sentences, each weighted by its decay.
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
        """Return the gain from adding each candidate of a group, times the document's length."""
        return self.of(self.stats[first:last])

    def of(self, stats: Stats) -> Floats:
        """Return the gain from adding statistics of a group, times the document's length."""
        added: Floats = self.metric.gain(self.document + stats) - self.metric.gain(self.document)
        return self.factor(stats) * added

    def factor(self, rows: Stats) -> float:
        """Return the factor of differences in the document's score, for some rows of a group."""
        if not self._counts_words:
            # The sentence itself included: differences of an average become the sentence's own.
            return self._unit * (self.sentences + 1.0)
        words = float(self.document[0])
        if words >= 1.0 and self.way == "examples":
            return words
        reference_length = max(1.0, float(rows[:, 1].mean()))
        # Where nothing is left of the document, the sentence is all there is.
        words = words if words >= 1.0 else reference_length
        return words if self.way == "examples" else words / reference_length

    def add(self, stats: Stats) -> None:
        """Add a sentence; learning from examples, apply the decay."""
        self.document = self.document + stats
        self.sentences += 1.0
        if self.way == "examples":
            self.document = self.decay * self.document
            self.sentences *= self.decay

    def have_added(self, document: Floats, count: int) -> None:
        """Continue from a document to which a number of sentences were added, as examples."""
        self.document = document
        for _ in range(count):
            self.sentences = self.decay * (self.sentences + 1.0)

    def end_round(self, total: Stats) -> None:
        """Learning from pairs, restart the document from the winners of all rounds."""
        if self.way == "examples":
            return
        self._background = self.decay * (self._background + total)
        self._rounds = self.decay * (self._rounds + self.tuning.candidates.groups)
        self.document, self.sentences = self._background, self._rounds

    def memory(self) -> dict[str, Any]:
        """Return the document, and the winners of earlier rounds."""
        return {
            "document": self.document.tolist(),
            "sentences": self.sentences,
            "background": self._background.tolist(),
            "rounds": self._rounds,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Continue from a document."""
        self.document = np.array(memory["document"], np.float64)
        self.sentences = float(memory["sentences"])
        self._background = np.array(memory["background"], np.float64)
        self._rounds = float(memory["rounds"])


def unit_of(tuning: ScoredCandidates, values: Floats, way: Way) -> float:
    """Return the factor by which values are scaled, so that thresholds and rates have one meaning.

    Scores in per cent stay as they are, from 0 to 1; learning from examples, they are multiplied
    by the mean length of the references, like n of a document. Values in a unit of their own get
    the deviation within groups that such scores have.
    """
    lengths = lengths_of(tuning)
    if tuning.metric.scale == 100.0 and (way == "pairs" or lengths is not None):
        return 1.0 if way == "pairs" or lengths is None else float(lengths.references.mean())
    deviation = _deviation_within(values, tuning)
    target = USUAL_DEVIATION if way == "pairs" else 1.0
    return target / deviation if deviation > 0 and math.isfinite(deviation) else 1.0


def _deviation_within(values: Floats, tuning: ScoredCandidates) -> float:
    start = tuning.candidates.start
    sizes = np.diff(start)
    largest = float(np.abs(values).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return largest
    values = values / largest  # squares of 1e300 and of 1e-300 overflow and underflow
    means = np.add.reduceat(values, start[:-1]) / sizes
    return largest * float(np.sqrt(np.mean(np.square(values - np.repeat(means, sizes)))))
