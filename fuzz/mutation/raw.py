"""Changes of bytes, whatever they mean."""

from __future__ import annotations

import random
import struct

#: Numbers near the ends of what fits into 1, 2, 4 and 8 bytes.
EXTREMES = tuple(
    struct.pack(form, value)
    for form, values in (
        ("<b", (-128, -1, 0, 1, 127)),
        ("<h", (-32768, -1, 0, 1, 255, 32767)),
        ("<i", (-(2**31), -1, 0, 1, 2**16, 2**31 - 1)),
        ("<q", (-(2**63), -1, 0, 1, 2**31, 2**32, 2**62, 2**63 - 1)),
        ("<d", (float("nan"), float("inf"), float("-inf"), -0.0, 1e308, 5e-324)),
    )
    for value in values
)
#: Bytes that mean something somewhere, or are no UTF-8.
PIECES = (
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80",
    b"\r",
    b"\r\n",
    b"\n",
    b"\x1f\x8b\x08",
    b"BZh9",
    b"\xfd7zXZ\x00",
    b"\x28\xb5\x2f\xfd",
    b"PAR1",
    b"ARROW1",
)


def changed(rng: random.Random, data: bytes) -> bytes:
    """Make one change."""
    if not data:
        return rng.choice(PIECES)
    return rng.choice(WAYS)(rng, data)


def flip(rng: random.Random, data: bytes) -> bytes:
    """Change one bit."""
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def set_byte(rng: random.Random, data: bytes) -> bytes:
    """Change one byte."""
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def put_extreme(rng: random.Random, data: bytes) -> bytes:
    """Put a number near the end of its range over what is there."""
    value = rng.choice(EXTREMES)
    at = rng.randrange(len(data))
    if rng.random() < 0.7:
        at -= at % len(value)
    return data[:at] + value + data[at + len(value) :]


def insert(rng: random.Random, data: bytes) -> bytes:
    """Put some bytes between others."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(PIECES) + data[at:]


def _run(rng: random.Random, data: bytes) -> tuple[int, int]:
    begin = rng.randrange(len(data))
    return begin, min(len(data), begin + rng.choice((1, 1, 2, 4, 8, 16, 64)))


def delete(rng: random.Random, data: bytes) -> bytes:
    """Leave some bytes out."""
    begin, end = _run(rng, data)
    return data[:begin] + data[end:]


def repeat(rng: random.Random, data: bytes) -> bytes:
    """Repeat some bytes."""
    begin, end = _run(rng, data)
    return data[:end] + data[begin:end] * rng.choice((1, 1, 2, 7)) + data[end:]


def copy(rng: random.Random, data: bytes) -> bytes:
    """Put some bytes over others."""
    begin, end = _run(rng, data)
    at = rng.randrange(len(data))
    return data[:at] + data[begin:end] + data[at + end - begin :]


def truncate(rng: random.Random, data: bytes) -> bytes:
    """Leave out the end."""
    return data[: rng.randrange(len(data) + 1)]


WAYS = (flip, flip, set_byte, put_extreme, insert, delete, repeat, copy, truncate)
