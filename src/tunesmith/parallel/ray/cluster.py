"""Joining a Ray cluster, or starting a Ray on this machine; and what is said when that fails.

Ray waits for minutes where nobody answers, and writes to the terminal meanwhile. A cluster is
therefore first joined by another process, which is killed after some seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from tunesmith.errors import MissingExtraError, TunesmithError, UsageError, one_line, shortened

#: Seconds that joining a cluster may take.
LIMIT = 25.0

_FORMS = "HOST:PORT, ray://HOST:PORT or auto"


class Cluster:
    """A Ray that this process has joined.

    Attributes
    ----------
    ray
        The module.
    """

    def __init__(self, ray: Any, address: str | None, cpus: int) -> None:
        self.ray = ray
        self._users = 0
        self._undo = contextlib.ExitStack()
        if ray.is_initialized():
            return
        with self._undo, _restore_handler():
            self._undo.enter_context(_quiet(ray))
            if address is None:
                self._undo.enter_context(_start_local(ray, cpus))
            else:
                _join(ray, address)
                self._undo.callback(ray.shutdown)
            self._undo = self._undo.pop_all()
        atexit.register(self._undo.close)  # for callers that never leave

    def use(self) -> Cluster:
        """Count one more user."""
        self._users += 1
        return self

    def leave(self) -> None:
        """Count one user less; the last leaves the cluster, and ends one that was started here."""
        global _cluster  # noqa: PLW0603
        self._users -= 1
        if not self._users:
            if _cluster is self:
                _cluster = None
            self.end()

    def end(self) -> None:
        """Undo what was done to join it; a second call does nothing."""
        atexit.unregister(self._undo.close)
        self._undo.close()

    def _nodes(self) -> list[float]:
        """Return the CPUs of each node."""
        return [node["Resources"].get("CPU", 0.0) for node in self.ray.nodes() if node["Alive"]]

    def room(self, cpus: int) -> int:
        """Return how many workers the cluster has CPUs for."""
        return sum(int(node // cpus) for node in self._nodes())

    def largest(self, cpus: int) -> int:
        """Return how many workers one node can have."""
        return max([1, *(int(node // cpus) for node in self._nodes())])

    def free_cpus(self) -> float:
        """Return the number of free CPUs."""
        return float(self.ray.available_resources().get("CPU", 0.0))


#: One process can be with one Ray at a time.
_cluster: Cluster | None = None


def join_cluster(address: str | None, cpus: int) -> Cluster:
    """Join a cluster unless this process is with one; see :class:`RayEngine` for addresses.

    Parameters
    ----------
    address
        None starts a Ray on this machine.
    cpus
        CPUs of a Ray that is started.
    """
    global _cluster  # noqa: PLW0603
    try:
        import ray
    except ImportError:
        raise MissingExtraError("the engine ray", "ray") from None
    if address is not None:
        parse_address(address)
    if _cluster is not None and not ray.is_initialized():  # it was shut down elsewhere
        _cluster.end()  # now, or those who leave it later would end the next
        _cluster = None
    if _cluster is None:
        _cluster = Cluster(ray, address, cpus)
    return _cluster.use()


def parse_address(address: str) -> tuple[str, int] | None:
    """Return host and port of an address; None where Ray is to find it."""
    if address == "auto":
        return None
    match = re.fullmatch(r"(?:ray://)?(\[[\da-fA-F:.]+\]|[\w.-]+):(\d{1,5})", address)
    if match is None or not 0 < int(match[2]) < 1 << 16:
        raise UsageError(f"'{shortened(address)}' is no address of a Ray cluster; give {_FORMS}")
    return match[1].strip("[]"), int(match[2])


@contextlib.contextmanager
def _restore_handler() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces as it starts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _quiet(ray: Any) -> Iterator[None]:
    """Keep Ray from the terminal: standard output is for results."""
    logger = logging.getLogger("ray")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    # News of workers that died are printed there, and no option prevents it.
    inner: Any = getattr(getattr(ray, "_private", None), "worker", None)
    printing = getattr(inner, "print_to_stdstream", None)
    if printing is not None:
        inner.print_to_stdstream = _print_nothing
    try:
        yield
    finally:
        logger.setLevel(level)
        if printing is not None:
            inner.print_to_stdstream = printing


def _print_nothing(*_: Any, **__: Any) -> None:
    """Print nothing."""


@contextlib.contextmanager
def _start_local(ray: Any, cpus: int) -> Iterator[None]:
    """Have a Ray on this machine, whose files go when it does."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Paths of sockets may have some 100 characters, and Ray adds 60.
    parent = "/tmp" if os.path.isdir("/tmp") else None
    folder = tempfile.mkdtemp(prefix="tunesmith-ray-", dir=parent)
    try:
        ray.init(
            address="local",
            num_cpus=cpus,
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            _temp_dir=folder,
        )
        yield
    except Exception as error:  # noqa: BLE001  (whatever Ray raises)
        raise TunesmithError(
            f"Ray does not start on this machine: {shortened(one_line(str(error)))}; "
            "use the engine processes, or give the address of a cluster"
        ) from None
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _join(ray: Any, address: str) -> None:
    problem = _probe(address)
    if problem is None:
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
            return
        except Exception as error:  # noqa: BLE001  (whatever Ray raises)
            problem = _refusal(address, str(error))
    raise TunesmithError(problem)


