"""Conformance of metrics."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from tunesmith.arrays import Floats, Stats
from tunesmith.errors import TunesmithError
from tunesmith.metrics.base import Metric
from tunesmith.metrics.scored import find_oracle
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing.checks import (
    CLOSE,
    Check,
    NotApplicable,
    checks_of,
    demand,
    demand_no_global_randomness,
    demand_same_for_threads,
    name_of,
    run_all,
    same_bits,
)
from tunesmith.testing.metric_probe import MetricProbe
from tunesmith.testing.metric_slope import slope_is_finite, slope_is_the_derivative
from tunesmith.testing.options import (
    equal_options_are_equal,
    has_a_name,
    options_are_documented,
    signature_tells_options,
)
from tunesmith.testing.samples import (
    all_choices,
    as_set,
    corpus,
    demand_unchanged,
    fingerprint,
    small_corpora,
)

#: How far apart the gains of copies and of garbage may be. A score in per cent whose scale is 1
#: gives 100, a share whose scale is 100 gives 0.01.
NATURAL = (0.02, 50.0)


def check_metric(metric: Metric | type[Metric]) -> None:
    """Raise a ConformanceError if a metric breaks a rule.

    Parameters
    ----------
    metric
        A metric with its options, or a class, whose defaults are taken.
    """
    run_all(metric_checks(metric))


def metric_checks(metric: Metric | type[Metric]) -> list[Check[Any]]:
    """Return the checks of a metric, for ``pytest.mark.parametrize``.

    ``metric`` is as for :func:`check_metric`.
    """
    instance = _example(metric) if isinstance(metric, type) else metric
    return checks_of(RULES, name_of(instance), MetricProbe(instance))


def _example(cls: Any) -> Metric:
    if getattr(cls, "takes_parts", False):
        combined: Metric = cls.of("0.5*bleu,wer")
        return combined
    text = getattr(cls, "takes_text", None)
    metric: Metric = cls(**({} if text is None else {text: "quality"}))
    return metric


def statistics_have_their_width(probe: MetricProbe) -> None:
    """Return as many finite numbers for every candidate as stat_names has names."""
    metric, names = probe.metric, probe.metric.stat_names
    demand(
        isinstance(names, tuple) and names and all(isinstance(n, str) for n in names),
        f"stat_names is {names!r}",
        "give a tuple with a name for each statistic",
    )
    demand(
        len(set(names)) == len(names),
        f"two statistics have the same name in {names}",
        "name each of them once",
    )
    width = len(names)
    _demand_numbers(probe.stats, (len(probe.candidates), width), "candidate_stats")
    if not metric.columns:
        group = probe.groups[0]
        stats = np.asarray(metric.stats(group.candidates[0].text, list(group.references)))
        _demand_numbers(stats, (width,), "stats")


def _demand_numbers(stats: Stats, shape: tuple[int, ...], description: str) -> None:
    demand(
        stats.shape == shape,
        f"{description} has the shape {stats.shape}, and stat_names asks for {shape}",
        "return one number for each name of stat_names",
    )
    demand(
        stats.dtype == np.float64 or np.issubdtype(stats.dtype, np.signedinteger),
        f"{description} has the type {stats.dtype}",
        "return whole numbers with a sign or float64: they are added and subtracted",
    )
    demand(
        np.isfinite(stats).all(),
        f"{description} holds a number that is not finite",
        "give empty texts and texts without a match finite statistics too",
    )


def texts_and_candidates_agree(probe: MetricProbe) -> None:
    """Return the same statistics of a text by itself and of that text in a set."""
    probe.needs_texts()
    row = 0
    for group in probe.groups:
        for candidate in group.candidates:
            text = " ".join(candidate.text.split())
            references = [" ".join(r.split()) for r in group.references]
            stats = np.asarray(probe.metric.stats(text, references))
            demand(
                np.array_equal(stats, probe.stats[row]),
                f"stats of '{text}' with the references {references} is {stats.tolist()}, and "
                f"candidate_stats has {probe.stats[row].tolist()}",
                "make both count the same",
            )
            row += 1


def any_number_of_references(probe: MetricProbe) -> None:
    """Take one reference or several, equal or empty ones among them."""
    probe.needs_references()
    width = len(probe.metric.stat_names)
    texts = ("the cat sat", "", "the cat sat", "猫 が いる", "a dog")
    for count in range(1, len(texts) + 1):
        for references in (list(texts[:count]), texts[:count]):
            stats = np.asarray(probe.metric.stats("the cat", references))
            _demand_numbers(stats, (width,), f"stats with {count} references")


def candidates_do_not_matter_to_each_other(probe: MetricProbe) -> None:
    """Count a candidate by itself, whatever others are in the set."""
    reverse = [
        replace(g, id=len(probe.groups) - 1 - int(g.id), candidates=g.candidates[::-1])
        for g in probe.groups
    ]
    backwards = probe.stats_of(as_set(reverse))[::-1]
    half = as_set(probe.groups[::2])
    rows = np.concatenate(
        [np.arange(*probe.candidates.start[g : g + 2]) for g in range(0, len(probe.groups), 2)]
    )
    for stats, expected, how in (
        (backwards, probe.stats, "in another order"),
        (probe.stats_of(half), probe.stats[rows], "in a smaller set"),
    ):
        demand(
            np.array_equal(stats, expected),
            f"the statistics of a candidate are different {how}",
            "count each candidate by itself: statistics are added up over any choice of them",
        )


def statistics_add_up(probe: MetricProbe) -> None:
    """Give a corpus and the same corpus twice the same score."""
    # A corpus so large that what smoothing adds to its counts does not matter.
    first = probe.candidates.start[:-1] + np.minimum(3, np.diff(probe.candidates.start) - 1)
    total = 1000 * probe.stats[first].sum(axis=0)
    once, twice = (float(probe.metric.score(t)) for t in (total, 2 * total))
    demand(
        abs(once - twice) <= 1e-3 * max(probe.metric.scale, abs(once)),
        f"a corpus scores {once:g}, and twice as many sentences of the same kind {twice:g}",
        "give counts as statistics, their number among them, and divide sums in score",
    )


def score_takes_any_shape(probe: MetricProbe) -> None:
    """Score statistics [..., K] row by row, as an array [...]."""
    metric, totals = probe.metric, probe.totals
    width = totals.shape[-1]
    single = np.array([float(metric.score(row)) for row in totals.copy()])
    strided = np.repeat(totals, 2, axis=0)[::2]
    for stats, shape in (
        (totals, (12,)),
        (totals.reshape(3, 4, width), (3, 4)),
        (totals.reshape(2, 3, 1, 2, width), (2, 3, 1, 2)),
        (strided, (12,)),
        (totals.astype(np.float64), (12,)),
    ):
        scores = np.asarray(metric.score(stats.copy() if stats is not strided else stats))
        demand(
            scores.shape == shape,
            f"the score of statistics {stats.shape} has the shape {scores.shape}, not {shape}",
            "index statistics as stats[..., k] and return an array without the last axis",
        )
        demand(
            np.issubdtype(scores.dtype, np.floating),
            f"the score has the type {scores.dtype}",
            "return floating-point numbers",
        )
        demand(
            np.allclose(scores.reshape(-1), single, rtol=0, atol=probe.tolerance),
            f"the score of many rows at once, {scores.reshape(-1)[:3]}, is not that of each by "
            f"itself, {single[:3]}",
            "index statistics as stats[..., k]: rows are independent of each other",
        )


def score_is_finite(probe: MetricProbe) -> None:
    """Give every sentence a finite score: empty ones too, and those without a match."""
    rows = np.concatenate([probe.stats, probe.totals])
    scores: Floats = np.asarray(probe.metric.score(rows.copy()))
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        k = int(bad[0])
        demand(
            False,
            f"the score of the statistics {rows[k].tolist()} is {scores[k]}",
            "say what the score is where a sum is 0",
        )
    for row in (probe.stats[0], probe.stats[-1], probe.totals[0]):
        details = probe.metric.details(row.copy())
        demand(
            isinstance(details, dict) and all(np.isfinite(v) for v in details.values()),
            f"details() is {details!r}",
            "return finite numbers by name",
        )


def input_is_left_alone(probe: MetricProbe) -> None:
    """Leave candidates, statistics and references as they are."""
    before = fingerprint(probe.candidates)
    probe.stats_of(probe.candidates)
    demand_unchanged(probe.candidates, before, "candidates")
    totals = probe.totals.copy()
    probe.metric.score(totals)
    demand(same_bits(totals, probe.totals), "score changes its argument", "work on a copy")
    probe.metric.gain(totals)
    probe.metric.details(totals[0])
    demand(same_bits(totals, probe.totals), "details changes its argument", "work on a copy")
    if probe.metric.has_slope:
        probe.metric.slope(totals)
        demand(same_bits(totals, probe.totals), "slope changes its argument", "work on a copy")
    if not probe.metric.columns:
        references = ["the cat sat", "a dog"]
        probe.metric.stats("the cat", references)
        demand(
            references == ["the cat sat", "a dog"], "stats changes the references", "work on a copy"
        )


def randomness_is_not_global(probe: MetricProbe) -> None:
    """Return the same twice, and leave global random numbers alone."""

    def work() -> tuple[Stats, Floats]:
        stats = probe.stats_of(probe.candidates)
        return stats, np.asarray(probe.metric.score(stats.copy()))

    demand_no_global_randomness(work, lambda a, b: all(map(same_bits, a, b)))
    other = copy.deepcopy(probe.metric).candidate_stats(probe.candidates)
    demand(
        np.array_equal(other, probe.stats),
        "an equal metric gives different statistics",
        "compute statistics from the options alone",
    )


def threads_change_nothing(probe: MetricProbe) -> None:
    """Return the same bits for one thread and for two."""
    demand_same_for_threads(
        lambda: probe.stats_of(probe.candidates),
        "statistics",
        "let every candidate be counted by one thread, in a fixed order",
    )


def copies_beat_garbage(probe: MetricProbe) -> None:
    """Find copies of the references at least as good as texts without a match."""
    probe.needs_references()
    copies, garbage = probe.copies_and_garbage
    demand(
        copies >= garbage,
        f"copies of the references have the gain {copies:g} and garbage has {garbage:g}",
        "set higher_is_better = False for an error rate, True for others",
    )


def scale_is_natural(probe: MetricProbe) -> None:
    """Have a scale that is about the best score, so that gains are about 1."""
    probe.needs_references()
    demand(probe.metric.scale > 0, f"scale is {probe.metric.scale}", "give a positive number")
    copies, garbage = probe.copies_and_garbage
    apart = abs(copies - garbage)
    demand(
        apart == 0 or NATURAL[0] <= apart <= NATURAL[1],
        f"copies of the references and garbage are {apart:g} apart in natural units",
        "set scale = 100 if scores are in per cent, scale = 1 if they are shares",
    )


def sum_is_a_sum(probe: MetricProbe) -> None:
    """Set is_sum only where the best candidate of each group is the best choice of all."""
    metric = probe.metric
    if not metric.is_sum:
        raise NotApplicable("is_sum is False: nothing is claimed")
    for groups in small_corpora(metric.columns):
        candidates = as_set(groups)
        tuning = TuningSet(candidates, metric, probe.stats_of(candidates))
        totals = np.array([tuning.total(choice) for choice in all_choices(candidates)])
        gains = np.asarray(metric.gain(totals))
        for worst, extreme in ((False, gains.max()), (True, gains.min())):
            gain = float(metric.gain(tuning.total(find_oracle(tuning, worst).chosen)))
            demand(
                abs(gain - float(extreme)) <= CLOSE,
                f"is_sum is True, and choosing group by group gives the gain {gain:g} where "
                f"{extreme:g} is possible",
                "set is_sum = False unless the score is an average over sentences",
            )


def missing_input_is_an_error(probe: MetricProbe) -> None:
    """Raise a TunesmithError if references or columns that it needs are missing."""
    metric = probe.metric
    bare = as_set([replace(g, references=()) for g in corpus()])
    needs_more = metric.needs_references or bool(metric.columns)
    try:
        stats = metric.candidate_stats(bare)
    except TunesmithError as error:
        demand(
            needs_more,
            f"candidates without references are refused ({error}) though it says it needs none",
            "set needs_references = True",
        )
        demand("\n" not in str(error), f"the error {str(error)!r} is not one line", "shorten it")
        return
    demand(
        not needs_more,
        "candidates without what it needs get statistics",
        "call self.check(candidates) first in candidate_stats",
    )
    _demand_numbers(np.asarray(stats), (len(bare), len(metric.stat_names)), "candidate_stats")


#: From the simple to the involved: the first that fails is the one to fix first.
RULES = (
    has_a_name,
    options_are_documented,
    equal_options_are_equal,
    signature_tells_options,
    statistics_have_their_width,
    any_number_of_references,
    missing_input_is_an_error,
    input_is_left_alone,
    randomness_is_not_global,
    threads_change_nothing,
    texts_and_candidates_agree,
    candidates_do_not_matter_to_each_other,
    score_takes_any_shape,
    score_is_finite,
    statistics_add_up,
    copies_beat_garbage,
    scale_is_natural,
    sum_is_a_sum,
    slope_is_the_derivative,
    slope_is_finite,
)
