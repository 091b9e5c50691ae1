"""A result file: read, and seen to be one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from tunesmith.errors import FormatError
from tunesmith.io.text import checked_json
from tunesmith.tuners.fitting.result import SCHEMA
from tunesmith.tuners.fitting.verdict import HeldOutKind, Recommendation

#: What is needed of a result, or is what it should be if it is there.
KINDS: dict[str, tuple[type, ...]] = {
    "tuner": (str,),
    "metric": (str,),
    "signature": (str,),
    "weights": (dict,),
    "start": (dict,),
    "score": (int, float),
    "initial_score": (int, float),
    "history": (list,),
    "warnings": (list,),
    "data": (list,),
    "rounds": (list, type(None)),
    "path": (list, type(None)),
    "runs": (list, type(None)),
    "others": (list,),
    "dev": (dict, type(None)),
    "test": (dict, type(None)),
    "certificate": (dict, type(None)),
    "inputs": (dict, type(None)),
    "verdict": (dict, type(None)),
}
#: No score is so large.
HUGE = 1e100
NEEDED = ("tuner", "metric", "signature", "weights", "start", "score")


def read_result(path: Path) -> dict[str, Any]:
    """Read a result file, and see that it is one."""
    name = os.fspath(path)
    try:
        text = path.read_bytes()
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        remedy = "name a work directory, or the .json of `tunesmith tune --out`"
        raise FormatError(name, None, problem, remedy) from None
    remedy = "name a work directory, or the .json that `tunesmith tune --out` writes"
    try:
        result = checked_json.loads(text)
    except ValueError:
        raise FormatError(name, None, "this is no result of a run", remedy) from None
    schema = str(result.get("schema", "")) if isinstance(result, dict) else ""
    if not schema.startswith("tunesmith.tune/"):
        raise FormatError(name, None, "this is no result of a run", remedy)
    if schema != SCHEMA:
        problem = f"it is of a newer version of tunesmith ({schema})"
        raise FormatError(name, None, problem, "make the report with that version")
    check_result(result, name)
    return dict(result)


def check_result(result: Mapping[str, Any], name: str) -> None:
    """Raise an error if a result does not have what a result has."""
    inputs = result.get("inputs")
    if isinstance(inputs, dict) and "normalisation" in inputs:
        problem = "it is a result of rankings, and a report shows sentences"
        raise FormatError(name, None, problem, "print it, or use `tunesmith evaluate --run`")
    remedy = "give the file as `tunesmith tune` wrote it"
    for key in NEEDED:
        if key not in result:
            raise FormatError(name, None, f"it has no '{key}'", remedy)
    for key, kinds in KINDS.items():
        if key in result and (not isinstance(result[key], kinds) or isinstance(result[key], bool)):
            raise FormatError(name, None, f"'{key}' is not what it should be", remedy)
    for key in ("history", "data", "rounds", "path", "runs", "others"):
        if not all(isinstance(item, dict) for item in result.get(key) or ()):
            raise FormatError(name, None, f"'{key}' is not what it should be", remedy)
    texts = [item.get(key) for item in result.get("data") or () for key in ("path", "sha256")]
    if not _are_texts(texts):
        raise FormatError(name, None, "'data' is not what it should be", remedy)
    if not _are_inputs(result.get("inputs") or {}):
        raise FormatError(name, None, "'inputs' is not what it should be", remedy)
    if not _is_verdict(result.get("verdict")):
        raise FormatError(name, None, "'verdict' is not what it should be", remedy)


def _are_inputs(value: Mapping[str, Any]) -> bool:
    """Tell whether it is what a result says of its inputs."""
    return (
        _are_texts(value.get("metrics") or ["bleu"])
        and isinstance(value.get("prune") or "", str)
        and all(isinstance(value.get(key) or "", str) for key in ("work_dir", "date"))
        and _are_texts(value.get("command") or [])
        and all(_are_files(value.get(which) or {}) for which in ("tune", "dev", "test"))
    )


def _are_files(value: Any) -> bool:
    """Tell whether it is what a result says of the files of a set."""
    if not isinstance(value, dict):
        return False
    lists = ("candidates", "forests", "references", "scores")
    texts = (value.get(key) or "" for key in ("source", "format"))
    return all(_are_texts(value.get(key) or []) for key in lists) and _are_texts(list(texts))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_verdict(verdict: Any) -> bool:
    """Tell whether this is a verdict, or none, as of versions that had none."""
    if verdict is None:
        return True
    figures = [verdict.get(key) for key in ("gain", "low", "high")]
    are_figures = all(type(figure) in (int, float) and abs(figure) < HUGE for figure in figures)
    return (
        verdict.get("recommendation") in get_args(Recommendation)
        and verdict.get("on") in (*get_args(HeldOutKind), None)
        and (are_figures or figures == [None, None, None])
        and (are_figures or verdict["recommendation"] == "no-held-out-data")
        and type(verdict.get("sentences", 0)) is int
        and type(verdict.get("higher_is_better", True)) is bool
    )
