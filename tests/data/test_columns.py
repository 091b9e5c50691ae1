"""Features that become columns, and what that costs."""

from __future__ import annotations

import numpy as np
import pytest

import tunesmith as ts
from tunesmith.data.columns import with_columns


@pytest.mark.parametrize(
    ("moved", "copied"),
    [
        (["h1"], False),
        (["h5"], False),
        (["h1", "h5"], False),
        (["h5", "h4", "h1"], False),
        (["h3"], True),
        (["h1", "h3"], True),
        (["h1", "h2", "h3", "h4", "h5"], True),
    ],
)
def test_what_is_left_is_copied_only_where_it_falls_apart(moved, copied):
    candidates, _ = ts.synthetic(4, 3, 5)
    before = dict(zip(candidates.features.names, candidates.features.dense.copy(), strict=True))
    found = with_columns(candidates, moved)
    left = [name for name in before if name not in moved]
    assert found.features.dense_names == tuple(left)
    assert found.features.dense.shape == (len(left), 12)
    for name, row in zip(left, found.features.dense, strict=True):
        assert row.tolist() == before[name].tolist()
    for name in moved:
        assert found.columns[name].tolist() == before[name].tolist()
        assert not np.shares_memory(found.columns[name], candidates.features.dense)
    assert found.features.dense.flags.c_contiguous
    assert np.shares_memory(found.features.dense, candidates.features.dense) != copied
