"""Grammars as text."""

from __future__ import annotations

import gzip
import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.hiero.rules import by_source, drawn_rule, rules_below
from tests.helpers.tiers import examples
from tunesmith.decoders.base import DecoderError
from tunesmith.errors import FormatError
from tunesmith.hiero.conventions import CDEC, JOSHUA
from tunesmith.hiero.grammar import text as grammar_text
from tunesmith.hiero.grammar.grammar import Nonterminal, Rule
from tunesmith.hiero.grammar.text import read_grammar, segment
from tunesmith.io.streams import Source

# No feature without a name can be called so.
NAMED = st.lists(drawn_rule(), min_size=1, max_size=8)


@st.composite
def written(draw, rule):
    """A rule as a line, in one of the ways in which it can be written."""
    count = sum(isinstance(symbol, Nonterminal) for symbol in rule.source)
    plain = draw(st.booleans())
    indices = list(range(1, count + 1)) if plain else draw(st.permutations(range(1, count + 1)))
    kinds = [symbol.category for symbol in rule.source if isinstance(symbol, Nonterminal)]
    source = []
    met = 0
    for symbol in rule.source:
        if isinstance(symbol, str):
            source.append(symbol)
        else:
            # Without an index it is the n-th.
            bare = plain and draw(st.booleans())
            source.append(f"[{symbol.category}{'' if bare else f',{indices[met]}'}]")
            met += 1
    target = [
        symbol
        if isinstance(symbol, str)
        else draw(
            st.sampled_from(
                [f"[{indices[symbol - 1]}]", f"[{kinds[symbol - 1]},{indices[symbol - 1]}]"]
            )
        )
        for symbol in rule.target
    ]
    features = [f"{name}={value!r}" for name, value in rule.features.items()]
    links = [f"{i}-{j}" for i, j in rule.links]
    fields = [[f"[{rule.head}]"], source, target, features, links]
    if not links and draw(st.booleans()):
        fields.pop()
        if not features and draw(st.booleans()):
            fields.pop()
    gap = st.sampled_from([" ", "  ", "\t", " \t "])
    tokens = [token for field in fields for token in ["|||", *field]][1:]
    line = "".join(token + draw(gap) for token in tokens)
    end = draw(st.sampled_from(["\n", " \n", "\r\n", "\n\n", "\n \t\n"]))
    return draw(st.sampled_from(["", " "])) + line + end


def of_text(text, **options):
    """Read a grammar from a text."""
    data = text if isinstance(text, bytes) else text.encode()
    original = grammar_text.Source
    grammar_text.Source = lambda path: Source(path, data)
    try:
        return read_grammar("g.txt", **options)
    finally:
        grammar_text.Source = original


@given(st.data(), NAMED)
def test_what_is_written_is_read(data, rules):
    text = "".join(data.draw(written(rule)) for rule in rules)
    grammar = of_text(text, limit=9)
    assert grammar.arrays.limits.tolist() == [9]
    assert rules_below(grammar, 0) == by_source(rules)


@settings(max_examples=examples(50))
@given(st.data(), NAMED, st.integers(20, 200))
def test_blocks_and_full_tables_do_not_matter(data, rules, size):
    text = "".join(data.draw(written(rule)) for rule in rules)
    kept = grammar_text.SLOW_ROOM, grammar_text.Interner
    from tunesmith.io import streams

    block = streams.BLOCK
    try:
        streams.BLOCK = streams.CHUNK = size
        grammar_text.SLOW_ROOM = 1
        grammar_text.Interner = lambda capacity=0: kept[1](2)
        grammar = of_text(text)
    finally:
        streams.BLOCK, streams.CHUNK = block, 1 << 18
        grammar_text.SLOW_ROOM, grammar_text.Interner = kept
    assert rules_below(grammar, 0) == by_source(rules)


def only(text, **options):
    (rule,) = of_text(text, **options).rules()
    return rule


