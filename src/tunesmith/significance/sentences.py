"""Where two systems differ: sentences in the order of the difference of their own scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.errors import TunesmithError
from tunesmith.metrics.base import Metric
from tunesmith.metrics.sentence_level import scores_by_sentence
from tunesmith.significance.systems import System


@dataclass(frozen=True)
class SentenceDifference:
    """What two systems make of one sentence.

    Attributes
    ----------
    sentence
        Its number, from 1.
    score_a, score_b, difference
        Means over runs of the sentence's own score, and the second minus the first.
    text_a, text_b
        The output that most runs have; among equals, the one whose score is nearest to the mean.
    """

    sentence: int
    score_a: float
    score_b: float
    difference: float
    references: tuple[str, ...]
    text_a: str
    text_b: str


@dataclass(frozen=True)
class Ranking:
    """Sentences, those with the largest difference between two systems first.

    Attributes
    ----------
    metric
        The metric, and what stands for it where one sentence is scored.
    score_a, score_b : float64[S, R]
        The score of each sentence in each run.
    """

    metric: str
    a: str
    b: str
    score_a: Floats
    score_b: Floats
    order: tuple[int, ...]
    first: System
    second: System

    def __len__(self) -> int:
        return len(self.order)

    def sentences(self, most: int | None = None) -> Iterator[SentenceDifference]:
        """Return the first ``most`` sentences, or all."""
        for g in self.order[:most]:
            a, b = float(self.score_a[g].mean()), float(self.score_b[g].mean())
            references = tuple(self.first.runs[0].outputs.reference_texts(g))
            texts = (
                _usual(self.first, g, self.score_a[g]),
                _usual(self.second, g, self.score_b[g]),
            )
            yield SentenceDifference(g + 1, a, b, b - a, references, *texts)

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """Return a JSON object."""
        rows = [asdict(sentence) for sentence in self.sentences(most)]
        return {"metric": self.metric, "a": self.a, "b": self.b, "sentences": rows}


def rank_sentences(
    first: System, second: System, metric: Metric, stats_a: Stats, stats_b: Stats, name: str
) -> Ranking:
    """Rank the sentences of two systems by how much they differ.

    Parameters
    ----------
    stats_a, stats_b : [S, R, K]
        Statistics of each sentence in each run.
    name
        What the metric is called.
    """
    a, b = (_scores(metric, stats) for stats in (stats_a, stats_b))
    order = np.argsort(-np.abs(b.mean(axis=1) - a.mean(axis=1)), kind="stable")
    return Ranking(name, first.name, second.name, a, b, tuple(order.tolist()), first, second)


def _scores(metric: Metric, stats: Stats) -> Floats:
    scores = scores_by_sentence(metric, stats)
    if not np.isfinite(scores).all():
        raise TunesmithError(
            f"{metric.name} of a single sentence is not finite; do not ask for sentences"
        )
    return scores


def _usual(system: System, group: int, scores: Floats) -> str:
    """Return the output that most runs have; among equals, the nearest to the mean score."""
    nearest = np.argsort(np.abs(scores - scores.mean()), kind="stable").tolist()
    texts: Counter[str] = Counter(system.runs[run].outputs.text(group) for run in nearest)
    return texts.most_common(1)[0][0]
