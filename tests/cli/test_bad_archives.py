"""Compressed and binary files that are damaged, or expand without bound."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import zstandard

from tests.helpers.builders import random_set
from tests.helpers.cli.commands import LISTS, Run, python
from tunesmith.io.write import write

pytestmark = pytest.mark.long

Refused = Callable[..., str]
Make = Callable[[str, str | bytes], Path]

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
#: Larger than the steps in which text is decompressed, and no multiple of them.
LARGE = "0 ||| a b c ||| f= 1 g= 2 ||| 0\n" * 40_000
#: Just as large as a step.
STEP = LISTS + "\n" * ((1 << 20) - len(LISTS))


@pytest.fixture(params=COMPRESS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def reading(refused: Refused, weights: Path) -> Refused:
    def run(path: Path) -> str:
        return refused("rerank", "--candidates", path, "--weights", weights, file=path)

    return run


def test_cut_off(reading: Refused, make: Make, kind: str) -> None:
    whole = COMPRESS[kind](LISTS.encode())
    for cut in (len(whole) // 2, len(whole) - 9, len(whole) - 1):
        assert "early" in reading(make(f"bad.{kind}", whole[:cut]))


def test_damaged(reading: Refused, make: Make, kind: str) -> None:
    whole = COMPRESS[kind](LISTS.encode())
    for at in (len(whole) // 2, len(whole) // 2 + 9, len(whole) // 3):
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        reading(make(f"bad.{kind}", bytes(damaged)))


def test_garbage_behind_it(reading: Refused, make: Make, kind: str) -> None:
    for text in (LISTS, LARGE):
        said = reading(make(f"bad.{kind}", COMPRESS[kind](text.encode()) + b"garbage, garbage"))
        assert "damaged" in said


def test_another_member_that_is_cut_off(reading: Refused, make: Make, kind: str) -> None:
    whole = COMPRESS[kind](LISTS.encode())
    assert "early" in reading(make(f"bad.{kind}", whole + whole[: len(whole) // 2]))


def test_compressed_twice(reading: Refused, make: Make, kind: str) -> None:
    twice = COMPRESS[kind](COMPRESS[kind](LISTS.encode()))
    assert "twice" in reading(make(f"bad.{kind}", twice))


def test_nothing_in_it(reading: Refused, make: Make, kind: str) -> None:
    assert "empty" in reading(make(f"bad.{kind}", COMPRESS[kind](b"")))


@pytest.mark.parametrize("padding", [b"", b"\0" * 512], ids=["", "padded"])
@pytest.mark.parametrize("text", [LISTS, LARGE, STEP])
def test_several_members(
    cli: Run, make: Make, weights: Path, kind: str, text: str, padding: bytes
) -> None:
    """A member may be longer than a step, or end with one, and others may follow."""
    if padding and kind == "zst":
        pytest.skip("tape drives pad with zeros, and write no Zstandard")
    member = COMPRESS[kind](text.encode())
    path = make(f"good.{kind}", member + member + COMPRESS[kind](b"7 ||| z ||| f= 1\n") + padding)
    found = cli("rerank", "--candidates", path, "--weights", weights)
    assert found.lines()[-1] == "z"


# Bombs: most would be gigabytes. All are read by one process, whose memory is measured.

LONG = "a " * (1 << 19)
ROWS = 5_000


def table(texts: Any) -> pa.Table:
    n = len(texts)
    return pa.table({"id": np.zeros(n, np.int64), "text": texts, "f": np.ones(n)})


def of_members(kind: str) -> bytes:
    """Many members, each of which is harmless."""
    first, zeros = COMPRESS[kind](LISTS.encode()), COMPRESS[kind](b"\n" * (20 << 20))
    return first + zeros * (6 if kind == "gz" else 100)


def dictionary() -> Any:
    """One long text, which all rows name."""
    indices = pa.array(np.zeros(ROWS, np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([LONG]))


def views() -> Any:
    """One long text, at which all rows look."""
    one = pa.array([LONG], pa.string_view())
    repeated = one.buffers()[1].to_pybytes() * ROWS
    buffers = [None, pa.py_buffer(repeated), one.buffers()[2]]
    return pa.Array.from_buffers(pa.string_view(), ROWS, buffers)


def as_parquet(made: pa.Table, **options: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(made, file, compression="zstd", **options)
    return file.getvalue()


def as_arrow(made: pa.Table, compression: str | None, stream: bool = False) -> bytes:
    file = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    opened = (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, made.schema, options=options)
    with opened as writer:
        writer.write_table(made)
    return file.getvalue()


#: Texts that begin as the one before, which this encoding does not repeat.
DELTA = {"text": "DELTA_BYTE_ARRAY", "id": "PLAIN", "f": "PLAIN"}
BOMBS: dict[str, Callable[[], bytes]] = {
    **{f"members.{kind}": lambda kind=kind: of_members(kind) for kind in COMPRESS},
    "dictionary.parquet": lambda: as_parquet(table(dictionary()), store_schema=False),
    "dictionary-type.parquet": lambda: as_parquet(table(dictionary())),
    "long.parquet": lambda: as_parquet(table([LONG] * 80), use_dictionary=False),
    "delta.parquet": lambda: as_parquet(
        table([LONG] * 150), use_dictionary=False, column_encoding=DELTA
    ),
    "rows.parquet": lambda: as_parquet(pa.table({"id": np.zeros(9_000_000, np.int8)})),
    "dictionary.arrow": lambda: as_arrow(table(dictionary()), None),
    "dictionary-stream.arrow": lambda: as_arrow(table(dictionary()), "zstd", True),
    "views.arrow": lambda: as_arrow(table(views()), None),
    "long.arrow": lambda: as_arrow(table([LONG] * 80), "zstd"),
    "long-stream.arrow": lambda: as_arrow(table([LONG] * 80), "zstd", True),
    "nothing.arrow": lambda: as_arrow(pa.table({"id": pa.nulls(2_000_000_000)}), None),
}
#: Megabytes that a process may have had at once; without any file it has about 170.
MOST = 900

SCRIPT = """
import json, re, sys
from pathlib import Path
from tunesmith.cli import main
found = {}
for path in sys.argv[2:]:
    code = main(["rerank", "--candidates", path, "--weights", sys.argv[1], "--out", "best"])
    most = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())
    found[path] = [code, int(most[1]) // 1024]
print(json.dumps(found))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures with /proc")
def test_bombs(tmp_path: Path, weights: Path) -> None:
    for name, made in BOMBS.items():
        (tmp_path / name).write_bytes(made())
    done = python("-c", SCRIPT, weights, *BOMBS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == len(BOMBS)
    for name, line in zip(BOMBS, lines, strict=True):
        assert line.startswith(f"tunesmith: error: {name}: the file expands more than "), line
    memory = json.loads(done.stdout)
    assert all(code == 2 for code, _ in memory.values())
    assert max(most for _, most in memory.values()) < MOST, memory
    assert not (tmp_path / "best").exists()


def test_xz_that_wants_much_memory(reading: Refused, make: Make) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 20}]
    data = bytearray(lzma.compress(LISTS.encode(), filters=filters))
    # The properties byte of LZMA2 is the size of its dictionary: 4 GB. The header's CRC follows.
    at = data.index(bytes([0x21, 0x01]), 12) + 2
    data[at] = 40
    header = data[12 : 12 + 4 * (data[12] + 1) - 4]
    data[12 + len(header) : 16 + len(header)] = lzma_crc(bytes(header))
    assert "memory" in reading(make("bad.xz", bytes(data)))


