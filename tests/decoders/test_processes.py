"""Processes: time limits, signals, streams, and that none is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.decoders.processes import is_there, let_time_pass, number_in, wait_until_gone
from tests.helpers.waiting import PATIENCE
from tunesmith.decoders import processes as module
from tunesmith.decoders.processes import Processes, end_of, log_tail, parent_death_prefix


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def start(processes: Processes, name: int, arguments: list[str], folder: Path, stdin=None) -> None:
    processes.start(name, arguments, stdin, folder / f"out-{name}", folder / f"err-{name}")


def test_streams_are_files_and_codes_are_returned(tmp_path):
    given = tmp_path / "given"
    given.write_bytes(b"abc\n")
    with Processes() as processes:
        start(processes, 0, shell("cat; echo no >&2; exit 4"), tmp_path, given)
        start(processes, 1, shell("cat; echo $0 yes"), tmp_path)
        codes = dict([processes.wait(), processes.wait()])
        assert len(processes) == 0
    assert codes == {0: 4, 1: 0}
    assert (tmp_path / "out-0").read_bytes() == b"abc\n"
    assert (tmp_path / "err-0").read_bytes() == b"no\n"
    assert (tmp_path / "out-1").read_bytes() == b"sh yes\n"


@pytest.mark.parametrize("told", [True, False])
def test_the_first_that_ends_is_returned_first(tmp_path, monkeypatch, told):
    if not told:  # as where the system has no descriptors of processes
        monkeypatch.setattr(module, "_descriptor", lambda process: None)
    go = tmp_path / "go"
    with Processes(time_limit=PATIENCE) as processes:
        start(processes, 0, shell(f"until [ -e '{go}' ]; do sleep 0.02; done"), tmp_path)
        start(processes, 1, shell("exit 5"), tmp_path)
        assert processes.wait() == (1, 5)
        go.touch()
        assert processes.wait() == (0, 0)


@pytest.mark.parametrize("told", [True, False])
def test_one_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path, monkeypatch, told):
    if not told:
        monkeypatch.setattr(module, "_descriptor", lambda process: None)
    with Processes(time_limit=PATIENCE, grace=PATIENCE) as processes:
        start(processes, 0, shell("sleep 5000 & echo $!; wait"), tmp_path)
        theirs = number_in(tmp_path / "out-0")
        assert is_there(theirs)
        let_time_pass(monkeypatch, PATIENCE - 0.1)
        begin = time.monotonic()
        assert processes.wait() == (0, None)
        # It was waited for neither the process nor the whole grace.
        assert time.monotonic() - begin < PATIENCE
    wait_until_gone(theirs)


def test_a_limit_is_not_over_before_its_time(tmp_path):
    begin = time.monotonic()
    with Processes(time_limit=0.2) as processes:
        start(processes, 0, ["sleep", "500"], tmp_path)
        assert processes.wait() == (0, None)
    assert 0.2 <= time.monotonic() - begin < PATIENCE


def test_one_that_does_not_listen_is_killed_after_the_grace(tmp_path, monkeypatch):
    with Processes(time_limit=600, grace=0.3) as processes:
        start(processes, 0, shell("trap '' TERM; echo $$; sleep 500; sleep 500"), tmp_path)
        theirs = number_in(tmp_path / "out-0")  # which it writes when it has stopped listening
        let_time_pass(monkeypatch, 600)
        begin = time.monotonic()
        assert processes.wait() == (0, None)
        assert 0.3 <= time.monotonic() - begin < PATIENCE
    assert not is_there(theirs)


def test_one_that_listens_may_tidy_up(tmp_path, monkeypatch):
    with Processes(time_limit=600, grace=PATIENCE) as processes:
        script = "trap 'echo tidy; exit' TERM; echo $$; sleep 500 & wait"
        start(processes, 0, shell(script), tmp_path)
        theirs = number_in(tmp_path / "out-0")
        let_time_pass(monkeypatch, 600)
        assert processes.wait() == (0, None)
    assert (tmp_path / "out-0").read_text() == f"{theirs}\ntidy\n"


def test_an_error_ends_all(tmp_path):
    with contextlib.suppress(KeyboardInterrupt), Processes() as processes:
        start(processes, 0, shell("echo $$; sleep 500"), tmp_path)
        start(processes, 1, shell("echo $$; sleep 500"), tmp_path)
        numbers = [number_in(tmp_path / f"out-{k}") for k in range(2)]
        raise KeyboardInterrupt
    assert not any(map(is_there, numbers))


def test_what_a_process_leaves_behind_is_ended(tmp_path):
    with Processes() as processes:
        start(processes, 0, shell("sleep 500 & echo $!"), tmp_path)
        assert processes.wait() == (0, 0)
    wait_until_gone(number_in(tmp_path / "out-0"))


def test_an_interrupt_is_not_sent_to_processes_by_the_terminal(tmp_path):
    with Processes() as processes:
        start(processes, 0, shell("echo $$; exec sleep 500"), tmp_path)
        theirs = number_in(tmp_path / "out-0")
        assert os.getsid(theirs) == theirs != os.getsid(0)  # a session of its own


@pytest.mark.skipif(not parent_death_prefix(), reason="there is no setpriv here")
def test_processes_end_with_us_even_if_we_are_killed(tmp_path):
    program = f"""
from pathlib import Path
from tunesmith.decoders.processes import Processes
with Processes() as processes:
    processes.start(0, ["sh", "-c", "echo $$; exec sleep 500"], None,
                    Path({str(tmp_path / "out")!r}), Path({str(tmp_path / "err")!r}))
    processes.wait()
"""
    ours = subprocess.Popen([sys.executable, "-c", program])
    theirs = number_in(tmp_path / "out")
    assert is_there(theirs)
    ours.kill()
    ours.wait()
    wait_until_gone(theirs)


def test_a_program_that_cannot_be_started_is_an_error_of_the_system(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "parent_death_prefix", lambda: ())
    with Processes() as processes:
        with pytest.raises(FileNotFoundError):
            start(processes, 0, ["no-such-program"], tmp_path)
        with pytest.raises(PermissionError):
            start(processes, 0, [str(tmp_path)], tmp_path)
        assert len(processes) == 0


def test_no_program_to_tie_processes_with(monkeypatch):
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    assert parent_death_prefix.__wrapped__() == ()
    # Another program of that name, which does not know the option.
    monkeypatch.setattr(module.shutil, "which", lambda name: "/bin/false")
    assert parent_death_prefix.__wrapped__() == ()


def test_descriptors_are_closed(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    with Processes() as processes:
        for name in range(3):
            start(processes, name, shell("exit 0"), tmp_path)
        for _ in range(3):
            processes.wait()
    assert len(os.listdir("/proc/self/fd")) == before


def test_how_a_process_has_ended():
    assert end_of(3) == "ended with exit code 3"
    assert end_of(-signal.SIGSEGV) == "was killed by the signal SIGSEGV"
    assert "SIGKILL" in end_of(-9)
    assert "memory" in end_of(-9)
    assert "64" in end_of(-64) or "SIGRTMAX" in end_of(-64)
    assert "200" in end_of(-200)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"one\n\ntwo\nthree\n\n", "two / three"),
        (b"10 %\r20 %\rno\tmodel", "20 % / no model"),
        (b"caf\xe9\n", "caf\\xe9"),
        (b"x" * 10**6, "... " + "x" * 300),
    ],
)
def test_last_words(tmp_path, log, words):
    (tmp_path / "log").write_bytes(log)
    assert log_tail(tmp_path / "log") == words
    assert log_tail(tmp_path / "none") == ""
