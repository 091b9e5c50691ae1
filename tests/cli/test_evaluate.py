"""``tunesmith evaluate``: the same figures as sacrebleu."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import sacrebleu.metrics

from tests.helpers.cli.commands import (
    REFERENCES,
    Run,
    bleu,
    by_group,
    parse_moses,
    python,
    random_lists,
)

Make = Callable[[str, str | bytes], Path]

KEYS = {
    "schema",
    "signature",
    "metric",
    "score",
    "length_ratio",
    "brevity_penalty",
    "statistics",
    "oracle_score",
    "oracle_exact",
    "anti_oracle_score",
}


@pytest.fixture
def evaluate(cli: Run, make: Make) -> Callable[..., dict[str, Any]]:
    """Evaluate an output against references, given as lists of lines."""

    def run(
        hypotheses: Sequence[str], references: Sequence[Sequence[str]], *options: object
    ) -> dict[str, Any]:
        arguments: list[object] = ["--hypotheses", make("hypotheses", lines(hypotheses))]
        for k, texts in enumerate(references):
            arguments += ["--references", make(f"references{k}", lines(texts))]
        found = cli("evaluate", *arguments, *options, "--json")
        assert found.err == ""
        return found.json()

    return run


Evaluate = Callable[..., dict[str, Any]]


def lines(texts: Sequence[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def same(found: dict[str, Any], wanted: Any, unsmoothed: Any = None) -> None:
    """Check all figures against sacrebleu's; its add-k changes the counts that it returns."""
    counted = unsmoothed or wanted
    assert set(found) >= KEYS
    assert found["schema"] == "tunesmith.evaluate/1"
    assert found["metric"] == "bleu"
    assert found["score"] == pytest.approx(wanted.score, rel=0, abs=1e-9)
    assert found["brevity_penalty"] == pytest.approx(wanted.bp, rel=0, abs=1e-12)
    ratio = wanted.sys_len / wanted.ref_len if wanted.ref_len else 0.0
    assert found["length_ratio"] == pytest.approx(ratio, rel=0, abs=1e-12)
    statistics = found["statistics"]
    assert statistics["length"] == wanted.sys_len
    assert statistics["reference_length"] == wanted.ref_len
    orders = range(1, len(counted.counts) + 1)
    assert [statistics[f"matches_{n}"] for n in orders] == list(counted.counts)
    assert [statistics[f"total_{n}"] for n in orders] == list(counted.totals)
    assert set(statistics) == {
        "length",
        "reference_length",
        *(f"{what}_{n}" for what in ("matches", "total") for n in orders),
    }


@pytest.fixture(scope="module")
def output(bundled: Path) -> tuple[list[str], list[str]]:
    """The first candidates of the bundled test lists, and their references."""
    with gzip.open(bundled / "test.nbest.gz", "rt", encoding="utf-8") as file:
        groups = by_group(parse_moses(file))
    references = (bundled / "test.ref").read_text(encoding="utf-8").split("\n")[:-1]
    return [group[0].text for group in groups.values()], references


def other_references(references: Sequence[str], seed: int) -> list[str]:
    """Drop, swap and repeat some words."""
    rng = random.Random(seed)
    found = []
    for line in references:
        words = line.split()
        for _ in range(rng.randint(0, 4)):
            if words:
                k = rng.randrange(len(words))
                words[k : k + 1] = rng.choice([[], words[k : k + 2][::-1], [words[k]] * 2])
        found.append(" ".join(words))
    return found


# An output


def test_one_reference(evaluate: Evaluate, output: tuple[list[str], list[str]]) -> None:
    hypotheses, references = output
    found = evaluate(hypotheses, [references])
    same(found, bleu(hypotheses, [references]))
    assert found["oracle_score"] is None
    assert found["anti_oracle_score"] is None


@pytest.mark.parametrize("count", [2, 3, 5])
def test_several_references(
    evaluate: Evaluate, output: tuple[list[str], list[str]], count: int
) -> None:
    hypotheses, first = output
    references = [first, *(other_references(first, seed) for seed in range(1, count))]
    same(evaluate(hypotheses, references), bleu(hypotheses, references))


