"""What tuners make of the rounds of a loop before their own."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.search.line import random_task
from tests.helpers.tiers import examples
from tunesmith.data.weights import Weights
from tunesmith.inference.lists.hypotheses import best
from tunesmith.metrics.candidate_scorer import objective_of
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.auto import Auto
from tunesmith.tuners.batch_mira import BatchMIRA
from tunesmith.tuners.fitting.remembering import distinct
from tunesmith.tuners.lp_mert import LPMERT
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.online.perceptron import Perceptron
from tunesmith.tuners.pro.pro import PRO

NAMES = ("f0", "f1")
#: The first wins where both weights are positive and alike, and is the only good one. No line
#: along a feature leads there from LOST; from NEAR one does.
GROUP, WORTH = [[1.0, 1.0], [1.5, 0.0], [0.0, 1.5], [-0.1, -0.1]], [1.0, 0.2, 0.2, 0.2]


def with_column(groups, values) -> TuningSet:
    """Return a set for a metric that has a gradient."""
    made = tuning_set(groups, values).candidates
    return TuningSet(replace(made, columns={"worth": np.concatenate(values)}), "column:worth")


HIDDEN = with_column([GROUP, GROUP], [WORTH, WORTH])
#: The same with a group that wants the opposite: nobody reaches the best of all groups.
CONTRARY = with_column([GROUP, GROUP, [[1.0, 1.0], [-1.0, -1.0]]], [WORTH, WORTH, [0.0, 0.01]])
LOST, NEAR = {"f0": -1.0, "f1": -1.0}, {"f0": 1.0, "f1": 0.4}
SINGLE = MERT(restarts=0, walks=0, axes=False)


def weights_of(*vectors) -> list[Weights]:
    return [Weights(NAMES, np.array(vector, float)) for vector in vectors]


def after(tuner, *rounds):
    return tuner.after([Weights.from_dict(one) for one in rounds])


def test_mert_climbs_from_earlier_weights():
    assert SINGLE.fit(HIDDEN, LOST).score == pytest.approx(0.2)
    assert SINGLE.fit(HIDDEN, NEAR).score == 1.0
    result = after(SINGLE, NEAR, LOST).fit(HIDDEN, LOST)
    assert result.score == 1.0
    assert result.initial_score == pytest.approx(0.2)
    assert {(e["restart"], e.get("earlier")) for e in result.history} == {(0, None), (0, 0)}


def test_the_start_is_not_climbed_from_twice():
    result = after(SINGLE, LOST, LOST, {"f0": -1.0, "f1": -1.0, "other": 3.0}).fit(HIDDEN, LOST)
    assert all("earlier" not in entry for entry in result.history)
    assert result.weights == SINGLE.fit(HIDDEN, LOST).weights


def test_knowing_of_rounds_leaves_restarts_as_they_are():
    """Their random numbers are the same: what is found can only become better."""
    tuner = MERT(restarts=3)
    plain, nothing = tuner.fit(HIDDEN, LOST, rng=2), tuner.after([]).fit(HIDDEN, LOST, rng=2)
    assert plain.weights == nothing.weights
    assert plain.history == nothing.history


@pytest.mark.parametrize("directions", ["coordinate", "random", "gradient"])
def test_costly_directions_climb_once_from_earlier_weights(directions):
    tuner = MERT(restarts=0, walks=0, directions=directions)
    better = [{"f0": 1.0, "f1": 0.9}, {"f0": 0.9, "f1": 1.0}]
    result = after(tuner, *better, LOST).fit(CONTRARY, LOST)
    assert result.score == pytest.approx(2.0 / 3.0)
    climbs = {entry["earlier"] for entry in result.history if "earlier" in entry}
    assert climbs == ({0} if directions == "gradient" else {0, 1})


def test_costly_directions_do_not_climb_from_what_is_no_better():
    worse = {"f0": 1.0, "f1": 0.1}
    result = after(MERT(directions="gradient"), worse, NEAR).fit(HIDDEN, {"f0": 1.0, "f1": 1.0})
    assert all("earlier" not in entry for entry in result.history)


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32 - 1), st.integers(0, 15), st.booleans())
def test_never_worse_than_any_earlier_weights(seed, count, exact):
    tuning, rng = random_task(seed)
    rounds = weights_of(*rng.normal(size=(count + 1, 2)))
    tuner = LPMERT(test_limit=1) if exact else SINGLE
    result = tuner.after(rounds).fit(tuning, rounds[-1], rng=1)
    scores = [tuning.score(best(tuning.candidates, one.aligned(NAMES))) for one in rounds]
    assert result.score >= max(scores) - 1e-12


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"fix": ("f1=0.5",)}, lambda w: w["f1"] == 0.5),
        ({"bound": ("f1=0:0.5",)}, lambda w: 0.0 <= w["f1"] <= 0.5),
        ({"tie": ("f0=f1",)}, lambda w: w["f0"] == w["f1"]),
    ],
)
def test_earlier_weights_are_brought_into_the_space(options, rule):
    tuner = MERT(restarts=0, walks=0, **options)
    result = after(tuner, {"f0": 1.0, "f1": 3.0}, LOST).fit(HIDDEN, LOST)
    assert result.score == 1.0
    assert rule(result.weights)


@pytest.mark.long
def test_any_number_of_threads_gives_the_same_bits(real, start):
    rng = np.random.default_rng(1)
    rounds = [Weights(start.names, rng.normal(size=len(start)) * start.vector) for _ in range(6)]
    found = []
    for count in (1, 2):
        with threads(count):
            result = MERT(restarts=2).after([*rounds, start]).fit(real["tune"], start, rng=3)
        found.append((result.weights.vector.tobytes(), json.dumps(result.history)))
    assert found[0] == found[1]


def test_rounds_are_no_option():
    tuner = after(SINGLE, NEAR)
    assert tuner == SINGLE
    assert tuner.signature() == SINGLE.signature()
    assert SINGLE.earlier is None
    assert tuner.after([]).earlier == ()


def test_auto_passes_rounds_on():
    tuner = Auto(member=("mert:restarts=0,walks=0,axes=false",))
    assert tuner.fit(HIDDEN, LOST).score == pytest.approx(0.2)
    assert after(tuner, NEAR, LOST).fit(HIDDEN, LOST).score == 1.0


def test_distinct_points_keep_their_order():
    a, b = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    found = distinct([a, b, -b * -1.0, np.array([-0.0, 1.0])])
    assert [point.tolist() for point in found] == [a.tolist(), b.tolist()]


@pytest.mark.long
@pytest.mark.parametrize("objective", ["scaled", "scaled-literal"])
def test_rounds_of_pro_on_the_same_lists_are_its_iterations(real, start, objective):
    """With all pairs there is no chance: a loop whose lists stay is PRO's own iterations."""
    tuning = real["tune"].part(range(12))
    about = {"objective": objective, "select": "all", "accept": "all", "strength": 1.0}
    names = tuning.candidates.features.names
    rounds, plain = [start], []
    for _ in range(3):
        tuner = PRO(interpolation=1.0, **about).after(rounds)
        rounds.append(tuner.fit(tuning, rounds[-1], rng=1).weights)
        plain.append(PRO(iterations=1, **about).fit(tuning, rounds[-1], rng=1).weights)
    track = PRO(iterations=3, **about).fit(tuning, start, rng=1).weights
    found, wanted, other = (unit(one.aligned(names)) for one in (rounds[-1], track, plain[-1]))
    assert found == pytest.approx(wanted, abs=1e-5)
    assert np.abs(other - wanted).max() > 1e-3  # which it would be without the rounds before


