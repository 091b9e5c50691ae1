"""The gradient direction finder: what it reaches, and that it never falls."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import Mean, candidate_set, tuning_set
from tests.helpers.search.penalties import make_penalty, plain_penalty
from tests.helpers.search.restrictions import broken, random_restrictions
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.parallel.local import threads
from tunesmith.search.directions.base import DIRECTIONS, Climb
from tunesmith.search.directions.gradient import STEPS, WORTH_A_STEP, Gradient
from tunesmith.search.directions.standard import Coordinate
from tunesmith.search.line.penalties import NonZero, NormalisedSquare, SquaredDistance
from tunesmith.search.line.smooth import Smoothing
from tunesmith.search.space.constraints import Constraints
from tunesmith.search.space.space import Space
from tunesmith.tasks.lists import TuningSet

SEEDS = st.integers(0, 2**32 - 1)
compiled = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="takes minutes without compiled kernels"
)


def synthetic(seed, width=10, noise=100.0, metric="column:score", unit=1.0):
    candidates, _ = ts.synthetic(60, 20, width, noise, seed)
    columns = {"score": unit * candidates.columns["score"]}
    return TuningSet(replace(candidates, columns=columns), metric)


def small(seed, sparse=()):
    """Draw a few small groups with features of unlike sizes."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, rng.integers(1, 8))
    groups = [rng.normal(size=(n, 4)) * [1.0, 1e6, 1e-6, 1.0] for n in sizes]
    for group in groups:
        group[:, 3] = rng.random(len(group)) < 0.3
    candidates = candidate_set(groups, sparse)
    columns = {"score": rng.integers(0, 5, len(candidates)) * float(rng.choice([1e-6, 1.0, 1e6]))}
    return TuningSet(replace(candidates, columns=columns), "column:score"), rng


def climbed(tuning, begin=None, finder=None, **options):
    """Climb, and return the climb, its beginning and its end."""
    hypotheses = ListHypotheses(tuning)
    spread = hypotheses.spread()
    climb = Climb(hypotheses, spread, np.random.default_rng(1), **options)
    first = climb.begin(1.0 / spread if begin is None else np.array(begin, float))
    return climb, first, (finder or Gradient()).climb(climb, first)


def worth_a_step(tuning):
    """Return the least gain that counts: a share of the deviation of scores within groups."""
    groups = np.split(tuning.candidates.columns["score"], tuning.candidates.start[1:-1])
    return WORTH_A_STEP * np.sqrt(np.mean([group.var() for group in groups]))


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


@settings(max_examples=examples(40))
@given(SEEDS, st.sampled_from([0, 2, 8]), st.sampled_from(["drawn", "zero", "tiny", "huge"]))
def test_a_climb_never_falls_and_ends_where_it_says(seed, steps, begin):
    tuning, rng = small(seed, sparse=(3,))
    factor = {"drawn": 1.0, "zero": 0.0, "tiny": 1e-300, "huge": 1e200}[begin]
    climb, first, end = climbed(tuning, factor * rng.normal(size=4), Gradient(steps))
    gains = [entry["gain"] for entry in climb.history]
    assert all(a < b for a, b in pairwise(gains))
    assert end.gain in gains
    assert end.gain >= first.gain
    assert np.isfinite(end.weights).all()
    fresh = climb.hypotheses.point(end.weights)
    assert fresh.gain == pytest.approx(end.gain, rel=1e-9)
    # Nothing is left to gain along a feature.
    least = worth_a_step(tuning) + 1e-9
    for step in climb.search(fresh, climb.coordinates()):
        assert step.value - step.here <= least


@compiled
@pytest.mark.parametrize(("width", "seed"), [(5, 1), (10, 2), (20, 3), (40, 4)])
def test_gold_weights_are_found(width, seed):
    candidates, gold = ts.synthetic(200, 50, width, rng=seed)
    _, _, end = climbed(TuningSet(candidates, "column:score"))
    assert cosine(end.weights, gold.vector) > 0.99
    assert end.gain > 0.999


