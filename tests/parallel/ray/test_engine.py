"""The engine ray: joining a cluster, what is said when that fails, and that it is quiet.

What it has in common with all engines is in test_engines.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import types
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import tunesmith as ts
from tests.helpers.parallel import engine_work
from tests.helpers.parallel.ray_cluster import CPUS, SETTINGS, joined_ray, ray_engine
from tests.helpers.tuners.problems import text_problem
from tests.helpers.waiting import PATIENCE, wait_until
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.parallel.choice import engine_of
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.ray import cluster as ray_cluster
from tunesmith.parallel.ray import engine as engine_module
from tunesmith.parallel.ray.cluster import parse_address, unreachable

pytestmark = pytest.mark.skipif(
    find_spec("ray") is None, reason="ray is not installed: pip install 'tunesmith[ray]'"
)
#: Addresses that begin with ray:// need it.
HAS_CLIENT = find_spec("grpc") is not None
ROOT = Path(__file__).parents[3]


@pytest.fixture
def listening():
    """Have sockets that take connections and say what they are told to."""
    opened = []

    def listen(greeting=b""):
        server = socket.create_server(("127.0.0.1", 0))
        opened.append(server)

        def serve():
            try:
                while True:
                    opened.append(server.accept()[0])
                    opened[-1].sendall(greeting)
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{server.getsockname()[1]}"

    yield listen
    for one in opened:
        one.close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("auto", None),
        ("head:6379", ("head", 6379)),
        ("ray://10.0.0.7:10001", ("10.0.0.7", 10001)),
        ("[::1]:6379", ("::1", 6379)),
    ],
)
def test_addresses(address, expected):
    assert parse_address(address) == expected


@pytest.mark.long
@pytest.mark.parametrize(
    "address",
    ["", "abc", "head:", ":6379", "head:x", "head:0", "head:65536", "http://a:1", "a b:1"],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(UsageError, match="is no address of a Ray cluster; give HOST:PORT"):
        engine_of("ray", 1, address)


def test_an_address_where_no_ray_is(listening):
    nobody = f"127.0.0.1:{free_port()}"
    assert unreachable(nobody).startswith(f"nobody listens at {nobody} (connection refused); ")
    assert unreachable("no-such-host.invalid:6379").startswith("there is no host 'no-such-host.in")
    mute, other, similar = (
        listening(),
        listening(b"220 mail ESMTP\r\n"),
        listening(bytes(3) + b"\4"),
    )
    assert "is not Ray; give the port" in unreachable(mute, seconds=0.3)
    assert "is not Ray; give the port" in unreachable(other)
    assert unreachable(similar) is None


@pytest.fixture
def alone(monkeypatch):
    """Let this process join a cluster as if it were with none; whatever it asks of Ray fails."""

    def refuse(**_):
        raise RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.9.0")

    fake = types.SimpleNamespace(is_initialized=lambda: False, init=refuse, shutdown=lambda: None)
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(ray_cluster, "_cluster", None)


@pytest.mark.long
@pytest.mark.usefixtures("alone")
def test_a_cluster_that_cannot_be_joined_is_told_of_in_time(listening, monkeypatch):
    with pytest.raises(TunesmithError, match=r"^nobody listens at .*; start Ray there"):
        engine_of("ray", 1, f"127.0.0.1:{free_port()}")
    monkeypatch.setattr(ray_cluster, "LIMIT", 2.0)
    with pytest.raises(TunesmithError, match=r"^no Ray at .* has let us join within 2 s; see"):
        engine_of("ray", 1, listening(bytes(3) + b"\4" + bytes(5)))


@pytest.mark.usefixtures("alone")
def test_other_versions_are_told_of(monkeypatch):
    monkeypatch.setattr(ray_cluster, "_probe", lambda address: None)
    with pytest.raises(TunesmithError) as caught:
        engine_of("ray", 1, "head:6379")
    assert str(caught.value) == (
        "the Ray cluster at head:6379 has other versions than this process: Version mismatch: The "
        "cluster was started with: Ray: 2.9.0; install the same Ray and Python here and there"
    )
    with pytest.raises(TunesmithError, match=r"^Ray does not start on this machine: Version"):
        engine_of("ray", 1)


@pytest.mark.long
def test_workers_that_have_other_versions_are_refused(monkeypatch):
    from tunesmith.parallel.remote import engine as remote

    ours = remote.versions()
    with ray_engine(workers=1) as engine:
        monkeypatch.setattr(remote, "versions", lambda: {**ours, "tunesmith": "0.0.1"})
        with pytest.raises(TunesmithError, match=r"workers have tunesmith .*, this process"):
            engine.map(engine_work.added, 0.0, range(3))
        monkeypatch.undo()
        assert engine.map(engine_work.added, 0.0, range(3)) == [0.0, 1.0, 2.0]


@pytest.mark.long
def test_workers_without_tunesmith_are_refused(monkeypatch, tmp_path):
    module = tmp_path / "tunesmith_elsewhere.py"
    module.write_text(
        "class RayWorker:\n    def __init__(self, *given):\n        pass\n\n"
        "    def answer(self, held, message):\n        return b''\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import tunesmith_elsewhere

    monkeypatch.setattr(engine_module, "RayWorker", tunesmith_elsewhere.RayWorker)
    with ray_engine(workers=1) as engine:
        with pytest.raises(TunesmithError) as caught:
            engine.map(engine_work.added, 0.0, range(3))
        monkeypatch.undo()
        assert engine.map(engine_work.added, 0.0, range(3)) == [0.0, 1.0, 2.0]
    assert "do not find tunesmith_elsewhere; install tunesmith" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.long
def test_more_workers_than_cpus_are_refused():
    with pytest.raises(UsageError, match=f"has CPUs for {CPUS} workers, but 9 are wanted; give"):
        ray_engine(workers=9)
    with pytest.raises(UsageError, match="has CPUs for 0 workers, but 1 are wanted"):
        ray_engine(workers=1, cpus_per_worker=CPUS + 1)
    with ray_engine(workers=None) as engine:
        assert engine.workers == CPUS


@pytest.mark.long
def test_cpus_that_others_use_are_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(engine_module, "PATIENCE", 0.3)
    with ray_engine(workers=1, cpus_per_worker=CPUS) as first, ray_engine(workers=1) as second:
        monkeypatch.setattr(engine_module, "PATIENCE", PATIENCE)
        assert first.map(engine_work.process, None, [0]) != [os.getpid()]
        wait_until(lambda: not joined_ray().free_cpus())
        monkeypatch.setattr(engine_module, "PATIENCE", 0.3)
        with pytest.raises(TunesmithError, match="others use the Ray cluster and 0 are free; give"):
            second.map(engine_work.added, 0.0, [0])
        first.close()
        monkeypatch.setattr(engine_module, "PATIENCE", PATIENCE)
        assert second.map(engine_work.added, 0.0, [0]) == [0.0]


@pytest.mark.long
def test_a_ray_that_was_there_is_left_running():
    cluster = joined_ray()
    with ray_engine() as engine:
        assert len(set(engine.map(engine_work.process, None, range(20)))) >= 1
    assert cluster.ray.is_initialized()


def test_who_leaves_a_ray_that_has_ended_ends_no_other(monkeypatch):
    class Ray:
        def __init__(self):
            self.runs = False

        def is_initialized(self):
            return self.runs

        def init(self, **_):
            self.runs = True

        def shutdown(self):
            self.runs = False

    fake = Ray()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(ray_cluster, "_cluster", None)
    first = ray_cluster.join_cluster(None, 1)
    fake.shutdown()
    second = ray_cluster.join_cluster(None, 1)
    assert second is not first
    first.leave()
    assert fake.runs
    assert ray_cluster._cluster is second
    second.leave()
    assert not fake.runs


@pytest.mark.long
def test_a_tuner_gives_the_same_bits():
    problem = text_problem(3, groups=12)
    tuner = ts.MERT(restarts=4)
    here = tuner.fit(problem, rng=np.random.default_rng(1))
    with ray_engine() as engine, working_on(engine):
        there = tuner.fit(problem, rng=np.random.default_rng(1))
    assert dict(there.weights) == dict(here.weights)
    assert (there.score, there.history) == (here.score, here.history)


def driven(program, *arguments, **environment):
    """Run a program in a process of its own, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=ROOT,
        env={**os.environ, **SETTINGS, **environment},
        check=False,
    )
    return done.stdout, done.stderr


