"""Binary models of KenLM: the ARPA file's scores, and what is wrong with others."""

from __future__ import annotations

import gzip
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.hiero.arpa_files import WORDS, Arpa, arpas, model_of
from tests.helpers.hiero.kenlm_files import EXAMPLE, FILE, binary_model, binary_of
from tests.helpers.tiers import examples
from tunesmith.errors import FormatError
from tunesmith.hiero.lm.language_model import LanguageModel

words = st.sampled_from(sorted({word for gram in EXAMPLE.ngrams for word in gram} | {"unheard"}))
binary_arpas = arpas(first_order=2, contexts=True)


def test_the_writer_of_these_tests_makes_what_build_binary_made():
    assert binary_of(EXAMPLE) == FILE.read_bytes()


@settings(max_examples=examples(300))
@given(st.lists(words, max_size=8), st.booleans(), st.booleans())
def test_the_file_of_build_binary_scores_as_its_arpa_file(text, bos, eos):
    theirs, ours = LanguageModel.read(FILE), model_of(EXAMPLE.text())
    assert theirs.vocabulary.words == ours.vocabulary.words
    assert theirs.score(text, bos, eos) == ours.score(text, bos, eos)


@settings(max_examples=examples(200))
@given(binary_arpas, st.lists(st.sampled_from((*WORDS, "unheard")), max_size=8), st.booleans())
def test_scores_are_those_of_the_definition(arpa, text, begins):
    with tempfile.TemporaryDirectory() as folder:
        model = binary_model(arpa, Path(folder))
    assert model.order == arpa.order
    scores = [score.log10 for score in model.score([*text, "</s>"], bos=begins, eos=False)]
    assert scores == arpa.sentence([*text, "</s>"], begins)


def test_a_folder_and_a_compressed_file_score_alike(tmp_path):
    model = LanguageModel.read(FILE)
    model.save(tmp_path / "saved")
    (tmp_path / "lm.binary.gz").write_bytes(gzip.compress(FILE.read_bytes()))
    text = ["a", "b", "a", "Donaudampfschifffahrt", "unheard", "über", "b", "c"]
    for path in ("saved", "lm.binary.gz"):
        other = LanguageModel.read(tmp_path / path)
        assert other.score(text) == model.score(text)
        assert other.files[0].format == "kenlm"
        assert all(map(np.array_equal, model.arrays, other.arrays))


def test_without_an_unknown_word(tmp_path):
    ngrams = {gram: value for gram, value in EXAMPLE.ngrams.items() if gram != ("<unk>",)}
    with pytest.warns(UserWarning, match="no 1-gram <unk>: .* words is -100"):
        model = binary_model(Arpa(4, ngrams), tmp_path)
    assert [score.log10 for score in model.score(["unheard"], bos=False, eos=False)] == [-100.0]


def changed(at: int, form: str, value: object) -> bytes:
    data = bytearray(FILE.read_bytes())
    struct.pack_into(form, data, at, value)
    return bytes(data)


#: Where the file has its order, the kind, and so on; sizes as the format has them.
ORDER, MULTIPLIER, KIND, HAS_WORDS, COUNTS = 88, 92, 96, 100, 108
BOUND, UNIGRAMS = 144 + 4, 152 + 12 * 13


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (changed(KIND, "<I", 1), "'probing with rest costs'.*`build_binary probing"),
        (
            changed(KIND, "<I", 2),
            "a 'trie' binary of KenLM.* `build_binary probing lm.arpa",
        ),
        (changed(KIND, "<I", 5), "'quantised and compressed trie'"),
        (changed(KIND, "<I", 99), "'number 99'"),
        (changed(ORDER, "<B", 1), "up to 1 words, and 2 to 16"),
        (changed(ORDER, "<B", 200), "up to 200 words"),
        (changed(HAS_WORDS, "<B", 0), "KenLM without words; make it again without -v"),
        (changed(MULTIPLIER, "<f", 0.5), "0.5 times as large"),
        (changed(MULTIPLIER, "<f", float("nan")), "nan times as large"),
        (changed(MULTIPLIER, "<f", 2.0), "too early"),
        (changed(49, "<c", b"4"), "old version"),
        (changed(64, "<I", 1), "another kind of machine"),
        (changed(COUNTS + 24, "<Q", 1 << 63), "too early"),
        (changed(COUNTS + 8, "<Q", 7), "damaged"),
        (changed(BOUND, "<I", 7), "number of words is not that of its unigrams"),
        (changed(UNIGRAMS, "<f", float("inf")), "a 1-gram is not finite"),
        (changed(UNIGRAMS + 80 + 8, "<f", float("nan")), "a 2-gram is not finite"),
        (FILE.read_bytes() + b"more\0", "not 9 words"),
        (FILE.read_bytes().replace(b"<s>\0", b"a\0\xc3\xa9\0"), "not 9 words"),
        (FILE.read_bytes().replace(b"<s>\0", b"<t>\0"), "there is no 1-gram <s>"),
        (FILE.read_bytes().replace("ü".encode(), b"\xfcb"), "not UTF-8"),
        (FILE.read_bytes().replace(b"<unk>\0", b"\0<unk>"), "not where its header"),
        (b"mmap lm http://kheafield.com/code incomplete\n", "did not finish it"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, data, problem):
    (tmp_path / "lm").write_bytes(data)
    with pytest.raises(FormatError, match=problem) as caught:
        LanguageModel.read(tmp_path / "lm")
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "lm") in str(caught.value)


def test_truncated_files_are_refused(tmp_path):
    data = FILE.read_bytes()
    for size in {*range(40, len(data), 7), len(data) - 1}:
        (tmp_path / "lm").write_bytes(data[:size])
        with pytest.raises(FormatError, match=r"truncated|damaged"):
            LanguageModel.read(tmp_path / "lm")


@settings(max_examples=examples(300))
@given(st.integers(0, len(FILE.read_bytes()) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_refused_or_harmless(at, change):
    data = bytearray(FILE.read_bytes())
    data[at] ^= change
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lm"
        path.write_bytes(data)
        try:
            model = LanguageModel.read(path)
        except FormatError as error:
            message = str(error)
        else:
            message = ""
            scores = model.score(["a", "b", "a", "Donaudampfschifffahrt", "a", "unheard"])
            assert all(np.isfinite(score.log10) for score in scores)
    assert "\n" not in message


def test_two_ngrams_with_one_key_are_refused(tmp_path):
    data = bytearray(FILE.read_bytes())
    bigrams, places = UNIGRAMS + 8 * 10, 12
    rows = [bigrams + 16 * k for k in range(places)]
    keys = [int.from_bytes(data[row : row + 8], "little") for row in rows]
    at = next(k for k in range(1, places) if keys[k] and keys[k - 1] and keys[k - 1] % places < k)
    data[rows[at] : rows[at] + 8] = data[rows[at - 1] : rows[at - 1] + 8]
    (tmp_path / "lm").write_bytes(data)
    with pytest.raises(FormatError, match="the same key; give the ARPA file"):
        LanguageModel.read(tmp_path / "lm")
