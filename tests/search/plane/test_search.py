"""Search in a plane, against all regions of an arrangement that is enumerated by hand."""

from __future__ import annotations

import itertools
from unittest import mock

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import Mean, candidate_set, tuning_set
from tests.helpers.tiers import examples
from tunesmith.errors import UsageError
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.parallel.local import threads
from tunesmith.search.plane import arcs as plane_arcs
from tunesmith.search.plane import search as plane
from tunesmith.search.plane.disc import disc
from tunesmith.search.plane.search import Slice, search_slice
from tunesmith.tasks.lists import TuningSet

INTERPRETED = bool(numba.config.DISABLE_JIT)
EXAMPLES = examples(40, interpreted=4)
WORDS = ["a", "b", "c", "d"]


def normals_of(blocks):
    """Return the ties of all pairs of all groups, as whole vectors."""
    found = set()
    for block in blocks:
        for a, b in itertools.combinations(block.tolist(), 2):
            n = tuple(x - y for x, y in zip(a, b, strict=True))
            if any(n):
                found.add(max(n, tuple(-x for x in n)))
    return np.array(sorted(found), int).reshape(-1, 3)


def regions_of(blocks, half=None):
    """Return the winners of every region of the sphere, without any rounding.

    Every region has a corner at which two ties meet. Around it the ties through it make
    sectors: who is ahead in one is who is ahead at the corner, and of those that tie there
    who is ahead in the sector's direction. All numbers are whole.
    """
    normals = normals_of(blocks)
    if half is not None:
        normals = np.concatenate([normals, [half]])
    one, other = np.triu_indices(len(normals), 1)
    corners = np.unique(np.cross(normals[one], normals[other]), axis=0).reshape(-1, 3)
    corners = corners[corners.any(axis=1)]
    corners = np.concatenate([corners, -corners])
    if not len(corners):
        # No ties, or a single circle: its two sides.
        first = normals[:1] if len(normals) else np.array([[1, 0, 0]])
        return winners(blocks, half, np.concatenate([first, -first]), np.zeros((2, 3), int))
    places, ways = [], []
    for corner in corners:
        tangents = np.cross(normals[normals @ corner == 0], corner)
        tangents = np.concatenate([tangents, -tangents])
        # Neighbours have their sum between them, if they are of about the same length.
        lengths = np.sqrt((tangents.astype(float) ** 2).sum(axis=1))
        tangents = np.rint(tangents * (10**6 / lengths)[:, None]).astype(int)
        one, other = np.triu_indices(len(tangents), 1)
        way = tangents[one] + tangents[other]
        ways.append(way[way.any(axis=1)])
        places.append(np.tile(corner, (len(ways[-1]), 1)))
    return winners(blocks, half, np.concatenate(places), np.concatenate(ways))


def winners(blocks, half, corners, ways):
    """Return who wins next to corners, where no candidates that differ are tied."""
    if half is not None:
        ahead = [(c, w) > (0, 0) for c, w in zip(corners @ half, ways @ half, strict=True)]
        corners, ways = corners[ahead], ways[ahead]
    chosen, clear = [], np.ones(len(corners), bool)
    for block in blocks:
        _, first, same = np.unique(block, axis=0, return_index=True, return_inverse=True)
        first = np.array([np.flatnonzero(same.ravel() == k)[0] for k in range(len(first))])
        rows = block[first]
        at, towards = corners @ rows.T, ways @ rows.T
        assert np.abs(towards).max(initial=0) < 2**31
        assert np.abs(at).max(initial=0) < 2**30
        keys = at * 2**32 + towards
        best = keys.max(axis=1)
        clear &= (keys == best[:, None]).sum(axis=1) == 1
        chosen.append(first[keys.argmax(axis=1)])
    return {tuple(row) for row in np.column_stack(chosen)[clear].tolist()}


def drawn(seed, width, groups, size, most):
    """Return blocks of whole numbers, texts and references."""
    rng = np.random.default_rng(seed)
    blocks = [
        rng.integers(-most, most + 1, (rng.integers(1, size + 1), width)) for _ in range(groups)
    ]
    if rng.random() < 0.3 and groups > 1:
        blocks[1] = blocks[0].copy()  # all its arcs lie upon others
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for b in blocks for _ in b]
    references = [[" ".join(rng.choice(WORDS, rng.integers(2, 6)))] for _ in blocks]
    return blocks, candidate_set([b.tolist() for b in blocks], (), texts, references)


def gains(tuning, regions):
    start = tuning.candidates.start[:-1]
    rows = np.array(sorted(regions)) + start
    return tuning.metric.gain(tuning.stats[rows].sum(axis=1))


