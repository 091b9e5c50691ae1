"""Learners that live with workers of an engine, which are killed while they learn.

A process of its own, because an engine has threads: a line of JSON in is a run, a line out says
how many workers were killed and whether the weights are those of a run that nobody disturbed.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

from fuzz.kills.watched import Watched
from fuzz.toy import sentences
from tunesmith.io.collector import Collector
from tunesmith.io.read import read_lines
from tunesmith.io.streams import Source
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.remote.processes import ProcessEngine
from tunesmith.tasks.lists import TuningSet


def tuning_set(groups: int = 24) -> TuningSet:
    """Return a set on which every sentence has something to teach."""
    rng = random.Random(2)
    collector = Collector()
    texts, _ = sentences(groups, 7)
    for g, text in enumerate(texts):
        words = text.split() * 2
        for _ in range(4):
            rng.shuffle(words)
            values = {f"f{k}": rng.gauss(0, 1) for k in range(3)}
            collector.add(g, " ".join(words), values)
    lines = "".join(f"{text} {text}\n" for text in texts).encode()
    held = read_lines(Source("references", lines), collector.vocabulary)
    return TuningSet(collector.finish([("references", held)]), "bleu")


class Killer(threading.Thread):
    """Kills processes that have left word in a folder, at random moments."""

    def __init__(self, folder: Path, rng: random.Random, most: int) -> None:
        super().__init__(daemon=True)
        self.folder, self.rng, self.most = folder, rng, most
        self.killed, self.ended = 0, threading.Event()

    def run(self) -> None:
        """Kill some of them."""
        while self.killed < self.most and not self.ended.wait(self.rng.uniform(0.01, 0.15)):
            here = [one for one in self.folder.iterdir() if int(one.name) != os.getpid()]
            if here:
                chosen = self.rng.choice(sorted(here))
                try:
                    os.kill(int(chosen.name), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass
                chosen.unlink(missing_ok=True)


def engine_of(name: str) -> Any:
    """Return an engine with two workers."""
    if name == "ray":
        from tunesmith.parallel.ray.engine import RayEngine

        return RayEngine(workers=2)
    return ProcessEngine(2)


def disturbed(task: dict[str, Any], tuning: TuningSet, wanted: dict[str, Any]) -> dict[str, Any]:
    """Learn while workers are killed."""
    tuner = Watched(learners=3, epochs=2, parallel=task["parallel"])
    key = task["parallel"]
    if key not in wanted:
        wanted[key] = dict(tuner.fit(tuning, rng=5).weights)
    with tempfile.TemporaryDirectory() as folder:
        killer = Killer(Path(folder), random.Random(task["seed"]), task["kills"])
        killer.start()
        found = tuner.changed(folder=folder).fit(tuning, rng=5)
        killer.ended.set()
        killer.join()
    return {"killed": killer.killed, "same": dict(found.weights) == wanted[key]}


def main() -> None:
    """Do what the lines of standard input say."""
    resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    tuning, wanted = tuning_set(), {}  # type: ignore[var-annotated]
    with engine_of(sys.argv[1]) as engine, working_on(engine):
        for line in sys.stdin:
            begun = time.perf_counter()
            answer = disturbed(json.loads(line), tuning, wanted)
            answer["seconds"] = time.perf_counter() - begun
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
