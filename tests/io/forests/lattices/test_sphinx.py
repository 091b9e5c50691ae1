"""Lattices of Sphinx, from ps_lattice_write and ps_lattice_write_htk of pocketsphinx."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from tests.helpers.io.forest_samples import SPHINX, SPHINX_HTK
from tests.helpers.io.lattices import check_damaged, damaged, read_text
from tests.helpers.tiers import examples
from tunesmith.errors import FormatError
from tunesmith.io.forests.lattices.htk import HtkLattice
from tunesmith.io.forests.lattices.sphinx import SphinxLattice
from tunesmith.io.forests.read import read_forests


def test_words_are_on_nodes_and_scores_are_natural_logarithms():
    found = read_text(SphinxLattice(), SPHINX, "go.lat")
    assert found.ids == ["go"]
    unit = math.log(1.0001)
    upper, lower = sorted(found.paths())
    assert upper[0] == ("ten", "liters")
    assert dict(upper[1]) == {"acoustic": pytest.approx(-(40000 + 20000 + 250000) * unit)}
    assert lower[0] == ("ten", "meters")
    assert dict(lower[1]) == {"acoustic": pytest.approx(-(40000 + 30000 + 10000 + 60000) * unit)}


def test_both_formats_of_pocketsphinx_are_the_same_lattice():
    own = sorted(read_text(SphinxLattice(), SPHINX).paths())
    htk = sorted(read_text(HtkLattice(), SPHINX_HTK).paths())
    assert [words for words, _ in own] == [words for words, _ in htk]
    for (_, scores), (_, others) in zip(own, htk, strict=True):
        assert dict(scores)["acoustic"] == pytest.approx(dict(others)["acoustic"], abs=1e-5)


def test_another_base_and_a_folder(tmp_path):
    (tmp_path / "a.lat").write_text(SPHINX.replace("1.000100e+00", "1.000300e+00"))
    (tmp_path / "b.lat").write_text(SPHINX)
    found = read_forests(tmp_path)
    assert found.ids == ("a", "b")
    first, second = (read_text(SphinxLattice(), p.read_text()) for p in sorted(tmp_path.iterdir()))
    ratio = math.log(1.0003) / math.log(1.0001)
    for (_, one), (_, other) in zip(sorted(first.paths()), sorted(second.paths()), strict=True):
        assert dict(one)["acoustic"] == pytest.approx(ratio * dict(other)["acoustic"])


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("1.000100e+00", "x", 2, "-logbase is 'x', not a number"),
        ("1.000100e+00", "0.5", 2, "-logbase is 0.5; give a number above 1"),
        ("Nodes 6", "Nodes 7", 26, "there are 6 nodes and should be 7"),
        ("Nodes 6", "Nodes x", 6, "Nodes is 'x', not a whole number"),
        ("Initial 5\n", "", 25, "there is no line 'Initial'"),
        ("Final 0", "Final 9", 26, "there is no node 9"),
        ("0 </s> 212 277 277 ; 0", "0 </s> 212", 7, "a node has fewer than 5 fields"),
        ("1 meters(2)", "0 meters(2)", 8, "node 0 is there twice"),
        ("1 0 -60000", "1 0", 20, "an edge has fewer than 3 fields"),
        ("1 0 -60000", "1 8 -60000", 20, "there is no node 8"),
        ("1 0 -60000", "1 0 nan", 20, "an acoustic score is nan"),
        ("End\n", "", 25, "no line 'End', it may be cut off"),
        ("End\n", "End\nmore\n", 27, "something after the end"),
        ("Frames 278", "Frame", 4, "this is no line of a lattice"),
    ],
)
def test_errors_name_the_line(old, new, line, told):
    assert SPHINX.count(old) == 1
    with pytest.raises(FormatError) as caught:
        read_text(SphinxLattice(), SPHINX.replace(old, new))
    assert told in str(caught.value)
    assert caught.value.line == line


@settings(max_examples=examples(150))
@given(damaged(SPHINX))
def test_what_is_damaged_is_refused_or_is_a_forest(data):
    check_damaged(SphinxLattice(), data)
