from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.search.working_set import Brute, primal, unmet_condition
from tests.helpers.tiers import examples
from tests.helpers.tuners.online import WIDTH, random_texts
from tunesmith.errors import UsageError
from tunesmith.inference.lists.examples import ListExamples
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.search.working_set.solver import WorkingSet
from tunesmith.tuners.online.mira import MIRA, MIRARule
from tunesmith.tuners.online.model import Model
from tunesmith.tuners.online.sgd import SGD


def vectors_of(tuning, group):
    features = tuning.candidates.features
    every = np.column_stack([features.dense.T, features.sparse.toarray()])
    first, last = tuning.candidates.start[group : group + 2]
    return every[first:last], first, last


@settings(max_examples=examples(100))
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 30.0]))
def test_an_update_meets_the_conditions_over_the_whole_list(seed, rate):
    tuning, rng = random_texts(seed), np.random.default_rng(seed)
    examples = ListExamples(tuning)
    scorer = objective_of("document").begin(tuning, "examples")
    weights, rates = rng.normal(size=WIDTH), np.full(WIDTH, rate)
    working = WorkingSet(WIDTH)
    for group in range(examples.groups):
        example = examples.example(group, scorer)
        target = example.augmented(weights, 1.0)
        features, x = working.solve(example, target, weights, rates)
        new = weights.copy()
        new[features] += rates[features] * x
        vectors, first, last = vectors_of(tuning, group)
        brute = Brute(vectors, scorer.values(first, last))
        alpha = np.zeros(last - first)
        alpha[[one.key for one in working.members]] = working.alpha
        about = brute, target.key, weights, rates
        assert unmet_condition(*about, alpha, new, 0.01) is None
        # It pays: no worse than staying, nor than the step of gradient descent.
        fear = example.augmented(weights, -1.0)
        descent = weights + rates * (vectors[target.key] - vectors[fear.key])
        for other in (weights, descent):
            assert primal(*about, new) <= primal(*about, other) + 0.02 + 1e-9
        weights = new


@pytest.mark.parametrize("seed", range(4))
def test_a_small_rate_makes_the_steps_of_gradient_descent(seed):
    tuning, start = random_texts(seed), np.array([0.3, -0.2, 0.1, 0.4, 0.2])
    options = {"rate": 1e-7, "epochs": 3, "scale": False}
    found = [
        kind.tune(tuning, start, np.random.default_rng(1)).weights - start
        for kind in (MIRA(epsilon=1e-9, **options), SGD(**options))
    ]
    assert np.abs(found[1]).max() > 1e-8
    assert found[0] == pytest.approx(found[1], rel=1e-6, abs=1e-14)


def test_a_large_rate_does_not_overshoot():
    """Where gradient descent jumps back and forth (section 3.2)."""
    tuning = random_texts(1)
    start = np.zeros(WIDTH)
    moved = {}
    for kind in (MIRA, SGD):
        (found,) = kind(rate=1e6, epochs=1, scale=False, average=False).rounds(
            tuning, objective_of("bleu+1"), start.copy(), np.random.default_rng(1)
        )
        moved[kind] = np.abs(found.weights).max()
    assert moved[SGD] > 1e5
    assert moved[MIRA] < 1e3


def test_weights_are_only_changed_by_who_learns():
    tuning = random_texts(2)
    scorer = objective_of("bleu+1").begin(tuning, "examples")
    example = ListExamples(tuning).example(0, scorer)
    model = Model(np.zeros(WIDTH), np.ones(WIDTH))
    update = MIRARule(MIRA(), WIDTH)(example, example.best(model.weights), model, epoch=0)
    assert update.x is not None
    assert not model.weights.any()
    model.add(update.x)
    assert model.weights.any()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epsilon": 0.0}, "epsilon is 0; give a number above 0"),
        ({"epsilon": float("inf")}, "epsilon is inf; give a finite number"),
        ({"iterations": 0}, "iterations is 0; give 1 or more"),
    ],
)
def test_wrong_options(options, said):
    with pytest.raises(UsageError) as caught:
        MIRA(**options)
    assert str(caught.value) == said
