"""WER and CER against jiwer, and against the textbook's table."""

from __future__ import annotations

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tests.helpers.search.line import brute_force
from tests.helpers.search.single import search
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError, UnknownNameError, UsageError
from tunesmith.inference.hypotheses import Direction
from tunesmith.inference.lists.hypotheses import ListHypotheses
from tunesmith.inference.lists.rerank import rerank
from tunesmith.io.read import read
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.wer import CER, WER
from tunesmith.metrics.wer import counting as module
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT

WORDS = ["a", "b", "c", "the", "The", "é", "É", "漢字", "𝒳", "İ", "ΟΔΟΣ", "ß", "ab", "A"]
words = st.one_of(st.sampled_from(WORDS), st.text("abcÉ漢😀", min_size=1, max_size=4))
spaces = st.sampled_from([" ", "  ", "\t", "\u3000", "\xa0"])
sentences = st.lists(st.tuples(words, spaces), max_size=9).map(
    lambda pairs: "".join(word + space for word, space in pairs)
)
corpora = st.lists(
    st.tuples(
        st.lists(sentences, min_size=1, max_size=3), st.lists(sentences, min_size=1, max_size=3)
    ),
    min_size=1,
    max_size=4,
)
metrics = st.builds(
    lambda cls, lowercase: cls(lowercase=lowercase), st.sampled_from([WER, CER]), st.booleans()
)


def make(corpus):
    groups = [[[0.0]] * len(hypotheses) for hypotheses, _ in corpus]
    texts = [t for hypotheses, _ in corpus for t in hypotheses]
    return candidate_set(groups, texts=texts, references=[r for _, r in corpus])


def plain(metric, text: str) -> str:
    """Return a text as jiwer should see it: single spaces, and lower case if asked for."""
    text = text.lower() if metric.lowercase else text
    return " ".join(text.split())


def by_jiwer(metric, hypotheses, references):
    """Return errors, reference length, hypothesis length and the rate of jiwer."""
    hypotheses = [plain(metric, h) for h in hypotheses]
    references = [plain(metric, r) for r in references]
    if isinstance(metric, WER):
        found = jiwer.process_words(references, hypotheses)
        rate = found.wer
    else:
        found = jiwer.process_characters(references, hypotheses)
        rate = found.cer
    kept = found.hits + found.substitutions
    errors = found.substitutions + found.deletions + found.insertions
    return [errors, kept + found.deletions, kept + found.insertions], rate


def of_best_reference(metric, hypothesis, references):
    """Return the statistics with the fewest errors, of the first among equals."""
    found = [by_jiwer(metric, [hypothesis], [reference])[0] for reference in references]
    return min(found, key=lambda row: row[0])


