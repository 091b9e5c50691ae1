"""Workers that are killed at random while learners live with them."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter

import pytest

from tests.helpers.tuners.online import many
from tests.tuners.online.watched import Watched
from tunesmith.parallel.engine import working_on
from tunesmith.parallel.remote.processes import ProcessEngine
from tunesmith.tuners.online.learner import OnlineLearner

pytestmark = pytest.mark.long
KILLS = 2


def processes():
    return ProcessEngine(2)


def ray():
    pytest.importorskip("ray", reason="ray is not installed")
    from tunesmith.parallel.ray.engine import RayEngine

    return RayEngine(workers=2)


@pytest.fixture(scope="module", params=[processes, ray], ids=lambda make: make.__name__)
def engine(request):
    with request.param() as made:
        yield made


class Killer(threading.Thread):
    """Kills some process of those that have left word in a folder, from time to time."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.killed, self.ended = folder, set(), threading.Event()

    def run(self):
        chance = random.Random(1)
        while len(self.killed) < KILLS and not self.ended.wait(chance.uniform(0.1, 0.3)):
            here = {int(one.name) for one in self.folder.iterdir()} - {os.getpid(), *self.killed}
            if here:
                chosen = chance.choice(sorted(here))
                os.kill(chosen, signal.SIGKILL)
                self.killed.add(chosen)
        (self.folder / "enough").touch()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


@pytest.mark.parametrize(
    "options",
    [
        {"parallel": "mixing"},
        {"parallel": "async"},
        {"parallel": "async", "clock": "free"},
    ],
    ids=["mixing", "lockstep", "free"],
)
@pytest.mark.filterwarnings("ignore:with --clock free")
def test_workers_are_killed_at_random(engine, options, tmp_path, monkeypatch):
    """Each sentence is learnt from once in each epoch, and no bit depends on who was killed."""
    tuner, tuning = Watched(learners=3, epochs=2, **options), many()
    if tuner.is_free and engine.name == "ray":
        pytest.skip("to save time: what differs from lockstep is no engine's matter")
    seen = Counter()
    honest = OnlineLearner.apply

    def apply(self, step):
        seen[step.group] += 1
        honest(self, step)

    wanted = None if tuner.is_free else dict(tuner.fit(tuning, rng=5).weights)
    with monkeypatch.context() as patch, working_on(engine), Killer(tmp_path) as killer:
        patch.setattr(OnlineLearner, "apply", apply)  # here, not where learners live
        found = tuner.changed(folder=str(tmp_path)).fit(tuning, rng=5)
    assert seen == dict.fromkeys(range(tuning.groups), 2)
    assert len(killer.killed) == KILLS
    assert sum(entry.get("learners_replaced", 0) for entry in found.history) >= KILLS
    if wanted is not None:
        assert dict(found.weights) == wanted
