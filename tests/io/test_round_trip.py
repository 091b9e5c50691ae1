"""Every text format: read, written and read again; compressed; damaged."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
import zstandard
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.helpers.io.list_samples import READ_ONLY, SAMPLES, Sample, whole
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.read import read
from tunesmith.io.streams import Source
from tunesmith.io.text.tokens import tokenize
from tunesmith.io.write import write

#: These are no text, or have tests of their own.
TABLES = {"arrow", "csv", "lighteval", "parquet", "tsv"}
#: Ids, or other files, are found by the name of the file.
FOLDERS = {"espnet", "srilm"}


def of_each(samples):
    return pytest.mark.parametrize("sample", samples, ids=lambda s: f"{s.name}-{s.first}")


by_written, by_sample = of_each(SAMPLES), of_each([*SAMPLES, *READ_ONLY])


def test_there_is_a_sample_of_each_text_format():
    assert {sample.name for sample in (*SAMPLES, *READ_ONLY)} == set(FORMATS.names()) - TABLES


@of_each(READ_ONLY)
def test_what_can_be_read_only_is_the_same_as_json_lines(sample, tmp_path):
    sample.put(tmp_path)
    found = sample.read(tmp_path)
    with pytest.raises(UsageError, match="can be read only; name another one"):
        sample.write(found, tmp_path / "out")
    write(found, tmp_path / "list.jsonl", format="jsonl")
    assert whole(read(tmp_path / "list.jsonl")) == whole(found)


@by_written
def test_a_sample_comes_back_value_for_value(sample, tmp_path):
    sample.put(tmp_path / "in")
    found = sample.read(tmp_path / "in")
    sample.write(found, tmp_path / "out")
    assert whole(sample.read(tmp_path / "out")) == whole(found, reverse=True)


@by_sample
def test_a_sample_is_recognised_by_its_own_format_alone(sample):
    text = next(iter(sample.files.values())).encode()
    known = [name for name in FORMATS.names() if FORMATS.get(name).recognises(text)]
    assert known == ([] if sample.format else [sample.name])


@by_sample
@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_compressed_files_are_the_same(sample, suffix, compress, tmp_path):
    path = sample.put(tmp_path / "plain")
    found = whole(sample.read(tmp_path / "plain"))
    beside = tmp_path / "plain" / (sample.first + suffix)
    beside.write_bytes(compress(path.read_bytes()))
    if sample.name == "moses-data" and len(sample.files) > 1:
        scores = tmp_path / "plain" / "run1.scores.dat"
        (tmp_path / "plain" / f"run1.scores.dat{suffix}").write_bytes(compress(scores.read_bytes()))
    path.unlink()
    assert whole(sample.read(tmp_path / "plain", sample.first + suffix)) == found


@by_written
def test_what_is_written_compressed_is_read(sample, tmp_path):
    sample.put(tmp_path)
    found = sample.read(tmp_path)
    out = tmp_path / "out"
    sample.write(found, out, f"{sample.first}.gz")
    if sample.name == "parallel":
        scores = {name: out / f"hyp.txt.{name}.gz" for name in sample.scores}
        again = read(out / "hyp.txt.gz", format=sample.format, scores=scores)
    else:
        again = sample.read(out, f"{sample.first}.gz")
    assert (out / f"{sample.first}.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert whole(again) == whole(found, reverse=True)


@of_each([s for s in (*SAMPLES, *READ_ONLY) if s.name not in FOLDERS])
def test_standard_input(sample, tmp_path, monkeypatch):
    sample.put(tmp_path)
    found = whole(sample.read(tmp_path))
    text = next(iter(sample.files.values())).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    spec = sample.format or None
    if sample.name == "kaldi":
        files = [f"{tmp_path}/{name}" for name in ("acwt", "lmwt.nolm", "lmwt.rnn")]
        spec = f"kaldi:scores={'+'.join(files)},references={tmp_path}/text"
    if sample.name == "moses-data" and len(sample.files) > 1:
        spec = f"moses-data:statistics={tmp_path}/run1.scores.dat"
    scores = {name: tmp_path / path for name, path in sample.scores.items()}
    assert whole(read("-", format=spec, scores=scores)) == found


@by_sample
def test_damaged_files_are_one_line_with_the_place(sample, tmp_path):
    path = sample.put(tmp_path)
    text = path.read_bytes()
    spec = sample.format or sample.name

    def problem(data: bytes) -> str:
        path.write_bytes(data)
        with pytest.raises(TunesmithError) as caught:
            read(path, format=spec)
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(str(path))
        return str(caught.value).removeprefix(str(path))

    assert problem(b"") == ": the file is empty; give a file with content"
    assert problem(gzip.compress(text)[:-9]).startswith(": the gzip data end too early; copy")
    first = text.index(b"\n") + 1
    wrong = text[: first + 2] + b"\xff" + text[first + 2 :]
    assert problem(wrong).startswith(":2: byte 0xff is not UTF-8")
    assert problem(b"\n \n\n")


edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 6),
        st.sampled_from(
            ["", "\t", " ", "\n", "|||", "=", "-", "x", "nan", "1e999", "é", "{", "BEGIN_0", "\r\n"]
        ),
    ),
    min_size=1,
    max_size=3,
)


@given(st.sampled_from([*SAMPLES, *READ_ONLY]), edits)
def test_nothing_but_an_error_of_ours_comes_of_wrong_input(tmp_path_factory, sample, changes):
    folder = tmp_path_factory.mktemp("changed")
    path = sample.put(folder)
    text = path.read_bytes().decode()
    for place, removed, added in changes:
        at = int(place * len(text))
        text = text[:at] + added + text[at + removed :]
    path.write_bytes(text.encode())
    try:
        read(path, format=sample.format or sample.name)
    except TunesmithError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert "; " in str(error)  # noqa: PT017


words = st.text("abé|=-0 \u00a0\u3000{", max_size=6)
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(lambda v: v + 0.0),
    st.integers(-3, 3).map(float),
)
STATISTICS = [f"bleu.{s}_{n}" for n in range(1, 5) for s in ("matches", "total")]


@st.composite
def sets(draw, sample: Sample) -> CandidateSet:
    """Draw a set that a format can hold, of groups with two candidates each."""
    names = {
        "fairseq": ["score", "logprob", "length"],
        "nemo": ["score"],
        "parallel": ["lm", "nmt"],
        "marian": ["F0", "F1"],
    }.get(sample.name, ["A_1", "A_2", "B", "C_3", "x=y"])
    collector = Collector()
    for group in range(draw(st.integers(1, 3))):
        for k in range(2):
            features = {name: draw(numbers) for name in names}
            if sample.name == "fairseq":
                features["length"] = draw(st.integers(1, 5))
            columns = {}
            if sample.name == "moses-data":
                columns = {name: draw(st.integers(0, 9)) for name in STATISTICS}
                columns |= {"bleu.reference_length": 7, "bleu.length": columns["bleu.total_1"]}
            text = draw(words)
            # Equal candidates would become one.
            text = "" if sample.name == "moses-data" else f"{text} {k}"
            features[names[0]] += float(k) if sample.name == "moses-data" else 0.0
            collector.add(group, text, features, columns)
        if sample.name in {"fairseq", "kaldi", "jsonl"}:
            tokens = tokenize(f"{draw(words)}\n".encode(), collector.vocabulary)
            collector.add_references(group, [tokens[0]], "test")
    return collector.finish()


@given(st.data())
def test_any_set_comes_back_value_for_value(tmp_path_factory, data):
    sample = data.draw(st.sampled_from(SAMPLES))
    found = data.draw(sets(sample))
    folder = tmp_path_factory.mktemp("any")
    try:
        sample.write(found, folder)
    except UsageError as error:
        assert "|||" in str(error) or "candidates" in str(error)  # noqa: PT017
        assume(False)
    per_source = "per-source=" in sample.format
    spec = f"{sample.name}:per-source=2" if per_source else sample.name
    scores = {name: folder / path for name, path in sample.scores.items()}
    assert whole(read(folder / sample.first, format=spec, scores=scores)) == whole(found, True)


@given(st.data())
def test_bars_are_recognised_by_one_format_alone(data):
    sample = data.draw(st.sampled_from([s for s in SAMPLES if "|||" in s.files[s.first]]))
    found = data.draw(sets(sample))
    writer = FORMATS.create(sample.name)
    assume("|||" not in found.vocabulary)
    order = np.arange(len(found))
    text = "\n".join([*writer.lines(found, order, np.zeros(len(found))), ""]).encode()
    known = [name for name in FORMATS.names() if FORMATS.get(name).recognises(text)]
    assert known == [{"joshua": "cdec"}.get(sample.name, sample.name)]
    collector = Collector()
    FORMATS.create(known[0]).read(Source("again", text), collector)
    assert whole(collector.finish()) == whole(found)
