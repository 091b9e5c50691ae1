"""The search: without limits it finds exactly what enumeration finds."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.decoders.hiero.toy import drawn_rules, everything
from tests.forests import derivations, vector
from tunesmith.decoders.hiero.engine import Engine, Settings
from tunesmith.decoders.hiero.grammar import glue, grammar_of, joined
from tunesmith.decoders.hiero.language_model import LanguageModel, LanguageModels
from tunesmith.errors import TunesmithError

BIGRAMS = """\\data\\
ngram 1=6
ngram 2=6
ngram 3=2

\\1-grams:
-1.5\t<unk>\t0
-99\t<s>\t-0.4
-1.1\t</s>\t0
-0.7\tA\t-0.3
-0.9\tB\t-0.2
-1.2\tC\t-0.6

\\2-grams:
-0.2\t<s> A\t-0.1
-0.4\tA B\t-0.25
-0.3\tB A\t-0.15
-0.5\tB C\t0
-0.6\tC </s>\t0
-0.8\tA A\t-0.05

\\3-grams:
-0.11\t<s> A B
-0.07\tA B C

\\end\\
"""
UNIGRAMS = """\\data\\
ngram 1=4

\\1-grams:
-2\t<unk>
-99\t<s>
-0.5\t</s>
-0.25\tD

\\end\\
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> LanguageModels:
    folder = tmp_path_factory.mktemp("models")
    (folder / "three.arpa").write_text(BIGRAMS)
    (folder / "one.arpa").write_text(UNIGRAMS)
    return LanguageModels(
        {
            "LanguageModel": LanguageModel.read(folder / "three.arpa"),
            "Other": LanguageModel.read(folder / "one.arpa"),
        }
    )


def entries(text: str) -> dict[tuple[str, ...], tuple[float, float]]:
    found = {}
    for line in text.splitlines():
        parts = line.split("\t")
        if len(parts) > 1:
            found[tuple(parts[1].split())] = (
                float(parts[0]),
                float(parts[2]) if len(parts) > 2 else 0.0,
            )
    return found


def log10_of(text: str, words: tuple[str, ...]) -> float:
    """Score a sentence by back-off, as ARPA files mean it."""
    table = entries(text)
    order = max(map(len, table))

    def known(word: str) -> str:
        return word if (word,) in table else "<unk>"

    def after(context: tuple[str, ...], word: str) -> float:
        if (*context, word) in table:
            return table[(*context, word)][0]
        return table.get(context, (0.0, 0.0))[1] + after(context[1:], word)

    said = ["<s>", *map(known, words), "</s>"]
    return sum(after(tuple(said[max(0, k - order + 1) : k]), said[k]) for k in range(1, len(said)))


def engine_of(rules, models, limit=15, **changes) -> Engine:
    whole = joined([grammar_of(rules, limit), glue()])
    if "X" not in whole.categories:
        whole = joined([grammar_of(rules, limit), glue()])
    return Engine(whole, models, Settings(**changes))


SENTENCES = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=4).map(tuple)


def said_by(engine: Engine, sentence, weights) -> Counter:
    arrays = engine.search(sentence, weights).forest()
    return Counter(
        (
            tuple(engine.word(w) for w in tree.words),
            tuple(np.round(vector(arrays, tree, len(engine.names)), 5).tolist()),
        )
        for tree in derivations(arrays)
    )


def expected(engine: Engine, every) -> Counter:
    found: Counter = Counter()
    for one in every:
        values = dict(one.features)
        values["LanguageModel"] = log10_of(BIGRAMS, one.words)
        values["Other"] = log10_of(UNIGRAMS, one.words)
        row = [round(values.get(name, 0.0), 5) + 0.0 for name in engine.names]
        found[(one.words, tuple(row))] += 1
    return found


def rounded(counted: Counter) -> Counter:
    return Counter(
        {(w, tuple(round(v, 3) + 0.0 for v in row)): n for (w, row), n in counted.items()}
    )


@pytest.mark.parametrize("categories", [("X",), ("X", "Y", "Z")])
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_without_limits_all_derivations_are_found(models, categories, data):
    rules = data.draw(drawn_rules(categories))
    sentence = data.draw(SENTENCES)
    limit = data.draw(st.sampled_from([1, 2, 3, 15]))
    passes = data.draw(st.sampled_from(["all", "unknown"]))
    unknown = data.draw(st.sampled_from(["copy", "drop"]))
    engine = engine_of(rules, models, limit, pop_limit=0, passes=passes, unknown=unknown)
    weights = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=9, max_size=9)), float)
    weights = weights[: len(engine.names)]
    every = everything(rules, sentence, limit, passes, unknown)
    if not every:
        with pytest.raises(TunesmithError, match="no derivation"):
            engine.search(sentence, weights)
        return
    if len(every) > 20_000:
        return
    assert rounded(said_by(engine, sentence, weights)) == rounded(expected(engine, every))