@pytest.mark.parametrize(
    ("options", "theirs"),
    [
        ("smoothing=none", {"smooth_method": "none"}),
        ("smoothing=floor", {"smooth_method": "floor"}),
        ("smoothing=floor,smoothing-value=0.5", {"smooth_method": "floor", "smooth_value": 0.5}),
        ("smoothing=add-k", {"smooth_method": "add-k"}),
        ("smoothing=add-k,smoothing-value=2", {"smooth_method": "add-k", "smooth_value": 2}),
        ("smoothing=exp", {"smooth_method": "exp"}),
        ("order=2", {"max_ngram_order": 2}),
        ("order=6", {"max_ngram_order": 6}),
        ("lowercase=true", {"lowercase": True}),
        ("tokenize=13a", {"tokenize": "13a"}),
        ("tokenize=intl", {"tokenize": "intl"}),
        ("tokenize=char", {"tokenize": "char"}),
        ("tokenize=zh,lowercase=true", {"tokenize": "zh", "lowercase": True}),
    ],
)
@pytest.mark.parametrize("size", ["large", "small"])
def test_options(
    evaluate: Evaluate,
    output: tuple[list[str], list[str]],
    options: str,
    theirs: dict[str, Any],
    size: str,
) -> None:
    if size == "large":
        hypotheses, references = output
    else:  # no match of four words, so that smoothing shows
        hypotheses = ["The cat, sat on it.", "A (black) Dog ran"]
        references = ["the cat sat, on the mat.", "a black dog ran away !"]
    found = evaluate(hypotheses, [references], "--metric", f"bleu:{options}")
    unsmoothed = bleu(hypotheses, [references], **{**theirs, "smooth_method": "none"})
    same(found, bleu(hypotheses, [references], **theirs), unsmoothed)


def test_signature_changes_with_the_options(evaluate: Evaluate) -> None:
    metrics = ["bleu", "bleu:order=3", "bleu:lowercase=true", "bleu:smoothing=floor"]
    found = [evaluate(["a"], [["a"]], "--metric", metric)["signature"] for metric in metrics]
    assert len(set(found)) == len(metrics)


@pytest.mark.parametrize(
    ("mode", "length"), [("closest", 4 + 3), ("shortest", 2 + 3), ("average", 4.0 + 4.0)]
)
def test_reference_length(evaluate: Evaluate, mode: str, length: float) -> None:
    # Of 5 words: 2, 4 and 6 are 3, 1 and 1 away, the shorter counts. Of 3 words: 3 and 6, 3.
    hypotheses = ["a b c d e", "k l m"]
    references = [["a b", "k l m"], ["a b c d", "k l m n o p"], ["a b c d e f", "k l x"]]
    found = evaluate(hypotheses, references, "--metric", f"bleu:reference-length={mode}")
    assert found["statistics"]["reference_length"] == pytest.approx(length)
    assert found["length_ratio"] == pytest.approx(8 / length)


@pytest.mark.parametrize(
    "hypotheses",
    [
        ["", "k l m n"],
        ["a b c d e", ""],
        ["", ""],
        ["x y z", "x"],
        ["a", "k"],
        ["a a a a a a", "k l k l k l"],
        ["   a b  c", " \t k l m n "],
    ],
)
def test_extreme_hypotheses(evaluate: Evaluate, hypotheses: list[str]) -> None:
    references = REFERENCES.splitlines()
    same(evaluate(hypotheses, [references]), bleu(hypotheses, [references]))


def test_empty_references(evaluate: Evaluate) -> None:
    hypotheses, references = ["a b c d", "x"], ["a b c d", ""]
    same(evaluate(hypotheses, [references]), bleu(hypotheses, [references]))


def test_white_space_of_all_kinds(evaluate: Evaluate) -> None:
    """Lines end at line feeds alone; words as ``str.split`` has them."""
    spaces = [" ", "\t", "\u00a0", "\u2003", "\u2028", "\u3000", "\x85", "\x1c", "\x0b", "\x0c"]
    hypotheses = ["a" + space + "b c d" for space in spaces]
    references = ["a b c d"] * len(spaces)
    found = evaluate(hypotheses, [references])
    assert found["score"] == pytest.approx(100, abs=1e-9)
    assert found["statistics"]["length"] == 4 * len(spaces)
    # These look like white space and are none.
    found = evaluate(["a\u200bb", "a\ufeffb", "a\u2060b"], [["a b"] * 3])
    assert found["statistics"]["length"] == 3
    assert found["statistics"]["matches_1"] == 0


