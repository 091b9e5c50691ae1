"""Runs in MLflow: on a server, in a database, or in a folder.

>>> tuner.fit(tuning, callbacks=[MLflowCallback("mlruns", experiment="reranking")])
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from tunesmith.errors import shortened
from tunesmith.integrations.tracking import Tracker, as_json, folder_of, sanitized, scores_of

if TYPE_CHECKING:
    from tunesmith.tuners.fitting.result import TuneResult

#: What MLflow refuses in the name of a metric, and what would make folders of it.
REFUSED = re.compile(r"[^\w.\- ]|^\.+$")
#: Characters of a name at most, of MLflow's 250.
LONGEST = 200
#: Seconds between two writings, so that many short steps do not wait for each other; and numbers in
#: one request, of MLflow's 1000.
PAUSE, BATCH = 2.0, 900
#: The tag by which a run is found again.
TAG = "tunesmith.run"


class MLflowCallback(Tracker):
    """Logs a run: settings as parameters, figures and weights as metrics, the result as a file.

    A resumed loop with a work directory continues its run.

    Parameters
    ----------
    uri
        A tracking URI, or a folder for a database ``mlflow.db`` and files. None uses the active
        run, or MLflow's own settings.
    experiment
        The experiment; created if it does not exist.
    run_name
        The name of the run; by default MLflow makes one up.
    weights
        The most weights to log in each step.
    """

    name = "mlflow"
    package = "mlflow"
    # A server that does not answer holds the run up for seconds, not for minutes as by default.
    environment: ClassVar[Mapping[str, str]] = {
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    }

    def __init__(
        self,
        uri: str | Path | None = None,
        experiment: str = "tunesmith",
        run_name: str | None = None,
        weights: int = 100,
    ) -> None:
        super().__init__(weights)
        self.uri = None if uri is None else str(uri)
        self.experiment = experiment
        self.run_name = run_name
        self._files: str | None = None
        if self.uri is not None and not _is_uri(self.uri):
            folder = folder_of(self.uri, self.name).resolve()
            self.uri = f"sqlite:///{(folder / 'mlflow.db').as_posix()}"
            self._files = (folder / "artifacts").as_uri()
        self._client: Any = None
        self._run = ""
        self._is_ours = True
        self._waiting: list[Any] = []
        self._written = -PAUSE
        self._known: dict[str, set[int]] | None = None

    def _open(self, settings: Mapping[str, str], key: str | None) -> None:
        import mlflow
        from mlflow.tracking import MlflowClient

        self._known, self._waiting = None, []
        active = mlflow.active_run() if self.uri is None else None
        self._is_ours = active is None
        self._client = MlflowClient(tracking_uri=self.uri)
        self._run = self._own_run(key) if active is None else active.info.run_id
        self._parameters(settings)

    def _parameters(self, settings: Mapping[str, str]) -> None:
        logged = self._client.get_run(self._run).data.params
        for name, value in settings.items():
            if name not in logged:
                self._client.log_param(self._run, name, value)
            elif logged[name] != value:
                # A parameter stays as it is: what a prolonged run has now is a tag.
                self._client.set_tag(self._run, f"now.{name}", value)

    def _own_run(self, key: str | None) -> str:
        """Return the run of an earlier call that is taken up again, or a new one."""
        client = self._client
        experiment = client.get_experiment_by_name(self.experiment)
        number = (
            client.create_experiment(self.experiment, artifact_location=self._files)
            if experiment is None
            else experiment.experiment_id
        )
        if key is not None:
            before = client.search_runs([number], f"tags.`{TAG}` = '{key}'", max_results=1)
            if before:
                self._known = {}
                client.update_run(before[0].info.run_id, status="RUNNING")
                return str(before[0].info.run_id)
        tags = {} if key is None else {TAG: key}
        return str(client.create_run(number, tags=tags, run_name=self.run_name).info.run_id)

    def _sanitized(self, name: str) -> str:
        return sanitized(name, REFUSED, LONGEST)

    def _log(self, number: int, figures: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        for name, value in figures.items():
            if not self._is_known(name, number):
                self._waiting.append(Metric(name, value, now, number))
        if len(self._waiting) >= BATCH or time.monotonic() - self._written >= PAUSE:
            self._write()

    def _is_known(self, name: str, number: int) -> bool:
        """Tell whether a run that goes on has a figure already; what it ends with may be new."""
        if self._known is None or name.startswith("final/"):
            return False
        if name not in self._known:
            history = self._client.get_metric_history(self._run, name)
            self._known[name] = {metric.step for metric in history}
        return number in self._known[name]

    def _write(self) -> None:
        """Write what waits."""
        waiting, self._waiting = self._waiting, []
        for k in range(0, len(waiting), BATCH):
            self._client.log_batch(self._run, metrics=waiting[k : k + BATCH])
        self._written = time.monotonic()

    def _finish(self, result: TuneResult) -> None:
        final = {self._final(name): value for name, value in scores_of(result).items()}
        self._log(len(result.rounds or result.history), final)
        self._write()
        client = self._client
        self._parameters({"signature": shortened(result.signature)})
        client.log_text(self._run, as_json(result), "result.json")
        if result.warnings:
            client.log_text(self._run, "\n".join(result.warnings) + "\n", "warnings.txt")
        if self._is_ours:
            client.set_terminated(self._run, "KILLED" if result.interrupted else "FINISHED")

    def _final(self, name: str) -> str:
        """Return a name whose part behind the slash may be that of a metric with options."""
        group, _, rest = name.partition("/")
        return f"{group}/{self._sanitized(rest)}"

    def _abandon(self, error: BaseException) -> None:
        if self._run:
            self._write()
            if self._is_ours:
                is_stopped = isinstance(error, KeyboardInterrupt)
                self._client.set_terminated(self._run, "KILLED" if is_stopped else "FAILED")


def _is_uri(text: str) -> bool:
    """Tell a tracking URI from a folder; one letter before a colon is a drive."""
    return text == "databricks" or re.match(r"[A-Za-z][A-Za-z0-9+.\-]+:", text) is not None
