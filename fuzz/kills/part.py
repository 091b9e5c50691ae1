"""Kills: whatever moment a run ends at, the next one comes to the same bits."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

from fuzz.kills.loops import LOOPS, Loops
from fuzz.part import ACCEPTED, FOUND, Outcome, generator
from fuzz.scratch import folder

#: How often each kind is drawn.
OFTEN = {"loop": 8, "loop with a program": 4, "live": 3, "forests": 2, "processes": 4, "ray": 0.6}
PARALLEL = ("mixing", "async")


class Kills:
    """Runs of several kinds, killed."""

    limit = 120.0
    patience = 300.0

    def prepare(self) -> None:
        """Run each loop once."""
        self.loops = Loops()
        self.engines: dict[str, Engine] = {}

    def size(self) -> int | None:
        """Return None: there is no end."""
        return None

    def keep(self, seed: int, index: int, path: Path) -> None:
        """Raise an error: what finds something becomes a test of its own."""
        raise SystemExit("inputs of this part are not kept as files; write a test")

    def run(self, seed: int, index: int) -> Outcome:
        """Kill a run, and begin it again."""
        rng = generator(seed, "kills", index)
        kind = rng.choices(list(OFTEN), list(OFTEN.values()))[0]
        if kind == "ray" and importlib.util.find_spec("ray") is None:
            kind = "processes"
        if kind in LOOPS:
            kills, problem = self.loops.killed(rng, kind)
        else:
            kills, problem = self._workers(rng, kind)
        if problem is not None:
            return Outcome(kind, FOUND, problem, tries=max(1, kills))
        return Outcome(kind, ACCEPTED, tries=kills)

    def _workers(self, rng: random.Random, name: str) -> tuple[int, str | None]:
        """Kill workers of an engine while learners live with them."""
        parallel = rng.choice(PARALLEL)
        task = {"parallel": parallel, "seed": rng.randrange(2**32), "kills": rng.choice((1, 1, 2))}
        if name not in self.engines:
            self.engines[name] = Engine(name)
        answer = self.engines[name].ask(task)
        if answer is None:
            told = self.engines.pop(name).last_words()
            return 1, f"the driver of {name} died: {told}"
        problem = None if answer["same"] else f"{parallel} on {name} gives other weights"
        return answer["killed"], problem


class Engine:
    """A process with an engine, whose workers it kills."""

    def __init__(self, name: str) -> None:
        self._errors = folder(f"engine-{name}") / "log"
        with open(self._errors, "w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.kills.workers", name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        weakref.finalize(self, self._process.kill)

    def ask(self, task: dict[str, Any]) -> dict[str, Any] | None:
        """Have a run done; None if the process died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self._process.stdout.readline()
        found: dict[str, Any] | None = json.loads(line) if line else None
        return found

    def last_words(self) -> str:
        """Return what it said last."""
        return self._errors.read_text(encoding="utf-8").strip()[-300:]
