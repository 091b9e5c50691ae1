"""Forests that are none: what the commands say, with file and line, and that nothing is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli.commands import PREFIX, Run

pytestmark = pytest.mark.long

Refused = Callable[..., str]
Make = Callable[[str, str | bytes], Path]

MOSES = """\
# target ||| features ||| source-covered
3 5
# node 0
2
a ||| f=1.5 ||| 1
b ||| g=2.5 ||| 1
# node 1
1
c d ||| f=-0.5 g=1 ||| 1
# node 2
2
[0] [1] ||| f=0.25 ||| 2
[1] [0] ||| g=0.75 ||| 2
"""
JOSHUA = """\
# target ||| features
3 5
1
a ||| f=1.5
b ||| g=2.5
2
c d ||| f=-0.5 g=1
3
[1] [2] ||| f=0.25
[2] [1] ||| g=0.75
"""
RECORD: dict[str, Any] = {
    "id": 0,
    "features": ["f", "g"],
    "nodes": ["X", "X", "S"],
    "edges": [
        {"head": 0, "tails": [], "e": ["a"], "span": [0, 1], "feats": [0, 1.5]},
        {"head": 0, "tails": [], "e": ["b"], "span": [0, 1], "feats": [1, 2.5]},
        {"head": 1, "tails": [], "e": ["c", "d"], "span": [1, 2], "feats": [0, -0.5, 1, 1]},
        {"head": 2, "tails": [0, 1], "e": [[0], [1]], "span": [0, 2], "feats": [0, 0.25]},
        {"head": 2, "tails": [0, 1], "e": [[1], [0]], "span": [0, 2], "feats": [1, 0.75]},
    ],
}
HTK = """\
VERSION=1.0
UTTERANCE=one
N=3 L=4
I=0
I=1
I=2
J=0 S=0 E=1 W=a a=-1.5 l=-0.5
J=1 S=0 E=1 W=b a=-2.5 l=-0.25
J=2 S=1 E=2 W=c a=-0.75 l=-1
J=3 S=1 E=2 W=d a=-0.5 l=-2
"""
KALDI = """\
one
0 1 a 1.5,0.5,
0 1 b 2.5,0.25,
1 2 c 0.75,1,
1 2 d 0.5,2,
2

