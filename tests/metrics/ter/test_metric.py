"""TER against sacrebleu."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import TER as Sacre  # noqa: N811
from sacrebleu.metrics.lib_ter import translation_edit_rate

from tests.helpers.builders import candidate_set
from tests.helpers.metrics.corpora import corpora, make, spaced, streams
from tests.helpers.tiers import examples
from tunesmith.errors import MissingExtraError, TunesmithError
from tunesmith.inference.lists.rerank import rerank
from tunesmith.io.read import read
from tunesmith.io.weights.files import read_weights
from tunesmith.metrics.base import METRICS
from tunesmith.metrics.ter.metric import TER
from tunesmith.parallel.local import threads
from tunesmith.tasks.lists import TuningSet
from tunesmith.tuners.mert.mert import MERT


def expect(theirs: Sacre, hypothesis: str, references: list[str]) -> list[float]:
    return theirs._extract_corpus_statistics([hypothesis], [[r] for r in references])[0]


def check(corpus, metric: TER, theirs: Sacre, spaces: bytes = b"") -> None:
    """Compare the statistics of all candidates and the score of the first ones."""
    tuning = TuningSet(make(corpus), metric)
    row = 0
    for hypotheses, references in corpus:
        for hypothesis in hypotheses:
            assert tuning.stats[row].tolist() == expect(theirs, hypothesis, references)
            row += 1
    hypothesis, references = corpus[0][0][0], corpus[0][1]
    texts = [spaced(text, spaces) for text in (hypothesis, *references)]
    assert metric.stats(texts[0], texts[1:]).tolist() == expect(theirs, texts[0], texts[1:])
    expected = theirs.corpus_score([h[0] for h, _ in corpus], streams(corpus)).score
    assert tuning.score(tuning.candidates.start[:-1]) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=examples(800))
@given(corpora, st.booleans(), st.binary(max_size=4))
def test_statistics_and_scores_equal_sacrebleu(corpus, case_sensitive, spaces):
    check(corpus, TER(case_sensitive), Sacre(case_sensitive=case_sensitive), spaces)


@settings(max_examples=examples(200))
@given(corpora, *[st.booleans()] * 4, st.binary(max_size=4))
def test_tokenization_equals_sacrebleu(corpus, case, normalized, no_punct, asian, spaces):
    metric = TER(case, normalized, no_punct, asian)
    check(corpus, metric, Sacre(normalized, no_punct, asian, case), spaces)


def moved(rng: random.Random, words: list[str], changes: int) -> list[str]:
    """Move some blocks and replace some words."""
    words = list(words)
    for _ in range(changes):
        i, j = sorted(rng.randint(0, len(words)) for _ in range(2))
        block = words[i:j]
        del words[i:j]
        k = rng.randint(0, len(words))
        words[k:k] = block
        words[rng.randrange(len(words))] = rng.choice([*words, "unknown"])
    return words


def long_cases():
    """Yield hypotheses and references that meet the limits of beam and shifts."""
    rng = random.Random(5)
    plain = [f"w{i}" for i in range(140)]
    few = [rng.choice("abcdefgh") for _ in range(70)]
    yield moved(rng, plain[:55], 6), plain[:55]  # one number of bits
    yield moved(rng, plain[:75], 6), plain[:75]  # two
    yield moved(rng, plain, 3), plain  # three
    yield plain[40:64] + plain[:40], plain[:64]  # a block too long, out of the beam
    yield plain[70:78] + plain[:70], plain[:80]  # too far
    yield few[30:] + few[:30], few  # out of the beam, with many shifts to try
    yield few[::-1], few
    yield [rng.choice("ab") for _ in range(24)], [rng.choice("ab") for _ in range(24)]  # too many
    yield moved(rng, few[:40], 5) + few, few[:40]  # far longer
    yield few[10:20], few
    yield few[3:5], plain[:60] + few  # so much shorter that the beam is wider
    yield ["b", "w60"], plain


@pytest.mark.long
@pytest.mark.parametrize(("hypothesis", "reference"), list(long_cases()))
def test_long_texts(hypothesis, reference):
    expected = list(translation_edit_rate(hypothesis, reference))
    assert TER().stats(" ".join(hypothesis), [" ".join(reference)]).tolist() == expected


@pytest.mark.parametrize(
    ("hypothesis", "reference"),
    [
        # Blocks that move by less than their length.
        ("b b a b c a b c b b b b b a b", "b b a b a b b a b c a b c b b"),
        ("a b a a b b c b b a b", "a b c a b b a a b b b"),
        ("a d b b b b b a a c d d x c c d", "d d d b c b a d b b b b a a c d"),
        # Alignments in which a deletion goes before an insertion.
        ("d a a c c b d c", "b c d b c d d"),
        ("k k s s m k s", "k s k t n s m"),
        ("b c b c b b c b a c a a c", "b c c b c c b a b a c a c"),
    ],
)
def test_rare_turns(hypothesis, reference):
    expected = list(translation_edit_rate(hypothesis.split(), reference.split()))
    assert TER().stats(hypothesis, [reference]).tolist() == expected


LIMITS = """
import random, sys, warnings
warnings.simplefilter("error")
from sacrebleu.metrics import lib_ter
from tests.metrics.ter.test_metric import moved
from tunesmith.metrics.ter import distance as ter_distance
from tunesmith.metrics.ter import edits as ter_edits
from tunesmith.metrics.ter.metric import TER

