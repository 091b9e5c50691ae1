"""What rankings are worth under some scores."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.inference.rankings.places import counts_above
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import argsort
from tunesmith.metrics.rankings.terms import CASCADE, FIRST, UNIT, Terms, amount, stay_chance


@kernel
def values_of(
    scores: Floats, start: Ints, terms: Terms, first: int, last: int, values: Floats, units: Ints
) -> None:
    """Fill the values of some queries, as floats and in the unit of whole numbers.

    Floats are added up from the top of the ranking on, as trec_eval does.
    """
    for q in range(first, last):
        values[q], units[q] = 0.0, 0
        if terms.norm[q] == 0.0:
            continue
        ranks, rows = relevant_ranks(scores, start[q], start[q + 1], terms.level, terms.kind)
        above = np.zeros(terms.gain.shape[0], np.int64)
        stay, total = 1.0, 0.0
        for p in range(rows.shape[0]):
            if ranks[p] > terms.depth[q]:
                break
            level = terms.level[rows[p]]
            if terms.kind == CASCADE:
                stay = stay_chance(terms.gain, above)
            gain, divisor = terms.gain[level], terms.divisor[ranks[p]]
            norm, least = terms.norm[q], terms.least[q]
            value = amount(terms.kind, gain, divisor, ranks[p], p, stay, norm, least)
            total += value
            units[q] += int(np.rint(value / norm * UNIT))
            above[level] += 1
        values[q] = total / terms.norm[q]


@kernel
def relevant_ranks(scores: Floats, lo: int, hi: int, level: Ints, kind: int) -> tuple[Ints, Ints]:
    """Return the ranks, ascending, of the relevant documents of a query, and the documents.

    Of equal scores the first document is ranked first. Where the first relevant document alone
    counts, it alone is returned. Documents of the level -1 are left out.
    """
    rows, keys = _best_first(scores, lo, hi, level, kind)
    size = rows.shape[0]
    above = counts_above(keys, scores[lo:hi])
    counts = np.zeros(size + 1, np.int64)
    for i in range(lo, hi):
        if level[i] >= 0:
            place = above[i - lo]
            while place < size and keys[place] == scores[i] and rows[place] < i:
                place += 1
            counts[place] += 1
    ranks = np.empty(size, np.int64)
    rank = 0
    for p in range(size):
        rank += counts[p]  # the document itself and those between it and the one before
        ranks[p] = rank
    return ranks, rows


@kernel
def _best_first(scores: Floats, lo: int, hi: int, level: Ints, kind: int) -> tuple[Ints, Floats]:
    """Return the relevant documents of a query as they are ranked, and their scores."""
    rows = np.empty(hi - lo, np.int64)
    count = 0
    for i in range(lo, hi):
        if level[i] > 0:
            rows[count] = i
            count += 1
    if kind == FIRST and count > 0:
        for k in range(1, count):
            if scores[rows[k]] > scores[rows[0]]:
                rows[0] = rows[k]
        count = 1
    keys = np.empty(count)
    for k in range(count):
        keys[k] = -scores[rows[k]]
    order = argsort(keys)
    for k in range(count):
        keys[k] = scores[rows[order[k]]]
    return rows[:count][order], keys


@kernel
def order_of(scores: Floats, start: Ints) -> Ints:
    """Return all documents in the order of their ranks, query by query."""
    order = np.empty(scores.shape[0], np.int64)
    for q in range(start.shape[0] - 1):
        lo, hi = start[q], start[q + 1]
        keys = np.empty(hi - lo)
        for i in range(lo, hi):
            keys[i - lo] = -scores[i]
        places = argsort(keys)
        for r in range(hi - lo):
            order[lo + r] = lo + places[r]
    return order
