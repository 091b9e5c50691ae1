"""Comparing systems: bootstrap, approximate randomisation, and several runs of optimizers.

Koehn, "Statistical significance tests for machine translation evaluation" (EMNLP 2004).
Riezler and Maxwell, "On some pitfalls in automatic evaluation and significance testing for MT"
(2005). Clark, Dyer, Lavie and Smith, "Better hypothesis testing for statistical machine
translation: controlling for optimizer instability" (ACL 2011).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.metrics.checks import checked_score
from tunesmith.metrics.spec import spec_of
from tunesmith.randomness import checked_seed
from tunesmith.significance.chance import (
    centred,
    half_interval,
    holm,
    interval,
    p_value,
    p_value_with_ties,
)
from tunesmith.significance.comparison import (
    Comparison,
    MetricComparison,
    PairedTest,
    RunScore,
    SystemScores,
)
from tunesmith.significance.notes import notes_of, warnings_of
from tunesmith.significance.resampling import bootstrap_sums, shuffled_sums, swapped_sums
from tunesmith.significance.scoring import Scores, is_known, resampled_type, scores_of
from tunesmith.significance.sentences import rank_sentences
from tunesmith.significance.systems import Path, Pool, System, systems_of
from tunesmith.tasks.lists import TuningSet

#: sacrebleu's usual numbers, and its seed.
RESAMPLES, RANDOMIZATIONS, SEED = 1000, 10000, 12345
#: By how much rounding may move equal differences of scores that are not whole counts, relative
#: to the scores.
ROUNDING = 1e-10


@dataclass(frozen=True)
class Chance:
    """How chance is sampled: bootstrap resamples, randomisations, and the seed of both."""

    resamples: int = RESAMPLES
    randomizations: int = RANDOMIZATIONS
    seed: int = SEED

    def __post_init__(self) -> None:
        for name, count in (
            ("resamples", self.resamples),
            ("randomizations", self.randomizations),
        ):
            if not isinstance(count, int | np.integer):
                raise UsageError(f"{name} is {count!r}; give a whole number")
            if count < 1:
                raise UsageError(f"{name} is {count}; give 1 or more")
        checked_seed(self.seed)


def compare(
    systems: Mapping[str, Any],
    metrics: str | Metric | Sequence[str | Metric] = "bleu",
    references: Path | Sequence[Any] = (),
    candidates: Pool | None = None,
    *,
    all_pairs: bool = False,
    resamples: int = RESAMPLES,
    randomizations: int = RANDOMIZATIONS,
    seed: int = SEED,
    rank: bool = False,
    strict: bool = False,
) -> Comparison:
    """Compare systems, each with one or several runs of an optimizer.

    Parameters
    ----------
    systems
        The runs of each system, by its name: a run, or a list of runs. A run is a file (of
        outputs, one per line, or of weights where there are candidates), a list of texts, weights
        by name, the result of a tuner, or a set with one candidate for each group. The first
        system is the baseline.
    metrics
        One or several, by name or as objects.
    references
        Files, or lists with one text per sentence. Candidates have their own references.
    candidates
        Lists or forests that weights choose from.
    all_pairs
        Test every system against every other, not only against the baseline.
    resamples, randomizations, seed
        How chance is sampled. With sacrebleu's numbers, and one run of each system, p-values and
        intervals of BLEU, chrF and TER equal sacrebleu's to the last digit.
    rank
        Also rank the sentences by how much two systems differ.
    strict
        Make it an error if names of weights and features differ.
    """
    chance = Chance(resamples, randomizations, seed)
    named = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    measures = [METRICS.create(name) if isinstance(name, str) else name for name in named]
    systems_read = systems_of(systems, references, candidates, strict)
    return compare_systems(systems_read, measures, chance, all_pairs, rank)


def compare_systems(
    systems: Sequence[System],
    metrics: Sequence[Metric],
    chance: Chance,
    all_pairs: bool = False,
    rank: bool = False,
) -> Comparison:
    """Compare systems whose outputs are there; see :func:`compare`."""
    if not metrics:
        raise UsageError("there is no metric; give one or more")
    measured = [_measure(systems, metric) for metric in metrics]
    comparisons = tuple(_compare_by(measure, chance, all_pairs) for measure in measured)
    warnings_found = warnings_of(systems, comparisons)
    for text in warnings_found:
        warnings.warn(text, stacklevel=3)
    pairs = _pairs(len(systems), all_pairs)
    rankings = tuple(
        rank_sentences(
            systems[a], systems[b], measure.metric, measure.stats[a], measure.stats[b], measure.name
        )
        for measure in measured
        for a, b in pairs
        if rank
    )
    return Comparison(
        metrics=comparisons,
        sentences=systems[0].runs[0].outputs.groups,
        resamples=chance.resamples,
        randomizations=chance.randomizations,
        seed=chance.seed,
        notes=tuple(notes_of(systems)),
        warnings=tuple(warnings_found),
        rankings=rankings,
    )


@dataclass(frozen=True)
class _Measurement:
    """Statistics [S, R, K] of each system by a metric, and how they were counted."""

    metric: Metric
    signature: str
    systems: tuple[System, ...]
    stats: tuple[Stats, ...]

    @cached_property
    def name(self) -> str:
        """The metric's name with its options, where a text can say them: two may be BLEU."""
        return spec_of(self.metric) or self.metric.name

    @cached_property
    def slack(self) -> float:
        """By how much rounding may move what is equal: nothing where statistics are counts."""
        if is_known(self.metric) and all((stats == np.rint(stats)).all() for stats in self.stats):
            return 0.0
        return ROUNDING * max(1.0, *(float(np.abs(self.scores(k)).max()) for k in self._range))

    @property
    def _range(self) -> range:
        return range(len(self.stats))

    def scores(self, k: int) -> Scores:
        """Return the score of each run of a system."""
        return scores_of(self.metric, self.stats[k].sum(axis=0))


