"""JSON lines of groups by a kernel: what it reads, Python reads alike, and so are the errors."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import assert_same_set
from tests.helpers.tiers import examples
from tunesmith.errors import TunesmithError
from tunesmith.io.collector import Collector
from tunesmith.io.lists import jsonl
from tunesmith.io.reading import Reading
from tunesmith.io.streams import Source
from tunesmith.io.text import json_lines


def outcome(data: bytes, missing: str = "error"):
    """Return the set that is read, or the error."""
    collector = Collector(Reading(missing), keep_rows=True)
    try:
        jsonl.JsonLinesFormat().read(Source("a.jsonl", data), collector)
        return collector.finish()
    except TunesmithError as error:
        return str(error)


def assert_alike(data: bytes, missing: str = "error") -> None:
    """Read some lines at a time, with the kernel and without it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tunesmith.io.streams.BLOCK", 1)
        patch.setattr("tunesmith.io.streams.CHUNK", 200)
        patch.setattr(json_lines, "SIZE", 1)
        fast = outcome(data, missing)
        patch.setattr(jsonl, "groups_of", lambda _: None)
        slow = outcome(data, missing)
    if isinstance(fast, str) or isinstance(slow, str):
        assert fast == slow
        return
    assert_same_set(fast, slow)
    assert fast.features.dense.tobytes() == slow.features.dense.tobytes()
    assert fast.features.gaps == slow.features.gaps
    assert fast.rows.tolist() == slow.rows.tolist()
    np.testing.assert_array_equal(fast.totals, slow.totals)
    assert {n: c.tobytes() for n, c in fast.columns.items()} == {
        n: c.tobytes() for n, c in slow.columns.items()
    }
    assert fast.vocabulary == slow.vocabulary
    assert fast.sources == slow.sources
    groups = range(fast.groups)
    assert [fast.reference_texts(g) for g in groups] == [slow.reference_texts(g) for g in groups]
    rows = range(len(fast))
    assert [fast.original(k) for k in rows] == [slow.original(k) for k in rows]


texts = st.text(st.sampled_from('ab "\\\n\té|😀'), max_size=9)
values = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-5, 5),
    st.integers(-9, 9),
    st.sampled_from([0, -0.0, 1e300, 10**20]),
)
#: What has no place, or has it only where --missing says so.
odd_values = st.sampled_from([None, True, "1", float("nan"), float("inf"), 10**400, [1], {}])


