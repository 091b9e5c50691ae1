"""Shards answer what one machine with all lists does, to the last bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.helpers.inference.parts import equal_bits, whole_and_shards
from tests.helpers.parallel.losing import LosingEngine
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists import axes as axes_module
from tunesmith.inference.lists.shards import hypotheses as sharded
from tunesmith.search.line.search import totals_along

pytestmark = pytest.mark.filterwarnings("ignore:.*texts have no more words")


def followed(point, direction, envelope):
    return [direction.label, *totals_along(envelope)]


def some_lines(rng, names):
    """Return the features' directions, and random ones with few values and with many."""
    every = [Direction.along(d, name) for d, name in enumerate(names)]
    few = [Direction.of(rng.integers(-2, 3, len(names)).astype(float), "few") for _ in range(3)]
    sparse = np.array([0.0 if name.startswith("D") else 1.0 for name in names])
    return [*every, *(d for d in few if len(d.features)), Direction.of(sparse, "sparse")]


def check_same(whole, shards, rng, steps=6):
    """Follow lines through points that are reached by steps, here and there."""
    here, there = whole.hypotheses(), shards.hypotheses()
    lines = some_lines(rng, whole.names)
    weights = rng.integers(-2, 3, len(whole.names)).astype(float)
    one, other = here.point(weights), there.point(weights)
    for step in range(steps):
        assert equal_bits(one.weights, other.weights)
        assert equal_bits(one.total, other.total)
        assert one.gain == other.gain
        ours = here.map_envelopes(followed, [(one, line) for line in lines])
        theirs = there.map_envelopes(followed, [(other, line) for line in lines])
        for (name, *own), (same, *their_own) in zip(ours, theirs, strict=True):
            assert name == same
            assert all(map(equal_bits, own, their_own)), name
        line, size = lines[rng.integers(len(lines))], float(rng.standard_normal())
        one, other = here.move(one, line, size), there.move(other, line, size)
        if step == 2:
            one, other = here.scaled(one, 0.5), there.scaled(other, 0.5)


@pytest.mark.parametrize("seed", range(examples(30)))
def test_points_and_lines_are_the_same(seed, tmp_path):
    check_same(*whole_and_shards(tmp_path, seed))


@pytest.mark.parametrize("seed", range(examples(30)))
def test_sizes_axes_and_correlations_are_the_same(seed, tmp_path, monkeypatch):
    if seed % 2:  # some groups alone are looked at, and not the first of every shard
        monkeypatch.setattr(axes_module, "MOST_NUMBERS", 20)
        monkeypatch.setattr(sharded, "AT_ONCE", 3)
    whole, shards, _ = whole_and_shards(tmp_path, seed, sparse=seed % 5)
    here, there = whole.hypotheses(), shards.hypotheses()
    assert whole.names == shards.names
    assert equal_bits(whole.dense, shards.dense)
    assert equal_bits(here.spread(), there.spread())
    assert equal_bits(whole.correlations(), shards.correlations())
    lines = [Direction.along(d, name) for d, name in enumerate(whole.names)]
    ours, theirs = here.axes(lines), there.axes(lines)
    assert equal_bits(ours.vectors, theirs.vectors)
    assert equal_bits(ours.duals, theirs.duals)
    assert ours.are_all == theirs.are_all


@pytest.mark.parametrize("large", [1e200, 1e-200])
def test_sizes_are_the_same_where_squares_overflow(large, tmp_path, monkeypatch):
    write = whole_and_shards.__globals__["write_parts"]

    def with_large(folder, rng, **options):
        paths, references = write(folder, rng, **options)
        for path in paths:
            with open(path) as file:
                lines = file.read()
            with open(path, "w") as file:
                file.write(lines.replace("D0= 3 ", f"D0= {large:g} "))
        return paths, references

    monkeypatch.setitem(whole_and_shards.__globals__, "write_parts", with_large)
    whole, shards, _ = whole_and_shards(tmp_path, 3, ties=True, parts=3, groups=20)
    spread = whole.hypotheses().spread()
    assert spread[0] > 1e100 or large < 1.0
    assert equal_bits(spread, shards.hypotheses().spread())


def test_lines_are_the_same_where_memory_is_short(tmp_path, monkeypatch):
    monkeypatch.setattr(sharded, "PER_GROUP", 1 << 50)  # one line at a time
    check_same(*whole_and_shards(tmp_path, 4), steps=2)


def test_climbs_of_large_sets_do_not_ask_together(tmp_path, monkeypatch):
    monkeypatch.setattr(sharded, "MANY", 1)
    _, shards, _ = whole_and_shards(tmp_path, 4)
    finished = {}
    answers = shards.hypotheses().side_by_side(_groups_and, [3, 4], 1, results=finished)
    assert answers == [(shards.groups, 3, 1), (shards.groups, 4, 1)]
    assert finished == dict(enumerate(answers))


def _groups_and(hypotheses, piece, more):
    return hypotheses.groups, piece, more


@pytest.mark.parametrize("every", [7, 11])
def test_a_shard_that_is_lost_is_read_again(every, tmp_path):
    engine = LosingEngine(every)
    check_same(*whole_and_shards(tmp_path, 5, engine, parts=3))
    assert engine.lost > 2


