"""Language models from text, against the definitions and against KenLM's lmplz."""

from __future__ import annotations

import gzip
import itertools
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from unittest import mock

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.tiers import examples
from tunesmith.data import memory as large_arrays
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.hiero.training.lm import ngram_text
from tunesmith.hiero.training.lm.arpa_writer import spell_number
from tunesmith.hiero.training.lm.kneser_ney import FALLBACK, estimate, estimate_files
from tunesmith.progress import show_with

TEXT = Path(__file__).parents[4] / "examples" / "catalogs"
#: Perplexities of dev.en under lmplz's models of train.en, with and without unknown words.
LMPLZ = {3: (69.534, 61.185), 4: (62.876, 55.275), 5: (61.125, 53.729)}
FEW = examples(60, interpreted=5)
compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow interpreted")

small_texts = st.lists(st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join), min_size=1)
texts = small_texts.filter(any)


class Plain:
    """The definitions, word for word, with dictionaries."""

    def __init__(self, lines, order, prune):
        self.order = order
        occurrences = Counter()
        for line in lines:
            words = ("<s>", *line.split(), "</s>")
            for n, first in itertools.product(range(1, order + 1), range(len(words))):
                if first + n <= len(words):
                    occurrences[words[first : first + n]] += 1
        del occurrences["<s>",]
        before = defaultdict(set)
        for gram in occurrences:
            before[gram[1:]].add(gram[0])
        self.counts = {
            gram: raw if len(gram) == order or gram[0] == "<s>" else len(before[gram])
            for gram, raw in occurrences.items()
        }
        self.stays = {gram for gram, raw in occurrences.items() if raw > prune[len(gram) - 1]}
        self.vocabulary = {word for gram in occurrences for word in gram} - {"<s>"} | {"<unk>"}
        self.following = defaultdict(list)
        for gram in self.counts:
            self.following[gram[:-1]].append(gram)
        self.fallen_back = set()
        self.discounts = {n: self.discounts_of(n) for n in range(1, order + 1)}

    def discounts_of(self, n):
        those = Counter(count for gram, count in self.counts.items() if len(gram) == n)
        if those[1] and those[2] and those[3]:
            y = those[1] / (those[1] + 2 * those[2])
            found = [k - (k + 1) * y * those[k + 1] / those[k] for k in (1, 2, 3)]
            if all(0 <= d <= k for k, d in enumerate(found, 1)):
                return (0.0, *found)
        if any(len(gram) == n for gram in self.counts):
            self.fallen_back.add(n)
        return (0.0, *FALLBACK)

    def discount(self, gram):
        return self.discounts[len(gram)][min(self.counts[gram], 3)]

    def total(self, context):
        return sum(self.counts[gram] for gram in self.following[context])

    def backoff(self, context):
        off = sum(
            self.discount(gram) if gram in self.stays else self.counts[gram]
            for gram in self.following[context]
        )
        return off / self.total(context)

    def probability(self, word, context):
        lower = self.probability(word, context[1:]) if context else 1.0 / len(self.vocabulary)
        if not self.following[context]:
            return lower
        gram = (*context, word)
        own = self.counts[gram] - self.discount(gram) if gram in self.stays else 0.0
        return own / self.total(context) + self.backoff(context) * lower

    def model(self):
        """Return what the file should have: n-gram -> probability, back-off."""
        held = {("<unk>",): self.probability("<unk>", ()), ("<s>",): 1.0}
        for gram in self.stays:
            held[gram] = self.probability(gram[-1], gram[:-1])
        return {
            gram: (p, self.backoff(gram) if self.following[gram] else 1.0)
            for gram, p in held.items()
        }


def read_arpa(path):
    """Return the n-grams of an ARPA file, after checks of its layout."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    head, *sections, end = text.split("\n\n")
    assert end == "\\end\\\n"
    title, *counts = head.split("\n")
    assert title == "\\data\\"
    grams = {}
    for n, (count, section) in enumerate(zip(counts, sections, strict=True), 1):
        name, *lines = section.split("\n")
        assert name == f"\\{n}-grams:"
        assert count == f"ngram {n}={len(lines)}"
        for line in lines:
            probability, words, *rest = line.split("\t")
            assert len(rest) == (0 if n == len(sections) else 1)
            gram = tuple(words.split(" "))
            assert len(gram) == n
            assert gram not in grams
            grams[gram] = (float(probability), float(rest[0]) if rest else 0.0)
    return grams


def score(grams, word, context):
    """Return log10 p(word | context) by back-off."""
    if (*context, word) in grams:
        return grams[*context, word][0]
    return grams.get(context, (0.0, 0.0))[1] + score(grams, word, context[1:])


def arpa_of(lines, order, path, prune=(), memory=1 << 20):
    """Return the model's n-grams and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimate(lines, order, prune, memory)
    model.write_arpa(path)
    grams = read_arpa(path)
    assert model.sizes == tuple(
        sum(len(gram) == n for gram in grams) for n in range(1, model.order + 1)
    )
    return grams, [str(one.message) for one in caught]


