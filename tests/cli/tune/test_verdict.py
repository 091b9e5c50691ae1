"""``tunesmith tune``: what is held out, the verdict in text and JSON, the baseline."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import Run
from tunesmith.cli.tune.options import share_of
from tunesmith.errors import UsageError
from tunesmith.io.read import read
from tunesmith.io.weights.files import read_weights
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.auto import Auto
from tunesmith.tuners.mert.mert import MERT

Make = Callable[[str, str | bytes], Path]
Refused = Callable[..., str]
QUICK = ["--tuner", "mert", "--restarts", 0, "--walks", 0]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, bundled: Path) -> list[object]:
    """The first 40 sentences of the bundled lists, with a document for each seven."""
    folder = tmp_path_factory.mktemp("forty")
    lines = gzip.decompress((bundled / "tune.nbest.gz").read_bytes()).decode().splitlines()
    kept = [line for line in lines if int(line.split(" ||| ")[0]) < 40]
    (folder / "lists").write_text("".join(f"{line}\n" for line in kept))
    references = (bundled / "tune.ref").read_text().splitlines()[:40]
    (folder / "refs").write_text("".join(f"{line}\n" for line in references))
    documents = [int(line.split(" ||| ")[0]) // 7 for line in kept]
    (folder / "documents").write_text("".join(f"{d}\n" for d in documents))
    return [
        *("--candidates", folder / "lists", "--references", folder / "refs"),
        *("--start", bundled / "weights.initial"),
    ]


@pytest.fixture
def tuning(files: list[Any]) -> TuningSet:
    return TuningSet(read(files[1], files[3]))


@pytest.fixture
def tune(cli: Run, files: list[object]) -> Callable[..., dict[str, Any]]:
    """Tune with some options, and return the JSON object."""

    def run(*options: object) -> dict[str, Any]:
        return cli("tune", *files, *QUICK, "--json", *options).json()

    return run


Tune = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    ("given", "in_python"),
    [
        (["--folds", 3], {"folds": 3}),
        (["--hold-out", "25%"], {"hold_out": 0.25}),
        (["--hold-out", "0.25"], {"hold_out": 0.25}),
    ],
)
def test_the_command_line_is_the_same_as_python(
    tune: Tune,
    tuning: TuningSet,
    bundled: Path,
    given: list[object],
    in_python: dict[str, Any],
) -> None:
    start = read_weights(bundled / "weights.initial").weights
    expected = MERT(restarts=0, walks=0).fit(tuning, start, rng=1, **in_python)
    found = tune(*given)
    assert found["verdict"] == expected.verdict.to_dict()
    assert found["weights"] == dict(expected.weights)
    assert found["score"] == expected.score


def test_documents_stay_together(tune: Tune, files: list[Any]) -> None:
    documents = Path(files[1]).parent / "documents"
    scores = ["--scores", f"document={documents}", "--drop", "document"]
    apart = tune(*scores, "--folds", 3)
    together = tune(*scores, "--folds", 3, "--fold-column", "document")
    assert together["weights"] == apart["weights"]
    assert together["verdict"] != apart["verdict"]
    assert together["verdict"]["sentences"] == 40


def test_the_verdict_is_the_first_line(cli: Run, files: list[object]) -> None:
    found = cli("tune", *files, *QUICK, "--folds", 2)
    first = found.lines()[0]
    assert first.startswith("on 40 unseen sentences ")
    assert " BLEU (95 %: " in first
    assert cli("tune", *files, *QUICK).lines()[0].startswith("nothing was held out, so ")


def test_nothing_held_out_is_said_in_json(tune: Tune) -> None:
    verdict = tune()["verdict"]
    assert verdict["recommendation"] == "no-held-out-data"
    assert verdict["gain"] is None
    assert tune("--folds", 2)["committee"] is None


def test_a_test_set_is_judged(tune: Tune, bundled: Path) -> None:
    test = ["--test-candidates", bundled / "test.nbest.gz"]
    found = tune(*test, "--test-references", bundled / "test.ref")
    verdict = found["verdict"]
    assert verdict["on"] == "test"
    gain = found["test"]["score"] - found["test"]["initial_score"]
    assert verdict["gain"] == pytest.approx(gain, abs=1e-9)
    assert verdict["low"] < gain < verdict["high"]


def test_it_is_in_the_file(tune: Tune, tmp_path: Path, cli: Run, files: list[object]) -> None:
    out = tmp_path / "found.json"
    cli("tune", *files, *QUICK, "--folds", 2, "--out", out)
    assert json.loads(out.read_text())["verdict"] == tune("--folds", 2)["verdict"]


def test_replicates_are_judged_each(cli: Run, files: list[object], tmp_path: Path) -> None:
    out = tmp_path / "w.json"
    cli("tune", *files, *QUICK, "--folds", 2, "--replicates", 2, "--out", out)
    for name in ("w.json", "w.1.json", "w.2.json"):
        assert json.loads((tmp_path / name).read_text())["verdict"]["on"] == "folds"


@pytest.mark.parametrize(("given", "weight"), [("LM0", 1.0), ("-WordPenalty0", -1.0)])
def test_a_baseline(cli: Run, files: list[object], given: str, weight: float) -> None:
    found = cli("tune", *files[:4], *QUICK, "--json", f"--baseline={given}").json()
    start = found["start"]
    assert start[given.removeprefix("-")] == weight
    assert sum(abs(w) for w in start.values()) == 1.0
    assert found["score"] >= found["initial_score"]


def test_without_a_tuner_it_is_the_committee(
    cli: Run, files: list[object], tuning: TuningSet, bundled: Path
) -> None:
    member = ["--member", "mert:restarts=0,walks=0", "--parts", 2]
    found = cli("tune", *files, *member, "--json").json()
    assert found["tuner"] == "auto"
    assert [entry["member"] for entry in found["committee"]["members"]] == [member[1]]
    start = read_weights(bundled / "weights.initial").weights
    expected = Auto(member=("mert:restarts=0,walks=0",), parts=2).fit(tuning, start, rng=1)
    assert found["weights"] == dict(expected.weights)
    assert found["verdict"] == expected.verdict.to_dict()
    text = cli("tune", *files, *member).out
    assert text.splitlines()[0].startswith("on 40 unseen sentences ")
    assert "committee" in text
    # An option that one tuner alone has names it.
    assert cli("tune", *files, "--restarts", 0, "--walks", 0, "--json").json()["tuner"] == "mert"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--folds", 2, "--hold-out", "20%"], "both hold sentences out; give one of them"),
        (["--fold-column", "LM0"], "goes with folds; give both, as --folds 5"),
        (["--folds", 1], "folds is 1; give 2 or more"),
        (["--folds", 41], "40 sentences cannot be split into 41 folds; give fewer"),
        (["--folds", 2, "--fold-column", "LM0"], "differs within a sentence; give one"),
        (["--folds", 2, "--fold-column", "chapter"], "unknown fold column 'chapter'; "),
        (["--hold-out", "1%"], "1% of 40 sentences leaves nothing; give another"),
        (["--baseline", "LM0"], "--start and --baseline both say where to begin; give one"),
        *(
            (
                ["--hold-out", share],
                f"--hold-out {share} is no share of the sentences; give one, as 20%",
            )
            for share in ("0", "100%", "20", "-20%", "nan", "many", "%", "inf")
        ),
    ],
)
def test_what_is_refused(
    refused: Refused, files: list[object], wrong: list[object], said: str
) -> None:
    arguments = wrong if len(wrong) != 2 else [f"{wrong[0]}={wrong[1]}"]
    assert said in refused("tune", *files, *QUICK, *arguments)


def test_an_unknown_baseline(refused: Refused, files: list[object]) -> None:
    said = refused("tune", *files[:4], *QUICK, "--baseline", "LM")
    assert said.startswith("unknown feature 'LM'; did you mean LM0")


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        (["--folds", 5], "--dev-source"),
        (["--hold-out", "20%"], "--test-source"),
        (["--fold-column", "x"], "--test-source"),
        (["--baseline", "LM0"], "with --start; give"),
    ],
)
def test_a_loop_has_no_folds(refused: Refused, option: list[object], remedy: str) -> None:
    said = refused("tune", "--decoder-command", "true", *option)
    assert option[0] in said
    assert remedy in said


@pytest.mark.parametrize(
    ("text", "share"), [("20%", 0.2), (" 12.5 % ", 0.125), ("0.3", 0.3), (None, 0.0)]
)
def test_shares(text: str | None, share: float) -> None:
    assert share_of(text) == pytest.approx(share)


def test_no_share() -> None:
    with pytest.raises(UsageError):
        share_of("")
