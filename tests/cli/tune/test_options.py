"""``tunesmith tune``: restrictions, smoothing, several runs, scale, features, other metrics."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import Run, bleu, parse_weights

Make = Callable[[str, str | bytes], Path]
Refused = Callable[..., str]
TM = [f"TranslationModel0_{k}" for k in range(1, 5)]
LEX = [f"LexicalReordering0_{k}" for k in range(1, 7)]


@pytest.fixture
def base(bundled: Path) -> list[object]:
    """The bundled lists and a little search."""
    files = ["--candidates", bundled / "tune.nbest.gz", "--references", bundled / "tune.ref"]
    return ["tune", *files, "--start", bundled / "weights.initial", "--restarts", 1, "--walks", 0]


@pytest.fixture
def tune(cli: Run, base: list[object]) -> Callable[..., dict[str, Any]]:
    """Tune with some options, and return the JSON object."""

    def run(*options: object) -> dict[str, Any]:
        return cli(*base, "--json", *options).json()

    return run


@pytest.fixture
def wrong(refused: Refused, base: list[object]) -> Refused:
    """Have some options refused."""

    def run(*options: object) -> str:
        return refused(*base, *options)

    return run


Tune = Callable[..., dict[str, Any]]


def test_restrictions(tune: Tune) -> None:
    options = ["--fix", "LM0=1", "--fix=PhrasePenalty0=0.1", "--bound", "WordPenalty0=:0"]
    options += ["--bound", "Distortion0=0.2:0.4", "--tie", f"{TM[0]}={TM[1]}={TM[2]}"]
    options += ["--scale-together", ",".join(LEX[:3])]
    found = tune(*options)
    weights = found["weights"]
    assert (weights["LM0"], weights["PhrasePenalty0"]) == (1.0, 0.1)
    assert weights["WordPenalty0"] <= 0
    assert 0.2 <= weights["Distortion0"] <= 0.4
    assert weights[TM[0]] == weights[TM[1]] == weights[TM[2]]
    assert weights[LEX[0]] == weights[LEX[1]] == weights[LEX[2]]  # they start equal
    assert found["score"] > found["initial_score"]
    assert "|fix:LM0=1,PhrasePenalty0=0.1|" in found["signature"]


def test_restrictions_in_a_weights_file(cli: Run, base: list[object], tmp_path: Path) -> None:
    out = tmp_path / "weights"
    options = ["--tie", f"{TM[0]}={TM[1]}", "--fix", "LM0=0.3333333333333333", "--out", out]
    assert cli(*base, *options).code == 0
    held = parse_weights(out.read_text())
    assert held[TM[0]] == held[TM[1]]
    assert held["LM0"] == 0.3333333333333333


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fix", "LM0"], "NAME=1"),
        (["--fix", "LMO=1"], "did you mean LM0"),
        (["--fix", "LM0=one"], "'one'"),
        (["--bound", "LM0=3"], "NAME=low:high"),
        (["--bound", "LM0=2:1"], "holds no number"),
        (["--bound", "LM0=0:", "--fix", "LM0=-1"], "fixed at -1 and bound to 0:"),
        (["--tie", "LM0"], "A=B"),
        (["--tie", "LM0=WordPenalty"], "WordPenalty0"),
        (["--scale-together", "LM0"], "A,B"),
        (["--scale-together", "LM0,WordPenalty0", "--fix", "LM0=1"], "and fixed"),
        (["--keep", "LM0", "--fix", "LM0=1"], "nothing is left to tune"),
        (["--smoothing", "median"], "mean"),
        (["--smoothing", "mean", "--window", "0"], "window is 0"),
        (["--window", "few"], "whole number"),
    ],
)
def test_restrictions_that_are_wrong(wrong: Refused, options: list[str], said: str) -> None:
    assert said in wrong(*options)


@pytest.mark.long
def test_smoothing(tune: Tune) -> None:
    plain, mean, worst = (
        tune("--smoothing", kind, *(() if kind == "none" else ("--window", 4)))
        for kind in ("none", "mean", "min")
    )
    assert plain["weights"] != mean["weights"] != worst["weights"]
    assert "smoothed_score" not in plain["history"][1]
    assert mean["history"][1]["smoothed_score"] > worst["history"][1]["smoothed_score"]
    assert all(found["score"] > found["initial_score"] for found in (plain, mean, worst))


@pytest.mark.long
def test_several_runs(tune: Tune, cli: Run, base: list[object], make: Make, bundled: Path) -> None:
    best = tune("--runs", 3)
    scores = [run["score"] for run in best["runs"]]
    assert best["score"] == max(scores)
    assert {entry["run"] for entry in best["history"]} == {0, 1, 2}
    assert tune()["runs"] is None
    references = (bundled / "tune.ref").read_text(encoding="utf-8").split("\n")[:-1]
    for combine in ("average", "median"):
        found = tune("--runs", 3, "--combine", combine)
        assert found["runs"] == best["runs"]
        held = make("held.json", json.dumps(found["weights"]))
        lines = cli("rerank", *base[1:3], "--weights", held).lines()
        assert found["score"] == pytest.approx(bleu(lines, [references]).score, rel=0, abs=1e-9)
    text = cli(*base, "--runs", 2).out
    assert f"runs: {scores[0]:.2f}, {scores[1]:.2f}\n" in text  # a further run changes none


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--runs", "0"], "runs is 0"),
        (["--runs", "x"], "--runs"),
        (["--runs", "2", "--combine", "mean"], "median"),
        (["--normalise", "l3"], "no feature is called 'l3'"),
        (["--normalise", "LM1"], "did you mean LM0"),
        (["--normalise", "l1", "--fix", "LM0=1"], "would break"),
        (["--normalise", "LM0", "--bound", "LM0=0:0.5"], "would break"),
    ],
)
def test_runs_and_scales_that_are_wrong(wrong: Refused, options: list[str], said: str) -> None:
    assert said in wrong(*options)


@pytest.mark.long
@pytest.mark.parametrize("option", ["--normalise", "--normalize"])
def test_normalise(tune: Tune, option: str) -> None:
    plain = tune()
    for how in ("l1", "l2", "LM0", "WordPenalty0"):
        found = tune(option, how)
        size = {
            "l1": sum(map(abs, found["weights"].values())),
            "l2": sum(w * w for w in found["weights"].values()),
        }
        assert size.get(how, abs(found["weights"].get(how, 1))) == pytest.approx(1, rel=1e-14)
        assert found["score"] == plain["score"]
        signs = [w > 0 for w in found["weights"].values()]
        assert signs == [w > 0 for w in plain["weights"].values()]


@pytest.mark.long
def test_dropped_features(cli: Run, base: list[object], tmp_path: Path, bundled: Path) -> None:
    out = tmp_path / "weights"
    dev = ["--dev-candidates", bundled / "test.nbest.gz", "--dev-references", bundled / "test.ref"]
    result = cli(*base, "--json", "--drop", "Lex*", "--drop", "Distortion0", "--out", out, *dev)
    found = result.json()
    told = [line.removeprefix("tunesmith: warning: ") for line in result.err.splitlines()]
    assert [line for line in told if "weights of dropped features are 0" in line] == told[:1]
    assert found["warnings"] == told
    assert {found["weights"][name] for name in (*LEX, "Distortion0")} == {0.0}
    assert found["weights"] == parse_weights(out.read_text())
    kept = cli(*base, "--json", "--keep", "LM0", "--keep", "*Penalty0", "--keep", "T*", *dev).json()
    assert kept["weights"] == found["weights"]
    assert kept["dev"] == found["dev"]
    assert "|drop:Lex*,Distortion0|" in found["signature"]
    labels = {entry["direction"] for entry in found["history"]}
    assert not labels & {*LEX, "Distortion0"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--drop", "LMs"], "did you mean LM0"),
        (["--keep", "LM1"], "did you mean LM0"),
        (["--drop", "*"], "leave no feature"),
    ],
)
def test_patterns_that_are_wrong(wrong: Refused, options: list[str], said: str) -> None:
    assert said in wrong(*options)


@pytest.mark.long
def test_other_metrics(tune: Tune, cli: Run, base: list[object], make: Make, bundled: Path) -> None:
    dev = ["--dev-candidates", bundled / "test.nbest.gz", "--dev-references", bundled / "test.ref"]
    metrics = ["--metric", "bleu", "--metric", "bleu:order=2", "--metric", "ter"]
    found = tune(*metrics, *dev)
    assert found["weights"] == tune()["weights"]
    assert [other["metric"] for other in found["others"]] == ["bleu:order=2", "ter"]
    held = make("held.json", json.dumps(found["weights"]))
    for other in found["others"]:
        for name, weights, scores, key in (
            ("tune", held, other, "score"),
            ("tune", bundled / "weights.initial", other, "initial_score"),
            ("test", held, other["dev"], "score"),
            ("test", bundled / "weights.initial", other["dev"], "initial_score"),
        ):
            files = [bundled / f"{name}.nbest.gz", bundled / f"{name}.ref"]
            arguments = ["--candidates", files[0], "--references", files[1], "--weights", weights]
            same = cli("evaluate", *arguments, "--metric", other["metric"], "--json").json()
            assert scores[key] == pytest.approx(same["score"], rel=0, abs=1e-9)
            assert same["signature"].startswith(other["signature"].split("|")[0])
    text = cli(*base, *metrics).out
    assert "bleu:order=2" in text
    assert "ter" in text


def test_a_column_is_tuned_and_another_metric_shown(cli: Run, make: Make) -> None:
    lines = "".join(
        f"{g} ||| {text} ||| f= {f} g= {h}\n"
        for g, text, f, h in (
            (0, "a b c d", 1, 0),
            (0, "a b c x", 0, 1),
            (1, "k l m n", 1, 0),
            (1, "k l m o", 0, 1),
        )
    )
    lists, refs = make("lists", lines), make("refs", "a b c d\nk l m n\n")
    reward = make("reward", "0\n1\n0\n1\n")
    arguments = ["--candidates", lists, "--references", refs, "--scores", f"reward={reward}"]
    arguments += ["--metric", "column:reward", "--metric", "bleu", "--restarts", 2, "--json"]
    found = cli("tune", *arguments).json()
    assert (found["metric"], found["score"]) == ("column:reward", 1.0)
    assert set(found["weights"]) == {"f", "g"}
    assert found["others"][0]["metric"] == "bleu"
    wanted = bleu(["a b c x", "k l m o"], [["a b c d", "k l m n"]]).score
    assert found["others"][0]["score"] == pytest.approx(wanted, rel=0, abs=1e-9)


def test_other_metrics_that_are_wrong(wrong: Refused) -> None:
    assert "did you mean" in wrong("--metric", "bleu", "--metric", "blue")
    assert "nothing" in wrong("--metric", "bleu", "--metric", "column:nothing")


def test_scores_of_a_held_out_set_that_is_not_there(wrong: Refused) -> None:
    assert "--dev-candidates" in wrong("--dev-scores", "a=b")


def test_help_names_what_an_option_takes(cli: Run) -> None:
    text = cli("tune", "--tuner", "mert", "--help").out
    for part in (
        *("--candidates FILE", "--metric NAME", "--fix NAME=VALUE", "--bound NAME=LOW:HIGH"),
        *("--tie NAME=NAME", "--scale-together NAME,NAME", "--smoothing none|mean|min"),
        *("--keep PATTERN", "--runs INTEGER", "--combine best|average|median"),
    ):
        assert part in text
    assert "<list[str]>" not in text


def test_the_list_shows_options_that_may_be_given_again(cli: Run) -> None:
    found = cli("list", "tuners", "--json").json()
    options = {o["name"]: o for e in found["entries"] if e["name"] == "mert" for o in e["options"]}
    assert options["fix"]["default"] == []
    assert options["smoothing"]["choices"] == ["none", "mean", "min"]
    assert next(iter(options)) == "restarts"
    assert "    fix=: " in cli("list", "tuners").out


def test_a_column_that_is_missing(wrong: Refused) -> None:
    assert "(near: LM0); give it with the candidates or with --scores LM=FILE" in wrong(
        "--metric", "sum(bleu,column:LM)"
    )


def test_options_of_other_tuners_are_told_to_be_theirs(refused: Refused, bundled: Path) -> None:
    files = ["--candidates", bundled / "tune.nbest.gz", "--references", bundled / "tune.ref"]
    for tuner, option, owner in (
        ("pro", "--walks", "the tuner mert"),
        ("mert", "--epsilon", "the tuners arow, mira"),
        ("batch-mira", "--no-scale", "the tuners arow, min-risk, mira, perceptron, sgd"),
    ):
        found = refused("tune", "--tuner", tuner, *files, option, "1")
        assert f"{option} is an option of {owner};" in found
    assert "No such option: --nonsense" in refused("tune", *files, "--nonsense", "1")


def test_weights_that_are_all_0_are_told_of(cli: Run, make: Make) -> None:
    lists = make("one.nbest", "0 ||| a b c d ||| LM0= 1 ||| 0\n1 ||| d e ||| LM0= 2 ||| 0\n")
    files = ["--candidates", lists, "--references", make("one.ref", "a b c d\nd e f\n")]
    found = cli("tune", "--tuner", "batch-mira", *files, "--json")
    assert found.json()["weights"] == {"LM0": 0.0}
    (told,) = found.json()["warnings"]
    assert told.startswith("all weights are 0: ")
    assert told in found.err
    # The start is left as it is where nothing can be learnt.
    kept = cli("tune", "--tuner", "batch-mira", *files, "--start", make("w", "LM0= 1\n"), "--json")
    assert kept.json()["weights"] == {"LM0": 1.0}
    assert kept.json()["warnings"] == []
