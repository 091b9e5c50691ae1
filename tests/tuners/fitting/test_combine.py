"""Several runs, the scale of the result, features by pattern, other metrics."""

from __future__ import annotations

import itertools
import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, tuning_set
from tests.helpers.search.restrictions import (
    broken,
    one_factor,
    restricted_problem,
)
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.lists.hypotheses import ListHypotheses, best
from tunesmith.metrics.bleu import BLEU
from tunesmith.search.space.space import Space
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.fitting.combine import middle
from tunesmith.tuners.mert.mert import MERT


def score(tuning, weights):
    """Evaluate weights from scratch, by a way of their own."""
    features = tuning.candidates.features
    values = np.zeros(features.candidates)
    for name, row in zip(features.dense_names, features.dense, strict=True):
        values += weights.get(name, 0.0) * row
    if features.sparse_names:
        held = np.array([weights.get(name, 0.0) for name in features.sparse_names])
        values += features.sparse @ held
    chosen = [
        a + int(np.argmax(values[a:b])) for a, b in itertools.pairwise(tuning.candidates.start)
    ]
    return float(tuning.metric.score(tuning.stats[chosen].sum(axis=0)))


# Several runs


def test_the_best_of_several_runs(real, start):
    result = MERT(restarts=1, walks=0).fit(real["tune"], start, rng=4, runs=4, normalise="none")
    assert [run["run"] for run in result.runs] == [0, 1, 2, 3]
    scores = [run["score"] for run in result.runs]
    assert len(set(scores)) > 1
    assert result.score == max(scores)
    best_run = result.runs[scores.index(max(scores))]
    assert best_run["weights"] == dict(result.weights)
    for run in result.runs:
        assert run["score"] == pytest.approx(score(real["tune"], run["weights"]), abs=1e-9)
    assert {entry["run"] for entry in result.history} == {0, 1, 2, 3}
    assert "|runs:4|" in result.signature
    assert json.loads(json.dumps(result.to_dict()))["runs"] == result.runs
    assert f"runs: {scores[0]:.2f}, " in str(result)


def test_the_best_is_the_lowest_where_lower_is_better():
    rng = np.random.default_rng(1)
    groups = [rng.normal(size=(6, 3)).tolist() for _ in range(12)]
    values = [rng.integers(0, 9, 6).tolist() for _ in groups]
    tuning = tuning_set(groups, values, metric=Loss())
    result = MERT(restarts=0, walks=1, directions="random").fit(tuning, runs=5)
    scores = [run["score"] for run in result.runs]
    assert len(set(scores)) > 1
    assert result.score == min(scores)


@pytest.mark.long
def test_one_run_is_as_if_nothing_was_said(real, start):
    plain = MERT(restarts=2).fit(real["tune"], start, rng=3)
    for combine in ("best", "average", "median"):
        one = MERT(restarts=2).fit(real["tune"], start, rng=3, runs=1, combine=combine)
        assert one.weights == plain.weights
        assert one.history == plain.history
        assert one.runs is None
    assert "run" not in plain.history[0]


@pytest.mark.parametrize(("combine", "by_hand"), [("average", np.mean), ("median", np.median)])
def test_averages_of_runs(real, start, combine, by_hand):
    result = MERT(restarts=1, walks=0).fit(
        real["tune"], start, rng=4, runs=3, combine=combine, normalise="none"
    )
    names = list(result.weights)
    spread = ListHypotheses(real["tune"]).spread()
    vectors = np.array([[run["weights"][n] for n in names] for run in result.runs])
    sizes = np.linalg.norm(vectors * spread, axis=1)
    expected = by_hand(vectors / sizes[:, None] * sizes.mean(), axis=0)
    assert list(result.weights.values()) == pytest.approx(expected, rel=1e-12)
    assert result.score == pytest.approx(score(real["tune"], result.weights), abs=1e-9)
    assert f"|combine:{combine}" in result.signature


