"""Moses n-best lists. The samples are real (bundled, and shared data where they are there)."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import as_records, assert_same_set
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError
from tunesmith.inference.lists.rerank import ranking
from tunesmith.io.collector import Collector
from tunesmith.io.lists.bars import format as bars
from tunesmith.io.lists.moses import MosesFormat
from tunesmith.io.read import read
from tunesmith.io.streams import Source


class InBlocks(Source):
    """A source that comes in blocks of one's own."""

    def __init__(self, name: str, parts: list[bytes]) -> None:
        super().__init__(name, b"".join(parts))
        self.parts = parts

    def blocks(self):
        yield from self.parts


def collect(text: str, blocks: int = 1) -> CandidateSet:
    collector = Collector()
    lines = text.encode().splitlines(keepends=True)
    size = -(-len(lines) // blocks)
    parts = [b"".join(lines[k : k + size]) for k in range(0, len(lines), size)]
    MosesFormat().read(InBlocks("test", parts), collector)
    return collector.finish()


def parse_by_hand(lines) -> dict:
    """Read plain lists with str.split, as the format is documented."""
    found: dict = {}
    for line in lines:
        name, text, features, *_ = line.split("|||")
        values: dict[str, list[float]] = {}
        for token in features.split():
            if token.endswith("="):
                current = token[:-1]
                values[current] = []
            else:
                values[current].append(float(token))
        flat = {}
        for feature, held in values.items():
            for k, value in enumerate(held, 1):
                flat[feature if len(held) == 1 else f"{feature}_{k}"] = value
        entry = (" ".join(text.split()), {k: v for k, v in flat.items() if v})
        group = found.setdefault(int(name), [])
        if entry not in group:
            group.append(entry)
    return found


@pytest.mark.long
def test_real_lists_are_read_value_for_value(bundled):
    with gzip.open(bundled / "tune.nbest.gz", "rt") as file:
        lines = file.readlines()
    found = read(bundled / "tune.nbest.gz")
    assert as_records(found) == parse_by_hand(lines)
    assert found.features.names[:7] == (
        *(f"LexicalReordering0_{k}" for k in range(1, 7)),
        "Distortion0",
    )


def test_real_sparse_features(shared_data):
    path = shared_data / "m30k-de-en-sparse" / "run1.nbest.gz"
    with gzip.open(path, "rt") as file:
        lines = [next(file) for _ in range(3000)]
    found = collect("".join(lines))
    names = {t[:-1] for line in lines for t in line.split("|||")[2].split() if t.endswith("=")}
    assert len(found.features.names) == len(names) - 2 + 6 + 4
    assert len(found.features.sparse_names) > 1000
    assert as_records(found) == parse_by_hand(lines)


def test_all_ways_to_write_features_may_be_mixed():
    found = collect(
        "3 ||| a b ||| D= 1 2.5 s_x= 1 LM=-3 s=y=2 ||| -7 ||| 0-0 1-1\n"
        "3 ||| c ||| LM= -1 D= 0 1e-3\n"
        "\n"
        "0 |||  ||| D= 0 0 LM= 0 |||\n"
    )
    assert as_records(found) == {
        0: [("", {})],
        3: [
            ("a b", {"D_1": 1.0, "D_2": 2.5, "s_x": 1.0, "LM": -3.0, "s=y": 2.0}),
            ("c", {"LM": -1.0, "D_2": 0.001}),
        ],
    }


def test_numbers_of_any_length_are_exact():
    values = [
        "0.1234567890123456789",
        "12345678901234567890",
        "1e-320",
        "4.35",
        "1.7976931348623157e308",
    ]
    text = "".join(f"{k} ||| x ||| f= {v} ||| 0\n" for k, v in enumerate(values))
    assert collect(text).features.dense[0].tolist() == [float(v) for v in values]


@given(st.data())
def test_blocks_and_small_tables_change_nothing(data):
    words = st.text("abcxyzé", min_size=1, max_size=12)
    rows = data.draw(
        st.lists(
            st.tuples(
                st.integers(0, 3),
                st.lists(words, max_size=4),
                st.dictionaries(words, st.floats(-1e9, 1e9), max_size=4),
            ),
            min_size=1,
            max_size=15,
        )
    )
    text = "".join(
        f"{g} ||| {' '.join(t)} ||| {' '.join(f'{k}= {v!r}' for k, v in f.items())} ||| 0\n"
        for g, t, f in rows
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bars, "SLOW_ROOM", 2 * 4)
        found = collect(text, blocks=data.draw(st.integers(1, 4)))
    hand = parse_by_hand(text.splitlines())
    assert as_records(found) == dict(sorted(hand.items()))


def test_more_names_than_there_was_room_for():
    features = " ".join(f"name{k}= {k + 1}" for k in range(2000))
    found = collect(f"0 ||| x ||| {features} ||| 0\n")
    assert as_records(found)[0][0][1] == {f"name{k}": k + 1.0 for k in range(2000)}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x ||| a ||| f= 1 ||| 0", "the id is 'x', not a whole number"),
        ("1.5 ||| a ||| f= 1 ||| 0", "the id is '1.5', not a whole number"),
        ("1 a ||| f= 1", "fewer than three fields"),
        ("1 ||| a", "fewer than three fields"),
        ("1 ||| a ||| 1 ||| 0", "'1' stands before any feature name"),
        ("1 ||| a ||| f= g= 1 ||| 0", "feature 'f' has no value"),
        ("1 ||| a ||| f= 1 2 ||| 0", "feature 'f' has 2 values here and 1 before"),
        ("1 ||| a ||| f= 1 f= 2 ||| 0", "feature 'f' is given twice"),
        ("1 ||| a ||| f= nan ||| 0", "a feature value is nan, which is not finite"),
        ("1 ||| a ||| f= -inf ||| 0", "a feature value is -inf, which is not finite"),
        ("1 ||| a ||| f= 1e999 ||| 0", "a feature value is 1e999, which is not finite"),
        ("1 ||| a ||| f= one ||| 0", "a feature value is 'one', not a number"),
        ("1 ||| a ||| f= 0x1 ||| 0", "a feature value is '0x1', not a number"),
    ],
)
@pytest.mark.parametrize("blocks", [1, 3])
def test_errors_name_the_line(line, problem, blocks):
    text = f"0 ||| a ||| f= 1 ||| 0\n\n{line}\n2 ||| a ||| f= 1 ||| 0\n"
    with pytest.raises(FormatError) as caught:
        collect(text, blocks)
    assert problem in str(caught.value)
    assert caught.value.line == 3


