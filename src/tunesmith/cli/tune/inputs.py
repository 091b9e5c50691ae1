"""What a result says of its inputs, and what a result that it replaces says of its test set."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tunesmith.cli.options.reading import reading

if TYPE_CHECKING:
    from tunesmith.cli.app import Session
    from tunesmith.data.candidates import FileDigest
    from tunesmith.tuners.fitting.result import TuneResult

#: The options of a set that name files.
NAMED = ("candidates", "forests", "source", "references", "scores")


def shown_path(path: str) -> str:
    """Return a path as files are named in results; it need not be UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def files_named(format_name: str | None = None, **named: str | Sequence[str] | None) -> Any:
    """Return what a result says of a set: its files as a user names them; None without any."""
    if not any(named.values()):
        return None
    entries: dict[str, Any] = {}
    for option, value in named.items():
        if isinstance(value, str):
            entries[option] = shown_path(value)
        elif value is not None:
            entries[option] = [shown_path(path) for path in value]
    if entries.get("candidates") and reading().record():
        entries["reading"] = reading().record()
    return {**entries, "format": format_name}


def paths_of(named: dict[str, Any] | None) -> list[str]:
    """Return all files of a set as a result names them."""
    paths: list[str] = []
    for option in NAMED:
        value = (named or {}).get(option) or []
        each = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        each = [path for path in each if isinstance(path, str)]
        paths += [path.partition("=")[2] if option == "scores" else path for path in each]
    return paths


def digests_of(result: dict[str, Any], set_name: str) -> set[str]:
    """Return the digests of the files of a set, from a result as JSON; empty if it has none."""
    inputs = result.get("inputs")
    if not isinstance(inputs, dict) or not isinstance(inputs.get(set_name), dict):
        return set()
    return digests(paths_of(inputs[set_name]), result.get("data") or ())


def is_tuned_on(path: str, files: Iterable[FileDigest]) -> bool:
    """Tell whether a weights file is a result that was tuned on a set, by the set's files."""
    result = earlier(path) if path != "-" else None
    # References by themselves may belong to other candidates.
    read = {file.sha256 for file in files if file.format not in {"text", "scores"}}
    return bool(read) and result is not None and read <= digests_of(result, "tune")


def digests(paths: Iterable[str], data: Iterable[dict[str, Any]]) -> set[str]:
    """Return the digests of files; those of a folder are those of what was read from it."""
    of_set = set(paths)
    return {file["sha256"] for file in data if file["path"] in of_set}


def counted(session: Session, result: TuneResult, out: str | None) -> TuneResult:
    """Note how often the test set has been scored, and warn if it was before.

    What is known is what the file says that the result takes the place of.
    """
    if result.test is None or out is None or not out.endswith(".json"):
        return result
    now = json.loads(json.dumps(result.to_dict()))
    before = earlier(out)
    count = 1
    if before and digests_of(before, "test") == digests_of(now, "test") != set():
        same = all(before.get(key) == now.get(key) for key in ("signature", "data"))
        times = before.get("test_scored")
        count = (times if isinstance(times, int) and times > 0 else 1) + (not same)
    if count > 1:
        text = (
            f"this test set has been scored {count} times, with other settings each time; choose "
            "by a held-out set (--dev-candidates, --dev-source), and score the test set at the end"
        )
        if text not in session.warnings:
            warnings.warn(text, stacklevel=2)
    return dataclasses.replace(result, test_scored=count)


def dated(session: Session, result: TuneResult) -> TuneResult:
    """Note when a run ended, and the command that runs it again."""
    date = _now().isoformat(timespec="seconds")
    command = [shown_path(argument) for argument in session.arguments]
    inputs = {**(result.inputs or {}), "command": command, "date": date}
    return dataclasses.replace(result, inputs=inputs)


def _now() -> datetime.datetime:
    """Return the time; a build that must be reproducible sets it (reproducible-builds.org)."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None:
        try:
            return datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        except (ValueError, OverflowError, OSError):
            text = (
                f"SOURCE_DATE_EPOCH is no number of seconds: {epoch!r}; the result has today's date"
            )
            warnings.warn(text, stacklevel=2)
    return datetime.datetime.now(datetime.UTC)


def earlier(path: str) -> dict[str, Any] | None:
    """Return the result that a file holds; None if it holds none."""
    try:
        with open(path, "rb") as file:
            result = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    is_result = isinstance(result, dict) and str(result.get("schema")).startswith("tunesmith.tune/")
    return result if is_result and _are_files(result.get("data")) else None


def _are_files(data: Any) -> bool:
    """Tell whether a list names files with their digests; whoever wrote it may not have been us."""
    return isinstance(data, list) and all(
        isinstance(entry, dict) and {type(entry.get(key)) for key in ("path", "sha256")} == {str}
        for entry in data
    )
