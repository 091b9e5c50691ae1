"""Values that belong together cannot be exchanged one by one."""

import numpy as np
import pytest

import tunesmith as ts
from tests.helpers.builders import candidate_set

CANDIDATES = candidate_set([[[1.0], [2.0]]], (), ["a b", "a"], [["a b"]])


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (ts.TuningSet(CANDIDATES), "metric"),
        (ts.TuningSet(CANDIDATES), "stats"),
        (ts.TuningSet(CANDIDATES).part([0]), "given"),
        (ts.Weights(("a",), np.ones(1)), "vector"),
        (CANDIDATES.features, "dense"),
        (ts.Column("quality"), "column"),
        (ts.Cost("quality"), "name"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_attributes_are_set_once(thing, name):
    before = getattr(thing, name)
    with pytest.raises(AttributeError, match=name):
        setattr(thing, name, None)
    assert getattr(thing, name) is before


def test_statistics_are_still_those_of_the_metric_after_a_refusal():
    tuning = ts.TuningSet(CANDIDATES)
    with pytest.raises(AttributeError, match="make another TuningSet"):
        tuning.metric = ts.TER()
    assert tuning.score(np.array([0])) == ts.BLEU().score(tuning.stats[0])


def test_a_part_counts_as_given_if_the_whole_did():
    counted = ts.TuningSet(CANDIDATES)
    given = ts.TuningSet(CANDIDATES, stats=counted.stats)
    assert [tuning.part([0]).given for tuning in (counted, given)] == [False, True]


def test_they_print_what_they_are_made_of():
    shown = repr(ts.TuningSet(CANDIDATES, "ter"))
    assert shown.startswith("TuningSet(candidates=")
    assert "metric=TER(" in shown
    assert "given=False" in shown
