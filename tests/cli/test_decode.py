"""``tunesmith decode``: translations, lists, forests, and what it refuses."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run, by_group, model_score, parse_moses
from tests.helpers.hiero.kenlm_files import binary_of
from tests.helpers.hiero.model_files import (
    MODEL,
    OTHER,
    RULES,
    SENTENCES,
    WEIGHTS,
    best_by_text,
    candidates,
    text_of,
    written,
)
from tunesmith.data.weights import Weights
from tunesmith.inference.forests.lists import outputs
from tunesmith.io.forests.read import read_forests

Make = Callable[[str, str | bytes], Path]
Refused = Callable[..., str]

HELD = Weights.from_dict(WEIGHTS)
#: Sentences that a list of cdec's has a place for.
PLAIN = [text for text in SENTENCES if "|||" not in text]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return written(tmp_path)


@pytest.fixture
def parts(files: dict[str, Path]) -> list[str]:
    """The options that name grammar, language model and weights."""
    found = []
    for name in ("grammar", "lm", "weights"):
        found += [f"--{name}", str(files[name])]
    return found


@pytest.fixture
def plain(make: Make) -> Path:
    return make("plain", "".join(f"{text}\n" for text in PLAIN))


# Texts


def best(sentence: str, **changes: float) -> str:
    return candidates(sentence, {**WEIGHTS, **changes})[0].text


@pytest.mark.long
def test_the_best_translations(cli: Run, parts: list[str], files: dict[str, Path]) -> None:
    found = cli("decode", *parts, "--input", files["input"], "--pop-limit", 0)
    assert found.lines() == [best(text) for text in SENTENCES]
    assert found.err == ""


def test_standard_input(cli: Run, parts: list[str], files: dict[str, Path]) -> None:
    wanted = cli("decode", *parts, "--input", files["input"]).out
    found = cli("decode", *parts, "--input", "-", stdin=files["input"].read_bytes())
    assert found.out == wanted
    packed = gzip.compress(files["input"].read_bytes())
    assert cli("decode", *parts, "--input", "-", stdin=packed).out == wanted


def test_a_file(cli: Run, parts: list[str], files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = cli("decode", *parts, "--input", files["input"], "--out", out)
    assert (found.code, found.out) == (0, "")
    assert out.read_text() == cli("decode", *parts, "--input", files["input"]).out


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("has_last", [True, False])
def test_line_ends(cli: Run, parts: list[str], make: Make, ends: str, has_last: bool) -> None:
    text = ends.join(["das", "", "haus"]) + (ends if has_last else "")
    assert cli("decode", *parts, "--input", make("i", text)).lines() == ["the", "", "house"]


def test_blocks_do_not_show(
    cli: Run, parts: list[str], plain: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = [["--nbest", 5], ["--nbest", 5, "--to", "jsonl"], []]
    whole = [cli("decode", *parts, "--input", plain, *options).out for options in asked]
    cli("decode", *parts, "--input", plain, "--forest", tmp_path / "one.arrow")
    monkeypatch.setattr("tunesmith.decoders.base.BLOCK", 2)
    assert [cli("decode", *parts, "--input", plain, *options).out for options in asked] == whole
    cli("decode", *parts, "--input", plain, "--forest", tmp_path / "two.arrow")
    one, two = (read_forests(tmp_path / f"{name}.arrow").in_memory() for name in ("one", "two"))
    assert one.vocabulary == two.vocabulary
    assert all((a == b).all() for a, b in zip(one.arrays, two.arrays, strict=True))
    assert one.sources == two.sources == tuple(PLAIN)


def test_threads(cli: Run, parts: list[str], plain: Path) -> None:
    one, two = (
        cli("decode", *parts, "--input", plain, "--nbest", 9, "--threads", n).out for n in (1, 2)
    )
    assert one == two


def test_a_long_sentence(cli: Run, parts: list[str], make: Make) -> None:
    text = " ".join(["das", "haus", "neu", "klein"] * 125)
    options = ("--pop-limit", 5, "--input", make("long", f"{text}\n"))
    (line,) = cli("decode", *parts, *options).lines()
    assert line.split().count("neu") == 125


def test_words_that_mean_something_elsewhere(cli: Run, parts: list[str], make: Make) -> None:
    lines = ["||| [X] [X,1] [1] <s> </s> <unk> =", "\u00a0 \u2028", "haus <seg>", "[S] ||| [X]"]
    found = cli("decode", *parts, "--input", make("i", "".join(f"{x}\n" for x in lines)))
    # White space of all kinds is no word; a <seg> that no line begins with is a word.
    assert found.lines() == [lines[0], "", "house <seg>", lines[3]]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("((('das',1.0,1),('ein',0.5,1),),(('haus',1.0,1),),)", "a lattice (PLF)"),
        ("((('das', 1.0, 1),), (('haus', 1.0, 1),))", "a lattice (PLF)"),
        ('das <np translation="the house" prob="0.8">haus</np>', "markup"),
        ("<zone> das haus </zone>", "markup"),
        ("das <wall/> haus <n translation='x'/>", "markup"),
        ("<s> das haus </s>", "between <s> and </s>"),
        ('<seg id="3"> <s> das haus </s> </seg>', "between <s> and </s>"),
    ],
)
def test_what_is_more_than_words_is_refused(
    refused: Refused, parts: list[str], make: Make, line: str, told: str
) -> None:
    text = make("i", f"{line}\n")
    assert told in refused("decode", *parts, "--input", text, file=text, line=1)


# Lists


def test_lists_are_all_derivations(cli: Run, parts: list[str], plain: Path) -> None:
    options = ("--pop-limit", 0, "--nbest", 100_000, "--no-unique")
    lines = cli("decode", *parts, "--input", plain, *options).lines()
    groups = by_group(parse_moses(lines))
    assert list(groups) == list(range(len(PLAIN)))
    for name, text in enumerate(PLAIN):
        assert len(groups[name]) == len(candidates(text))

    def key(text: str, features: dict[str, float]) -> tuple[object, ...]:
        return text, *sorted((k, round(v, 3)) for k, v in features.items() if round(v, 3))

    for name, text in enumerate(PLAIN):
        own = sorted(key(c.text, c.features) for c in groups[name])
        assert own == sorted(key(c.text, c.features) for c in candidates(text))
    for line, one in zip(lines, parse_moses(lines), strict=True):
        assert float(line.split(" ||| ")[3]) == pytest.approx(model_score(one, WEIGHTS), abs=1e-9)


def test_lists_have_each_text_once(cli: Run, parts: list[str], plain: Path) -> None:
    options = ("--pop-limit", 0, "--nbest", 10)
    lines = cli("decode", *parts, "--input", plain, *options).lines()
    assert cli("decode", *parts, "--input", plain, *options, "--unique").lines() == lines
    for name, group in by_group(parse_moses(lines)).items():
        scores = [model_score(c, WEIGHTS) for c in group]
        assert scores == sorted(scores, reverse=True)
        wanted = sorted(best_by_text(candidates(PLAIN[name])).values(), reverse=True)[:10]
        assert scores == pytest.approx(wanted, abs=1e-5)
        assert len({c.text for c in group}) == len(group)


def test_the_form_of_a_line(cli: Run, parts: list[str], make: Make) -> None:
    (line,) = cli("decode", *parts, "--input", make("i", "haus\n"), "--nbest", 1).lines()
    name, text, features, score = line.split(" ||| ")
    assert (name, text) == ("0", "house")
    values = dict(part.split("=") for part in features.split())
    assert values["PhraseModel_0"] == "0.5"
    assert set(values) == set(WEIGHTS)
    assert float(score) == pytest.approx(candidates("haus")[0].score, abs=1e-5)


def test_formats_of_lists(cli: Run, parts: list[str], plain: Path, tmp_path: Path) -> None:
    options = ("decode", *parts, "--input", plain, "--nbest", 4)
    cli(*options, "--out", tmp_path / "l.jsonl.gz")
    with gzip.open(tmp_path / "l.jsonl.gz", "rt") as file:
        groups = [json.loads(line) for line in file]
    lines = cli(*options).lines()
    assert [g["source"] for g in groups] == PLAIN
    texts = [c["text"] for g in groups for c in g["candidates"]]
    assert texts == [c.text for c in parse_moses(lines)]
    moses = cli(*options, "--to", "moses").lines()
    assert [c.features for c in parse_moses(moses)] == [c.features for c in parse_moses(lines)]
    cli(*options, "--out", tmp_path / "l.nbest")
    assert (tmp_path / "l.nbest").read_text().splitlines() == moses


def test_bars_in_lists(cli: Run, refused: Refused, parts: list[str], make: Make) -> None:
    path = make("i", "das ||| haus\n")
    said = refused("decode", *parts, "--input", path, "--nbest", 2)
    assert said == "a text holds '|||'; give --to jsonl"
    (line,) = cli("decode", *parts, "--input", path, "--nbest", 1, "--to", "jsonl").lines()
    assert json.loads(line)["candidates"][0]["text"] == "the ||| house"


# Segments


def test_ids_of_segments(cli: Run, parts: list[str], make: Make) -> None:
    lines = '<seg id="7"> das </seg>\n<seg id="3">haus</seg>\n'
    found = cli("decode", *parts, "--input", make("i", lines), "--nbest", 1).lines()
    assert [line.split(" ||| ")[:2] for line in found] == [["7", "the"], ["3", "house"]]


def test_grammars_of_segments(
    cli: Run, parts: list[str], files: dict[str, Path], make: Make
) -> None:
    make("own", "[X] ||| neu ||| new ||| fresh=1\n")
    folder = files["input"].parent
    lines = f'<seg id="0" grammar="{folder}/own">neu haus</seg>\n<seg id="1">neu</seg>\n'
    weights = make("w.json", json.dumps({**WEIGHTS, "fresh": 4.0}))
    options = [*parts, "--weights", weights, "--input", make("i", lines)]
    found = cli("decode", *options)
    assert found.lines() == ["new house", "neu"]
    assert found.err == ""
    first = cli("decode", *options, "--nbest", 1).lines()[0]
    assert "fresh=1 " in first


def test_quotes_of_segments(cli: Run, parts: list[str], make: Make) -> None:
    make("own", "[X] ||| neu ||| new ||| PhraseModel_0=0\n")
    folder = make("i", "").parent
    lines = (
        f"<seg id='7' grammar='{folder}/own'>neu</seg>\n<seg id=8 grammar={folder}/own>neu</seg>\n"
    )
    found = cli("decode", *parts, "--input", make("i", lines), "--nbest", 1, "--passes", "unknown")
    assert [line.split(" ||| ")[:2] for line in found.lines()] == [["7", "new"], ["8", "new"]]


def test_features_that_come_late(
    cli: Run, refused: Refused, parts: list[str], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether weights and features belong together is asked of all sentences."""
    monkeypatch.setattr("tunesmith.decoders.base.BLOCK", 2)
    own = make("own", "[X] ||| neu ||| new ||| fresh=1\n")
    lines = "".join(f'<seg id="{k}">haus</seg>\n' for k in range(4))
    late = make("late", f'{lines}<seg id="9" grammar="{own}">neu</seg>\n')
    given = ("decode", *parts, "--input", late)
    found = cli(*given)
    assert found.lines()[-1] == "new"
    assert found.err == "tunesmith: warning: 1 feature without a weight, taken as 0: fresh\n"
    out = own.parent / "out"
    said = refused(*given, "--strict", "--out", out, file=parts[-1])
    assert "1 feature without a weight, taken as 0: fresh; make the names the same" in said
    # A weight whose feature comes late, where sentences have rules of their own from the start.
    weights = make("w.json", json.dumps({**WEIGHTS, "fresh": 4.0, "late": 1.0}))
    other = make("other.rules", "[X] ||| neu ||| new ||| late=1\n")
    first = f'<seg id="8" grammar="{own}">neu</seg>\n'
    last = f'<seg id="9" grammar="{other}">neu</seg>\n'
    given = ("decode", *parts, "--weights", weights, "--strict", "--input")
    found = cli(*given, make("both", f"{first}{lines}{last}"))
    assert (found.code, found.err) == (0, "")
    said = refused(*given, make("one", f"{first}{lines}"), "--out", out, file=weights)
    assert "1 weight without a feature in the data, not used: late; make the names" in said


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        (["a", "<seg>b"], 2, '<seg> is not as it should be; write <seg id="0">words</seg>, and'),
        (['<seg id="1">a</seg> b'], 1, "<seg> is not as it should be; write"),
        ([f'<seg id="{"1" * 5000}">a</seg>'] * 2, 2, "two sentences have the id 1111"),
        (['<seg id="1">a</seg>', '<seg id="1">b</seg>'], 2, "two sentences have the id 1; give"),
        (['<seg id="0">a</seg>', "b"], 2, "some sentences have an id and others have none; give"),
        (["a", '<seg id="1">b</seg>'], 2, "some sentences have an id and others have none; give"),
    ],
)
def test_ids_that_cannot_be(
    refused: Refused, parts: list[str], make: Make, lines: list[str], line: int, said: str
) -> None:
    path = make("i", "\n".join(lines))
    assert said in refused("decode", *parts, "--input", path, file=path, line=line)


