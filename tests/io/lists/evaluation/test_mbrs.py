"""Output of mbrs-decode, from mbrs/cli/decode.py, which prints ranks from 0 for each input."""

from __future__ import annotations

import pytest

import tunesmith as ts
from tests.helpers.builders import as_records
from tests.helpers.io.program_samples import MBRS, json_lines, mbrs_line
from tunesmith.errors import FormatError


def test_ranks_begin_an_input(tmp_path):
    path = tmp_path / "out.json"
    path.write_text(MBRS)
    found = ts.read(path)
    assert found.files[0].format == "mbrs"
    assert as_records(found) == {
        0: [("good day", {"expected_score": 0.8125}), ("good morning", {"expected_score": 0.75})],
        1: [("yes", {"expected_score": 0.5})],
        2: [("", {"expected_score": 0.25})],
    }


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (mbrs_line(2, "a", 1.0), "rank 2 does not follow rank 0"),
        (mbrs_line(0, "a", 1.0) | {"sentence": None}, "'sentence' is null, not a text"),
        (mbrs_line(0, "a", 1.0) | {"expected_score": "x"}, "'expected_score' is \"x\""),
        (mbrs_line(0, "a", float("nan")), "'expected_score' is NaN, not a finite number"),
        ({"rank": 0, "sentence": "a"}, "'expected_score' is null"),
        ({"sentence": "a"}, "'rank' is null"),
    ],
)
def test_lines_that_cannot_be(tmp_path, line, told):
    path = tmp_path / "out.json"
    path.write_text(json_lines(mbrs_line(0, "a", 0.5), line))
    with pytest.raises(FormatError, match=told) as caught:
        ts.read(path)
    assert caught.value.line == 2
