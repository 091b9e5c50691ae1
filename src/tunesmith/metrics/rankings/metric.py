"""Metrics of rankings: their names, and what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.rankings.rankings import Judgements, Rankings
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.metrics.base import Metric
from tunesmith.metrics.rankings.terms import (
    CASCADE,
    FIRST,
    GAIN,
    PRECISION,
    PREFERENCE,
    UNIT,
    Terms,
)
from tunesmith.registry import option, parse_options

Measure = Literal["ndcg", "ap", "rr", "p", "recall", "success", "rprec", "err", "bpref"]
#: What each measure is, and whether its name needs a cutoff (True), may have one (None) or not.
MEASURES: dict[str, tuple[str, bool | None]] = {
    "ndcg": ("normalised discounted cumulative gain", None),
    "ap": ("average precision; its mean over queries is MAP", None),
    "rr": ("one over the rank of the first relevant document; its mean is MRR", None),
    "p": ("share of relevant documents among the first k", True),
    "recall": ("share of the relevant documents that are among the first k", True),
    "success": ("whether a relevant document is among the first k", True),
    "rprec": ("precision at the number of relevant documents", False),
    "err": ("expected reciprocal rank", None),
    "bpref": ("judged documents that are not relevant above relevant ones", False),
}
#: Other names.
ALIASES = {"map": "ap", "mrr": "rr", "precision": "p", "r-precision": "rprec", "hit": "success"}
#: The ends of the search for a ranking no longer than this.
LONGEST = 1 << 40


@dataclass(frozen=True)
class RankingMetric(Metric):
    """The mean of a measure over queries: ``ndcg@10``, ``map``, ``rr@10:relevant=2``.

    Documents are ranked by their scores; among equals, the one whose name sorts last comes first,
    as in trec_eval. Queries without relevant documents count 0.

    The statistics are the sum of the queries' values, in whole numbers of a small unit, and the
    number of queries.
    """

    scale = 1.0
    is_sum = True
    needs_references = False
    measure: Measure = option("ndcg", "which measure")
    cutoff: int | None = option(None, "the last rank that counts", least=1)
    relevant: int = option(1, "the least grade of a relevant document", least=1)
    gains: Literal["linear", "exponential"] = option(
        "linear", "gain of a grade g in ndcg: g, or 2^g - 1"
    )
    max_grade: int = option(4, "the highest grade, in err", least=1, most=60)

    def __post_init__(self) -> None:
        super().__post_init__()
        needs_cutoff = MEASURES[self.measure][1]
        if needs_cutoff and self.cutoff is None:
            raise UsageError(f"{self.measure} needs a last rank; write {self.measure}@10")
        if needs_cutoff is False and self.cutoff is not None:
            raise UsageError(f"{self.measure} has no last rank; write {self.measure}")
        for field, owners in {
            "relevant": set(MEASURES) - {"ndcg", "err"},
            "gains": {"ndcg"},
            "max_grade": {"err"},
        }.items():
            if getattr(self, field) != type(self).__dataclass_fields__[field].default and (
                self.measure not in owners
            ):
                raise UsageError(f"{field.replace('_', '-')} has no effect on {self.measure}")
        vars(self)["name"] = self._name()

    @classmethod
    def of(cls, text: str) -> Self:
        """Make a metric of its name and options, as ``ndcg@10:gains=exponential``."""
        name, _, rest = text.strip().partition(":")
        measure, at, cut = name.lower().partition("@")
        measure = ALIASES.get(measure, measure)
        if measure not in MEASURES:
            raise UnknownNameError("metric of rankings", measure, [*MEASURES, *ALIASES])
        if at and not (cut.isascii() and cut.isdecimal() and int(cut) > 0):
            raise UsageError(f"'{text}' has no whole number above 0 after @; write {measure}@10")
        options: dict[str, str] = {}
        for part in filter(None, rest.split(",")):
            key, equals, value = part.partition("=")
            if not equals or key in {"measure", "cutoff"}:
                raise UsageError(f"'{part}' in metric '{text}' is no option; write option=value")
            options[key] = value
        fields: dict[str, Any] = parse_options(cls, options, f"metric '{name}'")
        return cls(measure, int(cut) if at else None, **fields)  # type: ignore[arg-type]

    def _name(self) -> str:
        name = self.measure if self.cutoff is None else f"{self.measure}@{self.cutoff}"
        shown = {
            "relevant": self.relevant != 1,
            "gains": self.gains != "linear",
            "max_grade": self.max_grade != 4,
        }
        options = [
            f"{f.replace('_', '-')}={getattr(self, f)}" for f, is_set in shown.items() if is_set
        ]
        return f"{name}:{','.join(options)}" if options else name

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The sum of the values, and the number of queries."""
        return ("value", "queries")

    def stats(self, hypothesis: str, references: Sequence[str]) -> Stats:
        """Refuse: a text is no ranking."""
        raise TunesmithError(f"{self.name} is a number of a ranking; give runs and judgements")

    def score(self, stats: Stats) -> Floats:
        """Return the mean over queries."""
        values = np.asarray(stats, np.float64)
        mean: Floats = values[..., 0] / UNIT / values[..., 1]
        return mean

    def signature(self) -> str:
        """Return the name: all options are in it."""
        return f"{self.name}|ties:name-descending"

    @cached_property
    def kind(self) -> int:
        """What the amounts depend on."""
        return {"ap": PRECISION, "rr": FIRST, "success": FIRST, "err": CASCADE}.get(
            self.measure, PREFERENCE if self.measure == "bpref" else GAIN
        )

    def gain_of(self, grades: Ints) -> Floats:
        """Return the gain of grades, 0 where a document is not relevant."""
        values = np.asarray(grades, np.float64)
        if self.measure == "ndcg":
            gains = values if self.gains == "linear" else np.exp2(values) - 1.0
            return np.where(values > 0, gains, 0.0)
        if self.measure == "err":
            chances = (np.exp2(values) - 1.0) / 2.0**self.max_grade
            return np.where(values > 0, chances, 0.0)
        return np.where(values >= self.relevant, 1.0, 0.0)

    def terms(self, rankings: Rankings) -> Terms:
        """Return what kernels know of the metric on some rankings."""
        if self.measure == "err" and rankings.judged.grades.max(initial=0) > self.max_grade:
            most = int(rankings.judged.grades.max())
            raise UsageError(f"there is a grade {most}; give err:max-grade={most}")
        levels, level = np.unique(np.append(rankings.grades, 0), return_inverse=True)
        gain = self.gain_of(levels)
        number = np.where(gain > 0.0, np.cumsum(gain > 0.0), 0)
        if self.kind == PREFERENCE:  # what is not judged does not count
            number[levels < 0] = -1
        longest = int(np.diff(rankings.start).max(initial=0))
        ranks = np.arange(longest + 1, dtype=np.float64)
        ranks[0] = 1.0  # never used
        divisor = np.ones(longest + 1)
        if self.measure == "ndcg":
            divisor = np.log2(ranks + 1.0)
        elif self.measure == "rr":
            divisor = ranks
        depth, norm, least = self._of_queries(rankings.judged)
        return Terms(
            self.kind,
            number[level[:-1]],
            np.append(0.0, gain[gain > 0.0]),
            divisor,
            depth,
            norm,
            least,
        )

    def _of_queries(self, judged: Judgements) -> tuple[Ints, Floats, Floats]:
        """Return the depth and the norm of each query, and what bpref needs."""
        count = len(judged.start) - 1
        query = np.repeat(np.arange(count), np.diff(judged.start))
        gains = self.gain_of(judged.grades)
        relevant = np.bincount(query, gains > 0.0, count).astype(np.float64)
        depth = np.full(count, self.cutoff or LONGEST, np.int64)
        norm: Floats = relevant.astype(np.float64)
        least = np.ones(count)
        if self.measure == "ndcg":
            norm = _ideal(query, gains, judged.start, depth)
        elif self.measure == "p":
            norm = np.full(count, float(self.cutoff or 1))
        elif self.measure in {"rr", "success", "err"}:
            norm = np.ones(count)
        elif self.measure == "rprec":
            depth = relevant.astype(np.int64)
        elif self.measure == "bpref":
            others = np.bincount(query, (gains == 0.0) & (judged.grades >= 0), count)
            least = np.maximum(np.minimum(relevant, others), 1.0)
        return depth, np.where(relevant > 0, norm, 0.0), least


def _ideal(query: Ints, gains: Floats, start: Ints, depth: Ints) -> Floats:
    """Return the discounted cumulative gain of the best ranking there can be."""
    order = np.lexsort((-gains, query))
    rank = np.arange(len(query)) - start[query] + 1
    counted = gains[order] / np.log2(rank + 1.0)
    within = np.where(rank <= depth[query], counted, 0.0)
    return np.asarray(np.bincount(query, within, len(start) - 1), np.float64)