def test_ids_that_are_texts(cli: Run, refused: Refused, parts: list[str], make: Make) -> None:
    path = make("i", '<seg id="doc">das</seg>\n')
    assert cli("decode", *parts, "--input", path).lines() == ["the"]
    said = refused("decode", *parts, "--input", path, "--nbest", 1)
    assert said == "the id 'doc' is not a whole number of 18 digits; give --to jsonl"


# Forests


@pytest.mark.parametrize("name", ["f.arrow", "f.jsonl.gz", "folder/", "folder"])
def test_forests(cli: Run, parts: list[str], plain: Path, tmp_path: Path, name: str) -> None:
    options = ("decode", *parts, "--input", plain, "--pop-limit", 20)
    found = cli(*options, "--forest", f"{tmp_path}/{name}")
    assert (found.code, found.out, found.err) == (0, "", "")
    forests = read_forests(tmp_path / name)
    chosen = outputs(forests, HELD.aligned(forests.names))
    assert [chosen.text(k) for k in range(len(chosen))] == cli(*options).lines()


def test_pruned_forests(cli: Run, parts: list[str], plain: Path, tmp_path: Path) -> None:
    options = ("decode", *parts, "--input", plain)
    cli(*options, "--forest", tmp_path / "all.arrow")
    cli(*options, "--forest", tmp_path / "few.arrow", "--prune", "beam:0.5")
    whole, few = (read_forests(tmp_path / f"{name}.arrow") for name in ("all", "few"))
    assert (few.edges <= whole.edges).all()
    assert few.edges.sum() < whole.edges.sum()
    chosen = outputs(few, HELD.aligned(few.names))
    assert [chosen.text(k) for k in range(len(chosen))] == cli(*options).lines()


