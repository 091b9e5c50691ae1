"""The page of a comparison: which system is better, by how much, and in which sentences."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from typing import Any

from tunesmith._version import __version__
from tunesmith.io.streams import write_atomically
from tunesmith.report.page.differences import differences, truncated
from tunesmith.report.page.words import metric_name
from tunesmith.report.standalone import asset, page, script_of
from tunesmith.significance.comparison import Comparison, MetricComparison, PairedTest
from tunesmith.significance.sentences import Ranking
from tunesmith.significance.tables import digits_of

#: Differences with a corrected p-value up to this are beyond chance.
SIGNIFICANT = 0.05


def write_comparison(comparison: Comparison, path: str | os.PathLike[str], most: int = 0) -> None:
    """Write the page of a comparison, with at most this many sentences of each pair."""
    write_atomically(path, comparison_page(comparison, most))


def comparison_page(comparison: Comparison, most: int = 0) -> str:
    """Return the page: one file without external resources."""
    *names, last = (system.name for system in comparison.metrics[0].systems)
    title = f"{', '.join(names)} and {last}"
    return page(title, _script(), view_of(comparison, title, most))


def view_of(comparison: Comparison, title: str, most: int) -> dict[str, Any]:
    """Return all that the page shows, as JSON has it."""
    return {
        "version": __version__,
        "title": title,
        "verdicts": [
            {"text": verdict(scores, test), "look": look(scores, test)}
            for scores in comparison.metrics
            for test in scores.tests
        ],
        "metrics": [
            asdict(scores) | {"called": metric_name(scores.metric), "digits": _digits(scores)}
            for scores in comparison.metrics
        ],
        "rankings": [_ranking(ranking, most) for ranking in comparison.rankings],
        "sampling": {
            "sentences": comparison.sentences,
            "bootstrap resamples": comparison.resamples,
            "randomisations": comparison.randomizations,
            "seed": comparison.seed,
        },
        "notes": [_sentence(note) for note in (*comparison.warnings, *comparison.notes)],
    }


def verdict(scores: MetricComparison, test: PairedTest) -> str:
    """Say in a sentence whether two systems differ by more than chance."""
    name, digits = metric_name(scores.metric), _digits(scores)
    if test.better is None:
        return f"{test.a} and {test.b} have the same {name}."
    gain, low, high = (
        f"{value:+.{digits}f}".replace("-", "−") for value in (test.difference, *test.interval)
    )
    numbers = f"{gain} {name} (95 %: {low} to {high})"
    if not is_clear(test):
        return f"{test.b} and {test.a} do not differ by more than chance: {numbers}."
    word = "better" if test.better == test.b else "worse"
    if not holds_corrected(scores, test):
        numbers += f"; not beyond chance after correction for {len(scores.tests)} tests"
    return f"{test.b} is {word} than {test.a}: {numbers}."


def look(scores: MetricComparison, test: PairedTest) -> str:
    """Return the colour of a verdict: for the new system, against it, or neither."""
    if not is_clear(test) or not holds_corrected(scores, test):
        return ""
    return "up" if test.better == test.b else "down"


def is_clear(test: PairedTest) -> bool:
    """Say whether all of the interval of the difference is on one side of 0."""
    low, high = test.interval
    return low > 0.0 or high < 0.0


def holds_corrected(scores: MetricComparison, test: PairedTest) -> bool:
    """Say whether a difference is beyond chance for one among all tests of a metric."""
    p_value = max(test.p_bootstrap_holm, test.p_randomization_holm)
    return len(scores.tests) < 2 or p_value <= SIGNIFICANT


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


def _digits(scores: MetricComparison) -> int:
    return digits_of(*(system.mean for system in scores.systems))


def _ranking(ranking: Ranking, most: int) -> dict[str, Any]:
    return {
        "metric": metric_name(ranking.metric),
        "a": ranking.a,
        "b": ranking.b,
        "sentences": list(_sentences(ranking, most)),
    }


def _sentences(ranking: Ranking, most: int) -> Iterator[dict[str, Any]]:
    """Yield the sentences that differ most, with what only one of the outputs has marked."""
    for sentence in ranking.sentences(most):
        text_a, text_b = differences(sentence.text_a, sentence.text_b)
        references = [truncated(text) for text in sentence.references]
        yield asdict(sentence) | {"text_a": text_a, "text_b": text_b, "references": references}


@cache
def _script() -> str:
    return script_of(asset("comparison.js"))
