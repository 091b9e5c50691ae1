"""Arrays and words in folders."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import FormatError, TunesmithError
from tunesmith.hiero.store import frozen, load_array, read_header, save_arrays
from tunesmith.hiero.vocabulary import Vocabulary


@given(st.lists(st.text(max_size=5), unique=True), st.lists(st.text(max_size=5)))
def test_words_have_their_places(words, asked):
    vocabulary = Vocabulary.of(words)
    assert vocabulary.words == tuple(words)
    assert [vocabulary[k] for k in range(len(words))] == words
    wanted = [words.index(word) if word in words else -1 for word in asked]
    assert vocabulary.ids_of(asked).tolist() == wanted


@given(*[st.lists(st.text("abcäß", max_size=3), unique=True)] * 2)
def test_words_of_one_vocabulary_in_another(words, others):
    one, other = Vocabulary.of(words), Vocabulary.of(others)
    assert one.ids_in(other).tolist() == other.ids_of(words).tolist()


@pytest.mark.long
def test_equal_hashes_of_two_vocabularies_are_told_apart():
    one, other = (
        Vocabulary(held.start, held.letters, np.zeros(3, np.uint64), held.order)
        for held in (Vocabulary.of(["a", "b", "c"]), Vocabulary.of(["c", "x", "b"]))
    )
    assert one.ids_in(other).tolist() == [-1, 2, 0]


def test_damaged_vocabularies():
    fine = Vocabulary.of(["ä", "b"])
    assert fine.is_sound()
    assert Vocabulary.of([]).is_sound()
    for change in (
        {"letters": np.array([0xC3, 0x28, 98], np.uint8)},
        {"start": np.array([0, 1, 3])},
        {"start": np.array([0, 4, 3])},
        {"start": np.array([0, 3])},
        {"order": np.array([0, 2], np.int32)},
        {"hashes": fine.hashes[:1]},
    ):
        assert not dataclasses.replace(fine, **change).is_sound()


def test_equal_hashes_are_told_apart():
    plain = Vocabulary.of(["a", "b", "c"])
    same = Vocabulary(plain.start, plain.letters, np.zeros(3, np.uint64), plain.order)
    from tunesmith.hiero import vocabulary

    real = vocabulary._hashes
    try:
        vocabulary._hashes = lambda words: np.zeros(len(list(words)), np.uint64)
        assert same.ids_of(["c", "a", "d", "b"]).tolist() == [2, 0, -1, 1]
    finally:
        vocabulary._hashes = real


def test_arrays_come_back(tmp_path):
    held = {"a": np.arange(5, dtype=np.int32), "b": np.zeros((2, 3))}
    save_arrays(tmp_path / "x", held, {"schema": "test/1", "note": "ä"})
    assert read_header(tmp_path / "x", "test/1")["note"] == "ä"
    for name, array in held.items():
        found = load_array(tmp_path / "x", name, array.dtype)
        assert np.array_equal(found, array)
        assert not found.flags.writeable
    save_arrays(tmp_path / "x", {"a": np.zeros(1)}, {"schema": "test/1"})
    assert not (tmp_path / "x" / "b.npy").exists()


def test_wrong_folders_are_told(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        read_header(tmp_path / "none", "test/1")
    save_arrays(tmp_path / "x", {"a": np.zeros(1)}, {"schema": "test/1"})
    with pytest.raises(FormatError, match="schema is not other/1"):
        read_header(tmp_path / "x", "other/1")
    with pytest.raises(FormatError, match="float64, not int32"):
        load_array(tmp_path / "x", "a", np.int32)
    with open(tmp_path / "archive", "wb") as file:
        np.savez(file, a=np.zeros(1))
    archive = (tmp_path / "archive").read_bytes()
    plain = (tmp_path / "x" / "a.npy").read_bytes()
    huge = plain.replace(b"(1,), }" + b" " * 30, b"(%d,), }" % 10**30)
    assert huge != plain
    objects = tmp_path / "objects.npy"
    np.save(objects, np.array([{}]), allow_pickle=True)
    with pytest.raises(FormatError, match="no array"):
        load_array(tmp_path, "objects", np.float64)
    for content in (b"nothing", b"", b"PK\x03\x04", archive, plain[:-1], huge):
        (tmp_path / "x" / "a.npy").write_bytes(content)
        with pytest.raises(FormatError, match="no array"):
            load_array(tmp_path / "x", "a", np.float64)
    for text in ("{", "", "[" * 100_000):
        (tmp_path / "x" / "about.json").write_text(text)
        with pytest.raises(FormatError, match="no JSON"):
            read_header(tmp_path / "x", "test/1")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    with pytest.raises(TunesmithError, match="something else is there"):
        save_arrays(tmp_path / "full", {}, {"schema": "test/1"})


def test_frozen_arrays_have_one_type():
    import numba

    plain = frozen(np.arange(4)[::2])
    assert numba.typeof(plain) == numba.typeof(frozen(np.zeros(3, np.int64)))
