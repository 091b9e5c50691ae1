"""``tunesmith tune --replicates``: independent runs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

import tunesmith as ts

from ..conftest import Run
from ..support import LISTS, REFERENCES

BUNDLED = Path(ts.__file__).parent / "bundled"
Make = Callable[[str, str | bytes], Path]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Options for 30 sentences to tune on and 30 each to hold out and to test."""
    folder = tmp_path_factory.mktemp("few")
    given: list[object] = ["--start", BUNDLED / "weights.initial", "--restarts", 0, "--walks", 1]
    held = ts.read(BUNDLED / "tune.nbest.gz", [BUNDLED / "tune.ref"])
    for k, which in enumerate(("", "dev-", "test-")):
        path = folder / f"{which}lists.jsonl"
        ts.write(held.with_groups(range(30 * k, 30 * k + 30)), path)
        given += [f"--{which}candidates", path]
    return given


@pytest.mark.long
def test_runs_are_those_of_their_seeds(cli: Run, few: list[object], tmp_path: Path) -> None:
    out = tmp_path / "w.json"
    found = cli("tune", *few, "--metric", "bleu", "--metric", "ter", "--replicates", 3, "--seed", 4,
                "--out", out, "--json").json()  # fmt: skip
    about = found["replicates"]
    assert [run["seed"] for run in about["runs"]] == [4, 5, 6]
    single = [json.loads((tmp_path / f"w.{k}.json").read_text()) for k in (1, 2, 3)]
    for run, held in zip(about["runs"], single, strict=True):
        alone = cli(
            "tune", *few, "--metric", "bleu", "--metric", "ter", "--seed", run["seed"], "--json"
        )
        assert alone.json()["weights"] == held["weights"]
        assert held["replicates"] is None
        assert run["score"] == held["score"]
        assert run["dev_score"] == held["dev"]["score"]
        assert run["test_score"] == held["test"]["score"]
    scores = [held["dev"]["score"] for held in single]
    assert about["chosen_by"] == "dev"
    assert found["dev"]["score"] == statistics.median(scores)
    assert json.loads(out.read_text()) == found
    assert about["mean"] == pytest.approx(statistics.mean(scores))
    assert about["deviation"] == pytest.approx(statistics.stdev(scores))
    sets = [(one["metric"], one["set"]) for one in about["scores"]]
    assert sets == [(m, s) for m in ("bleu", "ter") for s in ("tune", "dev", "test")]
    test = [held["others"][0]["test"]["score"] for held in single]
    assert about["scores"][-1]["mean"] == pytest.approx(statistics.mean(test))
    assert about["scores"][-1]["maximum"] == max(test)


def test_metrics_of_one_name_have_figures_of_their_own(cli: Run, few: list[object]) -> None:
    metrics = ("--metric", "bleu:order=2", "--metric", "bleu")
    found = cli("tune", *few, *metrics, "--replicates", 3, "--json").json()["replicates"]
    assert len(found["scores"]) == 6
    scores = [run["score"] for run in found["runs"]]
    assert found["scores"][0]["mean"] == pytest.approx(statistics.mean(scores))
    assert found["scores"][0]["deviation"] == pytest.approx(statistics.stdev(scores))
    assert found["scores"][3]["mean"] < min(scores)  # of four words in a row fewer match


def test_weights_go_straight_into_compare(cli: Run, few: list[object], tmp_path: Path) -> None:
    found = cli("tune", *few, "--replicates", 2, "--out", tmp_path / "w.ini")
    assert found.code == 0
    assert "if you choose a run by its test score" in found.err
    assert "2 runs" in found.out
    # Of an even number the worse of the middle two.
    weights = [ts.read_weights(tmp_path / f"w.{k}.ini").weights for k in (1, 2)]
    assert dict(ts.read_weights(tmp_path / "w.ini").weights) in map(dict, weights)
    systems = ("--system", f"a={tmp_path}/w.1.ini,{tmp_path}/w.2.ini")
    systems += ("--system", f"b={BUNDLED}/weights.initial")
    lists = ("--candidates", BUNDLED / "test.nbest.gz", "--references", BUNDLED / "test.ref")
    few_trials = ("--resamples", 50, "--randomizations", 50)
    compared = cli("compare", *lists, *systems, *few_trials, "--json").json()
    assert [len(system["runs"]) for system in compared["systems"]] == [2, 1]
    assert compared["tests"][0]["variance_optimizer"] is None


def test_runs_that_are_the_same_are_told(cli: Run, make: Make) -> None:
    given = ("--candidates", make("l", LISTS), "--references", make("r", REFERENCES))
    found = cli("tune", *given, "--replicates", 2)
    assert found.code == 0
    assert "all runs score the same" in found.err


def test_an_error_rate_has_its_middle_too(cli: Run, few: list[object], tmp_path: Path) -> None:
    found = cli("tune", *few, "--metric", "ter", "--replicates", 2, "--json").json()
    scores = [run["dev_score"] for run in found["replicates"]["runs"]]
    assert found["dev"]["score"] == max(scores)
    assert {run["file"] for run in found["replicates"]["runs"]} == {None}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--replicates", "0"], "give 1 or more"),
        (["--replicates", "2", "--out", "-"], "name a file with --out"),
        (["--replicates", "2", "--log", "tensorboard:x"], "follows one run"),
        (["--replicates", "2", "--out", "w.json"], "w.2.json: this is a folder"),
        (["--replicates", "2", "--out", "l"], "l.1 is read too"),
    ],
)
def test_refused(
    refused: Callable[..., str], make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    options: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    make("l.1", LISTS), make("r", REFERENCES)
    (tmp_path / "w.2.json").mkdir()
    assert message in refused("tune", "--candidates", "l.1", "--references", "r", *options)


def test_a_loop_is_one_run(refused: Callable[..., str]) -> None:
    assert "a loop is one run" in refused("tune", "--decoder", "pool", "--replicates", 2)
