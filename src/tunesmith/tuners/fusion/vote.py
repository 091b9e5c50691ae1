"""Weights of classifiers that vote, with what they are worth on rows they were not tuned on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tunesmith._version import __version__
from tunesmith.arrays import Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.votes import Weighted, from_votes, labels_of
from tunesmith.data.weights import Weights
from tunesmith.errors import UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.kernels.compiling import working_seconds
from tunesmith.metrics.classes import ClassMetric
from tunesmith.progress import progress
from tunesmith.randomness import checked_seed
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.fitting.folds import LEAST, Folds
from tunesmith.tuners.fitting.split import check_split
from tunesmith.tuners.fitting.verdict import UNKNOWN, PairedStatistics, Verdict, judge
from tunesmith.tuners.fusion.baselines import Baseline
from tunesmith.tuners.fusion.mix import Mix
from tunesmith.tuners.fusion.weights import best_weights

if TYPE_CHECKING:
    from rich.console import Group

SCHEMA = "tunesmith.vote/1"
#: What tuned weights are held against.
EQUAL, BEST = "equal weights", "best model"


@dataclass(frozen=True)
class Vote:
    """The weights of classifiers, and what they gain; prints as tables, and converts to JSON.

    Attributes
    ----------
    metric
        Its name.
    weights
        The weight of each model, of each class, or of each class of each model: 0 or more, adding
        up to 1.
    labels, models, weighted
        The classes, the models, and what has a weight.
    adds_up
        Whether the numbers that each model gives to the classes of a row add up to 1, as
        probabilities do.
    score, held_out
        The score on all rows; and on rows that were not tuned on.
    mix
        For two weights: the best α, the weight of the second, with its plateau; proven.
    baselines
        The scores without tuning.
    verdict
        The gain over equal weights on rows that were not tuned on.
    rows
        The number of rows tuned on.
    seed, seconds
        The seed of the random numbers, and the time it took.
    warnings
        What to be careful about.
    signature
        One line with everything needed to repeat the run.
    """

    metric: str
    weights: Weights
    labels: tuple[object, ...]
    models: tuple[str, ...]
    weighted: Weighted
    adds_up: bool
    score: float
    held_out: float | None
    mix: Mix | None
    baselines: tuple[Baseline, ...]
    verdict: Verdict
    rows: int
    seed: int
    seconds: float
    warnings: tuple[str, ...]
    signature: str

    @property
    def threshold(self) -> float | None:
        """What the probability of the second class must exceed, where two classes have weights.

        None where models have weights: then it is a half. None too where what is given to both
        classes does not add up to 1: then the first class counts as well.
        """
        if self.weighted != "classes" or len(self.labels) != 2 or not self.adds_up:
            return None
        return float(next(iter(self.weights.values())))

    @property
    def plateau(self) -> tuple[float, float] | None:
        """Thresholds between which the score is the same."""
        if self.threshold is None or self.mix is None:
            return None
        return 1.0 - self.mix.high, 1.0 - self.mix.low

    def scores(self, votes: Mapping[str, Any]) -> Floats:
        """Return the weighted sum of probabilities of each class [n, C]."""
        candidates = from_votes(self._of_models(votes), None, self.labels, self.weighted)
        values = self.weights.matched(candidates.features.names)
        return candidates.features.dot(values).reshape(-1, len(self.labels))

    def places(self, votes: Mapping[str, Any]) -> Ints:
        """Return the place among the labels of the class that each row is given."""
        candidates = from_votes(self._of_models(votes), None, self.labels, self.weighted)
        values = self.weights.matched(candidates.features.names)
        return best(candidates, values) - candidates.start[:-1]

    def predict(self, votes: Mapping[str, Any]) -> Any:
        """Return the class that each row is given."""
        return np.array(self.labels)[self.places(votes)]

    def _of_models(self, votes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the votes of the models that have weights."""
        lacking = [name for name in self.models if name not in map(str, votes)]
        if lacking:
            raise UsageError(f"there are no votes of '{lacking[0]}', which has a weight; give them")
        by_name = {str(name): probabilities for name, probabilities in votes.items()}
        return {name: by_name[name] for name in self.models}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "schema": SCHEMA,
            "signature": self.signature,
            "metric": self.metric,
            "score": self.score,
            "held_out": self.held_out,
            "weights": dict(self.weights),
            "labels": list(self.labels),
            "models": list(self.models),
            "weighted": self.weighted,
            "mix": None if self.mix is None else {**asdict(self.mix), "proven": True},
            "threshold": self.threshold,
            "baselines": [asdict(baseline) for baseline in self.baselines],
            "verdict": self.verdict.to_dict(),
            "rows": self.rows,
            "seed": self.seed,
            "seconds": self.seconds,
            "warnings": list(self.warnings),
        }

    def __rich__(self) -> Group:
        from tunesmith.tuners.fusion.tables import vote_table

        return vote_table(self)

    def __str__(self) -> str:
        from tunesmith.tuners.fitting.tables import as_text

        return as_text(self)


