"""Many sentences: the beam version (Table 2), and what can be proven about weights."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lp_mert_sets as sets
import tunesmith as ts
from lp_mert_exact import PROOF

Keep = Callable[[dict[str, Any]], None]


def table2(
    wholes: Mapping[str, ts.TuningSet], sizes: Sequence[int], limit: float, keep: Keep
) -> None:
    """Tune by MERT and by the beam version; seconds are of one thread alone."""
    for name, whole in wholes.items():
        for size in sizes:
            (tuning,) = sets.drawn(whole, min(size, whole.candidates.groups), 1)
            with sets.processor_time() as clock:
                begun = clock()
                mert = ts.MERT(restarts=20).fit(tuning)
                between = clock()
                beam = ts.LPMERT(search="beam", time_limit=limit).fit(tuning)
                seconds = clock() - between
            if beam.score < mert.score:
                raise SystemExit(f"beam {beam.score} is worse than MERT's {mert.score}")
            keep(
                {
                    "data": name,
                    "size": size,
                    "sentences": tuning.candidates.groups,
                    "mert": mert.score,
                    "mert_seconds": between - begun,
                    "beam": beam.score,
                    "seconds": seconds,
                    "oracle": beam.oracle_score,
                }
            )


def table_table2(rows: Sequence[dict[str, Any]]) -> str:
    """Show a column for each number of sentences, as the paper does."""
    lines = []
    for name in dict.fromkeys(row["data"] for row in rows):
        same = sorted((row for row in rows if row["data"] == name), key=lambda row: row["size"])
        lines += ["", f"| {name} | " + " | ".join(str(row["sentences"]) for row in same) + " |"]
        lines.append("|---" * (len(same) + 1) + "|")
        kinds = {
            "MERT, 20 restarts": [f"{row['mert']:.2f}" for row in same],
            "beam": [f"{row['beam']:.2f}" for row in same],
            "more": [f"{row['beam'] - row['mert']:+.2f}" for row in same],
            "MERT, seconds": [f"{row['mert_seconds']:.1f}" for row in same],
            "beam, seconds": [f"{row['seconds']:.1f}" for row in same],
        }
        lines += [f"| {kind} | " + " | ".join(cells) + " |" for kind, cells in kinds.items()]
    return "\n".join(lines[1:])


def certify(wholes: Mapping[str, ts.TuningSet], limits: Sequence[float], keep: Keep) -> None:
    """Bound how far MERT's weights are from the best, on all sentences."""
    for name, whole in wholes.items():
        mert = ts.MERT(restarts=20).fit(whole)
        for limit in limits:
            begun = time.perf_counter()
            found = ts.certify(whole, mert.weights, time_limit=limit)
            seconds = time.perf_counter() - begun
            proof = {key: found.certificate[key] for key in PROOF}
            row = {"data": name, "limit": limit, "sentences": whole.candidates.groups}
            keep({**row, **proof, "seconds": seconds, "oracle": whole_oracle(whole)})


def whole_oracle(whole: ts.TuningSet) -> float:
    """Return the score of the best candidate of every group, the bound that costs nothing."""
    return whole.score(whole.oracle().chosen)


def table_certify(rows: Sequence[dict[str, Any]]) -> str:
    """Show score, bound and oracle."""
    lines = [
        "| lists | sentences | limit | seconds | MERT | bound | gap | oracle | tests |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['data']} | {row['sentences']} | {row['limit']:.0f} s | {row['seconds']:.1f} "
        f"| {row['best']:.2f} | {row['bound']:.2f} | {row['gap']:.2f} | {row['oracle']:.2f} "
        f"| {row['tested']:,} |"
        for row in sorted(rows, key=lambda row: (row["data"], row["limit"]))
    ]
    return "\n".join(lines)
