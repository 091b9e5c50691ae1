"""Lattices of Kaldi, written from src/doc/lattices.dox and src/lat/kaldi-lattice.cc."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import drawn_forest
from tests.helpers.io.forest_samples import KALDI
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
from tunesmith.io.forests.lattices.kaldi import KaldiLattice
from tunesmith.io.forests.read import read_forests

NAMES = ("graph", "acoustic")


def test_the_example_of_the_documentation():
    found = read_text(KaldiLattice(), KALDI)
    assert found.ids == ["444c0410"]
    [upper, lower] = sorted(found.paths())
    assert upper[0] == ("<UNK>", "NOT")
    assert dict(upper[1]) == {
        "graph": pytest.approx(-(5.27832 + 8.08116 + 12.4568 + 0.5)),
        "acoustic": pytest.approx(-(1099.84 + 10548.7 + 2)),
    }
    assert lower[0] == ("A",)
    assert dict(lower[1]) == {
        "graph": pytest.approx(-(5.27832 + 12.8737 + 0.5)),
        "acoustic": pytest.approx(-(8342.93 + 2)),
    }


def test_both_types_and_words_of_a_table(tmp_path):
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\n<s> 3\nyes 1\nno 2\n")
    text = (
        "lattice\n0\t1\t17\t1\t1.5,2\n0\t1\t18\t2\n1\t2\t19\t0\t0.25,-1\n2\n\n"
        "7\n0\t1\t3\t4,0,\n1\t2\t1\t1,1,5_6\n1\t2\t2\n2\t0,3,\n\n"
    )
    found = read_text(FOREST_FORMATS.create(f"kaldi-lattice:words={table}"), text)
    assert found.ids == ["lattice", 7]
    assert found.paths(0) == Counter(
        {
            (("yes",), (("acoustic", -1.0), ("graph", -1.75))): 1,
            (("no",), (("acoustic", 1.0), ("graph", -0.25))): 1,
        }
    )
    assert found.paths(1) == Counter(
        {
            (("yes",), (("acoustic", -4.0), ("graph", -5.0))): 1,
            (("no",), (("acoustic", -3.0), ("graph", -4.0))): 1,
        }
    )
    numbers = read_text(KaldiLattice(), text)
    assert {words for words, _ in numbers.paths(0)} == {("1",), ("2",)}
    assert {words for words, _ in numbers.paths(1)} == {("3", "1"), ("3", "2")}


def test_an_arc_without_costs_of_either_type():
    compact = read_text(KaldiLattice(), "u\n0 1 5\n1 2 6 1,2,\n2\n\n")
    other = read_text(KaldiLattice(), "u\n0 1 8 5\n1 2 9 6\n2 1,2\n\n")
    want = Counter({(("5", "6"), (("acoustic", -2.0), ("graph", -1.0))): 1})
    assert compact.paths() == want
    assert other.paths() == want


def test_the_first_line_tells_the_start_and_a_final_state_may_go_on():
    found = read_text(KaldiLattice(), "u\n5 1 3 1,0,\n5 0,2,\n1 0,4,\n1 9 4\n9\n\n")
    assert found.paths() == Counter(
        {
            ((), (("acoustic", -2.0),)): 1,
            (("3",), (("acoustic", -4.0), ("graph", -1.0))): 1,
            (("3", "4"), (("graph", -1.0),)): 1,
        }
    )


def test_white_space_beyond_ascii_parts_words_and_no_fields():
    found = read_text(KaldiLattice(), "u\n0 1 new\N{NO-BREAK SPACE}york 1,0,\n1\n\n")
    assert found.paths() == Counter({(("new", "york"), (("graph", -1.0),)): 1})


def test_it_is_recognised():
    for text in [KALDI, "u\n0\n\n", "u \n0\t1\t2\t3\t4,5\n1\n\n", "u\r\n0 1,2\r\n\r\n"]:
        assert KaldiLattice.recognises(text.encode())
    for text in [b"utt-1 a word\nutt-2 word\n", b"3 4\n1\n[0] ||| a=1\n", b"a\nb\n"]:
        assert not KaldiLattice.recognises(text)


@settings(max_examples=examples(40))
@given(drawn_lattice(NAMES), st.booleans(), st.randoms(use_true_random=False))
def test_paths_are_those_of_the_text(drawn, compact, random):
    # Any number for a state will do, and any order of lines after the first.
    numbers = random.sample(range(100), drawn.states)
    lines = []
    for source, target, word, values in drawn.arcs:
        graph, acoustic = (0.0 - values[name] for name in NAMES)
        label = ("<eps>" if word is None else word) if compact else f"77 {word or '0'}"
        ids = random.choice([",", ",1_2"]) if compact else ""
        line = f"{numbers[source]} {numbers[target]} {label} {graph},{acoustic}{ids}"
        lines.append(line)
    rest = [*lines[1:], f"{numbers[-1]}"]
    random.shuffle(rest)
    text = "\n".join(["u", lines[0], *rest]) + "\n\n"
    found = read_text(KaldiLattice(), text)
    assert found.paths() == drawn.paths()


@settings(max_examples=examples(40))
@given(st.lists(drawn_forest(features=2, words=len(WORDS), arity=1), min_size=1, max_size=2))
def test_what_is_written_is_read_again(tmp_path_factory, drawn):
    path = tmp_path_factory.mktemp("kaldi") / "out.gz"
    forests = named_set(drawn, NAMES)
    if not all(is_lattice(arrays) for arrays in drawn):
        with pytest.raises(UsageError, match="is no lattice from left to right"):
            KaldiLattice().write(forests, path)
        return
    write_words(forests, path)
    found = read_path(KaldiLattice(), path)
    assert found.ids == list(forests.ids)
    for k, arrays in enumerate(drawn):
        assert found.paths(k) == readings(arrays, NAMES, WORDS)
    # Final costs are kept as such: what was read once stays as it is, order and all.
    again = path.with_name("again")
    write_words(found.as_set(), again)
    second = read_path(KaldiLattice(), again)
    for k in range(len(drawn)):
        assert second.edges(k) == found.edges(k)


def write_words(forests, path):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "words are written as they are")
        KaldiLattice().write(forests, path)


def test_numbers_of_a_table_are_written(tmp_path):
    table = tmp_path / "words.txt"
    table.write_text("<eps> 0\na 5\n0 6\n")
    reader = KaldiLattice(words=str(table))
    lattice = read_text(reader, "u\n0 1 5 1,2,\n0 1 6 1,2,\n1 2 0 0,0,\n2 1.5,0,\n\n").as_set()
    reader.write(lattice, tmp_path / "out")
    assert (tmp_path / "out").read_text() == (
        "u \n0\t1\t5\t1,2,\n0\t1\t6\t1,2,\n1\t2\t0\t0,0,\n2\t1.5,0,\n\n"
    )
    with pytest.raises(UsageError, match="'0' stands for no word"):
        KaldiLattice().write(lattice, tmp_path / "other")
    table.write_text("<eps> 0\na 5\n")
    with pytest.raises(UsageError, match="the word '0' is not in the table"):
        KaldiLattice(words=str(table)).write(lattice, tmp_path / "other")


def test_what_has_no_place_is_not_written(tmp_path):
    lattice = read_text(KaldiLattice(), "u\n0 1 5 1,2,\n1\n\n").as_set()
    kind = type(lattice)
    other = kind(lattice.ids, lattice.arrays, ("graph", "lm"), lattice.vocabulary)
    with pytest.raises(UsageError, match="no place for the feature 'lm'"):
        KaldiLattice().write(other, tmp_path / "x")
    spaced = kind(("u v",), lattice.arrays, lattice.names, lattice.vocabulary)
    with pytest.raises(UsageError, match="the id 'u v' has white space"):
        KaldiLattice().write(spaced, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


GOOD = "u\n0 1 5 1,2,\n1\n\n"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("v\n\n", 5, "the lattice of 'v' is empty"),
        ("v\n0 1 5 1,2,\n1\n", 7, "does not end with an empty line; .* truncated"),
        ("v\n0 1 5 1,2,\n\n", 6, "has no final state"),
        ("v w\n0 1 5 1,2,\n1\n\n", 5, "the id of an utterance, alone"),
        ("v\n0 1 5 1,2,\n1\nw\n0 1 5\n1\n\n", 8, "a state is 'w', not a whole number; end each"),
        ("v\n0 1 5 1,2,\n1\n1\n\n", 8, "state 1 is final twice"),
        ("v\n0 1 5 1,2,\n1 2 5 6 7 8\n2\n\n", 7, "there are 6 fields"),
        ("v\n0 1 5 6 1,2\n1 2 5\n2\n\n", 7, "there are 3 fields"),
        ("v\n0 1 5 1,2,\n1 1 5 1,2,\n1\n\n", 7, "is in a cycle"),
        ("v\n0 1 5 1,2,\n2 3 5 1,2,\n3\n\n", 7, "no derivation reaches the goal"),
        ("v\n0 1 5 1,2,\n-1 3 5 1,2,\n3\n\n", 7, "a state is '-1'"),
        ("v\n0 1 5 Infinity,2,\n1\n\n", 6, "the graph cost is Infinity, which is not finite"),
        ("v\n0 1 5 1,BadNumber,\n1\n\n", 6, "the acoustic cost is 'BadNumber', not a number"),
        ("v\n0 1 5 1,2,\n1 3\n\n", 7, "'3' is no pair of costs"),
        (f"v\n0 {'9' * 30} 5 1,2,\n1\n\n", 6, "not a whole number"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, line, problem):
    with pytest.raises(FormatError, match=rf"^file:{line}: .*{problem}"):
        read_text(KaldiLattice(), GOOD + text)


def test_what_is_wrong_with_a_table_or_the_encoding(tmp_path):
    table = tmp_path / "words.txt"
    reader = KaldiLattice(words=str(table))
    table.write_text("a 1\nb\n")
    with pytest.raises(FormatError, match=r"words.txt:2: there are 1 fields"):
        read_text(reader, GOOD)
    table.write_text("a 1\nb 1\n")
    with pytest.raises(FormatError, match=r"words.txt:2: the number 1 is there twice"):
        read_text(KaldiLattice(words=str(table)), GOOD)
    table.write_text("a 1\n")
    with pytest.raises(FormatError, match=r"^file:2: the word '5' is not in .*words.txt"):
        read_text(KaldiLattice(words=str(table)), GOOD)
    with pytest.raises(FormatError, match=r"^file:2: .*UTF-8"):
        read_text(KaldiLattice(), b"u\n0 1 \xff\xfe 1,2,\n1\n\n")


def test_numbers_without_a_table_are_warned_of_beside_words(tmp_path):
    lattice, lines, said = tmp_path / "l", tmp_path / "r", tmp_path / "t"
    lattice.write_text("0\n0 1 5 1,2,\n1\n\n")
    lines.write_text("five\n")
    said.write_text("0 five\n")
    with pytest.warns(UserWarning, match=r"l: all words .*--format kaldi-lattice:words=FILE$"):
        read_forests(lattice, lines)
    with pytest.warns(UserWarning, match=r"l: all words .*--format kaldi-lattice:words=FILE$"):
        read_forests(lattice, format=f"kaldi-lattice:references={said}")
    # Numbers beside numbers, and words beside words, are as they should be.
    lines.write_text("7\n")
    said.write_text("0 7\n")
    read_forests(lattice, lines)
    read_forests(lattice, format=f"kaldi-lattice:references={said}")
    lines.write_text("five\n")
    lattice.write_text("0\n0 1 six 1,2,\n1\n\n")
    read_forests(lattice, lines)


def test_words_in_place_of_numbers_are_warned_of_once(tmp_path):
    words = read_text(KaldiLattice(), "u\n0 1 six 1,2,\n0 1 5\n1\n\nv\n0 1 six\n1\n\n").as_set()
    with pytest.warns(UserWarning, match=r"as 'six', and Kaldi itself reads numbers") as seen:
        KaldiLattice().write(words, tmp_path / "out")
    assert len(seen) == 1
    KaldiLattice().write(read_text(KaldiLattice(), GOOD).as_set(), tmp_path / "out")


def test_ids_are_looked_at_before_anything_is_written(capsysbinary):
    good = read_text(KaldiLattice(), GOOD + GOOD.replace("u", "v")).as_set()
    for name in ("v w", ""):
        with pytest.raises(UsageError, match=f"the id '{name}' has white space in it, or is empty"):
            KaldiLattice().write(replace(good, ids=("u", name)), "-")
    assert capsysbinary.readouterr().out == b""


@settings(max_examples=examples(150))
@given(damaged(KALDI))
def test_what_is_damaged_is_refused_or_is_a_forest(data):
    check_damaged(KaldiLattice(), data)
