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
