"""The search: without limits it finds exactly what enumeration finds."""

from __future__ import annotations

import functools
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, vector
from tests.helpers.hiero.enumeration import GLUE, UNIT, drawn_rules, everything
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError
from tunesmith.hiero.engine import HieroEngine, Settings
from tunesmith.hiero.grammar.grammar import Nonterminal, Rule, glue, grammar_of, joined
from tunesmith.hiero.lm.language_model import LanguageModel, LanguageModels

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


@pytest.fixture(scope="module")
def unigrams(tmp_path_factory) -> LanguageModels:
    path = tmp_path_factory.mktemp("unigrams") / "one.arpa"
    path.write_text(UNIGRAMS)
    return LanguageModels({"Other": LanguageModel.read(path)})


@functools.cache
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


def engine_of(rules, models, limit=15, **changes) -> HieroEngine:
    whole = joined([grammar_of(rules, limit), glue()])
    return HieroEngine(whole, models, Settings(**changes))


SENTENCES = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=4).map(tuple)


def said_by(engine: HieroEngine, sentence, weights) -> Counter:
    found = engine.search(sentence, weights)
    arrays = found.forest()
    return Counter(
        (
            tuple(found.prepared.word(w) for w in tree.words),
            tuple(np.round(vector(arrays, tree, len(engine.names)), 5).tolist()),
        )
        for tree in derivations(arrays)
    )


def expected(engine: HieroEngine, every) -> Counter:
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
@settings(max_examples=examples(150))
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


@settings(max_examples=examples(100))
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
    best = found.forest(best_only=True)
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


def counted(arrays) -> int:
    """Return how many derivations a forest has, by adding up over its nodes."""
    ways: list[int] = []
    for node in range(len(arrays.edge_start) - 1):
        total = 0
        for e in range(arrays.edge_start[node], arrays.edge_start[node + 1]):
            own = 1
            for tail in arrays.tails[arrays.tail_start[e] : arrays.tail_start[e + 1]].tolist():
                own *= ways[tail]
            total += own
        ways.append(total)
    return ways[-1]


def plain_cky(rules, sentence, limit, weights) -> tuple[int, float]:
    """Return the number of derivations, and the best score without contexts, by recursion."""
    words = entries(UNIGRAMS)

    def own(rule) -> float:
        features = {**rule.features}
        said = [symbol for symbol in rule.target if isinstance(symbol, str)]
        features["WordPenalty"] = UNIT * len(said)
        features["RuleCount"] = 0.0 if rule.head == "S" else 1.0
        known = [word if (word,) in words else "<unk>" for word in said]
        features["Other"] = sum(words[(word,)][0] for word in known)
        return sum(weights.get(name, 0.0) * value for name, value in features.items())

    passed = {
        word: Rule("X", (word,), (word,), {"PassThrough": 1.0, "RuleCount": 0.0})
        for word in sentence
    }

    @functools.cache
    def of(i: int, j: int, category: str) -> tuple[int, float]:
        total, best = 0, -np.inf
        if category == "X" and j == i + 1:
            free = own(passed[sentence[i]]) - weights.get("RuleCount", 0.0)
            total, best = 1, free
        for rule in [*rules, *GLUE]:
            is_glue = rule.head == "S"
            if rule.head == category and (i == 0 if is_glue else j - i <= limit):
                count, score = filled(rule.source, i, j)
                if count:
                    total, best = total + count, max(best, own(rule) + score)
        return total, best

    @functools.cache
    def filled(source, i: int, j: int) -> tuple[int, float]:
        if not source:
            return (1, 0.0) if i == j else (0, -np.inf)
        symbol, rest = source[0], source[1:]
        if isinstance(symbol, str):
            fits = i < j and sentence[i] == symbol
            return filled(rest, i + 1, j) if fits else (0, -np.inf)
        total, best = 0, -np.inf
        for k in range(i + 1, j + 1 - len(rest)):
            others, rest_score = filled(rest, k, j)
            if others:
                count, score = of(i, k, symbol.category)
                total, best = total + count * others, max(best, score + rest_score)
        return total, best

    return of(0, len(sentence), "S")


