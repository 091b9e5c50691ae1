"""A loop that is killed at any moment, by SIGKILL, and started again comes to the same bits."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.waiting import PATIENCE

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="needs fork, SIGKILL and /proc"
    ),
]

ROOT = Path(__file__).parents[2]
#: Every kind of moment that there must be.
KINDS = (
    *(f"{step} {which}" for step in ("decoding", "decoded") for which in ("tune", "dev")),
    *("decoding average", "decoded average", "writing candidates"),
    *("half of arrow", "whole arrow, without its name"),
    *("half of JSON", "whole JSON, without its name"),
    *("tuning", "tuned", "between rounds", "between steps"),
)


class Server:
    """The process that forks for each run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        one = dict.fromkeys(("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.loop.killing"],
            cwd=ROOT,
            # Arrow's allocator has a thread of its own otherwise.
            env={**os.environ, **one, "JE_ARROW_MALLOC_CONF": "background_thread:false"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, name: str, **task: object) -> tuple[int, float]:
        """Run the loop in a folder of that name; return the exit code and the seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        given = {"folder": str(self.folder / name), "out": str(self.out(name)), **task}
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        return found["code"], found["seconds"]

    def out(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def found(self, name: str) -> dict:
        return json.loads(self.out(name).read_text())


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("kill"))
    with server.process as process:
        yield server
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


@pytest.fixture(scope="module")
def whole(server):
    """What a run that nobody interrupts comes to, which moments it has, and its seconds."""
    code, seconds = server.run("whole")
    assert code == 0
    found = server.found("whole")
    return found["result"], found["moments"], seconds


def resumed(server, name):
    """Start a run again, and return what it comes to."""
    assert not server.out(name).exists()
    code, _ = server.run(name)
    assert code == 0
    folder = server.folder / name
    assert not list(folder.rglob(".tunesmith-*"))
    files = {path.relative_to(folder) for path in folder.rglob("*.*")}
    wanted = server.folder / "whole"
    assert files == {path.relative_to(wanted) for path in wanted.rglob("*.*")}
    return server.found(name)["result"]


def test_there_is_every_kind_of_moment(whole):
    result, moments, _ = whole
    assert set(moments) == set(KINDS)
    assert moments["tuning"] == moments["between rounds"] == 2
    assert moments["decoding tune"] == 3
    assert len(result["rounds"]) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_killed_in_a_step(server, whole, kind):
    result, moments, _ = whole
    number = random.Random(kind).randrange(moments[kind])
    code, _ = server.run(kind, kind=kind, number=number)
    assert code == -signal.SIGKILL
    assert resumed(server, kind) == result


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_a_random_moment(server, whole, seed):
    result, _, seconds = whole
    name = f"random {seed}"
    code, _ = server.run(name, delay=random.Random(seed).uniform(0, seconds))
    assert code in (-signal.SIGKILL, 0)  # it may have been quicker
    server.out(name).unlink(missing_ok=True)
    assert resumed(server, name) == result


def test_killed_again_and_again(server, whole):
    result, _, seconds = whole
    rng = random.Random(7)
    for k in range(12):
        kind = rng.choice(KINDS)
        # Moments are counted from the beginning of a process: some steps are done already.
        task = {"kind": kind, "number": rng.randrange(2)}
        if k % 3 == 0:
            task = {"delay": rng.uniform(0, seconds)}
        code, _ = server.run("chain", **task)
        assert code in (-signal.SIGKILL, 0)
        server.out("chain").unlink(missing_ok=True)
    assert resumed(server, "chain") == result


def test_a_kill_that_is_none_shows_in_the_comparison(server, whole):
    """What is on disk counts: other weights there lead elsewhere."""
    result, _, _ = whole
    code, _ = server.run("changed", kind="between rounds", number=0)
    assert code == -signal.SIGKILL
    path = server.folder / "changed" / "round-00" / "tuned.json"
    tuned = json.loads(path.read_text())
    tuned["weights"] = {name: -value for name, value in tuned["weights"].items()}
    path.write_text(json.dumps(tuned))
    assert resumed(server, "changed") != result