@pytest.mark.long
def test_a_ray_of_our_own_is_quiet_and_ends(tmp_path):
    program = """
    import os, signal, sys, tempfile
    from tests.helpers.parallel import engine_work
    from tunesmith.parallel.choice import engine_of

    before = signal.getsignal(signal.SIGTERM)
    with engine_of("ray", 1) as engine:
        found = engine.map(engine_work.dying_once, sys.argv[1], range(2))
        folder = engine._cluster.ray._private.worker._global_node.get_temp_dir_path()
        engine.map(engine_work.talking, None, range(2))
    print(found, signal.getsignal(signal.SIGTERM) == before)
    print(os.path.basename(folder).startswith("tunesmith-ray-"), os.path.exists(folder))
    engine.map(engine_work.added, 0.0, range(2))  # a new Ray, which nobody ends
    print(engine._cluster.ray._private.worker._global_node.get_temp_dir_path())
    """
    out, err = driven(program, tmp_path)
    *lines, left = out.splitlines()
    assert lines == ["[0, 1] True", "True False"]
    assert err == ""
    assert not os.path.exists(left)


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    """Have a cluster's head, a process beside this one, whose token only we know."""
    port, client_port = free_port(), free_port()
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    # Paths of sockets are short; those of pytest are not.
    folder = Path("/tmp") / f"ts-{port}"
    log = tmp_path_factory.mktemp("head") / "log"
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    command += [f"--port={port}", "--num-cpus=2"]
    if HAS_CLIENT:
        command += [f"--ray-client-server-port={client_port}"]
    command += ["--include-dashboard=false", f"--temp-dir={folder}", "--disable-usage-stats"]
    command += ["--object-store-memory=100000000"]
    with log.open("w") as file:
        environment = {**os.environ, **SETTINGS, **token}
        process = subprocess.Popen(
            command, stdout=file, stderr=file, env=environment, start_new_session=True
        )
    try:
        wait_until(lambda: "Ray runtime started" in log.read_text() or process.poll() is not None)
        if process.poll() is not None:
            pytest.fail(f"the head does not start: {log.read_text()[-2000:]}")
        yield types.SimpleNamespace(
            process=process, address=f"127.0.0.1:{port}", client=client_port, token=token
        )
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
        shutil.rmtree(folder, ignore_errors=True)


