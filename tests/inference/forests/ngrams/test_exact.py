"""Statistics of texts of forests are those of the same texts in lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import forest_arrays, forest_set
from tests.helpers.tiers import examples
from tunesmith.data.candidates import pack_texts
from tunesmith.data.forests import ForestSet
from tunesmith.errors import TunesmithError
from tunesmith.inference.forests.ngrams.exact import ExactStatistics
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.wer import WER

FEW = examples(40, interpreted=5)
VOCABULARY = ("the", "The", "house.", "THE", "don't", ".")
texts_of_words = st.lists(st.integers(0, len(VOCABULARY) - 1), max_size=8)


def forests_with(references: list[list[list[int]]]) -> ForestSet:
    """Return forests of which only references and words count."""
    one = forest_arrays([(0, [], [0], {})], 0)
    whole = forest_set([one] * len(references), 1, len(VOCABULARY), references)
    return replace(whole, vocabulary=VOCABULARY)


@pytest.mark.parametrize(
    "spec",
    [
        "bleu",
        "bleu:order=2,reference-length=average",
        "bleu:reference-length=shortest,lowercase=true",
        "bleu:tokenize=13a",
        "bleu:tokenize=intl,lowercase=true",
        "sentence-bleu",
        "wer",
        "wer:lowercase=true",
        "cer",
        "chrf",
    ],
)
@settings(max_examples=FEW)
@given(
    st.lists(st.lists(texts_of_words, min_size=1, max_size=3), min_size=2, max_size=3),
    st.lists(st.tuples(st.integers(0, 1), texts_of_words), min_size=1, max_size=5),
)
def test_texts_are_counted_as_in_lists(
    spec: str, references: list[list[list[int]]], drawn: list[tuple[int, list[int]]]
) -> None:
    metric = METRICS.create(spec)
    forests = forests_with(references)
    exact = ExactStatistics(forests, metric)
    drawn.sort(key=lambda pair: pair[0])
    groups = np.array([g for g, _ in drawn])
    texts = pack_texts([np.array(words, np.int32) for _, words in drawn])
    found = exact.of_texts(groups, texts)
    for row, (g, words) in zip(found, drawn, strict=True):
        held = [forests.join(np.array(r, np.int32)) for r in references[g]]
        expected = metric.stats(forests.join(np.array(words, np.int32)), held)
        np.testing.assert_array_equal(row, expected)
        one = exact.of_text(g, np.array(words, np.int32))
        np.testing.assert_array_equal(one, expected)
        assert one.dtype == found.dtype


def test_no_texts_have_no_statistics() -> None:
    for spec in ("bleu", "ter"):
        exact = ExactStatistics(forests_with([[[0]]]), METRICS.create(spec))
        assert exact.of_texts(np.zeros(0, np.int64), pack_texts([])).shape[0] == 0


class Seen(WER):
    """Word errors, which note the words that they are shown."""

    def candidate_stats(self, candidates):
        assert sorted(candidates.vocabulary) == ["The", "house.", "the"]
        return super().candidate_stats(candidates)


def test_metrics_see_no_words_but_those_of_the_texts_and_their_references() -> None:
    exact = ExactStatistics(forests_with([[[3]], [[0], [0, 2]], [[4]]]), Seen())
    found = exact.of_text(1, np.array([1, 2], np.int32))
    assert found.tolist() == [1, 2, 2]


def test_references_are_needed() -> None:
    with pytest.raises(TunesmithError, match="give --references"):
        ExactStatistics(replace(forests_with([[[0]]]), references=None), METRICS.create("bleu"))
