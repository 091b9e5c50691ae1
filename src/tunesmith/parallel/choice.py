"""Which engine a user means."""

from __future__ import annotations

from tunesmith.errors import UnknownNameError, UsageError
from tunesmith.parallel.engine import Engine
from tunesmith.parallel.local import thread_count
from tunesmith.parallel.threads import ThreadEngine

#: Names of the engines, the one that needs nothing first.
ENGINES = ("threads", "processes", "ray")


def engine_of(
    name: str = "threads",
    workers: int | None = None,
    address: str | None = None,
    timeout: float | None = 600.0,
) -> Engine:
    """Return an engine, which the caller closes.

    Parameters
    ----------
    name
        One of :data:`ENGINES`.
    workers
        Number of processes; None is one per thread in force, or per CPU of a cluster.
    address
        The Ray cluster to join; None starts one on this machine.
    timeout
        Seconds after which an unresponsive worker is replaced; None is never.
    """
    if name not in ENGINES:
        raise UnknownNameError("engine", name, ENGINES)
    if address is not None and name != "ray":
        raise UsageError(
            f"the engine {name} has no address; give --engine ray, or leave --address out"
        )
    if name == "threads":
        if workers is not None:
            raise UsageError(
                "the engine threads has no workers; give --threads N, or --engine processes"
            )
        return ThreadEngine()
    if workers is not None and workers < 1:
        raise UsageError(f"workers is {workers}; give 1 or more")
    if name == "processes":
        from tunesmith.parallel.remote.processes import ProcessEngine

        return ProcessEngine(workers or thread_count(), timeout)
    from tunesmith.parallel.ray.engine import RayEngine

    if address is None:
        workers = workers or thread_count()
    return RayEngine(address, workers, timeout)
