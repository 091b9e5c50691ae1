from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tiers import examples
from tests.helpers.tuners.online import WIDTH, random_texts
from tunesmith.errors import UsageError
from tunesmith.inference.lists.examples import ListExamples
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.search.space.space import Space
from tunesmith.tuners.online.arow import AROW
from tunesmith.tuners.online.mira import MIRA, MIRARule


@settings(max_examples=examples(60))
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.01, 0.3, 5.0]),
    st.booleans(),
    st.sampled_from(["hope", "max-bleu"]),
)
def test_without_growing_confidence_it_is_mira(seed, rate, scale, reference):
    tuning, start = random_texts(seed), np.random.default_rng(seed).normal(size=WIDTH)
    options = {"rate": rate, "scale": scale, "reference": reference, "epochs": 4}
    found = []
    for tuner in (AROW(confidence=0.0, **options), MIRA(**options)):
        about = tuning, objective_of("document"), start.copy(), np.random.default_rng(7)
        found.append([one.weights.tobytes() for one in tuner.rounds(*about)])
    assert len(found[0]) == 4
    assert found[0] == found[1]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 100.0]))
def test_confidence_grows_with_the_square_of_changes(seed, confidence):
    tuning, rng = random_texts(seed), np.random.default_rng(seed)
    examples = ListExamples(tuning)
    scorer = objective_of("bleu+1").begin(tuning, "examples")
    variances = 10.0 ** rng.uniform(-2, 1, WIDTH)
    tuner = AROW(confidence=confidence)
    model = tuner.model(rng.normal(size=WIDTH), variances.copy(), Space.free(tuning.names))
    rule = MIRARule(tuner, WIDTH)
    for group in range(examples.groups):
        example = examples.example(group, scorer)
        before = model.weights.copy()
        model.add(rule(example, example.best(before), model, epoch=0).x)
        # w' = w + Σ x tells x; then Σ⁻¹ grows by λ diag(x²).
        x = (model.weights - before) / variances
        variances = 1.0 / (1.0 / variances + confidence * x * x)
        assert model.rates == pytest.approx(variances, rel=1e-6)


def test_weights_that_changed_often_change_less():
    tuning = random_texts(3)
    moved = {}
    for confidence in (0.0, 10.0):
        tuner = AROW(confidence=confidence, epochs=10, average=False)
        about = tuning, objective_of("bleu+1"), np.zeros(WIDTH), np.random.default_rng(1)
        points = [one.weights for one in tuner.rounds(*about)]
        moved[confidence] = np.abs(np.diff(points, axis=0)).sum()
    assert moved[10.0] < 0.5 * moved[0.0]


def test_wrong_options():
    with pytest.raises(UsageError) as caught:
        AROW(confidence=-1.0)
    assert str(caught.value) == "confidence is -1; give 0 or more"
    assert AROW().rate == 1.0
