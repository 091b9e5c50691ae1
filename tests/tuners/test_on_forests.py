"""Learners on forests: lists that are written as forests teach the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import Edge, forest_arrays, forest_set
from tests.helpers.inference.forest_sets import one_node_forests, options
from tests.helpers.tiers import examples
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.search.space.space import Space
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.batch_mira import BatchMIRA
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.min_risk import MinRisk
from tunesmith.tuners.online.arow import AROW
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.online.perceptron import Perceptron
from tunesmith.tuners.online.sgd import SGD
from tunesmith.tuners.pro.pro import PRO
from tunesmith.tuners.ramp import Ramp

# With --reference bold there may be nothing to learn.
pytestmark = pytest.mark.filterwarnings("ignore:nothing was learnt")
SEEDS = st.integers(0, 2**32 - 1)
#: All that go sentence by sentence, with the searches that see the same as lists do.
LEARNERS = [
    (SGD(epochs=2), ("rerank", "kbest")),
    (SGD(epochs=2, mu=-0.3, objective="bleu+1"), ("rerank",)),
    (SGD(epochs=2, reference="max-bleu"), ("rerank", "kbest")),
    (SGD(epochs=2, reference="local", local_best=2), ("rerank", "kbest")),
    (SGD(epochs=2, reference="bold"), ("rerank",)),
    # Exactly: within a larger epsilon a last digit decides which pair is looked at first.
    (MIRA(epochs=2, epsilon=1e-10), ("rerank", "kbest")),
    (AROW(epochs=2, epsilon=1e-10), ("rerank",)),
    (Perceptron(epochs=2), ("rerank", "kbest")),
    (BatchMIRA(passes=3), ("rerank", "kbest")),
    (BatchMIRA(passes=3, background="model", pick="last"), ("rerank",)),
    (BatchMIRA(passes=3, objective="scaled"), ("rerank",)),
    (Ramp(iterations=2, passes=2), ("rerank", "kbest")),
    (MinRisk(method="online", epochs=3), ("kbest",)),
    (MinRisk(method="online", epochs=3, objective="bleu+1"), ("rerank",)),
    (MinRisk(epochs=2), ("rerank",)),
]


def problem(seed, metric="bleu"):
    """Return lists, and the same as forests; all are of one size.

    What is usual on lists is counted by candidates, and on forests by forests.
    """
    forests, candidates, rng = one_node_forests(seed, groups=5, size=4)
    return TuningSet(candidates, metric), forests, rng.normal(size=3)


def learnt(tuner, tuning, start):
    outcome = tuner.tune(tuning, start.copy(), np.random.default_rng(7))
    return outcome.weights, [entry["gain"] for entry in outcome.history]


@pytest.mark.parametrize(
    ("tuner", "search"),
    [(tuner, search) for tuner, searches in LEARNERS for search in searches],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
@settings(max_examples=examples(4))
@given(SEEDS)
def test_a_list_written_as_a_forest_teaches_the_same(tuner, search, seed):
    lists, forests, start = problem(seed)
    weights, gains = learnt(tuner, lists, start)
    tuning = ForestTuning(forests, "bleu", options(search))
    same_weights, same_gains = learnt(tuner, tuning, start)
    np.testing.assert_allclose(same_weights, weights, rtol=1e-6, atol=1e-7)
    assert same_gains == pytest.approx(gains, abs=1e-9)
    # They have learnt something, where there was anything to learn.
    assert len(gains) > 1


@pytest.mark.parametrize(
    "tuner", [SGD(epochs=2), BatchMIRA(passes=2), Perceptron(epochs=2)], ids=lambda t: t.name
)
@settings(max_examples=examples(4))
@given(SEEDS)
def test_other_metrics_look_at_the_best(tuner, seed):
    lists, forests, start = problem(seed, "wer")
    weights, gains = learnt(tuner, lists, start)
    same_weights, same_gains = learnt(tuner, ForestTuning(forests, "wer"), start)
    np.testing.assert_allclose(same_weights, weights, rtol=1e-6, atol=1e-7)
    assert same_gains == pytest.approx(gains, abs=1e-9)


@pytest.mark.long
@settings(max_examples=examples(6))
@given(SEEDS)
def test_risk_of_few_of_the_best_ends_well_on_all(seed):
    lists, forests, start = problem(seed, "wer")
    tuner = MinRisk(epochs=6)
    weights, _ = learnt(tuner, ForestTuning(forests, "wer", options("rerank", 4)), start)
    same_weights, _ = learnt(tuner, lists, start)
    np.testing.assert_allclose(weights, same_weights, rtol=1e-6, atol=1e-7)
    few, _ = learnt(tuner, ForestTuning(forests, "wer", options("rerank", 2)), start)
    # Lists of one fixed pair would end wherever the other two win.
    assert lists.score_at(few) <= lists.score_at(start) + 1e-9


def test_learners_do_learn_from_the_lists_here():
    moved = {
        f"{tuner.name} {tuner.objective}": any(
            not np.allclose(learnt(tuner, lists, start)[0], start)
            for lists, _, start in map(problem, range(4))
        )
        for tuner, _ in LEARNERS
    }
    assert all(moved.values()), moved


@pytest.mark.long
def test_rounds_on_lists_keep_the_features_of_many_in_their_place():
    """With more than 200 features lists are sparse, and weights go by their places."""
    many = 230
    # Feature 225 tells the good word from the bad one, feature 3 says nothing.
    edges: list[Edge] = [(0, [], [0], {3: 1.0, 225: 1.0}), (0, [], [1], {3: 1.0, 225: -1.0})]
    held = forest_set([forest_arrays(edges, 0)] * 4, many, 2, [[[0]]] * 4)
    tuning = ForestTuning(held, "wer")
    start = {f"f{k}": 0.0 for k in range(many)} | {"f225": -1.0}
    for tuner in (MERT(restarts=0), PRO(iterations=3, accept="greatest")):
        found = tuner.fit(tuning, start)
        assert found.score == 0.0
        assert found.weights["f225"] > 0.0


@pytest.mark.long
def test_mert_on_forests_is_never_worse_than_on_lists_of_their_best():
    """Rounds on lists are where it climbs from, too."""
    rng = np.random.default_rng(5)
    forests = []
    for _ in range(12):
        edges: list[Edge] = []
        for node in range(3):
            tails = [node - 1] if node else []
            for word in range(4):
                values = {k: float(v) for k, v in enumerate(rng.normal(size=4))}
                edges.append((node, tails, [-1, word] if tails else [word], values))
        forests.append(forest_arrays(edges, 2))
    references = [[rng.integers(0, 4, 3).tolist()] for _ in forests]
    tuning = ForestTuning(forest_set(forests, 4, 4, references), "wer", ForestOptions(size=5))
    hypotheses, begin = tuning.hypotheses(), np.ones(4)
    for seed in range(3):
        found = MERT(restarts=0).fit(tuning, dict.fromkeys(tuning.names, 1.0), rng=seed)
        space, own = Space.free(tuning.names), np.random.default_rng(seed)
        ends = MERT()._list_ends(tuning, hypotheses.spread(), space, begin, None, own)
        assert len(ends) == 3
        # Errors: less is better.
        assert found.score <= min(tuning.score_at(end) for end in [begin, *ends])
