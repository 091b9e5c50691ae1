"""Exact search on few sentences: Figure 5, Table 1, and what becomes of more sentences."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import lp_mert_sets as sets
import tunesmith as ts
from tunesmith.search.exact.certificate import SearchLimits
from tunesmith.search.exact.extreme import TOLERANCE, Tester
from tunesmith.search.exact.incumbent import incumbents
from tunesmith.search.exact.lazy.search import lazy_search
from tunesmith.search.exact.problem import Problem

Keep = Callable[[dict[str, Any]], None]
#: Seconds for one exact search, and for a lazy one.
LIMIT, LAZY_LIMIT = 60.0, 20.0
#: What is kept of a certificate; the number of all combinations has thousands of digits.
PROOF = ("best", "bound", "gap", "optimal", "tested")
#: Scores this near are equal: rounding of a mean.
EQUAL = 1e-9


def figure5(wholes: Mapping[str, ts.TuningSet], counts: Mapping[int, int], keep: Keep) -> None:
    """Solve many small tuning sets exactly, and by MERT with 20 restarts."""
    for name, whole in wholes.items():
        for size, count in counts.items():
            for number, tuning in enumerate(sets.drawn(whole, size, count)):
                keep({"data": name, "size": size, "number": number, **against_mert(tuning)})


def against_mert(tuning: ts.TuningSet) -> dict[str, Any]:
    """Solve one tuning set both ways; exact search must not be worse.

    MERT is held to the same tolerance: if no weights choose by it what MERT's do, its score is
    one that an exact search does not look for.
    """
    begun = time.perf_counter()
    exact = ts.LPMERT(time_limit=LIMIT).fit(tuning)
    seconds = time.perf_counter() - begun
    mert = ts.MERT(restarts=20).fit(tuning)
    problem = Problem.of(tuning)
    chosen = sets.choice_of(problem, tuning, mert.weights)
    counts = problem.size == 0 or Tester(problem).test(chosen).attainable
    proof = exact.certificate
    if counts and exact.score < mert.score - EQUAL:
        raise SystemExit(f"exact search {exact.score} is worse than MERT's {mert.score}")
    return {
        "exact": exact.score,
        "bound": proof["bound"],
        "optimal": proof["optimal"],
        "tested": proof["tested"],
        "seconds": seconds,
        "mert": mert.score,
        "mert_seconds": mert.seconds,
        "mert_counts": counts,
    }


def table_figure5(rows: Sequence[dict[str, Any]]) -> str:
    """Show a line for each data set and number of sentences."""
    lines = [
        "| lists | S | sets | proven | median s | most s | tests, median | MERT, median s "
        "| MERT below the optimum | by, mean BLEU | of the loss | MERT's choice below τ |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, size in sorted({(row["data"], row["size"]) for row in rows}):
        same = [row for row in rows if (row["data"], row["size"]) == (name, size)]
        valid = [row for row in same if row["mert_counts"]]
        below = [row for row in valid if row["mert"] < row["exact"] - EQUAL]
        more = np.array([row["exact"] - row["mert"] for row in valid])
        loss = np.array([100.0 - row["exact"] for row in valid])
        cells = [
            name,
            size,
            len(same),
            f"{sum(row['optimal'] for row in same)}",
            f"{np.median([row['seconds'] for row in same]):.3f}",
            f"{max(row['seconds'] for row in same):.2f}",
            f"{np.median([row['tested'] for row in same]):.0f}",
            f"{np.median([row['mert_seconds'] for row in same]):.2f}",
            f"{len(below)} of {len(valid)} ({100 * len(below) / max(len(valid), 1):.0f} %)",
            f"{more.mean():.2f}",
            f"{100 * more.sum() / loss.sum():.1f} %",
            f"{len(same) - len(valid)}",
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def gaps(
    wholes: Mapping[str, ts.TuningSet],
    sizes: Sequence[int],
    count: int,
    limit: float,
    keep: Keep,
) -> None:
    """See what is proven about more sentences within a limit."""
    for name, whole in wholes.items():
        for size in sizes:
            for number, tuning in enumerate(sets.drawn(whole, size, count)):
                begun = time.perf_counter()
                found = ts.LPMERT(time_limit=limit).fit(tuning)
                seconds = time.perf_counter() - begun
                mert = ts.MERT(restarts=20).fit(tuning)
                about = {"data": name, "size": size, "number": number, "limit": limit}
                proof = {key: found.certificate[key] for key in PROOF}
                keep({**about, **proof, "seconds": seconds, "mert": mert.score})


def table_gaps(rows: Sequence[dict[str, Any]]) -> str:
    """Show a line for each set, best score, bound and gap."""
    lines = [
        "| lists | S | set | limit | MERT | best | bound | gap | gap, of the loss | proven "
        "| seconds | tests |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    keys = ("data", "size", "limit", "number")
    for row in sorted(rows, key=lambda row: [row[key] for key in keys]):
        cells = [
            row["data"],
            row["size"],
            row["number"] + 1,
            f"{row['limit']:.0f} s",
            f"{row['mert']:.2f}",
            f"{row['best']:.2f}",
            f"{row['bound']:.2f}",
            f"{row['gap']:.2f}",
            f"{100 * row['gap'] / (100.0 - row['best']):.1f} %",
            "yes" if row["optimal"] else "no",
            f"{row['seconds']:.1f}",
            f"{row['tested']:,}",
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def table1(
    wholes: Mapping[str, ts.TuningSet], sizes: Sequence[int], count: int, keep: Keep
) -> None:
    """Solve some sets by the paper's Algorithm 2 too; it must agree where it ends."""
    for name, whole in wholes.items():
        for size in sizes:
            for number, tuning in enumerate(sets.drawn(whole, size, count)):
                keep({"data": name, "size": size, "number": number, **lazily(tuning)})