def table(units, other) -> int:
    """Return the edit distance by the textbook's table (Wagner and Fischer 1974)."""
    above = list(range(len(other) + 1))
    for i, a in enumerate(units, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            row.append(min(row[-1] + 1, above[j] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]


@settings(max_examples=examples(120))
@given(corpora, metrics)
def test_statistics_equal_jiwer(corpus, metric):
    stats = TuningSet(make(corpus), metric).stats
    assert stats.dtype.kind == "i"
    expected = [
        of_best_reference(metric, hypothesis, references)
        for hypotheses, references in corpus
        for hypothesis in hypotheses
    ]
    assert stats.tolist() == expected
    alone = [metric.stats(h, references) for hypotheses, references in corpus for h in hypotheses]
    assert np.array(alone).tolist() == expected


@pytest.mark.parametrize("metric", [WER(), CER()])
def test_two_thousand_random_corpora(metric):
    rng = np.random.default_rng(7)

    def text():
        return " ".join(rng.choice(WORDS, rng.integers(0, 8)))

    for _ in range(examples(1000)):  # times two metrics
        counts = rng.integers(1, 3, rng.integers(1, 4))
        corpus = [([text() for _ in range(2)], [text() for _ in range(n)]) for n in counts]
        candidates = make(corpus)
        tuning = TuningSet(candidates, metric)
        expected = [of_best_reference(metric, h, refs) for hyps, refs in corpus for h in hyps]
        assert tuning.stats.tolist() == expected
        if counts.max() == 1 and any(refs[0] for _, refs in corpus):
            chosen = candidates.start[:-1]
            _, rate = by_jiwer(metric, [h[0] for h, _ in corpus], [r[0] for _, r in corpus])
            assert tuning.score(chosen) == pytest.approx(100 * rate, abs=1e-9)


@settings(max_examples=examples(150))
@given(sentences, sentences)
def test_errors_are_those_of_the_textbook(hypothesis, reference):
    words = WER().stats(hypothesis, [reference])
    assert words[0] == table(hypothesis.split(), reference.split())
    characters = CER().stats(hypothesis, [reference])
    assert characters[0] == table(" ".join(hypothesis.split()), " ".join(reference.split()))


def test_by_hand():
    # One substitution and one insertion among three words; characters: c -> x, and " d".
    assert WER().stats("a b x d", ["a b c"]).tolist() == [2, 3, 4]
    assert CER().stats("a  b x d", ["a b\tc"]).tolist() == [3, 5, 7]
    assert WER().score(np.array([2, 3, 4])) == pytest.approx(200 / 3)
    assert WER().details(np.array([2, 3, 4])) == {"length_ratio": pytest.approx(4 / 3)}


def test_the_reference_with_the_fewest_errors_and_among_equals_the_first():
    candidates = make([(["a", "x y"], ["a b", "c", "x"]), (["a"], ["b"])])
    # "a": one error with each, so the first; "x y": one word to delete from the last.
    assert TuningSet(candidates, WER()).stats[:, :2].tolist() == [[1, 2], [1, 1], [1, 1]]
    # "a": one error with "c"; "x y": two with "a b" and with "x".
    assert TuningSet(candidates, CER()).stats[:, :2].tolist() == [[1, 1], [2, 3], [1, 1]]
    assert WER().stats("a", ["a b", "c"]).tolist() == [1, 2, 1]
    assert WER().stats("a", ["c", "a b"]).tolist() == [1, 1, 1]


def test_empty_references_never_give_nan():
    tuning = TuningSet(make([(["", "a b"], [""]), (["", "c"], [""])]), WER())
    assert tuning.stats.tolist() == [[0, 0, 0], [2, 0, 2], [0, 0, 0], [1, 0, 1]]
    assert tuning.score(np.array([0, 2])) == 0.0
    assert tuning.score(np.array([1, 2])) == 100.0
    assert WER().score(tuning.stats).tolist() == [0, 100, 0, 100]
    assert WER().details(tuning.stats[1]) == {"length_ratio": 0.0}
    # With others they count as insertions, as in jiwer.
    assert CER().score(CER().stats("ab", [""]) + CER().stats("cd", ["cde"])) == 100.0


@pytest.mark.parametrize("distinct", [255, 256, 0xD7FF, 0xE001])
def test_many_distinct_words_in_one_reference(distinct):
    """One byte is not enough, and numbers reach the halves of surrogate pairs."""
    reference = [f"w{i}" for i in range(distinct)]
    hypothesis = [*reference[:-3], "other", reference[-2], "w0"]
    corpus = [(["a", "w0 b"], ["b"]), ([" ".join(hypothesis)], [" ".join(reference)])]
    stats = TuningSet(make(corpus), WER()).stats
    assert stats.tolist() == [[1, 1, 1], [1, 1, 2], [2, distinct, distinct]]


@pytest.mark.parametrize("last", [256, 300])
def test_more_distinct_words_than_characters(monkeypatch, last):
    monkeypatch.setattr(module, "LAST_CHARACTER", last)
    rng = np.random.default_rng(0)
    corpus = [
        ([" ".join(map(str, rng.permutation(400)[:390])) for _ in range(3)],
         [" ".join(map(str, range(400)))])
    ]  # fmt: skip
    stats = TuningSet(make(corpus), WER()).stats
    expected = [by_jiwer(WER(), [h], corpus[0][1])[0] for h in corpus[0][0]]
    assert stats.tolist() == expected


@pytest.mark.parametrize("metric", [WER(), CER(lowercase=True)])
def test_neither_batches_nor_threads_change_anything(monkeypatch, bundled, metric):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    whole = metric.candidate_stats(candidates)
    for batch, count in ((1, 1), (5000, 2), (1 << 20, 3)):
        monkeypatch.setattr(module, "BATCH", batch)
        with threads(count):
            assert np.array_equal(metric.candidate_stats(candidates), whole)


@pytest.mark.parametrize("metric", [WER(), CER(), WER(lowercase=True)])
def test_tuned_real_lists_score_as_jiwer_says(bundled, metric):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    references = [candidates.reference_texts(g)[0] for g in range(candidates.groups)]
    result = MERT(restarts=2).fit(TuningSet(candidates, metric), rng=1)
    counts, rate = by_jiwer(metric, rerank(candidates, result.weights), references)
    assert result.score == pytest.approx(100 * rate, abs=1e-9)
    assert result.length_ratio == pytest.approx(counts[2] / counts[1], abs=1e-12)
    assert result.oracle_score <= result.score < result.initial_score


@settings(max_examples=examples(150))
@given(st.integers(0, 2**32 - 1), st.sampled_from([WER(), CER()]))
def test_a_line_search_finds_what_brute_force_finds(seed, metric):
    rng = np.random.default_rng(seed)

    def text():
        return " ".join(rng.choice(["a", "b", "cd", "e"], rng.integers(0, 6)))

    groups = [rng.integers(-3, 4, (rng.integers(1, 6), 2)).tolist() for _ in range(3)]
    references = [[text() for _ in range(rng.integers(1, 3))] for _ in groups]
    candidates = candidate_set(
        groups, texts=[text() for g in groups for _ in g], references=references
    )
    tuning = TuningSet(candidates, metric)
    hypotheses = ListHypotheses(tuning)
    weights, along = rng.integers(-2, 3, 2).astype(float), np.array([1.0, rng.integers(-2, 3)])
    point = hypotheses.point(weights)
    step = search(hypotheses, point, Direction.of(along, "any"))
    assert step.gain == pytest.approx(brute_force(tuning, weights, along), abs=1e-12)
    assert step.gain >= point.gain


def test_names_options_and_errors():
    assert METRICS.create("wer") == WER()
    assert METRICS.create("cer:lowercase=true") == CER(lowercase=True)
    assert WER(lowercase=True).signature().startswith("wer|case:lc|")
    assert CER().signature().startswith("cer|case:mixed|")
    assert not WER().higher_is_better
    assert WER().gain(np.array([1, 4, 4])) == -0.25
    with pytest.raises(UnknownNameError, match="did you mean lowercase"):
        METRICS.create("wer:lowercas=true")
    with pytest.raises(UsageError, match="true or false"):
        METRICS.create("wer:lowercase=yes")
    with pytest.raises(TunesmithError, match="wer needs references"):
        TuningSet(candidate_set([[[1.0]]]), "wer")
    with pytest.raises(TunesmithError, match="cer needs references; give one"):
        CER().stats("a", [])


def test_the_oracle_is_exact_where_each_group_has_one_denominator():
    one = make([(["a b", "a c"], ["a b"]), (["x", "y z"], ["x y"])])
    tuning = TuningSet(one, "wer")
    assert tuning.is_sum
    found = tuning.oracle()
    # No error in the first group; "x" needs one insertion, "y z" two edits.
    assert (found.exact, found.score) == (True, 25.0)
    two = make([(["a b", "c"], ["a b", "c"])])
    assert not TuningSet(two, "wer").is_sum
    assert TuningSet(make([(["a", "b"], ["a b"])]), "sum(wer,2*cer)").is_sum
