"""How many steps of its tuner the file of a result keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run, random_lists
from tests.helpers.report.records import record_of
from tunesmith.report.page.rounds import rounds_of

Refused = Callable[..., str]
Make = Callable[[str, str | bytes], Path]


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("--runs", "2"), ("--strength", "0,0.1")])
def test_a_result_keeps_the_ends_of_climbs_or_all_steps(
    cli: Run, make: Make, options: tuple[str, ...], tmp_path: Path
) -> None:
    lines, references = random_lists(5)
    given = ["tune", "-c", make("lists", "\n".join(lines) + "\n"), "-t", "mert"]
    given += ["-r", make("refs", "\n".join(references) + "\n"), "--restarts", "30", *options]
    if "--strength" in options:
        given += ["--penalty", "l0", "--dev-candidates", given[2], "--dev-references", given[6]]
    printed = cli(*given, "--out", tmp_path / "ends.json", "--json", "-q").json()["history"]
    cli(*given, "--out", tmp_path / "all.json", "--history", "-q")
    whole, ends = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("all", "ends"))
    steps = whole["history"]
    assert steps == printed
    assert [entry["step"] for entry in steps] == list(range(len(steps)))
    assert len(ends["history"]) < len(steps)
    begins = [k for k, entry in enumerate(steps) if entry["direction"] is None]
    last = [k - 1 for k in [*begins[1:], len(steps)]]
    assert [e["step"] for e in ends["history"]] == sorted({*begins, *last})
    assert all(steps[entry["step"]] == entry for entry in ends["history"])
    # The page of a run is the same.
    for result in (whole, ends):
        for entry in result["path"] or ():
            entry["seconds"] = 1.0
    views = [rounds_of(record_of(result)) for result in (whole, ends)]
    assert views[0] == views[1]


def test_short_histories_are_whole(cli: Run, lists: Path, refs: Path, tmp_path: Path) -> None:
    out = tmp_path / "w.json"
    given = ("tune", "-c", lists, "-r", refs, "-t", "mert", "--restarts", "2", "--json", "-q")
    printed = cli(*given, "-o", out).json()
    assert json.loads(out.read_text())["history"] == printed["history"]


def test_history_is_of_a_file(refused: Refused, lists: Path, refs: Path) -> None:
    given = ("tune", "-c", lists, "-r", refs, "--history")
    assert "give --out FILE.json" in refused(*given)
    assert "give --out FILE.json" in refused(*given, "-o", "w.txt")
