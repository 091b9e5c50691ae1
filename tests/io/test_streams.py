from __future__ import annotations

import bz2
import fcntl
import gzip
import hashlib
import lzma
import os
import signal
import struct
import subprocess
import sys
import termios
import threading

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tiers import examples
from tests.helpers.waiting import PATIENCE, wait_until
from tunesmith.errors import FormatError, TunesmithError
from tunesmith.io import compression, streams
from tunesmith.io.streams import Source, check_writable, write_atomically, writing


@given(st.lists(st.binary(max_size=40), max_size=30).map(b"\n".join), st.booleans())
def test_blocks_are_whole_lines_and_make_up_the_text(data, compressed):
    import tempfile

    if not data:
        return
    with tempfile.NamedTemporaryFile() as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", 64)
        patch.setattr(streams, "CHUNK", 16)
        raw = gzip.compress(data) if compressed else data
        if data.startswith(tuple(compression.MAGIC.values())):
            return
        file.write(raw)
        file.flush()
        source = Source(file.name)
        blocks = list(source.blocks())
    assert b"".join(blocks) == data
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert source.sha256 == hashlib.sha256(raw).hexdigest()


COMPRESS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "zstd": lambda data: zstandard.ZstdCompressor(level=19).compress(data),
}
KINDS = list(COMPRESS)


@pytest.mark.parametrize("kind", KINDS)
def test_several_members_and_padding(tmp_path, kind):
    path = tmp_path / "two"
    pack = COMPRESS[kind]
    path.write_bytes(pack(b"a\n") + pack(b"b\n") + b"\0" * 512)
    assert Source(path).read() == b"a\nb\n"


@pytest.mark.parametrize("kind", KINDS)
@given(
    data=st.binary(min_size=1, max_size=5000), repeat=st.integers(1, 400), chunk=st.integers(1, 99)
)
@settings(max_examples=examples(25))
def test_every_kind_is_read_in_small_steps(kind, data, repeat, chunk):
    text = b"x" + data * repeat
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "CHUNK", chunk * 10)
        patch.setattr(streams, "BLOCK", 1000)
        patch.setattr(compression, "STEP", 1 + chunk)
        patch.setattr(compression, "ZSTD_STEP", 1 + chunk)
        source = Source("packed", COMPRESS[kind](text))
        assert b"".join(source.blocks()) == text


@pytest.mark.parametrize("kind", KINDS)
def test_truncation_and_damage_of_every_kind(tmp_path, kind):
    path = tmp_path / "bad"
    packed = COMPRESS[kind](os.urandom(3000))
    path.write_bytes(packed[:-5])
    with pytest.raises(FormatError, match=f"the {kind} data end too early"):
        Source(path).read()
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 0xFF
    flipped[6] ^= 0xFF
    path.write_bytes(bytes(flipped))
    with pytest.raises(FormatError, match=rf"{path}: the {kind} data (are damaged|end too early)"):
        Source(path).read()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_of_every_kind_is_refused_in_little_memory(tmp_path, kind):
    """80 MB of line ends in a small file, of which no more than needed is unpacked."""
    path = tmp_path / "bomb"
    path.write_bytes(COMPRESS[kind](b"\n" * (80 << 20)))
    size = path.stat().st_size
    done = 0
    with pytest.raises(FormatError, match="expands more than 500 times"):  # noqa: PT012
        for block in Source(path).blocks():
            done += len(block)
    assert done <= max(streams.RATIO_FROM, 500 * size) + (40 << 20)


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_what_is_written_under_its_ending_is_compressed(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    write_atomically(path, b"hello\n" * 1000)
    assert path.stat().st_size < 500
    assert Source(path).read() == b"hello\n" * 1000


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "bom"
    path.write_bytes(b"\xef\xbb\xbfa b\nc\n")
    assert Source(path).read() == b"a b\nc\n"
    assert list(Source(path).lines()) == [(1, "a b"), (2, "c")]


def test_lines_are_numbered_and_empty_ones_passed_over(tmp_path):
    source = Source("text", "a\n\n  \nü\r\nlast".encode())
    assert list(source.lines()) == [(1, "a"), (4, "ü"), (5, "last")]
    with pytest.raises(FormatError, match="text:2: byte 0xff is not UTF-8"):
        list(Source("text", b"a\n\xff\n").lines())


@pytest.mark.parametrize("cut", [1, 8, 9, 30])
def test_truncated_gzip_is_an_error(tmp_path, cut):
    path = tmp_path / "cut.gz"
    data = gzip.compress(os.urandom(1000))
    path.write_bytes(data[:-cut])
    with pytest.raises(FormatError, match="end too early"):
        Source(path).read()


def test_damaged_gzip_is_an_error(tmp_path):
    path = tmp_path / "bad.gz"
    data = bytearray(gzip.compress(os.urandom(1000)))
    data[500] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(FormatError, match="damaged"):
        Source(path).read()


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "RATIO_FROM", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\n" * (8 << 20), 9))
    with pytest.raises(FormatError, match="expands more than"):
        Source(path).read()


def test_a_reader_that_stops_early_leaves_no_thread(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"x\n" * (10 << 20))
    before = threading.active_count()
    blocks = Source(path).blocks()
    next(blocks)
    blocks.close()
    assert threading.active_count() == before


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")

    def write_half():
        with writing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]
    write_atomically(path, "new")
    assert path.read_text() == "new"


def test_a_device_is_written_to_not_replaced():
    write_atomically("/dev/null", "gone")
    assert not os.path.isfile("/dev/null")


def test_paths_that_cannot_be_written_are_found_first(tmp_path):
    with pytest.raises(TunesmithError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(TunesmithError, match="does not exist"):
        check_writable(tmp_path / "no" / "file")


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def unread(pipe):
    """Return how many bytes of a pipe nobody has read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs to look into a pipe")
def test_an_interrupt_while_standard_input_is_awaited(tmp_path):
    weights = tmp_path / "w.json"
    weights.write_text('{"f": 1}')
    command = [sys.executable, "-m", "tunesmith", "rerank", "--candidates", "-"]
    process = subprocess.Popen(
        [*command, "--weights", str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(b"0 ||| a ||| f= 1 ||| 0\n")
    process.stdin.flush()
    # It has read all that there is, and waits for more.
    wait_until(lambda: unread(process.stdin) == 0)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE) == 130
    assert process.stderr.read().endswith(b"tunesmith: interrupted\n")
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()


def test_a_mapped_file_has_the_digest_of_its_bytes_on_disk(tmp_path):
    path = tmp_path / "large"
    data = os.urandom(3 * streams.HASHED + 5)
    path.write_bytes(data)
    source = Source(path)
    mapped = source.buffer()
    assert bytes(mapped) == data
    mapped[:3] = b"new"  # memory alone
    assert source.sha256 == hashlib.sha256(data).hexdigest()
    assert path.read_bytes() == data


def test_a_mapped_file_that_is_cut_short_meanwhile(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(b"x" * (40 * streams.HASHED))
    source = Source(path)
    source.buffer()
    path.write_bytes(b"")
    assert len(source.sha256) == 64  # of what there was to read; the process lives


def test_a_digest_that_cannot_be_taken_is_an_error(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"some bytes")
    monkeypatch.setattr(os, "dup", lambda _: os.open(tmp_path, os.O_RDONLY))
    source = Source(path)
    source.buffer()
    with pytest.raises(FormatError, match="file: is a directory; name a file"):
        _ = source.sha256
