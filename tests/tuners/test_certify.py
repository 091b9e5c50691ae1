"""Certificates for weights that come from anywhere."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.builders import Loss, candidate_set, tuning_set
from tests.helpers.search.brute_force import UnclearError, brute_optimum, random_tuning
from tests.helpers.tiers import examples
from tests.helpers.tuners.scores import reached, sign_of
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.io.read import read
from tunesmith.parallel.local import threads
from tunesmith.search.exact import certificate as clock
from tunesmith.search.exact import search as exact
from tunesmith.search.exact.cones import blocks
from tunesmith.search.exact.problem import Problem
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.certify import certify
from tunesmith.tuners.lp_mert import LPMERT
from tunesmith.tuners.mert.mert import MERT

METRICS = ["sentence-bleu", "wer", "ter", "column:value", "cost:value"]
KEYS = {"best", "bound", "gap", "optimal", "tested", "total", "seconds"}


@pytest.fixture(scope="module")
def lists(bundled):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    values = np.random.default_rng(1).integers(0, 50, len(candidates)) / 8.0
    return replace(candidates, columns={"value": values})


def check(tuning, weights, found):
    """Check what holds for every certificate of given weights."""
    sign, proof = sign_of(tuning), found.certificate
    assert {*proof} - {"tie", "clear_bound"} == KEYS
    assert found.score == pytest.approx(reached(tuning, weights), abs=1e-9)
    assert found.found_score == pytest.approx(reached(tuning, found.found_weights), abs=1e-9)
    assert proof["best"] == found.score
    assert sign * found.score <= sign * found.found_score <= sign * proof["bound"] + 1e-9
    assert proof["gap"] == pytest.approx(sign * (proof["bound"] - found.score), abs=1e-9)
    assert proof["gap"] >= 0.0
    assert not proof["optimal"] or proof["gap"] == 0.0
    assert sign * proof["bound"] <= sign * tuning.oracle().score + 1e-9


@pytest.mark.parametrize("metric", METRICS)
def test_weights_of_mert(lists, start, metric):
    tuning = TuningSet(lists, metric).part([3, 20, 77, 120])
    other = MERT(restarts=3).fit(tuning, start)
    truth = LPMERT().fit(tuning, start)
    for weights in (start, other.weights, truth.weights):
        found = certify(tuning, weights, time_limit=None)
        check(tuning, weights, found)
        assert found.found_score == pytest.approx(truth.score, abs=1e-9)
        assert found.certificate["bound"] == pytest.approx(truth.score, abs=1e-9)
        is_best = found.score == pytest.approx(truth.score, abs=1e-9)
        assert found.certificate["optimal"] is is_best
    assert is_best


@pytest.mark.parametrize("seed", range(40))
def test_against_trying_every_choice(seed):
    rng = np.random.default_rng([seed, 9])
    tuning = random_tuning(rng)
    problem = Problem.of(tuning)
    try:
        truth = problem.score(brute_optimum(problem, 1e-6))
    except UnclearError:
        pytest.skip("a margin is too near to the tolerance")
    names = tuning.candidates.features.names
    weights = dict(zip(names, rng.standard_normal(len(names)), strict=True))
    found = certify(tuning, weights, time_limit=None)
    check(tuning, weights, found)
    near = 1e-6 * tuning.metric.scale
    assert found.certificate["bound"] == pytest.approx(truth, abs=near)
    assert found.found_score == pytest.approx(truth, abs=near)
    assert found.certificate["optimal"] is (abs(found.score - truth) <= near)


@pytest.mark.parametrize("metric", ["sentence-bleu", "wer"])
def test_many_sentences_have_a_bound_soon(monkeypatch, lists, start, metric):
    tuning = TuningSet(lists, metric)
    # A clock that does not depend on what else the machine does.
    ticks = itertools.count(clock.working_seconds(), 0.02)
    monkeypatch.setattr(clock, "working_seconds", ticks.__next__)
    found = certify(tuning, start, time_limit=10.0)
    monkeypatch.undo()
    check(tuning, start, found)
    proof = found.certificate
    assert proof["optimal"] is False
    assert 10.0 <= proof["seconds"] < 20.0
    assert isinstance(proof["total"], str)
    # Better than what each sentence alone can reach.
    assert sign_of(tuning) * (tuning.oracle().score - proof["bound"]) > 0.0


def test_the_bound_of_blocks(monkeypatch, lists, start):
    # What happens on many groups, where the truth is known.
    tuning = TuningSet(lists, "sentence-bleu").part(range(7))
    truth = LPMERT().fit(tuning, start).score
    monkeypatch.setattr(exact, "ONE_TREE", 1)
    monkeypatch.setattr(exact, "NO_TREE", 1)
    monkeypatch.setattr(blocks, "FIRST", 2)
    for limit in (1e-9, 0.05, None):
        found = certify(tuning, start, time_limit=limit)
        check(tuning, start, found)
        assert found.certificate["bound"] >= truth - 1e-9
    assert found.certificate["bound"] == pytest.approx(truth, abs=1e-9)


def test_weights_on_a_tie():
    # The best is among the others: it wins on the tie of all only, where nothing is proven.
    square = [[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]]
    tuning = tuning_set([square], [[5.0, 1.0, 2.0, 3.0, 4.0]])
    found = certify(tuning, {"f0": 0.0, "f1": 0.0})
    check(tuning, {"f0": 0.0, "f1": 0.0}, found)
    assert (found.score, found.found_score, found.certificate["gap"]) == (5.0, 5.0, 0.0)
    assert (found.certificate["optimal"], found.certificate["tie"]) == (False, True)
    assert "leads below the tolerance decide" in str(found)
    other = certify(tuning, {"f0": 1.0, "f1": 0.9})
    assert (other.score, other.found_score, other.certificate["bound"]) == (1.0, 4.0, 4.0)
    assert other.certificate["optimal"] is False


@pytest.mark.parametrize(
    ("tuning", "score"),
    [
        (tuning_set([[[1.0, 2.0]] * 3, [[0.0, 1.0]] * 2], [[1, 2, 3], [4, 5]]), 2.5),
        (tuning_set([[[1.0, 0.0]], [[3.0, 1.0]]], [[1], [4]], metric=Loss()), 2.5),
        (tuning_set([[[7.0, 1.0], [7.0, 1.0]]], [[0, 1]]), 0.0),
    ],
)
def test_nothing_to_choose(tuning, score):
    found = certify(tuning, {"f0": 1.0, "f1": 1.0})
    check(tuning, {"f0": 1.0, "f1": 1.0}, found)
    assert found.score == score
    assert found.certificate["optimal"] is True
    assert found.certificate["tested"] == 0


def test_names(start, lists):
    tuning = TuningSet(lists, "wer").part([0, 1])
    names = tuning.candidates.features.names
    with pytest.warns(UserWarning, match="extra"):
        found = certify(tuning, {**start, "extra": 2.0})
    some = {name: start[name] for name in names[:3]}
    with pytest.warns(UserWarning, match="11 features without a weight, taken as 0"):
        assert certify(tuning, some).score == reached(tuning, {**dict.fromkeys(names, 0.0), **some})
    assert found.found_weights["extra"] == 2.0
    assert {*found.found_weights} == {*names, "extra"}
    with pytest.raises(TunesmithError, match="extra"):
        certify(tuning, {**start, "extra": 2.0}, strict=True)
    with pytest.raises(TunesmithError, match=r"share|name"):
        certify(tuning, {"extra": 2.0})


def test_what_is_refused(lists, start):
    with pytest.raises(UsageError, match=r"a certificate needs .* bleu is not; use --metric"):
        certify(TuningSet(lists, "bleu"), start)
    blocks_, refs = [[[0.0], [1.0]]], [["a b c d", "x"]]
    several = TuningSet(candidate_set(blocks_, (), ["a b c", "x"], refs), "wer")
    with pytest.raises(UsageError, match=r"a certificate needs .* give one reference"):
        certify(several, {"f0": 1.0})
    tuning = TuningSet(lists, "wer")
    for limit in (0.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match=r"time_limit is .*; give seconds above 0"):
            certify(tuning, start, time_limit=limit)
    for tolerance in (0.0, 1.0, float("nan")):
        with pytest.raises(UsageError, match=r"tolerance is .*; give 1e-9 to 0.1"):
            certify(tuning, start, tolerance=tolerance)


def test_seeds_and_threads(lists, start):
    tuning = TuningSet(lists, "sentence-bleu").part(range(6))
    found = []
    for count in (1, 2, 3):
        with threads(count):
            result = certify(tuning, start, time_limit=None, rng=5)
        result.certificate["seconds"] = 0.0
        found.append(json.dumps(result.to_dict()))
    assert found[0] == found[1] == found[2]
    assert json.loads(found[0])["seed"] == 5
    drawn = certify(tuning, start, time_limit=None, rng=np.random.default_rng(5))
    assert drawn.seed is None
    # What is proven does not depend on the seed.
    assert drawn.certificate["bound"] == json.loads(found[0])["certificate"]["bound"]


def test_as_table_and_object(lists, start):
    tuning = TuningSet(lists, "wer").part(range(4))
    found = certify(tuning, start)
    held = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert held["schema"] == "tunesmith.certify/1"
    assert {*held} >= {"signature", "metric", "score", "certificate", "found", "seed", "data"}
    assert held["found"] == {
        "score": found.found_score,
        "weights": dict(found.found_weights),
    }
    assert held["signature"].startswith("certify|time_limit:60")
    assert "wer" in held["signature"]
    text = str(found)
    for part in ("these weights", "best found", "bound", "gap", f"{found.score:.2f}"):
        assert part in text
    proven = certify(tuning, found.found_weights)
    assert "proven: no weights do better" in str(proven)


@pytest.mark.parametrize("seed", range(examples(30)))
def test_no_weights_of_a_region_beat_its_bound(seed):
    rng = np.random.default_rng([seed, 3])
    blocks = [rng.standard_normal((8, 3)).tolist() for _ in range(5)]
    tuning = tuning_set(blocks, [rng.random(8).tolist() for _ in blocks])
    spread = Problem.of(tuning).spread
    given = rng.standard_normal(3)
    named = dict(zip(tuning.names, given.tolist(), strict=True))
    angles = [2.0, 15.0, 60.0]
    limit = float(rng.choice([1e-9, 10.0]))
    found = certify(tuning, named, within=angles, time_limit=limit)
    middle = given * spread / np.linalg.norm(given * spread)
    for angle, point in zip(angles, found.curve, strict=True):
        away = rng.standard_normal((200, 3))
        away -= np.outer(away @ middle, middle)
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        radians = np.radians(angle) * rng.choice([0.999, 0.5, 0.1], 200)[:, None]
        every = (np.cos(radians) * middle + np.sin(radians) * away) / spread
        assert max(score_of(tuning, one) for one in every) <= point["bound"] + 1e-9
        assert point["optimal"] is (point["gap"] == 0.0)
    assert found.certificate["bound"] == found.curve[-1]["bound"]
    box = certify(tuning, named, box=0.4, time_limit=limit)
    every = given * (1.0 + 0.4 * rng.uniform(-1.0, 1.0, (200, 3)))
    assert max(score_of(tuning, one) for one in every) <= box.certificate["bound"] + 1e-9
    if limit == 10.0:
        # What was found is in the region.
        ratios = np.array([box.found_weights[name] for name in tuning.names]) / given
        assert ratios.max() / ratios.min() <= 1.4 / 0.6 + 1e-6


def score_of(tuning, weights):
    return tuning.score(best(tuning.candidates, weights))
