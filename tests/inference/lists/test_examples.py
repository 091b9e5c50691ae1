"""Sentences of lists one at a time, against brute force in plain Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set, tuning_set
from tests.helpers.inference.expectations import lists, matrix, of_groups
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError
from tunesmith.inference.lists.examples import ListExamples
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.metrics.candidate_scorer import CandidateScorer, objective_of
from tunesmith.tasks.lists import TuningSet

SEEDS = st.integers(0, 2**32 - 1)
SOME = settings(max_examples=examples(40))


class Fixed(CandidateScorer):
    """Values that are given."""

    def __init__(self, stats, values):
        self.stats = stats
        self._values = np.asarray(values, float)

    def values(self, first, last):
        return self._values[first:last]


def tied(seed):
    """Draw lists of small whole numbers, so that many scores and values are equal."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, rng.integers(1, 5))
    groups = [rng.integers(-1, 2, (size, 4)).astype(float) for size in sizes]
    values = [rng.integers(0, 3, size).astype(float).tolist() for size in sizes]
    sparse = rng.choice([0, 2, 4])
    tuning = tuning_set(groups, values, range(4 - sparse, 4))
    return tuning, rng.integers(-1, 2, 4).astype(float), np.concatenate(values)


def first_of(keys):
    """Return the place of the greatest, the first among equals."""
    return keys.index(max(keys))


def drawn(seed, with_ties):
    """Return a set, weights, values and the score of each candidate, added up in Python."""
    if with_ties:
        tuning, weights, values = tied(seed)
    else:
        hypotheses, weights, rng = lists(seed, most=9)
        tuning, values = hypotheses.tuning, rng.normal(size=len(hypotheses.tuning.stats))
    rows = matrix(ListHypotheses(tuning)).tolist()
    scores = []
    for row in rows:
        total = 0.0
        for w, h in zip(weights.tolist(), row, strict=True):
            total += w * h
        scores.append(total)
    return tuning, weights, values, rows, scores


def check(derivation, place, first, tuning, values, rows):
    """Compare a derivation with the candidate that it should be."""
    row = first + place
    assert derivation.key == place
    assert derivation.gain == values[row]
    assert derivation.stats.tolist() == tuning.stats[row].tolist()
    assert (np.diff(derivation.features) > 0).all()
    vector = np.zeros(len(rows[row]))
    vector[derivation.features] = derivation.values
    assert vector.tolist() == rows[row]


@SOME
@given(SEEDS, st.booleans(), st.sampled_from([-1.0, 1.0, 0.5, 0.0, -2.0]), st.integers(1, 8))
def test_choices_equal_brute_force(seed, with_ties, factor, among):
    tuning, weights, values, rows, scores = drawn(seed, with_ties)
    examples = ListExamples(tuning)
    assert examples.groups == tuning.candidates.groups
    assert examples.names == tuning.candidates.features.names
    scorer = Fixed(tuning.stats, values)
    for group, own in enumerate(of_groups(ListHypotheses(tuning))):
        example = examples.example(group, scorer)
        mine, held = scores[own], values[own].tolist()
        about = own.start, tuning, values, rows
        check(example.best(weights), first_of(mine), *about)
        both = [s + factor * v for s, v in zip(mine, held, strict=True)]
        check(example.augmented(weights, factor), first_of(both), *about)
        # What is worth most; of these the highest score; of these the first.
        every = [(v, s) for v, s in zip(held, mine, strict=True)]
        check(example.oracle(weights), first_of(every), *about)
        order = sorted(range(len(mine)), key=lambda k: -mine[k])[:among]
        few = [every[k] if k in order else (-np.inf, 0.0) for k in range(len(mine))]
        check(example.oracle(weights, among), first_of(few), *about)


@SOME
@given(SEEDS, st.booleans())
def test_scores_have_the_bits_of_the_features_own_product(seed, has_zeros):
    hypotheses, weights, rng = lists(seed, most=9)
    if has_zeros:
        weights[rng.random(8) < 0.4] = 0.0
    examples = ListExamples(hypotheses.tuning)
    whole = hypotheses.features.dot(weights)
    for own in of_groups(hypotheses):
        found = examples.scores(weights, own.start, own.stop)
        assert found.tobytes() == whole[own].tobytes()
        example = examples.example(0, Fixed(hypotheses.tuning.stats, whole))
        best = example.best(weights)
        assert best.score(weights) == pytest.approx(whole[best.key], rel=1e-12, abs=1e-15)


