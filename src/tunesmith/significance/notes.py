"""Remarks on the numbers of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tunesmith.significance.comparison import MetricComparison, PairedTest
from tunesmith.significance.systems import System, SystemRun

#: Fewer sentences than this tell little about the sentences that were not drawn.
FEW = 50
#: Levels at which differences are called significant.
LEVELS = (0.001, 0.01, 0.05, 0.1)


def notes_of(systems: Sequence[System]) -> list[str]:
    """Return how far the numbers reach."""
    notes = []
    if any(len(system.runs) == 1 for system in systems):
        notes.append(
            "a system has a single run, so optimizer instability is not measured, and the p-values "
            "hold for these runs alone (Clark et al. 2011); give several runs of each"
        )
    if len(systems) > 2:
        notes.append(
            f"{len(systems)} systems are compared on one set; if you choose the best of them here, "
            "report it on another set"
        )
    return notes


def warnings_of(systems: Sequence[System], comparisons: Sequence[MetricComparison]) -> list[str]:
    """Return what has to be known before the numbers are believed."""
    warnings_found = [*_of_systems(systems)]
    for comparison in comparisons:
        for test in comparison.tests:
            warnings_found += _of_ties(comparison.metric, test)
    return list(dict.fromkeys(warnings_found))


def _of_systems(systems: Sequence[System]) -> Iterator[str]:
    sentences = systems[0].runs[0].outputs.groups
    if sentences < FEW:
        many = "sentence is" if sentences == 1 else "sentences are"
        yield f"{sentences} {many} few for a bootstrap: p-values and intervals are rough"
    for system in systems:
        first, *others = system.runs
        if others and all(_are_same(first, run) for run in others):
            yield (
                f"all runs of '{system.name}' have the same output: they count as one, and the "
                "deviation over runs says nothing about optimizer instability"
            )


def _are_same(first_run: SystemRun, second_run: SystemRun) -> bool:
    """Return whether two runs have the same outputs, with the same external scores."""
    first, second = first_run.outputs, second_run.outputs
    if (first.texts.lengths != second.texts.lengths).any():
        return False
    # Candidates without texts differ only in their scores.
    names = {*first.columns} & {*second.columns}
    if not all(np.array_equal(first.columns[name], second.columns[name]) for name in names):
        return False
    if first.vocabulary == second.vocabulary:
        return bool((first.texts.ids == second.texts.ids).all())
    return all(first.text(g) == second.text(g) for g in range(first.groups))


def _of_ties(metric: str, test: PairedTest) -> Iterator[str]:
    """Say where a difference is significant because equal differences do not count."""
    if test.p_randomization == test.p_bootstrap == 1.0 and not test.difference:
        yield f"'{test.a}' and '{test.b}' are the same by {metric}, whatever is drawn: p is 1"
    elif any(test.p_randomization <= at < test.p_randomization_with_ties for at in LEVELS):
        yield (
            f"{metric}: many shufflings of '{test.a}' and '{test.b}' differ exactly as much as the "
            "systems do, as where few sentences differ, or by whole counts; if these count, p is "
            f"{test.p_randomization_with_ties:.4f}, not {test.p_randomization:.4f}"
        )
