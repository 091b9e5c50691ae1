"""ARPA files: what they say, and what is wrong with them."""

from __future__ import annotations

import gzip
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.hiero.arpa_files import WORDS, Arpa, arpas, model_of
from tests.helpers.tiers import examples
from tunesmith.errors import FormatError
from tunesmith.hiero.lm.language_model import LanguageModel
from tunesmith.hiero.tables import EMPTY

GOOD = """\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-1.5\t<unk>
-99\t<s>\t-0.5
-1\t</s>
-0.5\ta\t-0.25
-0.75\tb

\\2-grams:
-0.125\t<s> a
-0.25\ta b

\\end\\
"""
sentences = st.lists(st.sampled_from((*WORDS, "unheard")), max_size=6)


def scores(model: LanguageModel, words: list[str], **options: bool) -> list[float]:
    return [score.log10 for score in model.score(words, **options)]


@settings(max_examples=examples(150))
@given(arpas(), sentences, st.booleans())
def test_words_have_the_probabilities_of_the_definition(arpa, words, begins):
    wanted = arpa.sentence([*words, "</s>"], begins)
    assert scores(model_of(arpa.text()), words, bos=begins) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\t", " "),
        lambda text: text.replace("\t", " \t "),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("\n", " \n"),
        lambda text: "\n\n" + text + "\n\n",
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("1=5", "1 = 5").replace("2=2", "2=  2"),
        lambda text: text.replace("-0.125", "-1.25e-1").replace("-0.25", "-.25"),
        lambda text: text.replace("-0.125", "-0.12500000000000000000000000001"),
        lambda text: text.replace("-0.125", "-0.00000000000000000125e17"),
        lambda text: text.replace("-0.25\ta b", "-0.25\ta b\t0"),
        lambda text: text.replace("<unk>", "<UNK>"),
    ],
)
def test_files_may_be_written_in_other_ways(change):
    text = change(GOOD)
    # "a" after <s>, "b" after "a", an unknown word and the end after nothing known.
    wanted = [-0.125, -0.25, -1.5, -1.0]
    assert scores(model_of(text), ["a", "b", "unheard"]) == pytest.approx(wanted)
    assert scores(model_of(text), ["a", "a"], bos=False) == pytest.approx([-0.5, -0.75, -1.25])


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "lm.arpa.gz"
    path.write_bytes(gzip.compress(GOOD.encode()))
    model = LanguageModel.read(path)
    assert scores(model, ["a"]) == pytest.approx([-0.125, -1.25])
    assert [file.format for file in model.files] == ["arpa"]


def test_words_may_hold_any_character_but_blanks():
    text = GOOD.replace("a b", "\u00a0 \\b").replace("\ta\t", "\t\u00a0\t").replace("\tb", "\t\\b")
    model = model_of(text.replace("<s> a", "<s> \u00a0"))
    assert scores(model, ["\u00a0", "\\b"])[:2] == pytest.approx([-0.125, -0.25])


def test_a_model_may_have_unigrams_only():
    model = model_of("\\data\\\nngram 1=3\n\\1-grams:\n-9 <s>\n-1 </s>\n-2 <unk>\n\\end\\\n")
    assert scores(model, ["a", "b"]) == [-2.0, -2.0, -1.0]


def test_a_length_may_have_no_ngrams():
    model = model_of(GOOD.replace("2=2", "2=2\nngram 3=0").replace("\\end", "\\3-grams:\n\\end"))
    assert model.order == 3
    assert scores(model, ["a", "b"]) == pytest.approx([-0.125, -0.25, -1.0])


def test_unknown_words_without_a_probability_are_warned_of():
    text = GOOD.replace("-1.5\t<unk>\n", "").replace("1=5", "1=4")
    with pytest.warns(UserWarning, match=r"lm\.arpa: there is no 1-gram <unk>.* -100"):
        model = model_of(text)
    assert scores(model, ["b", "unheard", "b"]) == pytest.approx([-1.25, -100.0, -0.75, -1.0])
    assert [score.unknown for score in model.score(["b", "unheard"])] == [False, True, False]


@pytest.mark.long
def test_files_longer_than_a_block_and_larger_than_a_table():
    # 4-grams without any of their parts: each of those is added.
    rng = random.Random(1)
    words = [f"wörd-{k}" for k in range(45_000)]
    grams = {tuple(rng.choices(words[:400], k=4)): (-k / 64, 0.0) for k in range(3000)}
    unigrams = {(word,): (-2 - k % 64 / 8, -k % 8 / 8) for k, word in enumerate(words)}
    special = {(word,): (-1.0, 0.0) for word in ("<s>", "</s>", "<unk>")}
    arpa = Arpa(4, special | unigrams | grams)
    assert len(arpa.text()) > 1 << 20
    model = model_of(arpa.text())
    for gram in list(grams)[::50]:
        text = [rng.choice(words), *gram, *gram[2:], rng.choice(words)]
        assert scores(model, text) == pytest.approx(arpa.sentence([*text, "</s>"]), abs=1e-5)
    table = model.arrays.entries["key"][len(model.vocabulary) :]
    assert 0.25 < np.mean(table != EMPTY) <= 0.6