def vote(
    votes: Mapping[str, Any],
    y: Any,
    metric: ClassMetric | str = "accuracy",
    *,
    labels: Sequence[object] | None = None,
    positive: object = (),
    weighted: Weighted = "models",
    folds: int = 5,
    rng: int = 1,
) -> Vote:
    """Find the weights of classifiers, 0 or more, with which their weighted sum decides best.

    With two weights (two models, or the threshold between two classes) the result is proven to be
    the best. With more, exact line searches climb from many starting points.

    Parameters
    ----------
    votes : name -> [n, C]
        The probabilities that each model gives the classes of rows that it was not trained on.
    y : [n]
        Their true classes.
    metric
        ``accuracy``, ``balanced-accuracy``, ``f1`` (``f2``, ``f0.5``), ``micro-f1``, ``macro-f1``,
        ``mcc``, ``kappa``, ``linear-kappa`` or ``quadratic-kappa``.
    labels
        The classes in the order of the columns: those of frames, or of ``y``, unless given.
    positive
        The class that ``f1`` scores (of two, the second), or those that ``micro-f1`` counts.
    weighted
        What has a weight: ``models``; ``classes``, a threshold if there are two; or ``both``.
    folds
        The number of parts into which rows are split; each is scored with weights that were tuned
        on the others. 0 holds none out.
    rng
        The seed.
    """
    started = working_seconds()
    seed = checked_seed(rng)
    check_split(folds, None, 0.0)
    classes = labels_of(votes, y, labels)
    candidates = from_votes(votes, y, classes, weighted)
    if candidates.references is None:
        raise UsageError("y is not given; give the true class of each row")
    if isinstance(metric, str):
        metric = ClassMetric.of(metric, classes, positive)
    task = TuningSet(candidates, metric)
    models = tuple(map(str, votes))
    simple = _simple(task.names, models, weighted)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        weights, mix = best_weights(task, seed, [*simple.values()])
        best_model = _best(task, simple)
        fold, unseen = _unseen(task, simple, folds, seed)
    messages = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    for text in messages:
        warnings.warn(text, stacklevel=2)
    held_out = {name: float(metric.score(stats.sum(axis=0))) for name, stats in unseen.items()}
    baselines = [Baseline(EQUAL, task.score_at(simple[EQUAL]), held_out.get(EQUAL))]
    if len(simple) > 2:
        score = task.score_at(simple[best_model])
        baselines.append(Baseline(BEST, score, held_out.get(BEST), best_model))
    verdict = replace(UNKNOWN, higher_is_better=metric.higher_is_better)
    if unseen:
        verdict = judge(metric, PairedStatistics(unseen[EQUAL], unseen["tuned"], fold), "folds")
    return Vote(
        metric=metric.name,
        weights=Weights(task.names, weights),
        labels=classes,
        models=models,
        weighted=weighted,
        adds_up=_adds_up(candidates, len(models) if weighted != "classes" else 1),
        score=task.score_at(weights),
        held_out=held_out.get("tuned"),
        mix=mix,
        baselines=tuple(baselines),
        verdict=verdict,
        rows=task.groups,
        seed=seed,
        seconds=working_seconds() - started,
        warnings=messages,
        signature=f"vote|{task.signature()}|weighted:{weighted}|folds:{folds}|seed:{seed}"
        f"|version:{__version__}",
    )


def _adds_up(candidates: CandidateSet, voters: int) -> bool:
    """Tell whether the features of the classes of each row add up to 1 for each voter."""
    values = candidates.features.dot(np.ones(len(candidates.features.names)))
    sums = np.add.reduceat(values, candidates.start[:-1])
    return bool(np.allclose(sums, voters))


def _simple(names: Sequence[str], models: Sequence[str], weighted: Weighted) -> dict[str, Floats]:
    """Return weights that nobody has to tune: all alike, and each model alone."""
    count = len(names)
    weights: dict[str, Floats] = {EQUAL: np.full(count, 1.0 / count)}
    if weighted == "classes" or len(models) == 1:
        return weights
    classes = count // len(models)
    for k, model in enumerate(models):
        alone = np.zeros(count)
        alone[k * classes : (k + 1) * classes] = 1.0 / classes
        weights[model] = alone
    return weights


def _best(task: TuningSet, simple: Mapping[str, Floats]) -> str:
    """Return the model that is best alone, the first among equals."""
    scores = {name: task.score_at(weights) for name, weights in simple.items() if name != EQUAL}
    return max(scores, key=lambda name: scores[name], default=EQUAL)


def _unseen(
    task: TuningSet, simple: Mapping[str, Floats], count: int, seed: int
) -> tuple[Ints | None, dict[str, Stats]]:
    """Return the fold of each row, and what each way chooses in it, tuned on the others."""
    count = min(count, task.groups)
    if not count or task.groups < LEAST:
        return None, {}
    folds = Folds.of(task.groups, count)
    empty = np.zeros((task.groups, task.stats.shape[1]), task.stats.dtype)
    stats = {name: empty.copy() for name in ("tuned", EQUAL, BEST)}
    splits = cast("Iterator[tuple[TuningSet, Ints, TuningSet]]", folds.splits(task))
    for k, (rest, held_out, part) in enumerate(splits):
        progress("folds", k, count)
        weights = {
            "tuned": best_weights(rest, seed, [*simple.values()])[0],
            EQUAL: simple[EQUAL],
            BEST: simple[_best(rest, simple)],
        }
        for name, values in weights.items():
            stats[name][held_out] = part.winners(values).stats
    progress("folds", count, count)
    return folds.fold, stats
