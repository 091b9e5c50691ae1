"""KenLM gives the same probabilities, lengths of n-grams and unknown words."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.helpers.hiero.arpa_files import WORDS, arpas, model_of
from tests.helpers.hiero.kenlm_files import EXAMPLE, FILE
from tests.helpers.tiers import examples
from tunesmith.hiero.lm.language_model import LanguageModel

kenlm = pytest.importorskip("kenlm", reason="kenlm is not here: `make kenlm` compiles it")


def check(ours: LanguageModel, theirs, words: list[str], bos: bool = True, eos: bool = True):
    found = ours.score(words, bos=bos, eos=eos)
    wanted = list(theirs.full_scores(" ".join(words), bos=bos, eos=eos))
    assert [score.log10 for score in found] == pytest.approx(
        [score for score, _, _ in wanted], abs=1e-4
    )
    assert [(score.length, score.unknown) for score in found] == [
        (length, unknown) for _, length, unknown in wanted
    ]


# KenLM refuses unigrams only, and contexts that are missing; ends of n-grams may be.
@settings(max_examples=examples(60))
@given(
    arpas(first_order=2, contexts=True),
    st.lists(st.lists(st.sampled_from((*WORDS, "unheard", "<unk>")), max_size=8), max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_small_models(arpa, sentences, bos, eos):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lm.arpa"
        path.write_text(arpa.text())
        try:
            theirs = kenlm.Model(str(path))
        except OSError as error:  # it has little room for ends of n-grams that are missing
            if "ProbingSizeException" not in str(error):
                raise
            reject()
    ours = model_of(arpa.text())
    for words in sentences:
        check(ours, theirs, words, bos, eos)


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from([*sorted({g[0] for g in EXAMPLE.ngrams}), "unheard"]), max_size=9))
def test_its_binary_model(words):
    check(LanguageModel.read(FILE), kenlm.Model(str(FILE)), words)


def test_a_real_model(shared_data):
    path = shared_data / "nc-wmt11-de-en" / "lm" / "en.4gram.arpa.gz"
    ours, theirs = LanguageModel.read(path), kenlm.Model(str(path))
    lines = (shared_data / "nc-wmt11-de-en" / "dev.en").read_text().splitlines()
    for line in lines:
        check(ours, theirs, line.split())
    total = sum(theirs.score(line) for line in lines)
    assert ours.perplexity(lines).log10 == pytest.approx(total, abs=1e-2)
