from __future__ import annotations

import gzip
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_gzip_of_several_members_and_padding(tmp_path):
    path = tmp_path / "two.gz"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n") + b"\0" * 512)
    assert Source(path).read() == b"a\nb\n"


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
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert process.stderr.read().endswith(b"tunesmith: interrupted\n")
    process.stdin.close()
    process.stdout.close()
    process.stderr.close()