@settings(deadline=None, max_examples=100)
@given(data=st.data(), pops=st.sampled_from([0, 1, 2, 5]))
def test_the_best_is_the_best_of_the_forest(models, data, pops):
    rules = data.draw(drawn_rules())
    sentence = data.draw(SENTENCES)
    engine = engine_of(rules, models, pop_limit=pops)
    weights = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=9, max_size=9)), float)
    weights = weights[: len(engine.names)]
    found = engine.search(sentence, weights)
    arrays = found.forest()
    trees = derivations(arrays)
    scores = [float(vector(arrays, tree, len(engine.names)) @ weights) for tree in trees]
    best = found.forest(best_alone=True)
    (tree,) = derivations(best)
    own = float(vector(best, tree, len(engine.names)) @ weights)
    assert own == pytest.approx(max(scores), abs=1e-4)
    assert own == pytest.approx(float(found.chart.scores[-1]), abs=1e-4)
    if pops:
        edges = np.bincount(found.chart.heads)
        by_vertex = Counter(found.chart.vertices[:-1].tolist())
        held: Counter = Counter()
        for node, vertex in enumerate(found.chart.vertices[:-1].tolist()):
            held[vertex] += int(edges[node])
        assert max(held.values()) <= pops
        assert max(by_vertex.values()) <= pops
    # What is found with a limit is among what is there.
    every = expected(engine, everything(rules, sentence, 15))
    assert not rounded(said_by(engine, sentence, weights)) - rounded(every)


def test_more_pops_do_not_find_less(models):
    rules = [
        *grammar_rules("a", ["A", "B", "C D", "D"]),
        *grammar_rules("b", ["B", "A", "C", ""]),
        *grammar_rules("c", ["C", "A B", "D"]),
    ]
    weights = {"LanguageModel": 1.0, "WordPenalty": -0.5, "p": 0.3}
    best = []
    for pops in (1, 2, 4, 16, 0):
        engine = engine_of(rules, models, pop_limit=pops, passes="none")
        vector_ = np.array([weights.get(name, 0.0) for name in engine.names])
        best.append(float(engine.search(tuple("abcabcabc"), vector_).chart.scores[-1]))
    assert all(a <= b + 1e-9 for a, b in pairwise(best))
    assert best[0] < best[-1]


def grammar_rules(word: str, targets: list[str]):
    from tunesmith.decoders.hiero.grammar import Rule

    return [Rule("X", (word,), tuple(t.split()), {"p": -k / 7}) for k, t in enumerate(targets)]


def test_a_sentence_without_words_becomes_one_without_words(models):
    engine = engine_of(grammar_rules("a", ["A"]), models)
    weights = np.ones(len(engine.names))
    found = engine.search((), weights)
    arrays = found.forest()
    (tree,) = derivations(arrays)
    assert tree.words == ()
    own = vector(arrays, tree, len(engine.names))
    wanted = log10_of(BIGRAMS, ()), log10_of(UNIGRAMS, ())
    assert own[:2] == pytest.approx(wanted, abs=1e-5)
    assert not own[2:].any()


def test_ends_of_sentences_in_a_text_are_words(models):
    engine = engine_of(grammar_rules("a", ["A"]), models)
    weights = np.ones(len(engine.names))
    found = engine.search(("<s>", "a", "</s>"), weights).forest(best_alone=True)
    (tree,) = derivations(found)
    assert [engine.word(w) for w in tree.words] == ["<s>", "A", "</s>"]
    wanted = log10_of(BIGRAMS, ("?", "A", "?"))
    assert vector(found, tree, len(engine.names))[0] == pytest.approx(wanted, abs=1e-5)


def test_long_sentences(models):
    engine = engine_of(grammar_rules("a", ["A", "B"]), models, pop_limit=10)
    weights = np.array([1.0 if name == "LanguageModel" else 0.0 for name in engine.names])
    found = engine.search(("a",) * 500, weights).forest(best_alone=True)
    words = [w for w in found.words.tolist() if w >= 0]
    assert len(words) == 500


def test_rules_of_many_nonterminals(models):
    from tunesmith.decoders.hiero.grammar import Nonterminal, Rule

    wide = Rule("X", (Nonterminal("X"),) * 6, (6, 5, 4, 3, 2, 1), {"p": 1.0})
    rules = [*grammar_rules("a", ["A", "B"]), wide]
    engine = engine_of(rules, models, pop_limit=0, passes="none")
    weights = np.array([1.0 if name == "LanguageModel" else 0.1 for name in engine.names])
    every = everything(rules, tuple("aaaaaaa"), 15, "none")
    assert len(every) == 2**7 * 3
    assert rounded(said_by(engine, tuple("aaaaaaa"), weights)) == rounded(expected(engine, every))


def test_the_same_search_again_is_the_same(models):
    rules = grammar_rules("a", ["A", "B", "C D"])
    engine = engine_of(rules, models, pop_limit=3)
    weights = np.arange(len(engine.names)) / 10.0
    first = engine.search(tuple("aaaa"), weights).forest()
    engine.search(tuple("aaaa"), -weights)
    again = engine.search(tuple("aaaa"), weights).forest()
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