@compiled
def test_gold_weights_are_found_through_correlated_features_of_unlike_sizes():
    candidates, gold = ts.synthetic(200, 50, 10, rng=5)
    rng = np.random.default_rng(5)
    mixed = (np.eye(10) + 0.3 * rng.normal(size=(10, 10))) * np.logspace(-4, 4, 10)[:, None]
    features = replace(candidates.features, dense=mixed @ candidates.features.dense)
    _, _, end = climbed(TuningSet(replace(candidates, features=features), "column:score"))
    assert cosine(mixed.T @ end.weights, gold.vector) > 0.99


@pytest.mark.long
@compiled
@pytest.mark.parametrize("metric", ["bleu", "wer", "ter", "chrf", "harmonic(bleu,chrf)"])
def test_real_lists_are_climbed(bundled, metric):
    candidates = ts.read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    tuning = TuningSet(candidates, metric)
    climb, first, end = climbed(tuning)
    assert end.gain > first.gain
    assert climb.hypotheses.point(end.weights).gain == end.gain


@compiled
def test_the_unit_of_the_metric_does_not_matter():
    ends = [climbed(synthetic(1, unit=unit))[2] for unit in (1.0, 2.0**20, 2.0**-13)]
    assert ends[0].weights.tobytes() == ends[1].weights.tobytes() == ends[2].weights.tobytes()


@compiled
def test_a_cost_is_climbed_as_its_opposite_is():
    gain, cost = synthetic(2, unit=-1.0), synthetic(2, metric="cost:score")
    assert climbed(gain)[2].weights.tobytes() == climbed(cost)[2].weights.tobytes()


@pytest.mark.long
@compiled
def test_threads_change_no_bit():
    # Of several pieces of work.
    tuning = TuningSet(ts.synthetic(240, 300, 6, 100.0, 3)[0], "column:score")
    found = []
    for count in (1, 2, 3):
        with threads(count):
            climb, _, end = climbed(tuning, finder=Gradient(2))
            found.append((end.weights.tobytes(), climb.searches))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("begin", [[0.0] * 4, [1.0] * 4])
def test_where_nothing_can_be_gained_the_beginning_is_the_end(begin):
    groups = [np.random.default_rng(0).normal(size=(3, 4)) for _ in range(5)]
    candidates = replace(candidate_set(groups), columns={"score": np.full(15, 0.5)})
    _, first, end = climbed(TuningSet(candidates, "column:score"), begin)
    assert end is first


@compiled
def test_a_ceiling_ends_a_climb():
    tuning = synthetic(1, noise=0.0)
    climb, _, end = climbed(tuning, ceiling=0.9)
    assert end.gain >= 0.9
    assert climb.searches == 1


@compiled
def test_a_climb_ends_where_what_is_left_is_not_worth_a_step():
    candidates, _ = ts.synthetic(200, 50, 20, rng=3)
    tuning = TuningSet(candidates, "column:score")
    climb, _, end = climbed(tuning, ceiling=1.0)
    assert 1.0 - end.gain <= worth_a_step(tuning)
    assert {entry["direction"] for entry in climb.history} == {None, "gradient"}


@compiled
def test_no_distribution_is_tried_twice_from_one_point(monkeypatch):
    tried = []
    original = ListHypotheses.expected

    def recorded(self, points, sharpness):
        tried.extend((p.weights.tobytes(), s) for p, s in zip(points, sharpness, strict=True))
        return original(self, points, sharpness)

    monkeypatch.setattr(ListHypotheses, "expected", recorded)
    climbed(synthetic(1))
    assert len(tried) > 30
    assert len(set(tried)) == len(tried)


def penalties(width):
    prior = np.linspace(-0.5, 0.5, width)
    return (
        SquaredDistance(0.1, prior, np.ones(width)),
        SquaredDistance(1.0, prior, np.ones(width)),
        NormalisedSquare(0.1),
        NormalisedSquare(1.0),
        NonZero(0.003),
    )


@pytest.mark.long
@compiled
@pytest.mark.parametrize("penalty", penalties(20), ids=lambda p: f"{p.name}-{p.strength:g}")
def test_penalised_objectives_never_fall_and_end_higher_than_by_coordinates(penalty):
    gradient, coordinate = [], []
    for seed in range(4):
        tuning = synthetic(seed, 20)
        climb, _, end = climbed(tuning, penalty=penalty)
        entries = [entry["gain"] - entry["penalty"] for entry in climb.history]
        assert all(a < b for a, b in pairwise(entries))
        fresh = climb.hypotheses.point(end.weights)
        gradient.append(fresh.gain - penalty.value(end.weights))
        assert gradient[-1] == pytest.approx(climb.value(end), abs=1e-12)
        least = worth_a_step(tuning) + 1e-9
        for step in climb.search(fresh, climb.coordinates()):
            assert step.value - step.here <= least
        climb, _, end = climbed(tuning, finder=Coordinate(), penalty=penalty)
        coordinate.append(climb.value(end))
    # Both find local optima: not on every set, but on the whole.
    assert np.mean(gradient) > np.mean(coordinate)


