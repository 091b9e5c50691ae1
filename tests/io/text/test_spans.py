"""Parts of a buffer: what kernels say of them is what Python says of the texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.io.text.spans import Spans, tokens_of, with_single_quotes
from tunesmith.io.text.tokens import Interner, intern_key, tokenize

texts = st.lists(
    st.text(st.sampled_from('ab1-é \t\n\u00a0\u2003"'), max_size=20)
    | st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=30),
    max_size=12,
)


def spans_of(held: list[str]) -> Spans:
    """Return texts with something between them."""
    parts = [text.encode() for text in held]
    ends = np.cumsum([len(part) + 1 for part in parts], dtype=np.int64)
    sizes = np.array([len(part) for part in parts], np.int64)
    data = np.frombuffer(b"|".join([*parts, b""]), np.uint8)
    return Spans(data, ends - sizes - 1, ends - 1)


@given(texts)
def test_tokens_are_those_of_python(held):
    tokens = tokens_of(spans_of(held))
    vocabulary = Interner()
    numbered = tokens.renumbered(vocabulary)
    words = vocabulary.words()
    assert [[words[t] for t in numbered[k]] for k in range(len(held))] == [t.split() for t in held]
    assert tokens.odd.tolist() == [t != " ".join(t.split()) for t in held]
    assert tokens.words == list(dict.fromkeys(w for t in held for w in t.split()))


@given(
    st.lists(
        st.text(st.sampled_from("ab\x07\x1féà字も\u2003\u1680\x85  "), max_size=40), max_size=8
    )
)
def test_tokens_of_about_eight_bytes_with_white_space_of_all_kinds(held):
    tokens = tokens_of(spans_of(held))
    assert [[tokens.words[t] for t in tokens.texts[k]] for k in range(len(held))] == [
        text.split() for text in held
    ]
    assert tokens.odd.tolist() == [t != " ".join(t.split()) for t in held]


@given(st.lists(st.integers(0, 2**40).map(lambda k: f"{k:b}"), max_size=40))
def test_long_tokens_are_told_apart(words):
    """Their keys are mixed of all their bytes, and equal keys are not enough."""
    tokens = tokens_of(spans_of([" ".join(words)]))
    assert [tokens.words[t] for t in tokens.texts[0]] == words
    assert len(tokens.words) == len(set(words))


@pytest.mark.parametrize("length", [9, 16, 17, 40])
def test_tokens_with_one_key_are_told_apart(length):
    slots = Interner()
    words = [("a" * length)[:k] + "b" + ("a" * length)[k + 1 :] for k in range(length)]
    first = tokenize("\n".join(words).encode(), slots)
    slots.keys[slots.slots >= 0] = slots.keys[slots.slots == 0]  # as if all were alike
    data = np.frombuffer(words[0].encode(), np.uint8)
    key = slots.keys[slots.slots == 0][0]
    assert intern_key(key, data, 0, length, *slots.tables) == 0
    other = np.frombuffer(("c" * length).encode(), np.uint8)
    slots.grow(length)
    assert intern_key(key, other, 0, length, *slots.tables) == length == len(first)


def test_vocabularies_grow():
    held = [" ".join(f"w{k * j}" for j in range(50)) for k in range(200)]
    tokens = tokens_of(spans_of(held))
    assert [" ".join(tokens.words[t] for t in tokens.texts[k]) for k in range(200)] == held


@given(texts)
def test_a_sequence_of_texts(held):
    spans = spans_of(held)
    assert list(spans) == held == [spans[k] for k in range(len(held))] == spans[:]
    distinct, numbers = spans.numbered()
    assert [distinct[k] for k in numbers] == held
    assert distinct == list(dict.fromkeys(held))
    assert spans.is_empty().tolist() == [not text.strip() for text in held]
    assert spans.repeats().tolist() == [k > 0 and held[k - 1] == t for k, t in enumerate(held)]
    initial = [text.strip()[:1] in tuple("0123456789+-.") for text in held]
    assert spans.may_be_values().tolist() == initial


@given(texts, st.randoms())
def test_missing_texts(held, random):
    missing = np.array([random.random() < 0.5 for _ in held], np.bool_)
    plain = spans_of(held)
    spans = Spans(plain.data, plain.lo, plain.hi, missing)
    found = [None if gap else text for text, gap in zip(held, missing, strict=True)]
    assert list(spans) == found == spans[:]
    assert spans.is_empty().tolist() == [not (text or "").strip() for text in found]
    assert all(found[k - 1] == found[k] for k in np.flatnonzero(spans.repeats()))


@given(st.lists(st.text("ab \t", max_size=5), max_size=8), st.randoms(use_true_random=False))
def test_missing_texts_have_no_tokens(held, random):
    missing = np.array([random.random() < 0.5 for _ in held], np.bool_)
    plain = spans_of(held)
    tokens = tokens_of(Spans(plain.data, plain.lo, plain.hi, missing))
    counts = [0 if gap else len(text.split()) for text, gap in zip(held, missing, strict=True)]
    assert np.diff(tokens.texts.start).tolist() == counts


def test_text_is_utf8_without_nul():
    spans = Spans(np.frombuffer(b"a\xff b\0 c", np.uint8), *np.array([[0, 6], [1, 7]], np.int64))
    assert spans.is_text() is False
    assert spans_of(["é", "b"]).is_text()
    assert spans_of([]).is_text()


@given(texts)
def test_doubled_quotes(held):
    doubled = np.array(['"' in text for text in held], np.bool_)
    spans = with_single_quotes(spans_of([text.replace('"', '""') for text in held]), doubled)
    assert list(spans) == held
