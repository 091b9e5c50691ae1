"""Independent pieces of work on the cores of this machine.

Kernels release the GIL, so threads are enough; every piece is computed by one thread in a
fixed order, and results come back in the order of the pieces. The number of threads
therefore never changes a bit of the result.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tunesmith.errors import UsageError

T = TypeVar("T")
R = TypeVar("R")

#: Many small pieces are submitted in this many runs per thread: submitting one costs as much as a
#: small piece of work.
RUNS = 16

#: The variable with the number of processes that share this machine's memory, set in workers.
SHARERS = "TUNESMITH_SHARERS"

#: Idle pools by size; list.pop and list.append are atomic.
_idle: dict[int, list[ThreadPoolExecutor]] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads stay with the parent


class _Share:
    """The threads that runs of pieces share: more for each as fewer runs are left."""

    def __init__(self, total: int, runs: int, above: _Share | None) -> None:
        self._total, self._free, self._above = total, runs, above
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def done(self) -> None:
        """Return the threads of a run."""
        with self._lock:
            self._free -= 1

    def stop(self) -> None:
        """Cancel pieces and nested pieces, whose results are not needed any more."""
        self._stop.set()

    @property
    def is_stopped(self) -> bool:
        return self._stop.is_set() or (self._above is not None and self._above.is_stopped)

    @property
    def per_run(self) -> int:
        return max(1, self._total // max(1, self._free))


class _Cancelled(BaseException):
    """Raised in a piece of work that has been cancelled."""


_threads: ContextVar[int | _Share | None] = ContextVar("threads", default=None)


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def sharers() -> int:
    """Return the number of processes that share this machine's memory."""
    return int(os.environ.get(SHARERS, "1"))


def thread_count() -> int:
    """Return the number of threads in force; a piece of work has its share of them.

    The share grows while the last pieces are being done, so that no core has to wait for them.
    """
    limit = _threads.get()
    return limit.per_run if isinstance(limit, _Share) else limit or available_threads()


@contextlib.contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Limit kernels and BLAS to ``count`` threads within the block.

    Parameters
    ----------
    count
        The number of threads; None uses all cores.
    """
    if count is not None and count < 1:
        raise UsageError(f"threads is {count}; give 1 or more")
    import numba
    from threadpoolctl import threadpool_limits

    token = _threads.set(count)
    before = numba.get_num_threads()
    most: int = numba.config.NUMBA_NUM_THREADS
    numba.set_num_threads(min(thread_count(), most))
    try:
        with threadpool_limits(thread_count()):
            yield
    finally:
        numba.set_num_threads(before)
        _threads.reset(token)


@contextlib.contextmanager
def threads_of_piece(count: int) -> Iterator[None]:
    """Give a piece of work that runs in another thread ``count`` threads of its own."""
    token = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(token)


def end_if_unwanted() -> None:
    """End the piece of work that calls this if an error or an interrupt has stopped its map.

    For long pieces, between two steps; :func:`map_pieces` does so itself for nested pieces.
    """
    share = _threads.get()
    if isinstance(share, _Share) and share.is_stopped:
        raise _Cancelled


def map_pieces(
    work: Callable[[T], R], pieces: Sequence[T], results: MutableMapping[int, R] | None = None
) -> list[R]:
    """Return ``[work(p) for p in pieces]``, computed on the threads in force.

    Calls within a piece share the threads that are left over. An error or an interrupt cancels
    pieces that have not started, and stops running ones where they call this.

    Parameters
    ----------
    results
        Filled with each result as it arrives, keyed by the number of its piece: the partial
        results after an interrupt.
    """
    results = {} if results is None else results

    def do(number: int) -> R:
        end_if_unwanted()
        results[number] = result = work(pieces[number])
        return result

    total = thread_count()
    count = min(total, len(pieces))
    if count <= 1:
        return [do(number) for number in range(len(pieces))]
    size = max(1, len(pieces) // (RUNS * count))
    runs = range(0, len(pieces), size)
    above = _threads.get()
    share = _Share(total, len(runs), above if isinstance(above, _Share) else None)

    def run(first: int) -> list[R]:
        _threads.set(share)
        try:
            return [do(number) for number in range(first, min(first + size, len(pieces)))]
        finally:
            share.done()

    with _pool(count) as pool:
        try:
            futures = [pool.submit(run, first) for first in runs]
            return [result for future in futures for result in future.result()]
        except BaseException:
            share.stop()
            raise


def ahead(work: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R]]:
    """Yield each item with ``work(item)``, in their order; some are computed ahead on threads.

    For streams: no more items are taken than there are threads, and one. Errors come in their
    place, whether they are raised by the work or by the stream.
    """
    count = thread_count()
    if count == 1:
        yield from ((item, work(item)) for item in items)
        return

    def alone(item: T) -> R:
        with threads_of_piece(1):
            return work(item)

    waiting: deque[tuple[T, Future[R]]] = deque()
    failure: Exception | None = None
    stream = iter(items)
    with _pool(count) as pool:
        while True:
            try:
                item = next(stream)
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001  (raised again, after the items before it)
                failure = error
                break
            waiting.append((item, pool.submit(alone, item)))
            if len(waiting) > count:
                done, future = waiting.popleft()
                yield done, future.result()
        while waiting:
            done, future = waiting.popleft()
            yield done, future.result()
    if failure is not None:
        raise failure


@contextlib.contextmanager
def _pool(count: int) -> Iterator[ThreadPoolExecutor]:
    """Lend an idle pool, or a new one.

    Starting threads takes longer than many kernels. A pool has one user at a time, so that nested
    maps do not wait for each other.
    """
    try:
        pool = _idle.setdefault(count, []).pop()
    except IndexError:
        pool = ThreadPoolExecutor(count)
    try:
        yield pool
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
    _idle[count].append(pool)


def pieces_of(
    items: int,
    weights: NDArray[Any] | None = None,
    per_thread: int = 4,
    workers: int | None = None,
) -> list[slice]:
    """Cut ``range(items)`` into runs of about equal weight, a few for each thread, or worker."""
    count = max(1, min(items, (workers or thread_count()) * per_thread))
    if weights is None:
        edges = np.linspace(0, items, count + 1).astype(int)
    else:
        done = np.concatenate([[0], np.cumsum(weights)])
        edges = np.searchsorted(done, np.linspace(0, done[-1], count + 1))
    edges = np.unique(np.concatenate([[0], edges, [items]]))
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(edges)]
