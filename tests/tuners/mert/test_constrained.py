"""MERT under restrictions on weights."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.search.line import best_within, drawn_task, random_task
from tests.helpers.search.restrictions import broken, restricted_problem
from tests.helpers.tiers import examples
from tunesmith.errors import UsageError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.io.read import read
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT


@pytest.fixture(scope="module")
def real(bundled):
    return TuningSet(read(bundled / "tune.nbest.gz", bundled / "tune.ref"))


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
def test_restrictions_hold_to_the_last_bit_in_500_problems(directions):
    changed = 0
    for seed in range(examples(500)):
        tuning, begin, held, rng = restricted_problem(seed)
        smoothing = str(rng.choice(["none", "none", "mean", "min"]))
        tuner = MERT(
            restarts=4, walks=0, directions=directions, smoothing=smoothing, **held.options()
        )
        result = tuner.fit(tuning, begin, rng=seed)
        assert broken(result.weights, begin, held) == []
        names = tuning.candidates.features.names
        chosen = best(tuning.candidates, result.weights.aligned(names))
        assert result.score == tuning.score(chosen)
        changed += result.weights != result.start
    assert changed > examples(500) * 2 / 5


@pytest.mark.usefixtures("one_thread")
@settings(max_examples=examples(60))
@given(st.integers(0, 2**32 - 1))
def test_one_variable_reaches_the_best_of_its_range(seed):
    tuning, rng = random_task(seed)
    low, high = sorted(rng.integers(-4, 5, 2).tolist())
    if low == high:
        return
    tuner = MERT(restarts=1, walks=0, fix=["f1=1"], bound=[f"f0={low}:{high}"])
    result = tuner.fit(tuning, {"f0": float(low), "f1": 1.0}, rng=seed)
    weights = np.array([low, 1.0])
    expected = best_within(tuning, weights, np.array([1.0, 0.0]), 0.0, high - low)
    assert result.score == expected


def best_of_a_quarter(tuning, signs):
    """Return the best gain over the middles between all ties, in one quarter of the circle."""
    vectors, start = tuning.candidates.features.dense.T, tuning.candidates.start
    ties = set()
    for lo, hi in itertools.pairwise(start):
        for a, b in itertools.combinations(range(lo, hi), 2):
            x, y = vectors[a] - vectors[b]
            # The angle of the weights under which both score the same, in this quarter.
            for angle in (np.arctan2(-x, y), np.arctan2(x, -y)):
                if signs[0] * np.cos(angle) > 1e-12 and signs[1] * np.sin(angle) > 1e-12:
                    ties.add(round(float(angle), 12))
    ends = sorted(np.arctan2([0.0, signs[1]], [signs[0], 0.0]).tolist())
    if signs == (-1, -1):
        ends = [-np.pi, -np.pi / 2]
    angles = [ends[0], *sorted(ties), ends[1]]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(angles) if b - a > 1e-9]
    return max(
        tuning.score(best(tuning.candidates, np.array([np.cos(m), np.sin(m)]))) for m in middles
    )


@pytest.mark.usefixtures("one_thread")
@settings(max_examples=examples(60))
@given(
    st.integers(0, 2**32 - 1),
    st.tuples(st.sampled_from([1, -1]), st.sampled_from([1, -1])),
    st.sampled_from(["coordinate", "powell", "random"]),
)
def test_signs_of_two_weights_give_the_best_of_that_quarter(seed, signs, directions):
    tuning, rng = random_task(seed)
    bound = [f"f{d}={'0:' if sign > 0 else ':0'}" for d, sign in enumerate(signs)]
    result = MERT(restarts=12, directions=directions, bound=bound).fit(tuning, rng=rng)
    assert result.score >= best_of_a_quarter(tuning, signs) - 1e-12
    assert all(sign * w >= 0 for sign, w in zip(signs, result.weights.values(), strict=True))


@pytest.mark.usefixtures("one_thread")
@settings(max_examples=examples(40))
@given(st.integers(0, 2**32 - 1), st.sampled_from(["tie", "group"]))
def test_weights_that_move_together_equal_a_set_in_which_they_are_one_feature(seed, kind):
    """Two features with w = s·(a, b) are the feature a·f0 + b·f1 with the weight s."""
    groups, values, _ = drawn_task(seed, 3)
    a, b = (1.0, 1.0) if kind == "tie" else (2.0, -0.5)
    merged = [np.column_stack([a * g[:, 0] + b * g[:, 1], g[:, 2]]) for g in groups]
    held = {"tie": ["f0=f1"]} if kind == "tie" else {"scale_together": ["f0,f1"]}
    apart = MERT(restarts=10, **held).fit(
        tuning_set([g.tolist() for g in groups], values), {"f0": a, "f1": b, "f2": 1.0}
    )
    one = MERT(restarts=10).fit(tuning_set([g.tolist() for g in merged], values))
    assert apart.score == one.score


@pytest.mark.long
@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
def test_ranges_that_nothing_reaches_change_nothing(real, start, directions):
    """Up to the third restart none begins anywhere, which would depend on the scale."""
    tuner = MERT(restarts=3, directions=directions, axes=False)  # ranges are along features
    free = tuner.fit(real, start, rng=5, normalise="none")
    wide = [f"{name}=-1e9:1e9" for name in start]
    bounded = dataclasses.replace(tuner, bound=wide).fit(real, start, rng=5, normalise="none")
    assert bounded.weights == free.weights
    assert bounded.history == free.history


@pytest.mark.long
def test_on_real_lists(real, start):
    options = {
        "fix": ["LM0=1"],
        "bound": ["WordPenalty0=:0", "TranslationModel0_1=0:0.5"],
        "tie": ["TranslationModel0_2=TranslationModel0_3"],
        "scale_together": ["LexicalReordering0_1,LexicalReordering0_2,LexicalReordering0_3"],
    }
    result = MERT(restarts=6, **options).fit(real, start)
    w = result.weights
    assert w["LM0"] == 1.0
    assert w["WordPenalty0"] <= 0.0
    assert 0.0 <= w["TranslationModel0_1"] <= 0.5
    assert w["TranslationModel0_2"] == w["TranslationModel0_3"]
    # They start equal, so that one factor keeps them so.
    assert w["LexicalReordering0_1"] == w["LexicalReordering0_2"] == w["LexicalReordering0_3"]
    assert result.score > result.initial_score
    directions = {entry["direction"] for entry in result.history} - {None}
    labels = {label for label in directions if not label.startswith("axis ")}
    assert "LM0" not in labels
    assert labels <= {*start, "TranslationModel0_2=TranslationModel0_3", *options["scale_together"]}
    assert "fix:LM0=1|" in result.signature
    assert "bound:WordPenalty0=:0,TranslationModel0_1=0:0.5|" in result.signature


@pytest.mark.long
@pytest.mark.parametrize("directions", ["coordinate", "powell", "random"])
def test_any_number_of_threads_gives_the_same_bits(real, start, directions):
    tuner = MERT(
        restarts=4,
        walks=0,
        directions=directions,
        smoothing="mean",
        bound=["LM0=0:", "WordPenalty0=:0"],
        tie=["TranslationModel0_2=TranslationModel0_3"],
    )
    found = []
    for count in (1, 2):
        with threads(count):
            result = tuner.fit(real, start, rng=3, runs=2, combine="average", normalise="l2")
        found.append((result.weights.vector.tobytes(), result.history, result.runs, result.score))
    assert found[0] == found[1]


def test_without_a_start_it_begins_within_the_restrictions(real):
    tuner = MERT(restarts=0, bound=["WordPenalty0=:0"], fix=["LM0=1"])
    result = tuner.fit(real)
    assert result.start["LM0"] == 1.0
    assert result.start["WordPenalty0"] < 0.0
    assert result.history[0]["score"] < result.score


def test_a_start_outside_is_reported_as_it_is_and_brought_inside(real, start):
    assert start["WordPenalty0"] == -1.0
    result = MERT(restarts=0, bound=["WordPenalty0=0:"]).fit(real, start)
    assert result.start == start
    assert result.weights["WordPenalty0"] >= 0.0
    names = real.candidates.features.names
    nearest = np.array([0.0 if name == "WordPenalty0" else start[name] for name in names])
    assert result.history[0]["score"] == real.score(best(real.candidates, nearest))
    assert result.initial_score == pytest.approx(45.06, abs=0.005)  # the data sheet's figure


def test_forms_that_python_takes():
    expected = MERT(fix=("a=1.0", "b=0.1"), bound=("c=0:",), tie=("d=e",))
    assert MERT(fix=["a=1.0", "b=0.1"], bound="c=0:", tie=["d=e"]) == expected
    assert MERT(fix={"a": 1, "b": np.float64(0.1)}, bound={"c": "0:"}, tie={"d": "e"}) == expected
    assert hash(expected) == hash(MERT(fix=("a=1.0", "b=0.1"), bound=("c=0:",), tie=("d=e",)))
    assert MERT(5).restarts == 5
    for wrong in ({"fix": [("a", 1)]}, {"fix": {"a": None}}, {"bound": [3]}):
        with pytest.raises(UsageError, match="holds"):
            MERT(**wrong)


def test_what_is_written_wrongly_is_refused_before_there_are_data():
    with pytest.raises(UsageError, match="write NAME=1"):
        MERT(fix=["LM0"])
    with pytest.raises(UsageError, match="window is 0"):
        MERT(smoothing="mean", window=0)


@pytest.mark.long
def test_a_smoothed_result_is_scored_by_the_metric(real, start):
    result = MERT(restarts=2, smoothing="mean", window=2).fit(real, start)
    names = real.candidates.features.names
    assert result.score == real.score(best(real.candidates, result.weights.aligned(names)))
    assert result.score > result.initial_score
    steps = [entry for entry in result.history if entry["direction"] is not None]
    assert all(0 < entry["smoothed_score"] < 100 for entry in steps)
    assert "smoothing:mean|window:2" in result.signature
