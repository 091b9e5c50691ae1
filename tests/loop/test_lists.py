"""Lists as they grow, with their statistics."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tests.helpers.tiers import examples
from tunesmith.decoders.base import Sentence
from tunesmith.loop.inputs import Inputs
from tunesmith.loop.lists import AccumulatedLists
from tunesmith.metrics.base import METRICS
from tunesmith.tasks.lists import TuningSet

TEXTS = ["a b c d e", "a b c d f", "a b", "", "b c d e f"]
#: Numbers that are not in order: merging by id would sort them.
INPUTS = Inputs(
    tuple(Sentence(k, f"s{k}") for k in (7, 3, 5)),
    (("a b c d e",), ("b c d e f", "x"), ("a b c d f",)),
)


@st.composite
def decodings(draw):
    found = []
    for _ in range(draw(st.integers(1, 4))):
        texts = [draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4)) for _ in range(3)]
        vectors = [[[draw(st.integers(0, 1))] for _ in one] for one in texts]
        made = candidate_set(vectors, texts=[text for one in texts for text in one])
        found.append(dataclasses.replace(made, ids=(7, 3, 5)))
    return found


@settings(max_examples=examples(40))
@given(decodings(), st.sampled_from(["bleu", "ter", "bleu:lowercase=true"]))
def test_statistics_are_those_of_a_fresh_count(sets, metric):
    lists = AccumulatedLists(INPUTS, METRICS.create(metric))
    seen: set = set()
    for decoded in sets:
        rows = [
            (decoded.ids[g], decoded.text(i), float(decoded.features.dense[0, i]))
            for g in range(3)
            for i in range(decoded.start[g], decoded.start[g + 1])
        ]
        lists.add(decoded)
        assert lists.new == len({*rows} - seen)
        seen |= {*rows}
        merged = lists.merged
        assert merged.candidates.ids == (7, 3, 5)
        assert len(merged.candidates) == len(seen)
        for g, held in enumerate(INPUTS.references):
            assert merged.candidates.reference_texts(g) == list(held)
        fresh = TuningSet(merged.candidates, metric)
        assert np.array_equal(merged.stats, fresh.stats)
        assert merged.signature() == fresh.signature()
        firsts = [decoded.text(i) for i in decoded.start[:-1]]
        output = lists.output
        assert [output.candidates.text(g) for g in range(3)] == firsts
        assert np.array_equal(output.stats, TuningSet(output.candidates, metric).stats)


def test_new_candidates_without_a_word():
    sets = [
        candidate_set([[[1.0]], [[2.0]], [[3.0]]], texts=["a b", "c", "d"]),
        candidate_set([[[1.0], [2.0], [5.0]], [[2.0]], [[3.0]]], texts=["a b", "", "", "c", "d"]),
    ]
    lists = AccumulatedLists(INPUTS, METRICS.create("bleu"))
    for one in sets:
        lists.add(dataclasses.replace(one, ids=(7, 3, 5)))
    assert lists.new == 2
    assert np.array_equal(lists.merged.stats, TuningSet(lists.merged.candidates).stats)


@pytest.mark.parametrize("lower", [0.0, 1.0])
def test_columns_are_kept(lower):
    made = candidate_set([[[1.0, 2.0], [2.0, lower]], [[2.0, 3.0]], [[3.0, 4.0]]])
    lists = AccumulatedLists(INPUTS, METRICS.create("column:f1"), ["f1"])
    for _ in range(2):
        lists.add(dataclasses.replace(made, ids=(7, 3, 5)))
    assert lists.new == 0
    assert lists.merged.stats[:, 0].tolist() == [2.0, lower, 3.0, 4.0]
    assert lists.merged.candidates.features.names == ("f0",)
