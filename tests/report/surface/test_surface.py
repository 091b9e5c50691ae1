"""Surfaces equal a scan by brute force: edges, scores, plateaus, best intervals."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.builders import Loss, Mean, candidate_set, tuning_set
from tests.tiers import examples
from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError, WeightNamesError
from tunesmith.inference.lists.hypotheses import best
from tunesmith.io.read import read
from tunesmith.io.weights.files import read_weights
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.bleu import BLEU
from tunesmith.report.surface.curves import merged
from tunesmith.report.surface.surface import error_surface, label_of
from tunesmith.tasks.lists import TuningSet

from ..scan import crossings, moved, scan, winners_at

numbers = st.integers(-3, 3)
quarters = st.integers(-8, 8).map(lambda n: n / 4)


@st.composite
def problems(draw):
    """Draw groups of candidates with three features, texts, references and two weights."""
    words = st.lists(st.sampled_from("abcd"), max_size=5).map(" ".join)
    groups, texts, references = [], [], []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 5))
        groups.append(draw(st.lists(st.tuples(*[numbers] * 3), min_size=size, max_size=size)))
        texts.append([draw(words) for _ in range(size)])
        references.append([draw(words.filter(bool))])
    weights = draw(st.tuples(*[quarters] * 3))
    other = draw(st.tuples(*[quarters] * 3))
    # Units of features must not matter.
    unit = draw(st.sampled_from([1.0, 2.0**-30, 2.0**40]))
    groups = [[(a, b, c * unit) for a, b, c in group] for group in groups]
    weights, other = ((a, b, c / unit) for a, b, c in (weights, other))
    return groups, texts, references, weights, other


def named(values):
    return {f"f{d}": value for d, value in enumerate(values)}


def tunings_of(problem, sparse):
    groups, texts, references, *_ = problem
    flat = [text for group in texts for text in group]
    candidates = candidate_set(groups, sparse, flat, references)
    # Tenths do not add up to the same bits in every order.
    lengths = [[0.1 * len(text.split()), 1.0] for text in flat]
    return [
        TuningSet(candidates, BLEU(order=2)),
        TuningSet(candidates, Loss(), np.array(lengths)),
    ]


def scorer(problem, tuning):
    """Return a function that scores winners from the statistics of single sentences."""
    starts = np.cumsum([0, *map(len, problem[0])])

    def score(winners):
        total = sum(tuning.stats[start + k] for start, k in zip(starts, winners, strict=False))
        return float(tuning.metric.score(total))

    return score


def line_of(problem, kind):
    """Return the direction of a line, and where it shows γ = 0."""
    _, _, _, weights, other = problem
    if kind == "feature":
        return (0.0, 0.0, 1.0), Fraction(weights[2])
    if kind == "direction":
        return other, Fraction(0)
    return tuple(b - a for a, b in zip(weights, other, strict=True)), Fraction(0)


def close(value):
    return pytest.approx(value, rel=1e-9, abs=1e-12)


def ends_of(edges, k):
    """Return both ends of an interval as in JSON."""
    return [
        float(edges[k - 1]) if k > 0 else None,
        float(edges[k]) if k < len(edges) else None,
    ]


def check(problem, kind, found, span=None):
    """Compare the JSON object of one line with the scan."""
    groups, _, _, weights, other = problem
    direction, origin = line_of(problem, kind)
    ties = [at + origin for at in crossings(groups, weights, direction)]
    assert found["weight"] == origin
    for held, tuning in zip(found["metrics"], tunings_of(problem, ()), strict=True):
        score = scorer(problem, tuning)

        def at(where, score=score):
            step = Fraction(where) - origin
            return score(winners_at(groups, moved(weights, direction, step)))

        edges, scores = scan(groups, weights, direction, score)
        edges = [edge + origin for edge in edges]
        assert held["current_score"] == close(at(origin))
        assert held["end_score"] == (
            close(score(winners_at(groups, list(map(Fraction, other))))) if kind == "to" else None
        )
        check_plateau(held, edges, scores, origin if origin in ties else None, origin)
        edges, scores = cut(edges, scores, span)
        assert held["edges"] == close([float(edge) for edge in edges])
        assert held["scores"] == close(scores)
        check_sides(held, edges, at)
        check_best(held, edges, scores, span, origin, at)


def cut(edges, scores, span):
    """Keep what lies within a range."""
    if span is None:
        return edges, scores
    first = sum(edge <= span[0] for edge in edges)
    last = sum(edge < span[1] for edge in edges)
    return edges[first:last], scores[first : last + 1]


def check_sides(held, edges, at):
    """Just left and right of every edge the score is that of the interval."""
    for k, edge in enumerate(edges):
        others = [*edges[max(k - 1, 0) : k], *edges[k + 1 : k + 2]]
        little = min([abs(other - edge) for other in others] or [abs(edge) or 1]) / 1000
        assert at(edge - little) == close(held["scores"][k])
        assert at(edge + little) == close(held["scores"][k + 1])


def check_plateau(held, edges, scores, tie, origin):
    """The plateau is the interval around the weights that scores as they do."""
    after = sum(edge <= origin for edge in edges)
    sides = [after, after - 1] if origin in edges else [after]
    wanted = [ends_of(edges, k) for k in sides if held["current_score"] == close(scores[k])]
    if tie is None:
        assert wanted
    expected = wanted[0] if wanted else [float(origin)] * 2
    for end, value in zip(held["plateau"], expected, strict=True):
        assert end == (None if value is None else close(value))
    width = None if None in expected else close(expected[1] - expected[0])
    assert held["plateau_width"] == width


def check_best(held, edges, scores, span, origin, at):
    """Nothing on the line is better, and the interval is the widest that is as good."""
    best, pick = held["best"], max if held["higher_is_better"] else min
    assert at(best["at"]) == close(best["score"])
    low = -math.inf if best["low"] is None else best["low"]
    high = math.inf if best["high"] is None else best["high"]
    assert low <= best["at"] <= high
    inside = span is None or span[0] <= origin <= span[1]
    top = pick([*scores, held["current_score"]]) if inside else pick(scores)
    assert best["score"] == close(top)
    if inside and held["current_score"] == close(top):
        assert best["at"] == origin
        return
    ends = [-math.inf if span is None else span[0], *map(float, edges)]
    ends.append(math.inf if span is None else span[1])
    equal = [
        (a, b)
        for (a, b), value in zip(itertools.pairwise(ends), scores, strict=True)
        if value == close(top)
    ]
    assert any(close(a) == low and close(b) == high for a, b in equal)
    # How wide an interval without end counts is a matter of taste.
    widths = [b - a for a, b in equal if math.isfinite(b - a)]
    assert high - low >= max(widths, default=0.0) * (1 - 1e-9)


lines = st.sampled_from(["feature", "direction", "to"])


def surface_of(problem, kind, sparse=(), span=None):
    _, _, _, weights, other = problem
    chosen = {
        "feature": {"features": ["f2"]},
        "direction": {"direction": named(other)},
        "to": {"to": named(other)},
    }[kind]
    return error_surface(tunings_of(problem, sparse), named(weights), span=span, **chosen)


@settings(max_examples=examples(200))
@given(problems(), lines, st.sampled_from([(), (2,), (0, 1)]))
def test_a_surface_is_that_of_a_scan(problem, kind, sparse):
    assume(any(line_of(problem, kind)[0]))
    text = json.dumps(surface_of(problem, kind, sparse).to_dict(), allow_nan=False)
    found = json.loads(text)
    assert found["schema"] == "tunesmith.surface/1"
    assert len(found["lines"]) == 1
    assert found["lines"][0]["along"]["kind"] == kind
    assert found["lines"][0]["range"] is None
    check(problem, kind, found["lines"][0])


@settings(max_examples=examples(100))
@given(problems(), lines, quarters, st.integers(1, 8))
def test_a_range_cuts_the_surface(problem, kind, low, width):
    assume(any(line_of(problem, kind)[0]))
    span = (low, low + width / 4)
    found = surface_of(problem, kind, span=span).to_dict()["lines"][0]
    assert found["range"] == list(span)
    check(problem, kind, found, span)


@given(problems())
def test_breakpoints_are_changes_of_winners(problem):
    groups, _, _, weights, _ = problem
    points = crossings(groups, weights, (0.0, 0.0, 1.0))
    changes = 0
    for group in groups:
        steps = [points[0] - 1] if points else []
        steps += [(a + b) / 2 for a, b in itertools.pairwise(points)]
        steps += [points[-1] + 1] if points else []
        won = [winners_at([group], moved(weights, (0.0, 0.0, 1.0), s))[0] for s in steps]
        changes += sum(a != b for a, b in itertools.pairwise(won))
    assert surface_of(problem, "feature").lines[0].breakpoints == changes


# Plateaus: a line through candidates that win below 2, from 2 to 6 and above

LINES = [[0.0, 0.0], [1.0, -2.0], [2.0, -8.0]]


def curve_at(weight, values=(0.0, 1.0, 0.5), metric=None, **options):
    tuning = tuning_set([LINES], [list(values)], metric=metric or Mean())
    found = error_surface(tuning, {"f0": weight, "f1": 1.0}, features=["f0"], **options)
    return found.lines[0].curves[0]


@pytest.mark.parametrize(
    ("weight", "plateau", "width"),
    [(0.0, (-math.inf, 2.0), math.inf), (3.0, (2.0, 6.0), 4.0), (7.0, (6.0, math.inf), math.inf)],
)
def test_the_plateau_is_the_interval_around_the_weight(weight, plateau, width):
    curve = curve_at(weight)
    assert curve.plateau == plateau
    assert curve.plateau_width == width
    assert (curve.best.score, curve.best.low, curve.best.high) == (1.0, 2.0, 6.0)
    assert curve.best.at == (3.0 if weight == 3.0 else 4.0)


def test_an_interval_of_the_same_score_belongs_to_the_plateau():
    curve = curve_at(3.0, values=(0.0, 1.0, 1.0))
    assert curve.plateau == (2.0, math.inf)
    assert curve.edges.tolist() == [2.0]
    assert curve.scores.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("weight", "plateau"), [(2.0, (-math.inf, 2.0)), (6.0, (2.0, 6.0))])
def test_on_an_edge_the_plateau_is_on_the_side_of_the_winner(weight, plateau):
    assert curve_at(weight).plateau == plateau  # the first read wins a tie


def test_a_candidate_that_wins_only_at_the_weight_has_no_plateau():
    # At 0 all three are equal and the first, which wins nowhere else, is taken.
    tuning = tuning_set([[[0.0], [-1.0], [1.0]]], [[5.0, 1.0, 2.0]])
    curve = error_surface(tuning, {"f0": 0.0}, features=["f0"]).lines[0].curves[0]
    assert curve.scores.tolist() == [1.0, 2.0]
    assert curve.current_score == 5.0
    assert curve.plateau == (0.0, 0.0)
    assert (curve.best.score, curve.best.at) == (5.0, 0.0)


def test_less_is_better_for_a_loss():
    curve = curve_at(3.0, metric=Loss())
    assert not curve.higher_is_better
    assert (curve.best.score, curve.best.low, curve.best.high) == (0.0, -math.inf, 2.0)
    assert curve.best.at < 2.0


def test_a_feature_that_changes_nothing_has_no_edge():
    tuning = tuning_set([[[1.0, 0.0], [1.0, 1.0]]], [[0.0, 1.0]])
    found = error_surface(tuning, {"f0": 0.1, "f1": 1.0}, features=["f0"]).to_dict()["lines"][0]
    assert found["breakpoints"] == 0
    (held,) = found["metrics"]
    assert (held["edges"], held["scores"]) == ([], [1.0])
    assert (held["plateau"], held["plateau_width"]) == ([None, None], None)
    assert held["best"] == {"score": 1.0, "low": None, "high": None, "at": 0.1}


def test_groups_that_change_at_one_point_make_one_step():
    # Both at 1/3 and 1/10 of whole numbers; computed, they differ in the last digit.
    groups = [[[0.0, 0.0], [3.0, -0.3]], [[0.0, 0.0], [10.0, -1.0]], [[0.0, 0.0], [0.7, -0.07]]]
    tuning = tuning_set(groups, [[0.0, 3.0], [3.0, 0.0], [0.0, 6.0]])
    (curve,) = error_surface(tuning, {"f0": 7.0, "f1": 1.0}, features=["f0"]).lines[0].curves
    assert curve.edges == pytest.approx([0.1])
    assert curve.scores.tolist() == [1.0, 3.0]


def test_intervals_of_rounding_and_equal_scores_are_merged():
    edges = np.array([-1.0, -1.0 + 1e-15, 1e-17, 2.0, 3.0, 3.0])
    scores = np.array([1.0, 9.0, 2.0, 3.0, 3.0 + 1e-14, 9.0, 4.0])
    kept = merged(edges, scores, 1.0, 1e-12)
    assert [held.tolist() for held in kept] == [[-1.0 + 1e-15, 0.0, 3.0], [1.0, 2.0, 3.0, 4.0]]


def test_breakpoints_from_slopes_that_differ_by_rounding_are_left_out():
    groups = [[[0.0, 0.0], [1e-300, -1.0]], [[0.0, 0.0], [1.0, -1.0]]]
    found = error_surface(
        tuning_set(groups, [[0.0, 1.0], [0.0, 1.0]]), {"f0": 0.0, "f1": 1.0}, features=["f0"]
    ).to_dict()
    assert found["lines"][0]["metrics"][0]["edges"] == [1.0]
    json.dumps(found, allow_nan=False)


# What is asked for


def test_several_features_are_several_lines():
    tuning = tuning_set([LINES], [[0.0, 1.0, 0.5]])
    found = error_surface(tuning, {"f0": 3.0, "f1": 1.0}, features=["f1", "f0", "f1"])
    assert [line.along.name for line in found.lines] == ["f1", "f0"]
    assert [line.weight for line in found.lines] == [1.0, 3.0]
    assert found.lines[0].curves[0].edges == pytest.approx([0.5, 1.5])


def test_metrics_keep_their_order_and_have_their_own_names():
    candidates = candidate_set([LINES], texts=["a", "a b", "b"], references=[["a b"]])
    tunings = [TuningSet(candidates, BLEU(order=k, lowercase=k == 2)) for k in (2, 4)]
    found = error_surface(tunings, {"f0": 3.0, "f1": 1.0}, features=["f0"]).to_dict()
    held = found["lines"][0]["metrics"]
    assert [one["metric"] for one in held] == ["bleu:order=2,lowercase=true", "bleu"]
    assert [one["signature"] for one in held] == [t.signature() for t in tunings]
    assert all(one["signature"] in found["signature"] for one in held)
    assert label_of(Mean()) == "mean"
    assert label_of(METRICS.create("column:comet")) == "column:comet"
    assert label_of(METRICS.create("sum(bleu,2*column:x)")) == "sum(bleu,2*column:x)"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "exactly one of"),
        ({"features": ["f0"], "to": {"f0": 2.0}}, "exactly one of"),
        ({"direction": {"f0": 0.0}}, "the direction is 0"),
        ({"to": {"f0": 3.0, "f1": 1.0}}, "these are the weights of current"),
        ({"features": ["f0"], "span": (1.0, 1.0)}, "the lower one first"),
        ({"features": ["f0"], "span": (math.nan, 1.0)}, "the lower one first"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*without a weight")
def test_what_makes_no_line_is_refused(options, problem):
    tuning = tuning_set([LINES], [[0.0, 1.0, 0.5]])
    with pytest.raises(UsageError, match=problem):
        error_surface(tuning, {"f0": 3.0, "f1": 1.0}, **options)


def test_an_unknown_feature_is_refused_with_near_names():
    tuning = tuning_set([LINES], [[0.0, 1.0, 0.5]])
    with pytest.raises(UnknownNameError, match="unknown feature 'f9'; did you mean f"):
        error_surface(tuning, {"f0": 3.0, "f1": 1.0}, features=["f9"])
    with pytest.raises(WeightNamesError):
        error_surface(tuning, {"f0": 3.0}, features=["f0"], strict=True)


def test_metrics_of_different_candidates_are_refused():
    tunings = [tuning_set([LINES], [[0.0, 1.0, 0.5]]) for _ in range(2)]
    for several in (tunings, []):
        with pytest.raises(UsageError, match="of the same candidates"):
            error_surface(several, {"f0": 3.0, "f1": 1.0}, features=["f0"])


def test_a_metric_that_is_no_number_is_refused():
    tuning = tuning_set([LINES], [[0.0, 0.25, 0.5]])
    tuning.stats[1, 0] = math.nan  # after the set has been checked
    with pytest.raises(TunesmithError, match="mean is not a finite number"):
        error_surface(tuning, {"f0": 3.0, "f1": 1.0}, features=["f0"])


@pytest.mark.long
@pytest.mark.parametrize("feature", ["LM0", "WordPenalty0"])
def test_every_interval_of_real_lists_scores_as_a_fresh_evaluation(bundled, feature):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    weights = read_weights(bundled / "weights.initial").weights
    tunings = [TuningSet(candidates, "bleu"), TuningSet(candidates, "wer")]
    (line,) = error_surface(tunings, weights, features=[feature]).lines
    names = candidates.features.names
    for tuning, held in zip(tunings, line.curves, strict=True):
        ends = [held.edges[0] - 1, *held.edges, held.edges[-1] + 1]
        for where, score in zip(itertools.pairwise(ends), held.scores, strict=True):
            values = weights.updated(Weights.from_dict({feature: sum(where) / 2})).aligned(names)
            assert tuning.score(best(candidates, values)) == close(score)
