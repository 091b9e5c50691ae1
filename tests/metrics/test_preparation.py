"""Texts as metrics see them: what is done word by word is what is done to the whole text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU as Sacre  # noqa: N811

from tests.helpers.builders import candidate_set
from tests.helpers.tiers import examples
from tunesmith.data.candidates import Texts, pack_texts
from tunesmith.metrics import preparation
from tunesmith.metrics.preparation import Preparation, characters_of, replace_tokens
from tunesmith.parallel.local import threads

TOKENIZERS = ["none", "13a", "char", "intl", "zh"]
# Letters, digits and whatever a rule of a tokenizer looks for.
characters = st.sampled_from([*"aB1٣.,-'&;$%/\\()<>{}~`§×÷漢字。，«»№ΣİßÉ", "&quot;", "<skipped>"])
words = st.lists(characters, min_size=1, max_size=5).map("".join)
texts = st.lists(words, max_size=6).map(" ".join)


def held_words(candidates, preparation):
    """Return the words of all texts and references, whose ids are no longer those of the set."""
    found, references = preparation.candidates(candidates)
    return [found[i].tolist() for i in range(len(found))], [
        references.texts[r].tolist() for r in range(len(references.texts))
    ]


def same_but_for_names(ids, expected) -> bool:
    """Tell whether ids stand for words one to one."""
    flat = [(i, w) for a, b in zip(ids, expected, strict=True) for i, w in zip(a, b, strict=True)]
    return len(set(flat)) == len({i for i, _ in flat}) == len({w for _, w in flat})


@pytest.mark.parametrize("tokenize", TOKENIZERS)
@settings(max_examples=examples(150))
@given(texts=st.lists(texts, min_size=2, max_size=4), lowercase=st.booleans())
def test_word_by_word_is_sacrebleus_text_by_text(tokenize, texts, lowercase):
    theirs = Sacre(tokenize=tokenize, lowercase=lowercase)
    expected = [theirs._preprocess_segment(text).split() for text in texts]
    done = Preparation(tokenize, lowercase)
    assert [done.words(text) for text in texts] == expected
    candidates = candidate_set(
        [[[0.0]] * (len(texts) - 1)], texts=texts[:-1], references=[texts[-1:]]
    )
    mine, references = held_words(candidates, done)
    assert [len(t) for t in mine + references] == [len(t) for t in expected]
    assert same_but_for_names(mine + references, expected)


@settings(max_examples=examples(30))
@given(st.lists(texts, min_size=2, max_size=4), st.sampled_from(TOKENIZERS[1:]))
def test_tokenizers_that_need_whole_texts(texts, tokenize):
    """What is done for all others gives the same where words alone would do."""
    done = Preparation(tokenize)
    candidates = candidate_set([[[0.0]] * len(texts)], texts=texts, references=[texts[:1]])
    quick = held_words(candidates, done)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparation, "WORD_BY_WORD", frozenset())
        patch.setattr(preparation, "ENDS_DIFFER", frozenset())
        whole = held_words(candidates, done)
    assert same_but_for_names(quick[0] + quick[1], whole[0] + whole[1])


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=8),
    st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=4, max_size=4),
    st.sampled_from([-1, 10]),
    st.integers(0, 3),
    st.integers(1, 3),
)
def test_parts_stand_in_the_place_of_tokens(lists, parts, separator, skipped, count):
    held = pack_texts([np.array(t, np.int32) for t in lists])
    # A window of the texts need not begin at 0.
    skipped = min(skipped, len(lists))
    window = Texts(held.start[skipped:], held.ids)
    with threads(count):
        found = replace_tokens(
            window, pack_texts([np.array(p, np.int32) for p in parts]), separator
        )
    expected = []
    for tokens in lists[skipped:]:
        line = []
        for k, token in enumerate(tokens):
            line += [separator] if k and separator >= 0 else []
            line += parts[token]
        expected.append(line)
    assert [found[i].tolist() for i in range(len(found))] == expected


def test_characters_of_words():
    parts, space = characters_of(["ab", "", "b\ud800😀"])
    a, b, half, whole = (int(parts[0][0]), int(parts[0][1]), *parts[2][1:].tolist())
    assert [parts[i].tolist() for i in range(3)] == [[a, b], [], [b, half, whole]]
    assert sorted({a, b, half, whole, space}) == [0, 1, 2, 3, 4]
