"""Penalties, paths of settings and test sets, as options of MERT."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean, best_by_hand, tuning_set
from tests.helpers.tiers import examples
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.metrics.bleu import BLEU
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT

#: Options of each penalty but its strength, on features f0, f1 ...
PENALTIES = {
    "l2-prior": {"penalty": "l2-prior", "prior": {"f0": 0.5, "f1": -0.25}},
    "l2-fixed": {"penalty": "l2-fixed", "fixed_feature": "f0"},
    "l2-normalized": {"penalty": "l2-normalized"},
    "l0": {"penalty": "l0"},
}
every_penalty = pytest.mark.parametrize("name", PENALTIES)


def task(seed, width=4, groups=12, metric=None, noise=0.5):
    """Make a set on which the last features say nothing, and some are sparse."""
    rng = np.random.default_rng(seed)
    useful = np.zeros(width)
    useful[:2] = 1.0, -0.5
    features = rng.normal(size=(groups, 6, width))
    features[..., width // 2 :] *= rng.random((groups, 6, width - width // 2)) < 0.5
    values = features @ useful + noise * rng.normal(size=(groups, 6))
    values = np.round((values - values.min()) / np.ptp(values), 3)
    sparse = range(width // 2, width)
    return tuning_set(features.tolist(), values.tolist(), sparse, metric)


def start_of(tuning):
    """Return starting weights of which none is 0."""
    return {name: 0.4 + 0.1 * k for k, name in enumerate(tuning.candidates.features.names)}


def score_by_hand(tuning, weights):
    """Score the winners that a plain loop finds."""
    features = tuning.candidates.features
    rows = np.hstack([features.dense.T, features.sparse.toarray()])
    ordered = [weights[name] for name in features.names]
    begin = tuning.candidates.start
    chosen = [a + best_by_hand(rows[a:b].tolist(), ordered) for a, b in itertools.pairwise(begin)]
    return float(tuning.stats[chosen, 0].sum() / tuning.stats[chosen, 1].sum())


def r_by_hand(name, weights):
    """Return R(w) of a penalty with the options above."""
    values = list(weights.values())
    if name == "l0":
        return sum(value != 0 for value in values)
    if name == "l2-normalized":
        return sum(value**2 for value in values) / sum(abs(value) for value in values) ** 2
    if name == "l2-fixed":
        return sum(value**2 for feature, value in weights.items() if feature != "f0")
    prior = PENALTIES[name]["prior"]
    return sum((value - prior.get(feature, 0.0)) ** 2 for feature, value in weights.items())


# What a penalty does.


@pytest.mark.filterwarnings("ignore:prior")
@every_penalty
@pytest.mark.parametrize("directions", ["coordinate", "powell"])
def test_without_strength_it_is_plain_mert(name, directions):
    tuning = task(1)
    some = {"restarts": 8, "directions": directions}
    plain = MERT(**some).fit(tuning, start_of(tuning), rng=3)
    found = MERT(**some, **PENALTIES[name], strength=0).fit(tuning, start_of(tuning), rng=3)
    assert found.score == plain.score
    if name != "l2-fixed":  # there the scale is pinned, so the way is another one
        assert found.weights == plain.weights
        assert found.history == plain.history


@pytest.mark.filterwarnings("ignore:prior")
@every_penalty
@settings(max_examples=examples(12))
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-4, 1e-3, 1e-2, 0.1, 1.0]))
def test_the_objective_is_that_of_the_weights(name, seed, strength):
    tuning = task(seed)
    tuner = MERT(restarts=2, walks=1, **PENALTIES[name], strength=strength)
    names = tuning.candidates.features.names
    begin = Weights.from_dict(start_of(tuning))
    outcome = tuner.tune(tuning, begin.vector, np.random.default_rng(seed))
    found = dict(zip(names, outcome.weights.tolist(), strict=True))

    def objective(weights):
        return score_by_hand(tuning, weights) - strength * r_by_hand(name, weights)

    assert outcome.objective == pytest.approx(objective(found), abs=1e-12)
    assert outcome.objective >= objective(begin)
    for entry in outcome.history:
        assert entry["gain"] - entry["penalty"] <= outcome.objective + 1e-12


@pytest.mark.filterwarnings("ignore:.* sentences of the")
@pytest.mark.filterwarnings("ignore:prior")
@every_penalty
@settings(max_examples=examples(12))
@given(st.integers(0, 2**32 - 1))
def test_a_stronger_penalty_leaves_less_of_it(name, seed):
    # One weight is free, so one line search finds the global optimum, of which it is true
    # that R falls as the strength grows (but for the distance kept from breakpoints).
    tuning = task(seed, width=2)
    strengths = [0.0, 1e-3, 1e-2, 0.1, 1.0, 100.0]
    fixed = {} if name == "l2-fixed" else {"fix": {"f0": 0.4}}
    tuner = MERT(restarts=0, walks=0, **PENALTIES[name], strength=strengths, **fixed)
    result = tuner.fit(tuning, start_of(tuning), dev=tuning)
    amounts = [e["penalty"] / e["strength"] for e in result.path[1:]]
    assert all(a >= b - 1e-5 for a, b in itertools.pairwise(amounts))
    scores = [e["score"] for e in result.path]
    assert all(a >= b for a, b in itertools.pairwise(scores))
    # No point of a fine grid is better.
    grid = [{"f0": 0.4, "f1": x} for x in np.tan(np.linspace(-1.57, 1.57, 201)).tolist()]
    points = [(score_by_hand(tuning, w), r_by_hand(name, w)) for w in grid]
    for entry in result.path:
        found = entry["score"] - entry["penalty"]
        best = max(score - entry["strength"] * amount for score, amount in points)
        # A penalty is least at a distance of up to 1e-6 from where it would be on an edge.
        assert found >= best - 1e-5 * max(1.0, entry["strength"])


@pytest.mark.filterwarnings("ignore:prior")
@pytest.mark.parametrize("seed", [1, 30, 56])
@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
def test_a_climb_does_not_crawl_along_the_edges_of_regions(seed, directions):
    # Along features alone it takes thousands of line searches: edges are oblique.
    tuning = task(seed)
    some = {"restarts": 0, "walks": 0, "directions": directions, **PENALTIES["l2-prior"]}
    for strength in (1e-3, 1e-2):
        found = MERT(**some, strength=strength).fit(tuning, start_of(tuning))
        assert found.line_searches < 1000
        # The size of the weights changes no winner, so it is the best one for the penalty.
        sizes = [
            r_by_hand("l2-prior", {name: size * value for name, value in found.weights.items()})
            for size in (0.9, 0.99, 1.0, 1.01, 1.1)
        ]
        assert min(sizes) == sizes[2]


@pytest.mark.filterwarnings("ignore:prior")
@every_penalty
@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
def test_restrictions_hold_under_a_penalty(name, directions):
    tuning = task(17, width=6)
    limits = {"bound": {"f1": "-0.2:0.1", "f4": "0:"}, "tie": ["f2=f3"]}
    for strength in (1e-3, 0.1):
        tuner = MERT(restarts=1, directions=directions, **PENALTIES[name], strength=strength)
        found = replace(tuner, **limits).fit(tuning, start_of(tuning)).weights
        assert -0.2 <= found["f1"] <= 0.1
        assert found["f4"] >= 0
        assert found["f2"] == found["f3"]


def test_l0_leaves_exact_zeros():
    tuning = task(5, width=8, groups=30)
    tuner = MERT(restarts=4, penalty="l0", strength=0.01)
    found = tuner.fit(tuning, start_of(tuning))
    plain = MERT(restarts=4).fit(tuning, start_of(tuning))
    zeros = [name for name, value in found.weights.items() if value == 0.0]
    assert len(zeros) >= 4  # six of the eight features say nothing
    assert not {"f0", "f1"} & {*zeros}
    assert all(plain.weights.values())
    # Each zero is worth it: what is left scores no less than 0.01 a weight below.
    assert plain.score - found.score <= 0.01 * len(zeros)
    again = json.loads(json.dumps(found.to_dict()))
    assert [name for name, value in again["weights"].items() if value == 0] == zeros


@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
def test_l2_fixed_holds_its_weight(directions):
    tuning = task(7)
    options = {"penalty": "l2-fixed", "fixed_feature": "f1", "directions": directions}
    found = MERT(restarts=3, **options, strength=0.01).fit(tuning, start_of(tuning))
    assert found.weights["f1"] == 0.5
    tight = MERT(restarts=3, **options, strength=1e6).fit(tuning, start_of(tuning))
    assert tight.weights["f1"] == 0.5
    assert max(abs(tight.weights[name]) for name in ("f0", "f2", "f3")) < 1e-3
    own = MERT(restarts=0, **options, strength=0.01).fit(tuning)
    assert own.weights["f1"] == own.start["f1"] != 0


def test_l2_fixed_holds_its_weight_where_it_is_fixed():
    tuning = task(7)
    tuner = MERT(restarts=1, penalty="l2-fixed", fixed_feature="f1", strength=0.01, fix={"f1": -2})
    assert tuner.fit(tuning, start_of(tuning)).weights["f1"] == -2.0
    with pytest.raises(UsageError, match="fixed-feature f1 is fixed at 0"):
        replace(tuner, fix={"f1": 0}).fit(tuning)


@pytest.mark.filterwarnings("ignore:prior")
def test_l2_prior_of_great_strength_is_the_prior():
    tuning = task(9)
    prior = {"f0": 0.7, "f1": -0.2, "f3": 0.1}  # f2 is drawn towards 0
    tuner = MERT(restarts=2, penalty="l2-prior", prior=prior, strength=1e6)
    expected = [0.7, -0.2, 0.0, 0.1]
    found = tuner.fit(tuning, start_of(tuning)).weights
    assert [found[f"f{k}"] for k in range(4)] == pytest.approx(expected, abs=1e-4)
    begun = tuner.fit(tuning)  # without a start it begins at the prior
    assert [begun.start[f"f{k}"] for k in range(4)] == expected
    assert [begun.weights[f"f{k}"] for k in range(4)] == expected


def test_the_core_is_tuned_without_penalty_first():
    tuning = task(11)
    tuner = MERT(restarts=0, walks=0, penalty="l2-prior", core=["f0", "f1"], strength=1e6)
    alone = MERT(restarts=0, walks=0).fit(tuning, keep=["f0", "f1"], normalise="none")
    found = tuner.fit(tuning)
    assert dict(found.weights) == {"f0": alone.weights["f0"], "f1": alone.weights["f1"]} | {
        "f2": 0.0,
        "f3": 0.0,
    }
    assert found.score == alone.score
    # From starting weights it is drawn there from them.
    first = {name: start_of(tuning)[name] for name in ("f0", "f1")}
    alone = MERT(restarts=0, walks=0).fit(tuning, first, keep="f[01]", normalise="none")
    drawn = MERT(restarts=0, walks=0, penalty="l2-prior", core="f[01]", strength=1e6)
    found = drawn.fit(tuning, start_of(tuning))
    names = ["f0", "f1", "f2", "f3"]
    expected = [alone.weights["f0"], alone.weights["f1"], 0.0, 0.0]
    assert [found.weights[n] for n in names] == pytest.approx(expected, abs=1e-4)


def test_the_core_is_tuned_once_for_all_runs_and_reported():
    tuning = task(31)
    tuner = MERT(restarts=1, walks=0, penalty="l2-prior", core=["f0", "f1"], strength=0.01)
    result = tuner.fit(tuning, start_of(tuning), runs=3)
    first = [entry for entry in result.history if entry.get("part") == "core"]
    assert first
    assert result.history[: len(first)] == first
    assert {entry["direction"] for entry in first} <= {None, "f0", "f1", "axis 1", "axis 2"}
    assert result.prior["f0"] != 0
    assert result.prior["f2"] == result.prior["f3"] == 0
    again = replace(tuner, core=(), prior=result.prior)
    drawn = again.fit(tuning, start_of(tuning), runs=3)
    assert drawn.prior == result.prior
    assert drawn.line_searches < result.line_searches
    assert json.loads(json.dumps(result.to_dict()))["prior"] == dict(result.prior)


def test_the_core_keeps_restrictions():
    tuning = task(13, width=6)
    core = {"penalty": "l2-prior", "core": ["f0", "f1", "f2"], "strength": 1e6}
    limits = {"fix": {"f1": 0.5}, "bound": {"f0": ":0", "f4": "-1:1"}, "tie": ["f2=f3"]}
    found = MERT(restarts=1, **core, **limits).fit(tuning, start_of(tuning))
    assert found.weights["f1"] == 0.5
    assert found.weights["f0"] <= 0.0  # it would be above, and the run on the core knows
    kept = MERT(restarts=1, **core, scale_together=["f0,f1,f5"])
    found = kept.fit(tuning, start_of(tuning)).weights
    assert found["f0"] / found["f1"] == pytest.approx(0.4 / 0.5)
    nothing = MERT(restarts=1, **core | {"core": "f1"}, fix={"f1": 0.5})
    assert nothing.fit(tuning, start_of(tuning)).weights["f1"] == 0.5


@pytest.mark.long
@pytest.mark.parametrize("name", ["l2-prior", "l2-fixed", "l2-normalized", "l0"])
def test_gradient_directions_go_with_every_penalty(real, start, name):
    more = {"l2-prior": {"prior": start}, "l2-fixed": {"fixed_feature": "LM0"}}.get(name, {})
    tuner = MERT(directions="gradient", penalty=name, strength=1e-3, **more)
    names = real["tune"].candidates.features.names
    outcome = tuner.tune(real["tune"], start.aligned(names), np.random.default_rng(1))
    found = Weights(names, outcome.weights)
    amount = {
        "l2-prior": sum((found[n] - start[n]) ** 2 for n in names),
        "l2-fixed": sum(found[n] ** 2 for n in names if n != "LM0"),
        "l2-normalized": r_by_hand("l2-normalized", found),
        "l0": r_by_hand("l0", found),
    }[name]
    score = real["tune"].score(winners(real["tune"], found)) / 100
    assert outcome.objective == pytest.approx(score - 1e-3 * amount, abs=1e-12)
    first = outcome.history[0]
    assert outcome.objective > first["gain"] - first["penalty"]
    if name == "l2-fixed":
        assert found["LM0"] == start["LM0"]
    assert {e["direction"] for e in outcome.history} & {"gradient"}


def winners(tuning, weights):
    """Return the winner of each group, found group by group."""
    features, begin = tuning.candidates.features, tuning.candidates.start
    scores = features.dense.T @ weights.aligned(features.names)
    return np.array([a + np.argmax(scores[a:b]) for a, b in itertools.pairwise(begin)])


# A path of settings.


@every_penalty
@pytest.mark.filterwarnings("ignore:prior")
def test_each_strength_begins_where_the_one_before_ended(name):
    tuning = task(15)
    still = {"restarts": 0, "walks": 0, **PENALTIES[name]}
    weights = Weights.from_dict(start_of(tuning)).vector
    for strength in (1e-3, 1e-2, 0.1):
        one = MERT(**still, strength=strength)
        weights = one.tune(tuning, weights, np.random.default_rng(1)).weights
    path = MERT(**still, strength=(1e-3, 1e-2, 0.1))
    found = path.tune(
        tuning, Weights.from_dict(start_of(tuning)).vector, np.random.default_rng(1)
    ).weights
    assert np.array_equal(found, weights)


@pytest.mark.filterwarnings("ignore:the test set is scored with each")
@pytest.mark.parametrize("metric", [Mean(), Loss()])
def test_the_best_on_the_development_set_is_chosen(metric):
    tuning, dev, test = (task(seed, 6, 20, metric, noise=1.0) for seed in (21, 22, 23))
    strengths = (0.0, 1e-3, 1e-2, 0.03, 0.1)
    tuner = MERT(restarts=3, penalty="l0", strength=strengths)
    result = tuner.fit(tuning, start_of(tuning), dev=dev, test=test)
    assert [entry["strength"] for entry in result.path] == list(strengths)
    assert [entry["chosen"] for entry in result.path].count(True) == 1
    (best,) = [entry for entry in result.path if entry["chosen"]]
    dev_scores = [entry["dev_score"] for entry in result.path]
    assert len(set(dev_scores)) > 1
    assert best["dev_score"] == (max if metric.higher_is_better else min)(dev_scores)
    assert result.path.index(best) == dev_scores.index(best["dev_score"])  # first of equals
    sets = {"score": tuning, "dev_score": dev, "test_score": test}
    for key, some in sets.items():
        assert best[key] == pytest.approx(score_by_hand(some, result.weights), abs=1e-12)
    assert (result.score, result.dev.score, result.test.score) == tuple(best[k] for k in sets)
    assert best["nonzero"] == sum(value != 0 for value in result.weights.values())
    assert best["penalty"] == pytest.approx(best["strength"] * best["nonzero"])
    assert result.line_searches == sum(entry["line_searches"] for entry in result.path)
    assert 0 < sum(entry["seconds"] for entry in result.path) <= result.seconds
    assert {entry["strength"] for entry in result.history} == set(strengths)
    assert [entry["step"] for entry in result.history] == list(range(len(result.history)))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:the test set is scored with each")
def test_the_test_set_has_no_influence():
    tuning, dev, test = (task(seed, 6, 20, noise=1.0) for seed in (71, 72, 73))
    tuner = MERT(restarts=2, penalty="l2-normalized", strength=(1e-3, 1e-2, 0.1, 1.0))
    alone = tuner.fit(tuning, start_of(tuning), dev=dev)
    found = tuner.fit(tuning, start_of(tuning), dev=dev, test=test)
    assert found.weights == alone.weights
    assert alone.test is None
    assert {entry["test_score"] for entry in alone.path} == {None}
    different = {"test_score", "seconds"}
    for one, other in zip(alone.path, found.path, strict=True):
        assert {k: v for k, v in one.items() if k not in different} == {
            k: v for k, v in other.items() if k not in different
        }
    # It would have chosen another strength, so this could have failed.
    tested = [entry["test_score"] for entry in found.path]
    assert not found.path[tested.index(max(tested))]["chosen"]
    assert MERT(restarts=0).fit(tuning, test=test).path is None


def test_one_setting_has_no_path():
    tuning = task(41)
    result = MERT(restarts=0, penalty="l0", strength=0.01).fit(tuning, dev=task(42))
    assert result.path is None
    assert all("strength" not in entry and "penalty" in entry for entry in result.history)


def test_length_scales_are_on_the_path(real, start):
    scales = (0.9, 1.0, 1.2)
    tuner = MERT(restarts=0, walks=0, length_scale=scales)
    result = tuner.fit(real["tune"], start, dev=real["test"])
    assert [entry["length_scale"] for entry in result.path] == list(scales)
    ratios = [entry["length_ratio"] for entry in result.path]
    assert ratios[0] < ratios[2]
    # Only the search is about a scaled length: the scores are those of the metric itself.
    (best,) = [entry for entry in result.path if entry["chosen"]]
    assert best["dev_score"] == max(entry["dev_score"] for entry in result.path)
    for key, some in (("score", "tune"), ("dev_score", "test")):
        names = real[some].candidates.features.names
        chosen = winners(real[some], Weights(names, result.weights.aligned(names)))
        assert best[key] == pytest.approx(real[some].score(chosen), abs=1e-12)


def test_a_length_scale_is_that_of_the_metric(real, start):
    still = {"restarts": 0, "walks": 0}
    scaled = MERT(**still, length_scale=1.1).fit(real["tune"], start)
    own = TuningSet(real["tune"].candidates, BLEU(reference_length_scale=1.1))
    assert scaled.weights == MERT(**still).fit(own, start).weights
    # A metric with a scale of its own has both.
    twice = MERT(**still, length_scale=0.5).fit(
        TuningSet(real["tune"].candidates, BLEU(reference_length_scale=2.2)), start
    )
    assert twice.weights == scaled.weights


def test_strengths_and_scales_are_tried_together(real, start):
    tuner = MERT(restarts=0, walks=0, penalty="l0", strength=[1e-4, 1e-3], length_scale=[1, 1.05])
    result = tuner.fit(real["tune"], start, dev=real["test"])
    assert [(e["strength"], e["length_scale"]) for e in result.path] == [
        (1e-4, 1.0),
        (1e-3, 1.0),
        (1e-4, 1.05),
        (1e-3, 1.05),
    ]
    # Strengths go on from one another, but each scale of the length begins anew.
    longer = replace(tuner, length_scale=1.05).fit(real["tune"], start, dev=real["test"])
    for whole, alone in zip(result.path[2:], longer.path, strict=True):
        assert whole["score"] == alone["score"]
        assert whole["dev_score"] == alone["dev_score"]
    keys = {"strength", "length_scale", "step", "score", "penalty", "line_searches"}
    assert all(entry.keys() >= keys for entry in result.history)


def test_several_runs_of_a_path():
    tuning, dev = task(51, 6, 40, noise=1.5), task(52, 6, 40, noise=1.5)
    tuner = MERT(restarts=1, walks=0, begin="anywhere", penalty="l0", strength=(1e-3, 1e-2))
    result = tuner.fit(tuning, dev=dev, runs=3)
    assert len(result.runs) == 3
    (best,) = [entry for entry in result.path if entry["chosen"]]

    def objective(weights):
        gain = score_by_hand(tuning, weights)
        return gain - best["strength"] * sum(value != 0 for value in weights.values())

    # The best run is the one with the best objective, not with the best score.
    values = [objective(run["weights"]) for run in result.runs]
    assert len(set(values)) > 1
    assert dict(result.weights) == result.runs[values.index(max(values))]["weights"]
    assert best["score"] - best["penalty"] == pytest.approx(max(values))
    assert {(e["run"], e["strength"]) for e in result.history} == {
        (run, strength) for run in range(3) for strength in (1e-3, 1e-2)
    }
    average = tuner.fit(tuning, dev=dev, runs=3, combine="average")
    assert [entry["penalty"] for entry in average.path] == [None, None]


def test_a_path_on_some_of_the_features():
    tuning, dev = task(61, 6), task(62, 6)
    tuner = MERT(restarts=1, penalty="l2-prior", core="f[0-2]", strength=(1e-3, 0.1))
    result = tuner.fit(tuning, dev=dev, drop=["f2", "f5"])
    assert (result.weights["f2"], result.weights["f5"]) == (0.0, 0.0)
    assert all(entry["nonzero"] <= 4 for entry in result.path)
    (best,) = [entry for entry in result.path if entry["chosen"]]
    assert best["dev_score"] == pytest.approx(score_by_hand(dev, result.weights))
    kept = tuner.fit(tuning, dev=dev, keep=["f0", "f1", "f3", "f4"])
    assert kept.weights == result.weights


def test_the_penalty_on_a_path_is_that_of_weights_before_they_are_scaled():
    tuning, dev = task(71), task(72)
    tuner = MERT(restarts=1, **PENALTIES["l2-prior"], strength=(1e-3, 0.1))
    with pytest.warns(UserWarning, match="prior: 2 features without a weight"):
        result = tuner.fit(tuning, start_of(tuning), dev=dev, normalise="l2")
    with pytest.warns(UserWarning, match="prior: 2 features without a weight"):
        plain = tuner.fit(tuning, start_of(tuning), dev=dev)
    (best,) = [entry for entry in result.path if entry["chosen"]]
    assert sum(value**2 for value in result.weights.values()) == pytest.approx(1.0)
    expected = best["strength"] * r_by_hand("l2-prior", plain.weights)
    assert best["penalty"] == pytest.approx(expected)


@pytest.mark.long
def test_the_same_bits_for_any_number_of_threads(real, start):
    tuner = MERT(penalty="l2-prior", core="LM*", strength=(1e-4, 1e-2), restarts=1, walks=1)
    found = []
    for count in (1, 2, 5):
        with threads(count):
            result = tuner.fit(real["tune"], start, dev=real["test"], rng=3)
        path = [{k: v for k, v in e.items() if k != "seconds"} for e in result.path]
        found.append((result.weights, json.dumps([path, result.history])))
    assert found[0] == found[1] == found[2]
    other = tuner.fit(real["tune"], start, dev=real["test"], rng=4)
    assert other.weights != found[0][0]


@pytest.mark.filterwarnings("ignore:.* sentences of the")
@pytest.mark.filterwarnings("ignore:the test set is scored with each")
def test_the_result_is_json_and_prints_its_path(real, start):
    options = {"penalty": "l2-prior", "prior": start, "strength": (1e-4, 1e-2)}
    tuner = MERT(restarts=0, walks=0, **options)
    result = tuner.fit(real["tune"], start, dev=real["test"], test=real["test"], others=["ter"])
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert found["test"] == found["dev"]
    assert found["path"] == result.path
    assert set(found["path"][0]) >= {"strength", "score", "dev_score", "test_score", "chosen"}
    assert found["others"][0]["test"] == found["others"][0]["dev"]
    lines = str(result).splitlines()
    (head,) = [line for line in lines if "strength" in line]
    heads = [text.strip() for text in head.strip("┃").split("┃")]
    assert heads == ["strength", "tune", "dev", "test", "nonzero", ""]
    assert sum("best on dev" in line for line in lines) == 1
    assert f"{found['path'][0]['dev_score']:.2f}" in str(result)


def test_the_signature_says_what_was_done(real, start, bundled):
    tuning = real["tune"]
    options = {"restarts": 0, "walks": 0, "penalty": "l2-prior", "strength": 0.01}
    of_file = MERT(**options, prior=bundled / "weights.initial").fit(tuning, start)
    assert re.search(r"\|strength:0.01\|prior:sha256-[0-9a-f]{12}\|", of_file.signature)
    assert dict(of_file.prior) == dict(start)
    given, other = (
        MERT(**options, prior=p).fit(tuning, start) for p in (start, {**start, "LM0": 1})
    )
    assert given.weights == of_file.weights
    assert given.signature == of_file.signature != other.signature
    assert "penalty:none" in MERT().signature()


# Options that are wrong.


WRONG = {
    "strength is -1; give 0 or more": {"penalty": "l0", "strength": -1},
    "strength is nan; give 0": {"penalty": "l0", "strength": float("nan")},
    "strength is inf; give 1e.100 or less": {"penalty": "l0", "strength": float("inf")},
    "strength 0.1 is given twice": {"penalty": "l0", "strength": (0.1, 0.2, 0.1)},
    "strength is 'much'; give numbers": {"penalty": "l0", "strength": "much"},
    "strength is .*; give numbers": {"penalty": "l0", "strength": [None]},
    "penalty l0 needs a strength": {"penalty": "l0"},
    "strength without a penalty": {"strength": 0.1},
    "length-scale is 0; give a number above 0": {"length_scale": 0},
    "length-scale is nan; give": {"length_scale": [1.0, float("nan")]},
    "l2-prior draws towards .* give --prior FILE or --core": {"penalty": "l2-prior", "strength": 1},
    "give --prior or --core, not both": {
        "penalty": "l2-prior",
        "strength": 1,
        "core": "a",
        "prior": {"a": 1.0},
    },
    "prior is .*; give a file, or weights by name": {
        "penalty": "l2-prior",
        "strength": 1,
        "prior": [1.0],
    },
    "l2-fixed holds one weight": {"penalty": "l2-fixed", "strength": 1},
    "fixed-feature goes with the penalty l2-fixed": {"fixed_feature": "f0"},
    "prior goes with the penalty l2-prior": {"penalty": "l0", "strength": 1, "prior": {"f0": 1}},
    "core goes with the penalty l2-prior": {"core": "f0"},
    "smoothing and a penalty do not go": {"penalty": "l0", "strength": 1, "smoothing": "mean"},
}


@pytest.mark.parametrize("said", WRONG)
def test_wrong_options(said):
    with pytest.raises(UsageError, match=said):
        MERT(**WRONG[said])


def test_an_unknown_penalty():
    with pytest.raises(UnknownNameError, match="'l2'; did you mean l2-prior or l2-fixed or l2-n"):
        MERT(penalty="l2", strength=1)


def test_numbers_from_anywhere():
    assert MERT(penalty="l0", strength=0.1).strength == (0.1,)
    assert MERT(penalty="l0", strength=np.array([0.1, 1])).strength == (0.1, 1.0)
    assert MERT(penalty="l0", strength="0.1").strength == (0.1,)
    assert MERT(length_scale=1).length_scale == (1.0,)


def test_a_prior_that_does_not_fit(tmp_path):
    tuning = task(81)
    options = {"restarts": 0, "penalty": "l2-prior", "strength": 1}
    with pytest.raises(TunesmithError, match="prior: no weight has the name of a feature"):
        MERT(**options, prior={"LM": 1}).fit(tuning)
    partly = MERT(**options, prior={"f0": 1, "LM": 1})
    with (
        pytest.warns(UserWarning, match="prior: 3 features without a weight, taken as 0: f1"),
        pytest.warns(UserWarning, match="prior: 1 weight without a feature .*, not used: LM"),
    ):
        result = partly.fit(tuning)
    assert len(result.warnings) == 2
    assert "LM" not in result.weights
    with pytest.raises(TunesmithError, match="prior: 3 features without a weight"):
        partly.fit(tuning, strict=True)
    with pytest.raises(TunesmithError, match="weight 'f0' is 'x'; give a number"):
        MERT(**options, prior={"f0": "x"})
    path = tmp_path / "own.json"
    path.write_text('{"LM": 1}')
    with pytest.raises(TunesmithError, match=r"own\.json: prior: no weight"):
        MERT(**options, prior=path).fit(tuning)


def test_features_that_are_not_there():
    tuning = task(83)
    with pytest.raises(TunesmithError, match=r"core 'g\*' matches no feature"):
        MERT(penalty="l2-prior", strength=1, core="g*").fit(tuning)
    held = MERT(penalty="l2-fixed", strength=1, fixed_feature="f9")
    with pytest.raises(UsageError, match=r"'f9' \(fixed-feature\); did you mean f"):
        held.fit(tuning)
    with pytest.raises(UsageError, match=r"'f1' \(fixed-feature\)"):
        replace(held, fixed_feature="f1").fit(tuning, drop="f1")
    with pytest.raises(UsageError, match="fixed-feature f1 starts at 0 and would be held there"):
        replace(held, fixed_feature="f1").fit(tuning, {"f0": 1, "f1": 0, "f2": 1, "f3": 1})
    with pytest.raises(UsageError, match="would break a fixed weight"):
        replace(held, fixed_feature="f1").fit(tuning, normalise="l1")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"penalty": "l0", "strength": (1, 2)}, "several strengths;"),
        ({"length_scale": (1, 2)}, "several length scales;"),
        ({"penalty": "l0", "strength": 1, "length_scale": (1, 2)}, "several length scales;"),
        (
            {"penalty": "l0", "strength": (1, 2), "length_scale": (1, 2)},
            "several length scales and strengths;",
        ),
    ],
)
def test_several_settings_need_a_set_that_chooses(real, options, what):
    with pytest.raises(UsageError, match=f"a held-out set chooses among {what} give dev"):
        MERT(**options).fit(real["tune"], test=real["test"])


def test_metrics_that_lack_something():
    tuning = task(91)
    with pytest.raises(UsageError, match="mean has no reference length to scale"):
        MERT(length_scale=1.1).fit(tuning)
    with pytest.raises(TunesmithError, match="metric 'mean' has no gradient"):
        MERT(directions="gradient").fit(tuning)
