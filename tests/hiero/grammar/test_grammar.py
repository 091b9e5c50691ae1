"""Grammars: made of rules, joined, written and mapped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.hiero.rules import by_source, drawn_rule, rules_below
from tests.helpers.tiers import examples
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.hiero.grammar.grammar import (
    Grammar,
    Nonterminal,
    Rule,
    glue,
    grammar_of,
    joined,
)

X, Y, Z = Nonterminal("X"), Nonterminal("Y"), Nonterminal("Z")
RULES = st.lists(drawn_rule(), max_size=12)
SMALL = [
    Rule("X", ("a", X, "b"), ("c", 1), {"f": 2.0}, ((0, 0),)),
    Rule("Y", ("a", "b"), ("d",), {"g": 1.0, "f": -1.0}, ((0, 0), (1, 0))),
    Rule("X", (X, Y), (2, "e", 1)),
]


@given(RULES)
def test_rules_are_found_under_their_source_sides(rules):
    grammar = grammar_of(rules, 7)
    assert len(grammar) == len(rules)
    assert grammar.arrays.limits.tolist() == [7]
    assert rules_below(grammar, grammar.arrays.roots[0]) == by_source(rules)
    assert by_source(grammar.rules()) == by_source(rules)


@settings(max_examples=examples(40))
@given(st.lists(RULES, min_size=1, max_size=3))
def test_joined_grammars_keep_their_rules(parts):
    grammars = [grammar_of(rules, limit) for limit, rules in enumerate(parts)]
    whole = joined(grammars)
    assert whole.arrays.limits.tolist() == list(range(len(parts)))
    for root, rules in zip(whole.arrays.roots, parts, strict=True):
        assert rules_below(whole, root) == by_source(rules)
    again = joined([whole, *grammars])
    for root, rules in zip(again.arrays.roots, [*parts, *parts], strict=True):
        assert rules_below(again, root) == by_source(rules)


@settings(max_examples=examples(10))
@given(RULES)
def test_arrays_of_kernels_have_one_type(rules):
    import numba

    first = grammar_of(SMALL).arrays
    for other in (grammar_of(rules).arrays, joined([grammar_of(rules), glue()]).arrays):
        for one, two in zip(first, other, strict=True):
            assert numba.typeof(one) == numba.typeof(two)


def test_saved_grammars_come_back(tmp_path):
    for rules in (SMALL, [], [Rule("X", ("a",), ())]):
        grammar = joined([grammar_of(rules), glue("X", "S")])
        grammar.save(tmp_path / "g")
        back = Grammar.load(tmp_path / "g")
        assert list(back.rules()) == list(grammar.rules())
        assert (back.categories, back.names) == (grammar.categories, grammar.names)
        for one, two in zip(grammar.arrays, back.arrays, strict=True):
            assert np.array_equal(one, two)
            assert one.dtype == two.dtype


def test_glue_rules_are_those_of_cdec():
    grammar = glue("P", "T")
    assert grammar.arrays.limits.tolist() == [-1]
    one, more = Nonterminal("P"), Nonterminal("T")
    assert set(map(repr, grammar.rules())) == {
        repr(Rule("T", (one,), (1,), {})),
        repr(Rule("T", (more, one), (1, 2), {"Glue": 1.0})),
    }


def test_links_at_nonterminals_and_features_of_0_are_left_out():
    (rule,) = grammar_of(
        [Rule("X", ("a", X), (1, "b"), {"f": 0.0, "g": 1.0}, ((0, 1), (1, 0), (0, 0), (1, 1)))]
    ).rules()
    assert rule.links == ((0, 1),)
    assert rule.features == {"g": 1.0}


FAULTY = {
    "source side is empty": Rule("X", (), ("a",)),
    "one nonterminal of the category": Rule("X", (X,), (1,)),
    "on one side only": Rule("X", ("a", X), ("b",)),
    "on one side only;": Rule("X", ("a", X), (1, 2)),
    "the same index": Rule("X", ("a", X), (1, 1)),
    "beyond the rule's symbols": Rule("X", ("a",), ("b",), {}, ((0, 1),)),
    "not finite": Rule("X", ("a",), ("b",), {"f": float("nan")}),
    "more than 255": Rule("X", (X,) * 256, tuple(range(1, 257))),
}


@pytest.mark.parametrize("problem", FAULTY)
def test_faulty_rules_are_told(problem):
    with pytest.raises(FormatError, match=f"^rules:4: .*{problem}"):
        grammar_of([*SMALL, FAULTY[problem]])


def test_rules_with_many_nonterminals_are_fine():
    (rule,) = grammar_of([Rule("X", (X,) * 255, tuple(range(255, 0, -1)))]).rules()
    assert rule.target == tuple(range(255, 0, -1))


def test_rules_with_many_features_are_fine():
    wanted = {f"f{(37 * k) % 120}": float(k + 1) for k in range(120)}
    rules = [Rule("X", ("a",), ()), Rule("X", ("b",), (), dict(sorted(wanted.items())))]
    rules += [Rule("X", ("c",), (), wanted)]
    assert rules_below(grammar_of(rules), 0) == by_source(rules)


def test_circles_are_told():
    chain = [Rule("Y", (X,), (1,)), Rule("Z", (Y,), (1,)), Rule("W", (X,), (1,))]
    assert len(grammar_of([*SMALL, *chain])) == 6
    with pytest.raises(FormatError, match=r"circle: \[.\] -> \[.\] -> \[.\] -> \[.\]"):
        grammar_of([*SMALL, *chain, Rule("X", (Z,), (1,))])
    # Over several parts, too.
    with pytest.raises(TunesmithError, match=r"circle: \[(S|X)\] -> \[[SX]\] -> \[\1\]"):
        joined([grammar_of([Rule("X", (Nonterminal("S"),), (1,))]), glue()])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=9))
def test_circles_are_those_of_a_plain_search(pairs):
    pairs = [(low, high) for low, high in pairs if low != high]
    reached = {(low, high) for low, high in pairs}
    for _ in range(6):
        reached |= {(a, d) for a, b in reached for c, d in pairs if b == c}
    rules = [Rule(str(high), (Nonterminal(str(low)),), (1,)) for low, high in pairs]
    if any(a == b for a, b in reached):
        with pytest.raises(FormatError, match="circle"):
            grammar_of(rules)
    else:
        assert len(grammar_of(rules)) == len(rules)


DAMAGES = {
    "roots": [1],
    "limits": [1, 2],
    "parents": [-1, 5, 1, 2, 0, 1],
    "symbols": [0, 99, -1, 1, 1, -1],
    "child_nodes": [9, 4, 2, 1, 3],
    "child_start": [0, 1, 0],
    "rule_start": [0, 0, 0, 0, 0, 9, 3],
    "heads": [0, 0, 7],
    "targets": [88, 1, 1, 1, 1],
    "feature_ids": [0, 0, 0],
    "feature_values": [1.0, float("inf"), 1.0],
    "link_start": [0, 1, 2],
    "links": [[0, 0], [0, 9], [0, 0]],
    "word_order": [7] * 5,
    "word_start": [5, 4, 3, 2, 1, 0],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_folders_are_told(tmp_path, name):
    grammar_of(SMALL).save(tmp_path / "g")
    path = tmp_path / "g" / f"{name}.npy"
    held = np.load(path)
    new = np.array(DAMAGES[name], held.dtype)
    assert not np.array_equal(held, new)
    np.save(path, new)
    with pytest.raises(FormatError, match=r"g: .*; "):
        Grammar.load(tmp_path / "g")


@given(st.data())
def test_no_change_of_a_number_escapes_that_a_kernel_could_stumble_over(data):
    """What the check lets pass is in range: every rule can be spelled."""
    grammar = grammar_of(SMALL)
    name = data.draw(st.sampled_from(sorted(grammar.arrays._fields)))
    array = getattr(grammar.arrays, name).copy()
    place = data.draw(st.integers(0, array.size - 1))
    array.reshape(-1)[place] = data.draw(st.integers(-9, 9))
    array.flags.writeable = False
    changed = Grammar(
        grammar.arrays._replace(**{name: array}),
        grammar.vocabulary,
        grammar.categories,
        grammar.names,
    )
    try:
        changed.check("g")
    except FormatError:
        return
    found = [rule for rules in rules_below(changed, 0).values() for rule in rules]
    assert len(found) == len(SMALL)
    for rule in found:
        places = [t for t in rule.target if isinstance(t, int)]
        assert sorted(places) == list(
            range(1, sum(isinstance(s, Nonterminal) for s in rule.source) + 1)
        )
