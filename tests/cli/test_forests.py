"""Commands on forests: what they say against enumeration, sacrebleu and each other."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import Run, bleu, parse_moses
from tests.helpers.cli.example_forests import FOLDER, WEIGHTS

TUNERS = ("mert", "batch-mira", "mira", "arow", "sgd", "perceptron", "min-risk", "ramp", "pro")
#: Options that make a tuner quick.
QUICK = {
    "mert": ["--restarts", "0"],
    "batch-mira": ["--passes", "2"],
    "ramp": ["--passes", "1"],
    **{name: ["--iterations", "1"] for name in ("mira", "arow", "pro")},
    **{name: ["--epochs", "1"] for name in ("sgd", "perceptron")},
}
#: Formats that hold these forests, and the file or folder that is written.
FORMATS = {
    "arrow": "f.arrow",
    "cdec-forest": "f.jsonl.gz",
    "moses-hypergraph": "folder",
    "joshua-hypergraph": "folder",
}

Tree = tuple[list[str], list[float]]


def records_of(few: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (few / "f.jsonl").read_text().splitlines()]


def trees(record: dict[str, Any]) -> list[Tree]:
    """Return words and features of all derivations, the slow and simple way."""
    width = len(record["features"])
    known: dict[int, list[Tree]] = {}

    def of_edge(edge: dict[str, Any]) -> Iterator[Tree]:
        own = [0.0] * width
        for k, value in pairs(edge["feats"]):
            own[k] += value
        slots = [edge["tails"][part[0]] for part in edge["e"] if isinstance(part, list)]
        for below in itertools.product(*(known[slot] for slot in slots)):
            rest = iter(below)
            words, total = [], list(own)
            for part in edge["e"]:
                if isinstance(part, list):
                    more, features = next(rest)
                    words += more
                    total = [a + b for a, b in zip(total, features, strict=True)]
                else:
                    words.append(part)
            yield words, total

    for edge in sorted(record["edges"], key=lambda edge: int(edge["head"])):
        known.setdefault(edge["head"], []).extend(of_edge(edge))
    return known[len(record["nodes"]) - 1]


def pairs(values: list[Any]) -> list[tuple[int, float]]:
    return list(zip(map(int, values[::2]), values[1::2], strict=True))


def ranked(record: dict[str, Any]) -> list[tuple[float, str]]:
    """Return the best score of each text, descending."""
    weights = [WEIGHTS[name] for name in record["features"]]
    best: dict[str, float] = {}
    for words, features in trees(record):
        score = sum(w * h for w, h in zip(weights, features, strict=True))
        text = " ".join(words)
        best[text] = max(score, best.get(text, score))
    return sorted(((score, text) for text, score in best.items()), reverse=True)


@pytest.mark.long
def test_rerank_writes_the_best_of_all_derivations(cli: Run, few: Path) -> None:
    found = cli("rerank", "--forests", few / "f.jsonl", "--weights", few / "w.json").lines()
    for record, text in zip(records_of(few), found, strict=True):
        scores = {text: score for score, text in ranked(record)}
        assert scores[text] == pytest.approx(max(scores.values()), abs=1e-9)


def test_rerank_writes_the_best_distinct_texts(cli: Run, few: Path) -> None:
    size = 40
    given = ("--forests", few / "f.jsonl", "--weights", few / "w.json")
    lines = cli("rerank", *given, "--nbest", "--list-size", size).lines()
    listed = parse_moses(lines)
    for number, record in enumerate(records_of(few)):
        own = [c for c in listed if c.group == number]
        assert len({c.text for c in own}) == len(own) == size
        scores = [sum(WEIGHTS[n] * v for n, v in c.features.items()) for c in own]
        wanted = [score for score, _ in ranked(record)[:size]]
        assert scores == pytest.approx(wanted, abs=1e-9)
    ended = [float(line.rpartition("|||")[2]) for line in lines]
    assert ended[:size] == pytest.approx(
        [sum(WEIGHTS[n] * v for n, v in c.features.items()) for c in listed[:size]], abs=1e-4
    )
    converted = cli("convert", *given, "--nbest", size, "--to", "moses").lines()
    assert converted == lines


@pytest.mark.long
def test_evaluate_scores_what_rerank_writes(cli: Run, few: Path) -> None:
    given = ("--forests", few / "f.jsonl", "--weights", few / "w.json")
    texts = cli("rerank", *given).lines()
    references = (few / "ref").read_text().splitlines()
    for spec, options in {"bleu": {}, "bleu:lowercase=true": {"lowercase": True}}.items():
        own = ("--references", few / "ref", "--metric", spec, "--json")
        found = cli("evaluate", *given, *own).json()
        assert found["score"] == pytest.approx(bleu(texts, [references], **options).score, abs=1e-9)
        assert found["anti_oracle_score"] <= found["score"] <= found["oracle_score"]
        # The forests hold the references.
        assert found["oracle_score"] == pytest.approx(100.0)
        assert found["oracle_exact"] is False
    line = cli("evaluate", *given, "--references", few / "ref").out
    assert "oracle at least 100.0000" in line


@pytest.mark.parametrize("tuner", TUNERS)
def test_every_tuner_of_forests(cli: Run, few: Path, tmp_path: Path, tuner: str) -> None:
    given = ("--forests", few / "f.jsonl", "--references", few / "ref")
    own = ("--tuner", tuner, *QUICK.get(tuner, []), "--start", few / "w.json", "--quiet")
    result = tmp_path / "result.json"
    found = cli("tune", *given, *own, "--json", "--out", result).json()
    assert found["schema"] == "tunesmith.tune/1"
    assert (found["tuner"], found["metric"]) == (tuner, "bleu")
    assert set(found["weights"]) == set(WEIGHTS)
    assert json.loads(result.read_text())["weights"] == found["weights"]
    for weights, name in ((few / "w.json", "initial_score"), (result, "score")):
        again = cli("evaluate", *given, "--weights", weights, "--json").json()
        assert found[name] == pytest.approx(again["score"], abs=1e-9)
    assert found["oracle_score"] >= found["score"]
    assert [file["format"] for file in found["data"]] == ["cdec-forest", "text"]


@pytest.mark.parametrize("tuner", ["lp-mert", "plane"])
def test_tuners_of_lists_say_so(refused: Any, few: Path, tuner: str) -> None:
    given = ("--forests", few / "f.jsonl", "--references", few / "ref", "--tuner", tuner)
    said = refused("tune", *given, "--start", few / "w.json")
    assert "works on lists" in said
    assert "mert" in said.rpartition(";")[2]


@pytest.mark.parametrize("search", ["rerank", "linear", "kbest"])
def test_ways_to_search(cli: Run, refused: Any, few: Path, search: str) -> None:
    given = ("--forests", few / "f.jsonl", "--references", few / "ref", "--json", "--quiet")
    own = ("--tuner", "batch-mira", "--passes", "1", "--forest-search", search)
    own += ("--objective", "document")
    if search == "kbest":
        own += ("--list-size", "7")
    else:
        said = refused("tune", *given, *own, "--start", few / "w.json", "--list-size", "7")
        assert "makes no lists; drop --list-size" in said
    found = cli("tune", *given, *own, "--start", few / "w.json").json()
    assert f"forests:{search}|kbest:{7 if search == 'kbest' else 100}" in found["signature"]


def test_samples_and_other_metrics(cli: Run, few: Path) -> None:
    given = ("--forests", few / "f.jsonl", "--references", few / "ref", "--json", "--quiet")
    own = ("--tuner", "pro", "--iterations", "1", "--forest-lists", "samples", "--list-size", "20")
    found = cli("tune", *given, *own, "--metric", "wer", "--metric", "chrf").json()
    assert found["metric"] == "wer"
    assert "samples:20" in found["signature"]


def test_held_out_forests_and_selected_features(cli: Run, few: Path) -> None:
    own = ("--forests", few / "f.jsonl", "--references", few / "ref", "--restarts", "0")
    dev = ("--dev-forests", FOLDER / "tune.jsonl.gz", "--dev-references", FOLDER / "tune.ref")
    test = ("--test-forests", FOLDER / "test.jsonl.gz", "--test-references", FOLDER / "test.ref")
    given = (*own, *dev, *test, "--start", few / "w.json", "--json", "--quiet")
    found = cli("tune", *given, "--drop", "swaps").json()
    assert set(found["weights"]) == set(WEIGHTS)
    assert found["weights"]["swaps"] == 0.0
    held_out = json.loads((few / "w.json").read_text())
    del held_out["swaps"]
    (few / "less.json").write_text(json.dumps(held_out))
    for name in ("tune", "test"):
        files = ("--forests", FOLDER / f"{name}.jsonl.gz", "--references", FOLDER / f"{name}.ref")
        score = cli("evaluate", *files, "--weights", few / "less.json", "--json").json()["score"]
        held = found["dev" if name == "tune" else "test"]
        assert held["initial_score"] == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize("form", ["json", "cdec", "moses", "yaml", "travatar"])
def test_start_in_every_format_of_weights(cli: Run, few: Path, tmp_path: Path, form: str) -> None:
    start, out = tmp_path / "start", tmp_path / "out"
    assert cli("convert", "--weights", few / "w.json", "--to", form, "--out", start).code == 0
    given = ("--forests", few / "f.jsonl", "--references", few / "ref", "--restarts", "0")
    found = cli("tune", *given, "--start", start, "--out", out, "--json", "--quiet").json()
    again = cli("evaluate", *given[:4], "--weights", out, "--json").json()
    assert again["score"] == pytest.approx(found["score"], abs=1e-9)
    first = cli("evaluate", *given[:4], "--weights", few / "w.json", "--json").json()
    assert found["initial_score"] == pytest.approx(first["score"], abs=1e-9)


@pytest.mark.parametrize("form", FORMATS)
def test_convert_to_every_format_and_back(cli: Run, few: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / FORMATS[form]
    first = ("--forests", few / "f.jsonl", "--weights", few / "w.json")
    assert cli("convert", "--forests", few / "f.jsonl", "--to", form, "--out", out).code == 0
    wanted = cli("rerank", *first, "--nbest", "--list-size", 30).lines()
    found = cli(
        "rerank", "--forests", out, "--weights", few / "w.json", "--nbest", "--list-size", 30
    )
    old, new = parse_moses(wanted), parse_moses(found.lines())
    assert [c.group for c in new] == [c.group for c in old]
    # Among equal scores the order of hyperedges counts, which a format may change.
    for a, b in zip(old, new, strict=True):
        scores = [sum(WEIGHTS[n] * v for n, v in c.features.items()) for c in (a, b)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_what_a_format_has_no_place_for_is_told(cli: Run, few: Path, tmp_path: Path) -> None:
    given = ("--forests", few / "f.jsonl", "--references", few / "ref")
    kept = cli("convert", *given, "--out", tmp_path / "f.arrow")
    assert (kept.code, kept.err) == (0, "")
    lost = cli("convert", *given, "--to", "moses-hypergraph", "--out", tmp_path / "folder")
    assert lost.code == 0
    assert "no place for references" in lost.err
    own = cli("evaluate", "--forests", tmp_path / "f.arrow", "--weights", few / "w.json", "--json")
    other = cli("evaluate", *given, "--weights", few / "w.json", "--json")
    assert own.json()["score"] == other.json()["score"]


@pytest.mark.long
@pytest.mark.parametrize("how", ["posterior:0.05", "beam:0.5", "beam:0", "density:2"])
def test_pruning_keeps_the_best(cli: Run, few: Path, tmp_path: Path, how: str) -> None:
    first = ("--forests", few / "f.jsonl", "--weights", few / "w.json")
    out = tmp_path / "p.jsonl"
    assert cli("convert", *first, "--prune", how, "--out", out).code == 0
    before = sum(len(record["edges"]) for record in records_of(few))
    after = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(len(record["edges"]) for record in after) < before
    best = ("rerank", "--weights", few / "w.json", "--forests")
    assert cli(*best, out).lines() == cli(*best, few / "f.jsonl").lines()
    if how == "beam:0":
        tops = [ranked(record) for record in records_of(few)]
        equal = [sum(abs(s - own[0][0]) < 1e-9 for s, _ in own) for own in tops]
        assert [len({" ".join(w) for w, _ in trees(record)}) for record in after] >= equal


@pytest.mark.long
def test_little_memory_gives_the_same(
    cli: Run, few: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """Forests on disk are tuned as those in memory, to the last bit."""
    from tunesmith.data import memory

    monkeypatch.setenv("TUNESMITH_MEMORY", "1G")
    memory.budget.cache_clear()
    arrow = tmp_path / "f.arrow"
    cli("convert", "--forests", few / "f.jsonl", "--out", arrow)
    given = ("--references", few / "ref", "--start", few / "w.json", "--json", "--quiet")
    try:
        for own in (["--restarts", "1"], ["--tuner", "batch-mira", "--passes", "2"]):
            results = []
            for path, limit in ((arrow, "1GiB"), (arrow, "1K"), (few / "f.jsonl", "1K")):
                found = cli("tune", "--forests", path, *given, *own, "--memory", limit).json()
                results.append([found[k] for k in ("weights", "score", "oracle_score", "history")])
            assert results[0] == results[1]
            # From a text file words are numbered as they come, and nothing else differs.
            assert results[0] == results[2]
    finally:
        monkeypatch.undo()
        memory.budget.cache_clear()


def test_formats_are_listed(cli: Run) -> None:
    names = {line.split(":")[0] for line in cli("list", "forest-formats").lines()}
    assert {*FORMATS, "plf", "htk", "kaldi-lattice", "cdec-json"} <= names
