"""The experiment on unseen text: its runs, how they are counted, and the tables made of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
sys.path.append(str(Path(__file__).parents[2] / "experiments"))

import everything
import generalisation
import generalisation_page as page


def row(tuner, size=0, draw=0, data="catalogs-nbest", tuned=51.0, **more):
    about = {"kind": "gain", "set": data, "size": size, "draw": draw, "tuner": tuner}
    return about | {"tuned": tuned, "start": 50.0, "length_ratio": 1.0, "seconds": 2.0, **more}


def test_what_is_missing_is_counted(tmp_path, monkeypatch):
    file = tmp_path / "rows.jsonl"
    monkeypatch.setattr(generalisation, "ROWS", file)
    for protocol in everything.PROTOCOLS:
        parts = {one.name: one for one in everything.all_parts(["generalisation"], [protocol])}
        assert list(parts) == list(generalisation.PARTS)
        assert all(one.done == 0 < one.wanted for one in parts.values())
        assert parts["sizes"].wanted == generalisation.DRAWS[protocol] * 7 * 3 * 4
        assert ("--quick" in parts["sizes"].command) == (protocol == "quick")
    # Rows of all sentences are no rows of some, and unknown ones count nowhere.
    rows = [row("auto"), row("mert", 50, 1), row("mert", 50, 4), row("mert", 77)]
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    found = everything.all_parts(["generalisation"], everything.PROTOCOLS)
    done = {(one.protocol, one.name): one.done for one in found if one.done}
    expected = {("quick", "whole"): 1, ("quick", "sizes"): 1}
    assert done == expected | {("full", "whole"): 1, ("full", "sizes"): 2}
    assert {one.each for one in found if one.done} == {2.0}


def test_no_run_is_made_twice():
    for draws in generalisation.DRAWS.values():
        keys = [run.key for runs in generalisation.PARTS.values() for run in runs(draws)]
        assert len(keys) == len({*keys})


def test_subsets_are_random_and_the_same_every_time():
    assert [*generalisation.subset(5, 0, 3)] == [*generalisation.subset(5, 9, 3)] == [*range(5)]
    some = [generalisation.subset(100, 20, draw) for draw in (0, 0, 1)]
    assert [*some[0]] == [*some[1]] != [*some[2]]
    assert len({*some[0]}) == 20


def test_the_default_is_compared_with_the_best_in_hindsight():
    interval = {"verdict": {"gain": 1.0, "low": 0.5, "high": 1.5}}
    rows = [row("auto", draw=k, tuned=tuned, **interval) for k, tuned in enumerate((51.0, 51.2))]
    rows += [row("mert", tuned=51.3), row("ramp", tuned=51.5), row("ramp", draw=1, tuned=50.3)]
    (line,) = page.hindsight_lines([*rows, row("pro", 50, tuned=99.0)]).splitlines()
    assert "+1.00 over the start (95 %: +0.50 to +1.50), mean of 2 seeds" in line
    assert "-0.20 from the best single tuner in hindsight, `mert`" in line
    assert "above 1 of 2 of them, and +0.00 from their mean" in line
    assert page.hindsight_lines(rows[2:]) == ""


def test_the_table_of_few_sentences_counts_losses_and_ranks():
    rows = [
        row(tuner, 50, draw, tuned=tuned)
        for draw, pair in enumerate([(51.0, 52.0), (49.0, 48.0)])
        for tuner, tuned in zip(("auto", "mert"), pair, strict=True)
    ]
    head, _, auto, mert = page.table_of_sizes([*rows, row("auto", 500, tuned=40.0)]).splitlines()
    assert [one.strip() for one in head.split("|")][2:4] == ["50", "500"]
    # Twice the deviation of two draws over the root of two, times 12.71.
    assert "+0.00 ± 12.71" in auto
    assert auto.endswith("| 1 of 2 | 1.5 |")
    assert mert.endswith("| 1 of 2 | 1.5 |")


def test_verdicts_are_held_against_other_sentences():
    def judged(kind, draw, low, high, gain=0.5, word="use"):
        verdict = {"low": low, "high": high, "gain": 0.6, "recommendation": word}
        return {"kind": kind, "draw": draw, "verdict": verdict, "gain": gain}

    rows = [judged("coverage", 0, 0.1, 1.0, 0.9), judged("coverage", 1, 0.6, 1.0, -0.1)]
    rows.append(judged("shuffled", 0, -1.0, 1.0, word="keep-start"))
    splits, noise = page.verdict_lines(rows).splitlines()
    assert "in 1 (50 %)" in splits
    assert "+0.20 BLEU off" in splits
    assert "in 1 of 2 splits; the gain was -0.10 to +0.90." in splits
    assert "`keep-start` was said 1 times (100 %)" in noise


def test_the_default_and_single_tuners_of_the_design():
    names = ("the default", "with mira", "`pro` alone")
    rows = [
        {"kind": kind, "gains": dict(zip(names, gains, strict=True))}
        for kind, gains in (("50", (0.5, 0.1, -0.2)), ("50", (0.7, 0.1, 0.0)), ("200", (1, 2, 3)))
    ]
    head, _, *lines = page.design_table(rows, alone=True).splitlines()
    assert head == "| | 50 sentences (2) | 200 sentences (1) |"
    assert lines == ["| the default | +0.60 | +1.00 |", "| `pro` | -0.10 | +3.00 |"]
    assert "| with mira | +0.10 | +2.00 |" in page.design_table(rows)
