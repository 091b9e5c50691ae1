"""Sentences of forests one at a time, against lists and against enumeration."""

from __future__ import annotations

import gc
import itertools
import weakref
from dataclasses import replace

import numba
import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from tests.helpers.forests import derivations, forest_arrays, forest_set, vector
from tests.helpers.inference.forest_sets import (
    ALL,
    SEEDS,
    WEIGHTS,
    OnDisk,
    drawn_set,
    one_node_forests,
    options,
)
from tests.helpers.tiers import examples
from tunesmith.data.forests import Block, cut
from tunesmith.errors import TunesmithError
from tunesmith.inference.examples import Derivation
from tunesmith.inference.forests.examples import AmongBest, ForestExamples, WholeForest
from tunesmith.inference.forests.lists import kbest_lists
from tunesmith.inference.lists.examples import ListExamples
from tunesmith.metrics.base import Metric
from tunesmith.metrics.candidate_scorer import CandidateScorer, objective_of
from tunesmith.tasks.forests import ForestTuning
from tunesmith.tasks.lists import TuningSet

SOME = settings(max_examples=examples(25))
FEW = settings(max_examples=examples(12))
#: Metrics and objectives that only the best derivations are looked at for.
OTHERS = [("bleu", "bleu+1"), ("bleu", "metric"), ("wer", "document"), ("wer", "bleu+1")]


class Words(Metric):
    """The mean number of words, which needs no references."""

    name = "words"
    is_sum = True
    needs_references = False
    scale = 1.0

    @property
    def stat_names(self):
        return ("words", "count")

    def stats(self, hypothesis, references):
        return np.array([len(hypothesis.split()), 1])

    def score(self, stats):
        return stats[..., 0] / stats[..., 1]

    def signature(self):
        return "words"


def dense(features, values, width=3):
    found = np.zeros(width)
    found[features] = values
    return found


def same(one: Derivation | None, other: Derivation | None):
    """Compare derivations, but for their keys; lists write zeros down."""
    if one is None or other is None:
        assert one is other
        return
    assert dense(one.features, one.values).tolist() == dense(other.features, other.values).tolist()
    assert (np.diff(one.features) > 0).all()
    assert one.stats.tolist() == other.stats.tolist()
    assert one.stats.dtype == other.stats.dtype
    assert one.gain == other.gain


@SOME
@given(SEEDS, st.sampled_from(["rerank", "kbest"]), st.sampled_from([0.0, 0.5, 0.9]))
def test_a_list_written_as_a_forest_is_the_same_to_a_document(seed, search, decay):
    forests, candidates, rng = one_node_forests(seed)
    lists = TuningSet(candidates, "bleu")
    scorer = objective_of(f"document:decay={decay}").begin(lists, "examples")
    ours = ForestExamples(ForestTuning(forests, "bleu", options(search)))
    theirs = ListExamples(lists)
    assert (ours.names, ours.groups) == (theirs.names, theirs.groups)
    weights = rng.normal(size=3)
    for group in [*range(forests.groups), 0]:
        own, other = ours.example(group, scorer), theirs.example(group, scorer)
        assert isinstance(own, WholeForest if search == "rerank" else AmongBest)
        same(own.best(weights), other.best(weights))
        for factor in (0.0, 1.0, -1.0, 0.3, -20.0, 1e6):
            same(own.augmented(weights, factor), other.augmented(weights, factor))
        for among in (None, 1, 2, 5):
            same(own.oracle(weights, among), other.oracle(weights, among))
        same(own.reference(weights), other.reference(weights))
        scorer.add(own.best(weights).stats)
        weights += rng.normal(size=3)  # in place, as learners do it


