"""Results as HTML, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tunesmith.tuners.fitting.tables import MOST, shown_change, shown_score

if TYPE_CHECKING:
    from tunesmith.tuners.fitting.result import OtherScores, Scores, TuneResult

Row = Sequence[str]


def result_html(result: TuneResult) -> str:
    """Return the verdict, the scores, and the weights before and after with a bar for each."""
    groups = "queries" if "|normalisation:" in result.signature else "sentences"
    verdict = result.verdict.text(result.metric, result.rounds is not None, groups=groups)
    names = sorted(result.weights, key=lambda name: -abs(result.weights[name]))
    scores = table(
        ("metric", "set", "before", "after", "change"), (row for row in _score_rows(result)), 2
    )
    weights = table(("feature", "before", "after"), _weight_rows(result, names[:MOST]), 1)
    more = f"<p>the largest {MOST} of {len(names)}</p>" if len(names) > MOST else ""
    return (
        f"<div><p><b>{html.escape(verdict)}</b></p>{scores}"
        f"<details open><summary>weights</summary>{weights}{more}</details>"
        f"<p><small>{html.escape(result.signature)}</small></p></div>"
    )


def table(heads: Row, rows: Iterable[Row], texts: int) -> str:
    """Return a table; its first columns are texts, the others numbers."""

    def cells(tag: str, values: Row) -> str:
        ends = ("left" if k < texts else "right" for k in range(len(values)))
        return "".join(
            f'<{tag} style="text-align: {end}">{html.escape(value)}</{tag}>'
            for end, value in zip(ends, values, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table>"


def _score_rows(result: TuneResult) -> Iterator[Row]:
    """Yield a row for each metric and set; sets that were not tuned on come first."""
    every: list[tuple[str, TuneResult | OtherScores]] = [(result.metric, result)]
    every += [(other.metric, other) for other in result.others]
    for metric, scores in every:
        sets: tuple[tuple[str, TuneResult | OtherScores | Scores | None], ...] = (
            ("test", scores.test),
            ("dev", scores.dev),
            ("tune", scores),
        )
        for set_name, of_set in sets:
            if of_set is not None:
                before, after = of_set.initial_score, of_set.score
                yield (
                    *(metric, set_name, shown_score(before), shown_score(after)),
                    shown_change(before, after),
                )


def _weight_rows(result: TuneResult, names: Sequence[str]) -> Iterator[Row]:
    for name in names:
        yield name, f"{result.start.get(name, 0.0):.6g}", f"{result.weights[name]:.6g}"
