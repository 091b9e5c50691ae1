"""JSON lines by a kernel: whatever it reads, Python reads alike, and so are the errors."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import assert_same_set
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.jsonl import JsonLinesFormat
from tunesmith.io.reading import Reading
from tunesmith.io.streams import Source
from tunesmith.io.tables import json_rows
from tunesmith.io.text import json_kernels, json_lines

pytestmark = pytest.mark.filterwarnings("ignore:.*left out")


def outcome(data: bytes):
    """Return the set that is read, or the error."""
    collector = Collector(Reading("zero"), keep_rows=True)
    try:
        JsonLinesFormat().read(Source("a.jsonl", data), collector)
        return collector.finish()
    except TunesmithError as error:
        return str(error)


def assert_alike(data: bytes, monkeypatch) -> None:
    """Read some lines at a time, with the kernel and without it."""
    with monkeypatch.context() as patch:
        patch.setattr("tunesmith.io.streams.BLOCK", 1)
        patch.setattr("tunesmith.io.streams.CHUNK", 100)
        patch.setattr(json_lines, "SIZE", 1)
        fast = outcome(data)
        patch.setattr(json_rows, "flat_objects", lambda *_: None)
        slow = outcome(data)
    if isinstance(fast, str) or isinstance(slow, str):
        assert fast == slow
    else:
        assert_same_set(fast, slow)
        rows = range(len(fast))
        assert [fast.original(k) for k in rows] == [slow.original(k) for k in rows]


texts = st.text(st.sampled_from('ab "\\\n\té|😀'), max_size=9)
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**20), 10**20),
    st.sampled_from([0, 1, -2.5, 1e300, float("inf"), True, None, "1", "x"]),
)
usual = st.one_of(st.floats(-5, 5), st.integers(-9, 9))


@given(
    st.lists(st.tuples(st.integers(0, 3), texts, usual, texts), min_size=4, max_size=20),
    st.tuples(numbers, numbers),
    st.integers(0, 19),
    st.booleans(),
)
@settings(max_examples=examples(150), deadline=None)
def test_rows_are_read_alike(given_rows, odd, place, is_ascii):
    lines = []
    for k, (group, text, value, prompt) in enumerate(given_rows):
        row = {"id": group, "text": text, "lm": value, "tm": k / 7, "prompt": "p" + prompt}
        if k == place:
            row["lm"], row["tm"] = odd
        lines.append(json.dumps(row, ensure_ascii=is_ascii))
    with pytest.MonkeyPatch.context() as patch:
        assert_alike("\n".join(lines).encode(), patch)


@pytest.mark.parametrize(
    "odd",
    [
        *({"id": text} for text in ("\ud800", "\0", "a\nb", "é", "LONG", 10**20, 1.0, "")),
        *({"text": text} for text in ("\ud800", "\0", "\U0001f600")),
        {"id": None},
        {},
    ],
    ids=repr,
)
def test_odd_ids_and_texts_far_into_a_file_are_told_alike(odd, monkeypatch):
    rows = [{"id": f"s{k}", "text": f"a {k}", "lm": k / 3} for k in range(9)]
    lines = [json.dumps(row) for row in rows]
    row = {"id": "t", "text": "b", "lm": 0.5} | odd
    line = json.dumps(row) if odd else json.dumps({"text": "b", "lm": 0.5})
    line = line.replace('"LONG"', "1" + "0" * 4400)
    assert_alike("\n".join([*lines, line, *lines[:2]]).encode(), monkeypatch)


PLAIN = b"".join(
    b'{"id": %d, "text": "a \\u00e9 %d", "reference": "r", "lm": -0.%d}\r\n' % (k // 2, k, k)
    for k in range(6)
)


@given(st.integers(0, 2**32))
@settings(max_examples=examples(300), deadline=None)
def test_damaged_lines_are_told_alike(seed):
    rng = random.Random(seed)
    data = bytearray(PLAIN)
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(len(data))
        how = rng.randrange(3)
        if how == 0:
            data[place : place + 1] = b""
        elif how == 1:
            data[place] = rng.choice(b'",:{}\n\r 1a\\-e.')
        else:
            data[place:place] = bytes([rng.choice(b'",:{}\n\r 1a\\-e.')])
    with pytest.MonkeyPatch.context() as patch:
        assert_alike(bytes(data), patch)


@pytest.mark.parametrize(
    "value",
    ["01", "1.", ".5", "-", "1e", "+1", "NaN", "-Infinity", "tru", "nul", "1 2", '"a\\q"', "[1]"],
)
def test_values_that_json_has_not_are_for_python(value):
    line = f'{{"id": 1, "lm": {value}}}\n'.encode()
    assert json_kernels.flat_objects(line, 1) is None
    assert json_kernels.flat_objects(line[:-2], 1) is None


@pytest.mark.parametrize("value", ["0", "-0.5", "1e5", "1E-5", "12.25e+3", "true", "null", '""'])
def test_values_that_it_has_are_read(value):
    found = json_kernels.flat_objects(f'\n {{ "id" :1 ,"lm":\t{value} }} \r\n'.encode(), 7)
    assert found is not None
    assert (found.names, found.lines.tolist(), found.start.tolist()) == (["id", "lm"], [8], [0, 2])
    expected = json.loads(value)
    if expected is not None and not isinstance(expected, str):
        assert found.values.tolist() == [1, expected]
    assert found.spans[1] == value.strip('"')


def test_a_key_that_is_there_twice_is_for_python():
    assert json_kernels.flat_objects(b'{"a": 1, "b": 2}\n{"a": 1, "a": 2}', 1) is None


def test_names_may_be_many():
    row = json.dumps({f"name-{k}-with-many-letters": k for k in range(300)}).encode()
    found = json_kernels.flat_objects(row + b"\n" + row, 1)
    assert found is not None
    assert found.names == [f"name-{k}-with-many-letters" for k in range(300)]
    assert found.values.tolist() == 2 * list(range(300))


def test_the_kernel_reads_what_it_can(monkeypatch):
    """Otherwise all would be alike for another reason."""
    monkeypatch.setattr("tunesmith.io.streams.BLOCK", 1)
    monkeypatch.setattr("tunesmith.io.streams.CHUNK", 100)
    monkeypatch.setattr(json_lines, "SIZE", 1)
    read = []
    quickly = json_rows._Table._quickly

    def noting(self, flat):
        found = quickly(self, flat)
        read.append(found is not None)
        return found

    monkeypatch.setattr(json_rows._Table, "_quickly", noting)
    lines = [{"id": k // 3, "text": f"a{k}", "lm": k / 3, "why": "because"} for k in range(60)]
    outcome("".join(json.dumps(line) + "\n" for line in lines).encode())
    assert read[0] is False
    assert all(read[1:])
    assert len(read) > 3
