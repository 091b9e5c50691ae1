"""Scores by round: of loops, paths, runs, epochs, climbs and steps of real results."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sacrebleu

from tests.helpers.builders import Loss, tuning_set
from tests.helpers.loop.toy import Toy, sentences
from tests.helpers.report.records import record_of
from tunesmith.data.weights import Weights
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.report.page.rounds import pairs_of, replicates_of, rounds_of
from tunesmith.tuners.batch_mira import BatchMIRA
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.online.mira import MIRA
from tunesmith.tuners.pro.pro import PRO

SETS = {"tune": sentences(12, 1), "dev": sentences(9, 2), "test": sentences(7, 3)}


def as_json(result):
    return json.loads(json.dumps(result.to_dict()))


def problem(seed, metric=None):
    rng = np.random.default_rng(seed)
    groups = [rng.normal(size=(8, 3)).tolist() for _ in range(20)]
    return tuning_set(groups, [rng.integers(0, 10, 8).tolist() for _ in groups], metric=metric)


def fitted(tuner, metric=None, dev=True, **options):
    """Return the JSON object of a result, the start being the same for all."""
    start = Weights.from_dict({"f0": 1.0, "f1": 0.5, "f2": -0.5})
    held = problem(2, metric) if dev else None
    found = tuner.fit(problem(1, metric), start, held, np.random.default_rng(1), **options)
    return as_json(found)


@pytest.fixture(scope="module")
def loop():
    tune, dev, test = (Inputs.of(*SETS[which]) for which in ("tune", "dev", "test"))
    tuner = PRO(sample="uniform:pairs=50", select=("all",))
    return as_json(Loop(rounds=3).run(Toy(), tuner, tune, dev=dev, test=test))


def output(weights, texts):
    inputs = Inputs.of(texts, texts)
    decoded = Toy().decode(Weights.from_dict(weights), inputs.sentences)
    return [decoded.text(k) for k in decoded.start[:-1]]


def test_rounds_of_a_loop_are_what_the_decoder_gave(loop):
    found = rounds_of(record_of(loop))
    assert found.unit == "round"
    assert found.names == tuple(str(k) for k in range(len(loop["rounds"])))
    for which, (texts, references) in SETS.items():
        for k, one in enumerate(loop["rounds"]):
            said = output(one["weights"], texts)
            bleu = sacrebleu.corpus_bleu(said, [references], tokenize="none", force=True)
            assert found.series[which][k] == pytest.approx(bleu.score, abs=1e-9)
            ratio = bleu.sys_len / bleu.ref_len
            assert found.length_ratios[which][k] == pytest.approx(ratio)
    assert loop["rounds"][found.chosen]["weights"] == loop["weights"]
    assert found.table["candidates"][-1] == loop["rounds"][-1]["candidates"]


def test_a_promise_is_compared_with_the_round_that_it_was_made_for(loop):
    found = rounds_of(record_of(loop))
    assert found.series["promised"][0] is None
    for k, one in enumerate(loop["rounds"][:-1]):
        assert found.series["promised"][k + 1] == one["list_score"]


def test_an_average_was_promised_nothing():
    rounds = [
        {"round": 0, "score": 1.0, "list_score": 5.0, "chosen": False},
        {"round": 1, "score": 2.0, "list_score": 6.0, "chosen": False},
        {"round": "average", "score": 3.0, "chosen": True},
    ]
    found = rounds_of(record_of({"rounds": rounds}))
    assert found.names == ("0", "1", "average")
    assert found.series == {"tune": (1.0, 2.0, 3.0), "promised": (None, 5.0, None)}
    assert (found.length_ratios, found.chosen) == ({}, 2)


def test_a_path_of_settings():
    result = fitted(PRO(strength=(1.0, 100.0), objective=("metric",), select=("all",)))
    found = rounds_of(record_of(result))
    assert (found.unit, found.names) == ("setting", ("strength 1", "strength 100"))
    assert found.series["tune"] == tuple(one["score"] for one in result["path"])
    assert found.series["dev"] == tuple(one["dev_score"] for one in result["path"])
    assert found.series["dev"][found.chosen] == max(found.series["dev"])


def test_a_path_of_passes():
    result = fitted(BatchMIRA(passes=4, pick="dev"))
    found = rounds_of(record_of(result))
    assert (found.unit, found.names) == ("pass", ("0", "1", "2", "3", "4"))
    assert found.series["dev"][found.chosen] == max(found.series["dev"])


@pytest.mark.parametrize("pick", ["last", "best"])
def test_epochs_with_the_ends_of_a_held_out_set(pick):
    result = fitted(MIRA(epochs=4, pick=pick))
    found = rounds_of(record_of(result))
    assert (found.unit, len(found.names)) == ("epoch", 5)
    tune, dev = found.series["tune"], found.series["dev"]
    assert tune[0] == result["initial_score"]
    assert tune[found.chosen] == pytest.approx(result["score"])
    assert found.chosen == (4 if pick == "last" else int(np.argmax(tune)))
    assert dev[0] == result["dev"]["initial_score"] or found.chosen == 0
    assert dev[found.chosen] == result["dev"]["score"]
    assert [k for k, v in enumerate(dev) if v is not None] == sorted({0, found.chosen})


@pytest.mark.parametrize("metric", [None, Loss()])
def test_climbs(metric):
    result = fitted(MERT(restarts=4, walks=1), metric)
    found = rounds_of(record_of(result, metric=problem(1, metric).metric))
    assert found.unit == "climb"
    history = result["history"]
    begins = [k for k, one in enumerate(history) if one["direction"] is None]
    ends = [history[k - 1]["score"] for k in begins[1:]] + [history[-1]["score"]]
    assert found.series["tune"] == (result["initial_score"], *ends)
    assert found.names[:2] == ("start", "0")
    best = np.minimum if metric else np.maximum
    assert found.series["best so far"] == tuple(best.accumulate(found.series["tune"]))
    assert found.series["tune"][found.chosen] == pytest.approx(result["score"])
    assert found.series["dev"][found.chosen] == result["dev"]["score"]


def test_steps_of_one_climb():
    result = fitted(MERT(restarts=0, walks=0), dev=False)
    found = rounds_of(record_of(result))
    assert found.unit == "step"
    assert found.series == {"tune": tuple(one["score"] for one in result["history"])}
    assert found.chosen == len(result["history"]) - 1
    assert "direction" in found.table


def test_several_runs():
    result = fitted(MERT(restarts=1, walks=0), dev=False, runs=3)
    found = rounds_of(record_of(result))
    assert (found.unit, found.names) == ("run", ("0", "1", "2"))
    assert found.series["tune"] == tuple(one["score"] for one in result["runs"])
    assert found.series["tune"][found.chosen] == max(found.series["tune"])
    averaged = {**result, "weights": {"f0": 123.0}}
    assert rounds_of(record_of(averaged)).chosen is None


def test_replicates():
    runs = [
        {"seed": 5, "score": 30.0, "dev_score": 29.0, "test_score": None, "chosen": False},
        {"seed": 6, "score": 31.0, "dev_score": 28.0, "test_score": None, "chosen": True},
    ]
    found = replicates_of(record_of({"replicates": {"runs": runs}}))
    assert (found.unit, found.names, found.chosen) == ("seed", ("5", "6"), 1)
    assert found.series == {"tune": (30.0, 31.0), "dev": (29.0, 28.0)}
    assert not found.is_ordered
    assert replicates_of(record_of({"replicates": None})) is None


def test_what_follows_on_each_other(loop):
    assert rounds_of(record_of(loop)).is_ordered
    assert not rounds_of(record_of(fitted(MERT(restarts=2, walks=0)))).is_ordered
    path = [{"tuner": name, "score": 1.0, "chosen": name == "a"} for name in "ab"]
    assert not rounds_of(record_of({"path": path})).is_ordered
    path = [{"strength": value, "score": 1.0, "chosen": False} for value in (1.0, 2.0)]
    assert rounds_of(record_of({"path": path})).is_ordered


def test_without_a_history_the_ends_are_shown():
    dev = {"initial_score": 3.0, "score": 2.0, "length_ratio": 0.9}
    result = {"initial_score": 1.0, "score": 4.0, "length_ratio": None, "dev": dev, "history": []}
    found = rounds_of(record_of(result))
    assert found.names == ("start", "result")
    assert found.series == {"tune": (1.0, 4.0), "dev": (3.0, 2.0)}
    assert found.length_ratios == {"dev": (None, 0.9)}
    assert found.chosen == 1


@pytest.mark.parametrize(
    "result",
    [{}, {"history": None}, {"rounds": []}, {"path": "none", "history": [3]}, {"score": "high"}],
)
def test_where_nothing_is_known_there_is_nothing(result):
    assert rounds_of(record_of(result)) is None
    assert pairs_of(record_of(result)) == ()


def test_odd_numbers_are_none():
    rounds = [{"round": 0, "score": float("nan")}, {"round": 1, "score": 2}]
    assert rounds_of(record_of({"rounds": rounds})).series == {"tune": (None, 2.0)}


def test_a_core_run_is_no_step():
    result = fitted(
        MERT(restarts=0, walks=0, penalty="l2-prior", strength=(0.1,), core=("f0",)), dev=False
    )
    assert any(one.get("part") == "core" for one in result["history"])
    found = rounds_of(record_of(result))
    own = [one["score"] for one in result["history"] if "part" not in one]
    assert found.series["tune"][: len(own)] == tuple(own)
