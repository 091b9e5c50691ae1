"""Lengths in words, against the texts themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.metrics.corpora import corpora, make
from tests.helpers.tiers import examples
from tunesmith.metrics.lengths import lengths_of
from tunesmith.tasks.lists import TuningSet


def words_of(corpus):
    """Return the words of each candidate, and the lengths of its references."""
    return [
        (hypothesis.split(), [len(reference.split()) for reference in references])
        for hypotheses, references in corpus
        for hypothesis in hypotheses
    ]


def closest(length, others):
    return min(others, key=lambda other: (abs(other - length), other))


@settings(max_examples=examples(20))
@given(corpora, st.sampled_from(["bleu", "bleu:reference-length=average", "sentence-bleu"]))
def test_bleu_compares_with_a_length_of_its_choice(corpus, metric):
    found = lengths_of(TuningSet(make(corpus), metric))
    pairs = words_of(corpus)
    assert found.candidates.tolist() == [len(words) for words, _ in pairs]
    choose = closest if "average" not in metric else lambda _, others: np.mean(others)
    expected = [choose(len(words), others) for words, others in pairs]
    assert found.references == pytest.approx(expected, abs=1e-12)
    assert found.candidates.dtype == found.references.dtype == np.float64


@settings(max_examples=examples(20))
@given(corpora)
def test_wer_compares_with_the_reference_that_it_counts_errors_against(corpus):
    tuning = TuningSet(make(corpus), "wer")
    found = lengths_of(tuning)
    pairs = words_of(corpus)
    assert found.candidates.tolist() == [len(words) for words, _ in pairs]
    for length, (_, others) in zip(found.references, pairs, strict=True):
        assert length in others


@pytest.mark.parametrize("metric", ["chrf", "ter", "cer", "sum(bleu,wer)"])
@settings(max_examples=examples(12))
@given(corpora)
def test_others_are_asked_for_nothing_and_words_are_counted(metric, corpus):
    """CER knows lengths too, but in characters."""
    pairs = words_of(corpus)
    assume(any(words for words, _ in pairs))  # otherwise there are no texts
    found = lengths_of(TuningSet(make(corpus), metric))
    assert found.candidates.tolist() == [len(words) for words, _ in pairs]
    assert found.references == pytest.approx([np.mean(others) for _, others in pairs])


def test_nothing_is_known_without_texts_and_references():
    assert lengths_of(tuning_set([[[1.0], [2.0]]], [[0.5, 1.0]])) is None