@pytest.mark.parametrize("change", ["windows", "no last line end", "gzip"])
def test_files_of_other_kinds(
    cli: Run, output: tuple[list[str], list[str]], make: Make, change: str
) -> None:
    hypotheses, references = output
    content = [lines(hypotheses).encode(), lines(references).encode()]
    if change == "windows":
        content = [text.replace(b"\n", b"\r\n") for text in content]
    elif change == "gzip":
        content = [gzip.compress(text) for text in content]
    else:
        content = [text[:-1] for text in content]
    arguments = ["--hypotheses", make("h", content[0]), "--references", make("r", content[1])]
    same(cli("evaluate", *arguments, "--json").json(), bleu(hypotheses, [references]))


def test_standard_input(cli: Run, output: tuple[list[str], list[str]], bundled: Path) -> None:
    hypotheses, references = output
    arguments = ["evaluate", "--hypotheses", "-", "--references", bundled / "test.ref", "--json"]
    wanted = bleu(hypotheses, [references])
    same(cli(*arguments, stdin=lines(hypotheses).encode()).json(), wanted)


def test_threads_change_nothing(evaluate: Evaluate, output: tuple[list[str], list[str]]) -> None:
    hypotheses, references = output
    found = [evaluate(hypotheses, [references], "--threads", n) for n in (1, 2)]
    assert found[0] == found[1]


def test_text(cli: Run, make: Make) -> None:
    hypotheses, references = ["a b c d x", "k l m"], REFERENCES.splitlines()
    arguments = ["--hypotheses", make("h", lines(hypotheses)), "--references"]
    found = cli("evaluate", *arguments, make("r", REFERENCES))
    assert found.code == 0
    assert found.err == ""
    assert found.out.count("\n") == 1
    wanted = bleu(hypotheses, [references])
    assert f"{wanted.score:.4f}" in found.out
    assert f"{wanted.bp:.4f}" in found.out


def test_program(make: Make) -> None:
    hypotheses, references = ["ä b c d x", "k l m"], ["ä b c d e", "k l m n"]
    arguments = ["--hypotheses", "-", "--references", make("r", lines(references)), "--json"]
    found = python("-m", "tunesmith", "evaluate", *arguments, input=lines(hypotheses))
    assert (found.returncode, found.stderr) == (0, "")
    same(json.loads(found.stdout), bleu(hypotheses, [references]))


# Candidates and weights


def test_winners(cli: Run, bundled: Path) -> None:
    candidates, weights = bundled / "test.nbest.gz", bundled / "weights.final"
    references = (bundled / "test.ref").read_text(encoding="utf-8").split("\n")[:-1]
    given = ["--candidates", candidates, "--weights", weights]
    chosen = cli("rerank", *given).lines()
    found = cli("evaluate", *given, "--references", bundled / "test.ref", "--json").json()
    same(found, bleu(chosen, [references]))
    assert found["oracle_exact"] is False
    assert found["anti_oracle_score"] < found["score"] < found["oracle_score"]


@pytest.mark.parametrize("seed", range(6))
def test_oracle_is_a_choice_and_a_bound(cli: Run, make: Make, seed: int) -> None:
    texts, references = random_lists(seed, groups=4, size=4)
    groups = by_group(parse_moses(texts)).values()
    scores = [
        bleu([c.text for c in choice], [references]).score for choice in itertools.product(*groups)
    ]
    arguments = [
        "--candidates",
        make("c", lines(texts)),
        "--references",
        make("r", lines(references)),
    ]
    found = cli("evaluate", *arguments, "--weights", make("w", "TM0= 1 1\n"), "--json").json()
    for key in ("score", "oracle_score", "anti_oracle_score"):
        assert min(abs(found[key] - score) for score in scores) < 1e-9
    assert found["anti_oracle_score"] <= found["score"] <= found["oracle_score"]
    # Found greedily, but these are small.
    assert found["oracle_score"] > max(scores) - 5
    assert found["anti_oracle_score"] < min(scores) + 5


