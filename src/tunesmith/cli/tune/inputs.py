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
    found: dict[str, Any] = {}
    for option, given in named.items():
        if isinstance(given, str):
            found[option] = shown_path(given)
        elif given is not None:
            found[option] = [shown_path(path) for path in given]
    if found.get("candidates") and reading().record():
        found["reading"] = reading().record()
    return {**found, "format": format_name}


def paths_of(named: dict[str, Any] | None) -> list[str]:
    """Return all files of a set as a result names them."""
    found: list[str] = []
    for option in NAMED:
        given = (named or {}).get(option) or []
        each = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        each = [path for path in each if isinstance(path, str)]
        found += [path.partition("=")[2] if option == "scores" else path for path in each]
    return found


def digests_of(result: dict[str, Any], which: str) -> set[str]:
    """Return the digests of the files of a set, from a result as JSON; empty if it has none."""
    inputs = result.get("inputs")
    if not isinstance(inputs, dict) or not isinstance(inputs.get(which), dict):
        return set()
    return digests(paths_of(inputs[which]), result.get("data") or ())


def is_tuned_on(path: str, files: Iterable[FileDigest]) -> bool:
    """Tell whether a weights file is a result that was tuned on a set, by the set's files."""
    result = earlier(path) if path != "-" else None
    # References by themselves may belong to other candidates.
    read = {file.sha256 for file in files if file.format not in {"text", "scores"}}
    return bool(read) and result is not None and read <= digests_of(result, "tune")


def digests(paths: Iterable[str], data: Iterable[dict[str, Any]]) -> set[str]:
    """Return the digests of files; those of a folder are those of what was read from it."""
    wanted = set(paths)
    return {file["sha256"] for file in data if file["path"] in wanted}


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
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    command = [shown_path(argument) for argument in session.arguments]
    inputs = {**(result.inputs or {}), "command": command, "date": date}
    return dataclasses.replace(result, inputs=inputs)


def earlier(path: str) -> dict[str, Any] | None:
    """Return the result that a file holds; None if it holds none."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    is_result = isinstance(found, dict) and str(found.get("schema")).startswith("tunesmith.tune/")
    return found if is_result and _are_files(found.get("data")) else None


def _are_files(data: Any) -> bool:
    """Tell whether a list names files with their digests; whoever wrote it may not have been us."""
    return isinstance(data, list) and all(
        isinstance(one, dict) and {type(one.get(key)) for key in ("path", "sha256")} == {str}
        for one in data
    )