beams = 0
inner = ter_edits.fill_beam

def counted(*arguments):
    global beams
    beams += 1
    return inner(*arguments)

ter_edits.fill_beam = counted
rng = random.Random(int(sys.argv[1]))
for case in range(1500):
    ter_distance.BEAM = lib_ter._BEAM_WIDTH = rng.choice([1, 2, 3, 5])
    ter_edits.SHIFT_SIZE = lib_ter._MAX_SHIFT_SIZE = rng.choice([1, 3, 10])
    ter_edits.SHIFT_DISTANCE = lib_ter._MAX_SHIFT_DIST = rng.choice([2, 5, 50])
    ter_edits.SHIFTS_TRIED = lib_ter._MAX_SHIFT_CANDIDATES = rng.choice([10, 30, 1000])
    ter_distance.BITS = ter_edits.BITS = rng.choice([2, 3, 5, 62])
    ter_distance.FULL = (1 << ter_distance.BITS) - 1
    words = "abcdefghijklmnopqrst"[: rng.choice([2, 4, 20])]
    reference = [rng.choice(words) for _ in range(rng.randint(1, 16))]
    hypothesis = moved(rng, reference, rng.randint(0, 4))
    if rng.random() < 0.4:
        hypothesis = [rng.choice(words) for _ in range(rng.randint(0, 16))]
    expected = list(lib_ter.translation_edit_rate(hypothesis, reference))
    found = TER().stats(" ".join(hypothesis), [" ".join(reference)]).tolist()
    assert found == expected, (found, expected, hypothesis, reference, case)
