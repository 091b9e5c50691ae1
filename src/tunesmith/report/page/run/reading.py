"""From a work directory or a result file to a record of the run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.io.weights.json import JsonWeights
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.registry import IN_FILE
from tunesmith.report.page.run.files import FileReader, SetFiles, UserFiles, places
from tunesmith.report.page.run.folder import read_folder
from tunesmith.report.page.run.record import RunRecord
from tunesmith.report.page.run.result import read_result

__all__ = ["SetFiles", "UserFiles", "read_run"]


def read_run(path: str | os.PathLike[str], user_files: UserFiles | None = None) -> RunRecord:
    """Read a run: its result, and the candidates that it chose from.

    Nothing is written, and no lock is taken: a run that goes on is not disturbed.

    Parameters
    ----------
    path
        A work directory, or a result file as ``tunesmith tune --out`` writes it.
    user_files
        What to read where the run's own files are not found.

    Returns
    -------
    RunRecord
        What could not be read is missing from it, with the reason.
    """
    user_files = user_files or UserFiles()
    place = Path(path)
    if place.is_dir():
        return read_folder(place, user_files, metric_for)
    result = read_result(place)
    inputs = result.get("inputs") or {}
    metric, *others = _metrics(place, result, user_files)
    start, weights = _weights(place, result)
    arguments = os.fspath(path), False, result, metric, start, weights
    is_whole = not result.get("interrupted")
    missing: list[str] = []
    if result.get("rounds"):
        record = _of_loop(place, result, user_files)
        if record is not None:
            return record
        where = inputs.get("work_dir")
        reason = f"{where} is not there" if where else "the run kept no work directory"
        if where:
            reason += ", or holds another run"
        missing.append(
            f"What the decoder gave is not shown: {reason}; make the report of the work directory."
        )
        return RunRecord(*arguments, {}, tuple(missing), is_whole)
    reader = FileReader(result, place.parent, metric, [metric, *others], start, weights, user_files)
    sets, missing = reader.sets()
    return RunRecord(*arguments, sets, tuple(missing), is_whole)


def _weights(path: Path, result: Mapping[str, Any]) -> tuple[Weights, Weights]:
    """Return the weights before and after; the former have all names."""
    start, weights = (
        JsonWeights().read(json.dumps({"weights": result[key]}).encode(), os.fspath(path))
        for key in ("start", "weights")
    )
    return start, weights


def _metrics(path: Path, result: Mapping[str, Any], user_files: UserFiles) -> list[Metric]:
    """Return the tuned metric, and the secondary metrics that can be created here."""
    specs = (result.get("inputs") or {}).get("metrics") or [result["metric"]]
    spec = user_files.metric or str(specs[0])
    first = metric_for(spec, os.fspath(path), user_files.metric is not None)
    if first.name != result["metric"]:
        raise UsageError(
            f"{path}: it was tuned for {result['metric']}, not {first.name}; give that"
        )
    others = [spec for spec in specs[1:] if isinstance(spec, str) and not IN_FILE.match(spec)]
    return [first, *(metric_for(spec, os.fspath(path), False) for spec in others)]


def metric_for(spec: str, path: str, is_given: bool) -> Metric:
    """Make a metric; a file that a result names is not run, one that the user names is."""
    if not is_given and IN_FILE.match(spec):
        raise UsageError(
            f"{path}: it was tuned for a class of a file, which is not run unasked; give --metric "
            f"{spec}"
        )
    try:
        return METRICS.create(spec)
    except TunesmithError as error:
        if is_given:
            raise
        raise UsageError(f"{path}: {str(error).partition(';')[0]}; give --metric") from None


def _of_loop(path: Path, result: Mapping[str, Any], user_files: UserFiles) -> RunRecord | None:
    """Return the record of the work directory of a loop's result, if it is there."""
    where = (result.get("inputs") or {}).get("work_dir")
    for place in places(path.parent, where) if isinstance(where, str) else ():
        if not (place / "result.json").is_file():
            continue
        try:
            folder_result = read_result(place / "result.json")
        except TunesmithError:
            continue
        if (
            folder_result["signature"] == result["signature"]
            and folder_result["weights"] == result["weights"]
        ):
            return read_folder(place, user_files, metric_for)
    return None
