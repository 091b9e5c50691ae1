"""Frames and arrays in memory: what is no column of numbers or texts is refused clearly."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tunesmith as ts
from tunesmith.errors import TunesmithError
from tunesmith.io.tables.frames import from_arrays, from_frame

BASE = {"id": [0, 0], "text": ["x", "y"]}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("cells", [[1.0, None], [1, None], [True, None], [None, None]])
def test_a_gap_in_a_column_of_numbers_is_an_error(make, cells):
    frame = make(BASE | {"f": cells})
    row = 0 if cells[0] is None else 1
    with pytest.raises(TunesmithError, match=rf"frame:{row}: 'f' is (missing|nan)"):
        from_frame(frame)
    with pytest.raises(TunesmithError, match=rf"arrays:{row}: 'features.f' is (missing|nan)"):
        from_arrays([0, 0], {"f": cells})


def test_gaps_of_pandas_types():
    for dtype in ("Int64", "Float64", "boolean", object):
        frame = pd.DataFrame(BASE | {"f": pd.array([1, None], dtype=dtype)})
        with pytest.raises(TunesmithError, match=r"frame:1: 'f' is (missing; fill the gaps|nan)"):
            from_frame(frame)
    frame = pd.DataFrame(
        BASE | {"f": [1, 2], "note": pd.array(["a", None], dtype="string")}, index=[5, 6]
    )
    with pytest.warns(UserWarning, match="'note' holds text"):
        assert from_frame(frame).features.names == ("f",)


def test_a_named_index_is_a_column():
    frame = pd.DataFrame(
        {"q": ["a", "a", "b"], "k": [0, 1, 0], "t": ["x", "y", "z"], "f": [1, 2, 3]}
    )
    for index in ("q", ["q", "k"], ["k", "q"]):
        candidates = from_frame(frame.set_index(index), group="q", text="t")
        assert candidates.ids == ("a", "b")
        assert candidates.start.tolist() == [0, 2, 3]
        assert set(candidates.features.names) <= {"f", "k"}
    by_id = from_frame(frame.rename(columns={"q": "id", "t": "text"}).set_index("id"))
    assert by_id.ids == ("a", "b")


def test_a_column_that_may_number_rows_is_told():
    frame = pd.DataFrame({**BASE, "f": [1, 2]}, index=[7, 3])
    with pytest.warns(
        UserWarning, match=r"'index' is a feature; if it numbers rows, .*index_column"
    ):
        assert from_frame(frame.reset_index()).features.names == ("index", "f")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reading = ts.Reading(index_column="index")
        assert from_frame(frame.reset_index(), reading=reading).features.names == ("f",)
        from_frame({**BASE, "index": [1, 1]})
        from_frame({**BASE, "index": [1.5, 2]})


def test_remedies_are_those_of_python():
    with pytest.raises(
        TunesmithError, match=r"'f' is missing; .*reading=Reading\(missing='mean'\)"
    ):
        from_frame(BASE | {"f": [1.0, None]})
    with pytest.warns(UserWarning, match="'answer' holds text .*; if it has .* give text='answer'"):
        from_frame({"id": [0, 0], "answer": ["x", "y"], "f": [1, 2]})


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        (BASE | {"f": [[1.0], [2.0]]}, "a cell of 'f' is a list"),
        (BASE | {"f": np.zeros((2, 2))}, "'f' has 2 dimensions"),
        (BASE | {"f": 3}, "'f' is no column"),
        (BASE | {"f": "ab"}, "'f' is no column"),
        (BASE | {"f": [1.0]}, "'f' has 1 rows and 'id' 2"),
        (BASE | {"f": ["1", "2"]}, "a number written as text"),
        (BASE | {"references": ["r", "r"]}, "'references' is no list of texts"),
        (pl.DataFrame(BASE | {"f": [[1.0], [2.0]]}), "a cell of 'f' is a ndarray"),
        (pl.DataFrame(BASE).lazy().select("id", "text"), "collect it first"),
        (pd.DataFrame(BASE | {"f": [np.zeros(2), np.ones(2)]}), "a cell of 'f' is a ndarray"),
        (pd.DataFrame([[0, 1.0, 2.0]], columns=["id", "f", "f"]), "two columns are called 'f'"),
        ([1, 2], "a list is no frame"),
    ],
)
@pytest.mark.filterwarnings("ignore::polars.exceptions.PerformanceWarning")
def test_what_is_no_frame_is_an_error_of_one_line(frame, what):
    with pytest.raises(TunesmithError, match=what) as caught:
        from_frame(frame)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("references", "what"),
    [
        ({0: "good day"}, "are no list; give a list of texts"),
        ({0: 5}, "are no list"),
        ({0: []}, "empty list of references"),
        ({0: [5]}, "no valid text"),
        ({0: ["\ud800"]}, "no valid text"),
        ({1: ["r"]}, "group '0' has no references"),
    ],
)
def test_references_of_arrays_are_lists_of_texts(references, what):
    with pytest.raises(TunesmithError, match=what):
        from_arrays([0, 0], {"f": [1, 2]}, ["a", "b"], references)


def test_arrays_of_texts_and_of_other_lengths():
    with pytest.raises(TunesmithError, match="'f' holds texts; give numbers"):
        from_arrays([0, 0], {"f": ["1", "2"]})
    with pytest.raises(TunesmithError, match="'text' has not one value"):
        from_arrays([0, 0], {"f": [1, 2]}, ["a"])
    with pytest.raises(TunesmithError, match=r"'features\.id' is missing"):
        from_arrays([0, 0], {"id": [1, None]})
    with pytest.raises(TunesmithError, match=r"'metrics\.m' is missing"):
        from_arrays([0, 0], {"f": [1, 2]}, columns={"m": [1, None]})


def test_arrays_come_by_name():
    for given in ({"features": [1, 2]}, {"references": [["r"]]}, {"columns": [[1, 2]]}):
        with pytest.raises(TunesmithError, match=f"'{next(iter(given))}' is a list; give a dict"):
            from_arrays([0, 0], **({"features": {"f": [1, 2]}} | given))


def test_groups_that_look_like_numbers_find_their_references():
    found = from_arrays(["1", "2"], {"f": [1, 2]}, ["a", "b"], {"1": ["r"], "2": ["s"]})
    assert [found.reference_texts(g) for g in range(2)] == [["r"], ["s"]]


class Dataset:
    """As a Dataset of Hugging Face: names of columns, and a list for each."""

    def __init__(self, columns):
        self._columns = columns
        self.column_names = list(columns)
        self.num_rows = len(next(iter(columns.values())))

    def __getitem__(self, key):
        return self._columns[key]

    def __len__(self):
        return self.num_rows


def test_a_dataset_of_hugging_face_is_a_frame():
    columns = {"id": ["p", "p"], "text": ["a\nb", "c"], "reward": [0.5, None]}
    with pytest.raises(TunesmithError, match="'reward' is missing"):
        from_frame(Dataset(columns))
    found = from_frame(Dataset(columns), reading=ts.Reading(missing=-1))
    assert found.features.dense.tolist() == [[0.5, -1.0]]
    assert found.original(0) == "a\nb"
    with pytest.raises(TunesmithError, match=r"several data sets \(train, test\); give one"):
        from_frame({"train": Dataset(columns), "test": Dataset(columns)})