@compiled
def test_where_each_weight_costs_gradients_take_up_no_feature():
    tuning = synthetic(5)
    begin = np.where(np.arange(10) < 5, 1.0, 0.0)
    climb, _, end = climbed(tuning, begin, penalty=NonZero(0.002))
    steps = [
        (entry["direction"], before["penalty"], entry["penalty"])
        for before, entry in pairwise(climb.history)
    ]
    by_gradient = [(before, after) for label, before, after in steps if label == "gradient"]
    assert by_gradient
    assert all(after <= before for before, after in by_gradient)
    assert any(after > before for label, before, after in steps if label != "gradient")
    assert np.count_nonzero(end.weights) > 5


@compiled
@pytest.mark.parametrize("penalty", [NormalisedSquare(0.1), NonZero(0.003), None])
def test_weights_keep_their_size_where_it_does_not_matter(penalty):
    climb, first, end = climbed(synthetic(3), penalty=penalty)
    assert len(climb.history) > 5
    assert 0.3 < np.abs(end.weights).max() / np.abs(first.weights).max() < 3.0


@settings(max_examples=examples(30))
@given(SEEDS)
def test_restrictions_are_kept(seed):
    tuning, rng = small(seed)
    names = tuning.candidates.features.names
    start = dict(zip(names, rng.normal(size=4).tolist(), strict=True))
    held = random_restrictions(rng, start)
    given_weights = np.array(list(start.values()))
    space = Space.of(names, given_weights, Constraints.parse(**held.options()))
    climb, first, end = climbed(tuning, space.inside(given_weights), within=space)
    assert broken(dict(zip(names, end.weights.tolist(), strict=True)), start, held) == []
    assert end.gain >= first.gain
    assert climb.hypotheses.point(end.weights).gain == pytest.approx(end.gain, rel=1e-9)


@pytest.mark.long
@compiled
def test_within_ranges_gradients_lead_higher_than_coordinates():
    # Half of the gold weights are negative: their variables end on a limit, or near to it.
    found = []
    for seed in range(5):
        tuning = synthetic(seed, width=20)
        names = tuning.candidates.features.names
        asked = Constraints.parse(bound=[f"{name}=0:1" for name in names])
        space = Space.of(names, np.ones(20), asked)
        both = [
            climbed(tuning, np.full(20, 0.5), finder, within=space)[2].gain
            for finder in (Gradient(), Coordinate())
        ]
        found.append(both)
    by_gradient, by_coordinates = np.mean(found, axis=0)
    assert by_gradient > by_coordinates


@pytest.mark.long
@compiled
@pytest.mark.parametrize("kind", ["mean", "min"])
def test_smoothed_objectives_are_climbed(kind):
    smoothing = Smoothing(kind, 2)
    for seed in range(3):
        climb, first, end = climbed(synthetic(seed), smoothing=smoothing)
        assert climb.value(end) > climb.value(first)
        assert np.isfinite(end.weights).all()


def directions_of(tuning, begin, finder, monkeypatch, **options):
    """Return the directions that a climb searches."""
    found = []
    original = Climb.search

    def recorded(self, point, directions):
        found.extend(directions)
        return original(self, point, directions)

    monkeypatch.setattr(Climb, "search", recorded)
    climb, first, _ = climbed(tuning, begin, finder, **options)
    return climb, first, found


@compiled
def test_without_steps_the_direction_is_the_gradient(monkeypatch):
    tuning = synthetic(4)
    climb, first, found = directions_of(tuning, np.ones(10), Gradient(steps=0), monkeypatch)
    spread = climb.hypotheses.deviation(first)
    (expected,) = climb.hypotheses.expected([first], [0.01 / spread])
    assert found[0].label == "gradient"
    wanted = expected.gradient / climb.spread**2
    assert cosine(found[0].values, wanted) == pytest.approx(1.0, abs=1e-12)


