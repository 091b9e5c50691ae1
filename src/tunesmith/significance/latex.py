"""Comparisons as tables for papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tunesmith.significance.tables import digits_of, shown

if TYPE_CHECKING:
    from tunesmith.significance.comparison import Comparison, MetricComparison, PairedTest

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
