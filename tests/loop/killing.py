"""Runs a loop again and again, each time in a process of its own that may be killed.

Started once, it imports and warms up everything, and then forks for each run: a line of JSON in
is a run, a line out says what became of it. It has one thread, so forking is safe.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import signal
import sys
import tempfile
import threading
import time
from typing import Any

from tests.helpers.loop.runs import plain
from tests.helpers.loop.toy import Toy, sentences
from tunesmith.loop import state
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.parallel import local
from tunesmith.tuners.mert.mert import MERT

LOOP = Loop(rounds=2, final="average", weight_tolerance=0.0)
SETS = {"tune": Inputs.of(*sentences(12, 1)), "dev": Inputs.of(*sentences(9, 2))}


class Moments:
    """Counts the moments of each kind, and ends the process at one of them."""

    def __init__(self, kind: str | None, number: int) -> None:
        self.wanted = kind, number
        self.seen: dict[str, int] = {}

    def is_now(self, kind: str) -> bool:
        self.seen[kind] = self.seen.get(kind, 0) + 1
        return (kind, self.seen[kind] - 1) == self.wanted

    def pass_by(self, kind: str) -> None:
        if self.is_now(kind):
            os.kill(os.getpid(), signal.SIGKILL)


def hook(moments: Moments, folder: str) -> tuple[Any, Any]:
    """Return a decoder and a tuner that can be killed, and have files be half-written."""
    fsync, replace, write_arrow = os.fsync, os.replace, state.write_arrow

    @dataclasses.dataclass(frozen=True)
    class Decoder(Toy):
        place: str = ""

        def in_folder(self, folder):
            return dataclasses.replace(self, place=str(folder))

        def configuration(self):
            return {"decoder": "toy"}

        def decode(self, weights, sentences):
            which = "average" if "average" in self.place else self.place.rpartition("-")[2]
            moments.pass_by(f"decoding {which}")
            first = super().decode(weights, sentences)
            with open(os.path.join(self.place, "log"), "a") as log:
                log.write("decoded\n")
            moments.pass_by(f"decoded {which}")
            return first

    class Tuner(MERT):
        def fit(self, *arguments, **options):
            moments.pass_by("tuning")
            found = super().fit(*arguments, **options)
            moments.pass_by("tuned")
            return found

    def half(descriptor):
        kind = "arrow" if os.readlink(f"/proc/self/fd/{descriptor}").endswith("arrow") else "JSON"
        if moments.is_now(f"half of {kind}"):
            os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            fsync(descriptor)
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(descriptor)
        moments.pass_by(f"whole {kind}, without its name")

    def named(source, target):
        replace(source, target)
        name = os.path.basename(target)
        moments.pass_by("between rounds" if name == "tuned.json" else "between steps")

    def in_parts(candidates, file):
        whole = io.BytesIO()
        write_arrow(candidates, whole)
        data = whole.getvalue()
        file.write(data[: len(data) // 2])
        file.flush()
        moments.pass_by("writing candidates")
        file.write(data[len(data) // 2 :])

    state.os = type("os", (), {**vars(os), "fsync": half, "replace": named})  # theirs alone
    state.write_arrow = in_parts
    return Decoder(), Tuner(restarts=1, walks=0)


def run(folder: str, out: str, kind: str | None, number: int) -> None:
    """Run the loop and write what it came to, and which moments there were."""
    moments = Moments(kind, number)
    decoder, tuner = hook(moments, folder)
    result = LOOP.run(decoder, tuner, SETS["tune"], dev=SETS["dev"], work_dir=folder)
    with open(out, "w") as file:
        json.dump({"result": plain(result), "moments": moments.seen}, file)


def serve() -> None:
    """Do what the lines of standard input say."""
    with local.threads(1):
        with tempfile.TemporaryDirectory() as folder:
            tuner = MERT(restarts=1, walks=0)
            LOOP.run(Toy(), tuner, SETS["tune"], dev=SETS["dev"], work_dir=folder)
        assert threading.active_count() == 1, "forking is not safe"
        for line in sys.stdin:
            task = json.loads(line)
            begun = time.perf_counter()
            child = os.fork()
            if child == 0:
                try:
                    run(task["folder"], task["out"], task.get("kind"), task.get("number", 0))
                except BaseException as error:  # noqa: BLE001  (told by the exit code)
                    sys.stderr.write(f"{type(error).__name__}: {error}\n")
                    sys.stderr.flush()
                    os._exit(1)
                os._exit(0)
            if "delay" in task:
                time.sleep(task["delay"])
                os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            seconds = time.perf_counter() - begun
            sys.stdout.write(json.dumps({"code": code, "seconds": seconds}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    serve()