@pytest.mark.usefixtures("one_thread")
@settings(max_examples=examples(60))
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["best", "average", "median"]),
    st.sampled_from(["none", "l1", "l2", "f0"]),
)
def test_combined_and_scaled_results_hold_to_the_last_bit_too(seed, combine, normalise):
    tuning, begin, held, _ = restricted_problem(seed)
    tuner = MERT(restarts=1, walks=0, **held.options())
    with warnings.catch_warnings():
        # A weight of 0 cannot be made 1, and scaling may break ties another way.
        warnings.simplefilter("ignore", UserWarning)
        try:
            result = tuner.fit(
                tuning, begin, rng=seed, runs=3, combine=combine, normalise=normalise
            )
        except UsageError as error:
            assert "normalis" in str(error)  # noqa: PT017
            assert normalise != "none"
            return
    assert broken(result.weights, begin, held) == []
    names = tuning.candidates.features.names
    assert result.score == tuning.score(best(tuning.candidates, result.weights.aligned(names)))


def test_runs_are_averaged_as_they_are_where_the_scale_is_pinned():
    names, spread = ("a", "b"), np.ones(2)
    vectors = [np.array([1.0, 2.0]), np.array([1.0, 6.0])]
    space = MERT(fix=["a=1"]).space(names, spread)
    assert middle(vectors, "average", spread, space).tolist() == [1.0, 4.0]
    free = middle(
        [np.array([3.0, 0.0]), np.array([0.0, 1.0])], "average", spread, Space.free(names)
    )
    assert free.tolist() == [1.0, 1.0]


def test_wrong_numbers_and_ways(real, start):
    with pytest.raises(UsageError, match="runs is 0"):
        MERT().fit(real["tune"], start, runs=0)
    with pytest.raises(UnknownNameError, match="did you mean average"):
        MERT().fit(real["tune"], start, runs=2, combine="averag")


# The scale


@pytest.mark.long
@pytest.mark.parametrize("normalise", ["l1", "l2", "LM0", "WordPenalty0"])
def test_normalised_results_choose_the_same(real, start, normalise):
    plain = MERT(restarts=2).fit(real["tune"], start, dev=real["test"])
    scaled = MERT(restarts=2).fit(real["tune"], start, dev=real["test"], normalise=normalise)
    vector = scaled.weights.vector
    if normalise == "l1":
        assert np.abs(vector).sum() == pytest.approx(1.0, rel=1e-14)
    elif normalise == "l2":
        assert np.square(vector).sum() == pytest.approx(1.0, rel=1e-14)
    else:
        assert scaled.weights[normalise] == np.sign(plain.weights[normalise])
    ratio = vector / plain.weights.vector
    assert ratio == pytest.approx(ratio[0], rel=1e-12)
    assert ratio[0] > 0
    for held in real.values():
        names = held.candidates.features.names
        chosen = [best(held.candidates, r.weights.aligned(names)) for r in (plain, scaled)]
        assert chosen[0].tolist() == chosen[1].tolist()
    assert scaled.score == plain.score
    assert scaled.dev == plain.dev
    assert f"|normalise:{normalise}|" in scaled.signature


@pytest.mark.usefixtures("one_thread")
@settings(max_examples=examples(100))
@given(st.integers(0, 2**32 - 1), st.sampled_from(["l1", "l2", "f0"]))
def test_scaling_changes_no_winner(seed, normalise):
    """Features are drawn from a normal distribution: nothing ties."""
    rng = np.random.default_rng(seed)
    groups = [rng.normal(size=(5, 3)).tolist() for _ in range(5)]
    values = [rng.integers(0, 5, 5).tolist() for _ in groups]
    tuning = tuning_set(groups, values)
    plain = MERT(restarts=1, walks=0).fit(tuning, rng=seed)
    scaled = MERT(restarts=1, walks=0).fit(tuning, rng=seed, normalise=normalise)
    chosen = [best(tuning.candidates, r.weights.vector) for r in (plain, scaled)]
    assert chosen[0].tolist() == chosen[1].tolist()