print(beams)
"""


@pytest.mark.long
def test_interpreted_with_narrow_limits():
    # Globals of compiled kernels are constants, those of interpreted ones can be set.
    done = subprocess.run(
        [sys.executable, "-c", LIMITS, "1"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1000  # the beam was met


def test_edits_by_hand():
    cases = [
        ("b c d a", ["a b c d"], [1, 4]),  # one shift
        ("a x c", ["a b c"], [1, 3]),
        ("", ["a b"], [2, 2]),
        ("a b", [""], [2, 0]),
        ("", [""], [0, 0]),
        ("A b", ["a B"], [0, 2]),
        ("a b c", ["x y z w", "a b"], [1, 3]),  # fewest edits, mean length
    ]
    for hypothesis, references, expected in cases:
        assert TER().stats(hypothesis, references).tolist() == expected
    assert TER(case_sensitive=True).stats("A b", ["a B"]).tolist() == [2, 2]
    assert TER().score(np.array([[3, 4], [2, 0], [0, 0]])).tolist() == [75, 100, 0]


@pytest.mark.long
def test_lower_case_of_a_word_is_that_in_its_text():
    # Vocabularies are lower-cased word by word, references once.
    for character in map(chr, range(sys.maxunicode + 1)):
        if not character.isspace():
            lower = character.lower()
            assert lower.split() == [lower]
            assert lower.lower() == lower
            # What a final sigma depends on ends at a space.
            assert f"{character}Σ {character}".lower() == f"{character}Σ".lower() + f" {lower}"


def test_statistics_are_whole_numbers_unless_lengths_are_averaged():
    one = candidate_set([[[0.0]], [[0.0]]], texts=["a", "b"], references=[["a"], ["b c"]])
    two = candidate_set([[[0.0]], [[0.0]]], texts=["a", "b"], references=[["a"], ["b c", "b"]])
    assert TuningSet(one, "ter").stats.dtype.kind == "i"
    assert TuningSet(two, "ter").stats.tolist() == [[0, 1], [0, 1.5]]


def test_threads_do_not_matter(bundled):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    with threads(1):
        alone = TER().candidate_stats(candidates)
    with threads(3):
        assert (TER().candidate_stats(candidates) == alone).all()


def compare_sample(candidates, count: int) -> None:
    stats = TER().candidate_stats(candidates)
    theirs = Sacre()
    rng = np.random.default_rng(0)
    for i in rng.choice(len(candidates), count, replace=False):
        g = int(np.searchsorted(candidates.start, i, side="right")) - 1
        expected = expect(theirs, candidates.text(i), candidates.reference_texts(g))
        assert stats[i].tolist() == expected


@pytest.mark.long
def test_bundled_lists(bundled):
    compare_sample(read(bundled / "tune.nbest.gz", bundled / "tune.ref"), 500)


def test_real_lists(shared_data):
    folder = shared_data / "m30k-de-en"
    compare_sample(read(folder / "run5.nbest.gz", folder / "val.ref"), 2000)


@pytest.mark.long
def test_mert_lowers_it_and_reports_what_sacrebleu_finds(bundled):
    candidates = read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    start = read_weights(bundled / "weights.initial").weights
    references = [[candidates.reference_texts(g)[0] for g in range(candidates.groups)]]
    result = MERT(restarts=3).fit(TuningSet(candidates, "ter"), start, rng=1)
    assert result.score < result.initial_score
    assert result.oracle_score <= result.score
    for weights, score in ((start, result.initial_score), (result.weights, result.score)):
        expected = Sacre().corpus_score(rerank(candidates, weights), references).score
        assert score == pytest.approx(expected, abs=1e-9)


def test_options_in_the_name():
    metric = METRICS.create("ter:case-sensitive=true,no-punct=true")
    assert metric == TER(case_sensitive=True, no_punct=True)
    theirs = Sacre(case_sensitive=True, no_punct=True)
    theirs.corpus_score(["a"], [["a"]])
    fields = metric.signature().split("|")
    for field in str(theirs.get_signature()).split("|"):
        assert field in fields or field.startswith(("nrefs", "version"))


def test_references_are_needed():
    with pytest.raises(TunesmithError, match="ter needs references"):
        TuningSet(candidate_set([[[1.0]]]), "ter")
    with pytest.raises(TunesmithError, match="ter needs a reference for each group"):
        TuningSet(candidate_set([[[1.0]]], references=[[]]), "ter")
    with pytest.raises(TunesmithError, match="ter needs a reference for each group"):
        TER().stats("a", [])


@pytest.mark.parametrize("name", ["normalized", "no_punct"])
def test_tokenization_without_sacrebleu(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ter", None)
    assert TER().stats("A b", ["a b"]).tolist() == [0, 2]
    with pytest.raises(MissingExtraError, match=r"of ter needs .* pip install 'tunesmith\["):
        TER(**{name: True}).stats("a", ["a"])
