"""Comparisons as tables, for a terminal and for papers."""

from __future__ import annotations

import io
import unicodedata
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from tunesmith.significance.comparison import Comparison, MetricComparison, PairedTest
    from tunesmith.significance.sentences import Ranking


#: Joiners that writing needs; what else is not printable is shown as an escape.
JOINERS = "\u200c\u200d"
#: With more digits than this, tables fit into 80 columns without room at their edges only.
WIDE = 2


def comparison_table(comparison: Comparison) -> Group:
    """Lay out systems and tests by each metric."""
    parts: list[RenderableType] = []
    for comparison_of_metric in comparison.metrics:
        parts += [system_table(comparison_of_metric), test_table(comparison_of_metric)]
    parts.append(
        _line(
            f"{comparison.sentences} sentences, {comparison.resamples} resamples, "
            f"{comparison.randomizations} randomisations, seed {comparison.seed}"
        )
    )
    return Group(*parts)


def system_table(comparison: MetricComparison) -> Table:
    """Lay out what each system scores over its runs."""
    better = "higher is better" if comparison.higher_is_better else "lower is better"
    title = Text(f"{shown_text(comparison.metric)} ({better})")
    digits = digits_of(*(system.mean for system in comparison.systems))
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=digits <= WIDE)
    table.add_column("system", min_width=6, overflow="fold")
    for head in ("runs", "mean", "s_opt", "s_sel", "min", "max", "95 % interval"):
        table.add_column(head, justify="right", no_wrap=True)
    for system in comparison.systems:
        numbers = (system.mean, system.deviation, system.selection_deviation)
        table.add_row(
            Text(shown_text(system.name)),
            str(len(system.runs)),
            *(shown(value, digits) for value in numbers),
            shown(system.minimum, digits),
            shown(system.maximum, digits),
            _interval(system.interval, digits),
        )
    return table


def test_table(comparison: MetricComparison) -> Table:
    """Lay out the tests; several have corrected p-values too."""
    digits = digits_of(*(system.mean for system in comparison.systems))
    table = Table(pad_edge=digits <= WIDE)
    table.add_column("difference", min_width=10, overflow="fold")
    several = len(comparison.tests) > 1
    of_p = ("p\nboot.", "p\nrand.") if several else ("p\nbootstrap", "p\nrandomis.")
    for head in ("", "95 % interval", *of_p):
        table.add_column(head, justify="right", no_wrap=True)
        if several and head.startswith("p"):
            table.add_column("p\nHolm", justify="right", no_wrap=True)
    for test in comparison.tests:
        name = Text(f"{shown_text(test.b)} − {shown_text(test.a)}")
        table.add_row(name, *_figures(test, digits, several))
    return table


def _figures(test: PairedTest, digits: int, several: bool) -> list[str]:
    row = [f"{test.difference:+.{digits}f}", _interval(test.interval, digits, "+")]
    row.append(f"{test.p_bootstrap:.4f}")
    if several:
        row.append(f"{test.p_bootstrap_holm:.4f}")
    row.append(f"{test.p_randomization:.4f}")
    if several:
        row.append(f"{test.p_randomization_holm:.4f}")
    return row


def ranking_lines(ranking: Ranking, most: int) -> Text:
    """Show the sentences that differ most, each with its references and both outputs."""
    a, b = shown_text(ranking.a), shown_text(ranking.b)
    width = max(len("reference"), len(a), len(b))
    lines = [f"{shown_text(ranking.metric)} by sentence: {b} − {a}"]
    digits = digits_of(*ranking.score_a.ravel().tolist(), *ranking.score_b.ravel().tolist())
    for sentence in ranking.sentences(most):
        scores = f"{a} {sentence.score_a:.{digits}f}, {b} {sentence.score_b:.{digits}f}"
        lines += ["", f"sentence {sentence.sentence}: {sentence.difference:+.{digits}f} ({scores})"]
        lines += [f"  {'reference':<{width}}  {shown_text(text)}" for text in sentence.references]
        lines += [f"  {a:<{width}}  {shown_text(sentence.text_a)}"]
        lines += [f"  {b:<{width}}  {shown_text(sentence.text_b)}"]
    return _line("\n".join(lines))