def test_ties_and_signs_survive_the_scale(real, start):
    tuner = MERT(
        restarts=1,
        tie=["TranslationModel0_1=TranslationModel0_2=TranslationModel0_3"],
        bound=["WordPenalty0=:0", "LM0=0:"],
    )
    w = tuner.fit(real["tune"], start, normalise="l1").weights
    assert w["TranslationModel0_1"] == w["TranslationModel0_2"] == w["TranslationModel0_3"]
    assert w["WordPenalty0"] <= 0 <= w["LM0"]
    assert np.abs(w.vector).sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("normalise", ["l1", "l2", "f0", "f2"])
def test_ratios_survive_the_scale(normalise):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        groups = [rng.normal(size=(5, 3)).tolist() for _ in range(5)]
        values = [rng.integers(0, 5, 5).tolist() for _ in groups]
        begin = {f"f{d}": float(w) for d, w in enumerate(rng.normal(size=3))}
        tuner = MERT(restarts=1, walks=0, scale_together=["f0,f1"])
        result = tuner.fit(tuning_set(groups, values), begin, rng=seed, normalise=normalise)
        w = result.weights
        assert one_factor([(w["f0"], begin["f0"]), (w["f1"], begin["f1"])])
        sizes = {"l1": np.abs(w.vector).sum(), "l2": np.linalg.norm(w.vector)}
        assert sizes.get(normalise, abs(w.get(normalise, 0.0))) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(
    ("options", "normalise"),
    [
        ({"fix": ["LM0=2"]}, "l1"),
        ({"fix": ["LM0=2"]}, "LM0"),
        ({"fix": ["LM0=1"]}, "WordPenalty0"),
        ({"bound": ["LM0=0:1"]}, "l2"),
        ({"bound": ["LM0=0.5:"]}, "LM0"),
    ],
)
def test_a_scale_that_is_pinned_cannot_be_changed(real, start, options, normalise):
    with pytest.raises(UsageError, match=f"normalise '{normalise}' would break"):
        MERT(restarts=0, **options).fit(real["tune"], start, normalise=normalise)


def test_a_scale_that_is_right_already_is_no_contradiction(real, start):
    tuner = MERT(restarts=0, fix=["LM0=-1"], tie=["LM0=Distortion0"])
    for name in ("LM0", "Distortion0"):
        assert tuner.fit(real["tune"], start, normalise=name).weights[name] == -1.0


def test_what_cannot_be_1(real, start):
    with pytest.raises(UsageError, match=r"no feature is called 'LM1' .*did you mean LM0"):
        MERT(restarts=0).fit(real["tune"], start, normalise="LM1")
    with pytest.raises(UsageError, match="LM0 is fixed at 0"):
        MERT(restarts=0, fix=["LM0=0"]).fit(real["tune"], start, normalise="LM0")
    tuning = tuning_set([[[1.0, 0.0], [1.0, 0.0]]], [[1.0, 1.0]])
    for normalise, said in (("f0", "the weight of f0 is 0"), ("l1", "all weights are 0")):
        with pytest.warns(UserWarning, match=said):
            found = MERT(restarts=0).fit(tuning, {"f0": 0.0, "f1": 0.0}, normalise=normalise)
        assert dict(found.weights) == {"f0": 0.0, "f1": 0.0}
        assert found.warnings == [f"{said} after tuning; the weights are not normalised"]


# Features by pattern


