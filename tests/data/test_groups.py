"""Some of the groups of a set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import candidate_set
from tunesmith.errors import TunesmithError
from tunesmith.metrics.tuning import TuningSet

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
