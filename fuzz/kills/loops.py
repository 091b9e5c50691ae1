"""Loops with a decoder that are killed at a random moment, and begun again."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz import toy, toy_decoder
from fuzz.forking import fork
from fuzz.programs.running import run
from fuzz.scratch import folder
from fuzz.timeless import timeless
from fuzz.toy import sentences

SETS = (
    *("--source", "{data}/s", "--references", "{data}/t"),
    *("--dev-source", "{data}/ds", "--dev-references", "{data}/dt"),
    *("--threads", "1", "--work-dir", "{work}", "--out", "{work}.json"),
)
QUICK = ("--restarts", "1", "--walks", "0", "--start", "{data}/w0")
COMMAND = f"{sys.executable} {toy.__file__} {{weights}}"
#: Command lines by name.
LOOPS: dict[str, tuple[str, ...]] = {
    "loop": (
        *("tune", *SETS, "--rounds", "2", "--final", "average", *QUICK),
        *("--decoder", f"{toy_decoder.__file__}:Toy"),
    ),
    "loop with a program": (
        *("tune", *SETS, "--rounds", "1", *QUICK),
        *("--decoder-command", COMMAND, "--decoder-weights-format", "moses"),
    ),
    "live": (
        *("tune", *SETS, "--decoder", "hiero", "--model", "{data}/model"),
        *("--tuner", "mira", "--epochs", "2", "--tune-on", "live"),
    ),
    "forests": (
        *("tune", *SETS, "--decoder", "hiero", "--model", "{data}/model", "--rounds", "1"),
        *("--tuner", "batch-mira", "--passes", "2", "--tune-on", "forests"),
    ),
}


@dataclass(frozen=True)
class Undisturbed:
    """What a loop comes to that nobody interrupts, and how long it takes."""

    result: Any
    files: frozenset[str]
    seconds: float


class Loops:
    """Runs loops in children, killed or not."""

    def __init__(self) -> None:
        self.data = folder("kills-data")
        for name, count, seed in (("", 6, 1), ("d", 4, 2)):
            texts, references = sentences(count, seed)
            (self.data / f"{name}s").write_text("\n".join(texts) + "\n")
            (self.data / f"{name}t").write_text("\n".join(references) + "\n")
        (self.data / "w0").write_text("f0= 0.1\nf1= 1.0\nf2= 1.0\n")
        text = sentences(30, 3)
        for name, lines in zip(("ms", "mt"), text, strict=True):
            (self.data / name).write_text("\n".join(lines) + "\n")
        named = ["--source", f"{self.data}/ms", "--target", f"{self.data}/mt"]
        made = run(
            ["train", *named, "--out", f"{self.data}/model", "--order", "2", "--threads", "1"]
        )
        if made.code != 0:
            raise RuntimeError(made.errors)
        self.wanted = {name: self._undisturbed(name) for name in LOOPS}

    def _undisturbed(self, name: str) -> Undisturbed:
        for k in range(2):  # the first time kernels are loaded
            work = folder("kills-whole") / "work"
            begun = time.perf_counter()
            ran = run(self.arguments(name, work))
            if ran.code != 0:
                raise RuntimeError(f"{name}: {ran.errors}")
            if k == 0:
                self._in_child(name, work.with_name("other"), None)
        return Undisturbed(self.result(work), self.left(work), time.perf_counter() - begun)

    def arguments(self, name: str, work: Path) -> list[str]:
        """Return the command line of a loop with a work directory."""
        words = LOOPS[name]
        return [w.replace("{data}", str(self.data)).replace("{work}", str(work)) for w in words]

    def _end(self, name: str, work: Path) -> None:
        ran = run(self.arguments(name, work))
        if ran.code != 0:
            sys.stderr.write(ran.errors)
        os._exit(ran.code)

    def _in_child(self, name: str, work: Path, delay: float | None) -> int:
        """Run a loop in a child; kill it after a while, if that is given. Return its code."""
        child = fork()
        if child == 0:
            try:
                self._end(name, work)
            finally:
                os._exit(1)
        if delay is not None:
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def killed(self, rng: random.Random, name: str) -> tuple[int, str | None]:
        """Kill a loop once or several times; return how often, and what is wrong in the end."""
        work = folder("kills") / "work"
        wanted = self.wanted[name]
        kills = 0
        for _ in range(rng.choice((1, 1, 2, 3))):
            code = self._in_child(name, work, rng.uniform(0, wanted.seconds))
            if code not in (-signal.SIGKILL, 0):
                return kills, f"a run that goes on ends with exit code {code}"
            kills += code != 0
        code = self._in_child(name, work, None)
        if code != 0:
            return kills, f"the last run ends with exit code {code}"
        if self.result(work) != wanted.result:
            return kills, "the result is not that of an undisturbed run"
        if self.left(work) != wanted.files:
            different = sorted(self.left(work) ^ wanted.files)[0]
            return kills, f"{different} is there, and should not be, or the reverse"
        return kills, None

    def result(self, work: Path) -> Any:
        """Return what a run came to, without what depends on the clock."""
        both = [work / "result.json", work.with_name(f"{work.name}.json")]
        return [timeless(json.loads(path.read_text(encoding="utf-8"))) for path in both]

    def left(self, work: Path) -> frozenset[str]:
        """Return the names of all files of a work directory."""
        return frozenset(
            str(path.relative_to(work))
            for path in work.rglob("*")
            if path.is_file() and "decoder-" not in str(path)
        )
