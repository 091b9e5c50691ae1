"""Real forests of a decoder: its own lists, and Viterbi along lines."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tunesmith.data.forests import ForestSet
from tunesmith.inference.forests.derivations import viterbi
from tunesmith.inference.forests.envelope.search import edge_lines, forest_envelopes
from tunesmith.inference.forests.kbest.search import kbest_derivations
from tunesmith.io.forests.read import read_forests
from tunesmith.io.weights.files import read_weights


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "nc-wmt11-de-en"


@pytest.fixture(scope="module")
def forests(folder: Path) -> ForestSet:
    return read_forests(folder / "dev.forests.jsonl.gz").in_memory()


@pytest.fixture(scope="module")
def start(folder: Path, forests: ForestSet) -> np.ndarray:
    return read_weights(folder / "weights.init").weights.aligned(forests.names)


def test_the_best_of_different_texts_are_the_decoders(
    folder: Path, forests: ForestSet, start: np.ndarray
) -> None:
    lists: dict[int, list[float]] = defaultdict(list)
    with gzip.open(folder / "dev.kbest.gz", "rt") as file:
        for line in file:
            parts = line.split(" ||| ")
            lists[int(parts[0])].append(float(parts[-1]))
    found, scores = kbest_derivations(forests, start, 100, unique=True)
    assert len(scores) == sum(len(own) for own in lists.values()) == 49_581
    for s, name in enumerate(forests.ids):
        np.testing.assert_allclose(scores[found.forest == s], lists[name], rtol=0, atol=1e-4)


def test_viterbi_finds_nothing_better_where_lines_cross(
    forests: ForestSet, start: np.ndarray
) -> None:
    """What a convex function is at all its corners it is everywhere, so no line is missing.

    Two of the forests have lines that cross at millions, where sums lose many digits.
    """
    some = forests.with_groups([18, 112, *range(0, 500, 50)])
    drawn = np.random.default_rng(0).standard_normal((3, len(start)))
    for direction in [*np.eye(len(start)), *drawn]:
        lines = forest_envelopes(some, start, direction)
        for i in np.flatnonzero(np.isfinite(lines.at)):
            s, gamma = int(lines.forest[i]), lines.at[i]
            scores, slopes = edge_lines(some.arrays, s, start, direction)
            top = viterbi(some.arrays, s, scores + gamma * slopes)[0][-1]
            size = abs(lines.score[i]) + abs(gamma * lines.slope[i]) + abs(scores).max()
            assert abs(lines.score[i] + gamma * lines.slope[i] - top) < 1e-12 * size
