"""``tunesmith certify`` and ``tunesmith tune --tuner lp-mert``."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run
from tunesmith.search.exact import certificate as clock

Refused = Callable[..., str]
KEYS = {"best", "bound", "gap", "optimal", "tested", "total", "seconds"}


@pytest.fixture
def data(lists: Path, refs: Path) -> list[object]:
    return ["--candidates", lists, "--references", refs]


@pytest.fixture
def real(bundled: Path) -> list[object]:
    return ["--candidates", bundled / "tune.nbest.gz", "--references", bundled / "tune.ref"]


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a clock that does not depend on what else the machine does."""
    ticks = itertools.count(clock.working_seconds(), 0.1)
    monkeypatch.setattr(clock, "working_seconds", ticks.__next__)


@pytest.fixture
def bad(make: Callable[..., Path]) -> Path:
    """Weights that choose the wrong candidate twice."""
    return make("bad.json", '{"f": 1.0, "g": -1.0}')


def test_weights_that_are_the_best(cli: Run, data: list[object], weights: Path) -> None:
    found = cli("certify", *data, "--weights", weights, "--json").json()
    assert found["schema"] == "tunesmith.certify/1"
    assert {*found} >= {"signature", "metric", "score", "certificate", "found", "seed", "data"}
    assert (found["metric"], found["score"], found["seed"]) == ("sentence-bleu", 100.0, 1)
    proof = found["certificate"]
    assert {*proof} == KEYS
    assert (proof["best"], proof["bound"], proof["gap"]) == (100.0, 100.0, 0.0)
    assert (proof["optimal"], proof["total"]) == (True, 4)
    assert len(found["data"]) == 2
    assert all(len(file["sha256"]) == 64 for file in found["data"])


def test_weights_that_are_not(cli: Run, data: list[object], bad: Path, tmp_path: Path) -> None:
    found = cli("certify", *data, "--weights", bad, "--metric", "wer", "--json").json()
    # By hand: 2 of 5 and 2 of 4 words are wrong.
    proof = found["certificate"]
    assert found["score"] == proof["best"] == pytest.approx(100 * 4 / 9)
    assert (proof["bound"], proof["gap"]) == (0.0, proof["best"])
    assert proof["optimal"] is False
    assert found["found"]["score"] == 0.0
    # What was found is as good as it says.
    better = tmp_path / "better.json"
    better.write_text(json.dumps(found["found"]["weights"]), encoding="utf-8")
    again = cli("certify", *data, "--weights", better, "--metric", "wer", "--json").json()
    assert again["certificate"]["optimal"] is True
    assert again["score"] == 0.0


def test_table(cli: Run, data: list[object], weights: Path, bad: Path) -> None:
    found = cli("certify", *data, "--weights", weights)
    assert found.code == 0
    for part in ("sentence-bleu", "these weights", "best found", "100.00", "gap"):
        assert part in found.out
    assert "proven: no weights do better" in found.out
    found = cli("certify", *data, "--weights", bad, "--metric", "wer", "--quiet")
    assert (found.code, found.err) == (0, "")
    assert "no weights do better than 0.0000: the gap is 44.44" in found.out.replace("\n", " ")
    assert "the best weights found reach the bound" in found.out


def test_standard_input(cli: Run, data: list[object], lists: Path, weights: Path) -> None:
    expected = cli("certify", *data, "--weights", weights, "--json").json()
    options = ["certify", "--references", data[3], "--json"]
    piped = cli(*options, "--candidates", "-", "--weights", weights, stdin=lists.read_bytes())
    held = cli("certify", *data, "--weights", "-", "--json", stdin=weights.read_bytes())
    for other in (piped.json(), held.json()):
        for key in ("score", "found", "metric", "signature"):
            assert other[key] == expected[key]


@pytest.mark.long
@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("metric", ["sentence-bleu", "ter"])
def test_real_lists(cli: Run, real: list[object], bundled: Path, metric: str) -> None:
    options = ["--weights", bundled / "weights.final", "--metric", metric, "--time-limit", "30"]
    found = cli("certify", *real, *options, "--json").json()
    proof = found["certificate"]
    sign = 1.0 if metric == "sentence-bleu" else -1.0
    assert sign * proof["best"] <= sign * found["found"]["score"] <= sign * proof["bound"]
    assert proof["gap"] == pytest.approx(abs(proof["bound"] - proof["best"]))
    assert proof["gap"] > 0.0
    assert isinstance(proof["total"], str)
    evaluated = cli("evaluate", *real, "--weights", options[1], "--metric", metric, "--json").json()
    assert found["score"] == pytest.approx(evaluated["score"], abs=1e-9)
    assert sign * proof["bound"] < sign * evaluated["oracle_score"]