def lzma_crc(header: bytes) -> bytes:
    import zlib

    return zlib.crc32(header).to_bytes(4, "little")


def test_zst_that_wants_much_memory(reading: Refused, make: Make) -> None:
    options = zstandard.ZstdCompressionParameters.from_level(1, window_log=31, enable_ldm=True)
    stream = zstandard.ZstdCompressor(compression_params=options).compressobj()
    assert "memory" in reading(make("bad.zst", stream.compress(LISTS.encode()) + stream.flush()))


# Binary files with a byte changed; a crash of the library must not be ours

FLIPS = """
import json, random, sys
from pathlib import Path
from tunesmith.cli import main
for path in map(Path, sys.argv[1:]):
    data = path.read_bytes()
    for seed in range(16):
        rng = random.Random(f"{path.name} {seed}")
        changed = bytearray(data)
        at = rng.randrange(len(data))
        if seed % 4 == 0:
            del changed[at:]
        elif seed % 4 == 1:
            number = rng.choice([-1, 2**31 - 1, -(2**31), 1_000_000])
            changed[at : at + 4] = number.to_bytes(4, "little", signed=True)
        else:
            changed[at] ^= 1 << rng.randrange(8)
        bad = Path(f"bad{path.suffix}")
        bad.write_bytes(bytes(changed))
        form = path.suffix[1:]
        arguments = ["convert", "--candidates", str(bad), "--format", form, "--quiet"]
        print("\\n", path.name, seed, flush=True, file=sys.stderr)
        code = main([*arguments, "--to", "jsonl", "--out", "out"])
        assert code in (0, 2), (path, seed)
"""


def test_damaged_binary_files(tmp_path: Path) -> None:
    whole = table(["a b", "a", "c d e"])
    files = {
        "plain.arrow": as_arrow(whole, None),
        "stream.arrow": as_arrow(whole, "lz4", True),
        "views.arrow": as_arrow(whole.set_column(1, "text", [["a", LONG[:40], ""]]), None),
        "numbers.arrow": as_arrow(
            whole.set_column(1, "text", whole["text"].dictionary_encode()), "zstd"
        ),
        "plain.parquet": as_parquet(whole, use_dictionary=False, data_page_version="2.0"),
        "numbers.parquet": as_parquet(whole),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    write(random_set(3), tmp_path / "own.arrow")
    done = python("-c", FLIPS, *files, "own.arrow", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-1000:]
    assert "internal error" not in done.stderr
