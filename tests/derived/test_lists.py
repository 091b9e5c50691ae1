"""Derived features of lists equal slow definitions, text by text."""

from __future__ import annotations

import json
import re
import string

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import candidate_set
from tests.helpers.tiers import examples
from tunesmith.derived.lists import boxed, last_letter, last_line, last_number, plain_text
from tunesmith.derived.texts import unpaired
from tunesmith.errors import TunesmithError

WORDS = ["a", "the", "(b", "c)", '"d"', "é", "漢字", "<unk>", "x.y,", "don't", "12", "[", "]."]
TEXT = st.lists(st.sampled_from(WORDS), min_size=0, max_size=6).map(" ".join)
GROUPS = st.lists(st.lists(TEXT, min_size=1, max_size=5), min_size=1, max_size=4)


def set_of(groups, values=None):
    texts = [text for group in groups for text in group]
    numbers = iter(values if values is not None else range(len(texts)))
    vectors = [[[next(numbers)] for _ in group] for group in groups]
    return candidate_set(vectors, texts=[*texts[:-1], texts[-1] or "a"])


def texts_of(candidates):
    return [candidates.text(i) for i in range(len(candidates))]


def derived(candidates, spec):
    found = ts.derive(candidates, spec)
    assert found.features.names == (*candidates.features.names, f"derived:{spec}")
    assert np.array_equal(found.features.dense[:-1], candidates.features.dense)
    return found.features.dense[-1]


@settings(max_examples=examples(300))
@given(GROUPS)
def test_counts_equal_those_of_the_texts(groups):
    candidates = set_of(groups)
    for i, text in enumerate(texts_of(candidates)):
        words = text.split()
        marks = set(string.punctuation) - set("<>+=|~^$`")
        expected = {
            "words": len(words),
            "chars": len(re.sub(r"\s", "", text)),
            "punctuation": sum(c in marks for c in text),
            "unknown": words.count("<unk>"),
        }
        found = ts.derive(candidates, list(expected))
        assert found.features.dense[-4:, i].tolist() == list(expected.values())


def matched_by_deleting(text):
    """Delete neighbours that belong together until nothing changes; count what is left."""
    marks = re.sub(r"[^()\[\]{}]", "", text)
    while (shorter := re.sub(r"\(\)|\[\]|\{\}", "", marks)) != marks:
        marks = shorter
    return len(marks) + text.count('"') % 2


@settings(max_examples=examples(500))
@given(st.lists(st.sampled_from(["(", ")", '"', "a", " "]), max_size=12).map("".join))
def test_balance_of_one_kind_equals_deletion(text):
    assert unpaired(text) == matched_by_deleting(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("( [ ] )", 0),
        ("( [ ) ]", 2),  # "]" closes "[", and "(" and ")" are alone
        ("„ja“ «oui» “yes” „nie”", 0),
        ("“ yes", 1),
        ('5" and "x"', 1),
        (") (", 2),
    ],
)
def test_balance_by_hand(text, count):
    assert unpaired(text) == count


@settings(max_examples=examples(60))
@given(GROUPS)
def test_agreement_by_chrf_is_the_mean_over_the_others(groups):
    candidates = set_of(groups)
    scorer = sacrebleu.CHRF()
    found = derived(candidates, "agreement")
    texts = texts_of(candidates)
    for lo, hi in zip(candidates.start, candidates.start[1:], strict=False):
        for i in range(lo, hi):
            others = [texts[j] for j in range(lo, hi) if j != i]
            scores = [scorer.sentence_score(texts[i], [other]).score for other in others]
            assert found[i] == pytest.approx(np.mean(scores) / 100 if scores else 0.0, abs=1e-9)


@settings(max_examples=examples(60))
@given(GROUPS)
def test_agreement_by_bleu_is_that_of_sentences(groups):
    candidates = set_of([[text + " a b" for text in group] for group in groups])
    found = derived(candidates, "agreement:sentence-bleu:smoothing=lin-och,order=2")
    texts = texts_of(candidates)
    for lo, hi in zip(candidates.start, candidates.start[1:], strict=False):
        for i in range(lo, hi):
            scores = [
                add_one_bleu_2(texts[i].split(), texts[j].split()) for j in range(lo, hi) if j != i
            ]
            assert found[i] == pytest.approx(np.mean(scores) if scores else 0.0, abs=1e-9)
    assert np.array_equal(
        derived(candidates, "agreement:bleu"), derived(candidates, "agreement:sentence-bleu")
    )


