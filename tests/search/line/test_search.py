from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Loss, Mean, candidate_set, tuning_set
from tests.helpers.search.line import brute_force, random_task
from tests.helpers.search.single import search, surface
from tests.helpers.tiers import examples
from tunesmith.inference.hypotheses import Direction, Envelope, Point
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.bleu import BLEU
from tunesmith.search.line.batch import LineSearch
from tunesmith.search.line.search import best_step, best_step_along, totals_along
from tunesmith.search.space.space import Space
from tunesmith.tasks.lists import TuningSet


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32 - 1), st.sampled_from([Mean(), Loss()]))
@example(2252, Mean())  # three lines meet in the middle of an interval of equal statistics
@example(4097, Mean())
@example(6011, Mean())
@example(6748, Mean())
@example(12948, Mean())
def test_the_best_step_is_that_of_brute_force(seed, metric):
    tuning, rng = random_task(seed, metric)
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(rng.integers(-2, 3, 2).astype(float))
    direction = Direction.of(rng.integers(-2, 3, 2).astype(float), "any")
    if len(direction.features) == 0:
        return
    step = search(hypotheses, point, direction)
    assert step.gain == brute_force(tuning, point.weights, direction.vector(2))
    assert hypotheses.move(point, direction, step.size).gain == step.gain
    assert step.gain >= point.gain
    assert step.low <= step.size <= step.high


@given(st.integers(0, 2**32 - 1))
def test_bleu_is_exact_along_a_line(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 3)
    texts = [" ".join(rng.choice(list("abc"), rng.integers(0, 6))) for _ in range(sizes.sum())]
    refs = [[" ".join(rng.choice(list("abc"), 5))] for _ in sizes]
    groups = [rng.integers(-3, 4, (n, 2)).tolist() for n in sizes]
    tuning = TuningSet(candidate_set(groups, texts=texts, references=refs), BLEU(order=3))
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(np.array([1.0, -1.0]))
    direction = Direction.along(0, "f0")
    step = search(hypotheses, point, direction)
    assert step.gain == brute_force(tuning, point.weights, direction.vector(2))


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32 - 1))
def test_a_step_is_that_of_all_gains(seed):
    rng = np.random.default_rng(seed)
    count, metric = int(rng.integers(0, 12)), BLEU(order=2)
    rows = np.sort(rng.integers(0, 40, (count + 1, 6)), axis=1)[:, [4, 5, 1, 0, 3, 2]]
    rows = rows[rng.integers(0, count + 1, count + 1)]
    at = rng.choice([-1.0, -1e-12, 0.0, 1e-12, 0.5, 1e14, *rng.standard_normal(4)], count)
    order = np.argsort(at, kind="stable")
    changes = np.empty((count, 6), np.int64)
    changes[order] = np.diff(rows, axis=0)
    envelope = Envelope(rows[0], at, changes)
    gain = float(metric.gain(rows[rng.integers(0, count + 1)]))
    point = Point(np.ones(2), rows[0], float(rng.choice([gain, 0.0])), None)
    line = point, Direction.along(0, "f0")
    limits = [(-np.inf, np.inf), (-0.5, 0.75)][rng.integers(2)]
    edges, totals = totals_along(envelope)
    expected = best_step(edges, metric.gain(totals), *line, limits)
    assert best_step_along(metric, envelope, *line, limits) == expected


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 2.0, 1024.0]))
def test_scaling_the_weights_changes_nothing(seed, scale):
    tuning, rng = random_task(seed)
    hypotheses = ListHypotheses(tuning)
    weights = rng.integers(-2, 3, 2).astype(float)
    if not weights.any():
        return
    direction = Direction.along(0, "f0")
    one = search(hypotheses, hypotheses.point(weights), direction)
    other = search(hypotheses, hypotheses.point(scale * weights), direction)
    assert other.gain == one.gain
    assert other.size == scale * one.size


def test_the_middle_of_the_best_interval():
    # Two candidates: the second wins beyond 2, the third beyond 6; the second is best.
    tuning = tuning_set([[[0.0, 0.0], [1.0, -2.0], [2.0, -8.0]]], [[0.0, 1.0, 0.0]])
    hypotheses = ListHypotheses(tuning)
    step = search(hypotheses, hypotheses.point(np.array([0.0, 1.0])), Direction.along(0, "f0"))
    assert (step.low, step.high, step.size, step.gain) == (2.0, 6.0, 4.0, 1.0)


def test_the_widest_of_equals():
    lines = [[0.0, 0.0], [1.0, -1.0], [2.0, -3.0], [3.0, -13.0]]
    tuning = tuning_set([lines], [[0.0, 1.0, 2.0, 0.0]])
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(np.array([0.0, 1.0]))
    assert search(hypotheses, point, Direction.along(0, "f0")).size == 6.0  # 2 to 10
    other = tuning_set([lines], [[0.0, 2.0, 2.0, 0.0]], metric=Mean())
    # Equal on two intervals, 1 to 2 and 2 to 10: the wider one, not the tie between them.
    hypotheses = ListHypotheses(other)
    point = hypotheses.point(np.array([0.0, 1.0]))
    assert search(hypotheses, point, Direction.along(0, "f0")).size == 6.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_unbounded_interval_is_entered_by_a_bounded_step(sign):
    tuning = tuning_set([[[0.0, 0.0], [sign, -3.0]]], [[0.0, 1.0]])
    hypotheses = ListHypotheses(tuning)
    step = search(hypotheses, hypotheses.point(np.array([0.0, 1.0])), Direction.along(0, "f0"))
    assert step.gain == 1.0
    assert 3.0 < sign * step.size < 10.0


def test_nothing_changes_along_a_feature_that_never_varies():
    tuning = tuning_set([[[1.0, 0.0], [1.0, 2.0]]], [[0.0, 1.0]])
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(np.array([0.0, -1.0]))
    assert len(surface(hypotheses, point, Direction.along(0, "f0")).edges) == 0
    step = search(hypotheses, point, Direction.along(0, "f0"))
    assert (step.size, step.gain) == (0.0, 0.0)


def test_from_zero_weights_where_all_lines_meet_in_a_point():
    tuning = tuning_set([[[1.0, 0.0], [-1.0, 2.0]]], [[0.0, 1.0]])
    hypotheses = ListHypotheses(tuning)
    point = hypotheses.point(np.zeros(2))
    step = search(hypotheses, point, Direction.along(0, "f0"))
    assert step.size < 0
    assert step.gain == 1.0


@given(st.lists(st.sampled_from([-1.5, -0.0, 0.0, 2.0, np.inf]), max_size=120))
def test_equal_edges_stay_in_their_order(at):
    """Changes of very different sizes, so that a sum says in which order they were added."""
    at = np.array(at)
    change = 10.0 ** np.arange(len(at))[:, None] % 1e17 + 0.1
    edges, totals = totals_along(Envelope(np.zeros(1), at, change))
    order = sorted(range(len(at)), key=lambda k: at[k])
    assert edges.tobytes() == at[order].tobytes()
    total, expected = 0.0, [0.0]
    for k in order:
        total += change[k, 0]
        expected.append(total)
    assert totals[:, 0].tolist() == expected


@pytest.mark.parametrize("metric", ["bleu", "sentence-bleu", "wer"])
def test_no_lines_have_no_steps(metric):
    class OnDevice:
        """Hypotheses that find intervals themselves, as those on a GPU do."""

        def __init__(self):
            self.metric = METRICS.create(metric)

        def best_intervals(self, lines, *rest):
            return []

    assert LineSearch(Space.free(("a",))).steps(OnDevice(), []) == []
