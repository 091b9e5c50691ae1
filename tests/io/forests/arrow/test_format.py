"""Our own files of forests: round trips, blocks from disk, and whatever a file may say."""

from __future__ import annotations

import gc
import gzip
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.forests import drawn_forest, forest_set
from tests.helpers.io.forest_sets import drawn_set, some, whole
from tests.helpers.tiers import examples
from tunesmith.data import memory
from tunesmith.data.forests import ForestSet, cut, joined
from tunesmith.data.raw_forest import RawForest
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.inference.forests.derivations import best_derivations, texts_of
from tunesmith.io.forests.arrow import writer as forest_writer
from tunesmith.io.forests.arrow.store import StoredForests, open_forests
from tunesmith.io.forests.arrow.temporary import TemporaryForests, stored_like
from tunesmith.io.forests.read import read_forests
from tunesmith.io.forests.write import write_forests
from tunesmith.parallel.local import map_pieces, threads


def stored(path: Path) -> StoredForests:
    return open_forests(os.open(path, os.O_RDONLY), str(path))


@pytest.fixture
def small_batches(monkeypatch) -> None:
    """A record batch for each forest."""
    monkeypatch.setattr(forest_writer, "BATCH", 1)


@settings(max_examples=examples(50))
@given(drawn_set())
def test_round_trip(tmp_path_factory, forests: ForestSet) -> None:
    path = tmp_path_factory.mktemp("arrow") / "f.arrow"
    write_forests(forests, path)
    found = read_forests(path)
    assert isinstance(found, ForestSet)
    assert whole(found) == whole(forests)
    assert (found.names, found.vocabulary) == (forests.names, forests.vocabulary)
    for own, other in zip(found.arrays, forests.arrays, strict=True):
        np.testing.assert_array_equal(own, other, strict=True)
    assert whole(stored(path)) == whole(forests)


def test_ids_may_be_texts(tmp_path) -> None:
    held = replace(some(3), ids=("7", "b", "a"))
    write_forests(held, tmp_path / "f.arrow")
    assert read_forests(tmp_path / "f.arrow").ids == ("7", "b", "a")


@pytest.mark.parametrize("rows", [(0, 7), (0, 1), (6, 7), (2, 5), (3, 3)])
def test_blocks_are_what_they_are_in_memory(tmp_path, small_batches, rows) -> None:
    held = some()
    write_forests(held, tmp_path / "f.arrow")
    block = stored(tmp_path / "f.arrow").block(*rows)
    assert (block.first, block.last) == (0, rows[1] - rows[0])
    if rows[0] < rows[1]:
        parts = [cut(held.block(s, s + 1)) for s in range(*rows)]
        for own, other in zip(block.arrays, joined(parts), strict=True):
            np.testing.assert_array_equal(own, other, strict=True)


def test_the_file_is_many_batches_of_one_schema(tmp_path, small_batches) -> None:
    write_forests(some(), tmp_path / "f.arrow")
    with pa.OSFile(str(tmp_path / "f.arrow")) as file:
        opened = pa.ipc.open_file(file)
        assert opened.schema.metadata[b"tunesmith.schema"] == b"forests/1"
        assert opened.num_record_batches == 7
        table = opened.read_all()
    table.validate(full=True)
    assert table["node_edges"].to_pylist()[1] == [2, 1, 1]
    assert table["words"].to_pylist()[0] == [0, 1, 2, -2, 1, -1]
    assert table["new_words"].to_pylist()[:2] == [["w0", "w1", "w2"], []]
    assert table["references"].to_pylist()[1] == [[1], [0, 1]]


def test_kernels_work_on_blocks_from_disk_whatever_the_threads(tmp_path, monkeypatch) -> None:
    held = some(40)
    write_forests(held, tmp_path / "f.arrow")
    weights = np.array([0.5, -1.0, 2.0])
    expected = texts_of(held, best_derivations(held, weights))
    monkeypatch.setattr(memory, "budget", lambda: 1 << 14)
    on_disk = read_forests(tmp_path / "f.arrow")
    assert isinstance(on_disk, StoredForests)
    assert len(on_disk.pieces()) > 8
    for count in (1, 3):
        with threads(count):
            found = texts_of(on_disk, best_derivations(on_disk, weights))
            loaded = map_pieces(lambda p: on_disk.block(p.start, p.stop), on_disk.pieces())
        assert [found[s].tolist() for s in range(40)] == [expected[s].tolist() for s in range(40)]
        assert sum(len(block.arrays.covered) for block in loaded) == len(held.arrays.covered)