@settings(max_examples=examples(25))
@given(data=st.data())
def test_longer_sentences_have_as_many_derivations(data, unigrams):
    categories = data.draw(st.sampled_from([("X",), ("X", "Y"), ("X", "Y", "Z", "V", "W")]))
    rules = data.draw(drawn_rules(categories))
    rules += [rule for _ in range(3) for rule in data.draw(drawn_rules(categories))]
    size = data.draw(st.integers(5, 14))
    letters = st.sampled_from(["a", "b", "c", "d"])
    sentence = tuple(data.draw(st.lists(letters, min_size=size, max_size=size)))
    limit = data.draw(st.sampled_from([2, 5, 15]))
    engine = engine_of(rules, unigrams, limit, pop_limit=0)
    values = data.draw(st.lists(st.integers(-2, 2), min_size=9, max_size=9))
    weights = dict(zip(engine.names, map(float, values), strict=False))
    found = engine.search(sentence, np.array([weights.get(n, 0.0) for n in engine.names]))
    count, best = plain_cky(rules, sentence, limit, weights)
    assert counted(found.forest()) == count
    end = weights["Other"] * entries(UNIGRAMS)[("</s>",)][0]
    assert float(found.chart.scores[-1]) == pytest.approx(best + end, abs=1e-4)


@pytest.mark.parametrize("pops", [0, 200])
def test_many_rules_and_many_bundles(models, pops):
    # More entries wait at once than tables have places to begin with.
    words = [f"w{k}" for k in range(4000 if pops else 300)]
    source = (Nonterminal("X"), "a", Nonterminal("X"))
    many = [Rule("X", source, (2, word, 1), {"p": -k / 1e4}) for k, word in enumerate(words)]
    engine = engine_of([*many, *grammar_rules("b", ["B", "A"])], models, pop_limit=pops)
    weights = np.array([1.0 if name == "LanguageModel" else 0.5 for name in engine.names])
    found = engine.search(("b", "a", "b"), weights).forest()
    if not pops:
        # b in two ways or passed, a passed or part of a rule
        assert counted(found) == 9 * (len(words) + 1)
    wide = Rule("X", (Nonterminal("X"),) * 6, (6, 5, 4, 3, 2, 1))
    engine = engine_of([wide, *grammar_rules("a", ["A"])], models, 18, pop_limit=3, passes="none")
    found = engine.search(("a",) * 18, np.ones(len(engine.names))).forest(best_only=True)
    assert len([w for w in found.words.tolist() if w >= 0]) == 18


def test_names_of_language_models_are_theirs_alone(models):
    (first, second) = models.models.values()
    for name in ("WordPenalty", "p", "PassThrough"):
        both = LanguageModels({"LanguageModel": first, name: second})
        with pytest.raises(TunesmithError, match=f"the name of another feature, {name}; rename"):
            engine_of(grammar_rules("a", ["A"]), both)


def test_rules_count_where_phrases_are_the_whole(models):
    rules = [*grammar_rules("a", ["A"]), Rule("X", (Nonterminal("X"),) * 2, (1, 2))]
    whole = Settings(top="X", passes="none")
    engine = HieroEngine(grammar_of(rules), models, whole)
    arrays = engine.search(("a", "a"), np.zeros(len(engine.names))).forest()
    (tree,) = derivations(arrays)
    own = dict(zip(engine.names, vector(arrays, tree, len(engine.names)), strict=True))
    assert own["RuleCount"] == 3.0


def grammar_rules(word: str, targets: list[str]):
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
    found = engine.search(("<s>", "a", "</s>"), weights)
    arrays = found.forest(best_only=True)
    (tree,) = derivations(arrays)
    assert [found.prepared.word(w) for w in tree.words] == ["<s>", "A", "</s>"]
    wanted = log10_of(BIGRAMS, ("?", "A", "?"))
    assert vector(arrays, tree, len(engine.names))[0] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.long
def test_long_sentences(models):
    engine = engine_of(grammar_rules("a", ["A", "B"]), models, pop_limit=10)
    weights = np.array([1.0 if name == "LanguageModel" else 0.0 for name in engine.names])
    found = engine.search(("a",) * 500, weights).forest(best_only=True)
    words = [w for w in found.words.tolist() if w >= 0]
    assert len(words) == 500


def test_rules_of_many_nonterminals(models):
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
