"""Rows of classifiers as candidates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tunesmith.data.votes import from_two_classes, from_votes
from tunesmith.errors import TunesmithError

FIRST = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
SECOND = np.array([[0.4, 0.4, 0.2], [0.3, 0.3, 0.4]])
LABELS = ["cat", "dog", "sea  eel"]


def test_a_row_is_a_group_and_a_class_a_candidate():
    found = from_votes({"a": FIRST, "b": SECOND}, ["sea eel", "cat"], LABELS)
    assert found.groups == 2
    assert found.features.names == ("a", "b")
    assert [found.text(k) for k in range(3)] == ["cat", "dog", "sea eel"]
    assert [found.reference_texts(g) for g in range(2)] == [["sea eel"], ["cat"]]
    assert found.features.dense.tolist() == [FIRST.ravel().tolist(), SECOND.ravel().tolist()]


def test_weights_of_classes_are_on_the_mean_of_models():
    found = from_votes({"a": FIRST, "b": SECOND}, None, LABELS, "classes")
    assert found.features.names == ("cat", "dog", "sea eel")
    weights = np.array([1.0, 2.0, 5.0])
    expected = 0.5 * (FIRST + SECOND) * weights
    assert found.features.dot(weights) == pytest.approx(expected.ravel())


def test_weights_of_both_are_one_for_each_class_of_each_model():
    found = from_votes({"a": FIRST, "b": SECOND}, None, LABELS, "both")
    assert found.features.names == tuple(
        f"{m}.{c}" for m in "ab" for c in ["cat", "dog", "sea eel"]
    )
    weights = np.arange(1.0, 7.0)
    expected = FIRST * weights[:3] + SECOND * weights[3:]
    assert found.features.dot(weights) == pytest.approx(expected.ravel())


def test_frames_name_the_classes_and_of_two_one_column_will_do():
    frame = pd.DataFrame({"no": [0.25, 0.75], "yes": [0.75, 0.25]})
    found = from_votes({"m": frame}, pd.Series(["yes", "no"]))
    assert [found.text(k) for k in range(2)] == ["no", "yes"]
    short = from_votes({"m": np.array([0.75, 0.25])}, ["yes", "no"])
    assert short.features.dense.tolist() == found.features.dense.tolist()


@pytest.mark.parametrize(
    ("votes", "y", "labels", "message"),
    [
        ({}, None, None, "there are no votes"),
        ({"a": FIRST}, [0, 1], None, r"'a' has the shape \(2, 3\), and there are 2 classes"),
        ({"a": FIRST, "b": SECOND[:1]}, None, LABELS, "'a' has 2 rows and 'b' 1"),
        ({"a": FIRST * np.nan}, None, LABELS, "'a' has a number that is not finite in row 0"),
        ({"a": [["x", "y"]]}, None, None, "'a' holds more than numbers"),
        ({"a": FIRST}, ["cat"], LABELS, "votes have 2 rows and y 1"),
        ({"a": FIRST}, ["cat", "cow"], LABELS, "unknown class 'cow'; did you mean dog|cow"),
        ({"a": FIRST}, ["cat", None], LABELS, "a class is missing"),
        ({"a": FIRST}, None, ["a", "a ", "b"], "give two or more, each once"),
    ],
)
def test_what_does_not_fit_is_an_error_of_one_line(votes, y, labels, message):
    with pytest.raises(TunesmithError, match=message) as error:
        from_votes(votes, y, labels)
    assert "\n" not in str(error.value)


def test_frames_of_other_classes_are_refused():
    one, other = pd.DataFrame(FIRST, columns=LABELS), pd.DataFrame(SECOND, columns=LABELS[::-1])
    with pytest.raises(TunesmithError, match="the columns of 'b' are not cat, dog"):
        from_votes({"a": one, "b": other})


def test_rows_of_two_classes_have_an_intercept():
    found = from_two_classes(pd.DataFrame({"u": [1.0, 2.0], "v": [3.0, 4.0]}), ["b", "a"])
    assert found.features.names == ("u", "v", "intercept")
    assert found.features.dense.tolist() == [[0, 1, 0, 2], [0, 3, 0, 4], [0, 1, 0, 1]]
    assert [found.text(k) for k in range(2)] == ["a", "b"]


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        ([[1.0], [2.0], [3.0]], [0, 1, 2], "there are 3 classes; give rows of two"),
        ([1.0, 2.0], [0, 1], "give rows of features"),
        (pd.DataFrame({"intercept": [1.0, 2.0]}), [0, 1], "a column is called 'intercept'"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows, y, message):
    with pytest.raises(TunesmithError, match=message):
        from_two_classes(rows, y)
