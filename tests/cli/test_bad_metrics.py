"""Metrics that are asked for wrongly, that lack what they need, or are somebody's own and wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jiwer
import pytest
import sacrebleu.metrics

from tests.helpers.cli.commands import Run, bleu

pytestmark = pytest.mark.long

Refused = Callable[..., str]
Make = Callable[[str, str | bytes], Path]


@pytest.fixture(params=["tune", "evaluate"])
def command(request: pytest.FixtureRequest, weights: Path) -> list[object]:
    """Each of the commands that score candidates."""
    if request.param == "tune":
        return ["tune", "--restarts", 0, "--json"]
    return ["evaluate", "--weights", weights, "--json"]


@pytest.fixture
def scoring(refused: Refused, command: list[object], lists: Path, refs: Path) -> Refused:
    """Have a metric refused on good lists."""

    def run(metric: str, *arguments: object, **where: Any) -> str:
        given = ["--candidates", lists, "--references", refs, "--metric", metric]
        return refused(*command, *given, *arguments, **where)

    return run


# Names and options

SPECS = {
    "": "unknown metric",
    "blue": "did you mean bleu",
    "BLEU": "did you mean bleu",
    "bleu,chrf": "unknown metric",
    "a/b": "unknown metric",
    "bleu(chrf)": "takes no metrics",
    "bleu)": "unknown metric",
    "sum": "write sum(bleu,chrf)",
    "sum:": "write sum(bleu,chrf)",
    "sum:bleu": "write sum(bleu,chrf)",
    "sum(": "bracket",
    "sum(bleu": "bracket",
    "sum(bleu))": "bracket",
    "sum()": "empty part",
    "sum(bleu,)": "empty part",
    "sum((bleu))": "unknown metric",
    "sum(bleu chrf)": "unknown metric 'bleu chrf'",
    "sum(2*)": "unknown metric",
    "sum(0*bleu)": "weights",
    "sum(1e999*bleu)": "weights",
    "sum(nan*bleu)": "nan*bleu",
    "sum(1.2.3*bleu)": "1.2.3*bleu",
    "sum(.*bleu)": ".*bleu",
    "sum(1_0*bleu)": "1_0*bleu",
    "harmonic(0*bleu,chrf)": "above 0",
    "harmonic(-1*bleu,chrf)": "above 0",
    "min(bleu,blue)": "did you mean bleu",
    "column": "column:NAME",
    "column:": "column:NAME",
    "cost:": "cost:NAME",
    "column:quality": "'quality'",
    "cost:quality": "'quality'",
    "sum(bleu,column:quality)": "'quality'",
    "bleu:order": "option=value",
    "bleu:order=": "whole number",
    "bleu:order=0": "1 or more",
    "bleu:order=-1": "1 or more",
    "bleu:order=101": "100 or less",
    "bleu:order=1.5": "whole number",
    "bleu:order=1_0": "whole number",
    "bleu:order=٣": "whole number",
    "bleu:order=4,order=2": "twice",
    "bleu:Order=4": "did you mean order",
    "bleu:reference_length_scale=1": "did you mean reference-length-scale",
    "bleu:tokenize=xyz": "unknown tokenizer 'xyz'",
    "bleu:smoothing=xyz": "did you mean add-k",
    "bleu:smoothing-value=-2": "0 or more",
    "bleu:smoothing-value=nan": "finite number",
    "bleu:lowercase=maybe": "true or false",
    "bleu:lowercase=True": "true or false",
    "bleu:reference-length=longest": "shortest",
    "bleu:reference-length-scale=0": "above 0",
    "bleu:reference-length-scale=inf": "finite number",
    "sentence-bleu:alpha=nan": "finite number",
    "sentence-bleu:alpha=0,smoothing=add-alpha": "above 0",
    "sentence-bleu:alpha=2": "smoothing=add-alpha",
    "sentence-bleu:brevity=none,unclipped=true": "leave them out",
    "chrf:beta=-1": "0 or more",
    "chrf:beta=nan": "finite number",
    "chrf:char-order=0": "1 or more",
    "chrf:char-order=-1": "0 or more",
    "chrf:whitespace=maybe": "true or false",
    "wer:lowercase=maybe": "true or false",
    "wer:order=1": "unknown option of metric 'wer' 'order'",
    "cer:lowercase=": "true or false",
    "ter:case-sensitive=x": "true or false",
    "ter:normalised=true": "did you mean normalized",
}


@pytest.mark.parametrize(("spec", "word"), SPECS.items(), ids=range(len(SPECS)))
def test_names_and_options(scoring: Refused, spec: str, word: str) -> None:
    assert word in scoring(spec)


def test_a_metric_beside_is_checked_too(refused: Refused, lists: Path, refs: Path) -> None:
    arguments = ["tune", "--candidates", lists, "--references", refs, "--metric", "bleu"]
    for spec in ("blue", "column:quality", "sum(bleu", "bleu:order=0"):
        refused(*arguments, "--metric", spec)


# Somebody's own

OWN = """\
import numpy as np
from tunesmith.metrics.base import Metric

