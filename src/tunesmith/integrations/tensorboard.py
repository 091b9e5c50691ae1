"""Runs as TensorBoard's event files, written without TensorFlow.

>>> tuner.fit(tuning, callbacks=[TensorBoardCallback("runs/first")])
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tunesmith.integrations.tracking import Tracker, as_json, folder_of, scores_of
from tunesmith.io.streams import write_atomically

if TYPE_CHECKING:
    from tunesmith.tuners.fitting.result import TuneResult


class TensorBoardCallback(Tracker):
    """Logs a run to a folder: scalars by step, settings and warnings as text, the result.

    A folder holds one run. If it already has one, such as that of a resumed loop, TensorBoard shows
    the new events instead of the old ones.

    Parameters
    ----------
    folder
        The folder to write to; give it, or a folder above it, to ``tensorboard --logdir``.
    weights
        The most weights to log in each step.
    """

    name = "tensorboard"
    package = "tensorboard"

    def __init__(self, folder: str | Path, weights: int = 100) -> None:
        super().__init__(weights)
        self.folder = folder_of(folder, self.name)
        self._writer: Any = None

    def _open(self, settings: Mapping[str, str], key: str | None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._writer = EventFileWriter(str(self.folder))
        # It begins with step 0: what an earlier writer left is shown no more.
        start = SessionLog(status=SessionLog.START)
        self._writer.add_event(Event(wall_time=time.time(), step=0, session_log=start))
        self._add(0, hparams_pb(dict(settings)))
        self._text("settings", "\n".join(f"{k}: {v}" for k, v in settings.items()))

    def _log(self, number: int, figures: Mapping[str, float]) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in figures.items()]
        self._add(number, Summary(value=values))
        self._writer.flush()

    def _finish(self, result: TuneResult) -> None:
        self._log(len(result.rounds or result.history), scores_of(result))
        self._text("signature", result.signature)
        if result.warnings:
            self._text("warnings", "\n".join(result.warnings))
        write_atomically(self.folder / "result.json", as_json(result))
        self._writer.close()

    def _abandon(self, error: BaseException) -> None:
        if self._writer is not None:
            self._text("failed", f"{type(error).__name__}: {error}")
            self._writer.close()

    def _add(self, number: int, summary: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._writer.add_event(Event(wall_time=time.time(), step=number, summary=summary))

    def _text(self, tag: str, text: str) -> None:
        from tensorboard.plugins.text.summary import text_pb

        # As code, so that names with * and _ are shown as they are.
        code = "\n".join(f"    {line}" for line in text.splitlines())
        self._add(0, text_pb(tag, code))
