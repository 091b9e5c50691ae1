"""k-best lists of cdec. The real ones are in the shared data; they are not bundled."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.builders import as_records
from tests.helpers.io.list_samples import CDEC
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.cdec import CdecFormat
from tunesmith.io.read import read
from tunesmith.io.streams import Source


def by_hand(lines) -> dict:
    """Read a list with str.split."""
    found: dict = {}
    for line in lines:
        name, text, features, _ = line.split(" ||| ")
        pairs = [token.rpartition("=") for token in features.split()]
        values = {name: float(value) for name, _, value in pairs if float(value)}
        group = found.setdefault(int(name), [])
        entry = (" ".join(text.split()), values)
        if entry not in group:
            group.append(entry)
    return found


def test_real_lists_are_read_value_for_value_and_back(shared_data, tmp_path):
    path = shared_data / "nc-wmt11-de-en" / "dev.kbest.gz"
    found = read(path)
    assert found.files[0].format == "cdec"
    assert len(found) == 49581
    assert found.groups == 500
    out = tmp_path / "again.kbest"
    CdecFormat().write(found, np.arange(len(found)), np.zeros(len(found)), out)
    again = read(out)
    assert again.files[0].format == "cdec"
    assert again.features.names == found.features.names
    np.testing.assert_array_equal(again.features.dense, found.features.dense)
    assert (again.features.sparse != found.features.sparse).nnz == 0
    np.testing.assert_array_equal(again.start, found.start)
    assert all(again.text(i) == found.text(i) for i in range(len(found)))


def test_real_lines_as_str_split_reads_them(shared_data, tmp_path):
    with gzip.open(shared_data / "nc-wmt11-de-en" / "dev.kbest.gz", "rt") as file:
        lines = [next(file) for _ in range(5000)]
    path = tmp_path / "part"
    path.write_text("".join(lines))
    assert as_records(read(path)) == by_hand(lines)


def test_names_stay_as_they_are(tmp_path: Path):
    path = tmp_path / "a"
    path.write_text(CDEC)
    found = read(path)
    assert as_records(found) == by_hand(CDEC.splitlines())
    assert found.features.names == (
        "Glue",
        "WordPenalty",
        "PhraseModel_0",
        "LanguageModel",
        "PassThrough",
        "LanguageModel_OOV",
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x ||| a ||| f=1 ||| 0", "the id is 'x', not a whole number"),
        ("1 ||| a", "fewer than three fields"),
        ("1 ||| a ||| f ||| 0", "'f' stands before any feature name"),
        ("1 ||| a ||| f= ||| 0", "feature 'f' has no value"),
        ("1 ||| a ||| =1 ||| 0", "'=1' stands before any feature name"),
        ("1 ||| a ||| f=1 f=1 ||| 0", "feature 'f' is given twice"),
        ("1 ||| a ||| f=nan ||| 0", "a feature value is nan, which is not finite"),
        ("1 ||| a ||| f=1,5 ||| 0", "a feature value is '1,5', not a number"),
        ("1 ||| a ||| f=1 2 ||| 0", "feature 'f' has 2 values here and 1 before"),
    ],
)
def test_errors_name_the_line(line, problem):
    with pytest.raises(FormatError) as caught:
        CdecFormat().read(Source("a", f"0 ||| b ||| f=1 ||| 0\n\n{line}\n".encode()), Collector())
    assert problem in str(caught.value)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("group", "text", "feature", "problem"),
    [
        ("a", "x", "f", "the id 'a' is not a whole number"),
        (-1, "x", "f", "the id '-1' is not a whole number"),
        (10**18, "x", "f", "is not a whole number of 18 digits"),
        (0, "x ||| y", "f", r"a text holds '\|\|\|'"),
        (0, "x", "f g", "a feature cannot be called 'f g'"),
        (0, "x", "|||", "a feature cannot be called"),
    ],
)
def test_what_cannot_be_written(group, text, feature, problem):
    collector = Collector()
    collector.add(group, text, {feature: 1.0})
    found = collector.finish()
    with pytest.raises(UsageError, match=f"{problem}.*; write jsonl"):
        list(CdecFormat().lines(found, np.arange(1), np.zeros(1)))
