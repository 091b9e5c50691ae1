"""What can be proven about weights: near to them, and among all where features are few."""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lp_mert_sets as sets
import tunesmith as ts
from tunesmith.tuners.certify import CURVE

Keep = Callable[[dict[str, Any]], None]


def within(wholes: Mapping[str, ts.TuningSet], limits: Sequence[float], keep: Keep) -> None:
    """Bound what weights near to MERT's reach, on all sentences; each angle has all the time."""
    for name, whole in wholes.items():
        with ts.threads(1):
            mert = ts.MERT(restarts=20).fit(whole)
        for limit in limits:
            for degrees in CURVE:
                with sets.processor_time():
                    found = ts.certify(whole, mert.weights, within=degrees, time_limit=limit)
                proof = found.certificate
                row = {"data": name, "limit": limit, "degrees": degrees, "score": found.score}
                kept = {key: proof[key] for key in ("bound", "gap", "tested", "seconds")}
                keep({**row, **kept, "found": found.found_score})


def table_within(rows: Sequence[dict[str, Any]]) -> str:
    """Show gaps by angle, a column for each list and limit."""
    columns = sorted({(row["data"], row["limit"]) for row in rows})
    names = [f"{name}, {limit:.0f} s" for name, limit in columns]
    lines = ["| degrees | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for degrees in sorted({row["degrees"] for row in rows}):
        cells = []
        for name, limit in columns:
            of = (name, limit, degrees)
            same = [r for r in rows if (r["data"], r["limit"], r["degrees"]) == of]
            cells += [f"{r['gap']:.2f} ({100 * r['gap'] / r['score']:.1f} %)" for r in same]
            cells += [""] * (not same)
        lines.append(f"| {degrees:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def few(
    wholes: Mapping[str, ts.TuningSet], widths: Sequence[int], limit: float, keep: Keep
) -> None:
    """Bound what weights of few features reach, on all sentences."""
    for width in widths:
        for name, whole in wholes.items():
            tuning = sets.with_features(whole, width)
            mert = ts.MERT(restarts=20).fit(tuning)
            with sets.processor_time():
                found = ts.certify(tuning, mert.weights, time_limit=limit)
            proof = found.certificate
            kept = {key: proof[key] for key in ("best", "bound", "gap", "tested", "seconds")}
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            about = {"data": name, "features": width, "limit": limit, "gibibytes": memory}
            keep({**about, **kept, "found": found.found_score, "oracle": found.oracle_score})


def table_few(rows: Sequence[dict[str, Any]]) -> str:
    """Show the gap, and what is left of it above the best weights that were found."""
    lines = [
        "| lists | D | seconds | MERT | best found | bound | gap | above the best found "
        "| most memory, GiB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row["features"], row["data"])):
        left = max(row["bound"] - row["found"], 0.0)
        lines.append(
            f"| {row['data']} | {row['features']} | {row['seconds']:.0f} | {row['best']:.2f} "
            f"| {row['found']:.2f} | {row['bound']:.2f} | {row['gap']:.2f} | {left:.2f} "
            f"| {row['gibibytes']:.1f} |"
        )
    return "\n".join(lines)
