"""Reordering candidates by their model scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.forests import Forests
from tunesmith.data.weights import Weights
from tunesmith.derived.adding import with_features_of
from tunesmith.errors import TunesmithError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.kernels import kernel
from tunesmith.kernels.sorting import argsort, kth_smallest
from tunesmith.parallel.local import map_pieces

#: Groups whose best candidates are found in one piece of work.
PIECE = 64


def rerank(
    candidates: CandidateSet | Forests, weights: Mapping[str, float], strict: bool = False
) -> list[str]:
    """Return the winning text of each group or forest, exactly as it was read.

    Parameters
    ----------
    candidates
        What to choose from.
    weights
        Weights by name.
    strict
        Make it an error if the names of weights and features differ.
    """
    candidates = with_features_of(candidates, weights)
    if isinstance(candidates, Forests):
        from tunesmith.inference.forests.lists import outputs

        matched = Weights.from_dict(weights).matched(candidates.names, strict)
        candidates = outputs(candidates, matched)
        return [candidates.text(i) for i in range(len(candidates))]
    values = Weights.from_dict(weights).matched(candidates.features.names, strict)
    return [candidates.original(i) for i in best(candidates, values)]


def winning_rows(
    candidates: CandidateSet, weights: Mapping[str, float], strict: bool = False
) -> Ints:
    """Return the number of the winner of each group, as a row of the frame or of the files.

    Parameters
    ----------
    candidates
        What to choose from: made by ``from_frame`` or ``from_arrays``, or read with
        ``keep_rows``.
    weights
        Weights by name.
    strict
        Make it an error if the names of weights and features differ.
    """
    if candidates.rows is None:
        raise TunesmithError("the rows of the input are not known; read it with keep_rows=True")
    candidates = with_features_of(candidates, weights)
    values = Weights.from_dict(weights).matched(candidates.features.names, strict)
    assert candidates.rows is not None
    return candidates.rows[best(candidates, values)]


def ranking(candidates: CandidateSet, values: Floats) -> tuple[Ints, Floats]:
    """Return all candidates, the best of each group first, and the scores as they stood.

    Equal scores stay in the order read, so that the first of a group is its winner.
    """
    scores = candidates.features.dot(values)
    group = np.repeat(np.arange(candidates.groups), np.diff(candidates.start))
    return np.lexsort((-scores, group)), scores


def nbest(
    candidates: CandidateSet, values: Floats, count: int, groups: Ints | None = None
) -> tuple[Ints, Ints]:
    """Return the ``size`` best candidates of each group, the best first.

    Among equals the first in the order read comes first, and is the one that is kept.

    Parameters
    ----------
    values : float64[D]
        Weights.
    count
        How many at most.
    groups
        Of which groups, in which order; None is all.

    Returns
    -------
    rows : int64[...]
        Candidates, those of one group after those of another.
    sizes : int64[...]
        How many there are of each group.
    """
    scores = candidates.features.dot(values)
    chosen = np.arange(candidates.groups) if groups is None else groups
    sizes = np.minimum(np.diff(candidates.start)[chosen], count)
    ends = np.cumsum(sizes)
    rows = np.empty(int(sizes.sum()), np.int64)

    def fill(part: Ints) -> None:
        first = int(ends[part[0]] - sizes[part[0]])
        group_rows = rows[first : ends[part[-1]]]
        best_of_each(scores, candidates.start, chosen[part], count, group_rows)

    pieces = [np.arange(k, min(k + PIECE, len(chosen))) for k in range(0, len(chosen), PIECE)]
    map_pieces(fill, pieces)
    return rows, sizes


@kernel
def best_of_each(scores: Floats, start: Ints, groups: Ints, count: int, rows: Ints) -> None:
    """Fill in the best candidates of some groups, one group after the other."""
    done = 0
    for group in groups:
        lo, hi = start[group], start[group + 1]
        negated = -scores[lo:hi]
        size = min(count, hi - lo)
        chosen = np.empty(size, np.int64)
        # What is worse than the last that is taken is not sorted.
        last = kth_smallest(negated, size - 1)
        left = size
        for i in range(negated.shape[0]):
            left -= negated[i] < last
        filled = 0
        for i in range(negated.shape[0]):
            if negated[i] < last or (negated[i] == last and left > 0):
                left -= negated[i] == last
                chosen[filled] = i
                filled += 1
        order = argsort(negated[chosen])
        for k in range(size):
            rows[done + k] = lo + chosen[order[k]]
        done += size