class Length(Metric):
    is_sum = True
    scale = 1.0
    stat_names = ("value", "count")

    def stats(self, hypothesis, references):
        return np.array([float(len(hypothesis)), 1.0])

    def score(self, stats):
        return stats[..., 0] / stats[..., 1]

    def signature(self):
        return "length"

class Mine(Length):
"""
#: The body of a class, the line of the file (from its first) that is named, and a word.
CLASSES: dict[str, tuple[str, int | None, str]] = {
    "stats raise": ('    def stats(self, h, r):\n        raise KeyError("boom")\n', 2, "boom"),
    "score raises": ("    def score(self, stats):\n        return 1 / 0\n", 2, "ZeroDivision"),
    "signature raises": ("    def signature(self):\n        raise OSError\n", 2, "OSError"),
    "init raises": ('    def __init__(self):\n        raise ValueError("x\\ny")\n', 2, "x y"),
    "init wants something": ("    def __init__(self, x):\n        pass\n", None, "'x'"),
    "not finite": ("    def stats(self, h, r):\n        return [np.nan, 1.0]\n", None, "finite"),
    "too large": ("    def stats(self, h, r):\n        return [1.7e308, 1.0]\n", None, "too large"),
    "score is not finite": (
        "    def score(self, stats):\n        return stats[..., 0] * np.nan\n",
        None,
        "nan",
    ),
    "too few statistics": ("    def stats(self, h, r):\n        return [1.0]\n", None, "(4, 1)"),
    "other numbers of statistics": (
        "    def stats(self, h, r):\n        return np.ones(len(h))\n",
        None,
        "now fewer",
    ),
    "no statistics": ("    stat_names = ()\n", None, "0 statistics"),
    "statistics are texts": (
        '    def stats(self, h, r):\n        return ["a", "b"]\n',
        None,
        "<U1",
    ),
    "statistics are objects": (
        "    def stats(self, h, r):\n        return np.array([object(), 1])\n",
        None,
        "object",
    ),
    "statistics are complex": (
        "    def stats(self, h, r):\n        return [1j, 1]\n",
        None,
        "compl",
    ),
    "statistics are nothing": ("    def stats(self, h, r):\n        pass\n", None, "(4,)"),
    "score of one sum alone": (
        "    def score(self, stats):\n        return float(stats.ravel()[0])\n",
        None,
        "shape ()",
    ),
    "score of another shape": (
        "    def score(self, stats):\n        return stats\n",
        None,
        "shape (2, 2)",
    ),
    "features are changed": (
        "    def candidate_stats(self, c):\n        c.features.dense[:] = 0\n"
        "        return super().candidate_stats(c)\n",
        None,
        "changes the candidates",
    ),
    "statistics are changed": (
        "    def score(self, stats):\n        stats += 1\n        return stats[..., 0]\n",
        None,
        "changes the statistics",
    ),
    "the program is ended": (
        "    def stats(self, h, r):\n        raise SystemExit\n",
        None,
        "ended",
    ),
}


@pytest.mark.parametrize(("body", "line", "word"), CLASSES.values(), ids=CLASSES)
def test_own_class(scoring: Refused, make: Make, body: str, line: int | None, word: str) -> None:
    path = make("own.py", OWN + body)
    said = scoring(f"{path}:Mine")
    assert word in said
    if line is not None:
        place = f"{path.name}:{OWN.count(chr(10)) + line}: "
        assert place in said


#: A file, the name that is asked for, the line that is named, and a word.
FILES: dict[str, tuple[str | None, str, int | None, str]] = {
    "no file": (None, "Mine", None, "no such file"),
    "no class": (OWN + "    pass\n", "Yours", None, "did you mean"),
    "an empty file": ("", "Mine", None, "there is none"),
    "no metric": ("class Mine:\n    pass\n", "Mine", None, "derive it"),
    "a function": (OWN + "    pass\ndef f():\n    pass\n", "f", None, "unknown class"),
    "methods are missing": (OWN.replace("class Mine(Length)", "class Mine(Metric)") + "    x = 1\n",
                            "Mine", None, "abstract"),
    "a syntax error": ("x = 1\ndef f(:\n", "Mine", 2, "SyntaxError"),
    "an error at import": ("x = 1\n\ndef f():\n    return 1 / 0\nf()\n", "Mine", 4, "ZeroDivision"),
    "another module is missing": ("import no_such_module\n", "Mine", 1, "no_such_module"),
    "it ends the program": ("import sys\nsys.exit(0)\n", "Mine", 2, "SystemExit"),
    "no text": ("\udcff", "Mine", 1, "SyntaxError"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "name", "line", "word"), FILES.values(), ids=FILES)
def test_own_file(
    scoring: Refused, tmp_path: Path, content: str | None, name: str, line: int | None, word: str
) -> None:
    path = tmp_path / "own.py"
    if content is not None:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
    said = scoring(f"{path}:{name}")
    assert word in said
    assert str(path) in said
    if line is not None:
        assert said.startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("spec", ["own.py", "own.py:", "own.py:1x"])
def test_no_class_is_named(scoring: Refused, spec: str) -> None:
    assert "own.py:Name" in scoring(spec)


def test_references_that_a_metric_changes_are_its_own(
    cli: Run, make: Make, command: list[object], lists: Path, refs: Path
) -> None:
    body = (
        '    def stats(self, h, r):\n        r.append("x")\n        return [float(len(r)), 1.0]\n'
    )
    path = make("own.py", OWN + body)
    given = ["--candidates", lists, "--references", refs, "--metric", f"{path}:Mine"]
    assert cli(*command, *given).json()["score"] == 2


def test_small_whole_numbers_do_not_wrap_around(
    cli: Run, make: Make, command: list[object], lists: Path, refs: Path
) -> None:
    body = "    def stats(self, h, r):\n        return np.array([200, 1], np.uint8)\n"
    path = make("own.py", OWN + body)
    given = ["--candidates", lists, "--references", refs, "--metric", f"{path}:Mine"]
    found = cli(*command, *given).json()
    assert found["score"] == found["oracle_score"] == 200


# Candidates that lack something


def group(i: int, references: list[str] | None, *candidates: tuple[str, Any, Any]) -> str:
    made: dict[str, Any] = {"id": i, "candidates": []}
    for text, features, metrics in candidates:
        made["candidates"].append({"text": text, "features": features, "metrics": metrics})
    if references is not None:
        made["references"] = references
    return json.dumps(made) + "\n"


ONE, TWO = {"f": 1, "g": 2}, {"f": 2, "g": 1}
TEXT_METRICS = ["bleu", "sentence-bleu", "chrf", "chrf++", "ter", "wer", "cer"]
COMBINED = ["sum(bleu,wer)", "harmonic(bleu,chrf)", "min(bleu,ter)"]


@pytest.mark.parametrize("metric", TEXT_METRICS + COMBINED)
def test_no_references(refused: Refused, make: Make, command: list[object], metric: str) -> None:
    lists = make("lists", group(0, None, ("a", ONE, {}), ("b", TWO, {})))
    said = refused(*command, "--candidates", lists, "--metric", metric)
    assert "needs references" in said


@pytest.mark.parametrize("metric", TEXT_METRICS)
def test_no_texts(refused: Refused, make: Make, command: list[object], metric: str) -> None:
    lists = make("lists", group(0, ["a"], ("", ONE, {}), ("", TWO, {})))
    assert "empty" in refused(*command, "--candidates", lists, "--metric", metric)


def expected(metric: str, hypotheses: list[str], references: list[str]) -> float:
    """Score with the reference library."""
    if metric == "bleu":
        return float(bleu(hypotheses, [references]).score)
    if metric.startswith("chrf"):
        made: Any = sacrebleu.metrics.CHRF(word_order=2 if metric == "chrf++" else 0)
        return float(made.corpus_score(hypotheses, [references]).score)
    if metric == "ter":
        return float(sacrebleu.metrics.TER().corpus_score(hypotheses, [references]).score)
    function = jiwer.wer if metric == "wer" else jiwer.cer
    return 100 * float(function(references, hypotheses))


@pytest.mark.parametrize("metric", ["bleu", "chrf", "chrf++", "ter", "wer", "cer"])
def test_some_empty_texts(cli: Run, make: Make, command: list[object], metric: str) -> None:
    """Neither the texts nor the references of single groups need hold anything."""
    lists = make(
        "lists",
        group(0, ["a b c d"], ("", ONE, {}), ("", TWO, {}))
        + group(1, ["k l m n o"], ("k l m n", ONE, {}), ("k l m n", TWO, {}))
        + group(2, ["p"], ("\u00a0 \t", ONE, {})),
    )
    found = cli(*command, "--candidates", lists, "--metric", metric).json()
    wanted = expected(metric, ["", "k l m n", ""], ["a b c d", "k l m n o", "p"])
    assert found["score"] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("metric", TEXT_METRICS + COMBINED)
def test_all_references_are_empty(cli: Run, make: Make, command: list[object], metric: str) -> None:
    lists = make(
        "lists",
        group(0, [""], ("a", ONE, {}), ("", TWO, {})) + group(1, ["", ""], ("b c", ONE, {})),
    )
    score = cli(*command, "--candidates", lists, "--metric", metric).json()["score"]
    assert 0 <= score <= 200


# Columns

COLUMNS: dict[str, tuple[list[tuple[float, float]], str]] = {
    "too large to add": ([(1e308, 1e308)] * 3, "too large"),
    "large with both signs": ([(1e308, -1e308)] * 3, "too large"),
}


@pytest.mark.parametrize(("values", "word"), COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("metric", ["column:m", "cost:m", "sum(column:m,2*cost:m)"])
def test_columns_that_are_too_large(
    refused: Refused,
    make: Make,
    command: list[object],
    values: list[tuple[float, float]],
    word: str,
    metric: str,
) -> None:
    groups = [
        group(g, None, ("a", ONE, {"m": a}), ("b", TWO, {"m": b}))
        for g, (a, b) in enumerate(values)
    ]
    lists = make("lists", "".join(groups))
    assert word in refused(*command, "--candidates", lists, "--metric", metric)


@pytest.mark.parametrize("large", [1e300, 1e16, 5e-324])
def test_columns_of_any_size(cli: Run, make: Make, command: list[object], large: float) -> None:
    lists = make(
        "lists",
        group(0, None, ("a", ONE, {"m": large}), ("b", TWO, {"m": -large}))
        + group(1, None, ("a", ONE, {"m": large}), ("b", TWO, {"m": -large})),
    )
    found = cli(*command, "--candidates", lists, "--metric", "column:m").json()
    assert found["oracle_score"] == large
    assert found["score"] == large


@pytest.mark.parametrize("weight", ["1e300*", "-1e300*"])
def test_weights_that_are_too_large(
    refused: Refused, make: Make, command: list[object], weight: str
) -> None:
    lists = make("lists", group(0, None, ("a", ONE, {"m": 1e300}), ("b", TWO, {"m": 2e300})))
    said = refused(*command, "--candidates", lists, "--metric", f"sum({weight}column:m)")
    assert "inf" in said


# Statistics that come with the candidates

NAMES = ["length", "reference_length"]
NAMES += [f"{what}_{n}" for what in ("matches", "total") for n in range(1, 5)]
COUNTS = dict(zip(NAMES, [4, 4, 4, 3, 2, 1, 4, 3, 2, 1], strict=True))


def with_counts(*counts: dict[str, float]) -> str:
    rows = [{f"bleu.{name}": value for name, value in one.items()} for one in counts]
    return group(5, None, *[("", {"f": k, "g": 1}, row) for k, row in enumerate(rows)])


WRONG_COUNTS: dict[str, tuple[dict[str, float], str]] = {
    "below 0": ({**COUNTS, "length": -1}, "bleu.length is -1"),
    "more matches than n-grams": ({**COUNTS, "matches_2": 9}, "bleu.matches_2 is 9"),
}


@pytest.mark.parametrize(("counts", "word"), WRONG_COUNTS.values(), ids=WRONG_COUNTS)
def test_wrong_statistics(
    refused: Refused, make: Make, command: list[object], counts: dict[str, float], word: str
) -> None:
    lists = make("lists", with_counts(COUNTS, counts))
    said = refused(*command, "--candidates", lists)
    assert word in said
    assert "'5'" in said


def test_incomplete_statistics(refused: Refused, make: Make, command: list[object]) -> None:
    counts = {name: value for name, value in COUNTS.items() if name != "total_4"}
    lists = make("lists", with_counts(counts, counts))
    assert "'bleu.total_4'" in refused(*command, "--candidates", lists)


def test_statistics_alone(cli: Run, make: Make, command: list[object]) -> None:
    lists = make("lists", with_counts(COUNTS, {**COUNTS, "matches_4": 0}))
    found = cli(*command, "--candidates", lists).json()
    assert found["oracle_score"] == pytest.approx(100, abs=1e-9)
    assert found["length_ratio"] == 1
