"""``doctor --warm``: processes that compile, and what becomes of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from tests.helpers.waiting import wait_until
from tunesmith.cli.doctor import warm


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sequences of jobs, of which the second needs what its first job wrote."""
    lists = "--candidates small.nbest --references small.ref"
    monkeypatch.setattr(warm, "_list_jobs", lambda: iter([f"evaluate {lists} --weights weights"]))
    monkeypatch.setattr(
        warm,
        "_forest_jobs",
        lambda: iter(
            [
                f"convert {lists} --to jsonl --out as.jsonl",
                "evaluate --candidates as.jsonl --references small.ref --weights weights",
                "evaluate --candidates nowhere --references small.ref --weights weights",
            ]
        ),
    )


@pytest.mark.long
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("threads", [1, 2])
def test_jobs_run_in_order_and_failures_are_returned(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(warm, "thread_count", lambda: threads)
    before = Path.cwd()
    (failed,) = warm.warm_up()
    assert failed.startswith("evaluate --candidates nowhere")
    assert "no such file" in failed
    assert Path.cwd() == before
    assert not multiprocessing.active_children()


def test_whatever_ends_the_wait_ends_the_workers(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        _interrupt_a_wait(tmp_path)
    wait_until(lambda: not multiprocessing.active_children())


def _interrupt_a_wait(folder: Path) -> None:
    with warm._workers(1, str(folder)) as (worker,):
        worker.submit(os.getpid).result()
        worker.submit(signal.pause)  # it never ends by itself
        raise KeyboardInterrupt


def test_a_worker_that_dies_is_a_failure(tmp_path: Path) -> None:
    with warm._workers(1, str(tmp_path)) as (worker,):
        pid = worker.submit(os.getpid).result()
        os.kill(pid, signal.SIGKILL)
        code, message = warm._outcome(worker.submit(warm._run, "--version", 1))
    assert code == 1
    assert "died" in message
