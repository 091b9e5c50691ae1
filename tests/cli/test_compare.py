"""``tunesmith compare``: systems by their outputs, or by weights."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

import tunesmith as ts
from tests.helpers.cli.commands import Run

BUNDLED = Path(ts.__file__).parent / "bundled"
FEW = ("--resamples", 200, "--randomizations", 300)
Make = Callable[[str, str | bytes], Path]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs and weights of three runs each of two tuners, on few of the bundled lists."""
    folder = tmp_path_factory.mktemp("results")
    held = ts.read(BUNDLED / "tune.nbest.gz", [BUNDLED / "tune.ref"])
    tuning = ts.TuningSet(held.with_groups(range(60)))
    test = ts.read(BUNDLED / "test.nbest.gz")
    start = ts.read_weights(BUNDLED / "weights.initial").weights
    for name, tuner in (("mert", ts.MERT(restarts=1, walks=0)), ("pro", ts.PRO())):
        for seed in (1, 2, 3):
            result = tuner.fit(tuning, start, rng=seed)
            (folder / f"{name}.{seed}.json").write_text(json.dumps(result.to_dict()))
            texts = ts.rerank(test, result.weights)
            (folder / f"{name}.{seed}").write_text("".join(f"{text}\n" for text in texts))
    return folder


def runs(folder: Path, name: str, ending: str = "", count: int = 3) -> str:
    return f"{name}=" + ",".join(f"{folder}/{name}.{k}{ending}" for k in range(1, count + 1))


@pytest.mark.long
def test_outputs_and_weights_come_to_the_same(cli: Run, results: Path) -> None:
    systems = [("--system", runs(results, n)) for n in ("mert", "pro")]
    given = [word for pair in systems for word in pair]
    metrics = ("--metric", "bleu", "--metric", "ter")
    by_texts = cli(
        "compare", "--references", BUNDLED / "test.ref", *given, *metrics, *FEW, "--json"
    )
    given = [word.replace(".1,", ".1.json,").replace(".2,", ".2.json,") for word in given]
    given = [word if word == "--system" else f"{word}.json" for word in given]
    lists = ("--candidates", BUNDLED / "test.nbest.gz", "--references", BUNDLED / "test.ref")
    by_weights = cli("compare", *lists, *given, *metrics, *FEW, "--json").json()
    first = by_texts.json()
    assert first["schema"] == "tunesmith.compare/1"
    assert [len(system["runs"]) for system in first["systems"]] == [3, 3]
    for one, other in zip(first["metrics"], by_weights["metrics"], strict=True):
        assert one["tests"] == other["tests"]
        assert [s["mean"] for s in one["systems"]] == [s["mean"] for s in other["systems"]]
    assert all(s["deviation"] > 0 for s in first["systems"])


def test_one_run_each_is_sacrebleus(
    cli: Run, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "77")
    references = (BUNDLED / "test.ref").read_text().splitlines()
    named = [(n, (results / f"{n}.1").read_text().splitlines()) for n in ("mert", "pro")]
    metric = {"BLEU": BLEU(tokenize="none", force=True)}
    given = ["--references", BUNDLED / "test.ref"]
    given += [word for n in ("mert", "pro") for word in ("--system", f"{n}={results / n}.1")]
    found = cli("compare", *given, *FEW, "--json")
    (test,) = found.json()["tests"]
    for key, kind, count in (("p_bootstrap", "bs", 200), ("p_randomization", "ar", 300)):
        theirs: Any = PairedTest(named, metric, [references], kind, count)()[1]["BLEU"]
        assert test[key] == theirs[1].p_value
    assert found.err.startswith("tunesmith: note: a system has a single run")
    other = cli("compare", *given, *FEW, "--seed", 5, "--json").json()
    assert other["seed"] == 5
    assert other["tests"][0]["p_bootstrap"] != test["p_bootstrap"]


