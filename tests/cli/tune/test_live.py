"""``tunesmith tune --decoder`` with a decoder that gives forests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run
from tests.helpers.cli.loop_task import essence
from tests.helpers.loop.forest_toy import ForestToy
from tests.helpers.loop.toy import sentences
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.loop import Loop
from tunesmith.metrics.scored_forests import ForestOptions
from tunesmith.tuners.mert.mert import MERT
from tunesmith.tuners.online.mira import MIRA

Refused = Callable[..., str]

#: A decoder whose model is how far from the best it still looks.
OWN = """\
from dataclasses import dataclass
from tests.helpers.loop.forest_toy import ForestToy
from tunesmith.registry import option

@dataclass(frozen=True)
class Own(ForestToy):
    '''Ours.'''
    model: str = option("0.12", "how far", "NUMBER")

    def __post_init__(self):
        object.__setattr__(self, "beam", float(self.model))

@dataclass(frozen=True)
class Plain(Own):
    '''Lists alone.'''
    gives_forests = False
"""
SETS = {"": sentences(10, 1), "dev-": sentences(6, 2), "test-": sentences(5, 3)}


@pytest.fixture
def arguments(tmp_path: Path) -> Callable[..., list[str]]:
    (tmp_path / "own.py").write_text(OWN)
    found = ["tune"]
    for which, both in SETS.items():
        for what, lines in zip(("source", "references"), both, strict=True):
            path = tmp_path / f"{which}{what}"
            path.write_text("".join(f"{line}\n" for line in lines))
            found += [f"--{which}{what}", str(path)]

    def make(*more: object, decoder: str = "Own") -> list[str]:
        return [*found, "--decoder", f"{tmp_path / 'own.py'}:{decoder}", *map(str, more)]

    return make


def by_python(tuner, options=None, **about):
    tune, dev, test = (Inputs.of(*both) for both in SETS.values())
    found = Loop(**about).run(
        ForestToy(beam=0.12), tuner, tune, dev=dev, test=test, forest_options=options
    )
    return essence(json.loads(json.dumps(found.to_dict())))


def same(found: dict, wanted: dict) -> None:
    """Compare results; decoders have other names."""
    keys = {*found} & {*wanted} - {"signature"}
    assert {key: found[key] for key in keys} == {key: wanted[key] for key in keys}


@pytest.mark.long
def test_an_online_tuner_decodes_each_sentence_as_it_comes_to_it(cli: Run, arguments) -> None:
    found = cli(*arguments("--tuner", "mira", "--epochs", 2, "--json", "--quiet")).json()
    same(essence(found), by_python(MIRA(epochs=2)))
    assert [one["round"] for one in found["rounds"]] == [0, 1, 2]
    for one in found["rounds"]:
        assert None not in (one["score"], one["dev_score"], one["test_score"])
    assert "|live|" in found["signature"]


def test_the_table_has_a_row_for_each_epoch(cli: Run, arguments) -> None:
    lines = cli(*arguments("--tuner", "mira", "--epochs", 2, "--quiet")).lines()
    head = next(line for line in lines if "round" in line and "tune" in line)
    assert [word for word in head.split() if word.isalpha()] == [
        *("round", "tune", "dev", "test", "seconds")
    ]
    assert "it ended: the limit of rounds" in "\n".join(lines)


@pytest.mark.long
def test_a_batch_tuner_tunes_on_forests(cli: Run, arguments) -> None:
    quick = ("--restarts", 1, "--walks", 0, "--rounds", 2, "--json", "--quiet")
    found = cli(*arguments(*quick)).json()
    same(essence(found), by_python(MERT(restarts=1, walks=0), rounds=2))
    assert "|forests:" in found["signature"]
    lists = cli(*arguments(*quick, "--tune-on", "lists")).json()
    same(essence(lists), by_python(MERT(restarts=1, walks=0), rounds=2, tune_on="lists"))
    assert "|forests:" not in lists["signature"]


def test_how_forests_are_searched(cli: Run, arguments) -> None:
    search = ("--forest-search", "kbest", "--list-size", 3, "--memory", "1GiB")
    found = cli(*arguments("--tuner", "mira", "--epochs", 1, *search, "--json", "--quiet")).json()
    same(essence(found), by_python(MIRA(epochs=1), ForestOptions("kbest", 3)))
    assert "forests:kbest|kbest:3" in found["signature"]


@pytest.mark.long
def test_a_model_has_a_short_option(cli: Run, arguments) -> None:
    about = ("--tuner", "mira", "--epochs", 1, "--json", "--quiet")
    usual = cli(*arguments(*about)).json()
    assert essence(cli(*arguments(*about, "--model", "0.12")).json()) == essence(usual)
    other = cli(*arguments(*about, "--model", "0")).json()
    assert essence(other)["rounds"] != essence(usual)["rounds"]
    shown = cli(*arguments("--model", "9", "--help")).out
    assert "--model NUMBER" in shown
    assert "--decoder-model" not in shown


@pytest.mark.long
def test_taken_up_again(cli: Run, arguments, tmp_path: Path) -> None:
    run = tmp_path / "run"
    about = ("--tuner", "mira", "--work-dir", run, "--json")
    cli(*arguments(*about, "--epochs", 1)).json()
    found = cli(*arguments(*about, "--epochs", 2))
    assert f"going on after round 1 of {run}" in found.err
    same(essence(found.json()), by_python(MIRA(epochs=2)))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--tuner", "mert", "--tune-on", "live"], "mert learns from whole sets"),
        (["--tuner", "lp-mert", "--tune-on", "forests"], "lp-mert works on lists"),
        (["--tuner", "mira", "--rounds", "3"], "rounds does not go with live tuning; give"),
        (["--tuner", "mira", "--tune-on", "live", "--pick", "dev"], "--final chooses"),
        (["--tune-on", "trees"], "tune-on"),
        (["--metric", "column:x", "--tune-on", "forests"], "forests have no scores 'x'"),
        (["--tune-on", "lists", "--list-size", "7"], "lists are tuned on; drop them"),
        (["--forest-search", "none"], "forest search"),
        (["--forests", "x"], "a decoder makes forests itself"),
        (["--prune", "beam:3"], "a decoder prunes by itself"),
        (["--memory", "much"], "much"),
    ],
)
def test_wrong_combinations(refused: Refused, arguments, more: list[str], problem: str) -> None:
    assert problem in refused(*arguments(*more))


def test_a_decoder_without_forests(cli: Run, refused: Refused, arguments) -> None:
    said = refused(*arguments("--tune-on", "forests", decoder="Plain"))
    assert "gives no forests; leave out --tune-on" in said
    said = refused(*arguments("--forest-search", "linear", decoder="Plain"))
    assert "lists are tuned on" in said
    quick = ("--tuner", "mira", "--epochs", 1, "--rounds", 1, "--quiet", "--json")
    assert "live" not in cli(*arguments(*quick, decoder="Plain")).json()["signature"]


def test_a_model_without_a_decoder(refused: Refused, lists: Path) -> None:
    said = refused("tune", "--candidates", lists, "--model", "x")
    assert said == "--model is for tuning with a decoder; give --decoder NAME"
    said = refused("tune", "--decoder", "pool", "--decoder-candidates", lists, "--model", "x")
    assert said == "the decoder 'pool' has no option --model; leave it out"


@pytest.mark.parametrize("name", ["source", "references", "dev-source", "test-references"])
def test_output_is_read_too(
    refused: Refused, arguments: Callable[..., list[str]], tmp_path: Path, name: str
) -> None:
    said = refused(*arguments("--out", tmp_path / name))
    assert said == f"--out {tmp_path / name} is read too, and would be lost; name another one"
