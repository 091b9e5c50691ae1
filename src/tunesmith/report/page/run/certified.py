"""What ``tunesmith certify --json`` has proven about the weights of a run."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tunesmith.errors import FormatError
from tunesmith.io.text import checked_json
from tunesmith.tuners.certify import SCHEMA

#: What is shown of each certificate; numbers are needed.
NUMBERS = ("best", "bound", "gap")
#: Weights are the same if, scaled alike, none is farther off than this.
SAME = 1e-6


def read_certified(path: str | os.PathLike[str], weights: Mapping[str, float]) -> dict[str, Any]:
    """Read what was proven, and see that it is about the weights of a run."""
    name = os.fspath(path)
    remedy = "give what `tunesmith certify --json` prints"
    try:
        certified = checked_json.loads(Path(path).read_bytes())
    except OSError as error:
        problem = (error.strerror or "it cannot be read").lower()
        raise FormatError(name, None, problem, remedy) from None
    except ValueError:
        certified = None
    if not isinstance(certified, dict) or certified.get("schema") != SCHEMA:
        raise FormatError(name, None, "this is no certificate", remedy)
    curve = certified.get("curve") or []
    kinds = isinstance(certified.get("metric"), str) and isinstance(certified.get("weights"), dict)
    if not kinds or not isinstance(curve, list):
        raise FormatError(name, None, "this is no whole certificate", remedy)
    for proof in (certified.get("certificate"), *curve):
        keys = NUMBERS if proof is certified.get("certificate") else (*NUMBERS, "degrees")
        if not isinstance(proof, dict) or not all(_is_number(proof.get(key)) for key in keys):
            raise FormatError(name, None, "this is no whole certificate", remedy)
    if not _are_same(certified["weights"], weights):
        raise FormatError(name, None, "it is about other weights", "certify those of the run")
    return {key: certified.get(key) for key in ("metric", "score", "certificate", "curve")}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _are_same(ones: Mapping[str, Any], others: Mapping[str, float]) -> bool:
    """Tell whether two weights choose the same, whatever their scale."""
    if not all(map(_is_number, ones.values())):
        return False
    names = {*ones, *others}
    greatest = [
        max((abs(weights.get(n, 0.0)) for n in names), default=0.0) for weights in (ones, others)
    ]
    if min(greatest) == 0.0:
        return max(greatest) == 0.0
    return all(
        abs(ones.get(n, 0.0) / greatest[0] - others.get(n, 0.0) / greatest[1]) <= SAME
        for n in names
    )
