"""Hypergraphs of Joshua, written from HyperGraph.java and FeatureVector.java of 6.0.5."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import drawn_forest
from tests.helpers.io.forest_samples import JOSHUA
from tests.helpers.io.lattices import (
    check_damaged,
    damaged,
    edges_of,
    named_set,
    read_path,
    read_text,
)
from tests.helpers.tiers import examples
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.forests.base import FOREST_FORMATS
from tunesmith.io.forests.joshua import JoshuaHypergraph
from tunesmith.io.forests.moses import MosesHypergraph


def test_a_dump():
    found = read_text(JoshuaHypergraph(), JOSHUA)
    assert found.names == ["tm_glue_0", "lm_0", "tm_pt_0", "OOVPenalty"]
    assert found.paths() == Counter(
        {
            (("the", "house"), (("lm_0", -3.75), ("tm_glue_0", -1.0), ("tm_pt_0", -0.5))): 1,
            (("a",), (("lm_0", -4.25), ("tm_glue_0", -1.0))): 1,
            ((), (("lm_0", -9.25),)): 1,
        }
    )


def test_a_goal_that_is_left_out_and_that_several_nodes_lead_to():
    text = JOSHUA.replace("4 6", "5 7") + "5\n[2] again [2] </s> ||| lm_0=-1.000\n"
    paths = read_text(JoshuaHypergraph(), text).paths()
    for words, values in [
        (("a",), {"lm_0": -4.25, "tm_glue_0": -1.0}),
        (("a", "again", "the", "house"), {"lm_0": -6.5, "tm_pt_0": -0.5}),
    ]:
        assert paths[words, tuple(sorted(values.items()))] == 1
    # Three of the first top; two ways for each of two slots of the second.
    assert sum(paths.values()) == 3 + 2 * 2


def test_it_is_not_taken_for_a_hypergraph_of_moses():
    moses = JOSHUA.replace("features", "features ||| source-covered")
    assert FOREST_FORMATS.get("joshua-hypergraph").recognises(JOSHUA.encode())
    assert JoshuaHypergraph.recognises(JOSHUA.replace("\n", "\r\n").encode())
    assert not JoshuaHypergraph.recognises(moses.encode())
    assert not MosesHypergraph.recognises(JOSHUA.encode())
    assert MosesHypergraph.recognises(moses.encode())


@settings(max_examples=examples(40))
@given(st.lists(drawn_forest(arity=3), min_size=1, max_size=2))
def test_what_is_written_is_read_again(tmp_path_factory, drawn):
    names, words = ("lm_0", "tm=pt", "é"), ("a", "[x]", "#", "|")
    folder = tmp_path_factory.mktemp("joshua") / "hg"
    forests = named_set(drawn, names, words)
    JoshuaHypergraph().write(forests, folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{k}.txt.gz" for k in range(len(drawn))
    ]
    for k, arrays in enumerate(drawn):
        found = read_path(JoshuaHypergraph(), folder / f"{k}.txt.gz")
        wanted = edges_of(arrays, names, words)
        assert by_target_side(found.edges()) == by_target_side(wanted)


def by_target_side(nodes):
    """Write tails where they stand: their order is that of the target side in a file."""

    def spelt(tails, side):
        return [f"[{tails[-w - 1]}]" if isinstance(w, int) else w for w in side]

    return [[(spelt(tails, side), values) for tails, side, values in rows] for rows in nodes]


def test_what_has_no_place_is_not_written(tmp_path):
    forest = read_text(JoshuaHypergraph(), JOSHUA).as_set()
    kind = type(forest)
    words, names = ("[3]", *forest.vocabulary[1:]), ("x y", *forest.names[1:])
    for odd, path, problem in [
        (kind((0,), forest.arrays, forest.names, words), "x.hg", r"for the word '\[3\]'"),
        (kind((0,), forest.arrays, names, forest.vocabulary), "x.hg", "for the name 'x y'"),
        (kind(("u",), forest.arrays, forest.names, forest.vocabulary), "x", "Joshua numbers its"),
    ]:
        with pytest.raises(UsageError, match=problem):
            JoshuaHypergraph().write(odd, tmp_path / path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("features", "features ||| words", 1, "the line '# target .* features' is missing"),
        ("4 6", "5 6", 12, "5 nodes are announced and there are 4; .* truncated"),
        ("4 6", "4 7", 2, "7 hyperedges are announced and there are 6"),
        ("4 6", "0 0", 2, "the forest is empty"),
        ("4 6", "4", 2, "'4' is not the counts"),
        ("\n2\n", "\n3\n", 5, "here is node 3 and should be node 2"),
        ("4 6", "3 6", 11, "3 nodes are announced and there are more"),
        ("\n1\n", "\n", 3, "a hyperedge has no node"),
        ("[1] [2]", "[0] [2]", 9, r"a tail is \[0\], which is no node"),
        ("[1] [2]", "[1] [5]", 9, r"a tail is \[5\], which is no node"),
        ("[1] [2]", "[1] [null]", 9, r"a tail is \[null\]: the hyperedge is in a cycle"),
        ("[1] [2]", "[1] [3]", 9, "this hyperedge is in a cycle"),
        ("lm_0=-9.000", "lm_0=-9,000", 10, "'-9,000', not a number"),
        ("lm_0=-9.000", "lm_0=NaN", 10, "not finite"),
        ("lm_0=-9.000", "lm_0", 10, "'lm_0' is no feature"),
        ("lm_0=-9.000", "lm_0=-9.000 ||| 2", 10, "a hyperedge has a third field"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(old, new, line, problem):
    assert old in JOSHUA
    with pytest.raises(FormatError, match=f"^file:{line}: .*{problem}"):
        read_text(JoshuaHypergraph(), JOSHUA.replace(old, new, 1))


def test_a_truncated_or_empty_file():
    for cut in range(JOSHUA.index("[3] </s>")):
        with pytest.raises(FormatError, match=r"^file(:\d+)?: "):
            read_text(JoshuaHypergraph(), JOSHUA[:cut])


@settings(max_examples=examples(150))
@given(damaged(JOSHUA))
def test_what_is_damaged_is_refused_or_is_a_forest(data):
    check_damaged(JoshuaHypergraph(), data)
