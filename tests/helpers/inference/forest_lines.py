"""The lines of whole sets of forests, from the kernel that follows those of a block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints
from tunesmith.data.forests import Forests
from tunesmith.inference.forests.derivations import Derivations, check_length, joined_derivations
from tunesmith.inference.forests.envelope.search import envelopes_of_block
from tunesmith.parallel.engine import map_over


class Lines(NamedTuple):
    """L derivations that win somewhere on a line, each on an interval of some length.

    Attributes
    ----------
    forest : int64[L]
        Whose derivation it is, ascending.
    at : float64[L]
        The γ from which on it wins: −inf for the first of a forest, ascending within it.
    derivations
        The derivations.
    score, slope : float64[L]
        Their w·h and d·h; slopes ascend within a forest.
    """

    forest: Ints
    at: Floats
    derivations: Derivations
    score: Floats
    slope: Floats


def forest_envelopes(forests: Forests, weights: Floats, direction: Floats) -> Lines:
    """Follow the best derivation of each forest along ``weights + γ * direction``.

    Parameters
    ----------
    weights, direction : float64[D]

    Returns
    -------
    What wins from γ = −∞ on. A line that others reach at a single point, or pass by no more than
    rounding, is left out.
    """
    parts = map_over(forests, _follow, forests.pieces(), weights, direction)
    forest = np.concatenate(
        [np.zeros(0, np.int64), *(piece_forests for piece_forests, *_ in parts)]
    )
    at, score, slope = np.concatenate([np.zeros((0, 3)), *(part[1] for part in parts)]).T
    derivations = joined_derivations(forest, [(start, edges) for *_, start, edges in parts])
    return Lines(forest, at, derivations, score, slope)


def _follow(
    forests: Forests, piece: slice, weights: Floats, direction: Floats
) -> tuple[Ints, Floats, Ints, Ids]:
    block = forests.block(piece.start, piece.stop)
    counts, table, start, edges = envelopes_of_block(*block, weights, direction)
    groups = np.repeat(np.arange(piece.start, piece.stop), counts)
    check_length(start, forests, groups)
    return groups, table, start, edges