def digits_of(*scores: float) -> int:
    """Return how many digits scores have; those not in per cent, as a rule, have more."""
    return 2 if max(map(abs, scores), default=0.0) > 1 else 4


def shown(value: float | None, digits: int) -> str:
    """Show a number, or that there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def _interval(ends: tuple[float, float], digits: int, sign: str = "") -> str:
    return f"{ends[0]:{sign}.{digits}f} to {ends[1]:{sign}.{digits}f}"


def shown_text(text: str) -> str:
    """Return a text in which nothing steers a terminal or breaks a line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode()


def _line(text: str) -> Text:
    """Return text that stays on its lines, however narrow the terminal is."""
    return Text(text, no_wrap=True, overflow="ignore")


def as_text(comparison: Comparison) -> str:
    """Return the tables without colours, with the notes below."""
    out = io.StringIO()
    Console(file=out, width=110, no_color=True).print(comparison, crop=False)
    notes = "".join(f"note: {note}\n" for note in comparison.notes)
    return f"{out.getvalue()}{notes}".rstrip()


_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def latex_table(comparison: Comparison) -> str:
    """Return a tabular with the rules of booktabs, metric by metric.

    The p-values are those of the tests against the first system; tests among the others follow
    below it.
    """
    several = any(
        len(comparison_of_metric.tests) > 1 for comparison_of_metric in comparison.metrics
    )
    of_p = [r"$p_\mathrm{boot}$", r"$p_\mathrm{rand}$"]
    heads = ["Metric", "System", "Runs", "Mean", r"$s_\mathrm{opt}$", r"$s_\mathrm{sel}$", *of_p]
    heads += [r"$p_\mathrm{rand}$ (Holm)"] if several else []
    lines = [
        "% needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}",
        f"\\begin{{tabular}}{{ll{'r' * (len(heads) - 2)}}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
    ]
    for comparison_of_metric in comparison.metrics:
        lines += [r"\midrule", *_rows(comparison_of_metric, several)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [
        f"% {escaped_comment(comparison_of_metric.signature)}"
        for comparison_of_metric in comparison.metrics
    ]
    return "\n".join(lines) + "\n"


def _rows(comparison: MetricComparison, several: bool) -> list[str]:
    """Return a row for each system, and one for each test that is not against the first."""
    base = comparison.systems[0].name
    against = {test.b: test for test in comparison.tests if test.a == base}
    digits = digits_of(*(system.mean for system in comparison.systems))
    rows = []
    for k, system in enumerate(comparison.systems):
        numbers = (system.mean, system.deviation, system.selection_deviation)
        cells = [escaped(comparison.metric) if k == 0 else "", escaped(system.name)]
        cells += [str(len(system.runs)), *(_number(value, digits) for value in numbers)]
        rows.append(cells + _p_values(against.get(system.name), several))
    for test in comparison.tests:
        if test.a != base:
            name = f"{escaped(test.b)} $-$ {escaped(test.a)}"
            cells = ["", name, "", f"${test.difference:+.{digits}f}$", "", ""]
            rows.append(cells + _p_values(test, several))
    return [" & ".join(cells) + r" \\" for cells in rows]


def _p_values(test: PairedTest | None, several: bool) -> list[str]:
    if test is None:
        return ["--"] * (3 if several else 2)
    values = [test.p_bootstrap, test.p_randomization]
    values += [test.p_randomization_holm] if several else []
    return [f"{value:.4f}" for value in values]


def _number(value: float | None, digits: int) -> str:
    text = "--" if value is None else shown(value, digits)
    return f"${text}$" if text.startswith("-") and value is not None else text


def escaped(text: str) -> str:
    """Return a text that LaTeX prints as it is."""
    plain = "".join(_ESCAPES.get(c, c) for c in text)
    return plain.replace("--", "-{}-").replace("--", "-{}-")  # two in a row would be one dash


def escaped_comment(text: str) -> str:
    """Return a text that stays within a comment."""
    return " ".join(text.split())
