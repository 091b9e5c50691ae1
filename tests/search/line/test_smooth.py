from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean, tuning_set
from tests.helpers.search.line import random_task
from tests.helpers.search.single import smoothed_search, surface
from tests.helpers.tiers import examples
from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.search.directions.base import DIRECTIONS, Climb
from tunesmith.search.directions.stopping import MOST_STEPS
from tunesmith.search.line.smooth import Smoothing, smooth


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=30),
    st.integers(1, 40),
    st.sampled_from(["mean", "min"]),
)
def test_windows_are_what_a_direct_computation_gives(gains, window, kind):
    found = smooth(np.array(gains), window, kind == "min")
    for j, value in enumerate(found):
        part = gains[max(0, j - window) : j + window + 1]
        assert value == (min(part) if kind == "min" else sum(part) / len(part))


def by_hand(along, low, high, smoothing, far):
    """Return (low, high, gain, value) of each interval that has a width."""
    edges = [-np.inf, *along.edges.tolist(), np.inf]
    cut = [along.edges[0] - max(far, abs(along.edges[0])), *along.edges.tolist()]
    cut.append(along.edges[-1] + max(far, abs(along.edges[-1])))
    held = []
    for j, gain in enumerate(along.gains.tolist()):
        ends = max(edges[j], cut[j], low), min(edges[j + 1], cut[j + 1], high)
        if ends[1] - ends[0] > 1e-9:
            held.append((*ends, gain))
    gains = [gain for _, _, gain in held]
    window = smoothing.window
    parts = [gains[max(0, j - window) : j + window + 1] for j in range(len(gains))]
    values = [min(p) if smoothing.kind == "min" else sum(p) / len(p) for p in parts]
    return [(*h, v) for h, v in zip(held, values, strict=True)]


limit = st.sampled_from([0.125, 0.7, 2.0, np.inf])


@settings(max_examples=examples(300))
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([Mean(), Loss()]),
    st.builds(Smoothing, st.sampled_from(["mean", "min"]), st.integers(1, 4)),
    limit,
    limit,
)
def test_a_smoothed_step_is_that_of_a_direct_computation(seed, metric, smoothing, below, above):
    tuning, rng = random_task(seed, metric)
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(rng.integers(-2, 3, 2).astype(float))
    direction = Direction.along(int(rng.integers(2)), "one")
    along = surface(hypotheses, point, direction)
    if len(along.edges) == 0:
        return
    far = float(np.abs(point.weights).max()) or 1.0
    held = by_hand(along, -below, above, smoothing, far)
    around = [value for low, high, _, value in held if low <= 0 <= high]
    step = smoothed_search(hypotheses, point, direction, smoothing, (-below, above))
    assert step.here == min(around)
    most = max(value for *_, value in held)
    assert step.value == max(most, step.here)
    if most > step.here:
        best = max((i for i in held if i[3] == most), key=lambda i: i[1] - i[0])
        assert (step.low, step.high, step.size) == (best[0], best[1], (best[0] + best[1]) / 2)
        assert step.gain == best[2]
        assert hypotheses.move(point, direction, step.size).gain == step.gain
    else:
        assert step.size == 0.0


def test_a_plateau_is_worth_more_than_a_peak():
    # Along f0 the winner changes at 1, 2, 3, 4 and 5; the gains are 0 5 0 4 4 4.
    lines = [[k, -sum(range(1, k + 1))] for k in range(6)]
    tuning = tuning_set([lines], [[0.0, 5.0, 0.0, 4.0, 4.0, 4.0]])
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(np.array([1.5, 1.0]))
    assert point.gain == 5.0
    along = Direction.along(0, "f0")
    mean = smoothed_search(hypotheses, point, along, Smoothing("mean", 1))
    assert (mean.here, mean.value, mean.gain) == (5 / 3, 4.0, 4.0)
    worst = smoothed_search(hypotheses, point, along, Smoothing("min", 1))
    assert (worst.here, worst.value, worst.gain) == (0.0, 4.0, 4.0)


def test_edges_that_coincide_are_no_neighbours():
    # Two groups change at the same place; between the changes the sum is that of no weights.
    first, second = [[0.0, 0.0], [1.0, -1.0]], [[0.0, 0.0], [1.0, -1.0]]
    tuning = tuning_set([first, second], [[1.0, 0.0], [0.0, 1.0]])
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(np.array([0.0, 1.0]))
    along = Direction.along(0, "f0")
    assert surface(hypotheses, point, along).gains.tolist() in ([0.5, 0.0, 0.5], [0.5, 1.0, 0.5])
    step = smoothed_search(hypotheses, point, along, Smoothing("mean", 1))
    assert (step.here, step.value, step.size) == (0.5, 0.5, 0.0)


@pytest.mark.parametrize("name", ["coordinate", "powell", "random"])
@pytest.mark.parametrize("kind", ["mean", "min"])
def test_a_smoothed_climb_ends(name, kind):
    for seed in range(30):
        tuning, rng = random_task(seed)
        hypotheses = ListHypotheses(tuning)
        smoothing = Smoothing(kind, 2)
        climb = Climb(hypotheses, hypotheses.spread(), rng, smoothing=smoothing)
        point = climb.begin(rng.standard_normal(2))
        DIRECTIONS.get(name)().climb(climb, point)
        assert climb.steps <= MOST_STEPS * 2
        assert len(climb.history) == climb.steps + 1


def test_the_value_of_a_point_is_the_mean_over_the_lines_of_the_features():
    tuning, rng = random_task(4)
    hypotheses = ListHypotheses(tuning)
    smoothing = Smoothing("mean", 2)
    climb = Climb(hypotheses, hypotheses.spread(), rng, smoothing=smoothing)
    point = climb.begin(np.array([0.3, -0.7]))
    here = [
        smoothed_search(hypotheses, point, Direction.along(d, "f"), smoothing).here for d in (0, 1)
    ]
    assert climb.value(point) == pytest.approx(sum(here) / 2)
    assert climb.searches == 2
    plain = Climb(hypotheses, hypotheses.spread(), rng)
    assert plain.value(point) == point.gain


def test_wrong_settings_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean"):
        Smoothing("median")
    with pytest.raises(UsageError, match="window is 0"):
        Smoothing("mean", 0)