def few(seed):
    """Look for the corners of small groups too, every other time."""
    return mock.patch.object(plane_arcs, "FEW", [1, plane_arcs.FEW][seed % 2])


def padded(blocks):
    return [np.pad(b, ((0, 0), (0, 3 - b.shape[1]))) for b in blocks]


@pytest.mark.parametrize("metric", ["bleu:order=2", "wer", "ter"])
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3, 3, 3]), st.sampled_from([1, 2, 5]))
@settings(max_examples=EXAMPLES)
def test_all_weights_of_up_to_three_features(metric, seed, width, most):
    blocks, candidates = drawn(seed, width, 3, 5, most)
    tuning = TuningSet(candidates, metric)
    hypotheses = ListHypotheses(tuning)
    with few(seed):
        found = search_slice(hypotheses, Slice.whole(hypotheses.spread()))
    truth = gains(tuning, regions_of(padded(blocks)))
    assert found.complete
    assert found.point.gain == pytest.approx(truth.max(), abs=1e-12)
    assert found.point.gain == hypotheses.point(found.point.weights).gain
    assert found.radius > plane.TOLERANCE


@pytest.mark.parametrize("metric", ["bleu:order=2", "wer"])
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5]))
@settings(max_examples=EXAMPLES)
def test_a_plane_in_five_dimensions(metric, seed, most):
    blocks, candidates = drawn(seed, 5, 3, 5, most)
    rng = np.random.default_rng(seed)
    origin, first, second = (rng.integers(-2, 3, 5).astype(float) for _ in range(3))
    if rng.random() < 0.5:
        first, second = np.eye(5)[0], np.eye(5)[3]
    if np.linalg.matrix_rank([first, second]) < 2:
        return
    tuning = TuningSet(candidates, metric)
    hypotheses = ListHypotheses(tuning)
    where = Slice.plane(hypotheses.spread(), origin, first, second)
    with few(seed):
        found = search_slice(hypotheses, where)
    axes = np.array([first, second, origin]).astype(int).T
    through_zero = np.linalg.matrix_rank(axes) == 2
    axes[:, 2] *= not through_zero
    flat = [b @ axes for b in blocks]
    half = None if through_zero else (0, 0, 1)
    truth = gains(tuning, regions_of(flat, half))
    assert found.point.gain == pytest.approx(truth.max(), abs=1e-12)
    away = found.point.weights - (0.0 if through_zero else origin)
    steps, *_ = np.linalg.lstsq(np.array([first, second]).T, away, rcond=None)
    assert steps @ np.array([first, second]) == pytest.approx(away, abs=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=EXAMPLES // 4)
def test_numbers_that_are_not_whole(seed):
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(rng.integers(1, 6), 3)) * [1.0, 1e-4, 1e3] for _ in range(4)]
    values = [rng.integers(0, 50, len(b)).tolist() for b in blocks]
    tuning = tuning_set([b.tolist() for b in blocks], values)
    hypotheses = ListHypotheses(tuning)
    spread = hypotheses.spread()
    found = search_slice(hypotheses, Slice.whole(spread))
    units = [b / spread for b in blocks]
    ties = np.array([a - b for u in units for a, b in itertools.combinations(u, 2)])
    ties /= np.linalg.norm(ties, axis=1)[:, None]
    sharp = -np.inf
    for a, b in itertools.combinations(ties, 2):
        meet = np.cross(a, b) / np.linalg.norm(np.cross(a, b))
        for sign, k, m in itertools.product((-1, 1), (-1, 1), (-1, 1)):
            # A step into each of the four sectors of two ties.
            way = k * np.cross(a, meet) + m * np.cross(b, meet)
            u = sign * meet + 1e-5 * way / np.linalg.norm(way)
            radius = np.abs(ties @ u).min()
            value = np.mean([v[int(np.argmax(x @ u))] for x, v in zip(units, values, strict=True)])
            sharp = max(sharp, value) if radius > 2 * plane.TOLERANCE else sharp
    assert found.point.gain >= sharp - 1e-9
    w = found.point.weights
    value = np.mean([v[int(np.argmax(b @ w))] for b, v in zip(blocks, values, strict=True)])
    assert value == pytest.approx(found.point.gain)


@pytest.mark.skipif(INTERPRETED, reason="many points")
@pytest.mark.parametrize("flat", [False, True])
def test_corners_are_those_of_another_library(flat):
    from scipy.spatial import ConvexHull

    rng = np.random.default_rng(1)
    points = rng.normal(size=(3 * 150, 3)) * [1.0, 2.0, 0.0 if flat else 3.0]
    start = np.array([0, 150, 300, 450])
    division = plane_arcs.divide(points, start, np.full(3, 10.0), np.zeros(3), 1e-7)
    for g in range(3):
        held = points[start[g] : start[g + 1], : 2 if flat else 3]
        corners = division.corners[division.start[g] : division.start[g + 1]] - start[g]
        assert sorted(corners) == sorted(ConvexHull(held).vertices)


