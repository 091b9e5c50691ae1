"""Warnings of what makes a score look better than it is."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import candidate_set
from tests.helpers.tiers import examples
from tunesmith.metrics.base import METRICS
from tunesmith.tuners.fitting.guards import (
    LONG,
    MANY,
    SHARE,
    Overlap,
    metric_bias,
    overlap,
    overlap_of_texts,
    told_overlap,
    unguarded,
)

WORDS = ["a", "b", "c", "d", "e", "f"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
GROUPS = st.lists(
    st.tuples(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, min_size=1, max_size=2)),
    min_size=1,
    max_size=6,
)


def made(groups, sources=None, references=True, first_word=None):
    """Make a set of (candidates, references) of each group; ids of words differ between sets."""
    texts = [text for own, _ in groups for text in own]
    vectors = [[[float(k)] for k in range(len(own))] for own, _ in groups]
    held = [several for _, several in groups] if references else None
    if first_word is not None:
        vectors, texts = [[[0.0]], *vectors], [first_word, *texts]
        held = held and [[first_word], *held]
    found = candidate_set(vectors, texts=texts, references=held)
    if first_word is not None:
        found = found.with_groups(range(1, found.groups))
    found = dataclasses.replace(found, sources=sources)
    if references:
        return ts.TuningSet(found, "bleu")
    found = dataclasses.replace(found, columns={"v": np.arange(len(found)) * 1.0})
    return ts.TuningSet(found, "column:v")


@settings(max_examples=examples(60))
@given(GROUPS, GROUPS, st.integers(0, 3))
def test_common_sentences_are_counted(one, other, repeated):
    other = other + one[:repeated]
    found = overlap(made(one), made(other, first_word="zz"))
    # The same references, and a candidate that both lists have.
    common = [
        (own, several)
        for own, several in other
        if any(several == held and set(own) & set(lists) for lists, held in one)
    ]
    is_long = any(max(len(text.split()) for text in several) >= LONG for _, several in common)
    if not common:  # whole lists, if their texts are long
        lists = [own for own, _ in one]
        common = [
            (own, several)
            for own, several in other
            if own in lists and len(" ".join(own).split()) >= LONG * len(own)
        ]
        is_long = bool(common)
    assert (found.common, found.of) == (len(common), len(other))
    are_many = len(common) == len(other) or len(common) >= max(MANY, SHARE * len(other))
    enough = bool(common) and (is_long or are_many)
    assert found.is_certain == enough


@settings(max_examples=examples(40))
@given(GROUPS, GROUPS, st.integers(0, 3))
def test_without_references_whole_lists_count(one, other, repeated):
    other = other + one[:repeated]
    found = overlap(made(one, references=False), made(other, references=False, first_word="zz"))
    lists = [own for own, _ in one]
    assert found.common == sum(own in lists for own, _ in other)


def test_with_sources_they_decide():
    groups = [(["a b"], ["a b c"]), (["c d"], ["c d"])]
    sources = ("ein", "zwei"), ("ein", "drei")
    one, other = (made(groups, sources=own) for own in sources)
    assert overlap(one, other).common == 1


def test_short_sentences_that_recur_are_chance():
    long = [([f"w{k} " * 9], [f"w{k} " * 9]) for k in range(30)]
    yes = ["yes ."], ["yes ."]
    one, other = made([*long[:15], yes]), made([*long[15:], yes])
    found = overlap(one, other)
    assert (found.common, found.is_certain) == (1, False)
    assert told_overlap(found, "test set", "tuning set") is None
    certain = overlap(made([*long[:15], long[20]]), other)
    assert (certain.common, certain.is_certain) == (1, True)
    said = told_overlap(certain, "test set", "tuning set")
    assert said is not None
    assert "1 of 16 sentences of the test set are in the tuning set too" in said
    assert "a little too good" in said
    many = told_overlap(overlap(made(long[:15]), made(long[10:])), "test set", "tuning set")
    assert many is not None
    assert "5 of 20" in many
    assert "say little of other sentences" in many


def test_the_same_lists_with_other_references():
    lists = [([f"w{k} " * 9, f"v{k} " * 8], [f"w{k} x"]) for k in range(6)]
    one = made(lists)
    other = made([(own, [held[0].upper()]) for own, held in lists[2:]])
    assert overlap(one, other) == Overlap(4, 4, True)
    short = made([(["yes ."], ["no ."]), *lists[4:]])
    assert overlap(made([(["yes ."], ["yes"]), *lists[:2]]), short) == Overlap(0, 3, False)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.integers(0, 4))
def test_texts_of_a_loop(pairs, repeated):
    one = [(source, (held,)) for source, held in pairs]
    other = [(f"x {source}", held) for source, held in one] + one[:repeated]
    found = overlap_of_texts(one, other)
    known = set(one)
    assert (found.common, found.of) == (sum(p in known for p in other), len(other))


def test_without_texts_features_tell(tmp_path):
    rng = np.random.default_rng(1)
    rows = [[k // 3, *rng.normal(size=4)] for k in range(30)]

    def of(which):
        held = [",".join(map(str, rows[r])) for r in which]
        table = tmp_path / "lists.csv"
        table.write_text("\n".join(["id,f,g,h,v", *held]) + "\n")
        return ts.TuningSet(ts.read(table, columns=["v"]), "column:v")

    assert overlap(of(range(30)), of(range(12, 30))) == Overlap(6, 6, True)
    assert overlap(of(range(12)), of(range(9, 30))) == Overlap(1, 7, True)
    assert overlap(of(range(12)), of(range(12, 30))) == Overlap(0, 6, False)
    # Parts of what one file has are not the same sentences.
    whole = of(range(30))
    assert overlap(whole.part([0, 1]), whole.part([2, 3])) == Overlap(0, 2, False)


def fit(**sets):
    return ts.MERT(restarts=0, walks=0).fit(**sets)


def test_fit_warns_and_the_result_says_so(bundled):
    whole = ts.TuningSet(ts.read(bundled / "tune.nbest.gz", [bundled / "tune.ref"]), "bleu")
    part, rest = whole.part(range(20)), whole.part(range(15, 60))
    with pytest.warns(UserWarning, match="5 of 45 sentences of the held-out set") as said:
        result = fit(tuning=part, dev=rest)
    assert result.warnings == [str(one.message) for one in said]
    with pytest.warns(UserWarning, match="all 10 sentences of the test set are in the held-out"):
        fit(tuning=part, dev=whole.part(range(20, 30)), test=whole.part(range(20, 30)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(tuning=part, dev=whole.part(range(20, 30)), test=whole.part(range(30, 40)))
        with unguarded():
            fit(tuning=part, dev=part, test=part)


def test_several_settings_and_a_test_set(bundled):
    whole = ts.TuningSet(ts.read(bundled / "tune.nbest.gz", [bundled / "tune.ref"]), "bleu")
    sets = {"dev": whole.part(range(20, 40)), "test": whole.part(range(40, 60))}
    tuner = ts.MERT(restarts=0, walks=0, penalty="l2-normalized", strength=(0.1, 0.2, 0.3))
    with pytest.warns(UserWarning, match="the test set is scored with each of 3 settings"):
        tuner.fit(whole.part(range(20)), dev=sets["dev"], test=sets["test"])


def scored(values):
    groups = [(["a", "b"], ["a"])] * (len(values) // 2)
    found = made(groups).candidates
    return dataclasses.replace(found, columns={"comet": np.array(values, float)})


RATINGS = np.linspace(0.0, 1.0, 40) ** 0.5


@pytest.mark.parametrize(
    ("metric", "others", "values", "expected"),
    [
        ("column:comet", [], RATINGS, True),
        ("cost:comet", [], RATINGS, True),
        ("sum(bleu,column:comet)", [], RATINGS, True),
        ("column:comet", ["cost:comet"], RATINGS, True),
        ("column:comet", ["bleu"], RATINGS, False),
        ("bleu", [], RATINGS, False),
        ("column:comet", [], [0, 1] * 20, False),
        ("column:comet", [], range(40), False),
        ("column:comet", [], [0.25, 0.5, 0.75, 1.0] * 10, False),
    ],
)
def test_scores_of_a_model(metric, others, values, expected):
    said = metric_bias(METRICS.create(metric), scored(values), others)
    assert (said is not None) == expected
    assert said is None or ("'comet'" in said and "metric bias" in said)


def test_bleu_that_is_always_0_is_told():
    texts = ["the red house", "the home red", "the black cat", "the cat black"]
    features = {"a": [0.0, 1.0, 1.0, 0.0]}
    references = {0: ["the red house"], 1: ["the black cat"]}
    short = ts.from_arrays([0, 0, 1, 1], features, texts, references)
    with pytest.warns(UserWarning, match="bleu is 0 for every choice .* sentence-bleu or chrf"):
        ts.PRO().fit(ts.TuningSet(short, "bleu"), rng=1)
    result = ts.PRO().fit(ts.TuningSet(short, "sentence-bleu"), rng=1)
    assert not [text for text in result.warnings if "is 0" in text]
