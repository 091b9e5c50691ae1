"""What a page warns of: told where it is so, and nowhere else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tests.helpers.report.records import record_of
from tunesmith.metrics.base import METRICS
from tunesmith.report.page.cautions import LONG, LOSS, SHORT, STEP, cautions_of
from tunesmith.report.page.run.record import RunSet
from tunesmith.report.page.view import RoundsView, SurfaceCurve, Surfaces
from tunesmith.tasks.lists import TuningSet

BLEU, TER = METRICS.create("bleu"), METRICS.create("ter")
SCORES = st.integers(0, 400).map(lambda value: value / 4)


def kinds(record, rounds=None, surfaces=None):
    return [one.kind for one in cautions_of(record, rounds, surfaces)]


def scores(before, after, **more):
    return {"initial_score": before, "score": after, **more}


@given(SCORES, SCORES, SCORES, SCORES, st.booleans(), st.sampled_from(["dev", "test"]))
def test_better_here_and_worse_there(a, b, c, d, higher, which):
    metric = BLEU if higher else TER
    record = record_of(scores(a, b) | {which: scores(c, d)}, metric=metric)
    better, worse = (b > a, d < c) if higher else (b < a, d > c)
    assert kinds(record) == (["overfitting"] if better and worse else [])


def test_the_numbers_are_told_with_an_advice():
    record = record_of(scores(20.0, 25.5) | {"dev": scores(21.25, 19.0)}, metric=BLEU)
    (found,) = cautions_of(record, None, None)
    for number in ("20.00", "25.50", "21.25", "19.00", "held-out set"):
        assert number in found.text
    assert "--penalty" in found.advice


def series(tune, dev, chosen):
    names = tuple(str(k) for k in range(len(tune)))
    return RoundsView("round", names, {"tune": tuple(tune), "dev": tuple(dev)}, {}, chosen)


@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=5), st.data())
def test_rounds_that_fall(values, data):
    chosen = data.draw(st.integers(0, len(values) - 1))
    tune, dev = zip(*values, strict=True)
    best = dev.index(max(dev))
    falls = best < chosen and dev[chosen] < dev[best] and tune[chosen] > tune[best]
    found = kinds(record_of(metric=BLEU), series(tune, dev, chosen))
    assert found == (["overfitting"] if falls else [])


def test_rounds_without_scores_are_passed_over():
    rounds = series([1.0, None, 3.0], [5.0, None, 4.0], 2)
    (found,) = cautions_of(record_of(metric=BLEU), rounds, None)
    assert "From round 0 to 2" in found.text
    assert kinds(record_of(metric=BLEU), series([1.0, 2.0], [None, None], 1)) == []


@given(st.floats(0.5, 1.5))
def test_lengths(ratio):
    record = record_of({"length_ratio": ratio, "brevity_penalty": None}, metric=BLEU)
    assert kinds(record) == ([] if SHORT <= ratio <= LONG else ["length"])


def test_the_brevity_penalty_is_told():
    record = record_of({"dev": {"length_ratio": 0.9, "brevity_penalty": 0.8948}}, metric=BLEU)
    (found,) = cautions_of(record, None, None)
    assert "10.0 % shorter" in found.text
    assert "0.895 takes 10.5 % off" in found.text


def entry(**changed):
    usual = {"negative_length": 90.0, "reference_length": 20.0, "step": 3}
    return {**usual, "positive_score": 30.0, "negative_score": 0.5, **changed}


def test_monsters():
    assert kinds(record_of({"history": [entry(), entry()]}, metric=BLEU)) == ["monsters"]
    assert kinds(record_of({"history": [entry(negative_length=25.0)]}, metric=BLEU)) == []
    assert kinds(record_of({"history": [entry(negative_score=None)]}, metric=BLEU)) == []
    # What the run itself has said of it is not told twice.
    said = {"history": [entry()], "warnings": ["monsters in round 1: negatives; do this"]}
    assert kinds(record_of(said, metric=BLEU)) == ["monsters"]


def curve(weight, edges, values, name="f0"):
    """Make a curve of all steps; the weight is within an interval."""
    k = int(np.searchsorted(edges, weight))
    low = edges[k - 1] if k else -np.inf
    high = edges[k] if k < len(edges) else np.inf
    edge = min(weight - low, high - weight) / abs(weight)
    return SurfaceCurve(
        name,
        weight,
        values[k],
        (-9.0, 9.0),
        (-9.0, 9.0),
        tuple(edges),
        tuple(values),
        None,
        (),
        (),
        (low, high),
        high - low,
        edge if np.isfinite(edge) else None,
        (low, high),
        max(values),
    )


@given(
    st.floats(0.1, 5.0) | st.floats(-5.0, -0.1),
    st.lists(
        st.integers(-30, 29).map(lambda k: (k + 0.5) / 1000), min_size=1, max_size=4, unique=True
    ),
    st.data(),
)
def test_weights_on_the_edge(weight, shares, data):
    edges = sorted({weight * (1 + share) for share in shares})
    values = data.draw(st.lists(SCORES, min_size=len(edges) + 1, max_size=len(edges) + 1))
    held = curve(weight, edges, values)
    record = record_of(scores(held.score - 10.0, held.score), metric=BLEU)
    # Tried at many places within a per cent.
    near = weight * (1 + np.linspace(-STEP, STEP, 4001)[1:-1])
    lost = held.score - min(values[int(np.searchsorted(edges, x))] for x in near)
    assert kinds(record, surfaces=Surfaces("tune", (held,))) == (
        ["edge"] if lost >= 10.0 * LOSS else []
    )


def test_a_wide_plateau_and_a_small_step_are_fine():
    gained = record_of(scores(10.0, 20.0), metric=BLEU)
    wide = curve(1.0, [0.5, 1.5], [1.0, 20.0, 1.0])
    small = curve(1.0, [0.999, 1.001], [19.5, 20.0, 19.5])
    assert kinds(gained, surfaces=Surfaces("tune", (wide, small))) == []
    steep = [curve(1.0, [0.999], [5.0, 20.0], f"f{k}") for k in range(5)]
    (found,) = cautions_of(gained, None, Surfaces("tune", tuple(steep)))
    assert "f0 (down by 15.00), f1" in found.text
    assert "and 2 more" in found.text


def lists(values, texts):
    groups = [[[float(k)] for k in range(2)] for _ in range(len(values) // 2)]
    made = candidate_set(groups, texts=texts)
    held = dataclasses.replace(made, columns={"comet": np.array(values)})
    return TuningSet(held, "column:comet")


def test_a_models_scores_and_sets_that_overlap():
    values = np.linspace(0.1, 0.9, 40) ** 2
    one = lists(values, [f"a b c d e f g h {k}" for k in range(40)])
    other = lists(values, [f"z b c d e f g h {k}" for k in range(40)])
    record = record_of({"dev": scores(0.2, 0.3)}, lists=one)
    assert kinds(record) == ["metric"]
    assert kinds(record_of({}, lists=one)) == []
    beside = {"dev": scores(0.2, 0.3), "others": [{"metric": "bleu"}]}
    assert kinds(record_of(beside, lists=one)) == []
    for held, expected in ((one, ["overlap"]), (other, [])):
        same = RunSet(held, held.candidates, held.candidates)
        both = dataclasses.replace(record_of(beside, lists=one), sets={**record.sets, "dev": same})
        assert kinds(both) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"path": [{"test_score": 1.0}, {"test_score": 2.0}]}, ["test"]),
        ({"path": [{"test_score": None}, {"test_score": None}]}, []),
        ({"test_scored": 3}, ["test"]),
        ({"test_scored": 1}, []),
        ({"certificate": {"optimal": False, "best": 0.5, "bound": 0.6}}, ["certificate"]),
        ({"certificate": {"optimal": True, "best": 0.5, "bound": 0.5}}, []),
        ({"warnings": ["a is so; do b", "c"]}, ["said", "said"]),
        ({"warnings": ["3 of 9 sentences of the test set are in the tuning set"]}, ["overlap"]),
    ],
)
def test_other_cautions(result, expected):
    assert kinds(record_of(result, metric=BLEU)) == expected


def test_what_was_said_is_taken_apart():
    (found,) = cautions_of(record_of({"warnings": ["a is so; do b"]}, metric=BLEU), None, None)
    assert (found.text, found.advice) == ("A is so.", "Do b.")


@pytest.mark.parametrize("text", ["bleu is low", "tune.ref: is short", "'lm' is so", "lm_0 is so"])
def test_names_that_messages_begin_with_stay_as_they_are(text):
    (found,) = cautions_of(record_of({"warnings": [text]}, metric=BLEU), None, None)
    assert found.text == f"{text}."