@pytest.mark.parametrize("decay", [0.9, 0.5])
def test_documents_have_the_winners_of_all_rounds_but_the_first(real, start, decay):
    tuning = real["tune"].part(range(12))
    names = tuning.candidates.features.names
    rng = np.random.default_rng(5)
    rounds = [start] + [Weights(names, rng.normal(size=len(names))) for _ in range(3)]
    tuner = PRO(objective=f"document:decay={decay}").after(rounds)
    scorer = tuner.scorer_for(
        objective_of(f"document:decay={decay}"), tuning, "pairs", np.zeros(len(names))
    )
    totals = [tuning.total(best(tuning.candidates, one.aligned(names))) for one in rounds[1:]]
    wanted = sum(decay ** (3 - k) * total for k, total in enumerate(totals))
    assert scorer.document == pytest.approx(wanted, rel=1e-12)


def unit(vector):
    return vector / (np.linalg.norm(vector) or 1.0)


def test_scaled_lengths_follow_the_weights_of_the_last_round(real, start):
    """By hand: the reference lengths are those that the last round's winners ask for."""
    tuning = real["tune"].part(range(30))
    names = tuning.candidates.features.names
    rounds = [start, Weights(names, 0.5 * start.aligned(names)[::-1])]
    tuner = PRO(objective="scaled").after(rounds)
    scorer = tuner.scorer_for(objective_of("scaled"), tuning, "pairs", np.zeros(len(names)))
    total = tuning.total(best(tuning.candidates, rounds[-1].aligned(names)))
    by_hand = objective_of("scaled").begin(tuning, "pairs")
    by_hand.end_round(total)
    plain = objective_of("scaled").begin(tuning, "pairs")
    count = len(tuning.candidates)
    assert scorer.values(0, count).tolist() == by_hand.values(0, count).tolist()
    assert scorer.values(0, count).tolist() != plain.values(0, count).tolist()
    # In the first round of a loop there is no round before.
    first = tuner.after(rounds[:1]).scorer_for(
        objective_of("scaled"), tuning, "pairs", np.zeros(len(names))
    )
    assert first.values(0, count).tolist() == plain.values(0, count).tolist()


