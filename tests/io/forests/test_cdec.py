"""cdec's forests as JSON lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import forest_arrays, forest_set
from tests.helpers.io.forest_samples import CDEC
from tests.helpers.io.forest_sets import drawn_set, whole
from tests.helpers.tiers import examples
from tunesmith.data.forests import ForestSet
from tunesmith.errors import FormatError
from tunesmith.inference.forests.derivations import best_derivations, features_of
from tunesmith.io.forests import cdec as forest_cdec
from tunesmith.io.forests.base import Numbering
from tunesmith.io.forests.read import read_forests
from tunesmith.io.forests.write import write_forests
from tunesmith.io.streams import Source


def put(folder: Path, *records: Any) -> Path:
    path = folder / "f.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_forest_is_read_as_it_stands(tmp_path) -> None:
    found = read_forests(put(tmp_path, CDEC))
    assert whole(found) == {
        3: {
            "heads": [0, 1, 2, 3],
            "covered": [2, 1, 3],
            "edges": [
                ([], ["the", "house"], {"LM": -1.5}),
                ([], [], {}),
                ([0, 1], [-2, ",", -1], {"Glue": 1.0, "LM": 2.0}),
            ],
            "references": None,
            "source": None,
            "counts": [],
        }
    }
    assert found.names == ("LM", "Glue")
    assert found.files[0].format == "cdec-forest"


@settings(max_examples=examples(50))
@given(drawn_set())
def test_round_trip(tmp_path_factory, forests: ForestSet) -> None:
    path = tmp_path_factory.mktemp("cdec") / "f.jsonl.gz"
    write_forests(forests, path)
    found = read_forests(path)
    assert whole(found) == whole(forests)
    assert found.names == forests.names


def test_values_are_written_in_full(tmp_path) -> None:
    values = {0: 0.1, 1: -1 / 3, 2: 1e-300, 3: 1.7e308, 4: 1e17, 5: 123456789012345678.0}
    held = forest_set([forest_arrays([(0, [], [0], values)], 0)], 6, 1)
    write_forests(held, tmp_path / "f.jsonl")
    assert whole(read_forests(tmp_path / "f.jsonl")) == whole(held)


words = st.sampled_from(
    [
        "a",
        "the",
        '"',
        "\\",
        "/",
        "é",
        "🎼",
        "longer than eight",
        "a\u00a0b",
        "",
        " ",
        "\u3000",
        "\t",
    ]
)
values = st.one_of(st.integers(-(10**25), 10**25), st.floats(-1e9, 1e9), st.sampled_from([1e300]))
edges = st.fixed_dictionaries(
    {
        "head": st.integers(0, 2),
        "tails": st.lists(st.integers(0, 1), max_size=2),
        "e": st.lists(st.one_of(words, st.lists(st.integers(0, 1), min_size=1, max_size=1))),
        "feats": st.lists(st.tuples(st.integers(0, 1), values), max_size=3).map(
            lambda pairs: [x for pair in pairs for x in pair]
        ),
    },
    optional={"span": st.tuples(st.integers(0, 3), st.integers(3, 9)).map(list)},
)


@given(
    edges=st.lists(edges, max_size=4),
    shuffled=st.permutations(["head", "tails", "e", "feats", "span"]),
    ascii_only=st.booleans(),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" , ", " :  ")]),
    last=st.booleans(),
)
def test_both_ways_of_reading_give_the_same(edges, shuffled, ascii_only, separators, last) -> None:
    """Whatever kernels take they read as the slow way does, which is Python's own JSON."""
    own = [{key: edge[key] for key in shuffled if key in edge} for edge in edges]
    record: dict[str, Any] = {"features": ["f", "g"], "nodes": ["X"] * 3}
    record = {**record, "edges": own} if last else {"edges": own, **record}
    text = json.dumps(record, ensure_ascii=ascii_only, separators=separators)
    by_words, by_names = (Numbering(), Numbering()), (Numbering(), Numbering())
    quick = forest_cdec._Quick(by_names[0], by_words[0]).forest(text, 7)
    slow = forest_cdec._forest(json.loads(text), 7, by_names[1], by_words[1])
    plain = all(
        " ".join([w for w in edge["e"] if isinstance(w, str)]).split()
        == [w for w in edge["e"] if isinstance(w, str)]
        for edge in own
    )
    short = all(abs(v) < 1e9 and len(repr(v)) < 15 for edge in own for v in edge["feats"][1::2])
    if quick is None:
        assert not plain or not short or (ascii_only and "🎼" in str(own))
        return
    for name in ("id", "nodes", "goal", "line", "source", "references"):
        assert getattr(quick, name) == getattr(slow, name)
    for name in ("heads", "tail_start", "tails", "feature_start", "feature_ids", "word_start"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name), strict=True)
    np.testing.assert_array_equal(quick.feature_values, slow.feature_values)
    np.testing.assert_array_equal(quick.words, slow.words)
    np.testing.assert_array_equal(quick.covered, slow.covered)
    assert list(by_words[0]) == list(by_words[1])
    assert list(by_names[0]) == list(by_names[1])