def test_two_features_of_one_name():
    with pytest.raises(FormatError, match="both called 'f_1'"):
        collect("0 ||| a ||| f= 1 2 f_1= 3 ||| 0\n")


@pytest.mark.long
def test_what_is_written_reads_back(bundled):
    found = read(bundled / "test.nbest.gz")
    order, scores = ranking(found, np.linspace(-1, 1, 14))
    text = "".join(line + "\n" for line in MosesFormat().lines(found, order, scores))
    again = as_records(collect(text))
    for name, candidates in as_records(found).items():
        assert sorted(again[name], key=str) == sorted(candidates, key=str)


def test_a_line_with_more_long_numbers_than_there_was_room_for(monkeypatch):
    monkeypatch.setattr(bars, "SLOW_ROOM", 2)
    features = " ".join(f"f{k}= 0.{k + 1}2345678901234567" for k in range(50))
    found = collect(f"0 ||| x ||| {features} ||| 0\n")
    expected = {f"f{k}": float(f"0.{k + 1}2345678901234567") for k in range(50)}
    assert as_records(found)[0][0][1] == expected


#: As Moses wrote lists until 2013; a text may hold a colon too.
OLD = """\
0 ||| note : this is a house  ||| d: 0 -1.5 lm: -12.25 tm: -1.5 -2 w: -6 ||| -7.5
0 ||| a house  ||| d: 0 -2 lm: -9 tm: -0.5 -1 w: -2 ||| -8 |0-1|
1 ||| yes  ||| d: 0 0 lm: -2 tm: 0 0 w: -1 ||| -1
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_old_lists_with_colons_are_read(tmp_path, ends):
    path = tmp_path / "old"
    path.write_bytes(OLD.replace("\n", ends).encode())
    found = ts.read(path)
    new = tmp_path / "new"
    lines = [line.split("|||") for line in OLD.splitlines()]
    for fields in lines:
        fields[2] = fields[2].replace(":", "=")
    new.write_text("".join("|||".join(fields) + "\n" for fields in lines))
    assert_same_set(found, ts.read(new))
    assert found.files[0].format == "moses"
    assert found.text(0) == "note : this is a house"
    assert found.features.names == ("d_1", "d_2", "lm", "tm_1", "tm_2", "w")
