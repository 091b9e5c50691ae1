"""Everything that a GPU answers, held against the processor and against brute force.

Where there is no GPU, ``test_simulator`` runs these tests in numba-cuda's simulator.
"""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest

from tests.helpers.device import random_set
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.envelope import winners_of
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.parallel.device import device, why_no_cuda
from tunesmith.search.line.batch import LineSearch
from tunesmith.search.space.space import Space
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
REASON = why_no_cuda()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"no GPU: {REASON}")
#: Simulated kernels take seconds for a set that takes a GPU microseconds.
SEEDS = range(3) if SIMULATED else range(60)


def tuning_of(rng: np.random.Generator) -> TuningSet:
    digits = int(rng.choice([0, 1, 9]))
    if SIMULATED:
        return random_set(rng, int(rng.integers(1, 4)), 6, 2, int(rng.integers(0, 3)), digits)
    most = int(rng.choice([3, 30, 700, 3000]))
    sparse = int(rng.choice([0, 3, 20]))
    return random_set(rng, int(rng.integers(1, 40)), most, int(rng.integers(1, 7)), sparse, digits)


def directions_of(rng: np.random.Generator, tuning: TuningSet) -> list[Direction]:
    axes = Space.free(tuning.names).coordinates()
    return [*axes[:3], Direction.of(rng.standard_normal(len(tuning.names)), "random")]


@pytest.mark.parametrize("seed", SEEDS)
def test_points(seed: int) -> None:
    from tunesmith.inference.lists.device.hypotheses import DeviceHypotheses

    rng = np.random.default_rng(seed)
    tuning = tuning_of(rng)
    weights = rng.standard_normal(len(tuning.names)).round(int(rng.choice([0, 1, 9])))
    on_processor, on_device = ListHypotheses(tuning), DeviceHypotheses(tuning)
    expected, point = on_processor.point(weights), on_device.point(weights)
    np.testing.assert_array_equal(point.cache.scores, expected.cache.scores)
    np.testing.assert_array_equal(point.cache.winners, expected.cache.winners)
    np.testing.assert_array_equal(point.total, expected.total)
    assert point.gain == expected.gain
    for direction in directions_of(rng, tuning):
        moved = on_device.move(point, direction, 0.37)
        expected_move = on_processor.move(expected, direction, 0.37)
        np.testing.assert_array_equal(moved.cache.winners, expected_move.cache.winners)
        np.testing.assert_array_equal(moved.total, expected_move.total)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("are_many", [False, True])
