"""Every option of every tuner changes something, or is refused: none is taken and ignored."""

from __future__ import annotations

import dataclasses
import warnings

import pytest

from tests.helpers.tuners.problems import text_problem
from tunesmith.errors import TunesmithError
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.registry import options_of
from tunesmith.tuners.base import TUNERS

#: Another value of an option, by its name, or by tuner and name.
OTHERS = {
    "accept": "random:pairs=7",
    "absolute": True,
    "average": False,
    "axes": False,
    "background": "model",
    "beam": 1,
    "begin": "anywhere",
    "bound": {"f0": "0.05:0.06"},
    "c": 1.0,
    "choose_by": "length",
    "clock": "free",
    "confidence": 0.5,
    "contender": ["mert", "ramp"],
    "cooling": 0.1,
    "core": "f0",
    "cosine": 0.99,
    "decay": 0.5,
    "directions": "random",
    "epochs": 2,
    "epsilon": 10.0,
    "feature_rate": {"f*": 0.5},
    "features": ["f0", "f1"],
    "fix": {"f0": 0.123},
    "fixed_feature": "f0",
    "inbox": 1,
    "initial": {"f0": 0.7},
    "interpolation": 0.3,
    "iterations": 1,
    ("pro", "iterations"): 3,
    "learn": "hinge",
    "learners": 2,
    "length_scale": 1.3,
    "list_rounds": 1,
    "local_best": 1,
    "member": ["mert", "ramp"],
    "memory_limit": 1e-3,
    "method": "online",
    "mu": -0.2,
    "mu_decay": 0.5,
    "non_negative": True,
    "objective": "brevity-smoothed",
    "parallel": "async",
    "parts": 2,
    "passes": 1,
    "penalty": "l0",
    "pick": "best",
    ("batch-mira", "pick"): "last",
    "prior": {"f0": 1.0},
    "rate": 3.0,
    "reference": "bold",
    "restarts": 0,
    "sample": "uniform:pairs=3",
    "scale": False,
    "scale_together": ["f0,f1"],
    "search": "beam",
    "select": ["all"],
    "smoothing": "mean",
    "start_scale": 20.0,
    "steps": 1,
    "strength": 0.001,
    "temperature": 0.2,
    "test_limit": 1,
    "sum_to_one": True,
    "tie": ["f0=f1"],
    "time_limit": 1e-9,
    "tolerance": 0.2,
    ("lp-mert", "tolerance"): 0.05,
    ("plane", "tolerance"): 0.05,
    "walks": 0,
    "window": 1,
}
#: Options that go with others, in which they have to make a difference.
WITH = {
    "beam": {"search": "beam"},
    "window": {"smoothing": "mean"},
    "local_best": {"reference": "local"},
    "prior": {"penalty": "l2-prior", "strength": 0.1, "prior": {"f0": -1.0}},
    "core": {"penalty": "l2-prior", "strength": 0.1, "core": "f1"},
    "fixed_feature": {"penalty": "l2-fixed", "strength": 0.1, "fixed_feature": "f1"},
    "inbox": {"parallel": "async", "learners": 3},
    "clock": {"parallel": "async", "learners": 3},
    "parallel": {"learners": 3},
    "sum_to_one": {"non_negative": True},
    ("plane", "time_limit"): {"features": ["f0", "f1"]},
    ("plane", "tolerance"): {"features": ["f0", "f1"]},
    ("mert", "penalty"): {"penalty": "l2-normalized", "strength": 0.05},
    ("mert", "strength"): {"penalty": "l2-normalized", "strength": 0.05},
    ("min-risk", "rate"): {"method": "online"},
    ("min-risk", "average"): {"method": "online"},
    ("min-risk", "scale"): {"method": "online"},
    ("min-risk", "learners"): {"method": "online"},
    ("min-risk", "objective"): {"method": "online"},
    ("min-risk", "parallel"): {"method": "online", "learners": 3},
    "choose_by": {"objective": ("bleu+1", "brevity-smoothed")},
}
#: Options that make no difference here, and why.
ELSEWHERE = {
    "clock": "who waits for whom; what is learnt is up to the machine",
    "inbox": "how many working sets wait; on a free clock alone",
    "list_rounds": "on forests",
    "interpolation": "in a loop",
    "choose_by": "chooses among settings",
}
#: Options that have to be refused here, and why; a wrong value above is no such reason.
REFUSED = {
    ("min-risk", "parallel"): "learners without working sets have nothing to send",
    ("perceptron", "parallel"): "the same",
}
#: Options that are about a start.
STARTED = {"cosine", "scale_together", "start_scale", "sum_to_one"}
CASES = [
    (name, option.field)
    for name in TUNERS.names()
    if TUNERS.get(name).__module__.startswith("tunesmith.")
    for option in options_of(TUNERS.get(name))
]