def test_the_radius_is_that_of_a_disc_without_a_change():
    rng = np.random.default_rng(3)
    blocks, candidates = drawn(8, 3, 4, 6, 5)
    tuning = TuningSet(candidates, "wer")
    hypotheses = ListHypotheses(tuning)
    spread = hypotheses.spread()
    found = search_slice(hypotheses, Slice.whole(spread))
    centre = found.point.weights * spread
    centre /= np.linalg.norm(centre)

    def chosen(u):
        return [int(np.argmax(block @ (u / spread))) for block in blocks]

    turns = []
    for _ in range(400):
        way = rng.normal(size=3)
        way -= (way @ centre) * centre
        way /= np.linalg.norm(way)
        angle = np.arcsin(found.radius)
        for share in (0.5, 0.999):
            u = np.cos(share * angle) * centre + np.sin(share * angle) * way
            assert chosen(u) == chosen(centre)
        turns.append(chosen(np.cos(1.1 * angle) * centre + np.sin(1.1 * angle) * way))
    assert any(turn != chosen(centre) for turn in turns)


@pytest.mark.parametrize("half", [np.zeros(3), np.array([0.0, 0.0, 1.0])])
def test_the_largest_disc_is_that_of_a_linear_programme(half):
    from scipy.optimize import linprog

    rng = np.random.default_rng(5)
    for _ in range(20):
        points = rng.normal(size=(3, 24))
        start = np.arange(0, 25, 4)
        inside = rng.normal(size=3)
        inside /= np.linalg.norm(inside)
        if half.any() and inside[2] < 0.1:
            continue
        centre, radius = disc(points, start, half, inside)
        rows = [half] if half.any() else []
        for lo in start[:-1]:
            held = points[:, lo : lo + 4]
            top = int(np.argmax(inside @ held))
            rows += [held[:, top] - held[:, k] for k in range(4) if k != top]
        rows = np.array([row / np.linalg.norm(row) for row in rows])
        assert (rows @ centre).min() == pytest.approx(radius, abs=1e-12)
        # In the plane that touches the sphere at the centre nothing is farther inside.
        solved = linprog(
            [0, 0, 0, -1.0],
            A_ub=np.column_stack([-rows, np.ones(len(rows))]),
            b_ub=np.zeros(len(rows)),
            A_eq=[[*centre, 0.0]],
            b_eq=[1.0],
            bounds=[(-1, 1)] * 3 + [(None, None)],
        )
        assert radius == pytest.approx(-solved.fun, rel=1e-3)


def test_sets_in_which_nothing_changes():
    for blocks in ([[[1, 2, 3]], [[4, 5, 6]]], [[[1, 2, 3]] * 4, [[0, 0, 0]] * 3]):
        tuning = tuning_set(blocks, [[k + 1.0 for k in range(len(b))] for b in blocks])
        hypotheses = ListHypotheses(tuning)
        found = search_slice(hypotheses, Slice.whole(hypotheses.spread()))
        assert (found.complete, found.lines, found.total) == (True, 0, 0)
        assert found.point.gain == 1.0  # the first of equals


def test_a_plane_in_which_nothing_changes():
    # The second candidate wins for all x, y: only the third feature tells them apart.
    tuning = tuning_set([[[1, 1, 0], [1, 1, 2]]], [[0.0, 7.0]])
    hypotheses = ListHypotheses(tuning)
    first, second, third = np.eye(3)
    found = search_slice(hypotheses, Slice.plane(np.ones(3), third, first, second))
    assert (found.total, found.point.gain) == (0, 7.0)
    found = search_slice(hypotheses, Slice.plane(np.ones(3), -third, first, second))
    assert found.point.gain == 0.0


def test_among_equal_regions_the_widest_is_taken():
    # Along the angle of two weights the winner changes at these; gain 1 in 10-40 and 100-200.
    corner = [np.zeros(2)]
    for a, size in zip(np.radians([10, 40, 100, 200, 290]), (1, 2, 1, 2, 1), strict=True):
        corner.append(corner[-1] + size * np.array([-np.sin(a), np.cos(a)]))
    values = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    hypotheses = ListHypotheses(tuning_set([[c.tolist() for c in corner]], [values]))
    found = search_slice(hypotheses, Slice.whole(np.ones(2)))
    assert found.point.gain == 1.0
    assert np.degrees(np.arctan2(*found.point.weights[::-1])) == pytest.approx(150.0)
    assert found.radius == pytest.approx(np.sin(np.radians(50)))


