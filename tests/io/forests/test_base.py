"""What readers of forests share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.forests import forest_set, raw_forest
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.forests.base import (
    FOREST_FORMATS,
    FileOrder,
    ForestFormat,
    Numbering,
    check_ids,
    number_in,
    whole_number,
)
from tunesmith.io.forests.write import forest_format_of, write_forests


def test_texts_are_numbered_as_they_come() -> None:
    words = Numbering(["a"])
    assert words.split("b a\u00a0c b") == [1, 0, 2, 1]
    assert list(words) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("path", "number"),
    [("hg/12.txt.gz", 12), ("007", 7), ("3.json", 3), ("a1.txt", None), ("weights", None)],
)
def test_the_number_of_a_file(path: str, number: int | None) -> None:
    assert number_in(path) == number


def test_what_is_in_no_derivation_is_said_once() -> None:
    order = FileOrder("file")
    useless = [(0, [], [0], {}), (1, [], [0], {}), (2, [0], [-1], {})]
    for line in (7, 8):
        raw = replace(raw_forest(useless, 2), lines=np.arange(line, line + 3))
        arrays = order.ordered(raw)
        assert len(arrays.covered) == 2
    with pytest.warns(UserWarning, match=r"^file:8: 2 hyperedges of this file are in no deriv"):
        order.warn()
    FileOrder("file").warn()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_name_their_line(value: float) -> None:
    raw = raw_forest([(0, [], [0], {0: 1.0, 1: 2.0}), (1, [0], [-1], {1: value})], 1)
    raw = replace(raw, lines=np.array([4, 6]))
    with pytest.raises(FormatError, match=r"^file:6: a feature of this hyperedge is not finite"):
        FileOrder("file").ordered(raw)


def test_a_feature_that_comes_twice_may_not_overflow() -> None:
    raw = raw_forest([(0, [], [0], {0: 1e308, 1: 1e308})], 0)
    raw = replace(raw, feature_ids=np.zeros(2, np.int32))
    with pytest.raises(FormatError, match="add up to no finite number"):
        FileOrder("file").ordered(raw)


@pytest.mark.parametrize("text", ["-1", "1.0", "x", "", "٣", "9" * 30])
def test_counts_are_whole_numbers(text: str) -> None:
    with pytest.raises(FormatError, match=r"^f:2: a count is .*, not a whole number"):
        whole_number(text, "f", 2, "a count")


def test_formats_that_count_have_no_place_for_other_ids() -> None:
    check_ids([0, 1, 2], "plf", "arrow")
    with pytest.raises(UsageError, match="no place for the id '2'; write arrow"):
        check_ids([0, 2], "plf", "arrow")


@pytest.mark.long
def test_formats_by_ending(tmp_path) -> None:
    assert forest_format_of("a.arrow") == "arrow"
    assert forest_format_of("a.jsonl.gz") == "cdec-forest"
    with pytest.raises(UsageError, match=r"is of no format; name one of .*moses-hypergraph"):
        forest_format_of("a.xyz")
    held = forest_set([raw_forest([(0, [], [0], {})], 0).ordered()[0]], 1, 1)
    with pytest.raises(UsageError, match="'cdec-json' can be read only"):
        write_forests(held, tmp_path / "a.json", "cdec-json")
    assert not list(tmp_path.iterdir())
    assert issubclass(FOREST_FORMATS.get("arrow"), ForestFormat)