def test_values_without_names_are_counted_as_each_decoder_does():
    line = "[X] ||| a ||| b ||| 0.5 f=2 -1 1e-3 ||| 0-0\n"
    assert only(line).features == {
        "PhraseModel_0": 0.5,
        "f": 2.0,
        "PhraseModel_2": -1.0,
        "PhraseModel_3": 0.001,
    }
    assert only(line, conventions=JOSHUA, owner="pt").features == {
        "tm_pt_0": -0.5,
        "f": 2.0,
        "tm_pt_1": 1.0,
        "tm_pt_2": -0.001,
    }
    # Digits that a kernel leaves to Python change their sign, too.
    long = "[X] ||| a ||| b ||| 0.12345678901234567890 f=0.12345678901234567890\n"
    assert only(long, conventions=JOSHUA).features == {
        "tm_pt_0": -0.12345678901234568,
        "f": 0.12345678901234568,
    }
    # A name may be written out; of two values for it there is no telling.
    assert only("[X] ||| a ||| b ||| PhraseModel_1=3\n").features == {"PhraseModel_1": 3.0}
    with pytest.raises(FormatError, match=r"g\.txt:1: a feature is given twice"):
        of_text("[X] ||| a ||| b ||| 1 PhraseModel_0=3\n")


def test_names_are_in_the_order_of_places_and_then_as_they_come():
    text = "[X] ||| a ||| b ||| z=1 y=2\n[X] ||| b ||| b ||| 1 1 1 y=1 x=0\n"
    names = ("PhraseModel_0", "PhraseModel_1", "PhraseModel_2", "z", "y", "x")
    assert of_text(text).names == names
    assert of_text(text, conventions=replace(CDEC, unlabelled="v{index}")).names[:3] == (
        "v0",
        "v1",
        "v2",
    )


def test_semicolons_stand_between_values_as_in_cdec():
    features = {"a": 1.0, "b;c": 2.0, "PhraseModel_2": 3.0, "PhraseModel_3": 4.0, "d": 5.0}
    assert only("[X] ||| a ||| b ||| a=1;b;c=2 3;4;d=5;\n").features == features


def test_links_are_by_index_not_by_place():
    rule = only("[X] ||| [Y,2] a [Z,1] ||| [1] b [Y,2]\n")
    assert rule.source == (Nonterminal("Y"), "a", Nonterminal("Z"))
    assert rule.target == (2, "b", 1)


def test_what_is_no_nonterminal_is_a_word():
    words = ("[", "]", "[]", "[a", "a]", "[[X]]", "[X][X]", "||||", "|||a", "[X]a")
    rule = only(f"[X] ||| {' '.join(words)} ||| {' '.join(words)}\n")
    assert rule.source == words
    assert rule.target == words


def test_further_fields_are_passed_over():
    rule = only("[X] ||| a ||| b ||| f=1 ||| 0-0 ||| (NP (NN a)) ||| ¬ 1=2\n")
    assert rule.links == ((0, 0),)


def test_rules_given_twice_stay_twice_and_in_order():
    text = "[X] ||| a ||| b ||| f=1\n[X] ||| c ||| d\n[X] ||| a ||| b ||| f=2\n"
    text += "[X] ||| a ||| b ||| f=1\n"
    (first, *rest) = [rule.features for rule in of_text(text).rules() if rule.source == ("a",)]
    assert [first, *rest] == [{"f": 1.0}, {"f": 2.0}, {"f": 1.0}]


def test_files_may_be_many_and_compressed(tmp_path):
    one, two = tmp_path / "g.0", tmp_path / "g.1.gz"
    one.write_text("\n[X] ||| a ||| b\n")
    two.write_bytes(gzip.compress(b"[X] ||| b ||| c\n\n[X] ||| a ||| d"))
    grammar = read_grammar([one, two])
    assert [(rule.source, rule.target) for rule in grammar.rules()] == [
        (("a",), ("b",)),
        (("a",), ("d",)),
        (("b",), ("c",)),
    ]
    assert [Path(file.path).name for file in grammar.files] == ["g.0", "g.1.gz"]
    two.write_bytes(gzip.compress(b"[X] ||| b ||| c\n\n[X] ||| [X] ||| [1]\n"))
    with pytest.raises(FormatError, match=r"g\.1\.gz:3: .*one nonterminal"):
        read_grammar([one, two])
    one.write_text("[X] ||| a ||| b ||| ||| 0-7\n")
    with pytest.raises(FormatError, match=r"g\.0:1: .*alignment point is beyond"):
        read_grammar([one, two])