def lazily(tuning: ts.TuningSet) -> dict[str, Any]:
    """Solve one tuning set in both exact ways."""
    exact = ts.LPMERT(time_limit=LIMIT).fit(tuning)
    problem = Problem.of(tuning)
    known = incumbents(problem, TOLERANCE, np.random.default_rng(1))
    begun = time.perf_counter()
    found = lazy_search(
        problem,
        limits=SearchLimits(LAZY_LIMIT, megabytes=1000.0),
        incumbent=known[0] if known else None,
    )
    seconds = time.perf_counter() - begun
    proof = exact.certificate
    score = problem.score(found.loss)
    if found.optimal and proof["optimal"] and abs(score - exact.score) > EQUAL:
        raise SystemExit(f"lazy search finds {score}, the search over cones {exact.score}")
    return {
        "ended": found.optimal,
        "agrees": found.optimal and proof["optimal"],
        "seconds": seconds,
        "tested": found.tested,
        "shown": found.shown,
        "excluded": found.excluded,
        # Numbers that a float cannot hold lose digits in JSON readers.
        "counts": [[n, taken, float(total)] for n, (taken, total) in found.counts.items()],
        "cones_seconds": proof["seconds"],
        "cones_tested": proof["tested"],
    }


def table_table1(rows: Sequence[dict[str, Any]]) -> str:
    """Show combinations by length where it ended, and how often it did."""
    lines = [
        "| lists | S | sets | lazy ended | agrees | lazy, median s | tests | cones, median s "
        "| tests |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, size in dict.fromkeys((row["data"], row["size"]) for row in rows):
        same = [row for row in rows if (row["data"], row["size"]) == (name, size)]
        medians = [
            np.median([row[key] for row in same])
            for key in ("seconds", "tested", "cones_seconds", "cones_tested")
        ]
        ended, agrees = (sum(row[key] for row in same) for key in ("ended", "agrees"))
        lines.append(
            f"| {name} | {size} | {len(same)} | {ended} | {agrees} | {medians[0]:.2f} "
            f"| {medians[1]:,.0f} | {medians[2]:.3f} | {medians[3]:,.0f} |"
        )
    lines += ["", "| length | tested comb. | total comb. |", "|---|---|---|"]
    largest = max(row["size"] for row in rows)
    done = [dict_of(row) for row in rows if row["ended"]]
    # Sentences whose candidates are all as good have no part in a search.
    done = [counts for counts in done if largest in counts]
    lines[-3:-3] = ["", f"S = {largest}, the mean of {len(done)} sets where it ended:"]
    lengths = sorted({length for counts in done for length in counts}, reverse=True)
    for length in lengths:
        taken, total = np.mean([counts.get(length, (0, 0)) for counts in done], axis=0)
        lines.append(f"| {length} | {taken:,.0f} | {total:.3g} |")
    return "\n".join(lines)


def dict_of(row: dict[str, Any]) -> dict[int, tuple[float, float]]:
    """Return what was looked at and what there is, by length."""
    return {length: (taken, total) for length, taken, total in row["counts"]}