@SOME
@given(SEEDS, st.sampled_from([*OTHERS, ("bleu", "document")]), st.floats(0.01, 10))
def test_risks_over_a_list_written_as_a_forest(seed, about, temperature):
    metric, objective = about
    forests, candidates, rng = one_node_forests(seed)
    lists = TuningSet(candidates, metric)
    scorer = objective_of(objective).begin(lists, "examples")
    ours = ForestExamples(ForestTuning(forests, metric, options("kbest")))
    theirs = ListExamples(lists)
    weights = rng.normal(size=3)
    for group in range(forests.groups):
        own = ours.example(group, scorer).risk(weights, temperature)
        other = theirs.example(group, scorer).risk(weights, temperature)
        assert own.gain == pytest.approx(other.gain, rel=1e-9, abs=1e-9)
        found = dense(own.features, own.slope)
        np.testing.assert_allclose(found, dense(other.features, other.slope), 1e-9, 1e-9)


@SOME
@given(SEEDS, st.sampled_from(OTHERS), st.sampled_from(["rerank", "linear", "kbest"]))
def test_a_list_written_as_a_forest_is_the_same_to_others(seed, about, search):
    metric, objective = about
    forests, candidates, rng = one_node_forests(seed)
    lists = TuningSet(candidates, metric)
    scorer = objective_of(objective).begin(lists, "examples")
    ours = ForestExamples(ForestTuning(forests, metric, options(search)))
    theirs = ListExamples(lists)
    weights = rng.normal(size=3)
    for group in range(forests.groups):
        own, other = ours.example(group, scorer), theirs.example(group, scorer)
        same(own.best(weights), other.best(weights))
        for factor in (1.0, -1.0, 0.3, -20.0):
            same(own.augmented(weights, factor), other.augmented(weights, factor))
        for among in (None, 2):
            # Of equal worth is the better one, on lists as well.
            same(own.oracle(weights, among), other.oracle(weights, among))


class Held:
    """A set of forests, and all their derivations with what they are worth."""

    def __init__(self, forests, metric="bleu", objective="document", search="rerank", size=ALL):
        self.forests = forests
        self.tuning = ForestTuning(forests, metric, options(search, size))
        flat = np.zeros(len(forests.names))
        self.lists = TuningSet(kbest_lists(forests, flat, 20), self.tuning.metric)
        self.scorer = objective_of(objective).begin(self.lists, "examples")
        self.examples = ForestExamples(self.tuning)

    def example(self, group=0):
        try:
            return self.examples.example(group, self.scorer)
        except UserWarning:  # too large to count n-grams across all hyperedges
            reject()

    def all(self, group=0):
        """Return features, text, statistics and gain of all derivations, by brute force."""
        held, metric = self.forests, self.scorer.metric
        lo, hi = held.references.group_start[group : group + 2]
        references = [held.join(held.references.texts[r]) for r in range(lo, hi)]
        found = []
        for tree in derivations(held.arrays, group):
            text = held.join(np.array(tree.words, np.int32))
            stats = metric.stats(text, references)
            gain = float(self.scorer.of(stats[None, :])[0])
            found.append((vector(held.arrays, tree, 3, group), tree.words, stats, gain))
        return found


def is_one_of(derivation, known):
    """Return whether there is a derivation with these features, statistics and gain."""
    return any(
        np.allclose(dense(derivation.features, derivation.values), h, rtol=0, atol=1e-12)
        and stats.tolist() == derivation.stats.tolist()
        and gain == derivation.gain
        for h, _, stats, gain in known
    )


ABOUT = st.sampled_from(
    [("bleu", "document", "rerank"), ("bleu", "document", "linear"), ("bleu", "document", "kbest")]
    + [("bleu:order=2,reference-length=average", "document", "rerank")]
    + [(*about, "rerank") for about in OTHERS]
)


@SOME
@given(drawn_set(), WEIGHTS, ABOUT, st.sampled_from([1.0, -1.0, 0.1, -100.0]))
def test_what_is_found_is_valued_exactly_and_never_worse_than_the_best(
    forests, weights, about, factor
):
    held = Held(forests, *about)
    for group in range(forests.groups):
        known, example = held.all(group), held.example(group)
        best = example.best(weights)
        assert is_one_of(best, known)
        assert best.score(weights) == pytest.approx(max(h @ weights for h, *_ in known), abs=1e-9)
        found = example.augmented(weights, factor)
        assert is_one_of(found, known)
        phi = found.score(weights) + factor * found.gain
        assert phi >= best.score(weights) + factor * best.gain - 1e-9
        if isinstance(example, AmongBest):
            # No text is twice in a list: of each, the best derivation is looked at.
            top = max(h @ weights + factor * gain for h, _, _, gain in known)
            assert phi == pytest.approx(top, rel=1e-9, abs=1e-9)
        most = example.oracle(weights)
        assert is_one_of(most, known)
        assert most.gain >= best.gain
        if isinstance(example, AmongBest):
            assert most.gain == max(gain for *_, gain in known)


