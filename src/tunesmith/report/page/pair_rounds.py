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
    chosen = next((entry for entry in entries_of(result, "path") if entry.get("chosen")), {})
    # A round that was picked belongs to those before it.
    setting = {key: value for key, value in setting_of(chosen).items() if key != "round"}
    setting |= _run(result)
    entries = [
        entry
        for entry in entries_of(result, "history")
        if "pairs" in entry
        and all(entry.get(key, value) == value for key, value in setting.items())
    ]
    several = len({entry.get("round") for entry in entries}) > 1
    return tuple(_pair_round(entry, k, several) for k, entry in enumerate(entries))


def _run(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return which run is the result; without one the first."""
    runs = entries_of(result, "runs")
    same = [run for run in runs if run.get("weights") == result.get("weights")] or runs
    return {"run": same[0].get("run")} if same else {}


def _pair_round(entry: Mapping[str, Any], place: int, several: bool) -> PairRound:
    """Return one round.

    A round of a loop has one round of PRO, as a rule: its own name is enough then.
    """
    loop, round_name = entry.get("loop_round"), entry.get("round", place)
    name = str(round_name) if loop is None else f"{loop}.{round_name}" if several else str(loop)
    pair_count = number(entry.get("pairs"))
    without = number(entry.get("sentences_without_pairs"))
    return PairRound(
        name=name,
        pairs=None,
        kept=None if pair_count is None else int(pair_count),
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
