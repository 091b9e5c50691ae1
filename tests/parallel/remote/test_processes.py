"""Processes of this machine: how they start and end, and what they leave behind."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.parallel import engine_work
from tests.helpers.parallel.clock import let_time_pass
from tests.helpers.waiting import PATIENCE, wait_until
from tunesmith.errors import TunesmithError
from tunesmith.parallel.engine import Answer
from tunesmith.parallel.remote import channel, processes
from tunesmith.parallel.remote import engine as remote
from tunesmith.parallel.remote import worker as worker_module
from tunesmith.parallel.remote.channel import MEMORY
from tunesmith.parallel.remote.packing import map_block, pack, unpack
from tunesmith.parallel.remote.processes import ProcessEngine

HERE = Path(__file__).parents[3]


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def assert_ends(*workers):
    wait_until(lambda: not any(map(is_alive, workers)), "a worker lives on")


def left_behind():
    """Return the names of files in memory; whatever else runs here has folders there."""
    return {p.name for p in MEMORY.glob("tunesmith-*") if p.is_file()}


def run(code, *arguments, **options):
    """Run a program, with the tests to be found."""
    surroundings = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.run(
        [sys.executable, *arguments],
        input=code,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        **options,
    )


@pytest.mark.long
def test_workers_end_with_the_engine():
    before = left_behind()
    with ProcessEngine(2) as engine:
        workers = engine_work.everyone(engine, np.zeros(100_000))
        assert len({os.getpid(), *workers}) == 3
    assert_ends(*workers)
    assert left_behind() == before
    with ProcessEngine(1) as engine:
        (worker,) = engine.map(engine_work.process, None, [0])
        assert engine.map(engine_work.process, None, [0]) == [worker]
        del engine
    gc.collect()
    assert_ends(worker)


@pytest.mark.long
def test_an_engine_that_was_closed_can_be_used_again():
    engine = ProcessEngine(1)
    data = np.ones(50_000)
    for _ in range(2):
        assert engine.map(engine_work.added, data, [1]) == [50_001.0]
        engine.close()


@pytest.fixture(scope="module")
def engine():
    with ProcessEngine(1) as engine:
        yield engine


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="open files cannot be counted")
def test_results_are_no_open_files(engine, monkeypatch):
    monkeypatch.setattr(engine, "worthwhile", 0.0, raising=False)  # each piece by itself
    engine.map(engine_work.filled, None, range(2))
    before = len(os.listdir("/dev/fd"))
    found = engine.map(engine_work.filled, None, range(50))
    assert len(os.listdir("/dev/fd")) <= before
    assert [a[-1] for a in found] == list(range(50))


@pytest.mark.long
def test_many_pieces_have_more_time_than_one(engine, tmp_path, monkeypatch):
    (worker,) = engine.map(engine_work.process, None, [0])
    monkeypatch.setattr(engine, "worthwhile", 1000.0, raising=False)
    # The eight that follow the first are in one message, as if they took as little: each takes
    # longer than a worker keeps results to itself, and most of the time that one answer has.
    let_time_pass(monkeypatch, lambda: 400.0 * len(list(tmp_path.iterdir())))
    pieces = list(enumerate([0.0, *[worker_module.LONG + 0.1] * 8, *[0.0] * 23]))
    assert engine.map(engine_work.asleep, str(tmp_path), pieces) == [worker] * len(pieces)


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="there is no program sleep")
def test_what_a_killed_worker_has_started_ends(engine):
    ((worker, program),) = engine.map(engine_work.starting, None, [0])
    try:
        os.kill(worker, signal.SIGKILL)
        assert engine.map(engine_work.added, 0.0, [1]) == [1.0]
        assert_ends(program)
    finally:
        if is_alive(program):
            os.kill(program, signal.SIGKILL)


LONG = """
import sys
import numpy as np
from tests.helpers.parallel import engine_work
from tunesmith.parallel.remote.processes import ProcessEngine
engine = ProcessEngine(2)
print(*engine_work.everyone(engine, np.zeros(100_000)), flush=True)
engine.map(engine_work.hanging_once, sys.argv[1], range(2))
"""


@pytest.mark.long
@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_a_driver_that_is_killed(way, tmp_path):
    before = left_behind()
    driver = subprocess.Popen(
        [sys.executable, "-c", LONG, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        workers = [int(word) for word in driver.stdout.readline().split()]
        assert len(workers) == 2
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        assert all(map(is_alive, workers))
        driver.send_signal(way)
        _, errors = driver.communicate(timeout=PATIENCE)
    finally:
        driver.kill()
        driver.communicate()
    assert_ends(*workers)
    assert left_behind() == before
    assert errors.count("Traceback") == (way == signal.SIGINT)  # the driver's own


SCRIPT = """
from dataclasses import dataclass
from tests.helpers.parallel import engine_work
from tunesmith.parallel.remote.processes import ProcessEngine

