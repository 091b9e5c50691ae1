"""Our own Arrow files: mapped, checked, and the same set as it was."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunesmith as ts
from tests.helpers.builders import assert_same_set, random_set
from tests.helpers.tiers import examples
from tunesmith.data import memory
from tunesmith.errors import FormatError
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.tables import arrow, arrow_limits
from tunesmith.io.values import feature_values


def write(candidates, path):
    n = len(candidates)
    FORMATS.create("arrow").write(candidates, np.arange(n), np.zeros(n), path)
    return path


@given(
    seed=st.integers(0, 10**6),
    references=st.integers(0, 3),
    ids=st.sampled_from(["numbers", "texts"]),
)
@settings(max_examples=examples(60))
def test_a_set_comes_back_with_the_same_bits(tmp_path_factory, seed, references, ids):
    made = random_set(seed, references, ids)
    found = ts.read(write(made, tmp_path_factory.mktemp("arrow") / "set.arrow"))
    assert_same_set(found, made)
    assert found.features.names == made.features.names
    assert found.vocabulary == made.vocabulary
    assert found.texts.ids.tobytes() == made.texts.ids.tobytes()
    assert found.features.dense.tobytes() == made.features.dense.tobytes()


@pytest.mark.long
def test_it_is_mapped_and_never_changed(tmp_path):
    path = write(random_set(1), tmp_path / "set.arrow")
    before = path.read_bytes()
    found = ts.read(path)
    dense = found.features.dense
    assert dense.flags.writeable
    assert not dense.flags.owndata
    dense += 1.0
    assert path.read_bytes() == before


@given(seed=st.integers(0, 10**6))
@settings(max_examples=examples(20))
def test_candidates_are_written_in_the_order_asked_for(tmp_path_factory, seed):
    made = random_set(seed, 1, "numbers")
    rng = np.random.default_rng(seed)
    groups = zip(made.start[:-1], made.start[1:], strict=True)
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in groups])
    path = tmp_path_factory.mktemp("arrow") / "set.arrow"
    FORMATS.create("arrow").write(made, order, np.zeros(len(made)), path)
    found = ts.read(path)
    expected, written = feature_values(made), feature_values(found)
    assert list(written) == list(expected)
    for name, values in expected.items():
        assert written[name].tolist() == values[order].tolist()
    for name, values in made.columns.items():
        assert found.columns[name].tolist() == values[order].tolist()
    assert [found.text(i) for i in range(len(found))] == [made.text(i) for i in order]
    assert found.ids == made.ids
    assert found.start.tolist() == made.start.tolist()


def test_the_file_has_the_schema_and_one_record_batch(tmp_path):
    path = write(random_set(1), tmp_path / "set.arrow")
    with pa.memory_map(str(path)) as file:
        opened = pa.ipc.open_file(file)
        assert opened.schema.metadata[b"tunesmith.schema"] == b"candidates/1"
        assert opened.num_record_batches == 1


@pytest.mark.long
def test_it_tunes_to_the_same_bits_as_the_text(tmp_path, bundled):
    lists = ts.read(bundled / "tune.nbest.gz", bundled / "tune.ref")
    mapped = ts.read(write(lists, tmp_path / "set.arrow"))
    a, b = (ts.MERT(restarts=1).fit(ts.TuningSet(c), rng=3) for c in (lists, mapped))
    assert a.weights == b.weights
    assert a.score == b.score
    assert a.history == b.history


def test_references_are_added_to_it_or_take_the_place_of_its_own(tmp_path):
    made = random_set(5, references=0)
    path = write(made, tmp_path / "set.arrow")
    lines = [f"a new{g} word" for g in range(made.groups)]
    (tmp_path / "refs").write_text("\n".join(lines) + "\n")
    found = ts.read(path, tmp_path / "refs")
    assert [found.reference_texts(g) for g in range(made.groups)] == [[x] for x in lines]
    assert [found.text(i) for i in range(len(made))] == [made.text(i) for i in range(len(made))]
    own = write(random_set(5, references=1), tmp_path / "own.arrow")
    again = ts.read(own, tmp_path / "refs")
    assert again.reference_texts(0) == [lines[0]]


def test_it_is_merged_with_others_and_takes_score_files(tmp_path):
    a = random_set(11, references=1, sources=False, columns=False)
    path = write(a, tmp_path / "a.arrow")
    assert_same_set(ts.read([path, path]), a)
    lists = tmp_path / "b.nbest"
    lists.write_text("0 ||| brand new ||| lm= 4 extra= 2\n")
    refs = tmp_path / "refs"
    refs.write_text("x\n" * a.groups)
    for order in ([path, lists], [lists, path]):
        both = ts.read(order, refs)
        assert len(both) == len(a) + 1
        assert "extra" in both.features.names
    (tmp_path / "s").write_text("".join(f"{k}\n" for k in range(len(a))))
    scored = ts.read(path, scores={"new": tmp_path / "s"})
    assert scored.features.dense[scored.features.names.index("new")].tolist() == list(range(len(a)))


@pytest.mark.long
def test_compressed_and_from_standard_input(tmp_path):
    made = random_set(2)
    path = write(made, tmp_path / "set.arrow")
    packed = tmp_path / "set.arrow.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert_same_set(ts.read(packed), made)
    code = "import tunesmith as ts; print(len(ts.read('-')))"
    done = subprocess.run(
        [sys.executable, "-c", code], input=path.read_bytes(), capture_output=True, check=True
    )
    assert int(done.stdout) == len(made)


@given(seed=st.integers(0, 100), data=st.data())
@settings(max_examples=examples(150))
def test_damage_is_an_error_or_harmless(tmp_path_factory, seed, data):
    """Whatever byte is wrong: a clear error, or a set that can be used. Never a crash."""
    path = tmp_path_factory.mktemp("arrow") / "set.arrow"
    raw = bytearray(write(random_set(seed), path).read_bytes())
    kind = data.draw(st.sampled_from(["cut", "flip"]))
    at = data.draw(st.integers(8, len(raw) - 1))
    if kind == "cut":
        raw = raw[:at]
    else:
        raw[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(raw))
    try:
        found = ts.read(path)
    except FormatError:
        return
    found.features.dot(np.ones(len(found.features.names)) * 1e-300)
    assert len([found.text(i) for i in range(len(found))]) == len(found)


@pytest.mark.long
def test_neither_writing_nor_reading_copies_the_features(tmp_path):
    made, _ = ts.synthetic(100, 500, 200)
    size = made.features.dense.nbytes
    path = tmp_path / "set.arrow"
    for work in (lambda: ts.write(made, path), lambda: ts.read(path)):
        work()  # loads and compiles
        tracemalloc.start()
        work()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < size / 8
    cells = dict(arrow._cells(made, pa))
    assert cells["dense"].values.buffers()[1].address == made.features.dense.ctypes.data


@pytest.mark.parametrize("place", [0, 9, 10, 25, 39])
def test_no_number_escapes_the_check(tmp_path, monkeypatch, place):
    monkeypatch.setattr(arrow, "CHECKED", 10)
    made, _ = ts.synthetic(2, 5, 4)
    path = write(made, tmp_path / "set.arrow")
    ts.read(path)
    made.features.dense.reshape(-1)[place] = np.inf
    write(made, path)
    with pytest.raises(FormatError, match="not finite"):
        ts.read(path)


def test_arrays_that_do_not_fit_are_refused(tmp_path):
    path = write(random_set(4), tmp_path / "set.arrow")
    with pa.memory_map(str(path)) as file:
        batch = pa.ipc.open_file(file).get_batch(0)
        columns = {n: batch.column(n).to_pylist()[0] for n in batch.schema.names}

    def changed(name, value):
        cells = [
            pa.array([value if n == name else columns[n]], batch.schema.field(n).type)
            for n in batch.schema.names
        ]
        other = pa.record_batch(cells, schema=batch.schema)
        target = tmp_path / "bad.arrow"
        with pa.OSFile(str(target), "wb") as out, pa.ipc.new_file(out, batch.schema) as writer:
            writer.write_batch(other)
        return target

    bad = {
        "start": [0, *columns["start"][2:], columns["start"][-1] + 7],
        "text_ids": [i + 1000 for i in columns["text_ids"]],
        "text_start": [0] * len(columns["text_start"]),
        "dense": columns["dense"][:-1],
        "dense_names": ["lm"] * len(columns["dense_names"]),
        "reference_ids": [-1 for _ in columns["reference_ids"]],
        "columns": columns["columns"] + [1.0],
        "vocabulary": ["a b"] * len(columns["vocabulary"]),
        "sources": ["x"] * (len(columns["sources"]) + 1),
        "ids": [0] * (len(columns["ids"]) + 1),
    }
    for name, value in bad.items():
        with pytest.raises(FormatError, match="damaged"):
            ts.read(changed(name, value))
    finite = [float("nan"), *columns["dense"][1:]]
    with pytest.raises(FormatError, match="not finite"):
        ts.read(changed("dense", finite))


@pytest.mark.parametrize("name", ["ids", "vocabulary", "sources", "dense_names", "dense"])
def test_arrays_of_another_type_are_refused(tmp_path, name):
    path = write(random_set(4), tmp_path / "set.arrow")
    with pa.memory_map(str(path)) as file:
        batch = pa.ipc.open_file(file).get_batch(0)
    size = len(batch.column(name)[0])
    others = [
        pa.array([[None] * size], pa.large_list(pa.null())),
        pa.array([[1.5] * size], pa.large_list(pa.float32())),
        pa.array([[{"a": 1}] * size]),
        pa.array([[b"x"] * size], pa.large_list(pa.binary())),
        pa.array([[["x"]] * size]),
        pa.array(["x"]),
        pa.array([{"a": 1}]),
        pa.array([{"a": 1, "b": 2}]),
        None,
    ]
    for other in others:
        cells = {n: other if n == name else batch.column(n) for n in batch.schema.names}
        given = {n: cell for n, cell in cells.items() if cell is not None}
        held = pa.record_batch(list(given.values()), list(given))
        held = held.replace_schema_metadata(batch.schema.metadata)
        bad = tmp_path / "bad.arrow"
        with pa.OSFile(str(bad), "wb") as out, pa.ipc.new_file(out, held.schema) as writer:
            writer.write_batch(held)
        with pytest.raises(FormatError, match="damaged"):
            ts.read(bad)


def test_ids_are_kept_or_refused(tmp_path):
    path = tmp_path / "set.arrow"
    for ids in ([-1, -(2**63)], ["7", "x"], ["007"]):
        made = random_set(1)
        made = replace(
            made.chosen(made.start[:-1]),
            ids=(*ids, *(type(ids[0])(900 + k) for k in range(made.groups - len(ids)))),
        )
        assert ts.read(write(made, path)).ids == made.ids
    for ids in ([7, "x"], [1, 2**70]):
        made = ts.from_arrays(ids, {"f": [1.0, 2.0]})
        with pytest.raises(ts.TunesmithError, match=r"arrow has no place for the id .*write jsonl"):
            write(made, path)


@pytest.mark.long
@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_compressed_table_that_expands_without_bound_is_refused(
    tmp_path, monkeypatch, compression
):
    monkeypatch.setattr(arrow_limits, "MAX_RATIO", 20)
    monkeypatch.setattr(arrow_limits, "RATIO_FROM", 1 << 20)
    n = 1 << 20
    table = pa.table({"id": np.zeros(n, np.int64), "lm": np.zeros(n)})
    path = tmp_path / "bomb.arrow"
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as out:
        writer = pa.ipc.new_file(out, table.schema, options=options)
        writer.write_table(table)
        writer.close()
    with pytest.raises(FormatError, match="expands more than 20 times"):
        ts.read(path)
    # The same table without the limit is read.
    monkeypatch.setattr(arrow_limits, "MAX_RATIO", 10**6)
    monkeypatch.setattr("tunesmith.io.tables.base.MAX_RATIO", 10**6)
    assert len(ts.read(path)) == 1


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet", "moses", "cdec"])
def test_sets_go_to_disk_where_memory_is_short(tmp_path, monkeypatch, name):
    made = random_set(9, references=0, sources=False, columns=False)
    lists = tmp_path / "lists"
    n = len(made)
    FORMATS.create(name).write(made, np.arange(n), np.zeros(n), lists)
    expected = ts.read(lists)
    sizes = []
    real = memory._on_disk

    def counted(size):
        sizes.append(size)
        return real(size)

    monkeypatch.setattr(memory, "budget", lambda: 0)
    monkeypatch.setattr(memory, "_on_disk", counted)
    found = ts.read(lists)
    assert_same_set(found, expected)
    # Values and texts twice: as they were read, and put together.
    values, texts = found.features.dense.nbytes, found.texts.ids.nbytes
    assert sum(sizes) >= 2 * values + texts


def test_a_disk_without_room_is_one_line(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(memory, "budget", lambda: 0)
    monkeypatch.setattr(memory.os, "posix_fallocate", full)
    with pytest.raises(ts.TunesmithError, match=r"no space left on device.*set TMPDIR"):
        memory.own_pages((1000,), np.float64)


def test_more_than_a_disk_holds_is_not_even_begun(monkeypatch):
    monkeypatch.setattr(memory, "budget", lambda: 0)
    monkeypatch.setattr(memory.os, "posix_fallocate", None)
    with pytest.raises(ts.TunesmithError, match=r"no space left on device.*set TMPDIR"):
        memory.own_pages((1 << 40, 1 << 40), np.float64)


@pytest.mark.parametrize(("text", "size"), [("100", 100), ("2K", 2048), ("1.5M", 3 << 19)])
def test_the_budget_is_read_from_the_environment(monkeypatch, text, size):
    monkeypatch.setenv(memory.VARIABLE, text)
    assert memory.budget.__wrapped__() == size
    monkeypatch.setenv(memory.VARIABLE, "much")
    with pytest.raises(ts.TunesmithError, match="4G or 500M"):
        memory.budget.__wrapped__()
