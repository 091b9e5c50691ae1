"""Scores by round of a loop, by setting, by run, by epoch, by climb or by step of a tuner.

Of PRO there are the positives and negatives of each round too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tunesmith.report.page.run.record import RunRecord
from tunesmith.report.page.view import PairRound, RoundsView

#: Scores of rows that differ by less than this, relative to their size, are the same.
SAME = 1e-9
#: The sets, and what their scores and length ratios begin with.
SETS = {"tune": "", "dev": "dev_", "test": "test_"}
#: Keys of a path's entries that are not part of the setting.
OF_EVERY_SETTING = {
    *("score", "dev_score", "test_score", "length_ratio", "penalty", "nonzero"),
    *("line_searches", "seconds", "chosen", "failed", "unfinished"),
}
#: Units and settings that do not follow on each other.
APART = {"run", "seed", "climb", "tuner", "objective"}
#: Keys of a history that are shown elsewhere, or say where an entry belongs.
NO_COLUMN = {
    *("step", "score", "bound", "smoothed_score", "length_ratio", "round", "run", "loop_round"),
    *("restart", "part", "pairs_per_sentence", "sentences_without_pairs", "reference_length"),
    *(f"{sign}_{what}" for sign in ("positive", "negative") for what in ("length", "score")),
}


@dataclass(frozen=True)
class RoundRow:
    """One row, before columns are made of all."""

    name: str
    series: dict[str, float | None]
    lengths: dict[str, float | None] = field(default_factory=dict)
    table: dict[str, Any] = field(default_factory=dict)
    is_chosen: bool = False


def rounds_of(record: RunRecord) -> RoundsView | None:
    """Return what a run came to step by step; None if nothing is known yet.

    Rows are the rounds of a loop, otherwise the settings among which a held-out set chose,
    otherwise several runs, otherwise what the tuner notes of itself: epochs, climbs or steps.
    Where only the ends are known of a held-out set, the rows between have none.
    """
    result = record.result
    for key, make in (("rounds", _loop), ("path", _path), ("runs", _runs)):
        entries = entries_of(result, key)
        if entries:
            unit, rows = make(entries, result)
            return _columns(unit, rows)
    unit, rows = _history(result, record.metric.higher_is_better)
    return _columns(unit, rows) if rows else None


def replicates_of(record: RunRecord) -> RoundsView | None:
    """Return the scores of independent runs, of which this is one; None if there are no others."""
    replicates = record.result.get("replicates")
    entries = entries_of(replicates, "runs") if isinstance(replicates, dict) else []
    rows = [
        RoundRow(
            str(entry.get("seed", k)), _sets(entry, "score"), is_chosen=bool(entry.get("chosen"))
        )
        for k, entry in enumerate(entries)
    ]
    return _columns("seed", rows) if rows else None


def entries_of(result: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects of a list in a result; none where there is no list."""
    value = result.get(key)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def number(value: Any) -> float | None:
    """Return a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def setting_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was varied, of an entry of a path."""
    return {key: value for key, value in entry.items() if key not in OF_EVERY_SETTING}


def _loop(entries: list[dict[str, Any]], result: Mapping[str, Any]) -> tuple[str, list[RoundRow]]:
    """Return the rounds of a loop.

    What a round promises is compared with what the next one gets: both are of the same weights.
    """
    promised = [None, *(number(entry.get("list_score")) for entry in entries[:-1])]
    columns = "new", "candidates", "decoded", "decode_seconds", "tune_seconds"
    rows = [
        RoundRow(
            str(entry.get("round", k)),
            # The average of all rounds is no round's promise.
            _sets(entry, "score")
            | {"promised": None if entry.get("round") == "average" else before},
            _sets(entry, "length_ratio"),
            {name: entry.get(name) for name in columns},
            bool(entry.get("chosen")),
        )
        for k, (entry, before) in enumerate(zip(entries, promised, strict=True))
    ]
    return "round", rows


def _sets(entry: Mapping[str, Any], field: str) -> dict[str, float | None]:
    return {which: number(entry.get(f"{prefix}{field}")) for which, prefix in SETS.items()}


def _path(entries: list[dict[str, Any]], result: Mapping[str, Any]) -> tuple[str, list[RoundRow]]:
    """Return the settings; those that are rounds of one tuner are rounds."""
    is_rounds = all({*setting_of(entry)} == {"round"} for entry in entries)
    unit = _unit(entries_of(result, "history")) if is_rounds else "setting"
    columns = ["nonzero", *(["penalty"] if any(entry.get("penalty") for entry in entries) else [])]
    rows = []
    for entry in entries:
        setting, is_chosen = setting_of(entry), bool(entry.get("chosen"))
        name = (
            str(entry["round"]) if is_rounds else ", ".join(map(_named, setting, setting.values()))
        )
        shown = columns if is_rounds else [*setting, *columns, "seconds"]
        lengths = _sets(entry, "length_ratio") | (_held_lengths(result) if is_chosen else {})
        table = {key: entry.get(key) for key in shown}
        rows.append(RoundRow(name, _sets(entry, "score"), lengths, table, is_chosen))
    return unit, rows


