"""Merging rounds one at a time gives what merging all of them gives."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tests.helpers.tiers import examples
from tunesmith.data.incremental_merge import IncrementalMerge
from tunesmith.data.merge import merge_traced
from tunesmith.io.values import feature_values
from tunesmith.parallel.local import threads


@st.composite
def rounds(draw):
    """Return sets of the same groups: dense alone as a rule, now and then with sparse features."""
    groups = draw(st.integers(1, 4))
    columns = draw(st.booleans())
    ids = draw(st.sampled_from([tuple(range(groups)), tuple(f"u{k}" for k in range(groups))]))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        sizes = [draw(st.integers(1, 4)) for _ in range(groups)]
        vectors = [[[draw(st.integers(0, 1)) for _ in range(2)] for _ in range(n)] for n in sizes]
        words = draw(st.permutations(["a", "b", "c"]))
        texts = [" ".join(words[: draw(st.integers(0, 2))]) for _ in range(sum(sizes))]
        sparse = draw(st.sampled_from([(), (), (1,)]))
        made = candidate_set(vectors, sparse, texts)
        worth = [float(draw(st.integers(0, 1))) for _ in range(len(made))]
        own = {"worth": np.array(worth)} if columns else {}
        found.append(dataclasses.replace(made, ids=ids, columns=own))
    return found


def everything(candidates):
    """Return all that is known of each candidate, in their order."""
    values = feature_values(candidates)
    return [
        (
            candidates.text(i),
            {name: float(row[i]) for name, row in values.items()},
            {name: float(row[i]) for name, row in candidates.columns.items()},
        )
        for i in range(len(candidates))
    ]


@settings(max_examples=examples(150))
@given(rounds())
def test_the_same_as_merging(sets):
    merged_rounds = IncrementalMerge()
    merged = None
    for one in sets:
        before = [] if merged is None else [merged]
        origin = merged_rounds.add(one)
        merged, wanted = merge_traced([*before, one])
        found = merged_rounds.candidates
        assert origin.tolist() == wanted.tolist()
        assert found.ids == merged.ids
        assert found.start.tolist() == merged.start.tolist()
        assert found.vocabulary == merged.vocabulary
        assert everything(found) == everything(merged)
        assert found.features.dense.shape[1] == len(found)
        # The rows that are said to be new are.
        rows = everything(one)
        old = 0 if not before else len(before[0])
        at = {int(k): i for i, k in enumerate(origin)}
        for k in origin[origin >= old].tolist():
            assert rows[k - old] == everything(found)[at[k]]


def test_groups_keep_the_order_of_the_first_round():
    """Merging would sort ids that are numbers; references are in the order of sentences."""
    first = dataclasses.replace(candidate_set([[[1.0]], [[2.0]]], texts=["a", "b"]), ids=(7, 3))
    second = dataclasses.replace(candidate_set([[[1.0]], [[4.0]]], texts=["a", "c"]), ids=(7, 3))
    sparse = dataclasses.replace(
        candidate_set([[[1.0, 0.0]], [[2.0, 5.0]]], [1], texts=["a", "b"]), ids=(7, 3)
    )
    merged_rounds = IncrementalMerge()
    merged_rounds.add(first)
    assert merged_rounds.candidates.ids == (7, 3)
    assert merged_rounds.add(second).tolist() == [0, 1, 3]
    assert merged_rounds.add(sparse).tolist() == [0, 1, 2, 4]
    found = merged_rounds.candidates
    assert found.ids == (7, 3)
    assert [found.text(i) for i in range(4)] == ["a", "b", "c", "b"]
    assert found.start.tolist() == [0, 1, 4]


def test_large_rounds_in_any_number_of_threads():
    rng = np.random.default_rng(1)
    pool = rng.integers(0, 9, (40, 60, 5)).astype(float)
    texts = np.array([["x " * int(rng.integers(0, 5)) for _ in range(60)] for _ in range(40)])
    sets = []
    for _ in range(4):
        rows = rng.permuted(np.tile(np.arange(60), (40, 1)), axis=1)[:, :25]
        vectors = np.take_along_axis(pool, rows[..., None], axis=1)
        chosen = np.take_along_axis(texts, rows, axis=1).ravel()
        sets.append(candidate_set(vectors.tolist(), texts=chosen.tolist()))
    found = []
    for count in (1, 2):
        merged_rounds = IncrementalMerge()
        with threads(count):
            origins = [merged_rounds.add(one).tolist() for one in sets]
        found.append((origins, merged_rounds.candidates.features.dense.tobytes()))
    assert found[0] == found[1]
    merged = sets[0]
    for one in sets[1:]:
        merged, _ = merge_traced([merged, one])
    assert everything(merged_rounds.candidates) == everything(merged)