def test_what_a_hyperedge_takes_is_what_it_takes(tmp_path) -> None:
    held = some(30)
    write_forests(held, tmp_path / "f.arrow")
    found = stored(tmp_path / "f.arrow")
    size = found.bytes_per_edge * float(found.edges.sum())
    assert size == pytest.approx(found.block(0, 30).arrays.bytes, rel=0.05)


def test_in_the_order_of_numbers(tmp_path, monkeypatch) -> None:
    held = replace(some(4), ids=(9, 2, 30, 4), sources=("n", "t", "d", "v"))
    write_forests(held, tmp_path / "f.arrow")
    for size in (1 << 40, 0):
        monkeypatch.setattr(memory, "budget", lambda size=size: size)
        found = read_forests(tmp_path / "f.arrow")
        assert found.ids == (2, 4, 9, 30)
        assert found.edges.tolist() == held.edges[[1, 3, 0, 2]].tolist()
        assert whole(found) == whole(held)


def test_several_files_and_compressed_ones(tmp_path) -> None:
    held = some(4)
    write_forests(held, tmp_path / "a.arrow.gz")
    other = replace(
        held, ids=(10, 11, 12, 13), names=("f2", "x", "f0"), vocabulary=("w1", "q", "r")
    )
    write_forests(other, tmp_path / "b.arrow")
    assert whole(read_forests(tmp_path / "a.arrow.gz")) == whole(held)
    both = read_forests([tmp_path / "b.arrow", tmp_path / "a.arrow.gz"])
    assert whole(both) == {**whole(held), **whole(other)}
    assert set(both.names) == {"f0", "f1", "f2", "x"}


def test_counts_are_kept_in_temporary_files() -> None:
    held = some(5)
    counts = np.arange(3.0 * int(held.edges.sum())).reshape(-1, 3)
    arrays = held.arrays._replace(counts=counts)
    found = stored_like(held, [arrays], counts=3)
    expected = replace(held, arrays=arrays)
    assert whole(found) == whole(expected)
    np.testing.assert_array_equal(found.block(0, 5).arrays.counts, counts, strict=True)
    with pytest.raises(TunesmithError, match="different numbers of counts"):
        stored_like(held, [held.arrays], counts=2)


def test_counts_are_kept_in_files(tmp_path) -> None:
    held = some(3)
    arrays = held.arrays._replace(counts=np.ones((int(held.edges.sum()), 2)))
    write_forests(replace(held, arrays=arrays), tmp_path / "f.arrow")
    assert read_forests(tmp_path / "f.arrow").in_memory().arrays.counts.shape[1] == 2