@pytest.mark.long
def test_dropped_features_do_not_take_part(real, start):
    pattern = "LexicalReordering0_*"
    with pytest.warns(
        UserWarning, match="weights of dropped features are 0: .* and 3 more"
    ) as said:
        result = MERT(restarts=2).fit(real["tune"], start, dev=real["test"], drop=[pattern])
    assert len(said) == 1
    without = {
        name: TuningSet(held.candidates.with_features(drop=pattern)) for name, held in real.items()
    }
    rest = {name: w for name, w in start.items() if not name.startswith("Lexical")}
    same = MERT(restarts=2).fit(without["tune"], rest, dev=without["test"])
    assert {n: w for n, w in result.weights.items() if n in rest} == dict(same.weights)
    assert [result.weights[f"LexicalReordering0_{k}"] for k in range(1, 7)] == [0.0] * 6
    assert list(result.weights) == list(start)
    assert result.score == same.score
    assert result.dev.score == same.dev.score
    assert result.start == start
    assert result.initial_score == pytest.approx(45.06, abs=0.005)  # with all features
    assert f"|drop:{pattern}|" in result.signature
    names = real["tune"].candidates.features.names
    assert result.score == real["tune"].score(
        best(real["tune"].candidates, result.weights.aligned(names))
    )


def test_kept_features_alone_take_part(real):
    result = MERT(restarts=1).fit(real["tune"], keep=["LM*", "*Penalty0"], drop="Phrase*")
    assert {n for n, w in result.weights.items() if w != 0} == {"LM0", "WordPenalty0"}
    # All features have a weight, so that the result chooses the same from the full lists.
    assert set(result.weights) == set(real["tune"].candidates.features.names)
    assert result.warnings == []


def test_selection_keeps_dense_and_sparse_values():
    tuning = tuning_set([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]], [[1.0, 0.0]], [2, 3])
    chosen = tuning.candidates.with_features(keep=["f[13]", "f2"], drop=["f2"])
    assert chosen.features.names == ("f1", "f3")
    assert chosen.features.dense.tolist() == [[2.0, 6.0]]
    assert chosen.features.sparse.toarray().tolist() == [[4.0], [8.0]]
    assert tuning.candidates.with_features().features is tuning.candidates.features


def test_a_name_with_brackets_matches_itself():
    tuning = tuning_set([[[1.0, 2.0], [5.0, 6.0]]], [[1.0, 0.0]])
    features = tuning.candidates.features
    named = type(features)(("[X]", "X"), features.dense, (), features.sparse)
    assert named.only(["[X]"]).names == ("[X]",)
    from tunesmith.data.features import FeatureSelection

    assert FeatureSelection.of(keep="[X]").select(named.names) == ("[X]", "X")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"drop": ["LN*"]}, "drop 'LN.' matches no feature; did you mean LM0"),
        ({"keep": ["wordpenalty0"]}, "keep 'wordpenalty0' matches no feature; did you mean Word"),
        ({"drop": ["*"]}, "leave no feature"),
        ({"keep": ["LM0"], "drop": ["LM*"]}, "leave no feature"),
    ],
)
def test_patterns_that_leave_nothing(real, start, options, said):
    with pytest.raises(UsageError, match=said):
        MERT(restarts=0).fit(real["tune"], start, **options)


def test_a_restriction_on_a_dropped_feature_is_an_error(real, start):
    with pytest.raises(UsageError, match="no feature is called 'LM0'"):
        MERT(restarts=0, fix=["LM0=1"]).fit(real["tune"], dict(start), drop=["LM0"])


def test_a_held_out_set_drops_its_own_features_too():
    tuning = tuning_set([[[0.0, 1.0], [1.0, 0.0]]], [[5.0, 2.0]])
    wider = tuning_set([[[0.0, 1.0, 5.0], [1.0, 0.0, 0.0]]], [[1.0, 0.0]])
    begin = {"f0": 1.0, "f1": 0.0, "f2": 9.0}
    with pytest.warns(UserWarning, match="weights of dropped features are 0: f1, f2"):
        result = MERT(restarts=0).fit(tuning, begin, dev=wider, drop=["f[12]"])
    assert result.weights["f2"] == 0.0
    assert result.dev.initial_score == 1.0


