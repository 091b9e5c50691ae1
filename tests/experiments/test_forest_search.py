"""What forest_search.py makes of its numbers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.helpers.inference.forest_sets import WEIGHTS, drawn_set
from tests.helpers.tiers import examples

#: More than any forest here has texts.
ALL = 100_000


def _module(name):
    path = Path(__file__).parents[2] / "experiments" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hope_fear = _module("forest_search_hope_fear")


def test_typical_is_the_lower_median_of_those_that_gain():
    assert hope_fear.typical([0.0, 3.0, -1.0, 1.0, 2.0]) == 4
    assert hope_fear.typical([5.0, 0.0, 1e-15, 4.0]) == 3
    assert hope_fear.typical([0.0, -1.0]) == 0


def test_summary_counts_both_sides_and_ignores_rounding():
    found = hope_fear.summary([2.0, 4.0, 1e-15, -1.0])
    assert (found["better"], found["worse"]) == (0.5, 0.25)
    assert found["mean"] == pytest.approx(1.25)
    assert found["median"] == pytest.approx(1.0)
    assert (found["mean_better"], found["mean_worse"]) == (3.0, 1.0)


@settings(max_examples=examples(10))
@given(drawn_set(), WEIGHTS)
def test_what_a_forest_gives_is_between_its_1_best_and_all_its_texts(forests, weights):
    for search in hope_fear.SEARCHES:
        found = hope_fear.compared(forests, weights, search, (1, ALL)).gains
        for side in hope_fear.SIDES:
            assert min(found[side, 1]) >= -1e-9
            assert max(found[side, ALL]) <= 1e-9
