"""What the paper says of its figures, and what the same figures say here."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from forest_search_tables import line, table_head
from hope_and_fear_known import TUNERS, Known
from hope_and_fear_parts import MODELS, Parts
from hope_and_fear_runs import Run

Row = dict[str, Any]


def findings(known: Known, parts: Parts) -> str:
    """Show both side by side; here are numbers alone, so that they are those of the tables."""
    lines = table_head(["figure", "the paper", "here: BLEU on Dev where nothing else is said"])
    for figure, says, tell in TOLD:
        if here := tell(known, parts):
            lines.append(line([figure, says, here]))
    return "\n".join(lines) if len(lines) > 2 else ""


def rates(known: Known, parts: Parts) -> str:
    """Tell how far apart the best epochs of several rates are, and what the first epoch has."""
    found = []
    for tuner in ("sgd", "mira", "min-risk"):
        rows = known.of(parts.by_rate(tuner))
        if rows:
            best = [max(row["dev"][1:]) for row in rows]
            found.append(f"{TUNERS[tuner]}: best epochs {_range(best)}, {_firsts(rows, 'rate')}")
    return "; ".join(found)


def against_mert(known: Known, parts: Parts) -> str:
    """Tell the curve of MERT, and of the others at the usual rate."""
    runs = [parts.usual("small", tuner) for tuner in ("sgd", "mira", "min-risk")]
    return _curves(known, [*runs, parts.mert])


def searches(known: Known, parts: Parts) -> str:
    """Tell the curves of both searches."""
    rows = known.of(parts.by_search())
    return "; ".join(f"{row['search']}: {_curve(row)}" for row in rows)


def losses(known: Known, parts: Parts) -> str:
    """Tell the order of μ after the first epoch, and after the last."""
    rows = known.of(parts.by_loss())
    return _orders(rows, lambda row: f"{row['mu']:g}".replace("-", "−")) if rows else ""


def ways(known: Known, parts: Parts) -> str:
    """Tell what one learner has at last, and several: means over seeds."""
    found = []
    for model in MODELS:
        every = zip(*(parts.by_way(model, seed) for seed in parts.protocol.seeds), strict=True)
        cells = [f"{same[0].way} {_mean(rows)}" for same in every if (rows := known.of(same))]
        if cells:
            found.append(f"{model}, last epoch: " + ", ".join(cells))
    return "; ".join(found)


def numbers(known: Known, parts: Parts) -> str:
    """Tell the order of p after the first epoch, and after the last."""
    rows = known.of(parts.by_number())
    return _orders(rows, lambda row: str(row["learners"])) if rows else ""


def variances(known: Known, parts: Parts) -> str:
    """Tell the best epochs by η₀."""
    rows = known.of(parts.by_variance())
    return ", ".join(f"η₀ = {row['rate']:g}: best {max(row['dev'][1:]):.2f}" for row in rows)


def confidences(known: Known, parts: Parts) -> str:
    """Tell the order of λ."""
    rows = known.of(parts.by_confidence())
    return _orders(rows, lambda row: f"{row['confidence']:g}") if rows else ""


def order(known: Known, parts: Parts) -> str:
    """Tell the order of tuners on the large model, by the means over seeds."""
    seeds = parts.protocol.seeds
    found: list[tuple[str, float, float]] = []
    for same in zip(*(parts.ordering(seed) for seed in seeds), strict=True):
        if rows := known.of(same):
            name = f"{same[0].parallel} {TUNERS[same[0].tuner]}"
            best = statistics.mean(max(row["dev"][1:]) for row in rows)
            found.append((name, best, statistics.mean(row["test"] for row in rows)))
    if not found:
        return ""
    told = []
    for what, key in (("Dev", 1), ("Test", 2)):
        ranked = sorted(found, key=lambda one: -one[key])  # type: ignore[operator]
        told.append(f"{what}: " + " > ".join(f"{one[0]} {one[key]:.2f}" for one in ranked))
    return "; ".join(told)


def _curves(known: Known, runs: Sequence[Run]) -> str:
    return "; ".join(f"{TUNERS[one.tuner]} {_curve(known[one])}" for one in runs if one in known)


def _curve(row: Row) -> str:
    dev = row["dev"]
    return f"{dev[1]:.2f} after the first epoch, best {max(dev[1:]):.2f}, last {dev[-1]:.2f}"


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def _firsts(rows: Sequence[Row], key: str) -> str:
    return "first " + ", ".join(f"{row['dev'][1]:.2f} (η = {row[key]:g})" for row in rows)


def _orders(rows: Sequence[Row], name: Callable[[Row], str]) -> str:
    """Return who is ahead after the first epoch, and after the last."""
    told = []
    for when, epoch in (("first epoch", 1), ("last", -1)):
        ranked = sorted(rows, key=lambda row: -row["dev"][epoch])
        told.append(
            f"{when}: " + " > ".join(f"{name(row)} ({row['dev'][epoch]:.2f})" for row in ranked)
        )
    return "; ".join(told)


def _mean(rows: Sequence[Row]) -> str:
    return f"{statistics.mean(row['dev'][-1] for row in rows):.2f}"


TOLD = (
    (
        "2a, b, c",
        "all reach the same level; SGD and minimum risk not very sensitive to η, MIRA converges "
        "faster with higher η up to 0.05",
        rates,
    ),
    (
        "2d",
        "the online tuners converge more quickly and smoothly than MERT, MIRA the quickest",
        against_mert,
    ),
    ("3a", "linear BLEU as good as forest reranking, or slightly better", searches),
    (
        "3b",
        "the more negative μ, the higher at first and the lower at last, but for −0.2",
        losses,
    ),
    (
        "4",
        "mixing loses with many learners; asynchronous MIRA is worse on the small model and much "
        "better on the large one",
        ways,
    ),
    ("5", "the more learners, the better at each epoch", numbers),
    ("6a", "η₀ of 0.1 and 1 alike, others worse", variances),
    ("6b", "the higher λ the faster up to 0.01, and 0.1 much worse", confidences),
    ("Table 1, large", "async AROW > async MIRA > mixing MIRA > mixing SGD", order),
)
