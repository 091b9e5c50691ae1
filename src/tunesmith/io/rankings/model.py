"""Models of rankings from files: weights, and what is done to scores before."""

from __future__ import annotations

import json
from typing import Any

from tunesmith.data.rankings.normalisation import Normalisation
from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.weights.files import read_weights


def read_model(path: str, given: Normalisation | None) -> tuple[Weights, Normalisation]:
    """Read weights of any format, with the normalisation that stands beside them.

    Parameters
    ----------
    path
        A result of ``fuse`` or ``tune``, or weights alone.
    given
        The normalisation of weights that stand alone.
    """
    file = read_weights(path)
    stored = _normalisation(file.text, path) if file.format == "json" else None
    if stored is not None and given is not None and stored != given:
        raise UsageError(
            f"{path} was tuned with the normalisation {stored} and not {given}; drop the option"
        )
    normalisation = given if stored is None else stored
    if normalisation is None:
        raise UsageError(
            f"{path} does not say what is done to scores before they are weighted; give "
            "--normalisation, as none or min-max"
        )
    return file.weights, normalisation


def _normalisation(text: bytes, path: str) -> Normalisation | None:
    result: Any = json.loads(text)
    if not isinstance(result, dict) or not isinstance(result.get("weights"), dict):
        return None
    inputs = result.get("inputs")
    stored = result.get("normalisation")
    if stored is None and isinstance(inputs, dict):
        stored = inputs.get("normalisation")
    if stored is None:
        return None
    try:
        return Normalisation.from_dict(stored)
    except (TunesmithError, KeyError, TypeError, ValueError):
        raise FormatError(
            path, None, "its normalisation is none of ours", "give a result of fuse or tune"
        ) from None
