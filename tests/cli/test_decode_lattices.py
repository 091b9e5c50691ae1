"""``tunesmith decode --lattice-input``: lattices in place of sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run
from tests.helpers.hiero.model_files import WEIGHTS, candidates, written

#: Two ways to begin, of which one is much better for those who listen.
LATTICE = "((('das',-0.5,1),('dies',-9,1),('haus',-3,2),),(('haus',-0.5,1),),)"
PATHS = {"das haus": -1.0, "dies haus": -9.5, "haus": -3.0}


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    files = written(tmp_path)
    with files["weights"].open("a") as file:
        file.write("PLF 1\n")
    (tmp_path / "lattices").write_text(f"{LATTICE}\n\n((('klein',0,1),),)\n")
    return [
        *(
            text
            for name in ("grammar", "lm", "weights")
            for text in (f"--{name}", str(files[name]))
        ),
        *("--pop-limit", "0", "--input", str(tmp_path / "lattices")),
    ]


def best() -> str:
    every = [
        (one.score + score, one.text) for path, score in PATHS.items() for one in candidates(path)
    ]
    return max(every)[1]


def test_texts_lists_and_traces(cli: Run, options: list[str], tmp_path: Path) -> None:
    given = ["decode", *options, "--lattice-input", "plain"]
    assert cli(*given).lines() == [best(), "", candidates("klein")[0].text]
    out, trace = tmp_path / "out", tmp_path / "trace"
    assert cli(*given, "--nbest", "3", "--trace", trace, "--out", out).code == 0
    assert " PLF=" in out.read_text()
    steps = [json.loads(line) for line in trace.read_text().splitlines()]
    assert {one["path"] for one in steps if one["id"] == 2} == {"klein"}
    assert {one["path"] for one in steps if one["id"] == 0} <= set(PATHS)


def test_forests_have_the_scores_of_arcs(cli: Run, options: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    given = ["decode", *options, "--lattice-input", "probabilities", "--forest", out]
    (tmp_path / "lattices").write_text("((('das',0.25,1),),)\n")
    assert cli(*given).code == 0
    assert '"PLF"' in out.read_text()
    assert "-1.38629" in out.read_text()  # the natural logarithm of 0.25


def test_scores_without_a_weight_are_told(cli: Run, options: list[str], tmp_path: Path) -> None:
    weights = tmp_path / "plain"
    weights.write_text("".join(f"{name} {value}\n" for name, value in WEIGHTS.items()))
    done = cli("decode", *options, "--weights", weights, "--lattice-input", "plain")
    assert (done.code, "PLF" in done.err) == (0, True)


@pytest.mark.parametrize(
    ("lattice", "said"),
    [
        ("das haus", "it is no lattice (PLF): at character 1, 'das haus': '(' is missing here"),
        ("((('das',0,1),)", "at the end of the line: "),
        (
            "((('das',0,0,1),),)",
            "its arcs have 2 scores, and those before 1; give all arcs the same",
        ),
        ("((('*EPS*',0,1),),)", "a path of the lattice has no words; take it out"),
    ],
)
def test_a_damaged_lattice_is_told_with_its_line(
    refused: Callable[..., str], options: list[str], tmp_path: Path, lattice: str, said: str
) -> None:
    path = tmp_path / "lattices"
    path.write_text(f"{LATTICE}\n{lattice}\n")
    told = refused("decode", *options, "--lattice-input", "plain", file=path, line=2)
    assert said in told


def test_without_the_option_they_are_refused(
    refused: Callable[..., str], options: list[str], tmp_path: Path
) -> None:
    said = refused("decode", *options, file=tmp_path / "lattices", line=1)
    assert said.endswith(
        "give --lattice-input plain, or probabilities, as the scores of its arcs are"
    )
    assert "lattice-input" in refused(
        "decode", *options, "--lattice-input", "plain", "--xml-input", "inclusive"
    )


@pytest.mark.long
def test_lattices_are_tuned_on(cli: Run, tmp_path: Path) -> None:
    files = written(tmp_path)
    (tmp_path / "source").write_text(f"{LATTICE}\n" * 3)
    (tmp_path / "references").write_text("dies house\n" * 3)
    (tmp_path / "start").write_text(files["weights"].read_text() + "PLF 1\n")
    out = tmp_path / "tuned.json"
    done = cli(
        *("tune", "--decoder", "hiero", "--decoder-lattice-input", "plain"),
        *("--decoder-grammar", files["grammar"], "--decoder-lm", files["lm"]),
        *("--source", tmp_path / "source", "--references", tmp_path / "references"),
        *("--start", tmp_path / "start", "--tuner", "mert", "--rounds", "3"),
        *("--metric", "chrf", "--out", out),
    )
    assert done.code == 0, done.err
    tuned = json.loads(out.read_text())
    # Only the path that is the worst by its scores says it.
    assert tuned["score"] > tuned["initial_score"]
    assert tuned["weights"]["PLF"] < 0
