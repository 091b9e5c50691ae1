"""PRO's positives and negatives by round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.report.page.rounds import entries_of, number, setting_of
from tunesmith.report.page.run.record import RunRecord
from tunesmith.report.page.view import PairRound


def pairs_of(record: RunRecord) -> tuple[PairRound, ...]:
    """Return what the pairs of each round were like; of several settings those of the chosen one.

    Without pairs in a run there are none.
    """
    result = record.result
    chosen = next((one for one in entries_of(result, "path") if one.get("chosen")), {})
    # A round that was picked belongs to those before it.
    setting = {key: value for key, value in setting_of(chosen).items() if key != "round"}
    setting |= _run(result)
    entries = [
        one
        for one in entries_of(result, "history")
        if "pairs" in one and all(one.get(key, value) == value for key, value in setting.items())
    ]
    several = len({one.get("round") for one in entries}) > 1
    return tuple(_pair_round(one, k, several) for k, one in enumerate(entries))


def _run(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return which run is the result; without one the first."""
    runs = entries_of(result, "runs")
    same = [one for one in runs if one.get("weights") == result.get("weights")] or runs
    return {"run": same[0].get("run")} if same else {}


def _pair_round(entry: Mapping[str, Any], place: int, several: bool) -> PairRound:
    """Return one round.

    A round of a loop has one round of PRO, as a rule: its own name is enough then.
    """
    loop, own = entry.get("loop_round"), entry.get("round", place)
    name = str(own) if loop is None else f"{loop}.{own}" if several else str(loop)
    kept = number(entry.get("pairs"))
    without = number(entry.get("sentences_without_pairs"))
    return PairRound(
        name=name,
        pairs=None,
        kept=None if kept is None else int(kept),
        positive=_side(entry, "positive"),
        negative=_side(entry, "negative"),
        reference_length=number(entry.get("reference_length")),
        sentences_without=None if without is None else int(without),
    )


def _side(entry: Mapping[str, Any], which: str) -> dict[str, float | None]:
    """Return what is noted of one side: its mean length and score, and whatever else."""
    start = f"{which}_"
    return {
        key.removeprefix(start): number(value)
        for key, value in entry.items()
        if key.startswith(start)
    }
