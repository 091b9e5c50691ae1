"""From parallel text to a model: what is in the folder, and the rules as text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tunesmith.errors import TunesmithError
from tunesmith.hiero.grammar.grammar import Grammar, Nonterminal, Rule
from tunesmith.hiero.grammar.text import read_grammar
from tunesmith.hiero.lm.language_model import LanguageModel
from tunesmith.hiero.model import HieroModel
from tunesmith.hiero.training.rules.arrays import NAMES
from tunesmith.hiero.training.rules.extract import Extraction
from tunesmith.hiero.training.rules.table import RuleTable
from tunesmith.hiero.training.train import Recipe, train

SOURCE = "das haus\ndas alte haus\n\ndas buch ||| [X]\n"
TARGET = "the house\nthe old house\nextra\nthe book ||| [X]\n"
LINKS = "0-0 1-1\n0-0 1-1 2-2\n\n0-0 1-1 2-2 3-3\n"

pytestmark = pytest.mark.filterwarnings("ignore:the text is too small:UserWarning")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    for name, content in (("source", SOURCE), ("target", TARGET), ("links", LINKS)):
        (tmp_path / name).write_text(content)
    return tmp_path / "source", tmp_path / "target", tmp_path / "links"


def key(rule: Rule) -> tuple[object, ...]:
    return rule.head, rule.source, rule.target, rule.links


def test_a_model(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    source, target, links = files
    out = tmp_path / "below" / "model"
    found = train(source, target, out, Recipe(order=3), alignment=links, as_text=True)
    assert (found.pairs, found.empty, found.long, found.links) == (3, 1, 0, 9)
    assert sum(p.stat().st_size for p in out.rglob("*")) > found.size > 0
    assert sorted(p.name for p in out.iterdir()) == [
        "grammar",
        "grammar.gz",
        "lm",
        "lm.arpa.gz",
        "model.json",
        "weights.json",
        "words",
    ]
    model = HieroModel.load(out)
    rules = {key(rule): rule for rule in model.grammar.rules()}
    one = Nonterminal("X")
    das = rules["X", ("das", one), ("the", 1), ((0, 0),)]
    assert das.features.get("TargetGivenSource", 0.0) == 0.0  # it is always "the"
    assert ("X", ("haus",), ("house",), ((0, 0),)) in rules
    assert ("S", (Nonterminal("S"), one), (1, 2), ()) in rules  # glue
    assert sum(found.rules) + 2 == len(model.grammar)
    for k, number in enumerate(found.rules):
        own = [
            r
            for r in rules.values()
            if r.head == "X"
            and len(r.source) - len([s for s in r.source if isinstance(s, str)]) == k
        ]
        assert len(own) == number
    assert model.language_model.order == 3
    assert [file.path for file in model.files] == [str(source), str(target), str(links)]
    assert model.made["pairs"] == 3


def test_weights_are_of_all_features(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    source, target, links = files
    train(source, target, tmp_path / "model", Recipe(order=2), alignment=links)
    model = HieroModel.load(tmp_path / "model")
    assert set(model.grammar.names) <= set(model.start)
    assert {"LanguageModel", "WordPenalty", "PassThrough", "RuleCount"} <= set(model.start)
    assert json.loads((tmp_path / "model" / "model.json").read_text())["features"] == list(
        model.start
    )


def test_the_text_form(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    source, target, links = files
    found = train(source, target, tmp_path / "m", Recipe(order=2), alignment=links, as_text=True)
    whole = [r for r in HieroModel.load(tmp_path / "m").grammar.rules() if r.head == "X"]
    special = {"|||", "[X]"}
    fine = [r for r in whole if not special & {*r.source, *r.target}]
    assert found.left_out == len(whole) - len(fine) > 0
    read = read_grammar(tmp_path / "m" / "grammar.gz")
    assert list(read.rules()) == fine  # the same bits, in the same order
    assert read.names == NAMES
    lines = gzip.decompress((tmp_path / "m" / "grammar.gz").read_bytes()).decode().splitlines()
    assert any(line.startswith("[X] ||| das [X,1] ||| the [X,1] ||| ") for line in lines)


def test_rules_without_a_filter_have_the_same_scores(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    source, target, links = files
    (tmp_path / "test").write_text("ein altes haus\n")
    train(source, target, tmp_path / "all", Recipe(order=2), alignment=links)
    train(
        source,
        target,
        tmp_path / "some",
        Recipe(order=2),
        alignment=links,
        filters=[tmp_path / "test"],
    )
    whole, some = (
        {repr(key(r)): r for r in Grammar.load(tmp_path / name / "grammar").rules()}
        for name in ("all", "some")
    )
    assert 0 < len(some) < len(whole)
    assert all(whole[k] == rule for k, rule in some.items())
    words = {s for r in some.values() for s in r.source if isinstance(s, str)}
    assert words == {"haus"}


def test_a_filter_with_markup(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """Its words are those that a decoder sees."""
    source, target, links = files
    source.write_text('das haus\n<seg id="1">alte haus</seg>\n\ndas buch x x\n')
    (tmp_path / "plain").write_text("ein altes haus\nkein buch\n")
    (tmp_path / "marked").write_text(
        '<seg id="1" grammar="das.gz">ein altes haus</seg>\n<seg id="2">kein buch</seg>'
    )
    for name in ("plain", "marked"):
        train(
            source,
            target,
            tmp_path / f"{name}.model",
            Recipe(order=2),
            alignment=links,
            filters=[tmp_path / name],
        )
    plain, marked = (
        list(Grammar.load(tmp_path / f"{name}.model" / "grammar").rules())
        for name in ("plain", "marked")
    )
    assert marked == plain
    assert {"haus", "buch"} == {s for r in plain for s in r.source if isinstance(s, str)}


def test_languages_that_are_exchanged(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    source, target, links = files
    (tmp_path / "test").write_text("das alte haus\n")

    def run(first: Path, second: Path) -> None:
        train(
            first,
            second,
            tmp_path / "m",
            Recipe(order=2),
            alignment=links,
            filters=[tmp_path / "test"],
        )

    run(source, target)  # a warning would be an error
    with (
        pytest.warns(UserWarning, match="of 3 words .* 0 are in the source side and 3 in"),
        pytest.raises(TunesmithError, match="no rule is left"),
    ):
        run(target, source)


def test_a_language_model_that_is_given(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    source, target, links = files
    train(source, target, tmp_path / "one", Recipe(order=2), alignment=links)
    arpa = tmp_path / "one" / "lm.arpa.gz"
    train(source, target, tmp_path / "two", alignment=links, lm=arpa)
    assert not (tmp_path / "two" / "lm.arpa.gz").exists()
    recipe = HieroModel.load(tmp_path / "two").made["recipe"]
    assert recipe["order"] == 2
    assert {recipe[name] for name in ("aligner", "iterations", "symmetrise")} == {None}
    text = ["the old house", "a house"]
    own, other = (LanguageModel.read(tmp_path / name / "lm") for name in ("one", "two"))
    assert own.perplexity(text) == other.perplexity(text)
    assert own.files[0].path == "lm.arpa.gz"


def test_more_text_for_the_language_model(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    source, target, links = files
    (tmp_path / "more").write_text("a castle\n")
    train(
        source,
        target,
        tmp_path / "m",
        Recipe(order=2),
        alignment=links,
        lm_texts=[tmp_path / "more"],
    )
    model = LanguageModel.read(tmp_path / "m" / "lm")
    assert [s.unknown for s in model.score(["castle", "cottage"], eos=False)] == [False, True]
    assert str(tmp_path / "more") in [f.path for f in HieroModel.load(tmp_path / "m").files]


def test_nothing_is_left_of_a_failure(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    source, target, links = files
    (tmp_path / "arpa").write_text("no language model\n")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(TunesmithError, match="arpa"):
        train(source, target, tmp_path / "m", alignment=links, lm=tmp_path / "arpa")
    assert sorted(tmp_path.iterdir()) == before


def test_options_reach_the_extraction(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    source, target, links = files
    rules = RuleTable(Extraction(max_nonterminals=0), span_limit=7)
    found = train(source, target, tmp_path / "m", Recipe(rules=rules, order=2), alignment=links)
    assert found.rules[1:] == (0, 0)
    assert HieroModel.load(tmp_path / "m").grammar.arrays.limits.tolist() == [7, -1]