def problem(groups=12, size=10, seed=0, width=3):
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(size=(size, width)).tolist() for _ in range(groups)]
    values = [rng.integers(0, 9, size).tolist() for _ in range(groups)]
    return tuning_set(blocks, values, metric=Mean())


@pytest.mark.skipif(INTERPRETED, reason="many walks")
def test_threads_change_nothing():
    hypotheses = ListHypotheses(problem())
    found = []
    for count in (1, 2, 3):
        with threads(count):
            found.append(search_slice(hypotheses, Slice.whole(hypotheses.spread())))
    for other in found[1:]:
        assert other.point.weights.tobytes() == found[0].point.weights.tobytes()
        assert (other.radius, other.lines) == (found[0].radius, found[0].lines)


@pytest.mark.skipif(INTERPRETED, reason="many walks")
def test_it_stops_at_a_time_limit(monkeypatch):
    hypotheses = ListHypotheses(problem())
    where = Slice.whole(hypotheses.spread())
    nothing = search_slice(hypotheses, where, until=plane.working_seconds() - 1.0)
    assert (nothing.point, nothing.complete, nothing.lines) == (None, False, 0)
    best = search_slice(hypotheses, where)
    clock = itertools.count()
    monkeypatch.setattr(plane, "working_seconds", lambda: next(clock))
    monkeypatch.setattr(plane, "PIECE", 4)
    with threads(1):
        part = search_slice(hypotheses, where, until=2)  # two rounds of pieces
    assert not part.complete
    assert 0 < part.lines == 2 * 2 * plane.ROUND * 4 < part.total
    assert part.point.gain <= best.point.gain
    assert part.point.gain == hypotheses.point(part.point.weights).gain


@pytest.mark.long
@pytest.mark.skipif(INTERPRETED, reason="many walks")
def test_what_was_not_remembered_is_looked_at_again(monkeypatch):
    hypotheses = ListHypotheses(problem(seed=4))
    where = Slice.whole(hypotheses.spread())
    best = search_slice(hypotheses, where)
    # Refuse everything that is better than most, as if those regions had no inside.
    real = plane.disc
    limit = best.point.gain - 1.0

    def strict(points, start, half, inside):
        centre, radius = real(points, start, half, inside)
        gain = hypotheses.point(where.weights(centre)).gain
        return centre, radius if gain <= limit else 0.0

    monkeypatch.setattr(plane, "disc", strict)
    monkeypatch.setattr(plane, "MOST", 2)
    found = search_slice(hypotheses, where)
    monkeypatch.setattr(plane, "MOST", 10**6)
    assert found.point.gain == search_slice(hypotheses, where).point.gain
    assert limit - 0.5 < found.point.gain <= limit


def test_a_tolerance_leaves_thin_regions_out():
    # Gain 1 in a strip of the angle 0.001 alone.
    a, b = 0.3, 0.301
    corner = [np.zeros(2)]
    for angle in (a, b):
        corner.append(corner[-1] + np.array([-np.sin(angle), np.cos(angle)]))
    tuning = tuning_set([[c.tolist() for c in corner]], [[0.0, 1.0, 0.0]])
    hypotheses = ListHypotheses(tuning)
    where = Slice.whole(np.ones(2))
    radius = np.sin(0.0005)
    assert search_slice(hypotheses, where, 0.99 * radius).point.gain == 1.0
    assert search_slice(hypotheses, where, 1.01 * radius).point.gain == 0.0


def test_large_numbers_that_all_candidates_share_change_nothing():
    blocks, candidates = drawn(11, 3, 4, 6, 5)
    away = np.array([10**5, -(10**4), 3 * 10**4])
    moved = candidate_set([(b + away).tolist() for b in blocks])
    tuning = TuningSet(candidates, "wer")
    found = []
    for held in (candidates, moved):
        hypotheses = ListHypotheses(TuningSet(held, tuning.metric, tuning.stats))
        found.append(search_slice(hypotheses, Slice.whole(hypotheses.spread())))
    assert found[0].point.gain == found[1].point.gain
    assert found[0].radius == pytest.approx(found[1].radius, rel=1e-6)


def test_slices_that_are_none():
    with pytest.raises(UsageError, match="at most 3"):
        Slice.whole(np.ones(4))
    with pytest.raises(UsageError, match="two directions are one"):
        Slice.plane(np.ones(3), np.ones(3), np.array([1.0, 2, 0]), np.array([-2.0, -4, 0]))