def _held_lengths(result: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the length ratios of the result on other sets."""
    results = {which: result.get(which) for which in SETS if which != "tune"}
    return {
        w: number(result_of_set.get("length_ratio"))
        for w, result_of_set in results.items()
        if isinstance(result_of_set, dict)
    }


def _named(key: str, value: Any) -> str:
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return shown if key in {"tuner", "objective"} else f"{key.replace('_', ' ')} {shown}"


def _runs(entries: list[dict[str, Any]], result: Mapping[str, Any]) -> tuple[str, list[RoundRow]]:
    """Return several runs, of which one may be the result."""
    weights = result.get("weights")
    rows = [
        RoundRow(
            str(entry.get("run", k)),
            {"tune": number(entry.get("score"))},
            is_chosen=entry.get("weights") == weights,
        )
        for k, entry in enumerate(entries)
    ]
    return "run", rows


def _unit(history: Sequence[Mapping[str, Any]]) -> str:
    """Return what learners call going over all sentences once."""
    keys = {key for entry in history for key in entry}
    return "epoch" if "changes" in keys else "pass" if "updates" in keys else "round"


def _history(result: Mapping[str, Any], higher: bool) -> tuple[str, list[RoundRow]]:
    """Return the steps that a tuner notes, between the start and the result."""
    # The run on the core features has a start and weights of its own.
    entries = [entry for entry in entries_of(result, "history") if "part" not in entry]
    begins = [k for k, entry in enumerate(entries) if entry.get("direction", 0) is None]
    if len(begins) > 1 and begins[0] == 0:
        unit, rows = "climb", _climbs(entries, begins, higher)
    else:
        is_learning = bool(entries) and all("round" in entry for entry in entries)
        unit = _unit(entries) if is_learning else "step"
        name = "round" if is_learning else "step"
        rows = [_step(entry, str(entry.get(name, k))) for k, entry in enumerate(entries)]
    return unit, _with_ends(rows, result)


def _step(entry: Mapping[str, Any], name: str) -> RoundRow:
    series = {
        "tune": number(entry.get("score")),
        "smoothed": number(entry.get("smoothed_score")),
        "bound": number(entry.get("bound")),
    }
    columns = {key: value for key, value in entry.items() if key not in NO_COLUMN}
    return RoundRow(name, series, {"tune": number(entry.get("length_ratio"))}, columns)


def _climbs(entries: list[dict[str, Any]], begins: list[int], higher: bool) -> list[RoundRow]:
    """Return where each climb ended; a restart has one for itself and one for each walk."""
    best: float | None = number(entries[0].get("score"))
    rows = [RoundRow("start", {"tune": best, "best so far": best})]
    restart, walk = None, 0
    for first, after in zip(begins, [*begins[1:], len(entries)], strict=True):
        last = entries[after - 1]
        walk = walk + 1 if last.get("restart") == restart else 0
        restart = last.get("restart")
        score = number(last.get("score"))
        known = [value for value in (best, score) if value is not None]
        best = (max if higher else min)(known, default=None)
        # A file may lack the steps between, but not their numbers.
        since, until = (number(entries[k].get("step")) for k in (first, after - 1))
        steps = after - 1 - first if since is None or until is None else int(until - since)
        columns = {"began": number(entries[first].get("score")), "steps": steps}
        name = f"{restart}.{walk}" if walk else str(restart)
        rows.append(RoundRow(name, {"tune": score, "best so far": best}, table=columns))
    return rows


def _with_ends(rows: list[RoundRow], result: Mapping[str, Any]) -> list[RoundRow]:
    """Add the start and the result where they lack, with what other sets had there."""
    initial, final = number(result.get("initial_score")), number(result.get("score"))
    if initial is not None and not (rows and _is_same(rows[0].series.get("tune"), initial)):
        rows = [RoundRow("start", {"tune": initial}), *rows]
    if final is None:
        return rows
    same = [k for k, row in enumerate(rows) if _is_same(row.series.get("tune"), final)]
    if not same:
        rows, same = [*rows, RoundRow("result", {"tune": final})], [len(rows)]
    # Steps go on from one to the next; of climbs and of the best round the first of equals counts.
    is_first = "best so far" in rows[0].series or "|pick:best" in str(result.get("signature"))
    chosen = same[0] if is_first else same[-1]
    lengths = {"tune": number(result.get("length_ratio")), **_held_lengths(result)}
    rows[chosen] = replace(rows[chosen], lengths=lengths, is_chosen=True)
    for which in _held_lengths(result):
        for k, key in ((0, "initial_score"), (chosen, "score")):
            value = number(result[which].get(key))
            rows[k] = replace(rows[k], series=rows[k].series | {which: value})
    return rows


def _is_same(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and math.isclose(a, b, rel_tol=SAME, abs_tol=SAME)


def _columns(unit: str, rows: Sequence[RoundRow]) -> RoundsView:
    """Turn rows into columns; those without any value are left out."""
    chosen = [k for k, row in enumerate(rows) if row.is_chosen]
    return RoundsView(
        unit=unit,
        names=tuple(row.name for row in rows),
        series=_transposed([row.series for row in rows]),
        length_ratios=_transposed([row.lengths for row in rows]),
        chosen=chosen[0] if chosen else None,
        table=_transposed([row.table for row in rows]),
        is_ordered=unit not in APART and not any(APART & {*row.table} for row in rows),
    )


def _transposed(rows: Sequence[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    keys = dict.fromkeys(key for row in rows for key in row)
    columns = {key: tuple(row.get(key) for row in rows) for key in keys}
    return {key: column for key, column in columns.items() if any(v is not None for v in column)}


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