def check_definition(lines, order, path, prune):
    grams, told = arpa_of(lines, order, path, prune)
    thresholds = [*prune, *itertools.repeat(prune[-1] if prune else 0, order)]
    plain = Plain(lines, order, thresholds)
    wanted = plain.model()
    assert grams.keys() == wanted.keys()
    for gram, (probability, backoff) in wanted.items():
        assert 10.0 ** grams[gram][0] == pytest.approx(probability, rel=2e-6), gram
        assert 10.0 ** grams[gram][1] == pytest.approx(backoff, rel=2e-6), gram
    orders = ", ".join(map(str, sorted(plain.fallen_back)))
    assert len(told) == (1 if orders else 0)
    if orders:
        assert f"of order {orders};" in told[0]
    return grams, plain


def zipfian(seed, sentences):
    """Return text that is large enough for discounts: some words are frequent, many are rare."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, sentences)
    return [" ".join(f"w{k}" for k in np.minimum(rng.zipf(1.4, n), 400)) for n in lengths]


@settings(max_examples=FEW)
@given(texts, st.integers(1, 5), st.sampled_from([(), (0, 0, 1), (0, 1), (0, 0, 1, 2)]))
@example(["a"], 5, ())
@example(["a", "", ""], 1, ())
@example(["a a a a a a"], 3, ())
@example(["a b", "a b", "a c"], 4, (0, 1))
def test_small_models_are_as_defined(tmp_path_factory, lines, order, prune):
    prune = prune[:order]
    check_definition(lines, order, tmp_path_factory.mktemp("lm") / "a.arpa", prune)


@settings(max_examples=max(2, FEW // 10))
@given(st.integers(0, 1000), st.sampled_from([(), (0, 0, 1), (0, 1, 1, 2)]))
def test_larger_models_are_as_defined(tmp_path_factory, seed, prune):
    path = tmp_path_factory.mktemp("lm") / "a.arpa"
    _, plain = check_definition(zipfian(seed, 300), 4, path, prune)
    assert 2 not in plain.fallen_back  # else this would be no more than the test above


@settings(max_examples=FEW)
@given(texts, st.integers(1, 4), st.sampled_from([(), (0, 1)]))
def test_probabilities_sum_to_one(tmp_path_factory, lines, order, prune):
    prune = prune[:order]
    grams, _ = arpa_of(lines, order, tmp_path_factory.mktemp("lm") / "a.arpa", prune)
    vocabulary = [word for word, *more in grams if not more and word != "<s>"]
    contexts = [(), *(gram for gram in grams if len(gram) < order and gram[-1] != "</s>")]
    for context in contexts:
        total = sum(10.0 ** score(grams, word, context) for word in vocabulary)
        assert total == pytest.approx(1.0, abs=2e-6), context


@settings(max_examples=FEW)
@given(st.lists(texts, min_size=2, max_size=4), st.integers(1, 5), st.integers(1, 3000))
def test_runs_on_disk_make_no_difference(tmp_path_factory, parts, order, memory):
    folder = tmp_path_factory.mktemp("lm")
    lines = [line for part in parts for line in part]
    arpa_of(lines, order, folder / "whole.arpa", (0, 1)[:order])
    with (
        mock.patch.object(ngram_text, "TOGETHER", 2),
        mock.patch.object(large_arrays, "budget", return_value=2000),
    ):
        arpa_of(lines, order, folder / "runs.arpa", (0, 1)[:order], memory)
    assert (folder / "whole.arpa").read_bytes() == (folder / "runs.arpa").read_bytes()


@pytest.mark.long
@compiled
@pytest.mark.parametrize("order", LMPLZ)
def test_perplexity_is_that_of_lmplz(tmp_path, order):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimate_files([TEXT / "train.en.gz"], order)
    model.write_arpa(tmp_path / "model.arpa")
    grams = read_arpa(tmp_path / "model.arpa")
    known, unknown = [], []
    for line in (TEXT / "dev.en").read_text(encoding="utf-8").splitlines():
        words = ["<s>", *line.split(), "</s>"]
        words = [word if (word,) in grams else "<unk>" for word in words]
        for k in range(1, len(words)):
            context = tuple(words[max(0, k - order + 1) : k])
            (unknown if words[k] == "<unk>" else known).append(score(grams, words[k], context))
    assert (len(known) + len(unknown), len(unknown)) == (5809, 87)
    found = [10.0 ** -(sum(part) / len(part)) for part in (known + unknown, known)]
    assert found == pytest.approx(LMPLZ[order], abs=6e-4)


@compiled
def test_a_decoder_can_ask_it():
    with pytest.warns(UserWarning, match="too small"):
        model = estimate(["a b", "a c"], 3)
    asked = model.language_model()
    assert asked.vocabulary.words == ("<unk>", "<s>", "</s>", "a", "b", "c")
    assert asked.arrays.orders.tolist() == [3]


def test_odd_words_come_through(tmp_path):
    odd = [
        "\\end\\",
        "ngram",
        "-1.5",
        "日本",
        "\u200b",
        "[X]",
        "|||",
        "\U0001f600",
        "</S>",
        "a\ufeff",
    ]
    (tmp_path / "text").write_bytes("\r\n".join([" ".join(odd), "", "\t ß\u00a0 x"]).encode())
    with pytest.warns(UserWarning, match=r"order 1, 2, 3; 0\.5, 1\.0, 1\.5 are used"):
        model = estimate_files([tmp_path / "text"], 3)
    assert model.words == ("<unk>", "<s>", "</s>", *odd, "ß", "x")
    model.write_arpa(tmp_path / "a.arpa.gz")
    grams = read_arpa(tmp_path / "a.arpa.gz")
    assert {(*odd[k : k + 3],) for k in range(len(odd) - 2)} <= grams.keys()
    assert {("<s>", "ß", "x"), ("ß", "x", "</s>"), ("<s>", "</s>")} <= grams.keys()


def test_several_files_are_one_text(tmp_path):
    (tmp_path / "a").write_text("x y\nx")
    (tmp_path / "b").write_text("y x\n")
    with pytest.warns(UserWarning, match="too small"):
        estimate_files([tmp_path / "a", tmp_path / "b"], 2).write_arpa(tmp_path / "files.arpa")
    arpa_of(["x y", "x", "y x"], 2, tmp_path / "lines.arpa")
    assert (tmp_path / "files.arpa").read_bytes() == (tmp_path / "lines.arpa").read_bytes()


@pytest.mark.parametrize("word", ["<s>", "</s>", "<unk>"])
def test_words_of_the_model_itself_are_refused(tmp_path, word):
    path = tmp_path / "text"
    path.write_text(f"a b\n\nc {word}\n{word}\n")
    with pytest.raises(FormatError, match=f"{path}:3: the word {word} belongs .*; take it out"):
        estimate_files([path])
    with pytest.raises(FormatError, match=f"the text:2: the word {word}"):
        estimate(["a", word])


def test_wrong_text_is_told(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="the file is empty; give"):
        estimate_files([path])
    path.write_bytes(b"\n \n")
    with pytest.raises(TunesmithError, match=f"{path}: there are no words; give"):
        estimate_files([path])
    path.write_bytes(b"a\nb \xff\n")
    with pytest.raises(FormatError, match=f"{path}:2: byte 0xff is not UTF-8"):
        estimate_files([path])
    with pytest.raises(FormatError, match="no such file"):
        estimate_files([tmp_path / "none"])
    with pytest.raises(TunesmithError, match="the text: there are no words"):
        estimate([])
    with pytest.raises(FormatError, match="the text:2: it holds half a character"):
        estimate(["ä", "\ud800"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "order is 0; give 1 to 16"),
        ({"order": 17}, "order is 17; give"),
        ({"order": 2, "prune": (0, 0, 1)}, "prune has 3 numbers for 2 orders"),
        ({"prune": (1,)}, "prune is 1; begin with 0"),
        ({"prune": (0, 2, 1)}, "prune is 0,2,1; .* less than before"),
    ],
)
def test_wrong_options_are_told(options, message):
    with pytest.raises(UsageError, match=message):
        estimate(["a"], **options)


def test_no_files_are_told():
    with pytest.raises(UsageError, match="no files"):
        estimate_files([])


def test_progress_is_shown(tmp_path):
    seen = []
    show_with(lambda step, done, total, remark: seen.append((step, done, total)))
    try:
        arpa_of(["a b", "a"], 2, tmp_path / "a.arpa")
    finally:
        show_with(None)
    assert seen[0] == ("counting n-grams", 2, None)
    assert ("estimating probabilities", 2, 2) in seen
    assert seen[-1] == ("writing n-grams", 9, 9)  # a b <s> </s> <unk>, and four bigrams


@given(st.floats(-99.0, 99.0, width=32))
@example(0.0)
@example(-0.0)
@example(-1e-9)
@example(-1.0)
@example(-10.0)
@example(-99.0)
@example(-0.05)
@example(-9.99999999)
def test_numbers_are_spelled(value):
    out = np.zeros(64, np.uint8)
    found = bytes(out[: spell_number(np.float32(value), out, 0)]).decode()
    assert float(found) == pytest.approx(float(np.float32(value)), rel=0.0, abs=5.1e-8)
    sign, _, digits = found.rpartition("-")
    whole, point, decimals = digits.partition(".")
    assert (sign, len(decimals) <= 7) == ("", True)
    assert whole == str(int(whole))
    assert bool(point) == bool(decimals)
    assert not decimals.endswith("0")
    assert found != "-0"