def broken(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", None, "the file is empty"),
        ("\n\n", 1, "no ARPA file"),
        ("the cat sat\n", 1, "no ARPA file"),
        (broken("\\data\\", "\\data\\ x"), 1, r"is not \\data\\"),
        (broken("ngram 1=5", "ngram 1=x"), 2, "'ngram 1=x' is no count"),
        (broken("ngram 1=5\n", ""), 2, "2-grams follows that of 0-grams"),
        (broken("ngram 2=2", "ngram 3=2"), 3, "3-grams follows that of 1-grams"),
        ("\\data\\\n\\1-grams:\n", 2, "there are no counts"),
        ("\\data\\\n" + "".join(f"ngram {n}=1\n" for n in range(1, 30)), 18, "more than 16 words"),
        (broken("2=2", "2=3"), 16, "there are 2 2-grams, but 3 by the count"),
        (broken("2=2", "2=1"), 16, "there are 2 2-grams, but 1 by the count"),
        (broken("1=5", "1=4"), 12, "there are 5 1-grams, but 4 by the count"),
        (broken("1=5", "1=99999999999999999999"), 12, "there are 5 1-grams"),
        (broken("\\2-grams:", "\\3-grams:"), 12, r"stands where \\2-grams: should"),
        (broken("\\1-grams:", "\\2-grams:"), 5, r"stands where \\1-grams: should"),
        (broken("\\1-grams:", "\\grams:"), 5, r"stands where \\1-grams: should"),
        (broken("\\2-grams:", "\\end\\"), 12, r"stands where \\2-grams: should"),
        (broken("\\end\\", ""), 16, r"ends without \\end\\"),
        (GOOD[:-30], 12, r"ends without \\end\\"),
        (broken("\\end\\", "\\3-grams:"), 16, "follows the last n-grams"),
        (GOOD + "more\n", 17, r"'more' stands after \\end\\"),
        (broken("-0.125", "0.125"), 13, "0.125, above 0"),
        (broken("-0.125", "nan"), 13, "the probability is nan, which is not finite"),
        (broken("-0.125", "inf"), 13, "the probability is inf, which is not finite"),
        (broken("-0.125", "-1e400"), 13, "not finite"),
        (broken("-0.125", "-1e40"), 13, "-1e40 is too large"),
        (broken("-0.125", "-0.1.25"), 13, "'-0.1.25', not a number"),
        (broken("-0.125", "-0.123456789012345678901.25"), 13, "not a number"),
        (broken("-0.125", "x"), 13, "the probability is 'x', not a number"),
        (broken("-0.125", "-"), 13, "the probability is '-', not a number"),
        (broken("\t-0.5\n", "\tx\n"), 7, "the back-off, is 'x', not a number"),
        (broken("\t-0.5\n", "\tinf\n"), 7, "the back-off, is inf, which is not finite"),
        (broken("\t-0.5\n", "\t1e39\n"), 7, "1e39 is too large"),
        (broken("<s> a", "<s> a -1"), 13, "the greatest length, 2, has the back-off -1"),
        (broken("<s> a", "<s> a b"), 13, "what follows the 2 words, the back-off, is 'b'"),
        (broken("<s> a", "<s> a b a"), 13, "more than 2 words"),
        (broken("<s> a", "<s>"), 13, "fewer than 2 words"),
        (broken("-0.125\t<s> a", "-0.125"), 13, "fewer than 2 words"),
        (broken("a b", "a z"), 14, "the word 'z' is no 1-gram"),
        (broken("\tb\n", "\ta\n"), 10, "the word 'a' is there a second time"),
        (broken("a b", "<s> a"), 14, "the 2-gram '<s> a' is there already"),
        (broken("-0.25\ta b", "\n-0.25\t<s> a"), 15, "the 2-gram '<s> a' is there already"),
        (broken("-99\t<s>\t-0.5\n", "").replace("1=5", "1=4"), 12, "'<s>' is no 1-gram"),
        ("\\data\\\nngram 1=1\n\\1-grams:\n-1 <s>\n\\end\\\n", None, "no 1-gram </s>"),
        ("\\data\\\nngram 1=1\n\\1-grams:\n-1 </s>\n\\end\\\n", None, "no 1-gram <s>"),
        (broken("ngram 2=2", "ngram 2=2\0"), 3, "a NUL byte; is it a text file"),
        (GOOD.replace("\n", "\r"), 1, "CR alone"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, line, problem):
    with pytest.raises(FormatError, match=problem) as caught:
        model_of(text)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


def test_broken_files_on_disk(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        LanguageModel.read(tmp_path / "none.arpa")
    path = tmp_path / "lm.arpa.gz"
    path.write_bytes(gzip.compress(GOOD.encode())[:-20])
    with pytest.raises(FormatError, match="truncated"):
        LanguageModel.read(path)
    path = tmp_path / "latin.arpa"
    path.write_bytes(GOOD.replace("\tb", "\tä").replace("a b", "a ä").encode("latin-1"))
    with pytest.raises(FormatError, match="0xe4 is not UTF-8"):
        LanguageModel.read(path)


def test_the_logarithm_of_nothing(tmp_path):
    (tmp_path / "f").write_text(broken("-0.125", "-inf").replace("-0.25\ta b", "-inf\ta b"))
    with pytest.warns(UserWarning, match="13: a logarithm is -inf; it counts as -99") as caught:
        model = LanguageModel.read(tmp_path / "f")
    assert sum("-inf" in str(one.message) for one in caught) == 1
    (tmp_path / "g").write_text(broken("-0.125", "-99").replace("-0.25\ta b", "-99\ta b"))
    plain = LanguageModel.read(tmp_path / "g")
    assert model.score(["a", "b"]) == plain.score(["a", "b"])
