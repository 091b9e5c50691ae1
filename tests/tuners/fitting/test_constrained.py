"""Restrictions on weights as arguments of Python."""

from __future__ import annotations

import pytest

import tunesmith as ts
from tunesmith.errors import UsageError


def test_bounds_are_texts_or_pairs():
    pairs = ts.MERT(bound={"lm": (0, None), "tm": [None, 1], "w": (-1.5, 2)})
    assert pairs.bound == ("lm=0.0:", "tm=:1.0", "w=-1.5:2.0")
    start = {"lm": -1.0, "tm": 2.0, "w": -3.0}
    made = ts.from_arrays([0, 0], {name: [1, 2] for name in start}, columns={"y": [0, 1]})
    bounded = pairs.fit(ts.TuningSet(made, "column:y"), start=start).weights
    texts = ts.MERT(bound=["lm=0:", "tm=:1", "w=-1.5:2"])
    assert texts.fit(ts.TuningSet(made, "column:y"), start=start).weights == bounded
    assert bounded["lm"] >= 0


@pytest.mark.parametrize("pair", [(1, 2, 3), ("x", 1), None])
def test_what_is_no_range_says_how_one_is_written(pair):
    with pytest.raises(
        UsageError, match=r"bound holds .*; write a range as '0:1', or as \(0, None\)"
    ):
        ts.MERT(bound={"lm": pair})
