"""Results as tables for a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from tunesmith.metrics.tuning import Oracle
    from tunesmith.tuners.base import TuneResult

#: Weights that a table shows; the largest come first where there are more.
MOST = 40


def result_table(result: TuneResult) -> Group:
    """Lay out scores and weights."""
    return Group(score_table(result), weight_table(result), _summary(result))


def demo_tables(result: TuneResult, test: Oracle) -> Group:
    """Lay out a result whose development set is a test set with an oracle of its own."""
    return Group(weight_table(result), score_table(result, "test", test), _summary(result))


def score_table(result: TuneResult, dev_name: str = "dev", dev: Oracle | None = None) -> Table:
    """Lay out the scores before and after, and the oracle."""
    table = Table(title=result.metric, title_justify="left", title_style="bold")
    for column in ("set", "before", "after", "oracle", "length ratio"):
        table.add_column(column, justify="left" if column == "set" else "right")
    bound = "" if result.oracle_exact else "≥ "
    table.add_row(
        "tune",
        f"{result.initial_score:.2f}",
        f"{result.score:.2f}",
        f"{bound}{result.oracle_score:.2f}",
        "" if result.length_ratio is None else f"{result.length_ratio:.4f}",
    )
    if result.dev is not None:
        table.add_row(
            dev_name,
            f"{result.dev.initial_score:.2f}",
            f"{result.dev.score:.2f}",
            "" if dev is None else f"{'' if dev.exact else '≥ '}{dev.score:.2f}",
            "" if result.dev.length_ratio is None else f"{result.dev.length_ratio:.4f}",
        )
    return table


def weight_table(result: TuneResult) -> Table:
    """Lay out the weights before and after."""
    table = Table(title="weights", title_justify="left", title_style="bold")
    table.add_column("feature")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    names = list(result.weights)
    if len(names) > MOST:
        names = sorted(names, key=lambda name: -abs(result.weights[name]))[:MOST]
    for name in names:
        before = result.start.get(name, 0.0)
        table.add_row(name, f"{before:.6g}", f"{result.weights[name]:.6g}")
    if len(names) < len(result.weights):
        table.caption = f"the largest {len(names)} of {len(result.weights)}"
    return table


def _summary(result: TuneResult) -> Text:
    return Text(
        f"{result.tuner}: {result.line_searches} line searches in {result.seconds:.2f} s, "
        f"seed {result.seed}, {result.threads} threads"
    )


def as_text(result: TuneResult) -> str:
    """Return the table without colours."""
    out = io.StringIO()
    Console(file=out, width=100, no_color=True).print(result_table(result))
    return out.getvalue().rstrip()
