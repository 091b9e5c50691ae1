from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.report.page.differences import (
    ELLIPSIS,
    MOST_CHARACTERS,
    MOST_WORDS,
    differences,
    truncated,
)

words = st.lists(st.sampled_from(["a", "b", "c", "d_d", "<b>"]), max_size=9)


def longest_common(left: list[str], right: list[str]) -> int:
    """Count the words that two texts can have in common in order, by the textbook's table."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            longer = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else longer
    return table[-1][-1]


@given(words, words)
def test_pieces_are_the_texts_and_as_much_as_can_be_is_the_same(left, right):
    old, new = differences(" ".join(left), " ".join(right))
    assert " ".join(text for text, _ in old).split() == left
    assert " ".join(text for text, _ in new).split() == right
    same = [[text for text, mark in pieces if mark == "same"] for pieces in (old, new)]
    kept = [" ".join(parts).split() for parts in same]
    assert kept[0] == kept[1]
    assert len(kept[0]) == longest_common(left, right)
    assert {mark for _, mark in old} <= {"same", "out"}
    assert {mark for _, mark in new} <= {"same", "in"}
    for pieces in (old, new):  # neighbours differ in kind
        marks = [mark for _, mark in pieces]
        assert all(a != b for a, b in itertools.pairwise(marks))


def test_a_changed_word_is_marked_in_both():
    old, new = differences("the cat sat", "the dog sat")
    assert old == (("the", "same"), ("cat", "out"), ("sat", "same"))
    assert new == (("the", "same"), ("dog", "in"), ("sat", "same"))


def test_an_empty_output_has_no_pieces():
    assert differences("", "a b") == ((), (("a b", "in"),))


def test_long_texts_are_cut_and_say_so():
    many = " ".join(["w"] * (MOST_WORDS + 1))
    assert truncated(many).split() == [*["w"] * MOST_WORDS, ELLIPSIS]
    whole = " ".join(["w"] * MOST_WORDS)
    assert truncated(whole) == whole


@pytest.mark.parametrize("before", ["", "short "])
def test_a_very_long_word_is_cut(before):
    found = truncated(before + "x" * (MOST_CHARACTERS + 5)).split()
    assert found[-1] == ELLIPSIS
    assert len(found[-2]) == MOST_CHARACTERS - len(before.strip())


def test_a_word_that_just_fits_is_not_cut():
    word = "x" * MOST_CHARACTERS
    assert truncated(word) == word
    assert truncated(f"{word} y") == f"{word} {ELLIPSIS}"
