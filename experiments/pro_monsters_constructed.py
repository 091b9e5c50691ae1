"""Plain PRO and the fixes of Table 3 on a small set made for it, with the columns of Table 1.

python experiments/pro_monsters_constructed.py

Needs nothing but a checkout. The table goes into docs/results/pro-monsters.md. The set is that of
the tests: 40 sentences of 60 ordinary candidates, and 4 or 20 monsters each.
"""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.helpers.tuners.monsters import START, monster_set  # noqa: E402

import tunesmith as ts  # noqa: E402

PAGE = ROOT / "docs" / "results" / "pro-monsters.md"
#: Rows of the paper's Tables 3 and 4: what is selected and how it is accepted.
WAYS = {
    "PRO (baseline)": (("difference",), "greatest"),
    "BLEU+1 max=10 †": (("difference:most=0.1",), "greatest"),
    "BLEU+1 max=20 †": (("difference:most=0.2",), "greatest"),
    "LEN max=5 †": (("difference", "length:most=5"), "greatest"),
    "LEN max=10 †": (("difference", "length:most=10"), "greatest"),
    "outliers BLEU+1 λ=2 †": (("difference", "outliers:deviations=2"), "greatest"),
    "outliers BLEU+1 λ=3": (("difference", "outliers:deviations=3"), "greatest"),
    "outliers LEN λ=2": (("difference", "outliers:of=length,deviations=2"), "greatest"),
    "stochastic ΔBLEU+1": (("difference", "stochastic"), "greatest"),
    "stochastic ΔLEN": (("difference", "stochastic:of=length"), "greatest"),
    "PRO, rand ††": (("all",), "random"),
}
HEAD = (
    "| monsters of a list | PRO fix | BLEU before | after | ratio | length pos | neg | ref "
    "| BLEU+1 pos | neg | warning |"
)
COLUMNS = (
    *("positive_length", "negative_length", "reference_length"),
    *("positive_score", "negative_score"),
)


def main() -> None:
    """Run all rows, print the table, and put it on the page."""
    warnings.simplefilter("ignore")
    lines = [HEAD, "|---" * 11 + "|"]
    for count in (4, 20):
        tuning = monster_set(count)
        for label, (select, accept) in WAYS.items():
            tuner = ts.PRO(objective="bleu+1", select=select, accept=accept)
            result = tuner.fit(tuning, START, rng=1)
            entry = result.history[-1]
            said = "monsters" if any("monsters" in one for one in result.warnings) else "no"
            cells = [f"{count} of {60 + count}", label, f"{result.initial_score:.1f}"]
            cells += [f"{result.score:.1f}", f"{result.length_ratio:.2f}"]
            cells += [*(f"{entry[name]:.1f}" for name in COLUMNS), said]
            lines.append(f"| {' | '.join(cells)} |")
    table = "\n".join(lines)
    print(table)
    marks = re.compile(r"(<!-- constructed -->\n).*?(<!-- end constructed -->)", re.DOTALL)
    text = PAGE.read_text()
    PAGE.write_text(marks.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text))


if __name__ == "__main__":
    main()