{definitions}
with ProcessEngine(2) as engine:
    print({wanted})
"""

OWN = """
@dataclass
class Own:
    value: float

def doubled(data, piece):
    return Own(data.value * 2 + piece)
"""


@pytest.mark.long
def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    code = SCRIPT.format(definitions="", wanted="engine.map(engine_work.added, 1.0, range(3))")
    script.write_text(code)
    done = run("", str(script))
    assert (done.stdout, done.stderr) == ("[1.0, 2.0, 3.0]\n", "")
    done = run(code, "-")
    assert (done.stdout, done.stderr) == ("[1.0, 2.0, 3.0]\n", "")


@pytest.mark.long
def test_what_a_script_defines_reaches_workers_if_it_has_a_guard(tmp_path):
    script = tmp_path / "script.py"
    code = SCRIPT.format(definitions=OWN, wanted="engine.map(doubled, Own(2.0), range(2))")
    script.write_text(code)
    done = run("", str(script))
    assert "a worker cannot have workers; put what a script does under" in done.stderr
    assert done.returncode == 1
    script.write_text(code.replace("with Proc", "if __name__ == '__main__':\n  with Proc"))
    done = run("", str(script))
    assert (done.stdout, done.stderr) == ("[Own(value=4.0), Own(value=5.0)]\n", "")
    done = run("", "-m", "script", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("[Own(value=4.0), Own(value=5.0)]\n", "")
    done = run(code, "-")
    assert "a worker does not find what it needs" in done.stderr
    assert "define it in a module that workers can import" in done.stderr


def test_workers_that_cannot_start_are_reported(monkeypatch):
    monkeypatch.setattr(processes, "_PROGRAM", "raise SystemExit(3)")
    engine = ProcessEngine(1)
    with pytest.raises(TunesmithError, match=r"^a worker ended as it started \(exit code 3\); see"):
        engine.map(engine_work.added, 0.0, range(3))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(TunesmithError, match=r"a worker cannot be started: .*; use fewer workers"):
        engine.map(engine_work.added, 0.0, range(3))
    engine.close()


def test_workers_that_do_not_start_in_time_are_reported(monkeypatch):
    monkeypatch.setattr(processes, "_PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(remote, "STARTING", 0.1)
    with ProcessEngine(1, timeout=0.1) as engine:
        with pytest.raises(TunesmithError, match=r"as it started \(no answer for 0.1 seconds"):
            engine.map(engine_work.added, 0.0, range(3))
        assert sum(engine.losses.values()) == 2


@pytest.mark.long
def test_other_versions_are_refused(monkeypatch):
    other = {**remote.versions(), "numpy": "0.1"}
    monkeypatch.setattr(remote, "versions", lambda: other)
    with (
        ProcessEngine(1) as engine,
        pytest.raises(TunesmithError, match=r"^workers have numpy .*, this process numpy 0.1; "),
    ):
        engine.map(engine_work.added, 0.0, range(3))


@pytest.mark.long
def test_a_worker_that_cannot_say_hello_is_ended(monkeypatch):
    with ProcessEngine(1) as engine:
        for _ in range(2):  # the second does not wait forever
            with monkeypatch.context() as patch:
                patch.setattr(remote, "versions", lambda: 1 / 0)
                with pytest.raises(ZeroDivisionError):
                    engine.map(engine_work.added, 0.0, range(3))
        assert engine.map(engine_work.added, 0.0, range(3)) == [0.0, 1.0, 2.0]


def test_a_call_for_which_there_is_no_room_is_answered(engine, monkeypatch):
    actors = engine.actors(engine_work.Counter, None, [0] * 12)
    large = np.zeros(5000)
    for actor in range(12):  # the last of them wait until the first are answered
        actors.call(actor, "add", large if actor == 11 else 1)
    monkeypatch.setattr(channel, "shutil", _Full)
    found, errors = [], []
    for _ in range(12):
        try:
            found.append(actors.wait())
        except TunesmithError as error:
            errors.append(str(error))
    assert found == [Answer(actor, 1) for actor in range(11)]
    assert [text for text in errors if "no space left" in text] == errors
    assert len(errors) == 1
    actors.call(11, "add", 2)
    assert actors.wait() == Answer(11, 2)
    actors.close()


def test_a_disk_that_is_full_is_reported(monkeypatch):
    monkeypatch.setattr(channel, "shutil", _Full)
    with (
        ProcessEngine(1) as engine,
        pytest.raises(TunesmithError, match="no space left on device, 7 MB are needed; set TMPDIR"),
    ):
        engine.map(engine_work.added, np.zeros(1_000_000), range(3))


@pytest.mark.long
def test_a_limit_of_open_files_is_reported(monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(channel.tempfile, "TemporaryFile", refuse)
    with pytest.raises(TunesmithError, match=r"no more can be opened; .* \(ulimit -n\)"):
        channel.share_block(pack(np.zeros(1_000_000)))


class _Full:
    @staticmethod
    def disk_usage(_):
        return type("Usage", (), {"free": 0})


@pytest.mark.long
def test_what_memory_does_not_hold_is_shared_on_disk(monkeypatch):
    data = np.arange(10_000.0)
    block = pack(data)
    with monkeypatch.context() as patch:
        patch.setattr(channel, "budget", lambda: 2 * block.nbytes)
        files = [channel.share_block(block) for _ in range(4)]
        files[0].close()
        files.append(channel.share_block(block))
    in_memory = MEMORY.is_dir()
    used = [f.memory for f in files]
    assert used == [block.nbytes * in_memory * (k in (0, 1, 4)) for k in range(5)]
    for file in files[1:]:
        np.testing.assert_array_equal(unpack(map_block(file.file.fileno())), data)
        file.close()
    assert not any(id(file) in channel._open_blocks for file in files)
    kept = channel.share_block(block)
    place = id(kept)
    assert place in channel._open_blocks
    kept.file.close()
    del kept
    gc.collect()
    assert place not in channel._open_blocks


@pytest.mark.long
def test_a_fork_of_the_driver_leaves_workers_alone():
    code = """
import gc, os, warnings
warnings.simplefilter("ignore")
import numpy as np
from tests.helpers.parallel import engine_work
from tunesmith.errors import UsageError
from tunesmith.parallel.engine import map_over, working_on
from tunesmith.parallel.remote.processes import ProcessEngine
engine = ProcessEngine(1)
data = np.zeros(5000)
worker = engine.map(engine_work.process, data, [0])
with working_on(engine):
    child = os.fork()
    if child == 0:
        assert map_over(data, engine_work.process, [0]) == [os.getpid()]
        try:
            engine.map(engine_work.added, data, [0])
        except UsageError as error:
            print(error, flush=True)
        data = None
        engine.close()
        engine = None
        gc.collect()
        raise SystemExit
assert os.waitpid(child, 0)[1] == 0
print(engine.map(engine_work.process, data, [0]) == worker)
"""
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    done = run("", "-c", code)
    assert done.stderr == ""
    error, same = done.stdout.splitlines()
    assert "this is a fork; make an engine here, or work in threads" in error
    assert same == "True"