#: Join each address, work there, leave it; a busy machine may need longer than a user should wait.
JOIN = """
import sys
from tests.helpers.parallel import engine_work
from tunesmith.parallel.ray import cluster as ray_cluster
from tunesmith.parallel.choice import engine_of
import numpy as np
import ray

ray_cluster.LIMIT = 600.0
with engine_of("ray", None, sys.argv[1]) as engine:
    found = engine.map(engine_work.added, np.arange(9.0), range(3), 0.5)
    print(engine.workers, found, ray.is_initialized())
print(ray.is_initialized())
"""
JOINED = ["2 [36.5, 37.5, 38.5] True", "False"]


@pytest.mark.long
def test_a_cluster_is_joined_and_left_as_it_was(head):
    program = (
        JOIN
        + """
from tunesmith.errors import TunesmithError
ray.__version__ = "2.1.0"
try:
    engine_of("ray", None, sys.argv[1])
except TunesmithError as error:
    print(error)
"""
    )
    out, err = driven(program, head.address, **head.token)
    assert err == ""
    *found, mismatch = out.splitlines()
    assert found == JOINED
    assert "has other versions than this process: Version mismatch" in mismatch
    assert mismatch.endswith("; install the same Ray and Python here and there")
    assert head.process.poll() is None


@pytest.mark.long
@pytest.mark.skipif(not HAS_CLIENT, reason="Ray's client is not installed: pip install ray[client]")
def test_a_cluster_is_joined_from_outside(head):
    out, err = driven(JOIN, f"ray://127.0.0.1:{head.client}", **head.token)
    assert err == ""
    assert out.splitlines() == JOINED
    assert head.process.poll() is None


@pytest.mark.long
def test_a_cluster_that_wants_a_token_says_so(head):
    program = """
    import sys
    from tunesmith.errors import TunesmithError
    from tunesmith.parallel.choice import engine_of

    try:
        engine_of("ray", None, sys.argv[1])
    except TunesmithError as error:
        print(error)
    """
    wrong = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    out, err = driven(program, head.address, **wrong)
    assert out.startswith(f"the Ray cluster at {head.address} wants its token; set RAY_AUTH_MODE")
    assert (err, len(out.splitlines())) == ("", 1)
    assert head.process.poll() is None