def found_by(tuner, tuning, start=None, normalise="none"):
    """Return all that a run comes to, but how long it took and what it says of itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = tuner.fit(tuning, start=start, rng=3, normalise=normalise).to_dict()
    for key in ("seconds", "signature", "warnings", "data", "inputs", "threads"):
        result.pop(key)
    return str({key: value for key, value in result.items() if "seconds" not in str(key)})


def _changed(usual, field):
    value = OTHERS.get((usual.name, field), OTHERS.get(field))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return dataclasses.replace(usual, **{field: value})


@pytest.mark.long
@pytest.mark.parametrize(("name", "field"), CASES)
def test_an_option_changes_something_or_is_refused(name, field):
    if field in ELSEWHERE:
        pytest.skip(ELSEWHERE[field])
    cls = TUNERS.get(name)
    metric = "sentence-bleu" if cls.needs_sum else "bleu"
    around = WITH.get((name, field), WITH.get(field, {}))
    fields = {o.field for o in options_of(cls)}
    around = {key: value for key, value in around.items() if key in fields}
    for seed in range(4):
        tuning = text_problem(seed, metric, groups=12)
        start = dict.fromkeys(tuning.names, 0.5) if field in STARTED else None
        usual = cls(**around)
        scale = "auto" if field == "sum_to_one" else "none"
        try:
            changed = _changed(usual, field)
            other = found_by(changed, tuning, start, scale)
        except TunesmithError:
            if (name, field) not in REFUSED:
                raise
            return
        assert changed != usual
        if (name, field) == ("plane", "features") or other != found_by(usual, tuning, start, scale):
            return  # plane needs to be told which two of many
    pytest.fail(f"{field} of {name} is taken and makes no difference")


def test_every_option_is_tried():
    assert {field for _, field in CASES} <= set(OTHERS)


#: Those that ask for hope and fear.
LEARN = {"arow", "mira", "perceptron", "sgd", "ramp", "batch-mira"}
FORESTS = [name for name in TUNERS.names() if TUNERS.get(name).takes_forests]


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("metric", ["bleu", "wer"])
def test_searches_of_forests_are_taken_where_they_make_a_difference(name, metric):
    """Whole forests are searched for BLEU of a document alone, and samples are for lists."""
    cls = TUNERS.get(name)
    measure = BLEU() if metric == "bleu" else text_problem(0, "wer").metric
    asked = tuple(cls().members(0).values()) if name == "auto" else (cls(),)

    def is_taken(**options):
        try:
            cls().check_searches(ForestOptions(**options), measure)
        except TunesmithError:
            return False
        return True

    learns = any(tuner.name in LEARN for tuner in asked)
    whole = learns and metric == "bleu"
    assert is_taken()
    assert is_taken(search="linear") == is_taken(search="rerank") == whole
    assert is_taken(search="kbest") == learns
    assert is_taken(lists="samples") == (name in {"auto", "pro"})
    assert is_taken(size=7) == (name == "auto" or not whole)
    assert is_taken(size=7, search="kbest") == learns


@pytest.mark.parametrize("name", ["mira", "arow", "perceptron", "sgd", "batch-mira", "ramp"])
def test_another_objective_searches_the_best_alone(name):
    tuner = TUNERS.get(name)(objective="bleu+1")
    assert tuner.asks_hope(BLEU()) is False
    with pytest.raises(TunesmithError, match="--forest-search linear is for BLEU"):
        tuner.check_searches(ForestOptions(search="linear"), BLEU())