@settings(max_examples=examples(25))
@given(st.lists(drawn_forest(), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_temporary_forests_may_change_their_order(parts, random) -> None:
    held = forest_set(parts, 3, 4)
    rows = list(range(len(parts)))
    random.shuffle(rows)
    spill = TemporaryForests()
    for part in parts:
        spill.add(part)
    found = spill.finish(
        [held.ids[k] for k in rows], held.names, held.vocabulary, rows=np.array(rows)
    )
    assert whole(found) == whole(held)
    assert found.edges.tolist() == held.edges[rows].tolist()


@pytest.mark.long
def test_files_are_closed_with_the_sets(tmp_path) -> None:
    def opened() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    write_forests(some(2), tmp_path / "f.arrow")
    before = opened()
    found = [stored(tmp_path / "f.arrow"), stored_like(some(2), [some(2).arrays])]
    assert opened() == before + 2
    del found
    assert opened() == before


def test_a_full_disk_is_one_line(monkeypatch) -> None:
    class Full:
        def __getattr__(self, name: str) -> object:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Full())
    with pytest.raises(TunesmithError, match=r"no space left on device; set TMPDIR to a folder"):
        TemporaryForests().add(some(1).arrays)


@pytest.mark.long
def test_what_has_been_read_does_not_stay_in_memory(tmp_path) -> None:
    """Resident memory after reading every block, of a file of 80 megabytes."""
    width = 200_000
    edge = np.arange(width + 1)
    values = np.ones(width)
    raw = RawForest(
        0, 1, 0, np.zeros(width, np.int64), edge * 0, edge[:0], edge, np.zeros(width, np.int32),
        values, edge, np.zeros(width, np.int32), np.full(1, -1, np.int32),
    )  # fmt: skip
    arrays, _ = raw.ordered()
    held = forest_set([arrays] * 16, 1, 1)
    write_forests(held, tmp_path / "f.arrow")
    assert os.path.getsize(tmp_path / "f.arrow") > 80 << 20
    code = (
        "import os, resource, sys\n"
        "from tunesmith.io.forests.arrow.store import open_forests\n"
        "f = open_forests(os.open(sys.argv[1], os.O_RDONLY), 'f')\n"
        "f.block(0, 1)\n"
        "now = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = now()\n"
        "[f.block(s, s + 1) and None for s in range(f.groups)]\n"
        "print(now() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "f.arrow"], capture_output=True, check=True
    )
    assert int(done.stdout) < 40 << 10  # kilobytes


@given(forests=drawn_set(), data=st.data())
@settings(max_examples=examples(100))
def test_damage_is_an_error_or_harmless(tmp_path_factory, forests: ForestSet, data) -> None:
    """Whatever byte is wrong: a clear error, or forests that can be used. Never a crash."""
    path = tmp_path_factory.mktemp("arrow") / "f.arrow"
    write_forests(forests, path)
    raw = bytearray(path.read_bytes())
    at = data.draw(st.integers(6, len(raw) - 1))
    if data.draw(st.booleans()):
        raw = raw[:at]
    else:
        raw[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(raw))
    try:
        found = read_forests(path)
        usable = found.in_memory()
    except FormatError:
        return
    weights = np.full(len(usable.names), 1e-300)
    texts = texts_of(usable, best_derivations(usable, weights))
    assert len([usable.join(texts[s]) for s in range(usable.groups)]) == usable.groups


def altered(path: Path, name: str, value: list) -> Path:
    """Write a file again with another column."""
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    columns = [
        pa.array(value, field.type) if field.name == name else table[field.name]
        for field in table.schema
    ]
    target = path.with_name("bad.arrow")
    other = pa.table(columns, schema=table.schema)
    with pa.OSFile(str(target), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(other)
    return target


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("node_edges", lambda v: [v[0], [*v[1][:-1], 2]], "its arrays do not fit together"),
        ("node_edges", lambda v: [v[0], [3, -1, *v[1][2:]]], "its arrays do not fit together"),
        ("node_edges", lambda v: [v[0], [3, 0, *v[1][2:]]], "its nodes are not in order"),
        ("node_edges", lambda v: [v[0], [2, 0, 2]], "do not fit together"),
        ("node_edges", lambda v: [v[0], []], "do not fit together"),
        ("covered", lambda v: [v[0], v[1][1:]], "do not fit together"),
        ("covered", lambda v: [v[0], [-2, *v[1][1:]]], "do not fit together"),
        ("edge_tails", lambda v: [v[0], v[1] + [0]], "do not fit together"),
        ("edge_tails", lambda v: [v[0], [1 << 30, -(1 << 30), *v[1][2:]]], "do not fit"),
        ("tails", lambda v: [v[0], [v[1][0], 5, *v[1][2:]]], "its nodes are not in order"),
        ("tails", lambda v: [v[0], [-1, *v[1][1:]]], "its nodes are not in order"),
        ("tails", lambda v: [v[0], [0] * len(v[1])], "its nodes are not in order"),
        ("words", lambda v: [v[0], [3, *v[1][1:]]], "its target sides do not fit together"),
        ("words", lambda v: [v[0], [-1, *v[1][1:]]], "its target sides do not fit together"),
        ("words", lambda v: [v[0], [-(1 << 31), *v[1][1:]]], "its target sides do not fit"),
        ("words", lambda v: [v[0], [max(w, 0) for w in v[1]]], "its target sides do not fit"),
        ("feature_ids", lambda v: [v[0], [3, *v[1][1:]]], "its features do not fit together"),
        ("feature_ids", lambda v: [v[0], [-1, *v[1][1:]]], "its features do not fit together"),
        ("feature_ids", lambda v: [v[0], [0] * len(v[1])], "its features do not fit together"),
        ("feature_values", lambda v: [v[0], [np.nan, *v[1][1:]]], "a number is not finite"),
        ("feature_values", lambda v: [v[0], v[1] + [1.0]], "do not fit together"),
        ("counts", lambda v: [v[0], [1.0]], "do not fit together"),
        ("id", lambda v: ["0", "0"], "a name, a word or an id comes twice"),
        ("id", lambda v: ["0", "01"], "an id is no number"),
        ("id", lambda v: ["0", "x"], "an id is no number"),
        ("new_names", lambda v: [["f", "f", "g"], []], "a name, a word or an id comes twice"),
        ("new_names", lambda v: [["f"], []], "its features do not fit together"),
        ("new_words", lambda v: [["a b", "c", "d"], []], "a word has white space in it"),
        ("new_words", lambda v: [["", "c", "d"], []], "a word has white space in it"),
        ("new_words", lambda v: [["a", "b", "a"], []], "a name, a word or an id comes twice"),
        ("new_words", lambda v: [["a"], []], "a word is not there"),
        ("source", lambda v: [["a", "b"], []], "a forest has two sources"),
        ("references", lambda v: [[[0]], []], "some forests have references and others have none"),
        ("references", lambda v: [[[0]], [[3]]], "a word is not there"),
        ("references", lambda v: [[[0]], [[-1]]], "a word is not there"),
        ("words", lambda v: [None, v[1]], "do not fit together"),
        ("words", lambda v: [v[0], [None, *v[1][1:]]], "do not fit together"),
    ],
)
def test_files_that_say_wrong_things_are_refused(tmp_path, name, change, message) -> None:
    path = tmp_path / "f.arrow"
    write_forests(some(2), path)
    with pa.OSFile(str(path)) as file:
        column = pa.ipc.open_file(file).read_all()[name].to_pylist()
    with pytest.raises(FormatError, match=rf"bad.arrow: the Arrow data are damaged .*{message}"):
        read_forests(altered(path, name, change(column)))