def _probe(address: str) -> str | None:
    """Have another process join a cluster; return what prevents it."""
    program = (
        "import json, sys; path, address = json.loads(sys.argv[1]); sys.path[:] = path; "
        "from tunesmith.parallel.ray.cluster import try_out; try_out(address)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps([sys.path, address])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    timer = threading.Timer(LIMIT, process.kill)
    timer.start()
    try:
        for line in process.stderr or ():
            if "AuthToken" in line:  # Ray would ask again and again
                return _refusal(address, line)
        output = process.stdout.read() if process.stdout else ""
    finally:
        timer.cancel()
        process.kill()
        process.communicate()
    if output:
        problem: str | None = json.loads(output)
        return problem
    return (
        f"no Ray at {address} has let us join within {LIMIT:g} s; "
        "see that the cluster runs, and that this is the address of its head"
    )


def try_out(address: str) -> None:
    """Join a cluster and leave it; print what prevents it, as JSON, and end the process."""
    problem = unreachable(address)
    if problem is None:
        import ray

        try:
            ray.init(address=address, log_to_driver=False, logging_level="CRITICAL")
            # A client that goes without a word keeps the head from serving the next for a while.
            ray.shutdown()
        except Exception as error:  # noqa: BLE001  (whatever Ray raises)
            problem = _refusal(address, str(error))
    sys.stdout.write(json.dumps(problem))
    sys.stdout.flush()
    os._exit(0)


def unreachable(address: str, seconds: float = 5.0) -> str | None:
    """Return why no Ray can be at an address; None if one may be."""
    import socket

    place = parse_address(address)
    if place is None:
        return None
    try:
        with socket.create_connection(place, seconds) as connection:
            if os.environ.get("RAY_USE_TLS", "0") not in {"1", "true"} and not _greets(connection):
                return f"what answers at {address} is not Ray; give the port of the cluster's head"
    except socket.gaierror:
        return f"there is no host '{place[0]}'; give the address of a Ray cluster: {_FORMS}"
    except TimeoutError:
        return f"nobody answers at {address}; see that the cluster runs and can be reached"
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return f"nobody listens at {address} ({reason}); start Ray there (ray start --head)"
    return None


def _greets(connection: Any) -> bool:
    """Tell whether the other side speaks HTTP/2, as servers of gRPC do: it sends its settings."""
    settings = 4
    connection.sendall(
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, settings, 0, 0, 0, 0, 0])
    )
    try:
        frame = connection.recv(9)
    except OSError:
        return False
    return len(frame) > 3 and frame[3] == settings


def _refusal(address: str, text: str) -> str:
    """Return in one line what Ray says in many."""
    line = one_line(text)
    if "version" in line.lower() and ("mismatch" in line.lower() or "differ" in line.lower()):
        return (
            f"the Ray cluster at {address} has other versions than this process: "
            f"{shortened(line)}; install the same Ray and Python here and there"
        )
    if "token" in line.lower():
        return (
            f"the Ray cluster at {address} wants its token; "
            "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
        )
    if "ray[client]" in line:
        return "ray:// needs the client of Ray; pip install 'ray[client]', or give HOST:PORT"
    if "Could not find any running Ray" in line:
        return "no Ray runs on this machine; start it (ray start --head), or give HOST:PORT"
    return (
        f"the Ray cluster at {address} cannot be joined: {shortened(line)}; "
        "join from one of its nodes, or by ray://HOST:10001"
    )
