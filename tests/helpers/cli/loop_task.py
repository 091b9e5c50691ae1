"""A small task with a decoder, for the tests of ``tunesmith tune --decoder``."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers.decoders.command_programs import PROGRAMS, PYTHON

RANKER = PROGRAMS / "ranker.py"

SENTENCES = ["a b c d e", "c a b d f g", "b c d e a", "d a b f", "g b a c d"]
#: The first word is left out in all; the others stand as they are.
REFERENCES = [" ".join(text.split()[1:]) for text in SENTENCES]
HELD = ["b a d e f", "c d a g b f"]
START = {"lm": 0.1, "length": 1.0}

#: Waits when it is started for the n-th time, n standing in a file beside it, and says so in one.
SLOW = """\
import os, runpy, sys, time
here = os.path.dirname(os.path.abspath(__file__))
count, told = os.path.join(here, "slow"), os.path.join(here, "pid")
if os.path.exists(count):
    left = int(open(count).read())
    open(count, "w").write(str(left - 1))
    if left == 0:
        open(told + ".partial", "w").write(str(os.getpid()))
        os.rename(told + ".partial", told)
        time.sleep(5000)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass(frozen=True)
class Task:
    """Files of a task."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Task:
        task = cls(folder)
        for name, lines in (
            ("source", SENTENCES),
            ("references", REFERENCES),
            ("dev.source", HELD),
            ("dev.references", [" ".join(text.split()[1:]) for text in HELD]),
        ):
            task.path(name).write_text("".join(f"{line}\n" for line in lines))
        task.path("start.json").write_text(json.dumps(START))
        task.path("slow.py").write_text(SLOW)
        return task

    def path(self, name: str) -> Path:
        return self.folder / name

    def command(self, *fault: str) -> str:
        """Return the template of the decoder."""
        program = shlex.join([*PYTHON, str(self.path("slow.py")), str(RANKER)])
        return " ".join([program, "{weights} {input} {output} {nbest_size}", *fault])

    def arguments(self, *more: object, dev: bool = True, **changed: object) -> list[str]:
        """Return a command line; a value of None leaves an option out."""
        options: dict[str, Any] = {
            "decoder_command": self.command(),
            "source": self.path("source"),
            "references": self.path("references"),
            "start": self.path("start.json"),
            "restarts": 1,
            "walks": 0,
            "rounds": 2,
            "nbest_size": 2,
        }
        if dev:
            options |= {name: self.path(name.replace("_", ".")) for name in ("dev_source",)}
            options |= {"dev_references": self.path("dev.references")}
        options |= changed
        found = ["tune"]
        for name, value in options.items():
            if value is not None:
                found += [f"--{name.replace('_', '-')}", str(value)]
        return [*found, *map(str, more)]


def essence(found: dict[str, Any]) -> dict[str, Any]:
    """Return what must be the same, to the bit, however a run came about."""
    rounds = [
        {key: value for key, value in one.items() if not key.endswith("_seconds")}
        for one in found["rounds"]
    ]
    left = {"seconds", "threads", "engine", "workers", "data", "inputs"}
    return {**{key: value for key, value in found.items() if key not in left}, "rounds": rounds}
