"""Runs and judgements on the command line: fuse, rerank and evaluate."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.helpers.docs.blocks import ROOT
from tunesmith.io.rankings.trec import read_qrels, read_run

DATA = ROOT / "examples" / "tutorials" / "search"


@pytest.fixture
def runs(tmp_path):
    """Lay two runs and judgements of the same queries."""
    for name in ("words.run.gz", "pieces.run.gz", "qrels.txt", "test.qrels.txt"):
        shutil.copy(DATA / name, tmp_path)
    both = [f"--run={tmp_path / name}" for name in ("words.run.gz", "pieces.run.gz")]
    return [*both, "--qrels", tmp_path / "qrels.txt"]


@pytest.fixture
def test_qrels(tmp_path, runs):
    return tmp_path / "test.qrels.txt"


def test_one_command_gives_alpha_plateau_verdict_baselines_and_a_snippet(cli, runs):
    found = cli("fuse", *runs, "--export", "elasticsearch")
    assert found.code == 0
    for text in (
        "on 100 unseen queries",
        "equal weights, min-max",
        "reciprocal ranks, k = 60",
        "best single run: pieces",
        "best of a grid of step 0.1",
        "alpha, the weight of pieces: 0.",
        "proven that no other is better",
        "plateau: the same score from 0.",
    ):
        assert text in found.out
    snippet = json.loads(found.out.partition("elasticsearch:\n")[2])
    linear = snippet["retriever"]["linear"]
    assert [one["normalizer"] for one in linear["retrievers"]] == ["minmax", "minmax"]
    assert linear["rank_window_size"] == 20
    assert sum(one["weight"] for one in linear["retrievers"]) == pytest.approx(1.0)


def test_what_rerank_writes_scores_what_fuse_said(cli, runs, test_qrels, tmp_path):
    trec = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    model, fused = tmp_path / "model.json", tmp_path / "fused.run"
    found = cli("fuse", *runs, "--test-qrels", test_qrels, "--out", model, "--json")
    result = json.loads(found.out)
    assert result == json.loads(model.read_text())
    assert result["verdict"]["on"] == "test"
    assert cli("rerank", *runs[:2], "--weights", model, "--out", fused).code == 0
    for path, score in ((tmp_path / "qrels.txt", "score"), (test_qrels, "held_out")):
        evaluator = trec.RelevanceEvaluator(read_qrels(path)[0], {"ndcg_cut_10"})
        values = [v["ndcg_cut_10"] for v in evaluator.evaluate(read_run(fused)[0]).values()]
        assert sum(values) / len(values) == pytest.approx(result[score], abs=1e-9)
    again = cli("evaluate", *runs, "--weights", model, "--json")
    assert json.loads(again.out)["score"] == result["score"]
    alone = cli("evaluate", "--run", fused, *runs[2:], "--metric", "ndcg@10")
    assert alone.out.startswith(f"ndcg@10 {result['score']:.4f}  oracle ")


def test_evaluate_scores_each_run_by_itself(cli, runs):
    found = cli("evaluate", *runs, "-m", "map", "-m", "rr", "--json")
    first = json.loads(found.out)
    entries = [first, *first["others"]]
    assert [(e["metric"], e["name"]) for e in entries] == [
        *(("ap", "words"), ("ap", "pieces"), ("rr", "words"), ("rr", "pieces"))
    ]
    # One document answers each query, so both are the same number.
    assert entries[0]["score"] == pytest.approx(entries[2]["score"])


def test_weights_alone_need_a_normalisation(cli, refused, runs, tmp_path):
    (tmp_path / "w.json").write_text('{"words": 1, "pieces": 2}')
    said = refused("rerank", *runs[:2], "-w", tmp_path / "w.json")
    assert "does not say what is done to scores" in said
    found = cli("rerank", *runs[:2], "-w", tmp_path / "w.json", "--normalisation", "z")
    assert found.code == 0
    assert found.out.count("\n") > 4000
    cut = cli("rerank", *runs[:2], "-w", tmp_path / "w.json", "--normalisation=z", "--depth=3")
    assert cut.out.count("\n") == 600


def test_exports_go_into_files(cli, runs, tmp_path):
    out = tmp_path / "pipeline.json"
    found = cli(
        "fuse", *runs, "--normalisation", "reciprocal-rank:k=10", "--export", f"opensearch={out}"
    )
    assert "opensearch" not in found.out
    (processor,) = json.loads(out.read_text())["phase_results_processors"]
    combination = processor["score-ranker-processor"]["combination"]
    assert combination["rank_constant"] == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--normalisation", "z", "--export", "elasticsearch"],
            "has no normalisation z; give --normalisation none",
        ),
        (["--missing", "lowest", "--export", "opensearch"], "counts 0 for a missing document"),
        (["--export", "solr"], "unknown program 'solr'"),
        (["--export", "elasticsearch="], "write elasticsearch=FILE"),
        (["--export", "elasticsearch", "--json"], "--json is one object; write --export"),
        (["--folds", "1"], "folds is 1; give 2 or more"),
        (["--export", "ranklib"], "normalisation min-max; give --normalisation none"),
        (["--metric", "ndcg@0"], "has no whole number above 0 after @; write ndcg@10"),
        (["--folds", "3", "--test-qrels", "x"], "takes the place of folds; drop --folds"),
        (["--metric", "p"], "p needs a last rank; write p@10"),
        (["--normalisation", "min-max,best"], "unknown normalisation 'best'"),
        (["--missing", "much"], "missing is 'much'; give lowest, zero or a number"),
        (["--out", "-", "--json"], "both write to standard output; drop one"),
        (
            ["--allow-negative", "--export", "elasticsearch"],
            "elasticsearch takes no weight below 0; drop --allow-negative",
        ),
    ],
)
def test_wrong_options_of_fuse_are_refused(refused, runs, options, message):
    assert message in refused("fuse", *runs, *options)


def test_files_without_options_are_told_which(refused):
    assert "write --run before each run" in refused("fuse", "a.run", "b.run", "qrels.txt")
    assert "write --run before each run" in refused("fuse", "--run", "a.run", "b.run")


def test_weights_below_zero_are_used_by_rerank_and_evaluate(cli, runs, tmp_path):
    # A run upside down is good with a weight below 0 alone.
    (tmp_path / "one.json").write_text('{"words": 1}')
    ranked = cli("rerank", *runs[:1], "-w", tmp_path / "one.json", "--normalisation=none").out
    lines = [line.split() for line in ranked.splitlines()]
    upside = tmp_path / "upside.run"
    upside.write_text(
        "".join(f"{q} Q0 {d} {rank} {-float(score)} up\n" for q, _, d, rank, score, _ in lines)
    )
    model, options = tmp_path / "model.json", ["--normalisation=none", "--missing=zero"]
    both = ["--run", upside, *runs[1:]]
    assert cli("fuse", *both, *options, "--allow-negative", "--folds=0", "--out", model).code == 0
    result = json.loads(model.read_text())
    assert result["weights"]["upside"] < 0.0
    assert sum(map(abs, result["weights"].values())) == pytest.approx(1.0)
    again = cli("evaluate", *both, "--weights", model, "--json")
    assert json.loads(again.out)["score"] == result["score"]
    positive = json.loads(cli("fuse", *both, *options, "--folds=0", "--json").out)
    assert positive["score"] < result["score"]


def test_what_cannot_be_held_out_or_does_not_count_is_said(cli, runs, tmp_path):
    (tmp_path / "one.qrels").write_text("dev-1 0 d00001 1\n")
    found = cli("fuse", *runs[:2], "--qrels", tmp_path / "one.qrels")
    assert "judge 4 or more to hold some out" in found.out
    (tmp_path / "other.run").write_text("test-1 Q0 d00001 1 1.0 other\n")
    found = cli("fuse", *runs, "--run", tmp_path / "other.run", "--folds", "0")
    assert "run 'other' has none of the judged queries" in found.err


def test_wrong_files_are_refused(refused, runs, test_qrels, tmp_path):
    assert "give a run or more, and judgements" in refused("fuse", *runs[:2])
    assert "nothing to mix it with" in refused("fuse", runs[0], *runs[2:])
    assert "tuned on and tested on" in refused("fuse", *runs, "--test-qrels", runs[-1])
    (tmp_path / "empty.qrels").write_text("other 0 d 1\n")
    said = refused("fuse", *runs[:2], "--qrels", tmp_path / "empty.qrels")
    assert "no query of the runs has judgements" in said
    judged = [tmp_path / name for name in ("qrels.txt", "test.qrels.txt")]
    lines = [line for file in judged for line in file.read_text().splitlines()]
    (tmp_path / "zero.qrels").write_text("".join(f"{line[:-1]}0\n" for line in lines))
    said = refused("fuse", *runs[:2], "--qrels", tmp_path / "zero.qrels")
    assert "no run has a document that is relevant" in said
    assert "would be lost" in refused(
        "fuse", *runs, "--out", test_qrels, "--test-qrels", test_qrels
    )
    (tmp_path / "m.json").write_text('{"weights": {"words": 1}, "normalisation": {"kind": "odd"}}')
    said = refused("rerank", *runs[:2], "-w", tmp_path / "m.json", file=tmp_path / "m.json")
    assert "its normalisation is none of ours" in said
    assert "--letor and --weights go together" in refused("evaluate", "--letor", tmp_path / "x")
    assert "either runs or rows" in refused("evaluate", *runs[2:])
