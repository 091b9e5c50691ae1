"""Weights as search engines and other programs take them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tunesmith.data.rankings.normalisation import Normalisation
from tunesmith.errors import UnknownNameError, UsageError


def elasticsearch(weights: Mapping[str, float], normalisation: Normalisation, depth: int) -> str:
    """Return a ``linear`` retriever, or a weighted ``rrf``, to be filled with the real ones.

    Documents that a retriever does not return count 0 there.
    """
    inner = [{"retriever": f"<the retriever {name}>", "weight": w} for name, w in weights.items()]
    settings: dict[str, Any] = {"rank_window_size": depth}
    kinds = {"none": "none", "min-max": "minmax"}
    if normalisation.kind == "reciprocal-rank":
        _check("elasticsearch", normalisation)
        settings["rank_constant"] = _whole("elasticsearch", normalisation.k)
        return _json({"retriever": {"rrf": {"retrievers": inner, **settings}}})
    _check("elasticsearch", normalisation, *kinds)
    normaliser = {"normalizer": kinds[normalisation.kind]}
    inner = [{**retriever, **normaliser} for retriever in inner]
    return _json({"retriever": {"linear": {"retrievers": inner, **settings}}})


def opensearch(weights: Mapping[str, float], normalisation: Normalisation, depth: int) -> str:
    """Return a search pipeline for hybrid queries whose clauses stand in the order of the runs."""
    total = sum(weights.values()) or 1.0
    parameters = {"weights": [weight / total for weight in weights.values()]}
    if normalisation.kind == "reciprocal-rank":
        _check("opensearch", normalisation)
        constant = _whole("opensearch", normalisation.k)
        combination = {"technique": "rrf", "rank_constant": constant, "parameters": parameters}
        processor: dict[str, Any] = {"score-ranker-processor": {"combination": combination}}
    else:
        _check("opensearch", normalisation, "min-max")
        processor = {
            "normalization-processor": {
                "normalization": {"technique": "min_max"},
                "combination": {"technique": "arithmetic_mean", "parameters": parameters},
            }
        }
    return _json({"phase_results_processors": [processor]})


def ranklib(weights: Mapping[str, float], normalisation: Normalisation, depth: int) -> str:
    """Return a model of coordinate ascent; names that are no numbers are counted from 1."""
    if normalisation.kind != "none":
        raise UsageError(
            "ranklib weights scores as they are, without a normalisation "
            f"{normalisation.kind}; give --normalisation none"
        )
    numbered = all(name.isascii() and name.isdecimal() for name in weights)
    pairs = [
        f"{name if numbered else k}:{weight!r}"
        for k, (name, weight) in enumerate(weights.items(), 1)
    ]
    # Their settings have no influence on a model that is there.
    settings = ("Restart = 5", "MaxIteration = 25", "StepBase = 0.05", "StepScale = 2.0")
    rest = ("Tolerance = 0.001", "Regularized = false", "Slack = 0.001")
    head = [f"## {line}\n" for line in ("Coordinate Ascent", *settings, *rest)]
    return "".join(head) + " ".join(pairs) + "\n"


#: What weights can be written for.
ENGINES: dict[str, Callable[[Mapping[str, float], Normalisation, int], str]] = {
    "elasticsearch": elasticsearch,
    "opensearch": opensearch,
    "ranklib": ranklib,
}
#: Those that refuse weights below 0.
WITHOUT_NEGATIVE = frozenset({"elasticsearch", "opensearch"})


def engine_text(
    engine: str, weights: Mapping[str, float], normalisation: Normalisation, depth: int
) -> str:
    """Return weights as an engine takes them."""
    if engine not in ENGINES:
        raise UnknownNameError("program", engine, ENGINES)
    if engine in WITHOUT_NEGATIVE and any(weight < 0.0 for weight in weights.values()):
        raise UsageError(f"{engine} takes no weight below 0; tune with --bound NAME=0:")
    return ENGINES[engine](weights, normalisation, depth)


def check_engine(engine: str, normalisation: Normalisation, may_be_negative: bool = False) -> None:
    """Raise an error if an engine is not known, or cannot do what is done to scores."""
    engine_text(engine, {}, normalisation, 1)
    if may_be_negative and engine in WITHOUT_NEGATIVE:
        raise UsageError(f"{engine} takes no weight below 0; drop --allow-negative")


def _check(engine: str, normalisation: Normalisation, *kinds: str) -> None:
    able = [*kinds, "reciprocal-rank"]
    if normalisation.kind not in able:
        raise UsageError(
            f"{engine} has no normalisation {normalisation.kind}; give --normalisation "
            f"{' or '.join(able)}"
        )
    if normalisation.policy not in {"zero", 0.0}:
        raise UsageError(f"{engine} counts 0 for a missing document; give --missing zero")


def _whole(engine: str, k: float) -> int:
    if k != int(k) or k < 1.0:
        raise UsageError(f"{engine} takes a whole k of 1 or more, and it is {k:g}")
    return int(k)


def _json(query: dict[str, Any]) -> str:
    return json.dumps(query, indent=2, ensure_ascii=False) + "\n"