def test_tables_and_files(cli: Run, results: Path, tmp_path: Path) -> None:
    given = ["--references", BUNDLED / "test.ref", *FEW]
    given += [word for n in ("mert", "pro") for word in ("--system", runs(results, n))]
    shown = cli("compare", *given, "--out", tmp_path / "t.txt").out
    assert "pro − mert" in shown
    assert "200 sentences, 200 resamples, 300 randomisations" in shown
    assert (tmp_path / "t.txt").read_text().strip()
    latex = cli("compare", *given, "--latex", "--out", tmp_path / "t.tex").out
    assert (tmp_path / "t.tex").read_text() == latex
    assert latex.count(r"\midrule") == 1
    assert cli("compare", *given, "--out", tmp_path / "t.html").out == shown
    assert re.search(r"pro (is|and mert)[^.]* than", (tmp_path / "t.html").read_text())
    found = cli("compare", *given, "--json", "--out", tmp_path / "t.json").json()
    assert json.loads((tmp_path / "t.json").read_text()) == found
    assert "3 systems" not in shown


HOSTILE = ["a \x1b[31m b \u202e c", '<b>"x"</b> \\ =1+1', "\u200f שלום 🙂"]


@pytest.mark.parametrize("ending", ["tsv", "jsonl", "jsonl.gz"])
def test_hostile_texts_break_nothing(cli: Run, make: Make, tmp_path: Path, ending: str) -> None:
    first = make("a", "".join(f"{text}\n" for text in HOSTILE))
    second, reference = make("b", "a b\nx\ny\n"), make("r", "a b c\nx y\n🙂 z\n")
    out = tmp_path / f"s.{ending}"
    found = cli(
        "compare", "--references", reference, "--system", f"[red]<i>={first}", "--system",
        f'"q"={second}', *FEW, "--sentences", 3, "--sentences-out", out,
    )  # fmt: skip
    assert found.code == 0
    assert "\x1b" not in found.out + found.err
    assert "\u202e" not in found.out
    assert r"a \x1b[31m b \u202e c" in found.out
    assert "[red]<i>" in found.out
    if ending == "tsv":
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        texts = [row["text_a"] for row in rows]
        assert any(text.startswith(r"a \x1b[31m b") for text in texts)
    else:
        import gzip

        data = out.read_bytes()
        lines = (gzip.decompress(data) if ending.endswith("gz") else data).decode().split("\n")
        rows = [json.loads(line) for line in lines if line]
        assert sorted(row["text_a"] for row in rows) == sorted(" ".join(h.split()) for h in HOSTILE)
    assert len(rows) == 3
    sizes = [abs(float(row["difference"])) for row in rows]
    assert sizes == sorted(sizes, reverse=True)


def test_a_file_twice_and_a_comma_in_its_name(cli: Run, make: Make) -> None:
    first, second = make("one,two", "a b c d\n" * 60), make("b", "a b c\n" * 60)
    given = ("--references", make("r", "a b c d\n" * 60), *FEW, "--json")
    found = cli("compare", "--system", f"a={first}", "--system", f"b={second},{second}", *given)
    assert found.json()["systems"][0]["runs"][0]["file"] == str(first)
    assert "is given twice for system 'b'" in found.err
    found = cli("compare", "--system", f"a={second}", "--system", f"b={second}", *given)
    assert "the same output cannot differ" in found.err
    assert found.json()["tests"][0]["p_randomization"] == 1.0


def test_scores_of_a_model_that_were_tuned_for(cli: Run, make: Make) -> None:
    rows = [
        {
            "id": g,
            "candidates": [
                {"text": f"t {k}", "features": {"f": k, "g": -k * g}, "metrics": {"m": k / (g + 7)}}
                for k in range(3)
            ],
        }
        for g in range(60)
    ]
    lists = make("l.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    weights = [
        make(f"{n}.json", json.dumps({"schema": "tunesmith.tune/1", "metric": "column:m",
                                      "weights": {"f": f, "g": 1.0}}))
        for n, f in (("a", 1.0), ("b", 30.0))
    ]  # fmt: skip
    systems = [
        word for n, w in zip("ab", weights, strict=True) for word in ("--system", f"{n}={w}")
    ]
    found = cli("compare", "--candidates", lists, *systems, "--metric", "column:m", *FEW)
    assert found.code == 0
    assert "metric bias" in found.err