@pytest.mark.parametrize("search", ["rerank", "linear"])
def test_what_only_seems_good_while_searching_does_not_replace_the_best(search):
    # Not clipped, all words of the second text match; but the reference has one of them.
    edges = [(0, [], [0, 1, 2, 9], {0: 1.0}), (0, [], [0] * 6, {1: 1.0})]
    forests = forest_set([forest_arrays(edges, 0)], 3, 10, [[[0, 1, 2, 3]]])
    held = Held(forests, "bleu:order=1", "document:decay=1", search)
    held.scorer.add(np.array([40, 40, 20, 40]))
    example, weights = held.example(), np.array([0.1, 0.0, 0.0])
    metric, document = held.tuning.metric, held.scorer.document
    counts = example.searched.arrays.counts
    gains = (
        counts @ metric.slope(document) if search == "linear" else metric.gain(document + counts)
    )
    assert gains[1] > gains[0]
    for found in (example.augmented(weights, 10.0), example.oracle(weights)):
        assert found.features.tolist() == [0]
        assert found.stats.tolist() == [4, 4, 3, 4]


@SOME
@given(drawn_set(), WEIGHTS, st.integers(1, 4), ABOUT)
def test_what_is_worth_most_among_the_best_few(forests, weights, among, about):
    held = Held(forests, *about)
    known = held.all()
    # One text after the other, by its best derivation.
    best: dict[tuple[int, ...], tuple[float, float]] = {}
    for h, words, _, gain in known:
        score = float(h @ weights)
        if words not in best or score > best[words][0]:
            best[words] = (score, gain)
    scores = sorted((score for score, _ in best.values()), reverse=True)
    gaps = [a - b for a, b in itertools.pairwise(scores)]
    assume(all(gap > 1e-6 for gap in gaps))
    few = sorted(best.values(), reverse=True)[:among]
    found = held.example().oracle(weights, among)
    assert found.gain == max(gain for _, gain in few)
    expected = max(score for score, gain in few if gain == found.gain)
    assert found.score(weights) == pytest.approx(expected, abs=1e-9)


