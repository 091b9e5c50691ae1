"""What those are told of a loop who listen to it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.loop.rounds import LoopRound
from tunesmith.loop.running import Run
from tunesmith.tuners.fitting.callbacks import Audience, Step, figures_of, options_told

#: What is known of a round only when it has been tuned.
LATER = ("list_score", "tune_seconds")


def settings_of_loop(run: Run, options: dict[str, Any], work_dir: Any) -> dict[str, Any]:
    """Return what a loop is run with; ``options`` are its own."""
    tuning = run.configuration()["tuning"]
    names = "metric", "seed", "normalise"
    return {
        **options_told(run.tuner),
        "decoder": run.decoder.name,
        **{name: tuning[name] for name in names},
        **{name: ",".join(tuning[name]) for name in ("keep", "drop")},
        **options,
        "tune_on": run.tune_on,
        **{f"{which}_groups": len(inputs.sentences) for which, inputs in run.sets.items()},
        "files": ", ".join(file.path for one in run.sets.values() for file in one.files),
        **({} if work_dir is None else {"work_dir": os.fspath(work_dir)}),
    }


def key_of(run: Run, work_dir: str | os.PathLike[str] | None) -> str | None:
    """Return what tells this run from all others, also when it is taken up again.

    How many rounds there are does not count: a run can be prolonged.
    """
    if work_dir is None:
        return None
    about = [os.path.realpath(work_dir), run.configuration()]
    text = json.dumps(about, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Telling:
    """Tells an audience of rounds as they come, and then asks whether more follow."""

    def __init__(
        self, audience: Audience, why_stop: Callable[[Sequence[LoopRound]], str | None]
    ) -> None:
        self.audience = audience
        self.why_stop = why_stop

    def __call__(self, rounds: Sequence[LoopRound]) -> str | None:
        """Tell what tuning in the round before came to, and the last decoding."""
        last = len(rounds) - 1
        if last > 0:
            entry = rounds[-2].entry(last - 1, False)
            tuned = figures_of({name: entry[name] for name in LATER})
            self.audience.step(Step(last - 1, tuned))
        entry = rounds[-1].entry(last, False)
        del entry["round"], entry["chosen"]
        self.audience.step(Step(last, figures_of(entry), rounds[-1].weights))
        return self.why_stop(rounds)