@compiled
@pytest.mark.parametrize("strength", [0.0, 0.01])
def test_with_many_steps_the_direction_solves_the_system(monkeypatch, strength):
    tuning = synthetic(4)
    penalty = SquaredDistance(strength, np.zeros(10), np.ones(10))
    climb, first, found = directions_of(
        tuning, np.ones(10), Gradient(steps=50), monkeypatch, penalty=penalty
    )
    hypotheses = climb.hypotheses
    sharpness = 0.01 / hypotheses.deviation(first)
    (expected,) = hypotheses.expected([first], [sharpness])
    covariance = hypotheses.covariance([expected] * 10, np.eye(10))
    curvature = sharpness**2 * expected.gain_deviation * covariance + 2 * strength * np.eye(10)
    wanted = expected.gradient - 2 * strength * first.weights
    solution = np.linalg.solve(curvature, wanted)
    sizes = climb.spread
    assert cosine(found[0].values * sizes, solution * sizes) > 0.999


@compiled
def test_a_climb_takes_few_passes(monkeypatch):
    passes = []

    def count(name):
        original = getattr(ts.Features, name)

        def counted(self, vectors):
            passes.append(name)
            return original(self, vectors)

        monkeypatch.setattr(ts.Features, name, counted)

    count("dot")
    count("combine")
    tuning = synthetic(1, noise=0.0)
    passes.clear()
    climb, _, _ = climbed(tuning, ceiling=0.9)
    # One for the first scores and one for the unit of gains; then the gradient, two for each
    # conjugate gradient step, and the slopes of the only line.
    assert climb.searches == 1
    assert len(passes) <= 2 + 1 + 2 * STEPS + 1


def test_a_metric_without_slope_is_refused():
    with pytest.raises(TunesmithError, match="metric 'mean' has no gradient; use") as caught:
        Gradient().check(Mean())
    assert "\n" not in str(caught.value)
    Gradient().check(ts.BLEU())
    tuning = tuning_set([[[1.0], [2.0]]], [[0.0, 1.0]])
    with pytest.raises(TunesmithError, match="has no gradient"):
        climbed(tuning)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("gradient:steps=-1", "steps of gradient is -1; give 0 or more"),
        ("gradient:first=0", "first and last of gradient are 0 and 1000"),
        ("gradient:first=2,last=1", "the smaller one first"),
        ("gradient:last=inf", "give a finite number"),
        ("gradient:stops=3", "did you mean steps"),
        ("gradient:paper,steps=3", "steps of gradient are none of the paper's; leave out"),
        ("gradient:paper=yes", "write true or false"),
        ("gradient:paper,paper=true", "'paper' stands twice"),
        ("gradient:steps", "'steps' in direction finder 'gradient:steps' has no value"),
    ],
)
def test_options_that_cannot_be(spec, said):
    with pytest.raises(TunesmithError, match=said):
        DIRECTIONS.create(spec)


@pytest.mark.parametrize("last", [np.inf, np.nan])
def test_a_sharpest_distribution_is_needed(last):
    with pytest.raises(UsageError, match="give numbers above 0"):
        Gradient(last=last)


def test_options_are_part_of_the_name():
    assert DIRECTIONS.create("gradient:steps=0,last=10") == Gradient(0, last=10.0)


@pytest.mark.parametrize("spec", ["gradient:paper", "gradient:paper=true"])
def test_an_option_that_is_true_or_false_needs_no_value(spec):
    assert DIRECTIONS.create(spec) == Gradient(paper=True)
    assert DIRECTIONS.create(spec + ",last=10") == Gradient(last=10.0, paper=True)
    assert DIRECTIONS.create("gradient:paper=false") == Gradient()


# ---------------------------------------------------------------- the paper's formula, plainly


def ngram_counts(text, order):
    words = text.split()
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))


def plain_stats(text, references):
    """Return C, R, then m_n and c_n for n from 1 to 4, by the definitions."""
    length = len(text.split())
    closest = min((len(r.split()) for r in references), key=lambda n: (abs(n - length), n))
    stats = [length, closest]
    for order in range(1, 5):
        most = Counter()
        for reference in references:
            most |= ngram_counts(reference, order)
        counts = ngram_counts(text, order)
        stats += [sum((counts & most).values()), sum(counts.values())]
    return stats


