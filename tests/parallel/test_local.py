from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from tunesmith.errors import UsageError
from tunesmith.parallel.local import map_pieces, pieces_of, thread_count, threads


@pytest.mark.parametrize("count", [1, 2, 7])
def test_results_come_in_the_order_of_the_pieces(count):
    def work(k):
        time.sleep(0.001 * ((7 * k) % 5))
        return k * k

    with threads(count):
        assert map_pieces(work, range(30)) == [k * k for k in range(30)]


def test_threads_are_used_and_shared_out_within():
    seen = set()
    together = threading.Barrier(2, timeout=30)

    def work(_):
        seen.add((threading.get_ident(), thread_count()))
        together.wait()

    with threads(4):
        map_pieces(work, range(2))
        assert thread_count() == 4
    assert {count for _, count in seen} == {2}
    assert len(seen) == 2


def test_an_error_stops_what_has_not_begun():
    begun = []

    def work(k):
        begun.append(k)
        if k == 0:
            raise ValueError("stop")
        time.sleep(0.02)

    with threads(2), pytest.raises(ValueError, match="stop"):
        map_pieces(work, range(100))
    assert len(begun) < 50


def test_pieces_cover_everything_once():
    rng = np.random.default_rng(0)
    for items in (0, 1, 2, 5, 1000):
        for weights in (None, rng.integers(1, 100, items)):
            pieces = pieces_of(items, weights)
            assert [k for piece in pieces for k in range(items)[piece]] == list(range(items))


def test_no_threads_is_an_error():
    with pytest.raises(UsageError, match="threads is 0"), threads(0):
        pass
