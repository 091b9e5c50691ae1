"""What must hold of the result of a command that succeeded."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

from fuzz.programs.running import Ran, run
from fuzz.programs.sets import Drawn
from fuzz.timeless import timeless

ONE = ("--threads", "1")


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def parsed(text: str) -> Any:
    """Return JSON, in which there is no NaN."""
    return json.loads(text, parse_constant=_no_constant)


def value_in(arguments: list[str], name: str) -> str | None:
    """Return the last value of an option."""
    found = None
    for flag, value in itertools.pairwise(arguments):
        if flag == name:
            found = value
    return found


def wrong_result(
    rng: random.Random, arguments: list[str], ran: Ran, drawn: Drawn, place: Path
) -> str | None:
    """Return what is wrong with a result, None if nothing is."""
    result = None
    if "--json" in arguments:
        try:
            result = parsed(ran.out)
        except ValueError as error:
            return f"standard output is no JSON: {error}"
    if arguments[0] == "tune":
        return _wrong_tuning(rng, arguments, result, place)
    if arguments[0] == "rerank":
        return _wrong_winners(arguments, ran, drawn)
    return None


def _wrong_tuning(rng: random.Random, arguments: list[str], result: Any, place: Path) -> str | None:
    out = value_in(arguments, "--out")
    if out is None or not out.endswith(".json") or value_in(arguments, "--replicates"):
        return None
    try:
        written = parsed(Path(out).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return f"the result cannot be read: {type(error).__name__}"
    if not all(math.isfinite(weight) for weight in written["weights"].values()):
        return "a weight is not finite"
    if result is not None and result["weights"] != written["weights"]:
        return "other weights are written than printed"
    if rng.random() < 0.3:
        return _wrong_score(arguments, written, out)
    if rng.random() < 0.2:
        return _not_the_same(arguments, written, out)
    return None


def _kept(arguments: list[str], names: set[str]) -> list[str]:
    pairs = itertools.pairwise(arguments)
    return [part for flag, value in pairs if flag in names for part in (flag, value)]


def _wrong_score(arguments: list[str], written: dict[str, Any], out: str) -> str | None:
    """Evaluate the weights; the score must be that of the result."""
    if value_in(arguments, "--prune") or value_in(arguments, "--metric") is None:
        return None
    data = {"--candidates", "--forests", "--references", "--scores", "--format"}
    first = arguments[arguments.index("--metric") + 1]
    again = run(
        ["evaluate", *_kept(arguments, data), "--metric", first, "--weights", out, "--json", *ONE]
    )
    if again.code != 0:
        return f"the weights cannot be evaluated: {again.errors.strip()[-150:]}"
    score = parsed(again.out)["score"]
    if not math.isclose(score, written["score"], rel_tol=1e-9, abs_tol=1e-9):
        return f"tune and evaluate differ in the score: {written['score']} and {score}"
    return None


def _not_the_same(arguments: list[str], written: dict[str, Any], out: str) -> str | None:
    """Run the same again; all but the seconds must be the same."""
    if "--time-limit" in arguments or "free" in arguments:
        return None
    Path(out).unlink()
    run(arguments)
    again = parsed(Path(out).read_text(encoding="utf-8"))
    first, second = timeless(written), timeless(again)
    for key in sorted(first.keys() | second.keys()):
        if first.get(key) != second.get(key):
            return f"the same command gives another {key}"
    return None


def _wrong_winners(arguments: list[str], ran: Ran, drawn: Drawn) -> str | None:
    """Choose the winners of lists in plain Python; there is no other way to score them."""
    plain = ["--weights", drawn.files["weights"][0]]
    lists = {*drawn.files["candidates"], *drawn.files["jsonl"]}
    if len(arguments) != 7 or not {arguments[2]} <= lists or arguments[3:5] != plain:
        return None
    wanted = []
    for group in drawn.groups:
        best, top = "", -math.inf
        for one in group:
            score = 0.0
            for name in drawn.names:
                score += drawn.weights[name] * one.features.get(name, 0.0)
            if score > top:
                best, top = one.text, score
        wanted.append(best)
    if ran.out.split("\n")[:-1] != wanted:
        return "rerank does not choose the candidate with the highest score"
    return None
