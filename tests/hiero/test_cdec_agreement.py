"""cdec's own translations with its grammar, language model, weights and settings."""

from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.hiero.cdec_derivations import (
    best_derivation,
    best_scores,
    forests,
    our_score,
    text_of,
)
from tunesmith.data.forests import ForestSet
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Sentence
from tunesmith.hiero import HieroDecoder
from tunesmith.inference.forests.kbest.search import kbest_derivations
from tunesmith.io.weights.files import read_weights

#: Sentences of so many words at most, the first of them; benchmarks/decode.py has them all.
LONGEST, COUNT = 15, 40


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "nc-wmt11-de-en"


@pytest.fixture(scope="module")
def weights(folder: Path) -> Weights:
    return read_weights(folder / "weights.init").weights


@pytest.fixture(scope="module")
def sentences(folder: Path) -> list[Sentence]:
    lines = (folder / "dev.de").read_text(encoding="utf-8").split("\n")[:-1]
    every = (Sentence(k, line) for k, line in enumerate(lines) if len(line.split()) <= LONGEST)
    return list(islice(every, COUNT))


@pytest.fixture(scope="module")
def decoder(folder: Path) -> HieroDecoder:
    return HieroDecoder(
        grammar=(str(folder / "nc-wmt11.grammar.gz"),),
        lm=(str(folder / "lm" / "en.4gram.arpa.gz"),),
        pop_limit=200,
        span_limit=15,
    )


@pytest.fixture(scope="module")
def found(decoder: HieroDecoder, weights: Weights, sentences: list[Sentence]) -> ForestSet:
    return decoder.forests(weights, sentences)


def test_our_score_of_their_derivations(decoder, folder, weights, sentences) -> None:
    """Each of their rules is ours, and the sum is their score."""
    texts = {sentence.id: sentence.text for sentence in sentences}
    theirs = best_scores(folder)
    lines = (folder / "dev.1best").read_text(encoding="utf-8").split("\n")
    tested = 0
    for forest in forests(folder, texts):
        name = forest["id"]
        steps = best_derivation(forest, weights)
        assert text_of(steps) == lines[name].split()
        ours = our_score(decoder.engine, texts[name], steps, weights)
        assert ours == pytest.approx(theirs[name], abs=1e-3)
        tested += 1
        if tested == COUNT:
            break
    assert tested == COUNT


def test_our_best_is_as_good_as_theirs(folder, weights, sentences, found) -> None:
    theirs = best_scores(folder)
    _, scores = kbest_derivations(found, weights.aligned(found.names), 1)
    assert len(scores) == COUNT
    as_good = [scores[k] >= theirs[s.id] - 1e-4 for k, s in enumerate(sentences)]
    assert np.mean(as_good) >= 0.97


def test_lists_descend_without_a_derivation_twice(weights, found) -> None:
    values = weights.aligned(found.names)
    (group, start, edges), scores = kbest_derivations(found, values, 100, unique=False)
    names, sizes = np.unique(group, return_counts=True)
    assert names.tolist() == list(range(COUNT))
    assert sizes.max() == 100
    for last, size in zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True):
        own = range(last - size, last)
        assert all(a >= b - 1e-12 for a, b in pairwise(scores[last - size : last].tolist()))
        assert len({tuple(edges[start[k] : start[k + 1]].tolist()) for k in own}) == size


def test_no_hyperedge_comes_twice(decoder, weights, sentences) -> None:
    """So that derivations of other hyperedges are other derivations."""
    for sentence in sentences[::4]:
        chart = decoder.engine.search(sentence.text.split(), weights.aligned(decoder.names)).chart
        spans = pairwise(chart.tail_start.tolist())
        tails = [tuple(chart.tails[lo:hi].tolist()) for lo, hi in spans]
        every = list(zip(chart.heads.tolist(), chart.rules.tolist(), tails, strict=True))
        assert len(set(every)) == len(every)