def plain_expected_bleu(weights, groups, mu):
    """Return the first-order approximation of section 4.1 of the paper, as it is printed."""
    total = np.zeros(10)
    for rows, stats in groups:
        scores = mu * (rows @ weights)
        chances = np.exp(scores - scores.max())
        total += chances / chances.sum() @ stats
    length, reference, counts = total[0], total[1], total[2:]
    logs = np.log(counts[0::2]) - np.log(counts[1::2])
    return np.exp(min(1.0 - reference / length, 0.0) + logs.mean())


def differences(value, at):
    """Return the gradient of a function by central differences of the fourth order."""
    found = np.empty(len(at))
    for d in range(len(at)):
        step = 1e-3 * max(abs(at[d]), 1e-3)
        moved = at + np.outer([-2, -1, 1, 2], np.eye(len(at))[d] * step)
        values = [value(w) for w in moved]
        found[d] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    return found


SIZES, CENTRE = np.array([0.1, 1.0, 10.0, 100.0]), np.full(4, 0.5)


def texts_of_unlike_features(seed):
    """Draw lists of texts with two references, with features of sizes from 0.1 to 100."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{k}" for k in range(6)])
    texts, references, groups, plain = [], [], [], []
    for _ in range(8):
        wanted = [" ".join(rng.choice(words, rng.integers(8, 14))) for _ in range(2)]
        parts = [wanted[rng.integers(2)].split() for _ in range(6)]
        some = [
            " ".join(np.where(rng.random(len(p)) < 0.3, rng.choice(words, len(p)), p)[: 6 + k])
            for k, p in enumerate(parts)
        ]
        rows = rng.normal(size=(6, 4)) * SIZES
        texts += some
        references.append(wanted)
        groups.append(rows.tolist())
        plain.append((rows, np.array([plain_stats(text, wanted) for text in some])))
    candidates = candidate_set(groups, texts=texts, references=references)
    return TuningSet(candidates, "bleu"), plain, rng.uniform(0.3, 1.0, 4) / SIZES


@pytest.mark.parametrize("kind", [None, "l2-prior", "l2-fixed", "l2-normalized", "l0"])
@pytest.mark.parametrize("mu", [0.01, 1.0, 4.0])
def test_the_papers_direction_is_that_of_finite_differences(kind, mu, monkeypatch):
    """Of BLEU of the expected counts, on features as they are, minus the penalty's."""
    for seed in range(3):
        tuning, groups, weights = texts_of_unlike_features(seed)
        penalty = None if kind is None else make_penalty(kind, 0.01, CENTRE)
        finder = Gradient(first=mu, last=mu, paper=True)
        _, _, found = directions_of(tuning, weights, finder, monkeypatch, penalty=penalty)

        def objective(at, groups=groups):
            smooth = kind is not None and kind != "l0"  # ℓ0 has no derivative
            taken = 0.01 * plain_penalty(kind, at[None], CENTRE)[0] if smooth else 0.0
            return plain_expected_bleu(at, groups, mu) - taken

        first = next(d for d in found if d.label == "gradient")
        wanted = differences(objective, weights)
        assert cosine(first.vector(4), wanted) == pytest.approx(1.0, abs=1e-9)
        if kind is None:  # in units of the spread it is another direction
            _, _, found = directions_of(tuning, weights, Gradient(0), monkeypatch)
            scaled = next(d for d in found if d.label == "gradient").vector(4)
            assert cosine(scaled, wanted) < 0.9


@compiled
def test_the_paper_leaves_the_features_units_alone():
    """Another unit of a feature changes the paper's way, and not that in units of the spread."""
    candidates = synthetic(3).candidates
    units = np.logspace(-1, 2, 10)
    features = replace(candidates.features, dense=candidates.features.dense * units[:, None])
    tunings = [
        TuningSet(c, "column:score") for c in (candidates, replace(candidates, features=features))
    ]
    plain, scaled = (
        [climbed(tuning, finder=Gradient(paper=paper))[2].gain for tuning in tunings]
        for paper in (True, False)
    )
    assert plain[0] != pytest.approx(plain[1], abs=1e-4)
    assert scaled[0] == pytest.approx(scaled[1], abs=1e-2)
    assert min(plain) > climbed(tunings[0])[1].gain
