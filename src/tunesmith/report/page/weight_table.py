"""All weights, before and after and by round, those that say most first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.weights import Weights
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.metrics.scored import ScoredCandidates
from tunesmith.report.page.rounds import entries_of, number
from tunesmith.report.page.run.record import RunRecord
from tunesmith.report.page.view import WeightRow, WeightTable

#: 1 but for rounding.
NEARLY_1 = 1.0 - 1e-9


def weights_of(record: RunRecord, most: int = 200) -> WeightTable:
    """Return the weights of a run, up to a limit.

    What a feature says is the size of its weight times its spread; without candidates the size
    alone counts. Rounds are those of a loop, or several runs.
    """
    names = tuple(dict.fromkeys([*record.weights, *record.start]))
    tuned, start = record.weights.aligned(names), record.start.aligned(names)
    spread = _spread(record, names)
    factor = np.ones(len(names)) if spread is None else spread
    # Weights that are 0 now may have said something before.
    order = np.lexsort((-np.abs(start) * factor, -np.abs(tuned) * factor))[:most].tolist()
    unit, rounds, by_round = _rounds(record, names, float(np.abs(tuned).sum()))
    rows = tuple(
        WeightRow(
            feature=names[d],
            start=float(start[d]),
            tuned=float(tuned[d]),
            by_round=tuple(number(float(vector[d])) for vector in by_round),
            spread=None if spread is None else float(spread[d]),
        )
        for d in order
    )
    return WeightTable(rounds, rows, len(names) - len(rows), unit)


def _spread(record: RunRecord, names: tuple[str, ...]) -> Floats | None:
    """Return the spread of features on the tuning set; those that it lacks say nothing."""
    if "tune" not in record.sets:
        return None
    lists = record.sets["tune"].lists
    return Weights(lists.names, spreads(lists.hypotheses())).aligned(names)


def _rounds(
    record: RunRecord, names: tuple[str, ...], size: float
) -> tuple[str, tuple[str, ...], list[Floats]]:
    """Return the weights of rounds or of runs, of which each has the size of the tuned ones."""
    rounds, unit = entries_of(record.result, "rounds"), "round"
    if not rounds and entries_of(record.result, "runs"):
        rounds, unit = entries_of(record.result, "runs"), "run"
    scaled: list[Floats] = []
    called: list[str] = []
    for k, round_ in enumerate(rounds):
        if isinstance(round_.get("weights"), dict):
            called.append(str(round_.get(unit, k)))
            scaled.append(_scaled(round_["weights"], names, size))
    return unit, tuple(called), scaled


def _scaled(weights: dict[str, Any], names: Sequence[str], size: float) -> Floats:
    values = np.array([number(weights.get(name)) or 0.0 for name in names])
    norm = float(np.abs(values).sum())
    return values * (size / norm) if size > 0.0 and norm > 0.0 else values


def spreads(hypotheses: ListHypotheses) -> Floats:
    """Return the standard deviation [D] of each feature within groups, 0 where it is constant."""
    spread = hypotheses.spread()
    # A spread of 1 stands for none at all, too.
    for d in np.flatnonzero(spread == 1.0):
        if not _varies(hypotheses.tuning, int(d)):
            spread[d] = 0.0
    return spread


def _varies(tuning: ScoredCandidates, feature: int) -> bool:
    """Tell whether a feature whose spread is said to be 1 varies, by more than rounding.

    If it does, some values of a group are that far apart.
    """
    features, start = tuning.candidates.features, tuning.candidates.start
    if feature < len(features.dense_names):
        values = features.dense[feature]
        low, high = (ufunc.reduceat(values, start[:-1]) for ufunc in (np.minimum, np.maximum))
        return bool((high - low >= NEARLY_1).any())
    rows, values = features.column(feature)  # ascending, and nowhere 0
    if not len(rows):
        return False
    group = np.searchsorted(start, rows, side="right") - 1
    groups, first, counts = np.unique(group, return_index=True, return_counts=True)
    has_more = counts < np.diff(start)[groups]  # the others of the group have 0
    low, high = (ufunc.reduceat(values, first) for ufunc in (np.minimum, np.maximum))
    return bool(has_more.any() or (high - low >= NEARLY_1).any())
