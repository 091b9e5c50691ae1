"""Some of the groups of a set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.builders import candidate_set
from tunesmith.errors import TunesmithError
from tunesmith.tasks.lists import TuningSet

WORDS = ["a", "b", "c", "d"]


@st.composite
def sets(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    text = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
    vectors = [[[draw(st.integers(-2, 2)) for _ in range(3)] for _ in range(n)] for n in sizes]
    texts = [draw(text) for _ in range(sum(sizes))]
    references = [draw(st.lists(text, min_size=1, max_size=3)) for _ in sizes]
    groups = draw(st.permutations(range(len(sizes))))
    wanted = groups[: draw(st.integers(1, len(groups)))]
    return candidate_set(vectors, [2], texts, references), wanted


@given(sets())
def test_groups_keep_all_that_is_theirs(made):
    candidates, groups = made
    found = candidates.with_groups(groups)
    whole = np.column_stack([candidates.features.dense.T, candidates.features.sparse.toarray()])
    part = np.column_stack([found.features.dense.T, found.features.sparse.toarray()])
    assert found.ids == tuple(candidates.ids[g] for g in groups)
    for own, group in enumerate(groups):
        rows = range(candidates.start[group], candidates.start[group + 1])
        ours = range(found.start[own], found.start[own + 1])
        assert [found.text(i) for i in ours] == [candidates.text(i) for i in rows]
        assert found.reference_texts(own) == candidates.reference_texts(group)
        assert np.array_equal(part[ours], whole[rows])


@given(sets())
def test_statistics_of_a_part_are_those_of_its_own(made):
    candidates, groups = made
    part = TuningSet(candidates).part(groups)
    fresh = TuningSet(candidates.with_groups(groups))
    assert np.array_equal(part.stats, fresh.stats)
    assert part.signature() == fresh.signature()


def test_no_group_stands_twice():
    with pytest.raises(TunesmithError, match="twice"):
        candidate_set([[[1.0]], [[2.0]]]).with_groups([1, 1])


@pytest.mark.parametrize("groups", [[2], [-1], [0.5]])
def test_groups_are_counted_from_0(groups):
    with pytest.raises(TunesmithError, match="count them from 0"):
        candidate_set([[[1.0]], [[2.0]]]).with_groups(groups)


@given(sets(), st.data())
def test_candidates_keep_all_that_is_theirs(made, data):
    candidates, groups = made
    rows, kept = [], []
    for group in groups:
        own = data.draw(
            st.permutations(range(candidates.start[group], candidates.start[group + 1]))
        )
        own = own[: data.draw(st.integers(0, len(own)))]
        rows += own
        kept += [group] if own else []
    found = candidates.with_candidates(np.array(rows, np.int64))
    whole = np.column_stack([candidates.features.dense.T, candidates.features.sparse.toarray()])
    part = np.column_stack([found.features.dense.T, found.features.sparse.toarray()])
    assert found.ids == tuple(candidates.ids[g] for g in kept)
    assert np.array_equal(part, whole[rows])
    assert [found.text(i) for i in range(len(found))] == [candidates.text(i) for i in rows]
    for own, group in enumerate(kept):
        held = rows[found.start[own] : found.start[own + 1]]
        assert {*held} <= {*range(candidates.start[group], candidates.start[group + 1])}
        assert found.reference_texts(own) == candidates.reference_texts(group)
    assert found.start[-1] == len(rows)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([0, 0], "asked for twice"),
        ([3], "there are 3 candidates; count them from 0"),
        ([-1], "count them from 0"),
        ([0.5], "count them from 0"),
        ([0, 2, 1], "of a group are apart"),
    ],
)
def test_candidates_that_cannot_be_asked_for(rows, said):
    with pytest.raises(TunesmithError, match=said):
        candidate_set([[[1.0], [2.0]], [[3.0]]]).with_candidates(rows)
