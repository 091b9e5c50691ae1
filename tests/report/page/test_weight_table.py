"""The table of weights: order, spread, rounds of one scale."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.report.records import lists_of, record_of
from tests.helpers.tiers import examples
from tunesmith.report.page.weight_table import weights_of


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
    st.tuples(*[st.integers(-4, 4)] * 3),
    st.sampled_from([(), (1, 2)]),
)
def test_spreads_are_deviations_within_groups(groups, weights, sparse):
    lists = lists_of(groups, [[0] * len(group) for group in groups], sparse)
    named = {f"f{d}": float(w) for d, w in enumerate(weights)}
    found = weights_of(record_of(lists=lists, weights=named))
    rows = np.array([vector for group in groups for vector in group], float)
    centred = np.concatenate([np.array(g, float) - np.mean(g, axis=0) for g in groups])
    expected = np.sqrt((centred**2).sum(axis=0) / len(rows))
    for row in found.rows:
        d = int(row.feature[1])
        assert row.spread == pytest.approx(expected[d], abs=1e-12)
        assert row.tuned == weights[d]
    says = [abs(row.tuned) * row.spread for row in found.rows]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(says))
    assert (len(found.rows), found.left_out) == (3, 0)


@pytest.mark.parametrize("sparse", [(), (0, 1, 2)])
def test_what_varies_by_rounding_alone_has_no_spread(sparse):
    # The second has a spread of exactly 1, the third is constant within each group.
    groups = [[(0.1 + 0.2, 1.0, 5.0), (0.3, 3.0, 5.0)], [(0.3, 7.0, -1.0), (0.3, 9.0, -1.0)]]
    weights = {"f0": 9.0, "f1": 1.0, "f2": 2.0}
    found = weights_of(record_of(lists=lists_of(groups, [[0, 1]] * 2, sparse), weights=weights))
    assert [(row.feature, row.spread) for row in found.rows] == [
        ("f1", 1.0),
        ("f0", 0.0),
        ("f2", 0.0),
    ]


def test_rounds_have_the_size_of_the_tuned_weights():
    result = {
        "rounds": [
            {"round": 0, "weights": {"a": 1.0, "b": 1.0}},
            {"round": 1, "weights": {"a": 30.0, "b": -10.0}},
            {"round": "average", "weights": {"a": 0.0, "b": 0.0}},
        ]
    }
    record = record_of(result, weights={"a": 3.0, "b": -1.0}, start={"a": 1.0, "b": 1.0, "c": 5.0})
    found = weights_of(record)
    assert found.rounds == ("0", "1", "average")
    rows = {row.feature: row for row in found.rows}
    assert rows["a"].by_round == (2.0, 3.0, 0.0)
    assert rows["b"].by_round == (2.0, -1.0, 0.0)
    assert rows["c"].by_round == (0.0, 0.0, 0.0)
    assert (rows["c"].start, rows["c"].tuned) == (5.0, 0.0)
    assert [row.spread for row in found.rows] == [None] * 3


def test_runs_stand_for_rounds():
    result = {"runs": [{"run": k, "weights": {"a": float(k + 1)}} for k in range(3)]}
    found = weights_of(record_of(result, weights={"a": -2.0}))
    assert (found.unit, found.rounds) == ("run", ("0", "1", "2"))
    assert found.rows[0].by_round == (2.0, 2.0, 2.0)


def test_thousands_are_cut():
    weights = {f"f{d}": float(d % 777) for d in range(5000)}
    found = weights_of(record_of(weights=weights), most=100)
    assert len(found.rows) == 100
    assert found.left_out == 4900
    assert found.rows[0].tuned == 776.0
    least = min(row.tuned for row in found.rows)
    assert sum(value > least for value in weights.values()) <= 100


def test_a_feature_that_the_data_lack_says_nothing():
    lists = lists_of([[(0.0,), (1.0,)]], [[1, 2]])
    found = weights_of(record_of(lists=lists, weights={"gone": 9.0, "f0": 1.0}))
    assert [(row.feature, row.spread) for row in found.rows] == [("f0", 0.5), ("gone", 0.0)]
