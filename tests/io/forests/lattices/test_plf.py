"""Lattices in PLF, written from the manuals of Moses and cdec, and from Moses' PCNTools.cpp."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.helpers.forests import drawn_forest
from tests.helpers.io.forest_samples import PLF
from tests.helpers.io.lattices import (
    WORDS,
    check_damaged,
    damaged,
    drawn_lattice,
    is_lattice,
    named_set,
    read_path,
    read_text,
    readings,
)
from tests.helpers.tiers import examples
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.forests.base import FOREST_FORMATS
from tunesmith.io.forests.lattices.plf import PlfFormat

SCORES = ("PLF_1", "PLF_2")


def quoted(word: str | None) -> str:
    return repr("*EPS*" if word is None else word)


def test_the_example_of_the_manual():
    found = read_text(PlfFormat(), PLF)
    assert found.ids == [0]
    assert found.paths() == Counter(
        {
            (("einen", first, *second, *third), (("PLF", value),)): 1
            for first, second, a in [
                ("wettbewerbsbedingten", (), 0.5),
                ("wettbewerbs", ("bedingten",), 1.25),
                ("wettbewerb", ("bedingten",), 1.25),
            ]
            for third, b in [(("preissturz",), 0.5), (("preis", "sturz"), 1.5)]
            for value in [1.0 + a + b]
        }
    )


def test_scores_that_are_probabilities_become_logarithms():
    found = read_text(PlfFormat(scores="probabilities"), "((('a',0.5,1),('b',0.125,1),),)")
    assert found.paths() == Counter(
        {(("a",), (("PLF", math.log(0.5)),)): 1, (("b",), (("PLF", math.log(0.125)),)): 1}
    )
    with pytest.raises(FormatError, match="file:1: a score is 0, which is no probability"):
        read_text(PlfFormat(scores="probabilities"), "((('a',0,1),),)")


def test_features_of_cdec_and_of_moses_have_their_names():
    text = """((("it's",{'Cost': -1.5, 'it\\'s':2},1),),(('b\\\\c', {} ,1)))\n"""
    found = read_text(PlfFormat(), text)
    assert found.paths() == Counter({(("it's", "b\\c"), (("Cost", -1.5), ("it's", 2.0))): 1})
    found = read_text(PlfFormat(), "((('a',0.5,2,one=3,two=-1e-1,1),),)")
    want = (("PLF_1", 0.5), ("PLF_2", 2.0), ("one", 3.0), ("two", -0.1))
    assert found.paths() == Counter({(("a",), want): 1})


def test_nothing_stands_for_no_word_and_white_space_parts_words():
    found = read_text(PlfFormat(), "((('*EPS*',1,1),('',2,1),('new york',3,1)),)")
    assert found.paths() == Counter(
        {
            ((), (("PLF", 1.0),)): 1,
            ((), (("PLF", 2.0),)): 1,
            (("new", "york"), (("PLF", 3.0),)): 1,
        }
    )


def test_the_id_of_a_lattice_is_the_number_of_lines_before_it():
    assert PLF.count("\n") == 1
    assert read_text(PlfFormat(), PLF + PLF).ids == [0, 1]
    found = read_text(PlfFormat(), PLF + "\n" + PLF)
    assert found.ids == [0, 2]
    assert found.paths(0) == found.paths(1)
    assert FOREST_FORMATS.get("plf").recognises(PLF.encode())
    assert not PlfFormat.recognises(b"(((1,2),),)")


@settings(max_examples=examples(40))
@given(drawn_lattice(SCORES))
def test_paths_are_those_of_the_text(drawn):
    columns: list[str] = [""] * (drawn.states - 1)
    for source, target, word, values in drawn.arcs:
        scores = ", ".join(repr(values[name]) for name in SCORES)
        columns[source] += f"({quoted(word)}, {scores}, {target - source}),"
    # Python writes tuples so; it is what the format is named after.
    found = read_text(PlfFormat(), f"({''.join(f'({c}),' for c in columns)})")
    assert found.paths() == drawn.paths()


@settings(max_examples=examples(40))
@given(
    st.lists(drawn_forest(words=len(WORDS), arity=1), min_size=1, max_size=2),
    st.sampled_from([("PLF_1", "PLF_2", "PLF_3"), ("one", "it's", "x y")]),
)
def test_what_is_written_is_read_again(tmp_path_factory, drawn, names):
    path = tmp_path_factory.mktemp("plf") / "out.plf.gz"
    forests = named_set(drawn, names)
    if not all(is_lattice(arrays) for arrays in drawn):
        with pytest.raises(UsageError, match="is no lattice from left to right"):
            PlfFormat().write(forests, path)
        assert not path.exists()
        return
    PlfFormat().write(forests, path)
    found = read_path(PlfFormat(), path)
    assert found.ids == list(forests.ids)
    for k, arrays in enumerate(drawn):
        assert found.paths(k) == readings(arrays, names, WORDS)
    # What was read once is a lattice as the format has it, and stays as it is.
    again = path.with_name("again.plf")
    PlfFormat().write(found.as_set(), again)
    second = read_path(PlfFormat(), again)
    for k in range(len(drawn)):
        assert second.edges(k) == found.edges(k)


@settings(max_examples=examples(15))
@given(drawn_forest(features=1, words=len(WORDS), arity=2))
def test_a_forest_that_is_no_lattice_is_not_written(tmp_path_factory, drawn):
    assume(np.diff(drawn.tail_start).max() > 1)
    path = tmp_path_factory.mktemp("plf") / "out.plf"
    with pytest.raises(UsageError, match="is no lattice: it has a hyperedge with 2 tails"):
        PlfFormat().write(named_set([drawn], ["PLF"]), path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("()", "the lattice is empty"),
        ("((('a',1,1),),", "at the end of the line: '.' is missing here; .* truncated"),
        ("((('a',1,", "here is no arc"),
        ("((('a',1,1),),) x", "at character 17, 'x': there is more after the lattice"),
        ("((('a',1,2),),)", "an arc leads to node 2 and the last is 1"),
        ("((('a',1,0),),)", "an arc has the distance 0: it would be in a cycle"),
        ("((('a',1,-1),),)", "a distance is '-1', not a whole number"),
        ("((('a',nan,1),),)", "a score is nan, which is not finite"),
        ("((('a',1e999,1),),)", "a score is 1e999, which is not finite"),
        ("((('a',x,1),),)", "a score is 'x', not a number"),
        ("((('a',1,1),('b',1,1,1)),)", "an arc has 2 scores and those before it have 1"),
        ("((('a',{'x' 1},1),),)", "''x' 1' is no feature"),
        ("((('a',{'x':inf},1),),)", "a score is inf, which is not finite"),
        ("((__import__('os'),1,1),)", "here is no arc"),
        ("(('a',1,1),)", "at character 3, .*: here is no arc"),
        ("((('a',1,1)('b',1,1)),)", "',' is missing here"),
        ("((('a',1,2),),(),(('b',1,1),))", None),
        ("((('a',1,1),),(),)", "no derivation reaches the goal"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(line, problem):
    good = "((('a',1,1),),)\n"
    if problem is None:
        assert read_text(PlfFormat(), good + line).paths(1)
        return
    with pytest.raises(FormatError, match=rf"^file:3: .*{problem}"):
        read_text(PlfFormat(), f"{good}\n{line}\n{good}")


def test_what_has_no_place_is_not_written(tmp_path):
    lattice = read_text(PlfFormat(), "((('a',1,1),),)")
    held = lattice.as_set()
    with pytest.raises(UsageError, match="no place for the id 'u'"):
        PlfFormat().write(named_ids(held, "u"), tmp_path / "x")
    with pytest.raises(UsageError, match="leave out scores=probabilities"):
        PlfFormat(scores="probabilities").write(held, tmp_path / "x")
    odd = type(held)(held.ids, held.arrays, held.names, ("*EPS*",))
    with pytest.raises(UsageError, match=r"'\*EPS\*' stands for none"):
        PlfFormat().write(odd, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def named_ids(forests, *ids):
    return type(forests)(tuple(ids), forests.arrays, forests.names, forests.vocabulary)


@settings(max_examples=examples(150))
@given(damaged(PLF))
def test_what_is_damaged_is_refused_or_is_a_forest(data):
    check_damaged(PlfFormat(), data)