def test_forests_that_memory_does_not_hold(
    cli: Run, parts: list[str], plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tunesmith.data import memory

    options = ("decode", *parts, "--input", plain)
    cli(*options, "--forest", tmp_path / "one.jsonl")
    monkeypatch.setenv(memory.VARIABLE, "1")
    cli(*options, "--forest", tmp_path / "two.jsonl", "--memory", "20K")
    memory.budget.cache_clear()
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


# Options of the decoder


def test_words_without_a_rule(cli: Run, parts: list[str], make: Make) -> None:
    options = ("decode", *parts, "--input", make("i", "das neue haus\n"))
    assert cli(*options, "--unknown", "drop").lines() == ["the house"]
    assert cli(*options, "--passes", "unknown").lines() == ["the neue house"]


def test_several_language_models(
    cli: Run, parts: list[str], files: dict[str, Path], make: Make
) -> None:
    options = ("decode", *parts, "--lm", f"Second={files['other']}", "--strict")
    weights = make("w.json", json.dumps({**WEIGHTS, "Second": 2.0, "Second_OOV": 0.0}))
    path = make("i", "das\n")
    (line,) = cli(*options, "--weights", weights, "--input", path, "--nbest", 1).lines()
    assert line.startswith("0 ||| that |||")
    wanted = sum(OTHER.sentence(["that", "</s>"]))
    values = dict(part.split("=") for part in line.split(" ||| ")[2].split())
    assert float(values["Second"]) == pytest.approx(wanted, abs=1e-5)


def test_a_binary_language_model(
    cli: Run, parts: list[str], plain: Path, make: Make, refused: Refused
) -> None:
    options = ("--input", plain, "--nbest", 50)
    lists = cli("decode", *parts, *options).lines()
    binary = make("lm.binary", binary_of(MODEL))
    assert cli("decode", *parts[:2], "--lm", binary, *parts[4:], *options).lines() == lists
    trie = make("lm.trie", binary_of(MODEL).replace(b"\0\0\xc0?\0", b"\0\0\xc0?\2", 1))
    said = refused("decode", *parts[:2], "--lm", trie, *parts[4:], *options)
    assert "a 'trie' binary of KenLM" in said


@pytest.mark.long
def test_lexical_features(cli: Run, parts: list[str], make: Make) -> None:
    weights = make("w.json", json.dumps({**WEIGHTS, "lex(haus,home)": 5.0}))
    options = ("--lexical", 100, "--weights", weights, "--input", make("i", "haus\n"))
    assert cli("decode", *parts, *options).lines() == ["home"]


@pytest.mark.long
def test_a_model_that_was_trained(cli: Run, make: Make, tmp_path: Path) -> None:
    source = make("s", "das haus\ndas alte haus\nein haus\n")
    target = make("t", "the house\nthe old house\na house\n")
    links = make("l", "0-0 1-1\n0-0 1-1 2-2\n0-0 1-1\n")
    model = tmp_path / "model"
    trained = ("--source", source, "--target", target, "--alignment", links, "--order", 2)
    assert cli("train", *trained, "--out", model, "--quiet").code == 0
    path = make("i", "das alte haus\n\nein altes haus\n")
    found = cli("decode", "--model", model, "--input", path)
    assert found.lines() == ["the old house", "", "a altes house"]
    assert found.err == f"tunesmith: weights: those that {model} begins with\n"
    quiet = cli("decode", "--model", model, "--input", path, "--quiet")
    assert (quiet.out, quiet.err) == (found.out, "")
    said = cli("decode", "--model", model / "model.json", "--input", path).err
    assert said.endswith(f"{model / 'model.json'}: this is a file; name the folder, {model}\n")
    said = cli("decode", "--model", model, "--lm", model, "--input", path).err
    assert said.endswith(f"{model}: this is a whole model, not a language model; name {model}/lm\n")
    before = (model / "weights.json").read_bytes()
    said = cli("decode", "--model", model, "--input", path, "--out", model / "weights.json").err
    assert "weights.json is read too, and would be lost; name another one" in said
    assert (model / "weights.json").read_bytes() == before
    said = cli("decode", "--model", model, "--input", path, "--no-glue").err
    assert said.endswith("have glue rules of their own; drop no-glue\n")
    own = cli("decode", "--model", model, "--weights", model / "weights.json", "--input", path)
    assert (own.out, own.err) == (found.out, "")


def test_weights_of_a_result(cli: Run, files: dict[str, Path], make: Make, plain: Path) -> None:
    """Lists that were decoded are tuned on, and what comes out decodes."""
    parts = ["--grammar", files["grammar"], "--lm", files["lm"], "--input", plain]
    folder = files["input"].parent
    nbest = folder / "l.kbest"
    assert (
        cli("decode", *parts, "--weights", files["weights"], "--nbest", 9, "--out", nbest).code == 0
    )
    references = make("r", "".join(f"{text.replace('das', 'that')}\n" for text in PLAIN))
    result = folder / "w.json"
    tuned = ("--candidates", nbest, "--references", references, "--start", files["weights"])
    assert cli("tune", *tuned, "--metric", "wer", "--out", result).code == 0
    weights = json.loads(result.read_text())["weights"]
    found = cli("decode", *parts, "--weights", result, "--pop-limit", 0).lines()
    for line, text in zip(found, PLAIN, strict=True):
        every = candidates(text, weights)
        assert line in {c.text for c in every if c.score > every[0].score - 1e-6}


def test_names_that_do_not_match(
    cli: Run, refused: Refused, parts: list[str], plain: Path, make: Make
) -> None:
    weights = make("w", "LanguageModel 1\nElsewhere 2\n")
    options = ("decode", *parts, "--weights", weights, "--input", plain)
    found = cli(*options)
    assert found.code == 0
    assert "warning: 7 features without a weight, taken as 0: LanguageModel_OOV, " in found.err
    assert "warning: 1 weight without a feature in the data, not used: Elsewhere\n" in found.err
    assert "features without a weight" in refused(*options, "--strict", file=weights)
    strange = make("w2", "Elsewhere 2\n")
    said = refused("decode", *parts, "--weights", strange, "--input", plain, file=strange)
    assert "no weight has the name of a feature" in said
    assert said.endswith("; give the weights that belong to this model")


# What is refused


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--nbest", 2, "--forest", "f.arrow"], "--nbest and --forest are both given; give one"),
        (["--nbest", 0], "lists have 0 derivations; give 1 or more"),
        (["--unique"], "--unique goes with --nbest; give it, or drop both"),
        (["--prune", "beam:1"], "--prune goes with --forest; give it, or drop both"),
        (["--to", "moses"], "--to goes with --nbest or --forest"),
        (["--forest", "f.arrow", "--out", "o"], "--out is for texts and lists; forests go where"),
        (["--forest", "f.arrow", "--prune", "beam:-1"], "--prune is 'beam:-1'; give a number 0"),
        (
            ["--forest", "f.arrow", "--to", "nothing"],
            "unknown forest format 'nothing'; did you mean",
        ),
        (["--forest", "f.nothing"], "'f.nothing' is of no format of forests; name one with --to"),
        (["--forest", "-"], "'-' is of no format of forests; name one with --to"),
        (["--nbest", 2, "--to", "arrow"], "format 'arrow' is none of lines; write cdec"),
        (["--nbest", 2, "--to", "nothing"], "unknown format 'nothing'; did you mean"),
        (["--out", "nowhere/out"], "nowhere does not exist; create it first"),
        (["--forest", "nowhere/out.arrow"], "nowhere does not exist; create it first"),
        (["--pop-limit", "many"], "pop-limit of decoder 'hiero' is 'many'; give a whole number"),
        (["--pop-limit", -1], "pop-limit of decoder 'hiero' is -1; give 0 or more"),
        (["--span-limit", 0], "span-limit of decoder 'hiero' is 0; give 1 or more"),
        (["--passes", "some"], "unknown passes of decoder 'hiero' 'some'; did you mean"),
        (["--unknown", "keep"], "unknown of decoder 'hiero' 'keep'; did you mean"),
        (["--model", "m"], "decoder 'hiero' has both model and grammar; give one"),
        (["--weights", "nowhere"], "nowhere: no such file or directory; name a file"),
        (["--memory", "much"], "--memory is 'much'; give bytes"),
        (["--lm", "nowhere"], "nowhere: no such file or directory; name a file"),
        (["--grammar", "nowhere"], "nowhere: no such file or directory; name a file"),
        (
            ["--passes", "none", "--no-glue", "--quiet"],
            "sentence 2: no derivation of the grammar covers",
        ),
        (["--lm", "."], "about.json: no such file or directory; name a folder that was made"),
        (["--nothing"], "No such option: --nothing"),
    ],
)
def test_options_that_are_refused(
    refused: Refused,
    parts: list[str],
    plain: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[object],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused("decode", *parts, "--input", plain, *options)


def test_what_is_lacking(refused: Refused, files: dict[str, Path], plain: Path) -> None:
    grammar, lm, weights = (
        [f"--{name}", str(files[name])] for name in ("grammar", "lm", "weights")
    )
    given = ("decode", "--input", plain)
    assert "has no model; give a folder" in refused(*given, *weights)
    assert "no language model; give --lm" in refused(*given, *grammar, *weights)
    assert "have no weights; give --weights" in refused(*given, *grammar, *lm)
    assert "Missing option '--input'" in refused("decode", *grammar, *lm, *weights)


def test_files_that_are_wrong(refused: Refused, parts: list[str], make: Make, plain: Path) -> None:
    given = ("decode", *parts, "--input", plain)
    lines = text_of(RULES) + "[X] ||| das ||| [2] ||| p=1\n"
    path = make("g", lines)
    grammar = refused("decode", "--grammar", path, *parts[2:], "--input", plain, file=path, line=12)
    assert "[2]" in grammar
    path = make("a", "\\data\\\nngram 1=4\n\n\\1-grams:\n-1 a\n\n\\end\\\n")
    refused("decode", *parts[:2], "--lm", path, *parts[4:], "--input", plain)
    path = make("empty", "")
    assert "the file is empty" in refused("decode", *parts, "--input", path, file=path)
    path = make("latin", "Gr\xfc\xdfe\n".encode("latin-1"))
    refused("decode", *parts, "--input", path, file=path, line=1)
    path = make("w", "not weights at all\n")
    refused(*given, "--weights", path, file=path, line=1)
    missing = path.parent / "model"
    said = refused("decode", "--model", missing, "--input", plain, file=missing)
    assert "no such folder; name a folder that `tunesmith train` made" in said


def test_places_that_are_taken(
    refused: Refused, parts: list[str], plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused before anything is translated."""
    monkeypatch.setattr("tunesmith.hiero.HieroDecoder.forests", None)
    monkeypatch.setattr("tunesmith.hiero.HieroDecoder.translate", None)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    (tmp_path / "full.arrow").mkdir()
    (tmp_path / "taken").write_text("years of work")
    given = ("decode", *parts, "--input", plain)
    for name in ("full", "taken"):
        path = tmp_path / name
        said = refused(*given, "--forest", path, file=path)
        assert said.endswith("this is no empty folder; name a new one")
    path = tmp_path / "full.arrow"
    assert "this is a folder; name a file" in refused(*given, "--forest", path, file=path)
    said = refused(*given, "--forest", tmp_path / "new", "--to", "cdec-json")
    assert said == "format 'cdec-json' can be read only; name another one with --to"
    new = tmp_path / "new"
    assert "this is a folder; name a file" in refused(*given, "--out", f"{new}/", file=new)


@pytest.mark.parametrize("name", ["input", "weights", "grammar", "lm", "other"])
@pytest.mark.parametrize("flag", ["--out", "--forest"])
def test_what_is_read_is_not_written(
    refused: Refused, parts: list[str], files: dict[str, Path], name: str, flag: str, tmp_path: Path
) -> None:
    given = ("decode", *parts, "--lm", f"Other={files['other']}", "--input", files["input"])
    said = refused(*given, flag, files[name])
    assert said == f"{flag} {files[name]} is read too, and would be lost; name another one"
    link = tmp_path / "link"
    link.symlink_to(files[name])
    assert "is read too" in refused(*given, flag, link)


def test_what_forests_have_no_place_for(
    refused: Refused, parts: list[str], make: Make, tmp_path: Path
) -> None:
    given = ("decode", *parts, "--forest", tmp_path / "new", "--input")
    said = refused(*given, make("i", "das ||| haus\n"))
    assert said.endswith("has no place for the word '|||'; give --forest FILE.arrow")
    said = refused(*given, make("j", '<seg id="doc">das</seg>\n'))
    assert said.endswith("has no place for the id 'doc'; give --forest FILE.arrow")


def test_standard_input_is_read_once(refused: Refused, parts: list[str]) -> None:
    said = refused("decode", *parts, "--input", "-", "--grammar", "-", stdin=b"das\n")
    assert said == "standard input can be read once; give a file for the others"


def test_help(cli: Run) -> None:
    found = cli("decode", "--help")
    assert found.code == 0
    for flag in ("--model", "--grammar", "--lm", "--joshua", "--nbest", "--forest", "--pop-limit"):
        assert flag in found.out
    assert "all|unknown|none" in found.out


@pytest.mark.long
def test_standard_input_is_not_kept_waiting(files) -> None:
    import subprocess
    import sys

    given = ("--grammar", files["grammar"], "--lm", files["lm"], "--weights", files["weights"])
    with subprocess.Popen(
        [sys.executable, "-m", "tunesmith", "decode", *given, "--input", "-", "--quiet"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for sentence, wanted in (("das haus", "the house"), ("klein", "small")):
            running.stdin.write(f"{sentence}\n")
            running.stdin.flush()
            assert running.stdout.readline() == f"{wanted}\n"
        running.stdin.close()
    assert running.returncode == 0
