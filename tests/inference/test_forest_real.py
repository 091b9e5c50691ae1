"""Real forests of a decoder: its own lists, and Viterbi along lines."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tunesmith.data.forests import ForestSet
from tunesmith.inference.derivations import best_derivations, features_of
from tunesmith.inference.forest_envelope import forest_envelopes
from tunesmith.inference.forest_kbest import kbest_derivations
from tunesmith.io.read_forests import read_forests
from tunesmith.io.weights import read_weights


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


def test_viterbi_finds_nothing_better_along_a_line(forests: ForestSet, start: np.ndarray) -> None:
    some = forests.with_groups(range(0, 500, 25))
    rng = np.random.default_rng(0)
    axis, drawn = np.eye(len(start))[some.names.index("WordPenalty")], rng.standard_normal(12)
    for direction in (axis, drawn):
        lines = forest_envelopes(some, start, direction)
        assert len(lines.at) > 3 * some.groups
        bounds = np.searchsorted(lines.forest, np.arange(some.groups + 1))
        for gamma in rng.standard_cauchy(50):
            weights = start + gamma * direction
            best = features_of(some, best_derivations(some, weights))
            for s in range(some.groups):
                row = slice(best.start[s], best.start[s + 1])
                top = weights[best.features[row]] @ best.values[row]
                own = slice(bounds[s], bounds[s + 1])
                i = int(np.searchsorted(lines.at[own], gamma)) - 1 + bounds[s]
                mine = lines.score[i] + gamma * lines.slope[i]
                assert mine == pytest.approx(top, rel=1e-9, abs=1e-9)
