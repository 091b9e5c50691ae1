"""Corrections and p-values against their definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.significance.chance import holm, interval, p_value, p_value_with_ties

numbers = st.floats(0, 1)


@given(st.lists(numbers, min_size=1, max_size=6), numbers)
def test_holm_rejects_what_its_steps_reject(values: list[float], level: float) -> None:
    # Step down: reject the least p while it is at most level / (number that is left).
    left = sorted(range(len(values)), key=lambda i: values[i])
    rejected = set()
    while left and values[left[0]] * len(left) <= level and level < 1:
        rejected.add(left.pop(0))
    if level < 1:
        assert {i for i, p in enumerate(holm(values)) if p <= level} == rejected


@given(st.lists(numbers, min_size=1, max_size=6))
def test_holm_lowers_no_value(values: list[float]) -> None:
    corrected = holm(values)
    assert all(p <= c <= 1 for p, c in zip(values, corrected, strict=True))
    order = sorted(range(len(values)), key=lambda i: values[i])
    assert [corrected[i] for i in order] == sorted(corrected)


@given(st.lists(st.integers(0, 5), min_size=1), st.integers(0, 5))
def test_ties_count_in_one_and_not_in_the_other(samples: list[int], real: int) -> None:
    held = np.array(samples, float)
    assert p_value(held, real) == (1 + sum(s > real for s in samples)) / (1 + len(samples))
    with_ties = (1 + sum(s >= real for s in samples)) / (1 + len(samples))
    assert p_value_with_ties(held, real) == with_ties


def test_interval_leaves_out_a_fortieth_at_each_end() -> None:
    assert interval(np.random.default_rng(1).permutation(np.arange(0.0, 80000.0, 1000.0))) == (
        2000,
        77000,
    )
