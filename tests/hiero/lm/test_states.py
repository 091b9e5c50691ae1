"""States of phrases: however a sentence is put together, its probability is the same."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.hiero.arpa_files import WORDS, Arpa, arpas, model_of
from tests.helpers.hiero.kenlm_files import binary_model
from tests.helpers.tiers import examples
from tunesmith.hiero.lm.language_model import LanguageModels
from tunesmith.hiero.lm.states import (
    COMPLETE,
    LEFT,
    NODES,
    RIGHT,
    add_phrase,
    add_word,
    begin,
    clear,
)

word = st.sampled_from((*WORDS, "unheard"))
#: Words, and phrases of words and phrases; phrases may be empty.
phrases = st.lists(
    st.recursive(word, lambda parts: st.lists(parts, max_size=4), max_leaves=8), max_size=5
)


class Chart:
    """Phrases of several models, ARPA or binary files, with their states and probabilities."""

    def __init__(self, *given: Arpa, binary: bool = False) -> None:
        with tempfile.TemporaryDirectory() as folder:
            models = {
                f"lm{m}": binary_model(arpa, Path(folder)) if binary else model_of(arpa.text())
                for m, arpa in enumerate(given)
            }
        self.models = LanguageModels(models)
        self.places = int(self.models.arrays.orders.max()) - 1

    def said(self, m: int, phrase, begins: bool = False):
        """Return the state and the log10 probability of a phrase in model m."""
        arrays = self.models.arrays
        ints, floats = np.full(3 + 2 * self.places, 7, np.int32), np.ones(self.places, np.float32)
        if begins:
            begin(arrays, m, ints, floats)
        else:
            clear(ints, floats)
        total = 0.0
        for part in phrase:
            if isinstance(part, str):
                total += add_word(arrays, m, self.models.lookup([part])[m, 0], ints, floats)
            else:
                other_ints, other_floats, value = self.said(m, part)
                kept = other_ints.copy(), other_floats.copy()
                total += value + add_phrase(arrays, m, other_ints, other_floats, ints, floats)
                assert np.array_equal(kept[0], other_ints)
                assert np.array_equal(kept[1], other_floats)
            self.check(m, ints, floats)
        return ints, floats, total

    def check(self, m: int, ints, floats) -> None:
        left, right = ints[LEFT], ints[RIGHT]
        most = self.models.arrays.orders[m] - 1
        assert 0 <= left <= most
        assert 0 <= right <= most
        assert ints[COMPLETE] in (0, 1)
        assert ints[COMPLETE] or left == right
        assert not ints[NODES + left : NODES + self.places].any()
        assert not ints[NODES + self.places + right :].any()
        assert not floats[right:].any()


def leaves(phrase) -> list[str]:
    return [phrase] if isinstance(phrase, str) else [w for part in phrase for w in leaves(part)]


@settings(max_examples=examples(200))
@given(arpas(), phrases)
def test_any_bracketing_gives_the_probability_of_the_sentence(arpa, phrase):
    *_, total = Chart(arpa).said(0, [*phrase, "</s>"], begins=True)
    assert total == pytest.approx(sum(arpa.sentence([*leaves(phrase), "</s>"])), abs=1e-6)


@settings(max_examples=examples(200))
@given(st.lists(arpas(first_order=2, contexts=True), min_size=1, max_size=2), phrases)
def test_binary_models_score_any_bracketing(given_models, phrase):
    # After the end of a sentence KenLM's flags let nothing follow, not even a back-off.
    given_models = [
        Arpa(
            arpa.order,
            {gram: (p, 0.0 if gram[-1] == "</s>" else b) for gram, (p, b) in arpa.ngrams.items()},
        )
        for arpa in given_models
    ]
    chart = Chart(*given_models, binary=True)
    for m, arpa in enumerate(given_models):
        *_, total = chart.said(m, [*phrase, "</s>"], begins=True)
        assert total == pytest.approx(sum(arpa.sentence([*leaves(phrase), "</s>"])), abs=1e-6)


def bracketings(words: tuple[str, ...]) -> list[list]:
    """Return ways to put together the same words, single words as phrases among them."""
    cuts = range(1, len(words))
    return [
        [[word] for word in words],
        *([[*words[:k]], [*words[k:]]] for k in cuts),
        *([*words[:k], [*words[k:]]] for k in cuts),
    ]


@settings(max_examples=examples(30))
@given(arpas(first_order=2), st.booleans())
def test_any_bracketing_gives_the_same_state(arpa, begins):
    chart = Chart(arpa)
    for phrase in itertools.product(WORDS, repeat=3):
        for words in (phrase[:2], phrase):
            ints, floats, total = chart.said(0, words, begins)
            for other in bracketings(words):
                other_ints, other_floats, other_total = chart.said(0, other, begins)
                assert ints.tolist() == other_ints.tolist()
                assert floats.tolist() == other_floats.tolist()
                assert total == pytest.approx(other_total, abs=1e-6)


@settings(max_examples=examples(100))
@given(arpas(), phrases)
def test_the_end_of_the_sentence_may_be_within_a_phrase(arpa, phrase):
    *_, total = Chart(arpa).said(0, [[*phrase, "</s>"], []], begins=True)
    assert total == pytest.approx(sum(arpa.sentence([*leaves(phrase), "</s>"])), abs=1e-6)


@settings(max_examples=examples(60))
@given(st.lists(arpas(), min_size=2, max_size=3), phrases)
def test_models_of_different_orders_do_not_meet(given_models, phrase):
    chart = Chart(*given_models)
    for m, arpa in enumerate(given_models):
        *_, total = chart.said(m, [*phrase, "</s>"], begins=True)
        assert total == pytest.approx(sum(arpa.sentence([*leaves(phrase), "</s>"])), abs=1e-6)


@settings(max_examples=examples(60))
@given(
    arpas(),
    st.lists(phrases.map(leaves), min_size=1, max_size=3),
    st.lists(phrases.map(leaves), min_size=1, max_size=3),
)
def test_equal_states_behave_equally(arpa, before, after):
    # By the definition: what the kernels say of phrases in context is not asked here.
    chart = Chart(arpa)
    contexts = list(itertools.product(before, after))
    changes: dict[bytes, list[list[float]]] = {}
    for length in range(4):
        for phrase in itertools.product(WORDS, repeat=length):
            ints, floats, own = chart.said(0, phrase)
            row = [sum(arpa.sentence([*a, *phrase, *b, "</s>"])) - own for a, b in contexts]
            changes.setdefault(ints.tobytes() + floats.tobytes(), []).append(row)
    for rows in changes.values():
        assert all(row == pytest.approx(rows[0], abs=1e-6) for row in rows)


@settings(max_examples=examples(60))
@given(arpas(), phrases, phrases)
def test_a_phrase_can_be_said_twice(arpa, phrase, other):
    chart = Chart(arpa)
    *_, total = chart.said(0, [phrase, other, phrase, "</s>"], begins=True)
    words = leaves([phrase, other, phrase])
    assert total == pytest.approx(sum(arpa.sentence([*words, "</s>"])), abs=1e-6)


def small(order: int, ngrams: dict[str, tuple[float, float]]) -> Arpa:
    every = {(one,): (-1.0, 0.0) for one in ("<s>", "</s>", "<unk>", *WORDS)}
    return Arpa(order, every | {tuple(key.split()): value for key, value in ngrams.items()})


def test_states_are_no_longer_than_they_must_be():
    chart = Chart(small(3, {"a b": (-0.5, 0.0), "b c": (-0.25, -0.5)}))
    node = chart.models.lookup(["a"])[0, 0]
    # Nothing ends in "a", so that what stands before does not matter; "a b" follows.
    ints, _, _ = chart.said(0, ["a"])
    assert ints.tolist() == [0, 1, 1, 0, 0, node, 0]
    # Nothing begins with "a b" and it has no back-off, but "b c" is there.
    ints, _, _ = chart.said(0, ["a", "b"])
    assert ints[RIGHT] == 1
    # A word of no bigram, and an unknown one: nothing to remember.
    ints, floats, _ = chart.said(0, ["b", "unheard"])
    assert (ints[LEFT], ints[COMPLETE], ints[RIGHT], floats.any()) == (1, 1, 0, False)


def test_states_of_whole_ngrams_are_complete():
    # No n-gram has more than "a b" and a word before it: nothing else depends on that word.
    chart = Chart(small(3, {"a b": (-0.5, -0.5), "b": (-1.0, -0.5), "c a b": (-0.5, 0.0)}))
    for phrase in (["a", "b"], ["a", ["b"]], [["a", "b"]]):
        ints, _, _ = chart.said(0, phrase)
        assert ints.tolist()[:3] == [2, 1, 2]


def test_a_back_off_counts_where_nothing_follows_but_it():
    # "a b" is no context of a longer n-gram, but its back-off is due; that of "b" alone is 0.
    arpa = small(3, {"a b": (-0.5, -0.75)})
    for phrase in (["a", "b", "c"], ["a", ["b"], "c"], ["a", ["b", "c"]], [["a", "b"], ["c"]]):
        *_, total = Chart(arpa).said(0, [*phrase, "</s>"], begins=True)
        assert total == pytest.approx(-1.0 - 0.5 - 0.75 - 1.0 - 1.0)


def test_a_back_off_is_not_due_before_another_word_comes():
    # Of "b" and "</s>" alone nothing would have to be remembered.
    for last in ("b", "</s>"):
        chart = Chart(small(3, {f"a {last}": (-0.5, -0.75)}))
        ints, floats, total = chart.said(0, ["a", [last]])
        assert total == pytest.approx(-1.5)
        assert ints.tolist()[:3] == [0, 1, 2]
        assert floats.tolist() == [0.0, -0.75]


def test_nothing_said_is_the_empty_state():
    ints, floats, total = Chart(small(3, {"a b": (-0.5, 0.0)})).said(0, [[], [[]]])
    assert (total, ints.any(), floats.any()) == (0.0, False, False)