@SOME
@given(drawn_set(), WEIGHTS, st.sampled_from(["rerank", "kbest"]), st.integers(0, 50))
def test_the_best_derivation_of_a_reference(forests, weights, search, which):
    arrays = forests.arrays
    texts = [list(tree.words) for tree in derivations(arrays)]
    # Texts that are there, and the references drawn, which may not be.
    lo, hi = forests.references.group_start[:2]
    drawn = [forests.references.texts[r].tolist() for r in range(lo, hi)]
    there = [texts[which % len(texts)], texts[which // 2 % len(texts)]]
    wanted = [*drawn, *(there if which % 3 else [])]
    alone = cut(Block(arrays, 0, 1))
    held = Held(forest_set([alone], 3, 10, [[text for text in wanted if text]]), search=search)
    found = held.example().reference(weights)
    scores = [h @ weights for h, words, *_ in held.all() if words and list(words) in wanted]
    if not scores:
        assert found is None
    else:
        assert is_one_of(found, held.all())
        assert found.score(weights) == pytest.approx(max(scores), abs=1e-9)


@st.composite
def drawn_lattice(draw, last):
    """Draw a lattice, in which words stand before or behind the only tail."""
    numbers = st.floats(-3, 3, width=16)
    text = st.lists(st.integers(0, 3), max_size=2)
    edges = []
    nodes = draw(st.integers(1, 4))
    for head in range(nodes):
        for _ in range(draw(st.integers(1, 3))):
            words = draw(text)
            tails = [draw(st.integers(0, head - 1))] if head and draw(st.integers(0, 5)) else []
            slot = [-1] * len(tails)
            values = draw(st.dictionaries(st.integers(0, 2), numbers, max_size=3))
            edges.append((head, tails, words + slot if last else slot + words, values))
    return forest_arrays(edges, nodes - 1)


@SOME
@given(
    st.booleans().flatmap(lambda last: st.lists(drawn_lattice(last), min_size=1, max_size=2)),
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=2, max_size=2),
    WEIGHTS,
    st.sampled_from(["metric", "document"]),
    st.sampled_from([0.1, 1.0, 30.0]),
    st.sampled_from(["wer", "wer:lowercase=true", "cer", "cer:lowercase=true"]),
)
def test_hope_of_lattices_by_errors_is_that_of_all_derivations(
    lattices, references, weights, objective, factor, metric
):
    own = [[reference] for reference in references[: len(lattices)]]
    forests = replace(forest_set(lattices, 3, 4, own), vocabulary=("a", "Ab", "AB", "bb"))
    if metric.startswith("cer"):
        # Of texts without words the errors are one too many while searching.
        assume(all(t.words for g in range(len(own)) for t in derivations(forests.arrays, g)))
    # The list has the 1-best alone.
    held = Held(forests, metric, objective, size=1)
    for group in range(forests.groups):
        known, example = held.all(group), held.example(group)
        hope, most = example.augmented(weights, factor), example.oracle(weights)
        assert is_one_of(hope, known)
        assert is_one_of(most, known)
        top = max(h @ weights + factor * gain for h, _, _, gain in known)
        assert hope.score(weights) + factor * hope.gain == pytest.approx(top, rel=1e-9, abs=1e-9)
        assert most.gain == max(gain for *_, gain in known)
        scores = [h @ weights for h, _, _, gain in known if gain == most.gain]
        assert most.score(weights) == pytest.approx(max(scores), abs=1e-6)
        # Fear is looked for in the list.
        assert example.augmented(weights, -factor).key == example.best(weights).key


@pytest.mark.parametrize("objective", ["metric", "document:decay=0"])
def test_an_error_costs_as_much_as_it_is_worth(objective):
    # Texts with 0, 1 and 2 errors; the list has the last one alone.
    texts = [([0, 1, 2, 3], 0.0), ([0, 1, 2], 1.3), ([0, 1], 2.0)]
    arrays = forest_arrays([(0, [], words, {0: score}) for words, score in texts], 0)
    held = Held(forest_set([arrays], 3, 4, [[[0, 1, 2, 3]]]), "wer", objective, size=1)
    held.scorer.add(np.array([0, 0, 0]))  # of a document nothing is left
    example, weights = held.example(), np.array([1.0, 0.0, 0.0])
    best = example.best(weights)
    unit = (best.gain - example.oracle(weights).gain) / -2.0
    for factor, errors in ((0.5, 2), (0.8, 1), (1.0, 1), (1.2, 1), (1.4, 0)):
        assert example.augmented(weights, factor / unit).stats[0] == errors


def test_references_are_needed_for_bold_updates():
    arrays = forest_arrays([(0, [], [0], {0: 1.0})], 0)
    without = forest_set([arrays], 3, 4)
    held = Held(forest_set([arrays], 3, 4, [[[0]]]))
    examples = ForestExamples(ForestTuning(without, Words()))
    scorer = objective_of("metric").begin(TuningSet(held.lists.candidates, Words()), "examples")
    assert examples.example(0, scorer).best(np.zeros(3)).stats.tolist() == [1, 1]
    with pytest.raises(TunesmithError, match="not known without references; give --references"):
        examples.example(0, scorer).reference(np.zeros(3))


def linear(held, group, tree_words):
    """Return linear BLEU of a text (A.3), by brute force: matches are not clipped."""
    references = held.forests.references
    lo, hi = references.group_start[group : group + 2]
    texts = [references.texts[r].tolist() for r in range(lo, hi)]
    words, order = list(tree_words), held.tuning.metric.order
    counts = [float(len(words)), float(np.mean([len(text) for text in texts]))]
    for kind in ("matches", "totals"):
        for n in range(1, order + 1):
            own = [words[i : i + n] for i in range(len(words) - n + 1)]
            there = [text[i : i + n] for text in texts for i in range(len(text) - n + 1)]
            counts.append(float(sum(kind == "totals" or gram in there for gram in own)))
    document = held.scorer.document
    return max(1.0, document[0]) * float(np.array(counts) @ held.tuning.metric.slope(document))


@SOME
@given(drawn_set(), WEIGHTS, st.sampled_from([1.0, -1.0, 0.1, -100.0]))
def test_linear_search_finds_the_optimum_of_linear_bleu(forests, weights, factor):
    held = Held(forests, search="linear")
    assume(held.scorer.document[0] >= 1.0)
    known, example = held.all(), held.example()
    found, best = example.augmented(weights, factor), example.best(weights)
    values = [linear(held, 0, words) for _, words, *_ in known]
    totals = [h @ weights + factor * b for (h, *_), b in zip(known, values, strict=True)]
    tops = [one for one, total in zip(known, totals, strict=True) if total >= max(totals) - 1e-9]
    assert found.key == best.key or is_one_of(found, tops)


@SOME
@given(
    drawn_set(), WEIGHTS, st.sampled_from([0.1, 1.0, 7.0]), st.sampled_from(["rerank", "linear"])
)
def test_risk_is_that_of_linear_bleu_over_all_derivations(forests, weights, temperature, search):
    held = Held(forests, search=search)
    assume(held.scorer.document[0] >= 1.0)
    known, risk = held.all(), held.example().risk(weights, temperature)
    values = np.array([linear(held, 0, words) for _, words, *_ in known])
    rows = np.array([h for h, *_ in known])

    def expected(at):
        scores = rows @ at / temperature
        chances = np.exp(scores - scores.max())
        return float(chances @ values / chances.sum())

    assert risk.gain == pytest.approx(expected(weights), rel=1e-9, abs=1e-9)
    step = 1e-5
    slopes = [
        (expected(weights + step * unit) - expected(weights - step * unit)) / (2 * step)
        for unit in np.eye(3)
    ]
    np.testing.assert_allclose(dense(risk.features, risk.slope), slopes, rtol=1e-5, atol=1e-6)


@FEW
@given(drawn_set(), WEIGHTS, ABOUT)
def test_the_sharpest_risk_is_that_of_the_best(forests, weights, about):
    assume(len({tree.words for tree in derivations(forests.arrays)}) > 1)
    held = Held(forests, *about)
    known, example = held.all(), held.example()
    scores = sorted((float(h @ weights) for h, *_ in known), reverse=True)
    assume(len(scores) == 1 or scores[0] - scores[1] > 1e-3)
    with np.errstate(all="ignore"):
        risk = example.risk(weights, 1e-300)
    assert np.isfinite(risk.gain)
    assert not np.any(dense(risk.features, risk.slope))
    if isinstance(example, AmongBest):
        assert risk.gain == pytest.approx(example.best(weights).gain, rel=1e-12, abs=1e-12)


@FEW
@given(drawn_set(), WEIGHTS, ABOUT, SEEDS)
def test_forests_on_disk_are_loaded_one_at_a_time(forests, weights, about, seed):
    held, loaded = Held(forests, *about), Held(OnDisk(forests), *about)
    loaded.examples.example(0, loaded.scorer)  # what is counted once is counted here
    loaded.forests.loads.clear()
    rng = np.random.default_rng(seed)
    order = rng.permutation(forests.groups).tolist()
    for group in order:
        for _ in range(2):
            one, other = held.example(group), loaded.example(group)
            same(one.best(weights), other.best(weights))
            same(one.augmented(weights, 1.0), other.augmented(weights, 1.0))
            same(one.reference(weights), other.reference(weights))
            assert one.best(weights).key == other.best(weights).key
            mine, theirs = one.risk(weights, 1.0), other.risk(weights, 1.0)
            assert mine.slope.tolist() == theirs.slope.tolist()
    wanted = [(group, group + 1) for group in order]
    assert loaded.forests.loads == (wanted if order[0] != 0 else wanted[1:])


@SOME
@given(drawn_set(), WEIGHTS, ABOUT)
def test_keys_tell_derivations_apart_by_words_and_features(forests, weights, about):
    held = Held(forests, *about)
    rng = np.random.default_rng(0)
    seen: dict[int, tuple] = {}
    for group in range(forests.groups):
        example = held.example(group)
        seen.clear()
        for _ in range(5):
            for one in (example.best(weights), *(example.augmented(weights, f) for f in (1, -1))):
                about_it = (dense(one.features, one.values).tolist(), one.stats.tolist())
                assert seen.setdefault(one.key, about_it) == about_it
            weights = weights + rng.normal(size=3)


def test_weights_that_change_in_place_are_other_weights():
    arrays = forest_arrays([(0, [], [0], {0: 1.0}), (0, [], [1], {1: 1.0})], 0)
    held = Held(forest_set([arrays], 3, 4, [[[0, 1]]]))
    weights, example = np.array([1.0, 0.0, 0.0]), held.example()
    first = example.best(weights)
    assert example.best(weights) is first
    weights[1] = 2.0
    second = example.best(weights)
    assert (first.features.tolist(), second.features.tolist()) == ([0], [1])
    weights[1] = 0.0
    assert example.best(weights).key == first.key != second.key


@pytest.mark.parametrize("search", ["rerank", "kbest"])
def test_a_forest_goes_with_its_example(search):
    arrays = forest_arrays([(0, [], [0], {0: 1.0}), (0, [], [1], {1: 1.0})], 0)
    held = Held(forest_set([arrays], 3, 4, [[[0, 1]]]), search=search)
    example, weights = held.example(), np.array([1.0, 0.0, 0.0])
    example.best(weights)
    example.augmented(weights, 1.0)
    example.oracle(weights)
    gone = weakref.ref(example)
    gc.disable()  # nothing has to be looked for
    try:
        del example
        assert gone() is None
    finally:
        gc.enable()


def test_what_a_list_has_counted_is_not_counted_again(monkeypatch):
    forests, candidates, rng = one_node_forests(3, size=6)
    scorer = objective_of("bleu+1").begin(TuningSet(candidates, "chrf"), "examples")
    examples = ForestExamples(ForestTuning(forests, "chrf", options("kbest")))
    example, weights = examples.example(0, scorer), rng.normal(size=3)
    wanted = [example.augmented(weights, factor) for factor in (1.0, -1.0)]
    monkeypatch.setattr(examples.exact, "of_text", None)
    for one, factor in zip(wanted, (1.0, -1.0), strict=True):
        same(example.augmented(weights, factor), one)


def test_values_without_a_metric_are_for_lists():
    class Own(CandidateScorer):
        stats = np.zeros((1, 2))

        def values(self, first, last):
            return np.zeros(last - first)

    arrays = forest_arrays([(0, [], [0], {0: 1.0})], 0)
    examples = ForestExamples(ForestTuning(forest_set([arrays], 3, 4, [[[0]]])))
    with pytest.raises(TunesmithError, match="Own does not say which metric counts"):
        examples.example(0, Own())


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a million steps, interpreted")
def test_derivations_without_end_are_an_error():
    # Each node is used twice by the next one: words double, and are too many at the end.
    edges = [(0, [], [0, 1], {0: 1.0})]
    edges += [(n, [n - 1, n - 1], [-1, -2], {}) for n in range(1, 24)]
    held = Held(forest_set([forest_arrays([(0, [], [0], {0: 1.0})], 0)], 3, 4, [[[0, 1]]]))
    long = forest_set([forest_arrays(edges, 23)], 3, 4, [[[0, 1]]])
    examples = ForestExamples(ForestTuning(long, "bleu", options("kbest", 2)))
    with pytest.raises(TunesmithError, match="forest 0 has a derivation of more than"):
        examples.example(0, held.scorer).best(np.zeros(3))