def test_more_words_than_the_table_holds(tmp_path) -> None:
    """The table of tokens grows in the middle of a line."""
    side = [f"word{k}" for k in range(10_000)]
    forest = {**CDEC, "nodes": ["S"], "edges": [{**CDEC["edges"][0], "e": side}]}
    found = read_forests(put(tmp_path, forest, {**CDEC, "id": 4}))
    assert whole(found)[3]["edges"][0][1] == side
    assert whole(found)[4]["edges"][0][1] == ["the", "house"]


def test_words_with_white_space_are_several(tmp_path) -> None:
    """cdec splits at blanks alone; a no-break space separates tokens for everybody else here."""
    forest = {**CDEC, "edges": [{**CDEC["edges"][0], "head": 2, "e": ["a\u00a0b", "", "c"]}]}
    found = read_forests(put(tmp_path, forest))
    assert whole(found)[3]["edges"] == [([], ["a", "b", "c"], {"LM": -1.5})]


def changed(edge: int, **parts: Any) -> dict[str, Any]:
    edges = [dict(own) for own in CDEC["edges"]]
    edges[edge].update(parts)
    return {**CDEC, "edges": edges}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([1], "no object with the lists 'features', 'nodes' and 'edges'"),
        ({**CDEC, "nodes": 3}, "no object with the lists"),
        ({**CDEC, "features": [1, 2]}, "a name among 'features' is no text"),
        ({**CDEC, "id": 1.5}, "the id 1.5 is neither a number nor a text"),
        ({**CDEC, "id": True}, "the id True is neither a number nor a text"),
        ({**CDEC, "source": 3}, "'source' is no text"),
        ({**CDEC, "references": "x"}, "'references' or 'covered' is no list"),
        ({**CDEC, "covered": [1]}, "'covered' is not a number for each node"),
        ({**CDEC, "covered": [1, 1, -7]}, "'covered' is not a number for each node"),
        ({**CDEC, "edges": [3]}, "hyperedge 1 is no object"),
        ({**CDEC, "nodes": []}, "the forest is empty"),
        ({**CDEC, "edges": []}, "the forest is empty"),
        (changed(1, head="0"), "'head' of hyperedge 2 is not a node's number"),
        (changed(1, head=True), "'head' of hyperedge 2 is not a node's number"),
        (changed(1, head=-1), "'head' of hyperedge 2|hyperedge 2 has a node that does not exist"),
        (changed(1, head=3), "hyperedge 2 has a node that does not exist"),
        (changed(1, head=10**30), "'head' of hyperedge 2 is not a node's number"),
        (changed(2, tails=[0, 1.0]), "'tails' of hyperedge 3 is not a list of nodes' numbers"),
        (changed(2, tails=None), "'tails' of hyperedge 3 is not a list of nodes' numbers"),
        (changed(2, tails=[0, 7]), "hyperedge 3 has a node that does not exist"),
        (changed(2, tails=[0]), "the target side of hyperedge 3 does not name each of its tails"),
        (changed(2, e=[[0], [0]]), "the target side of hyperedge 3 does not name each"),
        (changed(2, e=[[0, 1]]), "'e' of hyperedge 3 is not a list of words and of tails"),
        (changed(2, e=[[-1], [0]]), "'e' of hyperedge 3 is not a list of words and of tails"),
        (changed(2, e=[3]), "'e' of hyperedge 3 is not a list of words and of tails"),
        (changed(0, e="the"), "'e' of hyperedge 1 is not a list of words and of tails"),
        (changed(0, feats=[0]), "'feats' of hyperedge 1 is not a list of index, value"),
        (changed(0, feats=[2, 1.0]), "'feats' of hyperedge 1 is not a list of index, value"),
        (changed(0, feats=[-1, 1.0]), "'feats' of hyperedge 1 is not a list of index, value"),
        (changed(0, feats=[0, "1"]), "'feats' of hyperedge 1 is not a list of index, value"),
        (changed(0, feats=[0, float("nan")]), "a feature of hyperedge 1 is not finite"),
        (changed(0, feats=[0, float("inf")]), "a feature of hyperedge 1 is not finite"),
        (changed(0, feats=[0, 10**400]), "'feats' of hyperedge 1|is not finite|too"),
        (changed(0, span=[3, 2]), "'span' of hyperedge 1 is not where the words begin"),
        (changed(0, span=[1]), "'span' of hyperedge 1 is not where the words begin"),
        (changed(0, tails=[2], e=[[0]]), "hyperedge [13] is in a cycle"),
        (changed(2, tails=[1] * 257, e=[[k] for k in range(257)]), "3 has more than 256 tails"),
    ],
)
def test_errors_name_the_line(tmp_path, record: Any, message: str) -> None:
    path = put(tmp_path, {**CDEC, "id": 0}, record)
    with pytest.raises(FormatError, match=rf"f.jsonl:2: .*({message})"):
        read_forests(path)


