"""Weights of runs, with what they are worth on queries that they were not tuned on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith._version import __version__
from tunesmith.arrays import Stats
from tunesmith.data.candidates import FileDigest
from tunesmith.data.rankings.normalisation import Normalisation
from tunesmith.data.rankings.rankings import Rankings
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.rankings.values import order_of
from tunesmith.kernels.compiling import working_seconds
from tunesmith.metrics.rankings.metric import RankingMetric
from tunesmith.metrics.rankings.scored import ScoredRankings
from tunesmith.progress import progress
from tunesmith.randomness import checked_seed
from tunesmith.tasks.rankings import RankingTask
from tunesmith.tuners.fitting.folds import LEAST, Folds
from tunesmith.tuners.fitting.split import check_split
from tunesmith.tuners.fitting.verdict import UNKNOWN, HeldOutKind, PairedStatistics, Verdict, judge
from tunesmith.tuners.fusion.baselines import Baseline, RunModel, makers
from tunesmith.tuners.fusion.mix import Mix
from tunesmith.tuners.fusion.weights import best_weights

if TYPE_CHECKING:
    from rich.console import Group

SCHEMA = "tunesmith.fuse/1"
#: Folds that choose a normalisation, within those that say what it is worth.
INNER_FOLDS = 5


@dataclass(frozen=True)
class Fused:
    """The weights of runs, and what they gain; prints as tables, and converts to JSON.

    Attributes
    ----------
    metric
        Its name.
    weights
        The weight of each run, 0 or more unless others were allowed; their absolute values add up
        to 1.
    normalisation
        What is done to scores before they are weighted; it belongs to the weights.
    score, held_out
        The score on all queries; and on queries that were not tuned on: those of the folds, or of
        the test set.
    mix
        For two runs: the best α, the weight of the second, with its plateau; proven.
    baselines
        The scores without tuning.
    verdict
        The gain over equal weights on queries that were not tuned on.
    queries, depth
        The number of queries tuned on, and the most documents that a run returned for one.
    tuned_in_folds
        The weights and the normalisation of each fold.
    seed, seconds
        The seed of the random numbers, and the time it took.
    warnings
        What to be careful about.
    data
        The files, with their digests.
    signature
        One line with everything needed to repeat the run.
    """

    metric: str
    weights: Weights
    normalisation: Normalisation
    score: float
    held_out: float | None
    mix: Mix | None
    baselines: tuple[Baseline, ...]
    verdict: Verdict
    queries: int
    depth: int
    tuned_in_folds: tuple[dict[str, Any], ...]
    seed: int
    seconds: float
    warnings: tuple[str, ...]
    data: tuple[FileDigest, ...]
    signature: str

    def scores(self, rankings: Rankings) -> dict[str, dict[str, float]]:
        """Return the scores of documents by query, the best first, as ``ranx`` takes a run.

        The rankings need no judgements: they are the same runs, of any queries.
        """
        scored = ScoredRankings(rankings, normalisation=self.normalisation)
        scores = scored.features.dot(self.weights.matched(rankings.names))
        order, start = order_of(scores, rankings.start), rankings.start
        return {
            query: {rankings.documents[row]: float(scores[row]) for row in order[lo:hi]}
            for query, lo, hi in zip(rankings.queries, start[:-1], start[1:], strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``tunesmith fuse``, which ``rerank`` takes as weights."""
        runs = tuple(self.weights)
        mix = None if self.mix is None else {"run": runs[1], **asdict(self.mix), "proven": True}
        return {
            "schema": SCHEMA,
            "signature": self.signature,
            "metric": self.metric,
            "score": self.score,
            "held_out": self.held_out,
            "weights": dict(self.weights),
            "normalisation": self.normalisation.to_dict(),
            "mix": mix,
            "baselines": [asdict(baseline) for baseline in self.baselines],
            "verdict": self.verdict.to_dict(),
            "queries": self.queries,
            "depth": self.depth,
            "folds": list(self.tuned_in_folds),
            "seed": self.seed,
            "seconds": self.seconds,
            "warnings": list(self.warnings),
            "data": [asdict(file) for file in self.data],
        }

    def __rich__(self) -> Group:
        from tunesmith.tuners.fusion.tables import fused_table

        return fused_table(self)

    def __str__(self) -> str:
        from tunesmith.tuners.fitting.tables import as_text

        return as_text(self)