def test_standard_input_is_read(monkeypatch):
    class Replaced:
        buffer = io.BytesIO(b"[X] ||| a ||| b\n")

        def fileno(self):
            raise OSError

    monkeypatch.setattr(sys, "stdin", Replaced())
    assert len(read_grammar("-")) == 1


@pytest.mark.parametrize("text", ["", "\n \n\r\n"])
def test_grammars_without_rules(text):
    with pytest.raises(FormatError, match="no rule in it"):
        of_text(text)
    assert len(of_text(text, may_be_empty=True)) == 0


FAULTS = {
    "[X]": "fewer than three fields",
    "[X] ||| a": "fewer than three fields",
    "[X] ||| a|||b": "fewer than three fields",
    "X ||| a ||| b": "left side 'X' is no category",
    "[X,1] ||| a ||| b": r"left side '\[X,1\]' is no category",
    "[X] a ||| b ||| c": "left side 'a' is no category",
    "||| a ||| b ||| c": r"left side '\|\|\|' is no category",
    "[X] ||| ||| a": "source side is empty",
    "[X] ||| [X] ||| [1]": "one nonterminal of the category",
    "[X] ||| a [X,1] ||| b": "on one side only",
    "[X] ||| a ||| b [1]": r"'\[1\]' is on the target side only",
    "[X] ||| a [X,1] ||| b [X,2]": r"'\[X,2\]' is on the target side only",
    "[X] ||| a [X] ||| b [X]": r"'\[X\]' of the target side has no index",
    "[X] ||| a [X,1] [X,1] ||| [1] [1]": "on the source side twice",
    "[X] ||| a [X] [X] ||| [1] [1]": "the same index",
    "[X] ||| a [X,1] ||| [Y,1]": r"'\[Y,1\]' has another category",
    "[X] ||| a [1] ||| [1] b": r"'\[1\]' of the source side has a number.*; write \[X,1\]",
    "[X] ||| a [1,1] ||| [1,1] b": r"'\[1,1\]' of the source side has a number",
    "[X] ||| a [X,0] ||| [0]": "cannot be",
    "[X] ||| a [X,256] ||| [256]": "cannot be",
    "[X] ||| a [X,99999999999999999999] ||| b": "cannot be",
    "[X] ||| a" + " [X]" * 256 + " ||| b": "more than 255 nonterminals",
    "[X] ||| a ||| b ||| f=": "'f=' has no value",
    "[X] ||| a ||| b ||| =1": "'=1' has no name",
    "[X] ||| a ||| b ||| f=x": "'x', not a number",
    "[X] ||| a ||| b ||| f=" + 500 * "x": "'x{60} ...', not a number",
    "[X] ||| a ||| b ||| f=1=2": "'1=2', not a number",
    "[X] ||| a ||| b ||| 0-0": "'0-0', not a number",
    "[X] ||| a ||| b ||| nan": "nan, which is not finite",
    "[X] ||| a ||| b ||| f=-inf": "-inf, which is not finite",
    "[X] ||| a ||| b ||| 1e999": "1e999, which is not finite",
    "[X] ||| a ||| b ||| f=1 f=1": "given twice",
    "[X] ||| a ||| b ||| ||| 0": "'0' is no alignment point",
    "[X] ||| a ||| b ||| ||| 0-": "'0-' is no alignment point",
    "[X] ||| a ||| b ||| ||| 0--1": "'0--1' is no alignment point",
    "[X] ||| a ||| b ||| ||| f=1": "'f=1' is no alignment point",
    "[X] ||| a ||| b ||| ||| 1-0": "beyond the rule's symbols",
    "[X] ||| a ||| b ||| ||| 0-1": "beyond the rule's symbols",
    "[X] ||| a ||| ||| ||| 0-0": "beyond the rule's symbols",
}


