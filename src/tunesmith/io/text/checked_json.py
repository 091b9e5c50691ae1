"""JSON of files that we wrote: what no writer of ours can write again is not read either."""

from __future__ import annotations

import json
import math
from typing import Any

#: Objects and lists within each other; results have fewer than ten.
DEEPEST = 100
#: Digits of a whole number; longer ones are no numbers of ours.
LONGEST = 300


def loads(data: bytes) -> Any:
    """Return what JSON holds.

    Raises
    ------
    ValueError
        If it is no JSON, if a number is not finite, if a text is no Unicode, or if it is nested
        too deeply.
    """
    try:
        value = json.loads(data, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_depth(value, DEEPEST)
    if b"\\ud" in data.lower():  # a half of a character, perhaps
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a text in it is no Unicode") from None
    return value


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not finite")
    return value


def _whole(text: str) -> int:
    if len(text) > LONGEST:
        raise ValueError("a whole number is too long")
    return int(text)


def _check_depth(value: Any, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if left == 0:
        raise ValueError("it is nested too deeply")
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            _check_depth(inner, left - 1)