def test_a_shard_that_is_lost_with_every_call_is_given_up(tmp_path):
    engine = LosingEngine(10**9)
    _, shards, _ = whole_and_shards(tmp_path, 5, engine, parts=2)
    engine.every = 1
    with pytest.raises(TunesmithError, match=r"part-\d.nbest: its worker was lost again and again"):
        shards.hypotheses().point(np.ones(len(shards.names)))


def test_a_question_that_always_loses_its_worker_is_given_up(tmp_path):
    engine = LosingEngine(10**9)
    _, shards, _ = whole_and_shards(tmp_path, 5, engine, parts=2)
    hypotheses = shards.hypotheses()
    weights = np.ones(len(shards.names))
    point = hypotheses.point(weights)  # which is restored in between
    engine.deadly = "follow"
    with pytest.raises(TunesmithError, match="lost again and again"):
        hypotheses.map_envelopes(followed, [(point, Direction.along(0, "first"))])
    engine.deadly = "improve_choice"
    with pytest.raises(TunesmithError, match="lost again and again"):
        shards.oracle_at(weights)


def test_a_part_that_has_changed_is_not_read_again(tmp_path):
    engine = LosingEngine(10**9)
    _, shards, _ = whole_and_shards(tmp_path, 5, engine, parts=2)
    path = tmp_path / "parts-5" / "part-1.nbest"
    path.write_text(path.read_text().replace("||| 0\n", "||| 1\n"))
    shards.shards._actors._objects[1] = None
    with pytest.raises(TunesmithError, match=r"part-1.nbest: it or its references have changed"):
        shards.hypotheses().point(np.ones(len(shards.names)))


def test_restoring_keeps_no_point_longer_than_it_is_needed(tmp_path):
    _, shards, _ = whole_and_shards(tmp_path, 2, LosingEngine(10**9), parts=1)
    hypotheses = shards.hypotheses()
    line = Direction.along(0, "first")
    point = hypotheses.point(np.ones(len(shards.names)))
    points = [point := hypotheses.move(point, line, 0.1) for _ in range(30)]
    del points[1:-1]
    (of_all,) = shards.shards._points.values()
    sizes = []

    def remake(method, selection, steps):
        known = set()
        for (number, _), unneeded in steps:
            known.add(number)
            sizes.append(len(known))
            known.difference_update(unneeded)
        assert len(known) == len({id(point), *map(id, points)})

    of_all.restore(remake)
    assert max(sizes) <= 3


def test_an_error_leaves_no_answer_behind(tmp_path):
    whole, shards, _ = whole_and_shards(tmp_path, 5, parts=3)
    with pytest.raises(TunesmithError, match="model scores are too large"):
        shards.hypotheses().point(np.full(len(shards.names), 1e308))
    weights = np.ones(len(shards.names))
    assert equal_bits(whole.total_at(weights), shards.total_at(weights))


def test_shards_forget_points_that_nobody_has(tmp_path):
    _, shards, _ = whole_and_shards(tmp_path, 2, parts=2)
    hypotheses = shards.hypotheses()
    line = Direction.along(0, "first")
    point = hypotheses.point(np.ones(len(shards.names)))
    for _ in range(50):
        point = hypotheses.move(point, line, 0.1)
    for shard in shards.shards._actors._objects:
        (selected,) = shard._selected.values()
        assert len(selected.points) <= 3


def test_a_restored_shard_has_the_points_that_are_in_use(tmp_path):
    whole, shards, _ = whole_and_shards(tmp_path, 2, LosingEngine(10**9), parts=1)
    here, there = whole.hypotheses(), shards.hypotheses()
    one, other = here.point(np.ones(len(whole.names))), there.point(np.ones(len(whole.names)))
    line = Direction.along(0, "first")
    for step in (0.1, 0.7, -2.3):
        one, other = here.move(one, line, step), there.move(other, line, step)
    actors = shards.shards._actors
    actors._objects[0] = None
    (ours,) = here.map_envelopes(followed, [(one, line)])
    (theirs,) = there.map_envelopes(followed, [(other, line)])
    assert all(map(equal_bits, ours[1:], theirs[1:]))
    (selected,) = actors._objects[0]._selected.values()
    assert len(selected.points) == 1


def test_gradients_are_refused(tmp_path):
    _, shards, _ = whole_and_shards(tmp_path, 1)
    hypotheses = shards.hypotheses()
    point = hypotheses.point(np.ones(len(shards.names)))
    for ask in (
        lambda: hypotheses.expected([point], [1.0]),
        lambda: hypotheses.covariance([], np.ones((0, 1))),
        lambda: hypotheses.deviation(point),
        hypotheses.sizes,
    ):
        with pytest.raises(UsageError, match="lines and points, and no gradients"):
            ask()


@pytest.mark.parametrize("seed", range(examples(20)))
def test_whether_features_are_rare_is_said_of_all_shards(seed, tmp_path):
    whole, shards, _ = whole_and_shards(tmp_path, seed, parts=4, groups=9)
    sparse = np.arange(3, len(whole.names))
    pairs = [
        Direction(np.array(pair), np.ones(2), "") for pair in itertools.combinations(sparse, 2)
    ]
    shards.total_at(np.zeros(len(whole.names)))  # from then on shards have hypotheses
    here = whole.hypotheses()
    for shard in shards.shards._actors._objects:
        (selected,) = shard._selected.values()
        for pair in pairs:
            is_rare = here._fired(pair) is not None
            assert (selected.hypotheses._fired(pair) is not None) == is_rare
