from __future__ import annotations

import tempfile
from dataclasses import dataclass, field

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.errors import TunesmithError
from tunesmith.parallel.remote.packing import ALIGNMENT, map_block, pack, unpack

KINDS = [np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, np.complex128]

arrays = st.sampled_from(KINDS).flatmap(
    lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
)


@dataclass(frozen=True)
class Node:
    name: str
    values: np.ndarray
    children: tuple[Node, ...] = ()
    more: dict[str, np.ndarray] = field(default_factory=dict)


nodes = st.recursive(
    st.builds(Node, st.text(max_size=5), arrays),
    lambda inner: st.builds(
        Node,
        st.text(max_size=5),
        arrays,
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), arrays, max_size=3),
    ),
    max_leaves=6,
)


def through_file(value):
    with tempfile.TemporaryFile() as file:
        pack(value).write(file)
        file.flush()
        return unpack(map_block(file.fileno()))


def assert_equal(one, other):
    assert (one.name, len(one.children)) == (other.name, len(other.children))
    pairs = [(one.values, other.values), *((one.more[k], other.more[k]) for k in one.more)]
    assert one.more.keys() == other.more.keys()
    for a, b in pairs:
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
    for a, b in zip(one.children, other.children, strict=True):
        assert_equal(a, b)


@given(nodes)
def test_values_come_back_as_they_were(node):
    block = pack(node)
    assert len(block.block()) == block.nbytes
    assert_equal(unpack(block.block()), node)
    assert_equal(unpack(bytearray(block.block())), node)
    assert_equal(through_file(node), node)


def views():
    base = np.arange(60.0).reshape(3, 4, 5)
    yield base
    yield np.asfortranarray(base)
    yield base[:, ::2]
    yield base[::-1]
    yield base.transpose(2, 0, 1)
    yield base[:0]
    yield np.array(3.0)
    yield np.arange(6, dtype=">i4")
    yield np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    yield np.array([1, "two", None], dtype=object)
    yield np.array(["ä", "bcd"])


@pytest.mark.parametrize("array", list(views()))
def test_arrays_of_every_kind_can_be_written_to(array):
    for copy in (unpack(pack(array).block()), through_file(array)):
        assert (copy.dtype, copy.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(copy, array)
        assert copy.flags.writeable
        assert copy.flags.aligned
        if copy.flags.f_contiguous or copy.flags.c_contiguous:
            assert copy.flags.c_contiguous or array.flags.f_contiguous


def test_a_mapped_array_does_not_need_its_file(tmp_path):
    array = np.memmap(tmp_path / "a", np.float64, "w+", shape=(2000,))
    array[:] = np.arange(2000)
    block = pack(array)
    assert [b.nbytes for b in block.buffers] == [16_000]
    copy = unpack(block.block())
    del array
    (tmp_path / "a").unlink()
    assert type(copy) is np.ndarray
    np.testing.assert_array_equal(copy, np.arange(2000))


def test_arrays_are_not_copied_and_lie_aligned():
    values = [np.arange(k, dtype=np.uint8) for k in (1, 63, 64, 65, 1000)]
    block = pack(values)
    for value, buffer in zip(values, block.buffers, strict=True):
        assert np.shares_memory(value, np.frombuffer(buffer, np.uint8))
    memory = np.frombuffer(bytearray(block.block()), np.uint8)
    for copy in unpack(memory):
        assert np.shares_memory(copy, memory)
        assert (copy.ctypes.data - memory.ctypes.data) % ALIGNMENT == 0


def test_what_one_writes_another_does_not_see():
    with tempfile.TemporaryFile() as file:
        pack(np.zeros(10_000)).write(file)
        file.flush()
        one, other = (unpack(map_block(file.fileno())) for _ in range(2))
        one[5] = 1.0
        assert other.sum() == 0.0
        assert unpack(map_block(file.fileno())).sum() == 0.0
    assert one.sum() == 1.0  # the file is closed


def test_the_same_array_twice_is_packed_once():
    array = np.arange(1000.0)
    first, second = unpack(pack((array, array)).block())
    assert first is second
    assert pack((array, array)).nbytes < 1.5 * array.nbytes


def test_sparse_matrices():
    matrix = scipy.sparse.random_array((30, 40), density=0.1, rng=np.random.default_rng(0))
    copy = unpack(pack(matrix.tocsr()).block())
    assert (copy != matrix.tocsr()).nnz == 0
    copy.data[:] = 0.0


def test_what_cannot_be_packed_is_named():
    with pytest.raises(
        TunesmithError, match=r"^dict cannot be sent to another process: .*; define"
    ):
        pack({"a": lambda: 1})
