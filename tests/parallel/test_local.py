from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.helpers.waiting import PATIENCE, wait_until
from tunesmith.errors import UsageError
from tunesmith.parallel import local
from tunesmith.parallel.local import ahead, map_pieces, pieces_of, thread_count, threads


@pytest.mark.parametrize("count", [1, 2, 7])
def test_results_come_in_the_order_of_the_pieces(count):
    def work(k):
        time.sleep(0.001 * ((7 * k) % 5))
        return k * k

    with threads(count):
        assert map_pieces(work, range(30)) == [k * k for k in range(30)]


def test_threads_are_used_and_shared_out_within():
    seen = set()
    together = threading.Barrier(2, timeout=PATIENCE)

    def work(_):
        seen.add((threading.get_ident(), thread_count()))
        together.wait()

    with threads(4):
        map_pieces(work, range(2))
        assert thread_count() == 4
    assert {count for _, count in seen} == {2}
    assert len(seen) == 2


def test_the_last_piece_has_the_threads_of_the_others():
    together = threading.Barrier(2, timeout=PATIENCE)
    counts = []

    def work(piece):
        together.wait()
        if piece == 0:
            return
        wait_until(lambda: thread_count() != 2)
        counts.append(thread_count())

    with threads(4):
        map_pieces(work, range(2))
    assert counts == [4]


def test_threads_are_used_again():
    together = threading.Barrier(2, timeout=PATIENCE)

    def work(_):
        together.wait()
        return threading.get_ident()

    with threads(2):
        seen = [set(map_pieces(work, range(8))) for _ in range(3)]
        inner = map_pieces(lambda _: sum(map_pieces(lambda k: k, range(5))), range(4))
    assert len(seen[0]) == 2
    assert seen[0] == seen[1] == seen[2]
    assert inner == [10] * 4


def test_pieces_within_pieces_have_threads_of_their_own():
    def inner(k):
        time.sleep(0.001)
        return k, threading.get_ident()

    def outer(k):
        return threading.get_ident(), map_pieces(inner, range(4))

    with threads(4):
        for mine, found in map_pieces(outer, range(2)):
            assert [k for k, _ in found] == [0, 1, 2, 3]
            assert mine not in {other for _, other in found}


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_starts_threads_of_its_own():
    code = """
import os, warnings
warnings.simplefilter("ignore")
from tunesmith.parallel import local
from tunesmith.parallel.local import map_pieces, threads
with threads(2):
    map_pieces(abs, [-1, 2])
    child = os.fork()
    if child == 0:
        os._exit(0 if map_pieces(abs, [-3, 4]) == [3, 4] else 1)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert (
        subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, check=False).returncode == 0
    )


def test_an_error_stops_what_has_not_begun(monkeypatch):
    stopped = threading.Event()
    begun = []

    class Pool(ThreadPoolExecutor):
        def shutdown(self, *args, **options):
            stopped.set()
            super().shutdown(*args, **options)

    def work(k):
        begun.append(k)
        if k == 0:
            raise ValueError("stop")
        assert stopped.wait(PATIENCE)

    monkeypatch.setattr(local, "_idle", {})
    monkeypatch.setattr(local, "ThreadPoolExecutor", Pool)
    with threads(2), pytest.raises(ValueError, match="stop"):
        map_pieces(work, range(100))
    # The first, and what both threads were at when it was known.
    assert len(begun) <= 3


def test_pieces_cover_everything_once():
    rng = np.random.default_rng(0)
    for items in (0, 1, 2, 5, 1000):
        for weights in (None, rng.integers(1, 100, items)):
            pieces = pieces_of(items, weights)
            assert [k for piece in pieces for k in range(items)[piece]] == list(range(items))


def test_no_threads_is_an_error():
    with pytest.raises(UsageError, match="threads is 0"), threads(0):
        pass


def test_results_are_there_before_the_last() -> None:
    for count in (1, 2):
        made: dict[int, int] = {}

        def work(piece: int, made: dict[int, int] = made) -> int:
            if piece == 3:
                while len(made) < 3:
                    time.sleep(0.001)
                raise KeyError(piece)
            return piece * piece

        with threads(count), pytest.raises(KeyError):
            map_pieces(work, range(4), made)
        assert made == {0: 0, 1: 1, 2: 4}


def test_pieces_of_pieces_end_when_nobody_waits_for_them() -> None:
    begun = threading.Event()
    ended: list[BaseException] = []

    def long(_: int) -> None:
        begun.set()
        try:
            while True:  # until it is told
                map_pieces(lambda piece: time.sleep(0.001), [0])
        except BaseException as error:
            ended.append(error)
            raise

    def work(piece: int) -> None:
        if piece == 0:
            begun.wait()
            raise KeyError(piece)
        map_pieces(long, [0])

    with threads(2), pytest.raises(KeyError):
        map_pieces(work, [0, 1])
    assert len(ended) == 1


@pytest.mark.parametrize("count", [1, 2, 4])
def test_streams_are_computed_ahead_in_their_order(count):
    taken = []

    def items():
        for k in range(20):
            taken.append(k)
            yield k

    with threads(count):
        for done, (item, result) in enumerate(ahead(lambda k: k * k, items())):
            assert (item, result) == (done, done * done)
            assert len(taken) <= done + 1 + count
    assert len(taken) == 20


def test_an_error_in_a_stream_comes_in_its_place():
    def work(k):
        if k == 3:
            raise ValueError("three")
        return k

    def broken():
        yield from range(3)
        raise ValueError("three")

    def go_on(seen, do, items):
        with threads(2):
            seen.extend(item for item, _ in ahead(do, items))

    for items, do in ((range(10), work), (broken(), int)):
        seen = []
        with pytest.raises(ValueError, match="three"):
            go_on(seen, do, items)
        assert seen == [0, 1, 2]
    with threads(2):
        stream = ahead(work, range(3))
        assert next(stream) == (0, 0)
        stream.close()
        assert list(ahead(work, range(3))) == [(0, 0), (1, 1), (2, 2)]