def test_columns(cli: Run, lists: Path, weights: Path, make: Callable[..., Path]) -> None:
    scores = make("scores", "1\n3\n0\n2.5\n")
    options = ["--candidates", lists, "--scores", f"x={scores}", "--weights", weights, "--json"]
    found = cli("certify", *options, "--metric", "column:x").json()
    assert (found["score"], found["certificate"]["bound"]) == (0.5, 2.75)
    found = cli("certify", *options, "--metric", "cost:x").json()
    assert (found["score"], found["certificate"]["bound"]) == (0.5, 0.5)
    assert found["certificate"]["optimal"] is True


def test_names(cli: Run, refused: Refused, data: list[object], make: Callable[..., Path]) -> None:
    more = make("more.json", '{"f": -1.0, "g": 1.0, "h": 3.0}')
    found = cli("certify", *data, "--weights", more, "--json")
    assert found.err.count("\n") == 1
    assert "h" in found.err
    assert found.json()["found"]["weights"]["h"] == 3.0
    assert "h" in refused("certify", *data, "--weights", more, "--strict", file=more)
    other = make("other.json", '{"h": 3.0}')
    assert "h" in refused("certify", *data, "--weights", other, file=other)


def test_refuses(refused: Refused, data: list[object], weights: Path, tmp_path: Path) -> None:
    options = ["certify", *data, "--weights", weights]
    missing = ["certify", "--candidates", tmp_path / "none", "--weights", weights]
    for metric in ("bleu", "chrf"):  # before anything is read
        said = refused(*missing, "--metric", metric)
        assert f"{metric} is not; use --metric sentence-bleu" in said
    for limit in ("0", "-3", "nan"):
        said = refused(*missing, "--time-limit", limit)
        assert said.startswith("time_limit is ")
        assert said.endswith("give seconds above 0")
    assert "'--time-limit'" in refused(*missing, "--time-limit", "soon")
    assert "tolerance is 1; give 1e-9 to 0.1" in refused(*missing, "--tolerance", "1")
    assert "seed" in refused(*missing, "--seed", "-1")
    assert "unknown metric 'blue'" in refused(*missing, "--metric", "blue")
    assert "none" in refused(*missing)
    refused(*options[:-1], tmp_path / "nothing")
    assert "column 'x'" in refused(*options, "--metric", "column:x")
    assert "standard input" in refused("certify", "--candidates", "-", "--weights", "-")
    assert "--weights" in refused("certify", *data)
    assert "--candidates" in refused("certify", "--weights", weights)


def test_refuses_rates_that_are_no_sum(
    refused: Refused, lists: Path, weights: Path, refs: Path, make: Callable[..., Path]
) -> None:
    others = make("others", "a b x d\nk l m x o\n")
    several = ["--candidates", lists, "--references", refs, "--references", others]
    said = refused("certify", *several, "--weights", weights, "--metric", "wer")
    assert "give one reference" in said
    said = refused("tune", *several, "--tuner", "lp-mert", "--metric", "wer")
    assert "give one reference" in said


def test_tune(cli: Run, data: list[object], tmp_path: Path) -> None:
    options = ["tune", *data, "--tuner", "lp-mert", "--metric", "sentence-bleu"]
    out = tmp_path / "w.json"
    found = cli(*options, "--out", out, "--json").json()
    assert found["score"] == 100.0
    assert {*found["certificate"]} == KEYS
    assert found["certificate"]["optimal"] is True
    assert all({"step", "score", "bound", "tested"} <= {*entry} for entry in found["history"])
    assert json.loads(out.read_text(encoding="utf-8"))["certificate"] == found["certificate"]
    assert cli("certify", *data, "--weights", out, "--json").json()["certificate"]["optimal"]
    assert "proven: no weights do better" in cli(*options).out


@pytest.mark.long
@pytest.mark.usefixtures("ticking")
def test_tune_within_a_time(cli: Run, real: list[object]) -> None:
    options = ["tune", *real, "--tuner", "lp-mert", "--metric", "wer", "--time-limit", "9"]
    found = cli(*options, "--json").json()
    proof = found["certificate"]
    assert proof["best"] == found["score"] <= found["initial_score"]
    assert found["oracle_score"] <= proof["bound"] < proof["best"]


