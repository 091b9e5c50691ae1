"""One worker, seen from the campaign: asked, watched, and replaced when it dies or hangs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.worker import Board

ROOT = Path(__file__).parents[1]
#: How long a worker may take to get ready for a part; it may have to compile kernels.
READY = 900.0
#: Arrow's allocator has a thread of its own otherwise, and workers fork.
ONE_THREAD = {
    **dict.fromkeys(("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "PYTHONFAULTHANDLER": "1",
}


@dataclass(frozen=True)
class Request:
    """Some inputs of a part."""

    part: str
    seed: int
    first: int
    count: int
    patience: float


@dataclass(frozen=True)
class Death:
    """A worker that died or hung, and the input that it was at; -1 if it was at none."""

    request: Request
    index: int
    problem: str
    detail: str


class Slot:
    """The place of a worker."""

    def __init__(self, folder: str, number: int) -> None:
        self._path = os.path.join(folder, f"board-{number}")
        self._errors = os.path.join(folder, f"errors-{number}")
        self.request: Request | None = None
        self._process: subprocess.Popen[str] | None = None
        self._asked = 0.0

    def _start(self) -> subprocess.Popen[str]:
        Board.make(self._path)
        with open(self._errors, "w", encoding="utf-8") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "fuzz.worker", self._path],
                cwd=ROOT,
                env={**os.environ, **ONE_THREAD},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def ask(self, request: Request) -> None:
        """Send a request; the answer comes later."""
        if self._process is None:
            self._process = self._start()
        asked = {k: getattr(request, k) for k in ("part", "seed", "first", "count")}
        assert self._process.stdin is not None
        self.request, self._asked = request, time.time()
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it is dead, which is noticed when the answer is looked for

    @property
    def descriptor(self) -> int:
        """What can be waited on for an answer."""
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def answer(self) -> dict[str, Any] | Death:
        """Return the answer, once the descriptor can be read."""
        assert self._process is not None
        assert self._process.stdout is not None
        assert self.request is not None
        line = self._process.stdout.readline()
        if line.endswith("\n"):
            self.request = None
            found: dict[str, Any] = json.loads(line)
            return found
        return self._dead("the process died")

    def overdue(self) -> Death | None:
        """End a worker that hangs, and say so."""
        if self.request is None or self._process is None:
            return None
        index, begun = Board(self._path).get()
        late = time.time() - (self._asked if index < 0 else begun)
        if late <= (READY if index < 0 else self.request.patience):
            return None
        return self._dead(f"no answer within {late:.0f} seconds")

    def _dead(self, problem: str) -> Death:
        assert self._process is not None
        assert self.request is not None
        index, _ = Board(self._path).get()
        self._kill()
        code = self._process.wait()
        self._let_go()
        if "died" in problem:
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            problem = f"{problem}: {name}"
        told = Path(self._errors).read_text(encoding="utf-8", errors="replace")
        request, self.request = self.request, None
        return Death(request, index, problem, told[-4000:])

    def _kill(self) -> None:
        """Kill the worker and all that it started."""
        assert self._process is not None
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            self._process.kill()

    def close(self) -> None:
        """Let the worker end."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        """Close what leads to a process that has ended."""
        assert self._process is not None
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process = None


def board_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for what workers and the campaign share."""
    return tempfile.TemporaryDirectory(prefix="tunesmith-fuzz-")