"""
PLF = "((('a',1.5,1),('b',2.5,1),),(('c',0.5,1),('d',0.25,1),),)\n"
TEXTS = {
    "moses-hypergraph": MOSES,
    "joshua-hypergraph": JOSHUA,
    "cdec-forest": json.dumps(RECORD) + "\n",
    "htk": HTK,
    "kaldi-lattice": KALDI,
    "plf": PLF,
}
#: Weights that match the features of each.
WEIGHTS = '{"f": 1, "g": 0.5, "acoustic": 1, "lm": 1, "graph": 1, "PLF": 1}'


def swap(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def record(**changed: Any) -> str:
    return json.dumps({**RECORD, **changed}) + "\n"


def edges(which: int, **changed: Any) -> str:
    own = [dict(edge) for edge in RECORD["edges"]]
    own[which].update(changed)
    return record(edges=own)


def wide(slot: str, first: int) -> str:
    """Return 300 slots: more tails than a hyperedge may have."""
    return " ".join(slot.format(first) for _ in range(300))


#: Format, content, the line that is named and a word of the error.
WRONG: Mapping[str, tuple[str, str, int | None, str]] = {
    "moses: cycle": ("moses-hypergraph", swap(MOSES, "b |||", "b [2] |||"), 6, "cycle"),
    "moses: itself": ("moses-hypergraph", swap(MOSES, "b |||", "b [0] |||"), 6, "cycle"),
    "moses: circle": ("moses-hypergraph", swap(MOSES, "c d |||", "c [2] |||"), None, "cycle"),
    "moses: no such node": (
        "moses-hypergraph",
        swap(MOSES, "[0] [1] |||", "[0] [7] |||"),
        12,
        "from 0 to 2",
    ),
    "moses: truncated": ("moses-hypergraph", MOSES[: MOSES.index("[1] [0]")], 12, "end"),
    "moses: empty": ("moses-hypergraph", MOSES.partition("\n")[0] + "\n0 0\n", None, "empty"),
    "moses: arity": (
        "moses-hypergraph",
        swap(MOSES, "[0] [1] |||", wide("[{}]", 0) + " |||"),
        12,
        "256",
    ),
    "moses: infinite": ("moses-hypergraph", swap(MOSES, "f=1.5", "f=inf"), 5, "finite"),
    "moses: no number": ("moses-hypergraph", swap(MOSES, "f=1.5", "f=x"), 5, "x"),
    "moses: counts": ("moses-hypergraph", swap(MOSES, "3 5", "3 6"), None, "6"),
    "joshua: cycle": ("joshua-hypergraph", swap(JOSHUA, "b |||", "b [3] |||"), 5, "cycle"),
    "joshua: no such node": ("joshua-hypergraph", swap(JOSHUA, "[2] |||", "[7] |||"), 9, "node"),
    "joshua: truncated": ("joshua-hypergraph", JOSHUA[: JOSHUA.index("[2] [1]")], 2, "there are 4"),
    "joshua: arity": (
        "joshua-hypergraph",
        swap(JOSHUA, "[1] [2] |||", wide("[{}]", 1) + " |||"),
        9,
        "256",
    ),
    "joshua: infinite": ("joshua-hypergraph", swap(JOSHUA, "f=1.5", "f=1e999"), 4, "finite"),
    "joshua: cut": ("joshua-hypergraph", JOSHUA[:-2], 10, "truncated"),
    "cdec: cycle": ("cdec-forest", edges(1, tails=[2], e=[[0]]), 1, "cycle"),
    "cdec: itself": ("cdec-forest", edges(2, tails=[1], e=[[0]]), 1, "cycle"),
    "cdec: no such node": ("cdec-forest", edges(3, tails=[0, 7]), 1, "node"),
    "cdec: negative": ("cdec-forest", edges(3, head=-1), 1, "node"),
    "cdec: slot": ("cdec-forest", edges(3, e=[[0], [0]]), 1, "tails once"),
    "cdec: arity": (
        "cdec-forest",
        edges(3, tails=[0] * 300, e=[[k] for k in range(300)]),
        1,
        "256",
    ),
    "cdec: no edges": ("cdec-forest", record(edges=[]), 1, "empty"),
    "cdec: no nodes": ("cdec-forest", record(nodes=[]), 1, "empty"),
    "cdec: unconnected": ("cdec-forest", record(edges=RECORD["edges"][:3]), 1, "connected"),
    "cdec: truncated": ("cdec-forest", record()[:200] + "\n", 1, "JSON"),
    "cdec: twice": ("cdec-forest", record() + record(), 2, "'0'"),
    "cdec: infinite": ("cdec-forest", edges(3, feats=[0, float("inf")]), 1, "finite"),
    "cdec: feature": ("cdec-forest", edges(3, feats=[5, 1.0]), 1, "feature"),
    "htk: cycle": ("htk", swap(HTK, "J=3 S=1 E=2", "J=3 S=2 E=1"), None, "cycle"),
    "htk: no such node": ("htk", swap(HTK, "J=3 S=1 E=2", "J=3 S=1 E=9"), 10, "9"),
    "htk: truncated": ("htk", HTK[: HTK.index("J=3")], None, "4"),
    "htk: cut": ("htk", HTK[:-1], 10, "truncated"),
    "htk: empty": ("htk", "VERSION=1.0\nN=0 L=0\n", None, "empty"),
    "htk: not finite": ("htk", swap(HTK, "a=-1.5", "a=nan"), 7, "nan"),
    "kaldi: cycle": ("kaldi-lattice", swap(KALDI, "1 2 d", "2 1 d"), None, "cycle"),
    "kaldi: no end": ("kaldi-lattice", swap(KALDI, "\n2\n", "\n"), 5, "final state"),
    "kaldi: not finite": ("kaldi-lattice", swap(KALDI, "1.5,0.5", "nan,0.5"), 2, "nan"),
    "kaldi: cut": ("kaldi-lattice", KALDI[: KALDI.index("1 2 d") + 3], 5, ""),
    "plf: backwards": ("plf", swap(PLF, "'c',0.5,1", "'c',0.5,-1"), 1, "-1"),
    "plf: beyond the end": ("plf", swap(PLF, "'c',0.5,1", "'c',0.5,9"), 1, "node 10"),
    "plf: truncated": ("plf", PLF[:40] + "\n", 1, ""),
    "plf: empty": ("plf", "()\n", 1, "empty"),
    "plf: not finite": ("plf", swap(PLF, "1.5", "1e999"), 1, "1e999"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_forests_are_refused(refused: Refused, make: Make, tmp_path: Path, case: str) -> None:
    form, content, line, word = WRONG[case]
    path, weights = make("f", content), make("w.json", WEIGHTS)
    own = ("--forests", path, "--format", form)
    said = refused("rerank", *own, "--weights", weights, "--out", tmp_path / "out")
    place = str(path) if line is None else f"{path}:{line}: "
    assert said.startswith(place), said
    assert word in said.removeprefix(str(path))
    again = refused("convert", *own, "--to", "arrow", "--out", tmp_path / "out.arrow")
    assert again == said


@pytest.mark.parametrize("form", TEXTS)
def test_samples_are_right(cli: Run, make: Make, form: str) -> None:
    """What is spoilt below is right before."""
    path, weights = make("f", TEXTS[form]), make("w.json", WEIGHTS)
    for own in ([], ["--format", form]):
        found = cli("rerank", "--forests", path, "--weights", weights, *own)
        assert found.code == 0, found.err
        assert len(found.lines()) == 1


# Mutations: whatever is done to a file, it is refused in one line, or read as it is.


def run_on(cli: Run, make: Make, form: str, content: str) -> tuple[int, str]:
    path, weights = make("f", content), make("w.json", WEIGHTS)
    found = cli("rerank", "--quiet", "--forests", path, "--format", form, "--weights", weights)
    if found.code != 0:
        assert found.code == 2, found.err
        assert found.out == ""
        assert re.fullmatch(rf"{PREFIX}{re.escape(str(path))}(:\d+)?: .+; .+\n", found.err)
    return found.code, found.out


@pytest.mark.parametrize("form", TEXTS)
def test_every_cut(cli: Run, make: Make, form: str) -> None:
    """A file that ends too early is refused; only a line that is whole may be the last."""
    text = TEXTS[form]
    whole = run_on(cli, make, form, text)
    for end in range(0, len(text) - 1, 3 if len(text) < 400 else 17):
        code, out = run_on(cli, make, form, text[:end])
        # Kaldi's lattices have no end but final states, of which there may be several.
        assert code == 2 or out == whole[1] or form == "kaldi-lattice", text[:end]


@pytest.mark.parametrize("form", ["moses-hypergraph", "joshua-hypergraph", "htk", "kaldi-lattice"])
def test_every_line_missing_or_twice(cli: Run, make: Make, form: str) -> None:
    lines = TEXTS[form].splitlines(keepends=True)
    whole = run_on(cli, make, form, TEXTS[form])
    for k, line in enumerate(lines):
        for changed in ([*lines[:k], *lines[k + 1 :]], [*lines[:k], line, *lines[k:]]):
            code, out = run_on(cli, make, form, "".join(changed))
            # Kaldi counts nothing: an arc more or less is another lattice.
            assert code == 2 or out == whole[1] or form == "kaldi-lattice", line


#: What a number in a file may become. Values are those with a point.
NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(?![\w.])")


@pytest.mark.parametrize("form", TEXTS)
def test_every_number_changed(cli: Run, make: Make, form: str) -> None:
    text = TEXTS[form]
    for found in NUMBER.finditer(text):
        for other in ("nan", "1e999", "x", "-1", "99999999999999999999", "2147483648"):
            code, _ = run_on(cli, make, form, text[: found.start()] + other + text[found.end() :])
            is_value = found[1] is not None and not text[: found.start()].endswith("VERSION=")
            if is_value and other in {"nan", "1e999", "x"}:
                assert code == 2, (text[max(0, found.start() - 9) : found.end()], other)


# What the options name.


@pytest.mark.parametrize("form", TEXTS)
def test_forests_given_as_lists(refused: Refused, make: Make, form: str) -> None:
    path = make("f", TEXTS[form])
    said = refused("tune", "--candidates", path, "--references", make("ref", "a\n"), file=path)
    assert "forests" in said
    assert said.endswith("give them with --forests")


def test_stored_forests_and_folders_given_as_lists(
    cli: Run, refused: Refused, make: Make, tmp_path: Path
) -> None:
    path, arrow = make("f", MOSES), tmp_path / "f.arrow"
    assert cli("convert", "--forests", path, "--out", arrow).code == 0
    said = refused("evaluate", "--candidates", arrow, "--weights", make("w", WEIGHTS), file=arrow)
    assert said.endswith("give them with --forests")
    said = refused("tune", "--candidates", tmp_path, file=tmp_path)
    assert "--forests" in said


def test_lists_given_as_forests(
    cli: Run, refused: Refused, lists: Path, refs: Path, tmp_path: Path
) -> None:
    for name in ("l.jsonl", "l.arrow", "l.csv", "l.parquet"):
        assert cli("convert", "--candidates", lists, "--out", tmp_path / name).code == 0
    for path in (lists, *(tmp_path / f"l.{e}" for e in ("jsonl", "arrow", "csv", "parquet"))):
        said = refused("tune", "--forests", path, "--references", refs, file=path)
        assert said.endswith("give lists with --candidates")


def test_files_that_are_not_there(refused: Refused, make: Make, tmp_path: Path) -> None:
    weights = make("w.json", WEIGHTS)
    given = ("rerank", "--weights", weights, "--forests")
    nowhere = tmp_path / "nowhere"
    refused(*given, nowhere, file=nowhere)
    (tmp_path / "folder").mkdir()
    assert "no forest" in refused(*given, tmp_path / "folder", file=tmp_path / "folder")
    (tmp_path / "folder" / "notes.md").write_text("nothing")
    assert "no forest" in refused(*given, tmp_path / "folder", file=tmp_path / "folder")
    bad = tmp_path / "folder" / "3.txt"
    bad.write_text(swap(MOSES, "f=1.5", "f=x"))
    refused(*given, tmp_path / "folder", file=bad, line=5)
    empty = make("empty", "")
    assert "empty" in refused(*given, empty, file=empty)


def test_references_that_do_not_fit(cli: Run, refused: Refused, make: Make) -> None:
    second = json.dumps({**RECORD, "id": 4}) + "\n"
    path, weights = make("f", record() + second), make("w.json", WEIGHTS)
    given = ("--forests", path, "--weights", weights)
    few = make("few", "a c d\n")
    said = refused("evaluate", *given, "--references", few, file=few)
    assert "id 4" in said
    assert "references" in refused("evaluate", *given)
    many = make("many", "a c d\n" * 6)
    found = cli("evaluate", *given, "--references", many)
    assert found.code == 0
    assert f"{many}: 4 of 6 lines have no forest" in found.err


#: Arguments after a set of forests with references and weights, and a word of the error.
OPTIONS: Mapping[str, tuple[list[str], str]] = {
    "column": (["--metric", "column:x"], "--nbest"),
    "part of a metric": (["--metric", "sum(bleu,column:x)"], "--nbest"),
    "column beside": (["--metric", "bleu", "--metric", "column:x"], "--nbest"),
    "scores": (["--scores", "a=b"], "--candidates"),
    "search": (["--forest-search", "best"], "'best'"),
    "lists": (["--forest-lists", "best"], "'best'"),
    "size": (["--list-size", "0"], "0"),
    "memory": (["--memory", "much"], "'much'"),
    "negative memory": (["--memory=-1G"], "'-1G'"),
    "way to prune": (["--prune", "most:1"], "'most'"),
    "no number": (["--prune", "beam"], "beam:NUMBER"),
    "posterior": (["--prune", "posterior:2"], "from 0 to 1"),
    "beam": (["--prune", "beam:-1"], "0 or more"),
    "density": (["--prune", "density:0"], "above 0"),
    "not a number": (["--prune", "beam:nan"], "0 or more"),
    "both": (["--candidates", "x"], "--candidates"),
    "both held out": (["--dev-forests", "x", "--dev-candidates", "y"], "--dev-"),
    "another kind of format": (["--format", "moses"], "moses-hypergraph"),
    "tuner": (["--tuner", "lp-mert"], "lists"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options_that_do_not_fit(
    refused: Refused, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setenv("TUNESMITH_MEMORY", "1G")
    given = ("--forests", make("f", MOSES), "--references", make("ref", "a c d\n"))
    own, word = OPTIONS[case]
    start = ("--start", make("w.json", WEIGHTS), "--out", tmp_path / "out")
    assert word in refused("tune", *given, *start, *own)


def test_options_of_forests_without_them(
    refused: Refused, make: Make, lists: Path, refs: Path, weights: Path
) -> None:
    given = ("tune", "--candidates", lists, "--references", refs)
    for own in (["--forest-search", "linear"], ["--forest-lists", "samples"], ["--list-size", "7"]):
        said = refused(*given, *own)
        assert said.startswith(own[0])
        assert "--forests" in said
    assert "--forests" in refused(*given, "--start", weights, "--prune", "beam:1")
    forests = ("tune", "--forests", make("f", MOSES), "--references", refs)
    assert "--start" in refused(*forests, "--prune", "beam:1")
    held = ("rerank", "--weights", weights, "--list-size", "7")
    assert "--nbest" in refused(*held, "--candidates", lists, "--nbest")
    assert "--nbest" in refused(*held, "--forests", make("f", MOSES))
    assert "--forests" in refused("convert", "--candidates", lists, "--nbest", "3", "--to", "jsonl")


def test_convert_writes_nothing_by_halves(refused: Refused, make: Make, tmp_path: Path) -> None:
    path, weights = make("f", MOSES), make("w.json", WEIGHTS)
    given = ("convert", "--forests", path)
    assert "--to" in refused(*given, "--out", tmp_path / "f.what")
    assert "read only" in refused(*given, "--to", "cdec-json", "--out", tmp_path / "folder")
    assert "folder" in refused(*given, "--to", "htk", "--out", "-")
    assert "--weights" in refused(*given, "--nbest", "3", "--out", tmp_path / "l.jsonl")
    assert "--nbest" in refused(*given, "--weights", weights, "--out", tmp_path / "f.arrow")
    nothing = (*given, "--weights", weights, "--nbest", "0", "--out", tmp_path / "l.jsonl")
    assert "0 derivations" in refused(*nothing)
    refused(*given, "--to", "kaldi-lattice", "--out", tmp_path / "lattices")
    full = tmp_path / "full"
    full.mkdir()
    (full / "0.txt.gz").write_text("mine")
    assert "empty folder" in refused(*given, "--to", "moses-hypergraph", "--out", full)
