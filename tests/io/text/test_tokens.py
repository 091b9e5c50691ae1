from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.io.text.tokens import Interner, space_at, tokenize

# Text as files hold it: a line's end is \n, and there is no NUL and no half of a pair.
texts = st.text(st.characters(exclude_characters="\0\n", exclude_categories=("Cs",)))
spaces = "".join(chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace())
spaced = st.text(st.one_of(st.sampled_from(spaces.replace("\n", "")), st.sampled_from("aé漢")))


@given(st.lists(st.one_of(texts, spaced), min_size=1, max_size=20), st.booleans())
def test_tokens_are_those_of_str_split(lines, ended):
    if not ended and not lines[-1]:
        lines[-1] = "x"
    vocabulary = Interner(4)
    found = tokenize(("\n".join(lines) + ("\n" if ended else "")).encode(), vocabulary)
    words = vocabulary.words()
    assert len(set(words)) == len(words)
    assert [[words[i] for i in found[k]] for k in range(len(found))] == [
        line.split() for line in lines
    ]


@pytest.mark.long
def test_white_space_is_that_of_python_for_every_character():
    for code in range(1, sys.maxunicode + 1):
        if 0xD800 <= code < 0xE000:
            continue
        data = chr(code).encode()
        width = space_at(np.frombuffer(data, np.uint8), 0)
        assert width == (len(data) if chr(code).isspace() else 0), hex(code)


def test_the_table_grows_and_keeps_ids():
    vocabulary = Interner(2)
    words = [f"{'w' * (k % 13)}{k}" for k in range(3000)]
    first = tokenize(" ".join(words).encode(), vocabulary)
    assert first.ids.tolist() == list(range(3000))
    assert vocabulary.words() == words
    again = tokenize(" ".join(reversed(words)).encode(), vocabulary)
    assert again.ids.tolist() == list(range(2999, -1, -1))


def test_tokens_that_share_a_beginning_or_an_end_differ():
    words = ["a", "aa", "aaaaaaaa", "aaaaaaaaa", "baaaaaaaa", "caaaaaaaa", "aaaaaaaab", "ab", "ba"]
    vocabulary = Interner()
    assert tokenize(" ".join(words).encode(), vocabulary).ids.tolist() == list(range(len(words)))


def test_the_arena_grows_with_what_is_in_it():
    vocabulary = Interner(4)
    block = 1 << 16
    for k in range(200):
        words = " ".join(f"w{k}-{j}" for j in range(50)).encode()
        while len(vocabulary) < 50 * (k + 1):
            tokenize(words.ljust(block), vocabulary)
    assert len(vocabulary.arena) < 2 * (block + int(vocabulary.start[len(vocabulary)]))