def _measure(systems: Sequence[System], metric: Metric) -> _Measurement:
    """Count the statistics of all runs."""
    counted = [[TuningSet(run.outputs, metric) for run in system.runs] for system in systems]
    stats = tuple(np.stack([outputs.stats for outputs in runs], axis=1) for runs in counted)
    return _Measurement(metric, counted[0][0].signature(), tuple(systems), stats)


def _pairs(count: int, all_pairs: bool) -> list[tuple[int, int]]:
    """Return the pairs that are tested, the baseline of each first."""
    return [pair for pair in combinations(range(count), 2) if all_pairs or pair[0] == 0]


def _compare_by(measured: _Measurement, chance: Chance, all_pairs: bool) -> MetricComparison:
    resampled = _resample(measured, chance)
    systems = tuple(
        _scores_of_system(measured, k, resampled[k]) for k in range(len(measured.systems))
    )
    tests = [
        _test(measured, a, b, (resampled[a], resampled[b]), (systems[a], systems[b]), chance)
        for a, b in _pairs(len(systems), all_pairs)
    ]
    by_bootstrap = holm([test.p_bootstrap for test in tests])
    by_randomization = holm([test.p_randomization for test in tests])
    corrected = [
        replace(test, p_bootstrap_holm=bootstrap, p_randomization_holm=randomization)
        for test, bootstrap, randomization in zip(
            tests, by_bootstrap, by_randomization, strict=True
        )
    ]
    signature = f"{measured.signature}|bs:{chance.resamples}|ar:{chance.randomizations}"
    return MetricComparison(
        measured.name,
        f"{signature}|seed:{chance.seed}",
        measured.metric.higher_is_better,
        systems,
        tuple(corrected),
    )


def _resample(measured: _Measurement, chance: Chance) -> list[Scores]:
    """Return the scores [R, resamples] of each system; all see the same resamples."""
    kind = resampled_type(measured.metric)
    size = len(measured.metric.stat_names)
    flat = [stats.reshape(len(stats), -1) for stats in measured.stats]
    rows: Stats = np.ascontiguousarray(np.concatenate(flat, axis=1), kind)
    sums = bootstrap_sums(rows, chance.resamples, chance.seed)
    columns = sums.reshape(chance.resamples, -1, size)
    scores = [scores_of(measured.metric, columns[:, r]) for r in range(columns.shape[1])]
    _check_finite(measured.metric, scores)
    # Not in one array: the precision of one system's scores is not another's.
    next_scores = iter(scores)
    return [
        np.stack([next(next_scores) for _ in range(stats.shape[1])]) for stats in measured.stats
    ]


def _check_finite(metric: Metric, scores: Sequence[Scores]) -> None:
    for values in scores:
        if not np.isfinite(values).all():
            raise TunesmithError(
                f"{metric.name} of some resamples is not finite; fix the metric, or its numbers"
            )


