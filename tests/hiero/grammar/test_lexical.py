"""Lexical features of rules."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.hiero.rules import WORDS, drawn_rule
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError
from tunesmith.hiero.grammar.grammar import Nonterminal, Rule, grammar_of
from tunesmith.hiero.grammar.lexical import (
    frequent_in_rules,
    lexical_name,
    unaligned_name,
    with_lexical,
)

SETS = st.sets(st.sampled_from([*WORDS, "elsewhere"]))
#: One rule that has a link, so that there are alignments.
LINKED = Rule("X", ("a",), ("b",), {}, ((0, 0),))


def plainly(rule, sources, targets):
    """The features of section 7, counted one by one."""
    fired = Counter()
    for j, e in enumerate(rule.target):
        if isinstance(e, int):
            continue
        shown = e if e in targets else None
        fired[lexical_name(shown)] += 1
        linked = {i for i, k in rule.links if k == j}
        for i in linked:
            f = rule.source[i]
            fired[lexical_name(f if f in sources else None, shown)] += 1
        if not linked:
            fired[unaligned_name(shown)] += 1
    return dict(fired)


@settings(max_examples=examples(60))
@given(st.lists(drawn_rule(), max_size=8), SETS, SETS)
def test_features_are_those_counted_one_by_one(rules, sources, targets):
    grammar = grammar_of([*rules, LINKED])
    found = with_lexical(grammar, sources, targets)
    found.check("g")
    assert found.names[: len(grammar.names)] == grammar.names
    for k, rule in enumerate(grammar.rules()):
        assert found.rule(k).features == {**rule.features, **plainly(rule, sources, targets)}
    used = {name for rule in found.rules() for name in rule.features}
    assert used.issuperset(found.names[len(grammar.names) :])


def test_a_rule_by_hand():
    rule = Rule(
        "X",
        ("das", Nonterminal("X"), "haus", "haus"),
        ("the", 1, "house", "the", "yet"),
        {"p": -1.0},
        ((0, 0), (2, 2), (3, 2), (2, 3), (2, 3)),
    )
    (found,) = with_lexical(grammar_of([rule]), {"haus"}, {"the", "house"}).rules()
    assert found.features == {
        "p": -1.0,
        "lex(the)": 2.0,
        "lex(house)": 1.0,
        "lex(UNK)": 1.0,
        "lex(UNK,the)": 1.0,
        "lex(haus,the)": 1.0,  # a point that is given twice is one
        "lex(haus,house)": 2.0,
        "lex(NULL,UNK)": 1.0,
    }


WORD = st.text(min_size=1, max_size=4).filter(lambda word: word.split() == [word])
AWKWARD = st.sampled_from(["NULL", "UNK", "%4EULL", ",", "%2C", "=", "|||", "a,b", "lex(a)", "#"])


@given(st.lists(st.tuples(AWKWARD | WORD, AWKWARD | WORD), min_size=2, max_size=2, unique=True))
def test_names_differ_and_stand_in_files(pairs):
    names = [
        name
        for f, e in pairs
        for name in {
            (f, e): lexical_name(f, e),
            (e,): lexical_name(e),
            ("NULL", None, e): unaligned_name(e),
            (None, e): lexical_name(None, e),
        }.items()
    ]
    assert len({key for key, _ in names}) == len({name for _, name in names})
    for _, name in names:
        assert len(name.split()) == 1
        assert not set("=|;#") & set(name)


def test_names_of_common_words_are_readable():
    assert lexical_name("haus", "house") == "lex(haus,house)"
    assert lexical_name("ü:(") == "lex(ü:()"
    assert lexical_name(",", "%") == "lex(%2C,%25)"
    assert lexical_name("NULL", "UNK") == "lex(%4EULL,%55NK)"


def test_weights_go_through_files(tmp_path):
    from tunesmith.data.weights import Weights
    from tunesmith.io.weights.cdec import CdecWeights
    from tunesmith.io.weights.files import read_weights

    words = ["=", "|||", ",", "#a", "a:", "NULL", "%", "ß"]
    names = [lexical_name(f, e) for f in words for e in words]
    weights = Weights.from_dict({name: 0.5 + k for k, name in enumerate(names)})
    (tmp_path / "w").write_bytes(CdecWeights().write(weights, b""))
    assert dict(read_weights(tmp_path / "w").weights) == dict(weights)


def test_what_cannot_be_is_told():
    with pytest.raises(TunesmithError, match="have no alignments"):
        with_lexical(grammar_of([Rule("X", ("a",), ("b",))]), ["a"], ["b"])
    once = with_lexical(grammar_of([LINKED]), ["a"], ["b"])
    with pytest.raises(TunesmithError, match=r"has a feature 'lex\(a,b\)' already"):
        with_lexical(once, ["a"], ["b"])
    assert len(with_lexical(grammar_of([]), ["a"], ["b"])) == 0


def test_long_source_sides(monkeypatch):
    size = 300
    rule = Rule("X", ("a",) * size, ("b",), {}, ((size - 1, 0),))
    (found,) = with_lexical(grammar_of([rule]), ["a"], ["b"]).rules()
    assert found.features == {"lex(b)": 1.0, "lex(a,b)": 1.0}


@settings(max_examples=examples(40))
@given(st.lists(drawn_rule(), max_size=8))
def test_frequent_words_of_rules_are_counted(rules):
    sources = Counter(s for rule in rules for s in rule.source if isinstance(s, str))
    targets = Counter(t for rule in rules for t in rule.target if isinstance(t, str))
    found = frequent_in_rules(grammar_of(rules), 3)
    for counts, words in zip((sources, targets), found, strict=True):
        assert words == tuple(sorted(counts, key=lambda word: (-counts[word], word))[:3])