def test_best_steps_are_those_of_the_processor(
    seed: int, are_many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tunesmith.inference.lists.device import batches
    from tunesmith.inference.lists.device.hypotheses import DeviceHypotheses

    if are_many:
        monkeypatch.setattr(batches, "BLOCKS", 0)
    rng = np.random.default_rng(seed)
    tuning = tuning_of(rng)
    weights = rng.standard_normal(len(tuning.names))
    search = LineSearch(Space.free(tuning.names))
    steps = []
    for hypotheses in (ListHypotheses(tuning), DeviceHypotheses(tuning)):
        point = hypotheses.point(weights)
        lines = [(point, d) for d in directions_of(np.random.default_rng(seed), tuning)]
        steps.append(list(search.steps(hypotheses, lines)))
    for expected, step in zip(*steps, strict=True):
        assert step.gain == expected.gain
        assert step.size == pytest.approx(expected.size, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_totals_between_breakpoints_are_those_of_brute_force(seed: int) -> None:
    from tunesmith.inference.lists.device.hypotheses import DeviceHypotheses

    rng = np.random.default_rng(seed)
    tuning = tuning_of(rng)
    hypotheses = DeviceHypotheses(tuning)
    point = hypotheses.point(rng.standard_normal(len(tuning.names)))
    for direction in directions_of(rng, tuning):
        envelope = hypotheses.envelope(point, direction)
        order = np.argsort(envelope.at, kind="stable")
        changes = np.cumsum(envelope.change[order], axis=0)
        totals = np.concatenate([envelope.total[None], envelope.total + changes])
        edges = np.unique(envelope.at[np.isfinite(envelope.at)])
        between = (edges[1:] + edges[:-1])[np.diff(edges) > 1e-6 * (1 + abs(edges[1:]))] / 2
        ends = [edges[0] - 1.0, edges[-1] + 1.0] if len(edges) else [0.0]
        slopes = tuning.candidates.features.dot(direction.vector(len(tuning.names)))
        for step in rng.permutation([*ends, *between])[: 3 if SIMULATED else 20]:
            scores = point.cache.scores + step * slopes
            if has_near_ties(scores, tuning.candidates.start):
                continue
            winners = winners_of(scores, tuning.candidates.start)
            interval = np.searchsorted(envelope.at[order], step)
            np.testing.assert_array_equal(totals[interval], tuning.total(winners))


def has_near_ties(scores: np.ndarray, start: np.ndarray) -> bool:
    """Tell whether rounding may decide who wins somewhere."""
    for first, last in itertools.pairwise(start):
        best = np.sort(scores[first:last])[-2:]
        if len(best) == 2 and best[1] - best[0] <= 1e-9 * abs(scores[first:last]).max():
            return True
    return False


def test_mert_finds_the_same_to_the_bit() -> None:
    size = (2, 4, 2) if SIMULATED else (40, 50, 5)
    tuning = random_set(np.random.default_rng(9), *size, 0, 2)
    results = []
    for name in ("cpu", "cuda"):
        with device(name):
            tuner = MERT(restarts=1 if SIMULATED else 12, walks=0)
            results.append(tuner.fit(tuning, rng=1))
    expected, result = results
    assert dict(result.weights) == dict(expected.weights)
    assert result.score == expected.score
    assert result.line_searches == expected.line_searches


def test_winners_of_a_set_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from tunesmith.inference.lists.device import winners

    rng = np.random.default_rng(3)
    tuning = random_set(rng, 12, 6, 2, 3, 1)
    weights = rng.standard_normal(len(tuning.names)).round(1)
    monkeypatch.setattr(winners, "SHARE", 1e-9 if not SIMULATED else winners.SHARE)
    expected = winners_of(tuning.candidates.features.dot(weights), tuning.candidates.start)
    np.testing.assert_array_equal(winners.winners(tuning.candidates, weights), expected)
    nothing = np.zeros(len(weights))
    np.testing.assert_array_equal(
        winners.winners(tuning.candidates, nothing), tuning.candidates.start[:-1]
    )


def test_a_set_that_is_too_large_is_refused_with_what_would_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tunesmith.errors import TunesmithError
    from tunesmith.inference.lists.device import batches

    tuning = random_set(np.random.default_rng(1), 3, 4, 2, 0, 1)

    monkeypatch.setattr(batches, "SIMULATED", False)
    monkeypatch.setattr(batches, "free_bytes", lambda: 1000)
    with pytest.raises(TunesmithError, match=r"of the GPU's memory.* enough for .*--device cpu"):
        batches.Batches(tuning)
    monkeypatch.setattr("tunesmith.tasks.lists.takes_gpu", lambda count: True)
    assert type(tuning.hypotheses()) is ListHypotheses  # nobody asked for a GPU


def test_what_is_interrupted_leaves_no_row_to_two_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tunesmith.inference.lists.device.hypotheses import DeviceHypotheses

    tuning = random_set(np.random.default_rng(2), 3, 5, 3, 0, 9)
    hypotheses = DeviceHypotheses(tuning)
    batches = hypotheses._batches
    ways = [Direction.of(np.eye(3)[k] + 1.0, f"{k}") for k in range(3)]
    for way in ways[:2]:
        batches.row_of(way)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(batches, "_multiply", interrupted)
        patch.setattr(batches, "_ways", batches.dense + 2)
        with pytest.raises(KeyboardInterrupt):
            batches.row_of(ways[2])
    rows = [batches.row_of(way) for way in ways]
    assert len(set(rows[1:])) == 2


def test_pieces_that_are_interrupted_end_and_raise() -> None:
    from tunesmith.inference.meeting import Meetings

    def work(piece: int) -> int:
        if piece == 1:
            raise ValueError("piece 1")
        return meetings.ask(lambda items: [2 * item for item in items], [piece])[0]

    meetings = Meetings()
    assert meetings.hold(work, [3, 4]) == [6, 8]
    assert meetings.hold(work, []) == []
    with pytest.raises(ValueError, match="piece 1"):
        meetings.hold(work, [0, 1, 2])