def _scores_of_system(measured: _Measurement, k: int, resampled: Scores) -> SystemScores:
    system = measured.systems[k]
    scores = [checked_score(measured.metric, score) for score in measured.scores(k)]
    together = resampled.mean(axis=0)
    mean, half_width = half_interval(together)
    several = len(scores) > 1
    return SystemScores(
        name=system.name,
        runs=tuple(RunScore(r.name, s) for r, s in zip(system.runs, scores, strict=True)),
        mean=float(np.mean(scores)),
        deviation=float(np.std(scores, ddof=1)) if several else None,
        selection_deviation=float(np.mean([_deviation(run_scores) for run_scores in resampled])),
        minimum=min(scores),
        maximum=max(scores),
        bootstrap_mean=mean,
        bootstrap_half_width=half_width,
        interval=interval(together),
    )


def _deviation(scores: Scores) -> float:
    """Return the sample deviation, in double precision; 0 of one number."""
    values: Floats = scores.astype(np.float64)
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _test(
    measured: _Measurement,
    a: int,
    b: int,
    resampled: tuple[Scores, Scores],
    systems: tuple[SystemScores, SystemScores],
    chance: Chance,
) -> PairedTest:
    """Test one system against another."""
    first, second = systems
    difference = second.mean - first.mean
    drawn = resampled[1].mean(axis=0) - resampled[0].mean(axis=0)
    slack = measured.slack
    p_bootstrap = p_value(centred(drawn), abs(difference), slack)
    p_randomization, with_ties = _randomization(measured, a, b, chance, slack)
    are_same = _are_same(measured.stats[a], measured.stats[b])
    # Where nothing is beyond a difference of 0, the formula would call it significant.
    if are_same or (abs(difference) <= slack and np.abs(drawn).max() <= slack):
        p_bootstrap = 1.0
    if are_same:
        p_randomization = with_ties = 1.0
    better = None
    if difference:
        is_second = (difference > 0) == measured.metric.higher_is_better
        better = second.name if is_second else first.name
    return PairedTest(
        a=first.name,
        b=second.name,
        difference=difference,
        better=better,
        interval=interval(drawn),
        p_bootstrap=p_bootstrap,
        p_randomization=p_randomization,
        p_bootstrap_holm=p_bootstrap,
        p_randomization_holm=p_randomization,
        p_randomization_with_ties=with_ties,
        variance_selection=_deviation(drawn) ** 2,
        variance_optimizer=_optimizer_variance(first, second),
    )


def _without_copies(stats: Stats) -> Stats:
    """Return only one run where all have the same statistics."""
    return stats[:, :1] if (stats == stats[:, :1]).all() else stats


def _are_same(first: Stats, second: Stats) -> bool:
    """Tell whether all runs of both systems have the same statistics."""
    return bool((first == first[:, :1]).all() and (second == first[:, :1]).all())


def _optimizer_variance(first: SystemScores, second: SystemScores) -> float | None:
    if first.deviation is None or second.deviation is None:
        return None
    return first.deviation**2 / len(first.runs) + second.deviation**2 / len(second.runs)


def _randomization(
    measured: _Measurement, a: int, b: int, chance: Chance, slack: float
) -> tuple[float, float]:
    """Return the p-value of approximate randomisation, without and with ties.

    Several runs count as one long output, as in MultEval. Runs that are all the same count as one:
    copies are no evidence.
    """
    metric = measured.metric
    first, second = (_without_copies(measured.stats[k]) for k in (a, b))
    if first.shape[1] == second.shape[1] == 1:
        sums = swapped_sums(first[:, 0], second[:, 0], chance.randomizations, chance.seed)
    else:
        sums = shuffled_sums(first, second, chance.randomizations, chance.seed)
    first_scores, second_scores = (scores_of(metric, system_sums) for system_sums in sums)
    _check_finite(metric, (first_scores, second_scores))
    real = [float(scores_of(metric, stats.sum(axis=(0, 1))[None])[0]) for stats in (first, second)]
    samples, difference = np.abs(first_scores - second_scores), abs(real[0] - real[1])
    if max(difference, float(samples.max())) <= slack:
        return 1.0, 1.0
    return p_value(samples, difference, slack), p_value_with_ties(samples, difference, slack)
