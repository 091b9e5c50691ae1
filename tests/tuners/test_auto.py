"""Several algorithms, of which a held-out set chooses."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from tests.helpers.builders import tuning_set
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.io.read import read
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.column import Column
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing.tuners import tuner_checks
from tunesmith.tuners.auto import Auto, _choice
from tunesmith.tuners.base import TUNERS

CHEAP = ("mert:restarts=0,walks=0", "pro", "batch-mira:passes=3")


def test_a_held_out_set_chooses_and_the_table_says_why(real, start):
    result = Auto(contender=CHEAP).fit(real["tune"], start, real["test"], 1)
    assert [entry["tuner"] for entry in result.path] == list(CHEAP)
    (chosen,) = [entry for entry in result.path if entry["chosen"]]
    best = max(entry["dev_score"] for entry in result.path)
    assert chosen["dev_score"] >= best - 0.1
    assert result.dev.score == chosen["dev_score"]
    assert result.score == chosen["score"]
    assert result.tuner == "auto"
    assert result.reason.startswith(chosen["tuner"])
    assert f"chosen is {chosen['tuner']}" in str(result)
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.long
def test_without_a_held_out_set_a_part_chooses_and_all_is_tuned_on(real, start):
    result = Auto(contender=CHEAP).fit(real["tune"], start, rng=1)
    (chosen,) = [entry for entry in result.path if entry["chosen"]]
    alone = Auto(contender=(chosen["tuner"],)).fit(real["tune"], start, real["test"], 1)
    assert alone.weights == result.weights
    assert result.dev is None
    assert "50 groups held out" in result.reason
    # What is reported is of all groups, what chose is not.
    assert result.score == alone.score
    assert result.score != chosen["score"]


def test_the_usual_contenders_depend_on_features_and_metric(real, start):
    few = Auto().prepared(real["tune"], None, np.random.default_rng(1))[0].settings()
    names = [entry["tuner"] for entry in few]
    assert names[0] == "mert"
    assert "start" not in names
    assert {"pro, bleu+1", "pro, brevity-smoothed", "batch-mira"} <= {*names}
    assert "pro" not in names
    vectors = np.random.default_rng(1).normal(size=(10, 4, 60))
    many = tuning_set(vectors, np.arange(40.0).reshape(10, 4))
    for begin in (None, np.ones(60)):
        ready = Auto().prepared(many, begin, np.random.default_rng(1))[0]
        names = [entry["tuner"] for entry in ready.settings()]
        assert "mert" not in names
        assert ("start" in names) == (begin is not None)
        assert "pro" in names
        assert not any(name.startswith("pro,") for name in names)


def entry(tuner, dev, ratio):
    return {"tuner": tuner, "score": 0.0, "dev_score": dev, "length_ratio": ratio}


def test_about_as_good_and_nearer_in_length_is_better():
    path = [entry("a", 30.0, 0.97), entry("b", 29.95, 0.99), entry("c", 29.8, 1.0)]
    assert _choice(path, BLEU()) == 1
    assert _choice([entry("a", 30.0, 0.97), entry("b", 29.8, 1.0)], BLEU()) == 0
    assert _choice([entry("a", 1.0, None), entry("b", 2.0, None)], Column(column="x")) == 1


def test_one_that_fails_is_named_and_stays_at_the_start(real, start):
    # No pair of candidates differs by so much.
    names = ("pro:select=difference:least=5", "mert:restarts=0,walks=0")
    with pytest.warns(UserWarning, match="pro:select=difference:least=5 failed: "):
        result = Auto(contender=names).fit(real["tune"], start, real["test"], 1)
    assert result.path[0]["score"] == result.initial_score
    assert result.path[1]["chosen"]
    assert result.path[0]["failed"]
    assert result.reason == "mert:restarts=0,walks=0: best on dev"
    assert " failed " in str(result)


def test_if_all_fail_the_last_error_is_told(real, start):
    names = ("pro:select=difference:least=5", "pro:select=difference:least=6")
    for dev in (None, real["test"]):
        with pytest.raises(TunesmithError, match="difference:least=6"):
            Auto(contender=names).fit(real["tune"], start, dev, 1)


def test_one_contender_needs_nobody_to_choose(real, start):
    for dev in (None, real["test"]):
        result = Auto(contender=("pro",)).fit(real["tune"], start, dev, 1)
        assert result.path is None
        assert result.reason is None
        assert result.score > result.initial_score


@pytest.mark.long
def test_contenders_are_those_of_the_kept_features(bundled):
    from tunesmith.data.features import Features

    lists = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    rng = np.random.default_rng(1)
    own, more = lists.features, 60
    dense = np.vstack([own.dense, rng.normal(size=(more, len(lists)))])
    names = (*own.dense_names, *(f"S_{k}" for k in range(more)))
    wide = dataclasses.replace(lists, features=Features(names, dense, (), own.sparse))
    result = Auto().fit(TuningSet(wide).part(range(12)), drop="S_*", rng=1)
    assert "mert" in [entry["tuner"] for entry in result.path]


@pytest.mark.long
def test_a_row_can_be_had_again_by_itself(real, start):
    result = Auto(contender=CHEAP).fit(real["tune"], start, real["test"], 5)
    for entry in result.path:
        alone = TUNERS.create(entry["tuner"]).fit(real["tune"], start, real["test"], 5)
        assert (alone.score, alone.dev.score) == (entry["score"], entry["dev_score"])


def test_warnings_say_whom_they_are_about():
    # Nothing differs in worth: PRO has no pairs.
    tuning = tuning_set([[[1.0], [2.0]]] * 3, [[0.5, 0.5]] * 3)
    with pytest.warns(UserWarning, match="pro: nothing was learnt"):
        Auto(contender=("pro", "mert:restarts=0,walks=0")).fit(tuning, {"f0": 1.0})


def test_warnings_are_given_once(real, start):
    known = {**start, "unheard-of": 1.0}
    with pytest.warns(UserWarning, match="unheard-of") as said:
        result = Auto(contender=CHEAP[:2]).fit(real["tune"], known, rng=1)
    texts = [str(one.message) for one in said]
    assert len(texts) == len({*texts})
    assert result.warnings == texts


def test_what_cannot_be_tried(real):
    with pytest.raises(UnknownNameError, match="tuner"):
        Auto(contender=("prost",))
    with pytest.raises(UsageError, match="twice"):
        Auto(contender=("pro", "pro"))
    with pytest.raises(UsageError, match="its own contender"):
        Auto(contender=("auto",))
    with pytest.raises(UsageError, match="several settings"):
        Auto(contender=("pro:pick=dev",))
    for names in (("lp-mert",), ("pro", "lp-mert")):
        with pytest.raises(TunesmithError, match="sum over sentences"):
            Auto(contender=names).fit(real["tune"])


@pytest.mark.parametrize("check", tuner_checks(Auto(contender=CHEAP[:2])))
def test_it_conforms(check):
    check()


@pytest.mark.long
@pytest.mark.parametrize("names", [("pro",), ("pro", "batch-mira:passes=2,pick=last")])
def test_a_generator_leads_where_its_seed_does(real, names):
    few = real["tune"].part(range(40))
    tuner = Auto(contender=names)
    by_seed = tuner.fit(few, rng=7)
    assert tuner.fit(few, rng=np.random.default_rng(7)).weights == by_seed.weights
    assert tuner.fit(few, rng=8).weights != by_seed.weights