@st.composite
def groups(draw):
    """Return groups, whose candidates are alike but for one, perhaps."""
    names = draw(st.lists(st.sampled_from(["lm", "tm", "features", "id", "ü x"]), unique=True))
    metrics = draw(st.lists(st.sampled_from(["comet", "text"]), unique=True))
    has_references, has_source, has_score = (draw(st.booleans()) for _ in range(3))
    lines = []
    for k in range(draw(st.integers(1, 6))):
        candidates = []
        for _ in range(draw(st.integers(1, 3))):
            candidate = {"text": draw(texts), "features": {name: draw(values) for name in names}}
            if has_score:
                candidate["score"] = draw(values)
            if metrics:
                candidate["metrics"] = {name: draw(values) for name in metrics}
            candidate["why"] = draw(texts)
            candidates.append(candidate)
        line = {"id": draw(st.sampled_from([k, k, f"s{k}", k // 2])), "candidates": candidates}
        if has_references:
            line["references"] = draw(st.lists(texts, min_size=1, max_size=2))
        if has_source:
            line = {"source": draw(texts), **line}
        lines.append(line)
    how = draw(st.integers(0, 9))
    candidate = draw(st.sampled_from(draw(st.sampled_from(lines))["candidates"]))
    if how == 0:
        candidate["features"]["lm"] = draw(odd_values)
    elif how == 1:
        candidate.pop(draw(st.sampled_from(sorted(candidate))))
    elif how == 2:
        candidate["features"] = dict(reversed(candidate["features"].items()))
    elif how == 3:
        candidate["features"].pop("lm", None)
    elif how == 4:
        candidate[draw(st.sampled_from(["text", "features", "score", "metrics"]))] = draw(
            odd_values
        )
    elif how == 5:
        line = draw(st.sampled_from(lines))
        line[draw(st.sampled_from(sorted(line)))] = draw(odd_values)
    return lines


@given(groups(), st.booleans(), st.sampled_from(["error", "zero", "mean"]))
@settings(max_examples=examples(300), deadline=None)
def test_groups_are_read_alike(lines, is_ascii, missing):
    text = "\n".join(json.dumps(line, ensure_ascii=is_ascii) for line in lines)
    assert_alike(text.encode(), missing)


PLAIN = b"".join(
    b'{"id": %d, "source": "s", "candidates": [{"text": "a \\u00e9 %d", "features": {"lm": -0.%d, '
    b'"tm": 2e1}, "score": 1}, {"text": "b", "features": {"lm": 3, "tm": -0.0}, "score": 2}], '
    b'"references": ["r %d", "q"]}\r\n' % (k, k, k, k)
    for k in range(4)
)


@given(st.integers(0, 2**32))
@settings(max_examples=examples(400), deadline=None)
def test_damaged_lines_are_told_alike(seed):
    rng = random.Random(seed)
    data = bytearray(PLAIN)
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(len(data))
        how = rng.randrange(3)
        if how == 0:
            data[place : place + 1] = b""
        elif how == 1:
            data[place] = rng.choice(b'",:{}[]\n\r 1a\\-e.')
        else:
            data[place:place] = bytes([rng.choice(b'",:{}[]\n\r 1a\\-e.')])
    assert_alike(bytes(data))


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b'{"id": 1, "candidates": []}',
        b'{"id": 1, "candidates": [{}]}',
        b'{"id": 1, "candidates": [{"features": {}}, {"features": {}}]}',
        b'{"id": 1, "candidates": [{"features": {"a": 1}}, {"features": {"a": 1}},]}',
        b'{"id": 1, "candidates": [{"features": {"a": 1, "a": 2}}]}',
        b'{"id": 1, "candidates": [{"features": {"a": 1}}], "candidates": [{"features": {}}]}',
        b'{"id": 1, "candidates": [{"features": {"a": [1]}}]}',
        b'{"id": 1, "candidates": [{"text": "\\u0000", "features": {"a": 1}}]}',
        b'{"id": 1, "candidates": [{"text": "\\ud800", "features": {"a": 1}}]}',
        b'{"id": 1, "candidates": [{"text": "\\ud83d\\ude00 \\u00e4", "features": {"a": 1}}]}',
        b'{"id": "\\u00e4", "candidates": [{"features": {"a": 1}}]}',
        b'{"id": 1.0, "candidates": [{"features": {"a": 1}}]}',
        b'{"id": 1, "references": [], "candidates": [{"features": {"a": 1}}]}',
        b'{"id": 1, "references": null, "candidates": [{"features": {"a": 1}}]}',
        b'{"id": 1, "references": ["a", 1], "candidates": [{"features": {"a": 1}}]}',
        b'{"id": 1, "source": null, "candidates": [{"features": {"a": 1}}]}',
        b'{"id": 1, "candidates": [{"features": {"a": 1}, "metrics": {"m": -0.0}}]}',
        b'{"id": 1, "candidates": [{"features": {"a": 1}, "metrics": 3}]}',
        b'{"id": 1, "features": 3, "metrics": 4, "candidates": [{"features": {"a": 1}}]}',
        b'{"id": 1, "candidates": [{"features": {"a": 1}, "score": true}]}',
        b'{"id": 1, "candidates": [{"features": {"a": 1}, "score": 1' + 4400 * b"0" + b"}]}",
        b'{"id": 1, "candidates": [{"references": 3, "features": {"references": 1}}]} {}',
    ],
)
def test_odd_lines(line):
    before = b'{"id": 0, "candidates": [{"features": {"a": 1}}, {"features": {"a": 2}}]}\n'
    for data in (line, before + line, before + line + b"\n" + before.replace(b"0", b"2")):
        assert_alike(data)


def test_the_first_gap_is_told_where_it_is():
    lines = [{"id": k, "candidates": [{"features": {"a": 1, "b": 2}}] * 2} for k in range(9)]
    del lines[5]["candidates"][1]["features"]["b"]
    lines[5]["candidates"][0] = {"features": {"a": 1, "b": 2}}
    lines[7] = {"id": 7, "candidates": [{"features": {"a": 1}}]}
    data = "\n".join(map(json.dumps, lines)).encode()
    assert_alike(data)
    assert "a.jsonl:6" in str(outcome(data).features.gaps["b"])


def test_the_kernel_reads_what_it_can(monkeypatch):
    """Otherwise all would be alike for another reason."""

    def refuse(*_):
        raise AssertionError("read by Python")

    monkeypatch.setattr(jsonl._Group, "add_to", refuse)
    found = outcome(PLAIN.replace(b"}\r", b', "more": null}\r'))
    assert len(found) == 8
    assert found.features.dense.tolist() == [
        [-0.0, 3, -0.1, 3, -0.2, 3, -0.3, 3],
        [20.0, 0, 20, 0, 20, 0, 20, 0],
    ]
    assert found.reference_texts(3) == ["r 3", "q"]
