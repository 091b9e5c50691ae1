from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

import tunesmith as ts
from tunesmith.tuners.fitting.result import OtherScores, Scores
from tunesmith.tuners.fitting.tables import path_table, score_table

SCORES = Scores(49.456, 45.123, 1.0)


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
        ("wer", ["tune", "25.00", "25.00", "+0.00", "≤ 20.00"]),
        # The weight chooses 1st and 1st or 2nd and 2nd; the oracle 2nd and 1st.
        ("column:quality", ["tune", "0.4570", "0.4570", "+0.0000", "0.6225"]),
    ],
)
def test_bounds_and_digits(metric, expected):
    assert row(metric)[:5] == expected


def test_an_oracle_from_below():
    assert row("bleu:order=1")[4].startswith("≥ ")


@pytest.mark.parametrize(
    ("metric", "start", "change"),
    [
        ("column:quality", -1.0, "+0.2230 better"),
        ("cost:quality", 1.0, "-0.2230 better"),
        ("wer", -1.0, "-150.00 better"),
    ],
)
def test_a_change_has_a_sign_and_a_word(metric, start, change):
    candidates = ts.from_arrays(
        [0, 0, 1, 1],
        {"f": [1.0, 0.0, 1.0, 0.0]},
        ["a b q", "x a b c d", "c", "d e f"],
        {0: ["a b q"], 1: ["c"]},
        {"quality": [0.125, 0.456, 0.789, 0.012]},
    )
    result = ts.MERT(restarts=0, walks=0).fit(ts.TuningSet(candidates, metric), {"f": start})
    (line,) = (line for line in str(result).split("\n") if line.startswith("│ tune"))
    assert line.split("│")[4].strip() == change


def test_the_widest_table_fits_80_columns():
    candidates = ts.from_arrays([0, 0], {"f": [1.0, 0.0]}, columns={"quality": [0.1, 0.4]})
    tuning = ts.TuningSet(candidates, "column:quality")
    table = score_table(
        dataclasses.replace(
            ts.MERT(restarts=0, walks=0).fit(tuning, {"f": 1.0}),
            metric="column:correct",
            others=(OtherScores("sentence-bleu", "", 45.123, 49.456, 1.0, SCORES, SCORES),),
            test=SCORES,
        )
    )
    out = io.StringIO()
    Console(file=out, width=80, no_color=True).print(table)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in out.getvalue()
    assert out.getvalue().count("+4.34 better") == 3
    assert len(lines) == 4 + 5 + 1  # nothing but the last heading is folded


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
