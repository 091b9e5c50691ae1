"""Runs in Weights & Biases; ``WANDB_MODE=offline`` needs no network and no account.

>>> tuner.fit(tuning, callbacks=[WandbCallback("reranking", mode="offline")])
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunesmith.integrations.tracking import Tracker, as_json, scores_of

if TYPE_CHECKING:
    from tunesmith.tuners.fitting.result import TuneResult


class WandbCallback(Tracker):
    """Logs a run: settings as its configuration, figures and weights by step, the result.

    A resumed loop with a work directory continues its run. If a run is already active in this
    process, it is used, and stays open.

    Parameters
    ----------
    project
        The project; None uses that of the active run, or of the environment.
    mode
        ``online``, ``offline`` or ``disabled``; None uses ``WANDB_MODE``.
    weights
        The most weights to log in each step.
    options
        Further arguments of ``wandb.init``, such as ``entity``, ``group``, ``dir``.
    """

    name = "wandb"
    package = "wandb"

    def __init__(
        self,
        project: str | None = None,
        mode: str | None = None,
        weights: int = 100,
        **options: Any,
    ) -> None:
        super().__init__(weights)
        self.project = project
        self.options = options if mode is None else {"mode": mode, **options}
        self._run: Any = None
        self._is_ours = True
        self._first = self._offset = 0

    def _open(self, settings: Mapping[str, str], key: str | None) -> None:
        import wandb

        self._is_ours = wandb.run is None
        if wandb.run is not None:
            self._run = wandb.run
        else:
            # Standard output is the result's: nothing is caught or added there.
            options = {"settings": wandb.Settings(console="off"), **_mode(), **self.options}
            if key is not None:
                options = {"id": key, "resume": "allow", **options}
            self._run = wandb.init(project=self.project, **options)
        self._run.config.update(dict(settings), allow_val_change=True)
        # No step before its last is taken by a run that goes on, and has ours already, nor by one
        # that has steps of someone else, behind which ours come.
        done = int(self._run.step)
        self._first, self._offset = (done, 0) if self._is_ours else (0, done)

    def _log(self, number: int, figures: Mapping[str, float]) -> None:
        if number >= self._first:
            self._run.log(dict(figures), step=number + self._offset)

    def _finish(self, result: TuneResult) -> None:
        self._run.summary.update(scores_of(result))
        self._run.config.update({"signature": result.signature}, allow_val_change=True)
        if result.warnings:
            self._run.summary["warnings"] = "\n".join(result.warnings)
        # What is in the run's folder is uploaded with it.
        Path(self._run.dir, "result.json").write_text(as_json(result), encoding="utf-8")
        self._close(0)

    def _abandon(self, error: BaseException) -> None:
        if self._run is not None:
            self._close(1)

    def _close(self, code: int) -> None:
        """Finish the run if it was started here."""
        run, self._run = self._run, None
        if self._is_ours:
            run.finish(exit_code=code)


def _mode() -> dict[str, str]:
    """Return what the environment says now: wandb itself looks at it once in a process."""
    mode = os.environ.get("WANDB_MODE")
    return {"mode": mode} if mode in {"online", "offline", "disabled"} else {}
