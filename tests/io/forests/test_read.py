"""Forests from any files: one set, in order, in memory or on disk."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.io.forest_samples import CDEC, JOSHUA, MOSES
from tests.helpers.io.forest_samples import CDEC_JSON as CDEC_GRAPH
from tests.helpers.io.forest_sets import some, whole
from tunesmith.data import memory
from tunesmith.data.forests import ForestSet
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.forests.arrow.store import StoredForests
from tunesmith.io.forests.read import read_forests
from tunesmith.io.forests.write import write_forests


def lines(folder: Path, name: str, *records: dict[str, Any]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def text(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content)
    return path


@pytest.fixture
def graphs(tmp_path) -> Path:
    folder = tmp_path / "hg"
    folder.mkdir()
    for k in (10, 9, 1):
        text(folder, f"{k}.txt", MOSES.replace("house", f"house{k}"))
    text(folder, "weights", "LM0 1\n")
    text(folder, "README.md", "what this is\n")
    return folder


def test_a_folder_is_one_set_in_the_order_of_numbers(graphs) -> None:
    found = read_forests(graphs)
    assert found.ids == (1, 9, 10)
    for i in found.ids:
        assert whole(found)[i]["edges"][1][1] == [-1, "a", f"house{i}"]
    names = [f"{k}.txt" for k in (1, 9, 10)]
    listed = "".join(
        f"{hashlib.sha256((graphs / n).read_bytes()).hexdigest()}  {n}\n" for n in names
    )
    assert [f.path for f in found.files] == [str(graphs)]
    assert found.files[0].sha256 == hashlib.sha256(listed.encode()).hexdigest()


def test_formats_may_be_mixed(graphs, tmp_path) -> None:
    records = lines(tmp_path, "f.jsonl", {**CDEC, "id": 4})
    write_forests(replace(some(1), ids=(0,), references=None), tmp_path / "f.arrow")
    found = read_forests([graphs, records, tmp_path / "f.arrow"])
    assert found.ids == (0, 1, 4, 9, 10)
    assert [f.format for f in found.files] == ["moses-hypergraph", "cdec-forest", "arrow"]
    alone = whole(read_forests(records))
    assert whole(found)[4] == alone[4]


def test_files_without_numbers_are_counted(tmp_path) -> None:
    paths = [text(tmp_path, name, MOSES) for name in ("b.hg", "a.hg")]
    assert read_forests(paths).ids == (0, 1)
    folder = tmp_path / "named"
    folder.mkdir()
    text(folder, "b.hg", MOSES)
    text(folder, "a.hg", MOSES.replace("house", "first"))
    text(folder, "notes", "no forest\n")
    found = read_forests(folder)
    assert found.ids == (0, 1)
    assert "first" in whole(found)[0]["edges"][1][1]


def test_numbers_within_names_are_numbers(tmp_path) -> None:
    names = ["sent1", "sent2", "sent10", "sent11", "sentx"]
    for name in reversed(names):
        text(tmp_path, f"{name}.hg", MOSES.replace("house", name))
    found = read_forests(tmp_path)
    assert [whole(found)[k]["edges"][1][1][-1] for k in found.ids] == names


def test_what_a_folder_has_beside_its_numbers_is_warned_of(graphs, tmp_path) -> None:
    text(graphs, "extra.hg", MOSES)
    with pytest.warns(UserWarning, match=r"hg/extra.hg: this does not count: its name has no numb"):
        assert read_forests(graphs).ids == (1, 9, 10)
    (graphs / "3.txt").mkdir()
    with pytest.warns(UserWarning, match=r"3.txt: this does not count, and 1 more: it is no file"):
        assert read_forests(graphs).ids == (1, 9, 10)
    (graphs / "2.txt").symlink_to(tmp_path / "nowhere")
    with (
        pytest.warns(UserWarning, match="does not count"),
        pytest.raises(FormatError, match=r"2.txt: no such file or directory; name a file"),
    ):
        read_forests(graphs)


def test_numbers_of_files_with_zeros_before_them(tmp_path) -> None:
    folder = tmp_path / "lattices"
    folder.mkdir()
    for k in (0, 2, 10):
        text(folder, f"{k:03}.lat", f"N=2 L=1\nJ=0 S=0 E=1 W=w{k}\n")
    given = text(tmp_path, "r", "".join(f"r{k}\n" for k in range(11)))
    with pytest.warns(UserWarning, match="8 of 11 lines have no forest"):
        found = whole(read_forests(folder, given))
    assert {i: own["references"] for i, own in found.items()} == {0: ["r0"], 2: ["r2"], 10: ["r10"]}
    said = text(tmp_path, "t", "000 zero\n002 two\n10 ten\n")
    found = whole(read_forests(folder, format=f"htk:references={said}"))
    assert [found[i]["references"] for i in (0, 2, 10)] == [["zero"], ["two"], ["ten"]]


def test_a_name_that_is_no_utf8(tmp_path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.lat")
    with open(path, "w") as file:
        file.write("N=2 L=1\nJ=0 S=0 E=1 W=a\n")
    found = read_forests(tmp_path)
    assert found.ids == (r"caf\xe9",)
    write_forests(found, tmp_path / "f.arrow")
    assert read_forests(tmp_path / "f.arrow").ids == found.ids


#: A forest of every format of text that is recognised; one whose id is its place is forest 0.
TEXTS = {
    "plf": "((('a',0.5,1),),)\n",
    "cdec-forest": json.dumps({k: v for k, v in CDEC.items() if k != "id"}) + "\n",
    "cdec-json": CDEC_GRAPH,
    "moses-hypergraph": MOSES,
    "joshua-hypergraph": JOSHUA,
    "htk": "N=2 L=1\nJ=0 S=0 E=1 W=a\n",
    "kaldi-lattice": "0\n0 1 a 1,2,\n1\n\n",
}


def piped(data: bytes) -> int:
    """Return the descriptor of a pipe that something else writes to."""
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as file:
            file.write(data)

    threading.Thread(target=write).start()
    return reading


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("named", [False, True])
def test_pipes_are_read_once(tmp_path, monkeypatch, name: str, named: bool) -> None:
    plain = read_forests(text(tmp_path, "0.lat", TEXTS[name]))
    spec = name if named else None
    reading = piped(TEXTS[name].encode())
    found = read_forests(f"/dev/fd/{reading}", format=spec)
    os.close(reading)
    with open(piped(TEXTS[name].encode())) as file:
        monkeypatch.setattr(sys, "stdin", file)
        again = read_forests("-", format=spec)
    for other in (found, again):
        assert other.ids == (0,)
        assert whole(other) == whole(plain)
        assert (other.files[0].sha256, other.files[0].format) == (plain.files[0].sha256, name)


def test_a_pipe_of_our_own_format(tmp_path) -> None:
    write_forests(some(3), tmp_path / "f.arrow")
    reading = piped((tmp_path / "f.arrow").read_bytes())
    assert whole(read_forests(f"/dev/fd/{reading}")) == whole(some(3))
    os.close(reading)


def test_references_and_sources_are_lines(tmp_path) -> None:
    records = lines(tmp_path, "f.jsonl", {**CDEC, "id": 2}, {**CDEC, "id": 0})
    one = text(tmp_path, "r0", "the new house\nunused\n\n")
    two = text(tmp_path, "r1", "a\nb\nc d\n")
    inputs = text(tmp_path, "src", "das  Haus\n\nnull\r\n")
    with pytest.warns(UserWarning, match="1 of 3 lines have no forest and do not count"):
        found = read_forests(records, [one, two], sources=inputs)
    held = whole(found)
    assert held[0]["references"] == ["the new house", "a"]
    assert held[2]["references"] == ["", "c d"]
    assert found.sources == ("das  Haus", "null")
    assert [f.format for f in found.files] == ["cdec-forest", "text", "text", "text"]
    assert found.vocabulary[:3] == ("the", "house", ",")


@pytest.mark.parametrize("name", ["plf", "cdec-forest"])
def test_an_empty_line_is_a_sentence_without_a_forest(tmp_path, name: str) -> None:
    forests = text(tmp_path, "f", f"\n{TEXTS[name]} \n{TEXTS[name]}")
    given = text(tmp_path, "r", "zero\none\ntwo\nthree\n")
    with pytest.warns(UserWarning, match="r: 2 of 4 lines have no forest and do not count"):
        found = whole(read_forests(forests, given))
    assert {i: own["references"] for i, own in found.items()} == {1: ["one"], 3: ["three"]}


def test_references_take_the_place_of_those_in_the_file(tmp_path) -> None:
    own = {**CDEC, "id": 0, "references": ["own one", "x"], "source": "s"}
    records = lines(tmp_path, "f.jsonl", own)
    assert whole(read_forests(records))[0]["references"] == ["own one", "x"]
    given = text(tmp_path, "r", "other\n")
    found = whole(read_forests(records, given))[0]
    assert (found["references"], found["source"]) == (["other"], "s")
    with pytest.raises(TunesmithError, match=r"f.jsonl:2: forest '1' has no references and others"):
        read_forests(lines(tmp_path, "f.jsonl", own, {**CDEC, "id": 1}))


def test_a_forest_without_a_line_is_an_error(tmp_path) -> None:
    given = text(tmp_path, "r", "one\ntwo\n")
    records = lines(tmp_path, "f.jsonl", {**CDEC, "id": 2})
    with pytest.raises(FormatError, match="r: no reference for id 2, the file has 2 lines"):
        read_forests(records, given)
    with pytest.raises(FormatError, match="r: no source for id 2, the file has 2 lines"):
        read_forests(records, sources=given)
    records = lines(tmp_path, "f.jsonl", {**CDEC, "id": "x"})
    with pytest.raises(FormatError, match=r"r: no line begins with the id 'x'"):
        read_forests(records, given)
    with pytest.raises(FormatError, match=r"r: forest 'x' has no line here.*; put each source"):
        read_forests(records, sources=given)
    for name in ("kaldi-lattice", "htk"):
        lattice = text(tmp_path, "x.lat", TEXTS[name].replace("0\n0 1", "x\n0 1"))
        with pytest.raises(FormatError, match=r"r: forest 'x' has no line.*; give the forests num"):
            read_forests(lattice, sources=given)
    with pytest.raises(UsageError, match="sources are in more than one file"):
        read_forests(lines(tmp_path, "f.jsonl", {**CDEC, "id": 1}), sources=[given, given])


def test_lines_that_begin_with_ids(tmp_path) -> None:
    records = lines(tmp_path, "f.jsonl", *({**CDEC, "id": i} for i in ("utt-b", "x", "utt-a")))
    given = text(tmp_path, "r", "utt-a one two\nother three\nx\nutt-b four\n")
    with pytest.warns(UserWarning, match="1 of 4 lines have no forest"):
        forests = whole(read_forests(records, [given, given]))
    references = {i: forest["references"] for i, forest in forests.items()}
    assert references == {"utt-a": ["one two"] * 2, "utt-b": ["four"] * 2, "x": [""] * 2}
    numbers = lines(tmp_path, "n.jsonl", *({**CDEC, "id": i} for i in (12, 7, 10, 8)))
    given = text(tmp_path, "n", "7 a\n8 b\n10 c\n12 d\n")
    forests = whole(read_forests(numbers, given))
    assert {i: forest["references"] for i, forest in forests.items()} == {
        7: ["a"],
        8: ["b"],
        10: ["c"],
        12: ["d"],
    }


def test_ids_that_come_twice_name_both_places(graphs, tmp_path) -> None:
    twice = lines(tmp_path, "f.jsonl", CDEC, {**CDEC, "id": 4}, CDEC)
    with pytest.raises(
        FormatError, match=r"f.jsonl:3: forest '3' is in .*f.jsonl:1 too; give each"
    ):
        read_forests(twice)
    other = lines(tmp_path, "f.jsonl", {**CDEC, "id": "9"})
    with pytest.raises(FormatError, match=r"f.jsonl:1: forest '9' is in .*9.txt:2 too"):
        read_forests([graphs, other])


@pytest.mark.parametrize("size", [0, 4096, 16384, 1 << 40])
def test_what_memory_does_not_hold_goes_to_disk(tmp_path, monkeypatch, size: int) -> None:
    """Also in the middle of reading: what is in memory then goes first."""
    held = replace(some(12), ids=(5, 3, 9, 11, 0, 1, 2, 4, 6, 7, 8, 10))
    write_forests(held, tmp_path / "f.jsonl")
    monkeypatch.setattr(memory, "budget", lambda: size)
    found = read_forests(tmp_path / "f.jsonl")
    assert isinstance(found, ForestSet if size > 1 << 30 else StoredForests)
    assert found.ids == tuple(range(12))
    assert whole(found) == whole(held)
    refs = text(tmp_path, "refs", "".join(f"brand new{k}\n" for k in range(12)))
    again = read_forests(tmp_path / "f.jsonl", refs)
    assert whole(again)[7]["references"] == ["brand new7"]
    assert whole(again)[7]["edges"] == whole(held)[7]["edges"]
    selected = found.with_features(keep="f1")
    assert [names for _, _, names in whole(selected)[0]["edges"]] == [
        {k: v for k, v in names.items() if k == "f1"} for _, _, names in whole(held)[0]["edges"]
    ]


def test_our_own_file_stays_where_it_is_beyond_the_share(tmp_path, monkeypatch) -> None:
    held = some(6)
    write_forests(held, tmp_path / "f.arrow")
    monkeypatch.setattr(memory, "budget", lambda: 4 * held.arrays.bytes + 1024)
    assert isinstance(read_forests(tmp_path / "f.arrow"), ForestSet)
    monkeypatch.setattr(memory, "budget", lambda: 3 * held.arrays.bytes)
    before = len(os.listdir("/proc/self/fd"))
    refs = text(tmp_path, "refs", "".join(f"brand new{k}\n" for k in range(6)))
    found = read_forests(tmp_path / "f.arrow", refs)
    assert isinstance(found, StoredForests)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    assert whole(found)[4]["references"] == ["brand new4"]
    assert found.files[0].sha256 == hashlib.sha256((tmp_path / "f.arrow").read_bytes()).hexdigest()
    np.testing.assert_array_equal(found.in_memory().arrays.words, held.arrays.words)


def test_files_that_are_none(tmp_path) -> None:
    with pytest.raises(FormatError, match=r"nowhere: no such file or directory; name a file"):
        read_forests(tmp_path / "nowhere")
    empty = text(tmp_path, "empty", "")
    with pytest.raises(FormatError, match="empty: the file is empty; give a file with content"):
        read_forests(empty)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(FormatError, match="folder: there is no forest in this folder; name one"):
        read_forests(folder)
    text(folder, "weights", "LM 1\n")
    with pytest.raises(FormatError, match="folder: there is no forest in this folder; name one"):
        read_forests(folder)
    other = text(tmp_path, "other", "0 ||| a text ||| LM= 1 ||| 1\n")
    with pytest.raises(FormatError, match=r"other: there are no forests .* lists \(moses\); give"):
        read_forests(other)
    other = text(tmp_path, "other", "what is this\n")
    with pytest.raises(FormatError, match=r"other:1: this is no format of forests; name it with"):
        read_forests(other)
    (tmp_path / "utf16").write_bytes("ein Text".encode("utf-16"))
    with pytest.raises(FormatError, match="utf16:1: byte 0xff is not UTF-8"):
        read_forests(tmp_path / "utf16")
    with pytest.raises(FormatError, match="the file is empty"):
        read_forests(empty, format="arrow")
    with pytest.raises(TunesmithError, match="there is no forest; give a file"):
        read_forests([])
    with pytest.raises(FormatError, match="blank: there is no forest in it; give some"):
        read_forests(text(tmp_path, "blank", "\n\n"), format="cdec-forest")