def fuse(
    rankings: Rankings,
    metric: RankingMetric | str = "ndcg@10",
    normalisation: str | Normalisation | Sequence[str | Normalisation] = "min-max",
    *,
    missing: str | float = "auto",
    folds: int = 5,
    test: Rankings | None = None,
    allow_negative: bool = False,
    rng: int = 1,
) -> Fused:
    """Find the weights of runs, 0 or more, with which their sum is ranked best.

    For two runs the best mix is proven: one pass over all points at which two documents of
    different grades change places. With more runs, the search climbs from many starting points.

    Parameters
    ----------
    rankings
        Two runs or more, with judgements.
    metric
        A metric of rankings, or its name.
    normalisation
        What is done to the scores of each query and run. Of several, folds choose one.
    missing
        The score of a document that a run did not return: ``lowest``, ``zero`` or a number.
    folds
        The number of parts into which queries are split; each is scored with weights that were
        tuned, and a normalisation that was chosen, on the others. 0 holds none out.
    test
        Judged queries of the same runs, scored instead of folds.
    allow_negative
        Allow weights below 0, which search engines do not take.
    rng
        The seed.
    """
    started = working_seconds()
    seed = checked_seed(rng)
    metric = RankingMetric.of(metric) if isinstance(metric, str) else metric
    kinds = _kinds(normalisation, missing)
    _check(rankings, folds, test)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _check_relevant(rankings, metric)
        search = _Search(metric, kinds, allow_negative, seed)
        model, mix = search.tuned(rankings)
        compared = makers(rankings.names)
        models = {name: maker(rankings, metric) for name, maker in compared.items()}
        scores = {name: baseline.score(rankings, metric) for name, baseline in models.items()}
        unseen = _unseen(rankings, search, folds, test, model, models)
    messages = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    for text in messages:
        warnings.warn(text, stacklevel=2)
    held_out = {name: _mean(metric, stats) for name, stats in unseen.stats.items()}
    abouts = {name: baseline.run or _shown(baseline, name) for name, baseline in models.items()}
    return Fused(
        metric=metric.name,
        weights=Weights(rankings.names, model.weights),
        normalisation=model.normalisation,
        score=model.score(rankings, metric),
        held_out=held_out.get("tuned"),
        mix=mix,
        baselines=tuple(
            Baseline(name, scores[name], held_out.get(name), abouts[name]) for name in models
        ),
        verdict=unseen.verdict(metric),
        queries=rankings.groups,
        depth=_depth(rankings),
        tuned_in_folds=tuple(_entry(fold, rankings.names) for fold in unseen.models),
        seed=seed,
        seconds=working_seconds() - started,
        warnings=messages,
        data=rankings.files if test is None else (*rankings.files, *test.files),
        signature=f"fuse|{metric.signature()}|normalisation:{','.join(map(str, kinds))}"
        f"|missing:{missing}|folds:{0 if test is not None else folds}"
        f"{'|allow-negative' if allow_negative else ''}|seed:{seed}"
        f"|version:{__version__}",
    )


def _kinds(
    normalisation: str | Normalisation | Sequence[str | Normalisation], missing: str | float
) -> tuple[Normalisation, ...]:
    each = [normalisation] if isinstance(normalisation, str | Normalisation) else [*normalisation]
    if not each:
        raise UsageError("there is no normalisation; give one, or several to choose from")
    return tuple(
        dict.fromkeys(
            Normalisation.of(kind, missing) if isinstance(kind, str) else kind for kind in each
        )
    )


def _check(rankings: Rankings, folds: int, test: Rankings | None) -> None:
    if not isinstance(rankings, Rankings):
        raise UsageError("rankings are needed; read some with read_rankings")
    if len(rankings.names) < 2:
        raise UsageError("there is one run, and nothing to mix it with; give two or more")
    check_split(folds, None, 0.0)
    if test is not None:
        if test.names != rankings.names:
            raise UsageError("the test queries are of other runs; give the same, in their order")
        both = {*rankings.queries} & {*test.queries}
        if both:
            raise UsageError(
                f"{len(both)} queries are tuned on and tested on, as '{min(both)}'; give "
                "judgements of different queries"
            )