def add_one_bleu_2(words, reference):
    """BLEU of unigrams and of pairs with 1 added to their counts, as sacrebleu's add-k does."""
    one = sacrebleu.sentence_bleu(" ".join(words), [" ".join(reference)], tokenize="none")
    matches, total = one.counts[1], one.totals[1]
    precision = one.counts[0] / one.totals[0] * (matches + 1) / (total + 1)
    return one.bp * np.sqrt(precision)


@pytest.mark.parametrize(
    ("answer", "text", "expected"),
    [
        (plain_text, " The  Answer: 42! ", "the answer 42"),
        (plain_text, "...", None),
        (last_line, "so\nIt is Paris.\n\n", "it is paris"),
        (last_number, "2 + 2 = 1,000.50 dollars.", "1000.5"),
        (last_number, "it is −3.0", "-3"),
        (last_number, "1000000", "1000000"),
        (last_number, "-0.0 or .50", "0.5"),
        (last_number, "-0.0", "0"),
        (last_number, "007", "7"),
        (last_number, "none", None),
        (last_letter, "A or B? The answer is (B).", "B"),
        (last_letter, "Because", None),
        (boxed, r"\boxed{1} and \boxed{ \frac{1}{2} }.", r"\frac{1}{2}"),
        (boxed, r"\boxed{1", None),
        (boxed, "7", None),
    ],
)
def test_answers(answer, text, expected):
    assert answer(text) == expected


@settings(max_examples=examples(200))
@given(st.lists(st.lists(st.integers(-2, 2), min_size=1, max_size=8), min_size=1, max_size=3))
def test_votes_are_shares_of_equal_numbers(groups):
    """Equal numbers are written in different ways; without a number there is no vote."""
    ways = ["= {}", "it is {}.0", "{}.", "I say {}"]
    texts = [
        [ways[k % 4].format(n) if n else "no idea" for k, n in enumerate(group)] for group in groups
    ]
    found = iter(derived(set_of(texts), "vote:number"))
    for group in groups:
        for n in group:
            assert next(found) == (group.count(n) / len(group) if n else 0.0)


@settings(max_examples=examples(200))
@given(st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=6), min_size=1, max_size=4))
def test_ranks(groups):
    texts = [["a"] * len(group) for group in groups]
    candidates = set_of(texts, [value for group in groups for value in group])
    places, values = derived(candidates, "rank"), derived(candidates, "rank:f0")
    expected = [k + 1 for group in groups for k in range(len(group))]
    assert places.tolist() == expected
    assert values.tolist() == [1 + sum(w > v for w in group) for group in groups for v in group]


def test_last_lines_see_line_breaks(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [
        {"id": 0, "text": text, "f": k} for k, text in enumerate(["x\nyes", "z\nYes.", "yes z"])
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    candidates = ts.read(path)
    assert derived(candidates, "vote:last-line").tolist() == [2 / 3, 2 / 3, 1 / 3]
    assert derived(candidates, "vote").tolist() == [1 / 3] * 3


def test_what_is_there_stays_as_it_is():
    candidates = ts.derive(set_of([["a b", "a"]]), "words")
    assert ts.derive(candidates, ["words", "words"]) is candidates


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("wrods", "unknown derived feature 'wrods'; did you mean words?"),
        ("words:x", "feature 'words' takes nothing after a colon; drop it"),
        ("pieces", "feature 'pieces' needs more; write pieces:FILE"),
        ("pieces:nothing", "nothing: there is no such file"),
        ("vote:x", "unknown answer of feature 'vote' 'x'"),
        ("rank:g", "unknown feature 'g'; did you mean f0?"),
        ("agreement:column:x", "column:x does not compare texts"),
        ("agreement:blue", "unknown metric 'blue'"),
        ("path/to/file.py:Name", "unknown derived feature 'path/to/file.py'"),
    ],
)
def test_what_is_wrong_is_said(spec, problem):
    with pytest.raises(TunesmithError, match=re.escape(problem)):
        ts.derive(set_of([["a b", "a"]]), spec)


def test_without_texts_only_ranks_are_derived():
    candidates = candidate_set([[[1.0], [2.0]]])
    assert derived(candidates, "rank:f0").tolist() == [2.0, 1.0]
    with pytest.raises(TunesmithError, match="all are empty; give texts"):
        ts.derive(candidates, "words")
