"""How time grows: with features (Figures 2 and 6), with sentences, and with the cosine (7)."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import lp_mert_sets as sets
import tunesmith as ts
from tunesmith.search.exact.extreme import Tester
from tunesmith.search.exact.lazy.search import lazy_search
from tunesmith.search.exact.problem import Problem

Keep = Callable[[dict[str, Any]], None]
#: Bytes that QuickHull may take.
MEMORY = 4 * 2**30
#: Seconds of a first call: importing, in a new process.
STARTING = 60.0


def figure2(big: ts.TuningSet, widths: Sequence[int], limit: float, keep: Keep) -> None:
    """Find all points of the largest list that can win, by QuickHull and by tests."""
    largest = int(np.argmax(np.diff(big.candidates.start)))
    group = big.part([largest])
    hull: dict[str, Any] = {"hull_seconds": None, "hull_vertices": None}
    too_long = False
    for width in widths:
        problem = Problem.of(sets.with_features(group, width))
        points = np.ascontiguousarray(problem.block(0).T)
        tester = Tester(problem)
        tester.test(np.array([0]))
        begun = time.perf_counter()
        found = sum(tester.test(np.array([i])).attainable for i in range(len(points)))
        ours = time.perf_counter() - begun
        begun = time.perf_counter()
        lazy_search(problem)
        first = time.perf_counter() - begun
        if not too_long:
            hull = quick_hull(points, limit)
            too_long = hull["hull_seconds"] is None
        keep({"features": width, "points": len(points), "extreme": found, "all_seconds": ours,
              "algorithm1_seconds": first, **hull, "limit": limit})  # fmt: skip


def quick_hull(points: np.ndarray, limit: float) -> dict[str, Any]:
    """Compute the hull in another process, which may take so long and no more."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_hull, args=(points, theirs))
    process.start()
    nothing = {"hull_seconds": None, "hull_vertices": None}
    if not ours.poll(STARTING) or ours.recv() != "ready":
        process.kill()
        raise SystemExit("no process for QuickHull")
    answer = nothing
    try:
        if ours.poll(limit):
            seconds, vertices = ours.recv()
            answer = {"hull_seconds": seconds, "hull_vertices": vertices}
    except EOFError:
        pass  # out of memory
    process.kill()
    process.join()
    return answer


def _hull(points: np.ndarray, pipe: Any) -> None:
    from scipy.spatial import ConvexHull

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    pipe.send("ready")
    begun = time.perf_counter()
    hull = ConvexHull(points)
    pipe.send((time.perf_counter() - begun, len(hull.vertices)))


def table_figure2(rows: Sequence[dict[str, Any]]) -> str:
    """Show seconds and the points found."""
    lines = [
        "| D | points | QuickHull, s | vertices | all points tested, s | attainable "
        "| Algorithm 1, s |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: row["features"]):
        hull, vertices = row["hull_seconds"], row["hull_vertices"]
        lines.append(
            f"| {row['features']} | {row['points']} "
            f"| {'stopped' if hull is None else f'{hull:.3f}'} "
            f"| {'' if vertices is None else vertices} | {row['all_seconds']:.3f} "
            f"| {row['extreme']} | {row['algorithm1_seconds']:.4f} |"
        )
    return "\n".join(lines)


def figure6(
    wholes: Mapping[str, ts.TuningSet],
    widths: Sequence[int],
    sizes: Sequence[int],
    limit: float,
    keep: Keep,
) -> None:
    """Search exactly with ever more features and sentences; where it takes too long, stop."""
    for name, whole in wholes.items():
        for width in widths:
            for size in sizes:
                (tuning,) = sets.drawn(whole, size, 1)
                row = timed(sets.with_features(tuning, width), None, None, limit)
                keep({"data": name, "features": width, "size": size, **row})
                if not row["optimal"]:
                    break


def figure7(
    wholes: Mapping[str, ts.TuningSet],
    cosines: Sequence[float],
    sizes: Sequence[int],
    limit: float,
    keep: Keep,
) -> None:
    """Search exactly near to what MERT finds for all sentences."""
    for name, whole in wholes.items():
        start = ts.MERT(restarts=20).fit(whole).weights
        for size in sizes:
            (tuning,) = sets.drawn(whole, size, 1)
            for cosine in cosines:
                row = timed(tuning, start, cosine, limit)
                keep({"data": name, "cosine": cosine, "size": size, **row})
                if not row["optimal"]:
                    break


def timed(
    tuning: ts.TuningSet, start: ts.Weights | None, cosine: float | None, limit: float
) -> dict[str, Any]:
    """Search within a limit."""
    begun = time.perf_counter()
    found = ts.LPMERT(time_limit=limit, cosine=cosine).fit(tuning, start)
    seconds = time.perf_counter() - begun
    proof = found.certificate
    about = {key: proof[key] for key in ("best", "bound", "optimal", "tested")}
    return {**about, "seconds": seconds, "limit": limit}


def table_sweep(rows: Sequence[dict[str, Any]], which: str, label: str) -> str:
    """Show seconds, a line for each number of sentences; what was not proven has a sign."""
    lines = []
    for name in dict.fromkeys(row["data"] for row in rows):
        same = [row for row in rows if row["data"] == name]
        columns = sorted({row[which] for row in same}, reverse=which == "cosine")
        limit = max(row["limit"] for row in same)
        heads = [f"{label} = {column:g}" for column in columns]
        lines += ["", f"| {name}, S | " + " | ".join(heads) + " |"]
        lines.append("|---" * (len(columns) + 1) + "|")
        for size in sorted({row["size"] for row in same}):
            cells = []
            for column in columns:
                one = [r for r in same if (r["size"], r[which]) == (size, column)]
                shown = "" if not one else f"> {limit:.0f}"
                cells.append(f"{one[0]['seconds']:.2f}" if one and one[0]["optimal"] else shown)
            lines.append(f"| {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines[1:])