@pytest.mark.parametrize("tuner", [BatchMIRA(passes=1), Perceptron(epochs=1)])
def test_others_that_learn_know_the_length_of_the_last_round(real, start, tuner):
    tuning = real["tune"].part(range(30))
    names = tuning.candidates.features.names
    tuner = tuner.changed(objective=("scaled",), pick="last")
    rounds = [start, Weights(names, 0.5 * start.aligned(names)[::-1])]
    plain, later = (one.fit(tuning, start, rng=1) for one in (tuner, tuner.after(rounds)))
    assert plain.weights != later.weights


@pytest.mark.long
def test_interpolation_in_a_loop_keeps_the_size_of_the_weights(real, start):
    tuning = real["tune"]
    names = tuning.candidates.features.names
    old = start.aligned(names)
    new = PRO().fit(tuning, start, rng=4).weights.aligned(names)
    new *= np.linalg.norm(old) / np.linalg.norm(new)
    for given_one, psi in ((None, 0.1), (0.5, 0.5), (1.0, 1.0)):
        tuner = PRO(interpolation=given_one).after([start])
        found = tuner.fit(tuning, start, rng=4, normalise="none").weights.aligned(names)
        assert found == pytest.approx(psi * new + (1.0 - psi) * old, rel=1e-12)


def test_the_strength_of_the_ranker_does_not_change_the_mixture():
    """On lists where all rankers agree on a direction, Ψ means the same for each of them."""
    tuning = tuning_set([[[0.0, 0.0], [1.0, 0.0]]] * 5, [[0.0, 1.0]] * 5)
    start = {"f0": 0.0, "f1": 2.0}
    for strength in (0.01, 100.0):
        found = after(PRO(strength=strength), start).fit(tuning, start).weights
        assert found["f0"] == pytest.approx(0.2)
        assert found["f1"] == pytest.approx(1.8)


@pytest.mark.parametrize("start", [None, {"f0": 0.0, "f1": 0.0}])
def test_without_old_weights_the_new_ones_are_taken(start):
    tuning = tuning_set([[[0.0, 0.0], [1.0, 0.0]]] * 5, [[0.0, 1.0]] * 5)
    plain = PRO().fit(tuning, start, rng=1)
    assert after(PRO(), *([start] if start else [])).fit(tuning, start, rng=1).weights == (
        plain.weights
    )


def test_where_nothing_differs_old_weights_fade():
    tuning = tuning_set([[[1.0, 0.0], [1.0, 0.0]]] * 5, [[0.0, 1.0]] * 5)
    start = {"f0": 1.0, "f1": 2.0}
    with pytest.warns(UserWarning, match="no feature differs"):
        found = after(PRO(), start).fit(tuning, start, normalise="none")
    assert found.weights.vector.tolist() == pytest.approx([0.9, 1.8])


def test_pro_does_one_iteration_in_a_round_unless_told_otherwise():
    assert PRO(objective="document").round_count == 5
    assert PRO(objective="document").after([]).round_count == 1
    assert PRO(objective="document", iterations=3).after([]).round_count == 3
    settings_of = PRO(objective="document", pick="dev").after([]).settings()
    assert settings_of == [{"round": 0}, {"round": 1}]