def _check_relevant(rankings: Rankings, metric: RankingMetric) -> None:
    """Raise an error where all weights score the same for want of relevant documents."""
    if not (metric.terms(rankings).level > 0).any():
        raise UsageError(
            f"no run has a document that is relevant for {metric.name}, so all weights score 0; "
            "give judgements with relevant documents, of the same names as in the runs"
        )


@dataclass(frozen=True)
class _Search:
    """What is tuned for, and among which models."""

    metric: RankingMetric
    kinds: Sequence[Normalisation]
    allow_negative: bool
    seed: int

    def tuned(self, rankings: Rankings) -> tuple[RunModel, Mix | None]:
        """Return the best model of some queries; folds of them choose the normalisation."""
        kind = self.kinds[0] if len(self.kinds) == 1 else self._chosen(rankings)
        return self._with(rankings, kind)

    def _with(self, rankings: Rankings, kind: Normalisation) -> tuple[RunModel, Mix | None]:
        task = RankingTask(rankings, self.metric, kind)
        weights, mix = best_weights(task, self.seed, allow_negative=self.allow_negative)
        return RunModel(weights, kind), mix

    def _chosen(self, rankings: Rankings) -> Normalisation:
        """Return the normalisation whose weights are best on queries that they do not know."""
        if rankings.groups < LEAST:
            return self.kinds[0]
        folds = Folds.of(rankings.groups, min(INNER_FOLDS, rankings.groups))
        totals = []
        for kind in self.kinds:
            stats = [
                self._with(rankings.with_queries(folds.rest(k)), kind)[0].stats(
                    rankings.with_queries(folds.held_out(k)), self.metric
                )
                for k in range(folds.count)
            ]
            totals.append(_mean(self.metric, np.concatenate(stats)))
        return self.kinds[int(np.argmax(totals))]


@dataclass(frozen=True)
class _Unseen:
    """Statistics of queries that were not tuned on, of the tuned weights and of each baseline."""

    stats: dict[str, Stats]
    fold: Any = None
    on: HeldOutKind = "folds"
    models: tuple[RunModel, ...] = ()

    def verdict(self, metric: RankingMetric) -> Verdict:
        """Compare the tuned weights with equal ones."""
        if not self.stats:
            return replace(UNKNOWN, higher_is_better=metric.higher_is_better)
        both = PairedStatistics(self.stats["equal weights"], self.stats["tuned"], self.fold)
        return judge(metric, both, self.on)


def _unseen(
    rankings: Rankings,
    search: _Search,
    count: int,
    test: Rankings | None,
    model: RunModel,
    models: dict[str, RunModel],
) -> _Unseen:
    metric = search.metric
    if test is not None:
        both = {"tuned": model, **models}
        return _Unseen(
            {name: candidate.stats(test, metric) for name, candidate in both.items()},
            on="test",
        )
    count = min(count, rankings.groups)
    if not count or rankings.groups < LEAST:
        return _Unseen({})
    folds = Folds.of(rankings.groups, count)
    compared = makers(rankings.names)
    stats: dict[str, Stats] = {
        name: np.zeros((rankings.groups, 2), np.int64) for name in ("tuned", *compared)
    }
    tuned = []
    for k in range(count):
        progress("folds", k, count)
        rest = rankings.with_queries(folds.rest(k))
        held_out = folds.held_out(k)
        part = rankings.with_queries(held_out)
        tuned.append(search.tuned(rest)[0])
        stats["tuned"][held_out] = tuned[-1].stats(part, metric)
        for name, maker in compared.items():
            stats[name][held_out] = maker(rest, metric).stats(part, metric)
    progress("folds", count, count)
    return _Unseen(stats, folds.fold, models=tuple(tuned))


def _mean(metric: RankingMetric, stats: Stats) -> float:
    return float(metric.score(stats.sum(axis=0)))


def _depth(rankings: Rankings) -> int:
    """Return the most documents that a run returned for a query."""
    there = ~np.isnan(rankings.scores)
    return int(np.add.reduceat(there, rankings.start[:-1], axis=1).max(initial=0))


def _entry(model: RunModel, names: Sequence[str]) -> dict[str, Any]:
    weights = dict(zip(names, model.weights.tolist(), strict=True))
    return {"weights": weights, "normalisation": model.normalisation.to_dict()}


def _shown(model: RunModel, kind: str) -> str | None:
    if kind != "grid":
        return None
    return ", ".join(f"{weight:.1f}" for weight in model.weights)