@pytest.mark.long
def test_weights_that_were_tuned_on_what_they_are_compared_on(cli: Run, tmp_path: Path) -> None:
    given, others = (
        ("--candidates", BUNDLED / f"{which}.nbest.gz", "--references", BUNDLED / f"{which}.ref")
        for which in ("tune", "test")
    )
    out = tmp_path / "w.json"
    assert cli("tune", *given, "--restarts", 0, "--walks", 0, "--out", out).code == 0
    systems = ("--system", f"w={out}", "--system", f"b={BUNDLED / 'weights.initial'}")
    said = "'w' was tuned on the set"
    assert said in cli("compare", *given, *systems, *FEW).err
    assert said not in cli("compare", *others, *systems, *FEW).err
    # Whoever wrote a result, it is no fault of the program.
    out.write_text(json.dumps(json.loads(out.read_text()) | {"data": [{}, 3]}))
    found = cli("compare", *given, *systems, *FEW)
    assert (found.code, said in found.err) == (0, False)


class TestRefused:
    """What is refused, in one line."""

    @pytest.mark.parametrize(
        ("systems", "message"),
        [
            (["a=A"], "nothing to be compared with"),
            (["a=A", "a=B"], "two systems are called 'a'"),
            (["=A", "b=B"], "write NAME=FILE,FILE"),
            (["A", "b=B"], "write NAME=FILE,FILE"),
            (["a=A,", "b=B"], "empty file name"),
            (["a,c=A", "b=B"], "holds a comma"),
            (["a=w.json", "b=B"], "looks like weights"),
            (["a=-", "b=B"], "does not read standard input"),
            (["a=nosuch", "b=B"], "nosuch: no such file"),
            (["a=A", "b=SHORT"], "SHORT has 1"),
        ],
    )
    def test_systems(
        self,
        refused: Callable[..., str],
        make: Make,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        systems: list[str],
        message: str,
    ) -> None:
        make("A", "a\nb\n"), make("B", "a\nc\n"), make("R", "a\nb\n"), make("SHORT", "a\n")
        monkeypatch.chdir(tmp_path)
        given = [word for system in systems for word in ("--system", system)]
        assert message in refused("compare", "--references", "R", *given)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--json", "--latex"], "drop one of them"),
            (["--resamples", "0"], "give 1 or more"),
            (["--randomizations", "-3"], "give 1 or more"),
            (["--seed", "-1"], "give 0 or more"),
            (["--sentences", "-1"], "give 0 or more"),
            (["--out", "t.pdf"], "use .txt, .json, .tex or .html"),
            (["--out", "A"], "is read too"),
            (["--sentences-out", "t.csv"], "use .tsv or .jsonl"),
            (["--sentences-out", "no/where.tsv"], "does not exist"),
            (["--scores", "x=A"], "goes with --candidates"),
            (["--format", "moses"], "goes with --candidates"),
            (["--candidates", "A", "--forests", "B"], "give one of them"),
            (["--metric", "column:x"], "needs the column 'x'"),
            (["--metric", "nosuch"], "unknown metric"),
        ],
    )
    def test_options(
        self,
        refused: Callable[..., str],
        make: Make,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        options: list[str],
        message: str,
    ) -> None:
        make("A", "a\nb\n"), make("B", "a\nc\n"), make("R", "a\nb\n")
        monkeypatch.chdir(tmp_path)
        given = ("--references", "R", "--system", "a=A", "--system", "b=B")
        assert message in refused("compare", *given, *options)

    def test_references_that_are_not_given(self, refused: Callable[..., str], make: Make) -> None:
        first, second = make("A", "a\n"), make("B", "b\n")
        said = refused("compare", "--system", f"a={first}", "--system", f"b={second}")
        assert "give --references" in said

    def test_a_seed_of_the_environment(
        self, refused: Callable[..., str], make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SACREBLEU_SEED", "abc")
        first, second = make("A", "a\n"), make("B", "b\n")
        given = ("--references", first, "--system", f"a={first}", "--system", f"b={second}")
        assert "SACREBLEU_SEED is 'abc'" in refused("compare", *given)


def test_a_new_seed_is_told(cli: Run, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "None")
    first, second = make("A", "a b\n" * 60), make("B", "b a\n" * 60)
    given = ("--references", first, "--system", f"a={first}", "--system", f"b={second}", *FEW)
    seed = cli("compare", *given, "--json").json()["seed"]
    assert isinstance(seed, int)
    assert os.environ["SACREBLEU_SEED"] == "None"
