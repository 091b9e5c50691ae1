"""What fusion and votes found, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tunesmith.tuners.fitting.folds import LEAST
from tunesmith.tuners.fusion.baselines import GRID_PARTS, Baseline
from tunesmith.tuners.fusion.fuse import Fused
from tunesmith.tuners.fusion.mix import POSITIVE
from tunesmith.tuners.fusion.vote import BEST, Vote


def fused_table(fused: Fused) -> Group:
    """Lay out the verdict, scores beside those of baselines, and weights."""
    parts = (verdict_line(fused), _scores(fused), _weights(fused))
    return Group(*(part for block in parts for part in (block, Text())), _proof(fused))


def verdict_line(fused: Fused) -> Text:
    """Say what queries say that were not tuned on."""
    if fused.verdict.gain is None and fused.queries < LEAST:
        text = f"the gain on other queries is unknown; judge {LEAST} or more to hold some out"
    elif fused.verdict.gain is None:
        text = "no query was held out, so the gain on others is unknown; give --folds 5"
    else:
        text = fused.verdict.text(fused.metric, groups="queries", start="equal weights", digits=4)
    return Text(text, style="bold")


def _scores(fused: Fused) -> Table:
    rows = [("tuned", fused.score, fused.held_out)]
    rows += [(_name(baseline), baseline.score, baseline.held_out) for baseline in fused.baselines]
    return _score_table(fused.metric, f"{fused.queries} queries", rows)


def _score_table(
    metric: str, tuned_on: str, rows: Sequence[tuple[str, float, float | None]]
) -> Table:
    """Lay out scores on what was tuned on, and on the unseen where there is any."""
    table = Table(box=None, pad_edge=False)
    table.add_column(metric)
    table.add_column(tuned_on, justify="right")
    if any(held_out is not None for _, _, held_out in rows):
        table.add_column("unseen", justify="right")
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
    return _weight_table(f"weights ({fused.normalisation}, missing: {missing})", fused.weights)


def _weight_table(title: str, weights: Mapping[str, float]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(title)
    table.add_column("", justify="right")
    for name, weight in weights.items():
        table.add_row(Text(name), f"{weight:.6g}")
    return table


def _proof(fused: Fused) -> Text:
    if fused.mix is None:
        return Text()
    mix, run = fused.mix, tuple(fused.weights)[1]
    subject = "weight" if mix.signs == POSITIVE else "absolute weight"
    return _proven(f"alpha, the {subject} of {run}", mix.alpha, mix.low, mix.high, mix.edges)


def _proven(subject: str, value: float, low: float, high: float, edges: int) -> Text:
    return Text(
        f"{subject}: {value:.6g}, and proven that no other is better\n"
        f"plateau: the same score from {low:.6g} to {high:.6g}\n"
        f"places between 0 and 1 where the score changes: {edges}"
    )


def vote_table(vote: Vote) -> Group:
    """Lay out the verdict, scores beside those of baselines, and weights."""
    verdict = "no row was held out, so the gain on others is unknown; give folds=5"
    if vote.verdict.gain is not None:
        verdict = vote.verdict.text(vote.metric, groups="rows", start="equal weights", digits=4)
    rows = [("tuned", vote.score, vote.held_out)]
    for baseline in vote.baselines:
        name = f"best single model: {baseline.about}" if baseline.name == BEST else baseline.name
        rows.append((name, baseline.score, baseline.held_out))
    parts = (
        Text(verdict, style="bold"),
        _score_table(vote.metric, f"{vote.rows} rows", rows),
        _weight_table(f"weights of {vote.weighted}", vote.weights),
    )
    if vote.weighted == "both":
        parts = (*parts[:2], _weight_table("weights of classes of models", vote.weights))
    return Group(*(part for block in parts for part in (block, Text())), _vote_proof(vote))


def _vote_proof(vote: Vote) -> Text:
    if vote.mix is None:
        return Text()
    mix, label = vote.mix, tuple(vote.weights)[1]
    if vote.threshold is None or vote.plateau is None:
        return _proven(f"alpha, the weight of {label}", mix.alpha, mix.low, mix.high, mix.edges)
    subject = f"threshold of the probability of {label}"
    return _proven(subject, vote.threshold, *vote.plateau, mix.edges)
