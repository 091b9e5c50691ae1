from __future__ import annotations

import io

import pytest
from rich.console import Console

import tunesmith as ts
from tunesmith.tuners.fitting.tables import path_table


def row(metric: str) -> list[str]:
    """Return the row of a table after tuning, on lists on which no weight reaches the oracle."""
    candidates = ts.from_arrays(
        [0, 0, 1, 1],
        {"f": [1.0, 0.0, 1.0, 0.0]},
        ["a b", "x a b c d", "c", "d e f"],
        {0: ["a b q", "a b c d"], 1: ["c"]},
        {"quality": [0.125, 0.456, 0.789, 0.012]},
    )
    result = ts.MERT(restarts=0, walks=0).fit(ts.TuningSet(candidates, metric), {"f": 1.0})
    line = next(line for line in str(result).split("\n") if line.startswith("│ tune"))
    return [cell.strip() for cell in line.strip("│").split("│")]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # One error among 3 + 1 words; the second of "a b q" and "a b c d" gives 1 among 4 + 1.
        ("wer", ["tune", "25.00", "25.00", "≤ 20.00"]),
        # The weight chooses 1st and 1st or 2nd and 2nd; the oracle 2nd and 1st.
        ("column:quality", ["tune", "0.4570", "0.4570", "0.6225"]),
    ],
)
def test_bounds_and_digits(metric, expected):
    assert row(metric)[:4] == expected


def test_an_oracle_from_below():
    assert row("bleu:order=1")[3].startswith("≥ ")


@pytest.mark.filterwarnings("ignore:the test set is scored with each")
@pytest.mark.filterwarnings("ignore:.* sentences of the")
def test_a_path_keeps_its_numbers_on_a_narrow_terminal():
    candidates = ts.from_arrays(
        [0, 0, 1, 1],
        {"f": [1.0, 0.0, 1.0, 0.0]},
        ["a b c d e", "a b c d x", "c d e f", "c d e f g"],
        {0: ["a b c d e"], 1: ["c d e f g"]},
    )
    tuning = ts.TuningSet(candidates)
    tuner = ts.PRO(objective=("brevity-smoothed-grounded", "sentence:smoothing=lin-och"))
    result = tuner.fit(tuning, {"f": 0.0}, tuning, test=tuning)
    out = io.StringIO()
    Console(file=out, width=80, no_color=True).print(path_table(result))
    shown = out.getvalue()
    assert "…" not in shown
    assert shown.count(f"{result.score:.2f}") >= 3
    assert "best on dev" in shown
