"""What fusion found, for a terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tunesmith.tuners.fusion.baselines import GRID_PARTS
from tunesmith.tuners.fusion.fuse import Baseline, Fused


def fused_table(fused: Fused) -> Group:
    """Lay out the verdict, scores beside those of baselines, and weights."""
    parts = (verdict_line(fused), _scores(fused), _weights(fused))
    return Group(*(part for one in parts for part in (one, Text())), _proof(fused))


def verdict_line(fused: Fused) -> Text:
    """Say what queries say that were not tuned on."""
    if fused.verdict.gain is None:
        text = "no query was held out, so the gain on others is unknown; give --folds 5"
    else:
        text = fused.verdict.text(fused.metric, groups="queries", start="equal weights", digits=4)
    return Text(text, style="bold")


def _scores(fused: Fused) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(fused.metric)
    table.add_column(f"{fused.queries} queries", justify="right")
    has_unseen = fused.held_out is not None
    if has_unseen:
        table.add_column("unseen", justify="right")
    rows = [("tuned", fused.score, fused.held_out)]
    rows += [(_name(one), one.score, one.held_out) for one in fused.baselines]
    for name, score, held_out in rows:
        unseen = [] if held_out is None else [f"{held_out:.4f}"]
        table.add_row(Text(name), f"{score:.4f}", *unseen)
    return table


def _name(baseline: Baseline) -> str:
    return {
        "equal weights": "equal weights, min-max",
        "reciprocal ranks": "reciprocal ranks, k = 60",
        "best run": f"best single run: {baseline.about}",
        "grid": f"best of a grid of step {1 / GRID_PARTS:g}: {baseline.about}",
    }[baseline.name]


def _weights(fused: Fused) -> Table:
    policy = fused.normalisation.policy
    missing = policy if isinstance(policy, str) else f"{policy:g}"
    table = Table(box=None, pad_edge=False)
    table.add_column(f"weights ({fused.normalisation}, missing: {missing})")
    table.add_column("", justify="right")
    for name, weight in fused.weights.items():
        table.add_row(Text(name), f"{weight:.6g}")
    return table


def _proof(fused: Fused) -> Text:
    if fused.mix is None:
        return Text()
    mix, run = fused.mix, tuple(fused.weights)[1]
    return Text(
        f"alpha, the weight of {run}: {mix.alpha:.6g}, and proven that no other is better\n"
        f"plateau: the same score from {mix.low:.6g} to {mix.high:.6g}\n"
        f"places between 0 and 1 where the score changes: {mix.edges}"
    )
