"""What every engine must do, and what those must do that can lose workers."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import warnings

import numpy as np
import pytest

from tests.helpers.parallel import engine_work
from tests.helpers.parallel.clock import flying, let_time_pass
from tests.helpers.parallel.ray_cluster import ray_engine
from tunesmith.errors import FormatError, TunesmithError, UnknownNameError, UsageError
from tunesmith.parallel.engine import Answer, Lost, map_over, working_on
from tunesmith.parallel.remote.processes import ProcessEngine
from tunesmith.parallel.threads import ThreadEngine

MAKERS = {"threads": ThreadEngine, "processes": lambda: ProcessEngine(2), "ray": ray_engine}


@pytest.fixture(scope="module")
def engines():
    """Engines that are made when they are first wanted, and have workers in common."""
    made = {}

    def engine(name):
        if name not in made:
            made[name] = MAKERS[name]()
        return made[name]

    yield engine
    for one in made.values():
        one.close()


RAY = pytest.param("ray", marks=pytest.mark.long)


@pytest.fixture(params=["threads", "processes", RAY])
def engine(request, engines):
    return engines(request.param)


@pytest.fixture(params=["processes", RAY])
def remote(request, engines):
    return engines(request.param)


def answers(actors, count):
    found = [actors.wait() for _ in range(count)]
    assert all(isinstance(one, Answer) for one in found)
    return {one.actor: one.value for one in found}


@pytest.mark.parametrize("count", [0, 1, 2, 7, 300])
def test_results_come_in_the_order_of_the_pieces(engine, count):
    data = np.arange(5.0)
    made = {}
    found = engine.map(engine_work.added, data, range(count), 0.5, 0.25, results=made)
    assert found == [10.0 + k + 0.75 for k in range(count)]
    assert made == dict(enumerate(found))


def test_the_engine_in_force_does_what_is_shared_out(engine):
    with working_on(engine):
        found = set(map_over(None, engine_work.process, range(40)))
    assert (os.getpid() in found) == (engine.name == "threads")


def test_bits_do_not_depend_on_who_works(engine):
    rng = np.random.default_rng(1)
    data, weights = rng.normal(size=3001), rng.normal(size=5000)
    expected = [engine_work.means(data, k, weights) for k in range(6)]
    assert engine.map(engine_work.means, data, range(6), weights) == expected


def test_large_pieces_and_results(engine):
    data = np.linspace(0.0, 1.0, 200_000)
    pieces = [np.arange(200_000.0) + k for k in range(5)]
    found = engine.map(engine_work.whole, data, pieces)
    for piece, result in zip(pieces, found, strict=True):
        np.testing.assert_array_equal(result, data * piece[::-1])
        result[0] = 1.0  # ours to write to


def test_data_are_sent_once(engine):
    is_remote = engine.name != "threads"
    engine_work.Large.packed = 0
    large = engine_work.Large(np.arange(50_000.0))
    other = np.ones(3)
    counts = {}
    for data in (large, (large, other), large, (large, 7), (large, other)):
        for process, count, total in engine.map(engine_work.times_unpacked, data, range(6)):
            assert total == np.arange(50_000.0).sum()
            assert counts.setdefault(process, count) == count
    assert engine_work.Large.packed == is_remote
    another = engine_work.Large(np.arange(3.0))
    assert {t for *_, t in engine.map(engine_work.times_unpacked, another, range(4))} == {3.0}
    assert engine_work.Large.packed == 2 * is_remote


@pytest.mark.long
def test_data_that_are_gone_are_let_go(remote):
    large = engine_work.Large(np.arange(50_000.0))
    before = len(remote._broadcast.blocks)
    remote.map(engine_work.times_unpacked, large, range(2))
    assert len(remote._broadcast.blocks) == before + 1
    del large
    gc.collect()
    assert len(remote._broadcast.blocks) == before
    # An object in the same place is another object.
    for k in range(5):
        fresh = engine_work.Large(np.full(10, float(k)))
        assert remote.map(engine_work.times_unpacked, fresh, [0])[0][2] == 10.0 * k


def test_workers_write_to_pages_of_their_own(remote):
    data = np.zeros(100_000)
    kept = data.copy()
    for is_writable, before in remote.map(engine_work.writable, data, range(8)):
        assert is_writable
        assert before % 100_000 == 0.0
    np.testing.assert_array_equal(data, kept)


def test_an_error_comes_as_what_it_is(engine):
    with pytest.raises(TunesmithError, match=r"^piece 7 is wrong; give another$"):
        engine.map(engine_work.failing, 7, range(20))
    with pytest.raises(FormatError, match=r"^a.txt:3: number 4 is missing; give one$") as caught:
        engine.map(engine_work.raising, 4, [(4, "format")])
    assert (caught.value.path, caught.value.line) == ("a.txt", 3)
    with pytest.raises(UnknownNameError, match="unknown metric 'blau'; did you mean bleu"):
        engine.map(engine_work.raising, 0, [(1, "unknown")])
    with pytest.raises(KeyError, match="nothing") as caught:
        engine.map(engine_work.raising, 0, [(1, "key")])
    assert caught.value.args == ("nothing", 1)
    with pytest.raises(UnicodeDecodeError, match="0xff in position 0"):
        engine.map(engine_work.raising, 0, [(1, "decode")])
    with pytest.raises(ValueError, match="with a lock"):
        engine.map(engine_work.raising, 0, [(1, "state")])
    assert engine.map(engine_work.failing, None, range(3)) == [0, 1, 2]


def test_the_error_of_the_first_piece_that_fails_is_raised(engine):
    kinds = ["format", "unknown", "key", "decode"]
    for first in range(3, 12):
        pieces = [(k, kinds[k % 4] if k >= first else "format") for k in range(30)]
        expected = [FormatError, UnknownNameError, KeyError, UnicodeDecodeError][first % 4]
        with pytest.raises(expected):
            engine.map(engine_work.raising, first, pieces)


def test_errors_of_workers_say_where(remote):
    with pytest.raises(KeyError) as caught:
        remote.map(engine_work.raising, 0, [(1, "key")])
    assert "in raising" in "".join(caught.value.__notes__)
    with pytest.raises(TunesmithError, match="LocalError in a worker: cannot travel"):
        remote.map(engine_work.raising, 0, [(1, "unpicklable")])
    with pytest.raises(TunesmithError, match="cannot be sent to another process"):
        remote.map(engine_work.unpicklable, 0, [1])
    with pytest.raises(TunesmithError, match="cannot be sent to another process"):
        remote.map(engine_work.added, 0.0, [lambda: 1])
    with pytest.raises(TunesmithError, match="cannot be sent to another process"):
        remote.map(lambda data, piece: piece, 0.0, [1])
    assert remote.map(engine_work.added, 1.0, [1]) == [2.0]


def test_an_error_stops_what_has_not_begun(remote, tmp_path):
    with pytest.raises(TunesmithError, match="the first is wrong"):
        remote.map(engine_work.begun, str(tmp_path), range(50))
    remote.map(engine_work.added, 0.0, range(4))
    assert len(list(tmp_path.iterdir())) < 10


def test_warnings_are_given_once_each(engine):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        assert engine.map(engine_work.warning, None, [0, 1, 0, 1, 0]) == [0, 1, 0, 1, 0]
    assert sorted(str(w.message) for w in caught) == ["piece 0 is odd", "piece 1 is odd"]
    assert {w.category for w in caught} == {UserWarning}


def test_warnings_that_are_errors_are_raised(engine):
    for _ in range(5):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="is odd"):
                engine.map(engine_work.warning, None, range(9))
        assert engine.map(engine_work.added, 0.0, range(9)) == list(range(9))


def test_work_within_work_is_done_by_threads(engine):
    with working_on(engine):
        found = map_over(np.arange(4.0), engine_work.nested, [3, 5])
    assert found == [("threads", [6.5 + k for k in range(n)]) for n in (3, 5)]


def test_actors_keep_their_state(engine):
    data = np.ones(3)
    actors = engine.actors(engine_work.Counter, data, list(range(7)))
    assert len(actors) == 7
    for turn in range(1, 4):
        for k in range(7):
            actors.call(k, "add", 10 * k)
        assert answers(actors, 7) == {k: k + 10 * k * turn for k in range(7)}
    actors.call(3, "work_within", [1, 2])
    assert actors.wait() == Answer(3, [4.0, 5.0])
    actors.replace(2, 100)
    actors.call(2, "add", 1)
    actors.call(3, "add", 0)
    assert answers(actors, 2) == {2: 101, 3: 93}
    actors.close()


def test_actors_and_maps_do_not_get_in_each_others_way(engine):
    first = engine.actors(engine_work.Counter, None, [0, 10])
    second = engine.actors(engine_work.Counter, None, [100, 200, 300])
    for k in range(2):
        first.call(k, "add", 1)
    for k in range(3):
        second.call(k, "add", 2)
    assert engine.map(engine_work.added, 1.0, range(50)) == [1.0 + k for k in range(50)]
    assert answers(second, 3) == {0: 102, 1: 202, 2: 302}
    assert answers(first, 2) == {0: 1, 1: 11}
    first.close()
    second.close()


def test_errors_of_actors(engine):
    actors = engine.actors(engine_work.Counter, None, [5])
    actors.call(0, "fail")
    with pytest.raises(TunesmithError, match=r"^the counter is wrong; count anew$"):
        actors.wait()
    actors.call(0, "add", 1)
    assert actors.wait() == Answer(0, 6)
    actors.close()
    with pytest.raises(TunesmithError, match=r"^seed 2 is odd; give another$"):
        engine.actors(engine_work.Odd, 2, [0, 1, 2, 3])


def test_a_call_too_many_is_refused(engine):
    actors = engine.actors(engine_work.Counter, None, [0])
    with pytest.raises(UsageError, match="no actor owes an answer"):
        actors.wait()
    actors.call(0, "add", 1)
    with pytest.raises(UsageError, match="actor 0 owes an answer"):
        actors.call(0, "add", 1)
    with pytest.raises(UsageError, match="actor 0 owes an answer"):
        actors.replace(0, 1)
    assert actors.wait() == Answer(0, 1)
    actors.close()


@pytest.mark.long
def test_a_piece_whose_worker_dies_is_done_again(remote, tmp_path):
    assert remote.map(engine_work.dying_once, str(tmp_path), range(3)) == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.long
def test_a_piece_whose_worker_hangs_is_done_again(remote, tmp_path, monkeypatch):
    remote.map(engine_work.added, 0.0, range(2))
    mark, losses = tmp_path / "5.begun", dict(remote.losses)
    let_time_pass(monkeypatch, flying(601, lambda: mark.exists() and remote.losses == losses))
    assert remote.map(engine_work.hanging_once, str(tmp_path), [5]) == [5]


@pytest.mark.long
def test_a_piece_that_ends_every_worker_is_named(remote):
    with pytest.raises(TunesmithError, match=r"^piece 4 of 6 ended 3 workers \(.*\); give") as one:
        remote.map(engine_work.deadly, 3, range(6))
    assert "\n" not in str(one.value)
    assert remote.map(engine_work.deadly, None, range(6)) == list(range(6))


@pytest.mark.long
def test_workers_killed_at_random_lose_nothing(remote, tmp_path):
    done = threading.Event()
    killed = set()

    def kill():
        rng = random.Random(1)
        while len(killed) < 2 and not done.wait(rng.uniform(0.1, 0.4)):
            found = {int(path.name) for path in tmp_path.iterdir()} - killed
            if found:
                chosen = rng.choice(sorted(found))
                os.kill(chosen, signal.SIGKILL)
                killed.add(chosen)
        (tmp_path / "enough").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = remote.map(engine_work.slow, str(tmp_path), range(120))
    finally:
        done.set()
        killer.join()
    assert found == [k * k for k in range(120)]
    assert len(killed) == 2


@pytest.mark.long
def test_actors_of_a_dead_worker_are_lost(remote):
    actors = remote.actors(engine_work.Counter, None, [0, 10, 20, 30])  # 0 and 2 live together
    actors.call(0, "die")
    actors.call(1, "add", 1)
    found = {one.actor: one for one in (actors.wait(), actors.wait())}
    assert isinstance(found[0], Lost)
    assert found[1] == Answer(1, 11)
    actors.call(2, "add", 1)
    assert isinstance(actors.wait(), Lost)
    for k in (0, 2):
        actors.replace(k, 5)
        actors.call(k, "add", k)
    actors.call(3, "add", 1)
    assert answers(actors, 3) == {0: 5, 2: 7, 3: 31}
    actors.close()


@pytest.mark.long
def test_an_actor_that_hangs_is_lost(remote, monkeypatch):
    actors = remote.actors(engine_work.Counter, None, [0, 10])
    actors.call(1, "hang")
    with monkeypatch.context() as patch:
        let_time_pass(patch, lambda: 601.0)
        lost = actors.wait()
    assert lost == Lost(1, "no answer for 600 seconds")
    actors.replace(1, 7)
    actors.call(1, "add", 1)
    assert actors.wait() == Answer(1, 8)
    actors.close()


@pytest.mark.long
def test_an_actor_that_cannot_be_made_is_named(remote):
    with pytest.raises(TunesmithError, match=r"actor 1 ended 3 workers .*, or work in threads$"):
        remote.actors(engine_work.Deadly, 10, [0, 10])
    assert remote.map(engine_work.added, 0.0, [1]) == [1.0]


@pytest.mark.long
def test_workers_have_a_part_of_the_machine(remote, monkeypatch):
    monkeypatch.setenv("TUNESMITH_MEMORY", "1G")
    remote.close()  # they have it from when they start
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for threads, memory, is_looked_at in remote.map(engine_work.surroundings, None, range(2)):
        assert threads == max(1, cores // remote.workers)
        assert memory == (1 << 30) // remote.workers
        assert not is_looked_at
    remote.close()


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"timeout": 0.0}, {"timeout": float("nan")}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(UsageError, match="; give"):
        ProcessEngine(**wrong)
