"""The ways of tuning of pro_length.py: the rows of its tables, and what each comes to."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tunesmith as ts
from tunesmith.arrays import Stats
from tunesmith.inference.lists.hypotheses import best
from tunesmith.metrics.candidate_scorer import OBJECTIVES as KNOWN
from tunesmith.metrics.candidate_scorer import DocumentObjective, DocumentScorer
from tunesmith.metrics.candidate_scorer import Way as LearningWay
from tunesmith.tuners.base import TUNERS

#: Dev is m30k's test set up to this sentence, Test the rest.
HALF = 500
#: PRO as the paper has it: nothing but the threshold protects it.
PLAIN: dict[str, Any] = {
    "objective": ("bleu+1",),
    "sample": "uniform:pairs=5000",
    "select": ("difference:least=0.05",),
    "accept": "greatest:pairs=50",
    "strength": (100.0,),
}
#: Documents of about the last 10 sentences and the last 1000; the usual ones of `mira` and of
#: `batch-mira`.
SHORT, LONG = "document:decay=0.9", "document:decay=0.999"
#: What the paper's last columns show; the counts are those of BLEU.
SENTENCE = ts.SentenceBLEU(smoothing="none")


class _WinnersScorer(DocumentScorer):
    def add(self, stats: Stats) -> None:
        """Leave the positives out of the document."""


@KNOWN.register("winners")
@dataclass(frozen=True)
class Winners(DocumentObjective):
    """The paper's corpus-level BLEU, with a document of earlier rounds' winners alone.

    Not in the paper. It tells what the positives in the document do.
    """

    def begin(self, tuning: ts.TuningSet, way: LearningWay) -> DocumentScorer:
        """Return values with a document of an average candidate."""
        return _WinnersScorer(tuning, self.decay, way)


@dataclass(frozen=True)
class Sets:
    """What is tuned on, what may choose, what is only reported, and where tuners begin."""

    tune: ts.TuningSet
    dev: ts.TuningSet
    test: ts.TuningSet
    start: Mapping[str, float]


@dataclass(frozen=True)
class Way:
    """A row of the tables.

    Attributes
    ----------
    tables
        The paper's tables that it belongs to.
    by_rounds
        Whether its objective changes by rounds, so that their number counts.
    """

    label: str
    tables: tuple[int, ...]
    tuner: str = "pro"
    options: Mapping[str, Any] = field(default_factory=dict)
    by_rounds: bool = False

    def made(self, rounds: int | None) -> Any:
        """Return the tuner; without a number of rounds it has its usual one, 5."""
        more = {"iterations": rounds} if self.by_rounds else {}
        return TUNERS.get(self.tuner)(**self.options, **more)


def pro(label: str, *tables: int, by_rounds: bool = False, **options: Any) -> Way:
    """Return a row with PRO: plain but for some options."""
    return Way(label, tables, "pro", PLAIN | options, by_rounds)


PRO = pro("PRO", 1, 2, 3, 4)
#: The objectives of Tables 2 and 3, among which the paper's advice chooses.
OBJECTIVES = (
    PRO,
    pro("PRO, PC-unsmoothed", 2, objective=("unsmoothed",)),
    pro("PRO, PC-grounded", 2, objective=("grounded",)),
    pro("PRO, BP-smoothed", 2, objective=("brevity-smoothed",)),
    pro("PRO, BP-smoothed, PC-grounded", 2, objective=("brevity-smoothed-grounded",)),
    pro("PRO, scaled by r′/c′ (the text)", 3, objective=("scaled",), by_rounds=True),
    pro("PRO, scaled by c′/r′ (the formula)", 3, objective=("scaled-literal",), by_rounds=True),
    pro("PRO, unclipped", 3, objective=("unclipped",)),
    pro("PRO, unclipped, scaled by r′/c′", 3, objective=("unclipped-scaled",), by_rounds=True),
)
SMOOTHED = OBJECTIVES[3]
CORPUS = (
    pro("PRO, corpus-BLEU", 4, objective=("document",), by_rounds=True),
    pro("PRO, corpus-BLEU, winners only (ours)", 4, objective=("winners",), by_rounds=True),
)
WAYS = (
    PRO,
    pro("PRO, no threshold", 1, select=("all",)),
    pro("PRO, accept random", 1, accept="random:pairs=50"),
    pro("PRO, no threshold, accept random", 1, select=("all",), accept="random:pairs=50"),
    Way("`pro` with its defaults", (1,)),
    *OBJECTIVES[1:],
    Way("`mira`, sent-BLEU+1", (4,), "mira", {"objective": ("bleu+1",)}),
    Way("`batch-mira`, sent-BLEU+1", (4,), "batch-mira", {"objective": ("bleu+1",)}),
    *CORPUS,
    Way("`mira`", (4,), "mira", {"objective": (SHORT,)}),
    Way("`mira`, decay 0.999 (ours)", (4,), "mira", {"objective": (LONG,)}),
    Way("`batch-mira`", (4,), "batch-mira", {"objective": (LONG,)}),
    Way("`batch-mira`, decay 0.9 (ours)", (4,), "batch-mira", {"objective": (SHORT,)}),
    Way("`mert`, 20 restarts", (4,), "mert", {"restarts": 20}),
)


def read_catalogs(shared: Path) -> Sets:
    """Read the lists of software messages."""
    here = shared / "catalogs-nbest"
    sets = (
        ts.TuningSet(ts.read(here / f"{which}.nbest.gz", here / f"{which}.ref"))
        for which in ("tune", "dev", "test")
    )
    return Sets(*sets, ts.read_weights(here / "weights.initial").weights)


def read_multi30k(shared: Path) -> Sets:
    """Merge the lists of all five decoding rounds as Tune, and halve the test set."""
    here = shared / "m30k-de-en"
    tune = ts.read([here / f"run{k}.nbest.gz" for k in range(1, 6)], here / "val.ref")
    test = ts.read(here / "test.nbest.gz", here / "test.ref")
    halves = (test.with_groups(g) for g in (range(HALF), range(HALF, test.groups)))
    start = ts.read_weights(here / "weights.run1.dense").weights
    return Sets(ts.TuningSet(tune), *map(ts.TuningSet, halves), start)


DATA: dict[str, Callable[[Path], Sets]] = {
    "catalogs-nbest": read_catalogs,
    "m30k-de-en": read_multi30k,
}
#: What the history says of pairs.
PAIRS = ("pairs", "positive_length", "negative_length", "reference_length")


def run(way: Way, sets: Sets, rounds: int | None, seed: int) -> dict[str, Any]:
    """Tune, and evaluate the weights on all sets."""
    begun = time.perf_counter()
    found = way.made(rounds).fit(sets.tune, sets.start, rng=seed)
    row: dict[str, Any] = {"label": way.label, "seed": seed}
    for which in ("tune", "dev", "test"):
        row |= {f"{which}_{key}": x for key, x in evaluated(getattr(sets, which), found).items()}
    last = found.history[-1]
    row |= {key: round(last[key], 3) for key in PAIRS if key in last}
    row["warnings"] = found.warnings
    return row | {"seconds": round(time.perf_counter() - begun, 1)}


def evaluated(held: ts.TuningSet, found: ts.TuneResult) -> dict[str, float]:
    """Return BLEU, the length ratio, and the average BLEU of sentences."""
    chosen = best(held.candidates, found.weights.aligned(held.candidates.features.names))
    ratio = held.metric.details(held.total(chosen))["length_ratio"]
    sentences = SENTENCE.sentence_scores(held.stats[chosen])
    return {
        "bleu": round(held.score(chosen), 4),
        "ratio": round(float(ratio), 5),
        "sentence_bleu": round(100.0 * statistics.mean(sentences.tolist()), 4),
    }


def by_length(sets: Sets, seed: int) -> str:
    """Run the mode itself that follows the paper's advice; return the chosen row's label."""
    names = {way.options["objective"][0]: way.label for way in OBJECTIVES}
    options = PLAIN | {"objective": tuple(names), "choose_by": "length"}
    found = TUNERS.get("pro")(**options).fit(sets.tune, sets.start, rng=seed)
    (chosen,) = (entry for entry in found.path or [] if entry["chosen"])
    return names[chosen["objective"]]