@pytest.mark.parametrize("line", FAULTS, ids=lambda line: line[:40])
def test_faults_are_told_with_their_lines(line):
    text = f"[X] ||| a ||| b ||| f=1\n\n{line}\n[X] ||| c ||| d\n"
    with pytest.raises(FormatError, match=rf"^g\.txt:3: .*{FAULTS[line]}.*; "):
        of_text(text)


def test_the_first_fault_is_told():
    text = "[X] ||| a ||| b ||| f=x\n[X] ||| a\n"
    with pytest.raises(FormatError, match=r"g\.txt:1: .*not a number"):
        of_text(text)


def test_circles_over_several_lines_are_told():
    with pytest.raises(FormatError, match=r"g\.txt:[12]: .*circle: "):
        of_text("[X] ||| [Y] ||| [1]\n[Y] ||| [X] ||| [1]\n")


def test_bytes_that_are_no_text_are_told():
    with pytest.raises(FormatError, match=r"g\.txt:2: byte 0xff is not UTF-8"):
        of_text(b"[X] ||| a ||| b\n[X] ||| \xff ||| b\n")
    with pytest.raises(FormatError, match="CR alone"):
        of_text(b"[X] ||| a ||| b\r[X] ||| c ||| b\r")


def test_segments_have_attributes():
    line = '<seg grammar="/data/grammar.0.gz" id="0"> a <b> c </seg>\n'
    assert segment(line) == ({"grammar": "/data/grammar.0.gz", "id": "0"}, "a <b> c")
    assert segment("a b") == ({}, "a b")
    assert segment("<seg>a</seg>") == ({}, "a")
    assert segment('<seg id="1"></seg>') == ({"id": "1"}, "")
    assert segment("<segment>a</segment>") == ({}, "<segment>a</segment>")
    assert segment("a <seg> b") == ({}, "a <seg> b")
    assert segment("<seg id='1' grammar=g/1.gz>a</seg>") == ({"id": "1", "grammar": "g/1.gz"}, "a")
    assert segment("""<seg id=1 a='x > "y"' b = "it's">a</seg>""") == (
        {"id": "1", "a": 'x > "y"', "b": "it's"},
        "a",
    )
    assert segment(f'<seg id="{"1" * 5000}">a</seg>')[0] == {"id": "1" * 5000}


@pytest.mark.parametrize(
    "line",
    [
        "<seg>a",
        '<seg id="1">a',
        ' <seg id="1" > a </seg> b',
        '<seg id="1>a</seg>',
        "<seg id>a</seg>",
        "<seg 1>a</seg>",
        '<seg id="1" a',
        '<seg id="1"grammar="g">a</seg>',
        '<seg id="1">a</seg> <seg id="2">b</seg>',
        "<seg " + "a=b " * 5000,
    ],
    ids=lambda line: line[:30],
)
def test_segments_that_are_damaged(line):
    with pytest.raises(DecoderError, match="<seg> is not as it should be; write"):
        segment(line)


def test_a_real_grammar_is_read_as_a_plain_reader_does(shared_data):
    path = shared_data / "nc-wmt11-de-en" / "nc-wmt11.grammar.gz"
    grammar = read_grammar(path)
    assert len(grammar) == 72745
    with gzip.open(path, "rt", encoding="utf-8") as file:
        wanted = {repr(plainly(line)) for line in file}
    assert all(repr(grammar.rule(rule)) in wanted for rule in range(0, len(grammar), 40))


def plainly(line):
    """A rule of that grammar, whose values have no names and whose indices are one digit."""

    def looks(token):
        return len(token) > 2 and token[0] + token[-1] == "[]"

    head, source, target, values, links = (field.split() for field in line.split("|||"))
    symbols = tuple(Nonterminal(s[1:-3]) if looks(s) else s for s in source)
    words = tuple(int(t[-2]) if looks(t) else t for t in target)
    points = [tuple(map(int, link.split("-"))) for link in links]
    return Rule(
        head[0][1:-1],
        symbols,
        words,
        {f"PhraseModel_{k}": float(v) for k, v in enumerate(values) if float(v)},
        tuple(
            (i, j) for i, j in points if isinstance(symbols[i], str) and isinstance(words[j], str)
        ),
    )
