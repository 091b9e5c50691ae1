"""Features that say nothing, or the same as others, are told of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.helpers.builders import tuning_set
from tests.helpers.tuners.collinear import collinear_set, mixed
from tunesmith.tuners.fitting.guards import guard_features, listed, unguarded
from tunesmith.tuners.mert.mert import MERT


def told(tuning) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        guard_features(tuning)
    return [str(warning.message) for warning in caught]


def random_features(extra, groups=60, candidates=10):
    """Return a set of three random features and those that ``extra`` makes of them."""
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((groups, candidates, 3))
    more = extra(vectors, rng)
    return tuning_set(np.concatenate([vectors, more], axis=2), rng.random((groups, candidates)))


def test_nothing_is_said_of_features_that_differ():
    assert told(random_features(lambda v, rng: rng.standard_normal((*v.shape[:2], 1)))) == []


def test_a_feature_that_is_the_same_in_every_sentence():
    def of_sentence(v, rng):
        return np.repeat(rng.standard_normal((len(v), 1, 1)), v.shape[1], axis=1)

    (text,) = told(random_features(of_sentence))
    assert text.startswith("f3: the same for all candidates of every sentence")


@pytest.mark.parametrize(
    ("noise", "which"), [(0.0, "proportional"), (0.03, "nearly collinear"), (1.0, None)]
)
def test_features_that_vary_together(noise, which):
    def twin(v, rng):
        return -4.0 * v[:, :, 1:2] + 4.0 * noise * rng.standard_normal((*v.shape[:2], 1))

    texts = told(random_features(twin))
    if which is None:
        assert texts == []
    else:
        (text,) = texts
        assert text.startswith(f"f1 and f3 are {which} within sentences (correlation -")


def test_a_combination_of_several():
    (text,) = told(random_features(lambda v, _: v[:, :, :1] + v[:, :, 1:2] - v[:, :, 2:3]))
    assert text.startswith("f0, f1, f2, f3: one is a combination of the others")


def test_few_candidates_prove_nothing_and_who_looked_is_not_told_again():
    twins = random_features(lambda v, _: v[:, :, :1])
    assert len(told(twins)) == 1
    assert told(twins.part(range(5))) == []
    with unguarded():
        assert told(twins) == []


def test_a_result_says_it():
    tuning = collinear_set(1, 60)
    with pytest.warns(UserWarning, match="f0 and f1 are nearly collinear"):
        result = MERT(restarts=0).fit(tuning, rng=1)
    assert any("nearly collinear" in text for text in result.warnings)


def test_mixed_features_are_no_twins_by_themselves():
    rng = np.random.default_rng(1)
    tuning = random_features(lambda v, rng: rng.standard_normal((*v.shape[:2], 1)))
    turn, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    assert told(mixed(tuning, turn)) == []


def test_long_lists_of_names_are_cut():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
