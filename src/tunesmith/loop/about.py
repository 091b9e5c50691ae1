"""What a loop stores for reports, before it has a result and afterwards."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tunesmith.loop.records import ABOUT, TEXTS
from tunesmith.loop.running import Run
from tunesmith.loop.state import State
from tunesmith.metrics.base import Metric
from tunesmith.metrics.spec import spec_of

SCHEMA = "tunesmith.loop-about/1"


def store_description(state: State, run: Run, final: str, others: Sequence[Metric | str]) -> None:
    """Store what a run does, and the sentences and references that no step stores."""
    state.keep(ABOUT, describe(run, final, others))
    state.keep(TEXTS, {which: inputs.to_dict() for which, inputs in run.sets.items()})


def describe(run: Run, final: str, others: Sequence[Metric | str]) -> dict[str, Any]:
    """Describe a run.

    Parameters
    ----------
    run
        The loop.
    final
        Whose weights it returns; see ``Loop``.
    others
        Secondary metrics.
    """
    metrics = [run.metric, *others]
    tuner, decoder = run.tuner, run.decoder.name
    files = [file for inputs in run.sets.values() for file in inputs.files]
    return {
        "schema": SCHEMA,
        "tuner": tuner.name,
        "decoder": decoder,
        "tune_on": run.tune_on,
        "final": final,
        "metric": run.metric.name,
        "metrics": [m if isinstance(m, str) else spec_of(m) for m in metrics],
        "seed": run.seed,
        "signature": f"decoder:{decoder}|{tuner.signature()}|seed:{run.seed}",
        "data": [dataclasses.asdict(file) for file in files],
    }