def test_tune_refuses(refused: Refused, real: list[object]) -> None:
    tune = ["tune", *real, "--tuner", "lp-mert"]
    assert "bleu is not; use --metric sentence-bleu" in refused(*tune)
    said = refused(*tune, "--metric", "sentence-bleu")
    assert "200 groups may take forever; set --time-limit" in said
    for option, value in (("time-limit", "0"), ("memory-limit", "-1")):
        assert "give a number above 0" in refused(*tune, f"--{option}", value)
    assert "give 1 or more" in refused(*tune, "--test-limit", "0")
    assert "cosine is 2" in refused(*tune, "--cosine", "2")
    assert "tolerance is 5" in refused(*tune, "--tolerance", "5")
    assert "did you mean beam" in refused(*tune, "--search", "bean")


def test_help(cli: Run) -> None:
    shown = cli("certify", "--help")
    assert shown.code == 0
    for option in ("--candidates", "--weights", "--metric", "--time-limit", "--tolerance"):
        assert option in shown.out
    assert "certify" in cli("--help").out
    shown = cli("tune", "--tuner", "lp-mert", "--help").out
    for option in ("--search", "--time-limit", "--test-limit", "--memory-limit", "--cosine"):
        assert option in shown


def test_regions(cli: Run, data: list[object], bad: Path) -> None:
    options = ["certify", *data, "--weights", bad, "--metric", "wer", "--json"]
    near = cli(*options, "--within", "5deg").json()["certificate"]
    assert near["within"] == "5 degrees of these weights"
    assert (near["gap"], near["optimal"]) == (0.0, True)
    same = cli(*options, "--cosine", "0.99619469809").json()["certificate"]
    assert same["bound"] == near["bound"]
    box = cli(*options, "--box", "20%").json()["certificate"]
    assert (box["within"], box["optimal"]) == ("20 % of these weights", True)
    held = cli(*options, "--fix", "f=1", "--bound", "g=:0").json()["certificate"]
    assert held["within"] == "the restrictions on weights"
    shown = cli(*options[:-1], "--curve")
    assert "by the angle to these weights" in shown.out
    assert "no weights within 12 degrees of these weights do better" in shown.out.replace("\n", " ")
    curve = cli(*options, "--within", "2,60,88deg").json()["curve"]
    assert [point["degrees"] for point in curve] == [2.0, 60.0, 88.0]
    bounds = [point["bound"] for point in curve]
    assert bounds == sorted(bounds, reverse=True)


def test_better_weights_are_written(
    cli: Run, data: list[object], bad: Path, tmp_path: Path
) -> None:
    options = ["certify", *data, "--weights", bad, "--metric", "wer"]
    for name in ("better.json", "better.txt"):
        found = cli(*options, "--out", tmp_path / name, "--json").json()
        again = cli("certify", *data, "--weights", tmp_path / name, "--metric", "wer", "--json")
        assert again.json()["score"] == found["found"]["score"] == 0.0


def test_a_picture_of_bounds(cli: Run, data: list[object], bad: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    options = ["certify", *data, "--weights", bad, "--metric", "wer"]
    picture = tmp_path / "bounds.svg"
    assert cli(*options, "--curve", "--plot", picture).code == 0
    text = picture.read_text(encoding="utf-8")
    assert text.count("<svg") == 1
    found = cli(*options, "--curve", "--json").json()
    assert found["weights"] == json.loads(bad.read_text(encoding="utf-8"))


def test_refuses_regions(refused: Refused, data: list[object], bad: Path, tmp_path: Path) -> None:
    options = ["certify", *data, "--weights", bad]
    assert "drop all but one" in refused(*options, "--within", "5", "--curve")
    assert "give one of them" in refused(*options, "--within", "5", "--box", "20%")
    assert "give one of them" in refused(*options, "--box", "20%", "--fix", "f=1")
    assert "less than 90" in refused(*options, "--within", "95deg")
    assert "give degrees" in refused(*options, "--within", "near")
    assert "cosine is 1" in refused(*options, "--cosine", "1")
    for share in ("0", "120%", "-3", "nan"):
        assert "box is" in refused(*options, "--box", share)
    assert "give a share" in refused(*options, "--box", "some")
    assert "f does not satisfy" in refused(*options, "--fix", "f=2")
    assert "no feature is called 'x'" in refused(*options, "--tie", "x=f")
    assert "give --curve" in refused(*options, "--plot", tmp_path / "a.png")
    assert "the ending is none of" in refused(*options, "--curve", "--plot", tmp_path / "a.txt")
    assert "is read too" in refused(*options, "--out", bad)
    assert "memory-limit" in refused(*options, "--memory-limit", "0")


def test_one_metric(cli: Run, data: list[object], weights: Path) -> None:
    options = ["--weights", weights, "--metric", "ter", "--metric", "wer"]
    found = cli("certify", *data, *options)
    assert found.code == 2
    assert "give --metric once" in found.err