def test_truncated_lines_and_archives(tmp_path) -> None:
    text = json.dumps(CDEC)
    path = tmp_path / "f.jsonl"
    for end in range(1, len(text) - 1, 7):
        path.write_text(json.dumps({**CDEC, "id": 0}) + "\n" + text[:end])
        with pytest.raises(FormatError, match=r"f.jsonl:2: this is no complete JSON"):
            read_forests(path)
    path.write_text("[" * 100_000)
    with pytest.raises(FormatError, match="nested too deeply"):
        read_forests(path, format="cdec-forest")
    packed = tmp_path / "f.jsonl.gz"
    packed.write_bytes(gzip.compress((text + "\n").encode() * 50)[:-30])
    with pytest.raises(FormatError, match="end too early"):
        read_forests(packed)


@pytest.mark.parametrize(
    "record",
    [
        changed(1, e=["\ud800"]),
        changed(1, e=["a", "\udc00\ud800"]),
        {**CDEC, "id": "\ud800"},
        {**CDEC, "source": "x\udfff"},
        {**CDEC, "references": ["\ud800"]},
        {**CDEC, "features": ["LM", "\ud800"]},
    ],
)
def test_half_of_a_surrogate_pair_is_an_error(tmp_path, record) -> None:
    with pytest.raises(FormatError, match=r"f.jsonl:2: a text holds half of a surrogate pair; wri"):
        read_forests(put(tmp_path, CDEC, record))


def test_whole_surrogate_pairs_and_what_looks_like_one(tmp_path) -> None:
    record = {**changed(1, e=["🎼", "\\ud800"]), "source": "🎼"}
    path = put(tmp_path, record)
    assert "ud83c" in path.read_text()
    found = whole(read_forests(path))[3]
    assert found["edges"][1][1] == ["🎼", "\\ud800"]
    assert found["source"] == "🎼"


def test_json_beyond_all_measure(tmp_path) -> None:
    path = tmp_path / "f.jsonl"
    text = json.dumps(CDEC)
    path.write_text(text.replace('"id": 3', f'"id": {"9" * 5000}') + "\n")
    with pytest.raises(FormatError, match=r"f.jsonl:1: a number has more than 4300 digits; give"):
        read_forests(path)
    deep = "[" * 100_000 + "]" * 100_000
    path.write_text(text.replace('"id": 3', f'"other": {deep}') + "\n")
    with pytest.raises(FormatError, match=r"f.jsonl:1: the JSON is nested too deeply; write"):
        read_forests(path, format="cdec-forest")


@settings(max_examples=examples(60))
@given(st.data())
def test_no_byte_breaks_the_kernel(data) -> None:
    """Any change of a line is read as Python's JSON reads it, or left to it."""
    raw = bytearray(json.dumps(CDEC).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b"[", b"]", b"{", b"}", b",", b'"', b"\\", b"9", b"-", b" "])
        )
    text = raw.decode()
    quick = forest_cdec._Quick(Numbering(), Numbering()).forest(text, 1)
    try:
        slow = forest_cdec._forest(json.loads(text), 1, Numbering(), Numbering())
    except (ValueError, *forest_cdec.WRONG):
        # JSON has no numbers such as 007 and 9.; nothing else may be wrong.
        assert quick is None or _loose(text)
        return
    if quick is not None:
        np.testing.assert_array_equal(quick.words, slow.words)
        np.testing.assert_array_equal(quick.feature_values, slow.feature_values)
        np.testing.assert_array_equal(quick.tails, slow.tails)


def _loose(text: str) -> bool:
    import re

    mended = re.sub(r"(?<=[\[,: -])0+(?=[0-9])", "", text)
    mended = re.sub(r"(?<=[0-9])\.(?=[,\]])", "", mended)
    mended = re.sub(r"(?<=[\[, -])\.(?=[0-9])", "0.", mended)
    try:
        json.loads(mended)
    except ValueError:
        return False
    return True


def test_source_is_read_line_by_line(tmp_path) -> None:
    path = put(tmp_path, *({**CDEC, "id": k} for k in range(3)))
    reader = forest_cdec.CdecForests().read(Source(path), Numbering(), Numbering())
    assert [next(reader).id, next(reader).id] == [0, 1]
    assert next(reader).line == 3


def test_the_best_scores_of_real_forests_are_the_decoders(shared_data) -> None:
    folder = shared_data / "nc-wmt11-de-en"
    forests = read_forests(folder / "dev.forests.jsonl.gz")
    assert forests.groups == 500
    assert int(forests.edges.sum()) == 1_463_766
    lines = (folder / "weights.init").read_text().splitlines()
    weights = {name: float(value) for name, value in (line.split() for line in lines)}
    vector = np.array([weights[name] for name in forests.names])
    found = features_of(forests, best_derivations(forests, vector))
    best: dict[int, float] = {}
    with gzip.open(folder / "dev.kbest.gz", "rt") as file:
        for line in file:
            fields = line.split(" ||| ")
            best.setdefault(int(fields[0]), float(fields[3]))
    for s, i in enumerate(forests.ids):
        row = slice(found.start[s], found.start[s + 1])
        score = vector[found.features[row]] @ found.values[row]
        assert score == pytest.approx(best[int(i)], abs=1e-4)
