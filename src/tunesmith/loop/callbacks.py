"""Callbacks of a loop: its settings, the key of a run that can be resumed, and its rounds."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from tunesmith.loop.rounds import LoopRound
from tunesmith.loop.running import Run
from tunesmith.tuners.fitting.callbacks import CallbackList, Step, figures_of, tuner_settings

#: Figures of a round that are known only after its tuning.
TUNING_FIGURES = ("list_score", "tune_seconds")


def settings_of_loop(run: Run, options: dict[str, Any], work_dir: Any) -> dict[str, Any]:
    """Return the settings of a loop; ``options`` are its own."""
    tuning = run.configuration()["tuning"]
    names = "metric", "seed", "normalise"
    return {
        **tuner_settings(run.tuner),
        "decoder": run.decoder.name,
        **{name: tuning[name] for name in names},
        **{name: ",".join(tuning[name]) for name in ("keep", "drop")},
        **options,
        "tune_on": run.tune_on,
        **{f"{set_name}_groups": len(inputs.sentences) for set_name, inputs in run.sets.items()},
        "files": ", ".join(file.path for inputs in run.sets.values() for file in inputs.files),
        **({} if work_dir is None else {"work_dir": os.fspath(work_dir)}),
    }


def key_of(run: Run, work_dir: str | os.PathLike[str] | None) -> str | None:
    """Return an identifier of this run, the same when it is resumed.

    It does not depend on the number of rounds: a run can be prolonged.
    """
    if work_dir is None:
        return None
    identity = [os.path.realpath(work_dir), run.configuration()]
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class RoundNotifier:
    """Reports each round to the callbacks, and returns why no further round follows."""

    def __init__(
        self, callback_list: CallbackList, why_stop: Callable[[Sequence[LoopRound]], str | None]
    ) -> None:
        self.callback_list = callback_list
        self.why_stop = why_stop

    def __call__(self, rounds: Sequence[LoopRound]) -> str | None:
        """Report the tuning of the round before, and the last decoding."""
        last = len(rounds) - 1
        if last > 0:
            entry = rounds[-2].entry(last - 1, False)
            tuned = figures_of({name: entry[name] for name in TUNING_FIGURES})
            self.callback_list.on_step(Step(last - 1, tuned))
        entry = rounds[-1].entry(last, False)
        del entry["round"], entry["chosen"]
        self.callback_list.on_step(Step(last, figures_of(entry), rounds[-1].weights))
        return self.why_stop(rounds)
