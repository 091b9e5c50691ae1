"""The line search with a penalty against a dense scan of the line, in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import Loss, Mean
from tests.search.scans import KINDS, Task
from tunesmith.search.penalised import penalised_search

side = st.sampled_from([0.0, 0.25, 1.0, 1.5, 3.0, np.inf])
seeds = st.integers(0, 2**32 - 1)
tasks = st.builds(
    Task,
    seeds,
    st.sampled_from(KINDS),
    st.sampled_from([1e-4, 0.01, 0.1, 1.0, 30.0]),
    st.booleans(),
    st.tuples(side.map(lambda x: -x), side),
    st.sampled_from([Mean(), Loss()]),
)


def searched(task):
    return penalised_search(task.hypotheses, task.point, task.direction, task.penalty, task.limits)


@settings(max_examples=600)
@given(tasks)
def test_no_point_of_a_dense_scan_is_better(task):
    weights = task.at(task.scan())
    values = task.gains(task.winners(weights)) - task.penalties(weights)
    assert searched(task).value >= values.max() - 1e-9 * max(1.0, task.strength)


@settings(max_examples=600)
@given(tasks)
def test_the_value_is_that_of_a_fresh_evaluation(task):
    step = searched(task)
    here, there = task.at([0.0]), task.at([step.size])
    assert step.here == pytest.approx(task.gains(task.winners(here)) - task.penalties(here))
    assert step.value >= step.here
    assert task.limits[0] <= step.size <= task.limits[1]
    gain = task.gains(task.exact_winners(step.size))
    assert step.gain == pytest.approx(gain, abs=1e-12)
    assert step.value == pytest.approx(gain - task.penalties(there), abs=1e-9)
