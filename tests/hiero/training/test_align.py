"""Word alignment: by Thot, and from files."""

from __future__ import annotations

import builtins
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.hiero.aligned_text import Pair, pairs, text_of
from tunesmith.errors import TunesmithError
from tunesmith.hiero.training.align import (
    ALIGNERS,
    align,
    check_aligner,
    read_alignment,
)
from tunesmith.hiero.training.parallel_text import LONGEST, ParallelText
from tunesmith.hiero.training.symmetrise import WAYS, symmetrised
from tunesmith.parallel.local import threads


def written(folder: Path, source: str, target: str) -> ParallelText:
    (folder / "source").write_text(source, encoding="utf-8")
    (folder / "target").write_text(target, encoding="utf-8")
    return ParallelText.read(folder / "source", folder / "target")


@pytest.mark.parametrize("aligner", ALIGNERS)
def test_words_that_always_go_together(aligner: str, tmp_path: Path) -> None:
    pytest.importorskip("thot")
    rng = random.Random(1)
    source, target, expected = [], [], []
    for _ in range(300):
        words = rng.sample(range(25), rng.randint(2, 6))
        order = list(range(len(words)))
        order[:2] = [1, 0]  # the first two change places
        source.append(" ".join(f"s{w}" for w in words))
        target.append(" ".join(f"t{words[k]}" for k in order))
        expected.append(sorted([order[j], j] for j in range(len(order))))
    text = written(tmp_path, "\n".join(source) + "\n", "\n".join(target) + "\n")
    with threads(2):
        to_source, to_target = align(text, aligner)
    with threads(1):
        again = align(text, aligner)
    assert (again[0].tolist(), again[1].tolist()) == (to_source.tolist(), to_target.tolist())
    assert len(to_source) == len(text.target.ids)
    assert len(to_target) == len(text.source.ids)
    links = symmetrised(to_source, to_target, text.source.start, text.target.start, WAYS[0])
    right = sum(
        links.places[links.start[k] : links.start[k + 1]].tolist() == own
        for k, own in enumerate(expected)
    )
    assert right > 0.9 * len(expected)


@given(several=st.lists(pairs(), min_size=1, max_size=5), data=st.data())
def test_files(several: list[Pair], data: st.DataObject, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("links") / "links"
    lines = []
    for pair in several:
        links = data.draw(st.permutations(sorted(pair.links)))
        lines.append(" ".join(f"{i}-{j}" for i, j in [*links, *links[:1]]))
    path.write_text("\n".join(lines) + "\n")
    text, expected = text_of(several)
    found, digest = read_alignment(path, text)
    assert found.start.tolist() == expected.start.tolist()
    assert found.places.tolist() == expected.places.tolist()
    assert digest.path == str(path)


def test_lines_of_pairs_that_are_not_used(tmp_path: Path) -> None:
    long = " ".join(["a"] * (LONGEST + 1))
    text = written(tmp_path, f"a b\n\nc\n{long}\nd\n", "x\ny\n\nz\nw v\n")
    assert (len(text), text.empty, text.long) == (2, 2, 1)
    assert text.lines.tolist() == [0, 4]
    (tmp_path / "links").write_text("1-0\nno links here\n7-7\n\n0-1\n")
    found, _ = read_alignment(tmp_path / "links", text)
    assert found.start.tolist() == [0, 1, 2]
    assert found.places.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        ("0-0\n0-0 1:1\n", ":2: ", "'1:1' is no link"),
        ("0-0\n0\n", ":2: ", "'0' is no link"),
        ("0-0\n-1-0\n", ":2: ", "'-1-0' is no link"),
        ("0-0\n0-2\n", ":2: ", "link '0-2', and the target side has 1 words"),
        ("1-0\n0-0\n", ":1: ", "link '1-0', and the source side has 1 words"),
        ("0-0\n", ": ", "it has 1 lines and the text has 2"),
        ("0-0\n0-0\n0-0\n", ": ", "it has 3 lines and the text has 2"),
        ("", ": ", "the file is empty"),
        ("0-0\r0-0\r", ":1: ", "lines end in CR alone"),
    ],
)
def test_wrong_files(content: str, place: str, problem: str, tmp_path: Path) -> None:
    text = written(tmp_path, "a\nb c\n", "x\ny\n")
    path = tmp_path / "links"
    path.write_text(content, newline="")
    with pytest.raises(TunesmithError) as error:
        read_alignment(path, text)
    assert str(error.value).startswith(f"{path}{place}{problem}")
    assert "; " in str(error.value)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("thot"):
            raise ImportError(name)
        return real(name, *rest, **more)

    for name in [n for n in sys.modules if n == "thot" or n.startswith("thot.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(TunesmithError, match=r"--alignment FILE needs .*'tunesmith\[thot\]'"):
        check_aligner("hmm", 5)


def test_wrong_aligners() -> None:
    with pytest.raises(TunesmithError, match="unknown aligner 'hmn'; did you mean hmm"):
        check_aligner("hmn", 5)
    with pytest.raises(TunesmithError, match="trained in 0 rounds; give 1 or more"):
        check_aligner("hmm", 0)


def test_different_numbers_of_lines(tmp_path: Path) -> None:
    with pytest.raises(TunesmithError, match=r"target: it has 1 lines and .*source has 2; give"):
        written(tmp_path, "a\nb\n", "x\n")
    with pytest.raises(TunesmithError, match="no line has words on both sides"):
        written(tmp_path, "a\n \n", "\nx\n")


def test_words_of_both_sides_share_a_vocabulary(tmp_path: Path) -> None:
    text = written(tmp_path, "||| [X] a\n", "a |||\n")
    words = [[text.vocabulary[int(w)] for w in side] for side in (text.source[0], text.target[0])]
    assert words == [["|||", "[X]", "a"], ["a", "|||"]]
    assert np.unique(np.concatenate([text.source.ids, text.target.ids])).tolist() == [0, 1, 2]