def test_other_arrow_files_are_refused(tmp_path) -> None:
    path = tmp_path / "f.arrow"
    write_forests(some(2), path)
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()

    def written(other: pa.Table, **options: object) -> Path:
        target = tmp_path / "other.arrow"
        how = pa.ipc.IpcWriteOptions(**options)
        with (
            pa.OSFile(str(target), "wb") as out,
            pa.ipc.new_file(out, other.schema, options=how) as writer,
        ):
            writer.write_table(other)
        return target

    with pytest.raises(FormatError, match=r"it looks like lists .* give lists with --candidates"):
        read_forests(written(pa.table({"id": [1]})))
    with pytest.raises(FormatError, match="these are no forests of ours"):
        read_forests(written(pa.table({"id": [1]})), format="arrow")
    with pytest.raises(FormatError, match="its columns are not those of forests"):
        read_forests(written(table.drop_columns(["words"])))
    with pytest.raises(FormatError, match="its numbers are compressed"):
        read_forests(written(table, compression="zstd"))
    with pytest.raises(FormatError, match="there is no forest in it"):
        read_forests(written(table.slice(0, 0)))
    path.write_bytes(gzip.compress(path.read_bytes())[:-40])
    with pytest.raises(FormatError, match="end too early"):
        read_forests(path)
    path.write_bytes(b"ARROW1\0\0")
    with pytest.raises(FormatError, match="damaged"):
        read_forests(path, format="arrow")
    with pytest.raises(FormatError, match="there are no forests in it"):
        read_forests(path)
