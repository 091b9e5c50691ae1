from __future__ import annotations

import numpy as np
import pytest

from tunesmith.data.weights import Weights
from tunesmith.errors import TunesmithError


def test_a_mapping_that_cannot_be_changed():
    weights = Weights.from_dict({"a": 1.0, "b": -2.0})
    assert dict(weights) == {"a": 1.0, "b": -2.0}
    assert weights.aligned(("b", "c", "a")).tolist() == [-2.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        weights.vector[0] = 3.0


def test_updated_keeps_what_the_other_lacks():
    weights = Weights.from_dict({"a": 1.0, "kept": 7.0})
    assert dict(weights.updated(Weights.from_dict({"a": 2.0, "new": 3.0}))) == {
        "a": 2.0,
        "kept": 7.0,
        "new": 3.0,
    }


def test_names_that_do_not_match_warn_once_each_and_count():
    weights = Weights.from_dict({"a": 1.0, "x": 2.0, "y": 3.0})
    with pytest.warns(UserWarning, match="without") as caught:
        values = weights.matched(("a", "b"))
    assert values.tolist() == [1.0, 0.0]
    messages = sorted(str(w.message) for w in caught)
    assert messages == [
        "1 feature without a weight, taken as 0: b",
        "2 weights without a feature in the data, not used: x, y",
    ]


def test_strict_and_no_common_name_are_errors():
    weights = Weights.from_dict({"a": 1.0})
    with pytest.raises(TunesmithError, match="1 feature without a weight"):
        weights.matched(("a", "b"), strict=True)
    with pytest.raises(TunesmithError, match="no weight has the name of a feature"):
        weights.matched(("b",))


@pytest.mark.parametrize("values", [[1.0, np.nan], [1.0, np.inf]])
def test_numbers_must_be_finite(values):
    with pytest.raises(TunesmithError, match="'b' is not finite"):
        Weights(("a", "b"), np.array(values))


def test_names_must_be_unique():
    with pytest.raises(TunesmithError, match="each name once"):
        Weights(("a", "a"), np.zeros(2))
