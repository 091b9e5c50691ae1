"""The engine of a Ray cluster, or of a Ray on this machine.

Workers are Ray actors, so that data and compiled kernels stay with them. Data are put into Ray's
object store once: each node has one copy there, and each worker a writable one, since a kernel that
is given a read-only array would be compiled once more.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar

from tunesmith._version import __version__
from tunesmith.errors import TunesmithError, UsageError, one_line, shortened
from tunesmith.parallel.local import available_threads
from tunesmith.parallel.ray.cluster import Cluster, join_cluster
from tunesmith.parallel.ray.worker import RayWorker, for_ray, whole
from tunesmith.parallel.remote.engine import RemoteEngine
from tunesmith.parallel.remote.packing import PackedValue
from tunesmith.parallel.remote.slots import Link, Slot
from tunesmith.parallel.remote.worker import main_module

#: Seconds for which workers wait for CPUs that others use.
PATIENCE = 20.0


class RayEngine(RemoteEngine):
    """Workers on the nodes of a Ray cluster.

    A Ray that this process has joined before is used, whatever the address, and left as it is.

    Parameters
    ----------
    address
        ``HOST:PORT`` of a cluster's head, ``ray://HOST:PORT`` from a machine outside the cluster,
        ``auto`` for the one of this machine; None is a Ray that starts and ends with the engine.
    workers
        Their number; None is as many as the CPUs allow.
    timeout
        Seconds after which an unresponsive worker is killed; None is never.
    cpus_per_worker
        CPUs, and threads, of each.
    """

    name: ClassVar[str] = "ray"
    worthwhile: ClassVar[float] = 0.05  # a message takes driver and worker a millisecond each

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        timeout: float | None = 600.0,
        cpus_per_worker: int = 1,
    ) -> None:
        if cpus_per_worker < 1:
            raise UsageError(f"cpus_per_worker is {cpus_per_worker}; give 1 or more")
        usual = max(1, available_threads() // cpus_per_worker)
        super().__init__(usual if workers is None else workers, timeout)
        self._address = address
        self._cpus = cpus_per_worker
        self._cluster: Cluster | None = None
        self._kind: Any = None  # the Ray actor class
        self._has_room = False
        room = self._joined.room(cpus_per_worker)
        if workers is None:
            self.workers = max(1, room)
            self._slots = [Slot(k) for k in range(self.workers)]
        if room < self.workers:
            self._end()
            raise UsageError(
                f"the Ray cluster has CPUs for {room} workers, but {self.workers} are wanted; "
                f"give at most {room} workers, or a larger cluster"
            )

    @property
    def _joined(self) -> Cluster:
        if self._cluster is None:
            self._cluster = join_cluster(self._address, self.workers * self._cpus)
            self._has_room = False
            self._kind = self._cluster.ray.remote(
                num_cpus=self._cpus,
                max_restarts=0,
                max_task_retries=0,
                concurrency_groups={"aside": 1},
            )(RayWorker)
        return self._cluster

    def _wait_for_room(self) -> None:
        """Wait until others have let go of CPUs; without them workers would never start."""
        end = time.monotonic() + PATIENCE
        needed = self.workers * self._cpus
        while (free := self._joined.free_cpus()) < needed:
            if time.monotonic() > end:
                raise TunesmithError(
                    f"{self.workers} workers need {needed} CPUs, but others use the Ray cluster "
                    f"and {free:g} are free; give fewer workers, or wait until the others are done"
                )
            time.sleep(0.1)
        self._has_room = True

    def _start(self, number: int) -> Link:
        cluster = self._joined
        if not self._has_room:
            self._wait_for_room()
        neighbours = min(self.workers, cluster.largest(self._cpus))
        settings = {k: v for k, v in os.environ.items() if k.startswith("TUNESMITH_")}
        actor = self._kind.remote(self._cpus, neighbours, sys.path, settings, main_module())
        return RayLink(cluster, actor)

    def _ready(self, links: Sequence[Link], seconds: float | None) -> list[tuple[Link, Any | None]]:
        first = {link.owed[0]: link for link in links if isinstance(link, RayLink) and link.owed}
        if not first:
            time.sleep(min(0.1, seconds or 0.0))
            return []
        wait = self._joined.ray.wait
        done, _ = wait(list(first), num_returns=1, timeout=seconds)
        if done and len(first) > 1:
            done, _ = wait(list(first), num_returns=len(first), timeout=0)
        try:
            return [(first[answer], first[answer].taken()) for answer in done]
        except TunesmithError:
            self._close()
            raise

    def _publish(self, block: PackedValue) -> Any:
        cluster = self._joined
        content = for_ray(block)
        if isinstance(content, bytes):
            return content
        try:
            return (cluster.ray.put(content),)
        except cluster.ray.exceptions.RayError as error:
            raise TunesmithError(
                f"Ray's object store does not take {block.nbytes >> 20} MB "
                f"({shortened(one_line(str(error)))}); start Ray with more object_store_memory"
            ) from None

    def _retire(self, block: Any) -> None:
        """Do nothing: Ray frees what has no references."""

    def _end(self) -> None:
        if self._cluster is not None:
            self._cluster.leave()
            self._cluster = None


class RayLink(Link):
    """An actor of Ray, and the answers that it owes.

    Attributes
    ----------
    owed
        References to the answers, in the order of the messages.
    """

    def __init__(self, cluster: Cluster, actor: Any) -> None:
        self._cluster = cluster
        self._actor = actor
        self._unsent: dict[int, Any] = {}
        self._why = "Ray does not say why"
        self.owed: deque[Any] = deque()

    def hold(self, number: int, block: Any) -> None:
        """Send a block along with the next message."""
        self._unsent[number] = block

    def drop(self, number: int) -> None:
        """Tell the worker, if it has the block."""
        if self._unsent.pop(number, None) is None:
            self._actor.drop.remote(number)

    def ask(self, message: PackedValue) -> None:
        """Send a message."""
        blocks = list(self._unsent.items())
        self._unsent.clear()
        self.owed.append(self._actor.answer.remote(blocks, for_ray(message)))

    def skip(self, task: int) -> None:
        """Tell the worker, which runs this concurrently."""
        self._actor.skip.options(concurrency_group="aside").remote(task)

    def taken(self) -> Any | None:
        """Return the first answer, which is there; None if the worker is dead."""
        try:
            return whole(self._cluster.ray.get(self.owed.popleft()))
        except self._cluster.ray.exceptions.RayError as error:
            self._why = cause(str(error))
            return None

    def kill(self) -> None:
        """Kill the actor, also one that has not started."""
        with contextlib.suppress(Exception):  # it may be dead, or Ray be gone
            self._cluster.ray.kill(self._actor, no_restart=True)

    def why(self) -> str:
        """Say what Ray says."""
        return self._why


def cause(text: str) -> str:
    """Return why an actor died, in a few words; raise an error that no new actor can fix."""
    if missing := re.search(r"No module named '(tunesmith[\w.]*|numba|numpy|scipy)'", text):
        raise TunesmithError(
            f"workers of the Ray cluster do not find {missing[1]}; "
            f"install tunesmith {__version__} on all of its nodes"
        )
    line = one_line(re.sub(r"\x1b\[[0-9;]*m", "", text))
    if "creation task" in line:
        raise TunesmithError(
            f"a worker cannot begin: {shortened(line[-300:])}; "
            f"install tunesmith {__version__} on all nodes of the Ray cluster"
        )
    match = re.search(
        r"(?:because|Worker exit detail:) ([^.]*(?:memory|node|killed|exit)[^.]*)", line
    )
    return shortened(match[1] if match else line)
