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
def test_indices_of_groups_are_checked(groups):
    with pytest.raises(TunesmithError, match="from 0"):
        candidate_set([[[1.0]], [[2.0]]]).with_groups(groups)


@given(sets(), st.data())
def test_candidates_keep_all_that_is_theirs(made, data):
    candidates, groups = made
    rows, kept = [], []
    for group in groups:
        order = data.draw(
            st.permutations(range(candidates.start[group], candidates.start[group + 1]))
        )
        order = order[: data.draw(st.integers(0, len(order)))]
        rows += order
        kept += [group] if order else []
    part = candidates.with_candidates(np.array(rows, np.int64))
    whole_values, part_values = (
        np.column_stack([one.features.dense.T, one.features.sparse.toarray()])
        for one in (candidates, part)
    )
    assert part.ids == tuple(candidates.ids[g] for g in kept)
    assert np.array_equal(part_values, whole_values[rows])
    assert [part.text(i) for i in range(len(part))] == [candidates.text(i) for i in rows]
    for g, group in enumerate(kept):
        of_group = rows[part.start[g] : part.start[g + 1]]
        assert {*of_group} <= {*range(candidates.start[group], candidates.start[group + 1])}
        assert part.reference_texts(g) == candidates.reference_texts(group)
    assert part.start[-1] == len(rows)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 0], "selected twice"),
        ([3], "there are 3 candidates; give indices from 0 to 2"),
        ([-1], "give indices from 0"),
        ([0.5], "give whole numbers from 0"),
        ([0, 2, 1], "of a group are not adjacent"),
    ],
)
def test_indices_of_candidates_are_checked(rows, message):
    with pytest.raises(TunesmithError, match=message):
        candidate_set([[[1.0], [2.0]], [[3.0]]]).with_candidates(rows)
