"""PRO's positives and negatives: of a real run, and of the setting and run that was chosen."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.helpers.builders import candidate_set
from tests.helpers.report.records import record_of
from tunesmith.metrics.bleu import BLEU
from tunesmith.report.page.rounds import pairs_of
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.pro.pro import PRO

GROUPS = [[(0.0,), (1.0,), (2.0,)], [(1.0,), (0.0,)]]
TEXTS = ["a b c d e", "a b", "a b c x y z", "a b c d", "x"]


def test_means_are_those_of_the_pairs():
    candidates = candidate_set(GROUPS, (), TEXTS, [["a b c d e"], ["a b c d"]])
    tuning = TuningSet(candidates, BLEU())
    tuner = PRO(select=("all",), accept="all")
    result = tuner.fit(tuning, None, None, np.random.default_rng(1)).to_dict()
    (one,) = pairs_of(record_of(json.loads(json.dumps(result))))
    entry = next(e for e in result["history"] if "pairs" in e)
    # All pairs of a sentence: three of the first, one of the second.
    assert (one.name, one.pairs, one.kept, one.sentences_without) == ("1", None, 4, 0)
    # The first is better than both others of its sentence, which have 2 and 6 words.
    lengths = {5.0 + 5.0 + 2.0 + 4.0, 5.0 + 5.0 + 6.0 + 4.0}
    assert 4.0 * one.positive["length"] in [pytest.approx(value) for value in lengths]
    assert one.positive["score"] == entry["positive_score"] > one.negative["score"]
    assert one.reference_length == pytest.approx((3 * 5.0 + 4.0) / 4)


def entry(**more):
    return {"pairs": 7, "positive_length": 3.0, "negative_length": 4.0, **more}


def test_those_of_the_chosen_setting():
    path = [
        {"strength": 1.0, "round": 1, "score": 1.0, "chosen": False},
        {"strength": 9.0, "round": 2, "score": 2.0, "chosen": True},
    ]
    history = [
        {"round": 0, "strength": 9.0},
        entry(round=1, strength=1.0),
        entry(round=1, strength=9.0, positive_score=5.0),
        entry(round=2, strength=9.0, positive_words=8.0),
    ]
    found = pairs_of(record_of({"path": path, "history": history}))
    assert [one.name for one in found] == ["1", "2"]
    assert found[0].positive == {"length": 3.0, "score": 5.0}
    assert found[1].positive == {"length": 3.0, "words": 8.0}
    assert found[1].negative == {"length": 4.0}
    assert found[1].reference_length is None


def test_those_of_the_chosen_run():
    runs = [{"run": 0, "weights": {"f0": 1.0}}, {"run": 1, "weights": {"f0": 2.0}}]
    history = [entry(round=1, run=0), entry(round=1, run=1, reference_length=6)]
    found = pairs_of(record_of({"runs": runs, "history": history, "weights": {"f0": 2.0}}))
    assert [one.reference_length for one in found] == [6.0]


@pytest.mark.parametrize("rounds", [1, 2])
def test_rounds_of_a_loop_are_named_after_it(rounds):
    history = [entry(round=k + 1, loop_round=n) for n in range(2) for k in range(rounds)]
    names = [one.name for one in pairs_of(record_of({"history": history}))]
    assert names == (["0", "1"] if rounds == 1 else ["0.1", "0.2", "1.1", "1.2"])