# Other metrics


@pytest.mark.long
def test_other_metrics_are_reported_beside(real, start):
    others = ["bleu:order=2", BLEU(order=1)]
    result = MERT(restarts=1).fit(real["tune"], start, dev=real["test"], others=others)
    plain = MERT(restarts=1).fit(real["tune"], start, dev=real["test"])
    assert result.weights == plain.weights
    assert [other.metric for other in result.others] == ["bleu:order=2", "bleu"]
    for order, other in zip((2, 1), result.others, strict=True):
        for held, found in ((real["tune"], other), (real["test"], other.dev)):
            same = TuningSet(held.candidates, BLEU(order=order))
            names = held.candidates.features.names
            after, before = (
                same.total(best(held.candidates, w.aligned(names)))
                for w in (result.weights, result.start)
            )
            assert found.score == pytest.approx(float(same.metric.score(after)), abs=1e-9)
            assert found.initial_score == pytest.approx(float(same.metric.score(before)), abs=1e-9)
            assert found.length_ratio == same.metric.details(after)["length_ratio"]
        assert other.signature == TuningSet(real["tune"].candidates, BLEU(order=order)).signature()
    found = json.loads(json.dumps(result.to_dict()))["others"]
    assert found[0].keys() == {
        *("metric", "signature", "score", "initial_score", "length_ratio", "dev", "test"),
    }
    assert found[0]["dev"].keys() == {
        *("score", "initial_score", "length_ratio", "brevity_penalty", "sentence_bleu"),
    }
    # The sentences' own BLEU, by the metric that is made for it.
    for scores, held in ((result, real["tune"]), (result.dev, real["test"])):
        names = held.candidates.features.names
        winners = held.candidates.chosen(best(held.candidates, result.weights.aligned(names)))
        own = TuningSet(winners, "sentence-bleu")
        assert scores.sentence_bleu == pytest.approx(own.score(np.arange(winners.groups)))
        details = held.metric.details(TuningSet(winners).stats.sum(axis=0))
        assert scores.brevity_penalty == details["brevity_penalty"]
    text = str(result)
    assert "bleu:order=2" in text
    assert f"{result.others[0].dev.score:.2f}" in text
    assert plain.others == ()


def test_another_metric_that_lacks_something_is_noticed_before_tuning():
    tuning = tuning_set([[[0.0, 1.0], [1.0, 0.0]]], [[5.0, 2.0]])
    with pytest.raises(TunesmithError, match="bleu needs references"):
        MERT().fit(tuning, others=["bleu"])
    with pytest.raises(UnknownNameError, match="did you mean bleu"):
        MERT().fit(tuning, others=["blue"])


def test_scaling_that_breaks_ties_another_way_is_said():
    from tunesmith.data.weights import Weights
    from tunesmith.tuners.fitting.stages import Setup

    # At (0.3, 0.1) both candidates have the same score but for rounding: 0.3 * 0.1 + 0 and
    # 0 + 0.1 * 0.3 are equal bits, and stay so; drawn weights find pairs that do not.
    rng = np.random.default_rng(3)
    groups = (rng.integers(-9, 10, (400, 6, 3)) / 10).tolist()
    tuning = tuning_set(groups, rng.random((400, 6)).tolist())
    names = tuning.candidates.features.names
    space = Space.free(names)
    told = 0
    for _ in range(40):
        weights = rng.integers(1, 10, 3) / 10
        begin, none = Weights(names, weights), Weights((), [])
        task = Setup(tuning, tuning, names, weights, begin, none, space)
        before = best(tuning.candidates, weights)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            scaled = task.normalised(weights, "l1")
        after = best(tuning.candidates, scaled)
        changed = int((before != after).sum())
        assert [str(w.message) for w in said] == (
            [f"after scaling, {changed} groups choose another of several equal candidates"]
            if changed
            else []
        )
        told += changed > 0
    assert told > 0
