"""CSV by kernels: whatever they read, Python's own reader reads alike, and so are the errors."""

from __future__ import annotations

import csv
import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import assert_same_set
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError
from tunesmith.io.collector import Collector
from tunesmith.io.reading import Reading
from tunesmith.io.streams import Source
from tunesmith.io.tables import csv as tables
from tunesmith.io.tables import csv_chunks
from tunesmith.parallel.local import threads


def outcome(data: bytes, format_class=tables.CsvFormat, missing="zero"):
    """Return the set that is read, or the error."""
    collector = Collector(Reading(missing), keep_rows=True)
    try:
        format_class().read(Source("a.csv", data), collector)
        return collector.finish()
    except TunesmithError as error:
        return str(error)


def both(data: bytes, size: int = 1, **options):
    """Return what is read by kernels in chunks of about a size, and by Python alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_chunks, "SIZE", size)
        fast = outcome(data, **options)
        patch.setattr(csv_chunks._Arrays, "of", lambda *_: None)
        return fast, outcome(data, **options)


def assert_alike(found):
    fast, slow = found
    if isinstance(fast, str) or isinstance(slow, str):
        assert fast == slow
    else:
        assert_same_set(fast, slow)
        assert fast.rows.tolist() == slow.rows.tolist()
        rows = range(len(fast))
        assert [fast.original(k) for k in rows] == [slow.original(k) for k in rows]


texts = st.text(st.sampled_from('ab ,"\n\té|'), max_size=9)
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["", "1e5", " 2 ", "true", "-.5", "+3", "1_0", "nan", "x", "0x1", "1e999"]),
)
rows = st.lists(
    st.tuples(st.integers(0, 3).map(str), texts, numbers, numbers), min_size=1, max_size=12
)


@given(rows, st.sampled_from([",", "\t"]), st.sampled_from(["\n", "\r\n"]), st.integers(1, 200))
@settings(max_examples=examples(200), deadline=None)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_tables_are_read_alike(given_rows, delimiter, ends, size):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=ends)
    writer.writerow(["id", "text", "lm", "tm"])
    writer.writerows(given_rows)
    name = tables.CsvFormat if delimiter == "," else tables.TsvFormat
    assert_alike(both(text.getvalue().encode(), size, format_class=name))


LINES = b'id,text,lm\n0,"a, b",1.5\n0,"say ""no""",2\n1,c,3\r\n1,,-4e-3\n2,"",5\n2,x y,6\n'


@given(st.integers(0, 2**32), st.integers(1, 90))
@settings(max_examples=examples(300), deadline=None)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_damaged_tables_are_told_alike(seed, size):
    rng = random.Random(seed)
    data = bytearray(LINES)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(data))
        how = rng.randrange(3)
        if how == 0:
            data[place : place + 1] = b""
        elif how == 1:
            data[place] = rng.choice(b'",\n\r 1a')
        else:
            data[place:place] = bytes([rng.choice(b'",\n\r 1a')])
    assert_alike(both(bytes(data), size))


@pytest.mark.parametrize(
    "data",
    [
        b"id,text,lm\n",
        b"id,text,lm\n0,a,1",
        b"\n\nid,text,lm\n0,a,1\n",
        b'id,text,lm\n0,"two\nlines",1\n\n0,b,2\n',
        b",id,text,lm\n0,0,a,1\n1,0,b,2\n",
        b"id,text,lm,\n0,a,1,\n0,b,2,\n",
        b'id,"te""xt",lm\n0,a,1\n',
        b"id,text,lm\n0,a,1\n0,b,2,3\n",
        b'id,text,lm\n0,a"b,1\n0,"c"d,2\n',
        b'id,text,lm\n0,"a,1\n',
        b"id,text,lm\r0,a,1\r0,b,2\r",
        b"id,text,lm\n0,\xff,1\n",
        b"id,text,lm\n0,a\0,1\n",
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_odd_tables(data):
    for size in (1, 1000):
        assert_alike(both(data, size, missing="error"))


@pytest.mark.parametrize(
    "data",
    [
        LINES,
        b'id,text,lm\n0,"two\nlines",1\n\n0,b,2\n',
        b"id,text,lm,name\n0,a,1,x\n0,b,,\n1,c, 0.30000000000000004,y\n",
        b"id,text,ok\n0,a,true\n0,b,False\n",
    ],
)
@pytest.mark.filterwarnings("ignore:.*left out")
def test_kernels_read_what_they_can(data, monkeypatch):
    """Otherwise all would be alike for another reason."""

    def refuse(*_):
        raise AssertionError("read by Python")

    monkeypatch.setattr(tables.CsvFormat, "_slowly", refuse)
    assert len(outcome(data)) >= 2


def test_errors_name_the_line_of_a_row_after_cells_of_several_lines():
    data = b'id,text,lm\n0,"two\nlines",1\n\n0,b,inf\n'
    assert "a.csv:5: 'lm' is inf" in outcome(data)


def test_numbers_after_texts_of_an_earlier_chunk(monkeypatch):
    monkeypatch.setattr(csv_chunks, "SIZE", 1)
    monkeypatch.setattr("tunesmith.io.streams.BLOCK", 1)
    monkeypatch.setattr("tunesmith.io.streams.CHUNK", 64)
    data = b"id,text,f\n" + 50 * b"0,a,x\n" + 50 * b"0,c,1\n"
    assert "'f' is a number here and text before" in outcome(data)


@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_threads_reads_alike(count, monkeypatch):
    monkeypatch.setattr(csv_chunks, "SIZE", 1)
    monkeypatch.setattr("tunesmith.io.streams.BLOCK", 1)
    monkeypatch.setattr("tunesmith.io.streams.CHUNK", 64)
    rows = [f"{k // 3},w{k % 7} w{k % 5},{k / 7}" for k in range(100)]
    data = "\n".join(["id,text,lm", *rows]).encode()
    with threads(count):
        found = outcome(data)
    assert_same_set(found, outcome(data, tables.CsvFormat))
    assert found.vocabulary == tuple(dict.fromkeys(" ".join(r.split(",")[1] for r in rows).split()))
