"""The speech example: language model scores in lattices, and that the tutorial has its output."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.docs.blocks import ROOT
from tests.helpers.tiers import examples

EXAMPLE = ROOT / "examples" / "speech"
DATA = ROOT / "examples" / "tutorials" / "speech"
WORDS = ("a", "b", "c", "<sil>")


@pytest.fixture(scope="module")
def modules() -> tuple[ModuleType, ModuleType]:
    """The modules of the example: that of lattices, and the script."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        return importlib.import_module("lattices"), importlib.import_module("recognise")
    finally:
        sys.path.remove(str(EXAMPLE))


def probability(word: str, *before: str) -> float:
    """Tell a number that depends on all three words."""
    return -sum(len(w) * ord(w[0]) * k for k, w in enumerate((word, *before), 2)) / 500.0


@st.composite
def drawn_lattice(draw: st.DrawFn) -> tuple[list[str], dict[tuple[int, int], int]]:
    """Draw words of nodes, and scores of edges, as pocketsphinx has them."""
    inner = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
    nodes = ["<s>", *inner, "</s>"]
    edges = {}
    for i, j in itertools.combinations(range(len(nodes)), 2):
        if j == i + 1 or draw(st.booleans()):
            edges[i, j] = draw(st.integers(-40000, 0))
    return nodes, edges


def text_of(nodes: list[str], edges: dict[tuple[int, int], int]) -> str:
    lines = ["# getcwd: /", "# -logbase 1.000100e+00", "#", "Frames 9", "#"]
    lines += [f"Nodes {len(nodes)} (NODEID WORD STARTFRAME FIRST-ENDFRAME LAST-ENDFRAME)"]
    lines += [f"{k} {word} {k} {k} {k} ; {k}" for k, word in enumerate(nodes)]
    lines += ["#", "Initial 0", f"Final {len(nodes) - 1}", "#", "BestSegAscr 0", "#"]
    lines += ["Edges (FROM-NODEID TO-NODEID ASCORE)"]
    lines += [f"{i} {j} {score}" for (i, j), score in edges.items()]
    return "\n".join([*lines, "End", ""])


def paths(
    nodes: list[str], edges: dict[tuple[int, int], int]
) -> list[tuple[tuple[str, ...], float, float]]:
    """Return the words, the acoustic and the language score of each path."""
    found = []

    def go(node: int, words: tuple[str, ...], acoustic: float) -> None:
        if node == len(nodes) - 1:
            said = ["<s>", *words, "</s>"]
            pairs = (
                probability(*reversed(said[max(0, k - 2) : k + 1])) for k in range(1, len(said))
            )
            language = sum(pairs)
            found.append((words, acoustic, language))
        for (i, j), score in edges.items():
            if i == node:
                own = () if nodes[j][0] == "<" else (nodes[j],)
                go(j, (*words, *own), acoustic + score * math.log(1.0001))

    go(0, (), 0.0)
    return found


def paths_of(arcs) -> list[tuple[tuple[str, ...], float, float]]:
    """Return the same of arcs."""
    found, last = [], max(arc.target for arc in arcs)

    def go(state: int, words: tuple[str, ...], acoustic: float, language: float) -> None:
        if state == last:
            found.append((words, acoustic, language))
        for arc in arcs:
            if arc.source == state:
                own = () if arc.word is None else (arc.word,)
                go(arc.target, words + own, acoustic + arc.acoustic, language + arc.language)

    go(0, (), 0.0, 0.0)
    return found


@settings(max_examples=examples(100))
@given(drawn=drawn_lattice(), size=st.integers(1, 12))
def test_scores_are_those_of_the_words_of_each_path(tmp_path_factory, modules, drawn, size) -> None:
    lattices, _ = modules
    path = tmp_path_factory.mktemp("lattice") / "0.lat"
    path.write_text(text_of(*drawn))
    read = ts.read_forests(path, format="sphinx")
    scale = lattices.Scale(language=3.0, word=-0.5)
    wanted = sorted(paths(*drawn))
    found = sorted(paths_of(lattices.with_language_model(read, probability, scale, 10**6)))
    assert [words for words, *_ in found] == [words for words, *_ in wanted]
    np.testing.assert_allclose(
        [scores for _, *scores in found], [scores for _, *scores in wanted], atol=1e-9
    )
    # With few arcs, the best path stays, and each path is one of all.
    few = paths_of(lattices.with_language_model(read, probability, scale, size))
    best = max(a + 3.0 * lm - 0.5 * len(words) for words, a, lm in wanted)
    assert max(a + 3.0 * lm - 0.5 * len(words) for words, a, lm in few) == pytest.approx(best)
    assert {words for words, *_ in few} <= {words for words, *_ in wanted}


@pytest.mark.long
@pytest.mark.parametrize("part", ["tune", "test"])
def test_the_lists_are_the_best_of_the_lattices(tmp_path, modules, part) -> None:
    _, recognise = modules
    shutil.copy(DATA / f"{part}.lat.gz", tmp_path)
    recognise.write_lists(tmp_path, part, 20)
    for name in (f"{part}.tsv", f"{part}.lm.txt"):
        assert (tmp_path / name).read_text() == (DATA / name).read_text()


@pytest.mark.parametrize("missing", ["espeak-ng", "pocketsphinx"])
def test_what_is_missing_is_told(monkeypatch, modules, missing) -> None:
    _, recognise = modules
    monkeypatch.setattr(
        recognise.shutil, "which", lambda name: None if name == missing else "/usr/bin/true"
    )
    monkeypatch.setattr(recognise.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=f"^{missing} is not installed; "):
        recognise.check_programs()


@pytest.mark.long
def test_it_speaks_and_recognises(tmp_path) -> None:
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed")
    pytest.importorskip("pocketsphinx", reason="pocketsphinx is not installed")
    command = [sys.executable, EXAMPLE / "recognise.py", "--utterances", "2", "--processes", "1"]
    subprocess.run([*command, "--out", tmp_path], check=True, capture_output=True)
    for name in ("tune.ref", "test.ref", "tune.conditions", "test.conditions"):
        lines = (DATA / name).read_text().splitlines(keepends=True)
        assert (tmp_path / name).read_text() == "".join(lines[:2])
    for part in ("tune", "test"):
        with gzip.open(tmp_path / f"{part}.lat.gz", "rt") as lattices:
            assert lattices.read().count("\n\n") == 2
        assert len((tmp_path / f"{part}.tsv").read_text().splitlines()) == 40


def test_the_weights_are_those_of_pocketsphinx(modules) -> None:
    """Its own output and the best path of our lattices differ little: it approximates."""
    weights = DATA / "lattices.json"
    said = ts.rerank(ts.read_forests(DATA / "test.lat.gz"), json.loads(weights.read_text()))
    heard = Path(DATA / "test.heard").read_text().splitlines()
    assert sum(a == b for a, b in zip(said, heard, strict=True)) > len(heard) / 2
