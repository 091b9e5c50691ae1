"""Language models: scores, perplexity, several at once, and folders."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.hiero.arpa_files import WORDS, Arpa, arpas, model_of
from tests.helpers.tiers import examples
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.hiero.lm.language_model import LanguageModel, LanguageModels
from tunesmith.hiero.tables import EMPTY

SPECIAL = ("<s>", "</s>", "<unk>")
sentences = st.lists(st.sampled_from((*WORDS, "unheard")), max_size=6)


def bigrams(*given: str, order: int = 2) -> Arpa:
    held = {(word,): (-1.0, -0.5) for word in (*SPECIAL, *WORDS)}
    return Arpa(order, held | {tuple(gram.split()): (-0.25, 0.0) for gram in given})


def test_scores_say_how_long_the_ngram_is_and_who_is_unknown():
    model = model_of(bigrams("<s> a", "a b").text())
    found = model.score(["a", "b", "unheard"])
    assert [score.length for score in found] == [2, 2, 1, 1]
    assert [score.unknown for score in found] == [False, False, True, False]
    assert [score.log10 for score in found] == [-0.25, -0.25, -1.5, -1.5]
    assert model.score([], bos=False, eos=False) == []
    assert [score.log10 for score in model.score([], bos=False)] == [-1.0]
    assert [score.log10 for score in model.score(["a"], eos=False)] == [-0.25]


@settings(max_examples=examples(60))
@given(arpas(), st.lists(sentences, min_size=1, max_size=4))
def test_perplexity_counts_the_ends_of_lines(arpa, text):
    total = [sum(arpa.sentence([*words, "</s>"])) for words in text]
    values = [
        value
        for words in text
        for word, value in zip([*words, "</s>"], arpa.sentence([*words, "</s>"]), strict=True)
        if word != "unheard"
    ]
    words = sum(len(one) + 1 for one in text)
    found = model_of(arpa.text()).perplexity(" ".join(one) for one in text)
    assert (found.words, found.unknown) == (words, words - len(values))
    assert found.log10 == pytest.approx(sum(total))
    assert found.including == pytest.approx(10 ** (-sum(total) / words))
    assert found.excluding == pytest.approx(10 ** (-sum(values) / len(values)))


def test_perplexity_of_nothing_is_refused():
    model = model_of(bigrams().text())
    with pytest.raises(UsageError, match="no lines"):
        model.perplexity([])
    assert math.isclose(model.perplexity([""]).including, 10**1.5)


def test_saved_models_come_back(tmp_path):
    arpa = bigrams("<s> a", "a b")
    (tmp_path / "lm.arpa").write_text(arpa.text())
    read = LanguageModel.read(tmp_path / "lm.arpa")
    read.save(tmp_path / "saved")
    back = LanguageModel.read(tmp_path / "saved")
    for one, other in zip(read.arrays, back.arrays, strict=True):
        assert np.array_equal(one, other)
        assert one.dtype == other.dtype
        assert not other.flags.writeable
    assert back.vocabulary.words == read.vocabulary.words
    assert back.files == read.files
    assert back.score(["a", "b", "c"]) == read.score(["a", "b", "c"])


def test_several_models_have_words_of_their_own():
    small = Arpa(1, {("b",): (-3.0, 0.0), **{(word,): (-2.0, 0.0) for word in SPECIAL}})
    models = LanguageModels({"x": model_of(bigrams("a b").text()), "y": model_of(small.text())})
    assert models.names == ("x", "y")
    assert models.arrays.orders.tolist() == [2, 1]
    nodes = models.lookup(["a", "b", "unheard"])
    assert nodes.dtype == np.int32
    assert nodes[0, 2] == models.arrays.unknowns[0]
    assert nodes[1].tolist() == [models.arrays.unknowns[1], 0, models.arrays.unknowns[1]]
    for m, name in enumerate(models.names):
        begins = models.models[name].vocabulary.ids_of(["<s>", "</s>"])
        assert [models.arrays.begins[m], models.arrays.ends[m]] == begins.tolist()


def test_a_single_model_is_not_copied():
    model = model_of(bigrams("a b").text())
    assert LanguageModels({"x": model}).arrays is model.arrays
    with pytest.raises(UsageError, match="no language model"):
        LanguageModels({})


def damage(folder, name, change) -> None:
    path = folder / f"{name}.npy"
    held = np.load(path)
    np.save(path, change(held))


def fill(entries):
    entries["key"][entries["key"] == EMPTY] = 5
    return entries


def reverse(array):
    return array[::-1]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("entries", lambda held: held[:-1]),
        ("entries", lambda held: held[:0]),
        ("entries", lambda held: held.reshape(-1, 1)),
        ("entries", fill),
        ("entries", lambda held: held["key"].copy()),
        ("word_start", reverse),
        ("word_start", lambda held: held[:-1]),
        ("word_letters", lambda held: held[:-1]),
        ("word_hashes", lambda held: held[:-1]),
        ("word_order", lambda held: held + 1),
        ("word_order", lambda held: held.astype(np.int64)),
        ("word_order", lambda held: held[:0]),
    ],
)
def test_damaged_arrays_are_refused(tmp_path, name, change):
    model_of(bigrams("a b").text()).save(tmp_path / "lm")
    damage(tmp_path / "lm", name, change)
    with pytest.raises(FormatError, match="make the folder again"):
        LanguageModel.read(tmp_path / "lm")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", "tunesmith.lm/0"),
        ("order", 0),
        ("order", 17),
        ("order", 1),
        ("order", "2"),
        ("order", None),
        ("begin", 6),
        ("end", -1),
        ("unknown", 2**40),
        ("files", [1]),
        ("files", [["a"]]),
    ],
)
def test_damaged_descriptions_are_refused(tmp_path, key, value):
    model_of(bigrams("a b").text()).save(tmp_path / "lm")
    path = tmp_path / "lm" / "about.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(FormatError, match="make the folder again"):
        LanguageModel.read(tmp_path / "lm")


def test_folders_of_other_things_are_refused(tmp_path):
    with pytest.raises(TunesmithError, match="no such file"):
        LanguageModel.read(tmp_path)
    model_of(bigrams("a b").text()).save(tmp_path / "lm")
    with pytest.raises(FormatError, match=f"{tmp_path}: this is a whole model.*; name .*/lm$"):
        LanguageModel.read(tmp_path)
    (tmp_path / "lm" / "entries.npy").unlink()
    with pytest.raises(FormatError, match="no such file"):
        LanguageModel.read(tmp_path / "lm")
