"""Lattices of HTK, written from the HTK Book's chapters on SLF and from SRILM's HTKLattice.cc."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import drawn_forest
from tests.helpers.io.forest_samples import HTK
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
from tunesmith.io.forests.lattices.htk import HtkLattice

NAMES = ("acoustic", "language")


def test_a_lattice_of_a_recogniser():
    found = read_text(HtkLattice(), HTK)
    assert found.ids == ["testf1.mfc"]
    sums = {
        ("SILENCE", middle, *last): (-3239.01 + a + c, b + d)
        for middle, a, b in [("FOUR", -3820.77, 0.0), ("FOR", -3821.5, -1.25)]
        for last, c, d in [((), -246.99, -1.2), (('SEV"EN',), -250.0, -0.5)]
    }
    paths = found.paths()
    assert {words for words, _ in paths} == set(sums)
    for words, values in paths:
        assert dict(values) == pytest.approx(dict(zip(NAMES, sums[words], strict=True)))


def test_words_on_nodes_are_those_of_arcs_into_them():
    # A network as in section 12.2 of the HTK Book, without its loop.
    text = """# Define size of network: N=num nodes and L=num arcs
N=4 L=4
# List nodes: I=node-number, W=word
I=0 W=!SENT_START
I=1 W=!SENT_END
I=2 W=bit
I=3 W=but
# List arcs: J=arc-number, S=start-node, E=end-node
J=0 S=0 E=2 l=-1
J=1 S=0 E=3 l=-2
J=2 S=2 E=1
J=3 START=3 END=1 WORD=own language=-0.5
"""
    found = read_text(HtkLattice(), text, "talks/s-12.lat.gz")
    assert found.ids == ["s-12"]
    want = Counter(
        {(("bit",), (("language", -1.0),)): 1, (("but", "own"), (("language", -2.5),)): 1}
    )
    assert found.paths() == want
    # In a backward lattice a node's word is that of the arcs that leave it.
    backward = (
        text.replace("N=4", "dir=b N=4").replace("!SENT_START", "ding").replace("WORD=own ", "")
    )
    assert read_text(HtkLattice(), backward.replace("!SENT_END", "dong")).paths() == Counter(
        {
            (("ding", "bit", "dong"), (("language", -1.0),)): 1,
            (("ding", "but", "dong"), (("language", -2.5),)): 1,
        }
    )


def test_an_arc_that_names_no_word_does_not_take_its_nodes():
    text = "N=2 L=2\nI=0\nI=1 W=it a=-2\nJ=0 S=0 E=1 W=!NULL\nJ=1 S=0 E=1 l=-1\n"
    assert read_text(HtkLattice(), text).paths() == Counter(
        {
            ((), (("acoustic", -2.0),)): 1,
            (("it",), (("acoustic", -2.0), ("language", -1.0))): 1,
        }
    )


def test_the_word_of_the_first_node_counts_and_scores_of_nodes_are_those_of_arcs():
    text = "N=3 L=2\nI=0 W=so\nI=1 W=it a=-2\nI=2 W=is a=-3\nJ=0 S=0 E=1\nJ=1 S=1 E=2 a=-5\n"
    assert read_text(HtkLattice(), text).paths() == Counter(
        {(("so", "it", "is"), (("acoustic", -7.0),)): 1}
    )
    alone = read_text(HtkLattice(), "UTTERANCE=3\nN=1 L=0\nI=0 W=yes a=-1\n")
    assert alone.ids == [3]
    assert alone.paths() == Counter({(("yes",), (("acoustic", -1.0),)): 1})


def test_likelihoods_become_natural_logarithms():
    arc = "N=2 L=1\nJ=0 S=0 E=1 W=a a=-2 l=-3 n=-4 r=-5 ds=-6 x1=-7 p=0.5 own=9 note=some v=1\n"
    ten = read_text(HtkLattice(), f"base=10\n{arc}").paths()
    [(words, values)] = ten
    assert words == ("a",)
    assert dict(values) == {
        **{
            name: pytest.approx(value * math.log(10))
            for value, name in zip(range(-2, -8, -1), [*NAMES, "n", "r", "ds", "x1"], strict=True)
        },
        "p": 0.5,
        "own": 9.0,
    }
    [(_, natural)] = read_text(HtkLattice(), arc).paths()
    assert dict(natural)["acoustic"] == -2.0
    [(_, shares)] = read_text(HtkLattice(), "base=0\nN=2 L=1\nJ=0 S=0 E=1 a=0.5 l=2 p=0.5").paths()
    assert dict(shares) == {"acoustic": math.log(0.5), "language": math.log(2), "p": 0.5}


def test_quotes_and_octal_numbers():
    text = (
        "N=2 L=6\n"
        'J=0 S=0 E=1 W="New York" a=1\n'
        "J=1 S=0 E=1 W='cause a=2\n"
        "J=2 S=0 E=1 W=\\'tis a=3\n"
        "J=3 S=0 E=1 W=caf\\303\\251 a=4 # W=no\n"
        "J=4 S=0 E=1 W='x \\' y' a=5\n"
        "J=5 S=0 E=1 W=\\101\\\\ a=6\n"
    )
    assert {words: dict(v)["acoustic"] for words, v in read_text(HtkLattice(), text).paths()} == {
        ("New", "York"): 1.0,
        ("'cause",): 2.0,
        ("'tis",): 3.0,
        ("café",): 4.0,
        ("x", "'", "y"): 5.0,
        ("A\\",): 6.0,
    }


def test_several_lattices_in_a_file_and_how_it_is_recognised():
    found = read_text(HtkLattice(), HTK + HTK.replace("testf1.mfc", "'a b'"))
    assert found.ids == ["testf1.mfc", "a b"]
    assert found.paths(0) == found.paths(1)
    for text in [HTK, "# made by hand\n\nN=2 L=1\n", "V=1.1\n", "base=10 dir=f\n"]:
        assert FOREST_FORMATS.get("htk").recognises(text.encode())
    for text in [b"Name=0.5 a=1\n", b"LM0= 0.5\n", b"0 ||| a b ||| N=1\n", b"# target ||| N=2\n"]:
        assert not HtkLattice.recognises(text)


@settings(max_examples=examples(40))
@given(drawn_lattice(NAMES), st.booleans(), st.randoms(use_true_random=False))
def test_paths_are_those_of_the_text(drawn, long, random):
    fields = ("START", "END", "WORD", "acoustic", "language") if long else ("S", "E", "W", "a", "l")
    numbers = random.sample(range(drawn.states), drawn.states)
    lines = []
    for j, (source, target, word, values) in enumerate(drawn.arcs):
        shown = "!NULL" if word is None else "".join(f"\\{c}" if c in "'\"\\" else c for c in word)
        held = (numbers[source], numbers[target], shown, *(values[name] for name in NAMES))
        parts = [f"{name}={value}" for name, value in zip(fields, held, strict=True)]
        random.shuffle(parts)
        lines.append(" ".join([f"J={j}", *parts]))
    random.shuffle(lines)
    header = f"VERSION=1.0\nstart={numbers[0]} end={numbers[-1]}\nN={drawn.states} L={len(lines)}"
    found = read_text(HtkLattice(), "\n".join([header, *lines]))
    assert found.paths() == drawn.paths()


@settings(max_examples=examples(40))
@given(
    st.lists(drawn_forest(features=3, words=len(WORDS), arity=1), min_size=1, max_size=2),
    st.sampled_from([(*NAMES, "n"), ("x1", "p", "language"), ("LM0", "acoustic", "é:1")]),
)
def test_what_is_written_is_read_again(tmp_path_factory, drawn, names):
    folder = tmp_path_factory.mktemp("htk") / "out"
    forests = named_set(drawn, names)
    if not all(is_lattice(arrays) for arrays in drawn):
        with pytest.raises(UsageError, match="is no lattice from left to right"):
            HtkLattice().write(forests, folder)
        assert not folder.exists()
        return
    HtkLattice().write(forests, folder)
    for k, arrays in enumerate(drawn):
        found = read_path(HtkLattice(), folder / f"{k}.lat")
        assert found.ids == [k]
        assert found.paths() == readings(arrays, names, WORDS)
        # What was read once stays as it is, order and all.
        again = folder / "again.slf.gz"
        HtkLattice().write(found.as_set(), again)
        assert read_path(HtkLattice(), again).edges() == found.edges()


def test_what_has_no_place_is_not_written(tmp_path):
    lattice = read_text(HtkLattice(), HTK).as_set()
    kind = type(lattice)
    write = HtkLattice().write
    for name in ["a", "t", "W", "ngram", "x y", "x=1", "L"]:
        other = kind(lattice.ids, lattice.arrays, (name, "language"), lattice.vocabulary)
        with pytest.raises(UsageError, match=f"no place for the feature '{name}'"):
            write(other, tmp_path / "x.lat")
    two = read_text(HtkLattice(), HTK + HTK).as_set()
    with pytest.raises(UsageError, match="is one lattice and there are 2; name a folder"):
        write(two, tmp_path / "x.lat")
    for ids, problem in [(("a/b", "c"), "'a/b' cannot be the name"), ((1, "c"), "some ids are")]:
        with pytest.raises(UsageError, match=problem):
            write(kind(ids, two.arrays, two.names, two.vocabulary), tmp_path / "x")
    odd = kind(lattice.ids, lattice.arrays, lattice.names, ("!NULL", *lattice.vocabulary[1:]))
    with pytest.raises(UsageError, match="'!NULL' stands for no word"):
        write(odd, tmp_path / "x.lat")
    assert list(tmp_path.iterdir()) == []


ARCS = "J=0 S=0 E=1 W=a\nJ=1 S=1 E=2 W=b\n"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (f"N=3 L=3\n{ARCS}", 3, "L=3 and there are 2 arcs; .* truncated"),
        ("N=3 L=2\nI=0\nI=1\nI=2\n", 4, "L=2 and there are 0 arcs; .* truncated"),
        (f"N=3 L=2\nI=0\nI=1\n{ARCS}", 1, "N=3 and there are 2 nodes"),
        (f"N=3 L=1\n{ARCS}", 3, "arc 1 is not one of 1"),
        (f"N=2 L=2\n{ARCS}", 3, "arc 1 has node 2, which is not one of 2"),
        (f"N=3 L=3\n{ARCS}J=1 S=0 E=1\n", 4, "arc 1 is there twice"),
        (f"N=3 L=2\nI=0\nI=0\nI=1\n{ARCS}", 3, "node 0 is there twice"),
        (f"N=3 L=2\nI=3\n{ARCS}", 2, "node 3 is not one of 3; number nodes from 0 to 2"),
        ("N=0 L=0\n", 1, "the lattice is empty"),
        ("VERSION=1.0\n", 1, "the numbers of nodes and arcs are missing"),
        (ARCS, 1, "the numbers of nodes and arcs are missing"),
        ("N=2 L=1\nJ=0 S=0 W=a\n", 2, "arc 0 has not both ends"),
        ("N=2 L=1\nJ=0 S=0 E=-1\n", 2, "'-1', not a whole number"),
        (f"N=x L=2\n{ARCS}", 1, "N= is 'x', not a whole number"),
        (f"N=3 L=3\n{ARCS}J=2 S=0 E=2 a=1 l=2 a=2\n", 4, "the field a= is there twice"),
        (f"N=3 L=3\n{ARCS}J=2 S=0 E=2 l=1 language=2\n", 4, "the field language= is there twice"),
        (f"N=3 L=3\n{ARCS}J=2 S=0 START=1 E=2\n", 4, "the field START= is there twice"),
        (f"N=3 L=3\n{ARCS}J=2 S=0 E=2 W=a WORD=b\n", 4, "the field WORD= is there twice"),
        (f"N=3 N=3 L=2\n{ARCS}", 1, "the field N= is there twice"),
        (f"N=3 L=3\n{ARCS}J=2 S=0 E=2 W=a\\000b\n", 4, "holds the character NUL"),
        (f"N=3 L=3\n{ARCS}J=2 S=1 E=1\n", 4, "this hyperedge is in a cycle"),
        (f"N=3 L=3\n{ARCS}J=2 S=2 E=0\n", 1, "no node that no arc leads to: .* cycle"),
        (f"start=0 end=2 N=3 L=3\n{ARCS}J=2 S=2 E=0\n", None, "is in a cycle"),
        (f"N=4 L=3\n{ARCS}J=2 S=3 E=2\n", 1, "2 nodes that no arc leads to, 0 and 3 .* start="),
        (f"N=4 L=3\n{ARCS}J=2 S=1 E=3\n", 1, "2 nodes that no arc leaves, 2 and 3 .* end="),
        (f"start=7\nN=3 L=2\n{ARCS}", 1, "start=7 is not one of 3 nodes"),
        (f"start=1 end=0\nN=3 L=2\n{ARCS}", 1, "no derivation reaches the goal"),
        ("N=2 L=1\nJ=0 S=0 E=1 a=nan\n", 2, "'acoustic' is nan, which is not finite"),
        ("N=2 L=1\nJ=0 S=0 E=1 own=-inf\n", 2, "'own' is -inf, which is not finite"),
        ("N=2 L=1\nJ=0 S=0 E=1 p=1,5\n", 2, "'p' is '1,5', not a number"),
        ("base=0\nN=2 L=1\nJ=0 S=0 E=1 l=0\n", 3, "a probability that has no logarithm"),
        ("base=1e9\nN=2 L=1\nJ=0 S=0 E=1 l=1e308\n", 3, "too large as a natural logarithm"),
        ("base=1\nN=2 L=1\nJ=0 S=0 E=1\n", 1, "base=1 is no base"),
        ("N=2 L=1\nJ=0 S=0 E=1 word\n", 2, "'word' is no field with its value"),
        ("N=2 L=1\nJ=0 S=0 E=1 W=\\377\n", 2, "are no UTF-8"),
        ("SUBLAT=digit\nN=2 L=1\nJ=0 S=0 E=1\n.\n", 1, "has sub-lattices"),
        ("N=2 L=1\nI=0 L=digit\nI=1\nJ=0 S=0 E=1\n", 2, "has sub-lattices"),
        ("# nothing\n", None, "there is no lattice in it"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, line, problem):
    place = r"file(:\d)?" if line is None else f"file:{line}"
    with pytest.raises(FormatError, match=f"^{place}: .*{problem}"):
        read_text(HtkLattice(), text)


@settings(max_examples=examples(150))
@given(damaged(HTK))
def test_what_is_damaged_is_refused_or_is_a_forest(data):
    check_damaged(HtkLattice(), data)
