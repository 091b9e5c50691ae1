"""Scores as metrics write them: COMET's JSON and its lines, and MetricX' JSON lines."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from tunesmith.errors import FormatError
from tunesmith.io.streams import Source
from tunesmith.io.text.json_lines import json_objects

#: What COMET prints of a segment, and in the end of a system.
_SEGMENT = re.compile(r".*\tSegment (\d+)\tscore: (\S+)(\tvariance: \S+)?")
_SYSTEM = re.compile(r".*\tscore: \S+")
#: The key of MetricX' scores, of which less is better, and of COMET's.
METRICX, COMET = "prediction", "COMET"


def scores_in(source: Source) -> list[float] | None:
    """Return the scores of a file that a metric wrote; None if it is one of numbers alone."""
    head = source.head().lstrip()
    if head.startswith(b"{"):
        return _of_lines(source) if _is_metricx(head) else _of_comet(source)
    if b"\tSegment 0\tscore: " in head.split(b"\n", 1)[0]:
        return _printed(source)
    return None


def are_errors(path: str) -> bool:
    """Tell whether a file has scores of MetricX, of which less is better."""
    return _is_metricx(Source(path).head())


def _is_metricx(head: bytes) -> bool:
    line = head.lstrip().split(b"\n", 1)[0].rstrip()
    return line.startswith(b"{") and line.endswith(b"}") and b'"prediction"' in line


def _of_lines(source: Source) -> list[float]:
    return [
        _number(record.get(METRICX), source.name, number, METRICX)
        for number, record in json_objects(source)
    ]


def _of_comet(source: Source) -> list[float]:
    remedy = "give what comet-score --to_json writes, or one number per line"
    try:
        scores = json.loads(bytes(source.buffer()))
    except ValueError as error:
        raise FormatError(source.name, None, f"this is not JSON ({error})", remedy) from None
    systems = list(scores.values()) if isinstance(scores, dict) else []
    if not systems or not all(isinstance(system, list) for system in systems):
        raise FormatError(source.name, None, "there are no segments in it", remedy)
    if len(systems) > 1:
        names = ", ".join(map(str, scores))
        problem = f"it has the scores of several files ({names})"
        raise FormatError(source.name, None, problem, "score one file of candidates")
    return [
        _number(segment.get(COMET) if isinstance(segment, dict) else None, source.name, None, COMET)
        for segment in systems[0]
    ]


def _printed(source: Source) -> list[float]:
    scores: list[float] = []
    for number, line in source.lines():
        segment = _SEGMENT.fullmatch(line)
        if segment is None:
            if _SYSTEM.fullmatch(line):
                break
            raise FormatError(
                source.name, number, "this is no segment's score", "give COMET's lines"
            )
        if int(segment[1]) != len(scores):
            problem = f"segment {segment[1]} stands where {len(scores)} should"
            raise FormatError(source.name, number, problem, "score one file of candidates")
        scores.append(_number(float(segment[2]), source.name, number, "score"))
    return scores


def _number(value: Any, path: str, line: int | None, name: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise FormatError(path, line, f"'{name}' is {json.dumps(value)}", "give a finite number")
    return float(value)