@SOME
@given(SEEDS, st.booleans(), st.sampled_from([1e-3, 0.1, 1.0, 30.0]))
def test_risk_equals_the_formula(seed, with_ties, temperature):
    """Equation 11 over all pairs of candidates: nothing cancels."""
    tuning, weights, values, rows, scores = drawn(seed, with_ties)
    examples = ListExamples(tuning)
    vectors, scorer = np.array(rows), Fixed(tuning.stats, values)
    for group, own in enumerate(of_groups(ListHypotheses(tuning))):
        risk = examples.example(group, scorer).risk(weights, temperature)
        odds = np.exp((np.array(scores[own]) - max(scores[own])) / temperature)
        chances = odds / odds.sum()
        assert risk.gain == pytest.approx(float(chances @ values[own]), rel=1e-9, abs=1e-12)
        apart = values[own][:, None] - values[own]
        between = vectors[own][:, None] - vectors[own]
        slope = np.einsum("i,j,ij,ijd->d", chances, chances, apart, between) / 2 / temperature
        found = np.zeros(len(weights))
        found[risk.features] = risk.slope
        largest = np.abs(slope).max()
        np.testing.assert_allclose(found, slope, rtol=0, atol=1e-9 * largest + 1e-12)


@pytest.mark.parametrize("size", [1e6, 1e150, 1e300])
@pytest.mark.parametrize("temperature", [1e-300, 1e-3, 1.0])
def test_risk_is_finite_for_huge_scores(size, temperature):
    tuning = tuning_set([[[1.0], [1.0 - 1e-9], [-1.0]]], [[0.2, 0.9, 0.1]])
    example = ListExamples(tuning).example(0, Fixed(tuning.stats, [0.2, 0.9, 0.1]))
    risk = example.risk(np.array([size]), temperature)
    # The third is far behind, the second sometimes near.
    behind = min(size / 1e9 / temperature, 700.0)
    assert risk.gain == pytest.approx(0.2 + 0.7 / (1 + np.exp(behind)), abs=1e-6)
    assert np.isfinite(risk.slope).all()


WORDS = st.lists(st.sampled_from("ab"), max_size=2).map(" ".join)


@SOME
@given(
    st.lists(
        st.tuples(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, min_size=1, max_size=3)),
        min_size=1,
        max_size=3,
    ),
    SEEDS,
)
def test_references_equal_brute_force(corpus, seed):
    rng = np.random.default_rng(seed)
    groups = [rng.integers(-1, 2, (len(texts), 2)).astype(float) for texts, _ in corpus]
    texts = [text for own, _ in corpus for text in own]
    candidates = candidate_set(groups, (1,), texts, [references for _, references in corpus])
    weights = rng.integers(-1, 2, 2).astype(float)
    tuning = TuningSet(candidates, "bleu")
    examples = ListExamples(tuning)
    scorer = objective_of("bleu+1").begin(tuning, "examples")
    for group, (own, references) in enumerate(corpus):
        if not candidates.has_texts:
            break  # all are empty
        scores = (groups[group] @ weights).tolist()
        fits = [s if t in references else -np.inf for s, t in zip(scores, own, strict=True)]
        found = examples.example(group, scorer).reference(weights)
        if max(fits) == -np.inf:
            assert found is None
        else:
            assert found.key == first_of(fits)


def test_references_that_are_not_known():
    tuning = tuning_set([[[1.0], [2.0]]], [[0.5, 1.0]])
    example = ListExamples(tuning).example(0, Fixed(tuning.stats, [0.5, 1.0]))
    with pytest.raises(TunesmithError, match="not known without texts and references; give"):
        example.reference(np.ones(1))


def test_values_are_those_of_the_moment():
    hypotheses, weights, _ = lists(8, "bleu", most=9)
    tuning = hypotheses.tuning
    scorer = objective_of("document").begin(tuning, "examples")
    examples = ListExamples(tuning)
    before = examples.example(0, scorer)
    held = before.oracle(weights).gain
    scorer.add(tuning.stats[-1])
    after = examples.example(0, scorer)
    first, last = hypotheses.start[:2]
    assert after.oracle(weights).gain == scorer.values(first, last).max()
    assert before.oracle(weights).gain == held != after.oracle(weights).gain


def test_memory_is_in_proportion_to_what_is_not_nought():
    hypotheses, _, rng = lists(8)
    features = hypotheses.features
    assert ListExamples(hypotheses.tuning).dense.flags.c_contiguous
    count = len(ListExamples(hypotheses.tuning).sparse_values)
    assert count == features.sparse.nnz == np.count_nonzero(features.sparse.toarray())
    none = replace(features, dense=np.zeros((0, features.candidates)), dense_names=())
    candidates = replace(hypotheses.tuning.candidates, features=none)
    tuning = TuningSet(candidates, hypotheses.metric, hypotheses.tuning.stats)
    weights = rng.normal(size=len(none.names))
    found = ListExamples(tuning).scores(weights, 0, features.candidates)
    assert found.tobytes() == none.dot(weights).tobytes()
