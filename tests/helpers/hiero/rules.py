"""Rules for tests: drawn, written as text, and found again in the arrays of a grammar."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import strategies as st

from tunesmith.hiero.grammar.grammar import Nonterminal, Rule

CATEGORIES = ("X", "S", "NP\\NN")
WORDS = (
    "a",
    "b",
    "der",
    "ä",
    "[",
    "]",
    "[]",
    "[a",
    "a]",
    "||",
    "=",
    "a,b",
    "1",
    "[[X]]",
    "langes-wort",
)
FEATURES = ("f", "Glue", "p(e|f)", "tm_9")
VALUES = st.sampled_from([1.0, -2.5, 0.125, 3.0, -1e-05, 123456.789, 7e30]) | st.floats(
    -1e6, 1e6, allow_subnormal=False
).filter(bool)


@st.composite
def drawn_rule(draw, words=WORDS, features=FEATURES):
    """A rule with a word, or with two nonterminals, on its source side: nothing goes in circles."""
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=5).filter(lambda k: k != [False]))
    source = tuple(
        draw(st.sampled_from(words)) if word else Nonterminal(draw(st.sampled_from(CATEGORIES)))
        for word in kinds
    )
    nonterminals = list(range(1, kinds.count(False) + 1))
    extra = draw(st.lists(st.sampled_from(words), max_size=4))
    target = tuple(draw(st.permutations([*nonterminals, *extra])))
    return Rule(
        draw(st.sampled_from(CATEGORIES)),
        source,
        target,
        draw(st.dictionaries(st.sampled_from(features), VALUES)),
        tuple(draw(st.lists(st.sampled_from(points(source, target)), max_size=4)))
        if points(source, target)
        else (),
    )


def points(source, target):
    """All alignment points between words."""
    return [
        (i, j)
        for i, f in enumerate(source)
        for j, e in enumerate(target)
        if isinstance(f, str) and isinstance(e, str)
    ]


def rules_below(grammar, root):
    """The rules of one part, by their source sides, found by walking from the root downwards."""
    arrays, words = grammar.arrays, grammar.vocabulary.words
    found = defaultdict(list)
    waiting = [(int(root), ())]
    while waiting:
        node, source = waiting.pop()
        for r in range(arrays.rule_start[node], arrays.rule_start[node + 1]):
            features = slice(arrays.feature_start[r], arrays.feature_start[r + 1])
            ids = arrays.feature_ids[features].tolist()
            assert ids == sorted(set(ids))
            values = arrays.feature_values[features].tolist()
            target = arrays.targets[arrays.target_start[r] : arrays.target_start[r + 1]].tolist()
            links = arrays.links[arrays.link_start[r] : arrays.link_start[r + 1]].tolist()
            rule = Rule(
                grammar.categories[arrays.heads[r]],
                source,
                tuple(-t if t < 0 else words[t] for t in target),
                {grammar.names[k]: v for k, v in zip(ids, values, strict=True)},
                tuple(map(tuple, links)),
            )
            found[source].append(rule)
        children = slice(arrays.child_start[node], arrays.child_start[node + 1])
        symbols = arrays.child_symbols[children].tolist()
        assert symbols == sorted(set(symbols))
        for symbol, child in zip(symbols, arrays.child_nodes[children].tolist(), strict=True):
            assert (arrays.parents[child], arrays.symbols[child]) == (node, symbol)
            shown = Nonterminal(grammar.categories[-1 - symbol]) if symbol < 0 else words[symbol]
            waiting.append((child, (*source, shown)))
    return dict(found)


def by_source(rules):
    """The same from a list of rules."""
    found = defaultdict(list)
    for rule in rules:
        found[rule.source].append(rule)
    return dict(found)