def test_another_number_of_references_in_each_group(cli: Run, make: Make) -> None:
    groups = [
        ("a b c d x", ["a b c d e", "a b c d x y"]),
        ("k l m n", ["k l m o"]),
        ("p q r s t", ["p q", "p q r s", "q r s t"]),
    ]
    text = lines(
        [
            json.dumps(
                {
                    "id": f"group {k}",
                    "references": references,
                    "candidates": [{"text": hypothesis, "features": {"f": 1}}],
                }
            )
            for k, (hypothesis, references) in enumerate(groups)
        ]
    )
    arguments = ["--candidates", make("c.jsonl", text), "--weights", make("w", "f= 1\n")]
    found = cli("evaluate", *arguments, "--json").json()
    columns = itertools.zip_longest(*(references for _, references in groups))
    same(found, bleu([hypothesis for hypothesis, _ in groups], list(columns)))


def test_references_given_beside_json_lines_count(cli: Run, make: Make) -> None:
    group = {
        "id": 0,
        "references": ["other words here now"],
        "candidates": [{"text": "a b c d", "features": {"f": 1}}],
    }
    arguments = ["--candidates", make("c.jsonl", json.dumps(group))]
    arguments += ["--references", make("r", "a b c d\n"), "--weights", make("w", "f= 1\n")]
    assert cli("evaluate", *arguments, "--json").json()["score"] == pytest.approx(100)


def test_references_without_candidates_do_not_count(cli: Run, make: Make) -> None:
    arguments = ["--candidates", make("c", "1 ||| k l m x ||| f= 1\n")]
    arguments += ["--references", make("r", REFERENCES), "--weights", make("w", "f= 1\n")]
    found = cli("evaluate", *arguments, "--json")
    assert found.err.startswith("tunesmith: warning: ")
    assert found.err.count("\n") == 1
    same(found.json(), bleu(["k l m x"], [["k l m n"]]))


@pytest.mark.parametrize("command", ["evaluate", "rerank"])
def test_candidates_without_any_text_are_refused(
    refused: Callable[..., str], make: Callable[..., Path], command: str
) -> None:
    table = make("t.csv", "id,lm\n0,1\n0,2\n")
    arguments = ["--candidates", table, "--weights", make("w.json", '{"lm": 1}')]
    if command == "evaluate":
        arguments += ["--references", make("refs", "a\n"), "--metric", "wer"]
    assert "empty" in refused(command, *arguments)


def test_several_metrics_each_have_a_line(cli: Run, make: Make) -> None:
    hypotheses, references = ["a b c d e", "k l m"], ["a b c d f", "k l m n"]
    given = (
        "--hypotheses",
        make("h", lines(hypotheses)),
        "--references",
        make("r", lines(references)),
    )
    metrics = ("--metric", "bleu", "--metric", "chrf", "--metric", "ter")
    found = cli("evaluate", *given, *metrics).lines()
    wanted = {
        "bleu": sacrebleu.metrics.BLEU(tokenize="none", smooth_method="none"),
        "chrf": sacrebleu.metrics.CHRF(),
        "ter": sacrebleu.metrics.TER(),
    }
    for line, (name, metric) in zip(found, wanted.items(), strict=True):
        score = metric.corpus_score(hypotheses, [references]).score
        assert line.startswith(f"{name} {score:.4f}")
    whole = cli("evaluate", *given, *metrics, "--json").json()
    assert [whole["metric"], *(one["metric"] for one in whole["others"])] == list(wanted)
    assert [one["score"] for one in whole["others"]] == [
        cli("evaluate", *given, "--metric", name, "--json").json()["score"]
        for name in ("chrf", "ter")
    ]


def test_several_metrics_of_candidates(cli: Run, lists: Path, refs: Path, weights: Path) -> None:
    given = ("--candidates", lists, "--references", refs, "--weights", weights)
    both = cli("evaluate", *given, "--metric", "bleu", "--metric", "wer").lines()
    each = [cli("evaluate", *given, "--metric", name).lines()[0] for name in ("bleu", "wer")]
    assert both == each
