"""Whether bytes are UTF-8, without making text of them."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Bytes
from tunesmith.errors import FormatError
from tunesmith.kernels import kernel

#: Bytes that one vectorised count looks at.
BLOCK = 64


def check_utf8(block: bytes, name: str, first_line: int) -> None:
    """Raise an error that names the line if a block is not UTF-8.

    NUL is refused too: it has no place in text and shows that a file is UTF-16 or binary.
    """
    at = first_error(np.frombuffer(block, np.uint8))
    if at >= 0:
        line = first_line + block.count(b"\n", 0, at)
        if block[at] == 0:
            raise FormatError(name, line, "a NUL byte", "is it a text file, in UTF-8?")
        problem = f"byte 0x{block[at]:02x} is not UTF-8"
        raise FormatError(name, line, problem, "convert the file to UTF-8")


@kernel
def first_error(data: Bytes) -> int:
    """Return the first byte that does not belong (Unicode standard, table 3-7), or -1."""
    n = data.shape[0]
    i = 0
    while i < n:
        part = data[i : min(i + BLOCK, n)]
        high = 0
        for k in range(part.shape[0]):
            high += (part[k] >= 0x80) | (part[k] == 0)
        if high == 0:
            i += BLOCK
            continue
        end = min(i + BLOCK, n)
        while i < end:
            c = data[i]
            if 0 < c < 0x80:
                i += 1
                continue
            low, top = 0x80, 0xBF
            if 0xC2 <= c <= 0xDF:
                more = 1
            elif 0xE0 <= c <= 0xEF:
                more = 2
                low = 0xA0 if c == 0xE0 else low
                top = 0x9F if c == 0xED else top
            elif 0xF0 <= c <= 0xF4:
                more = 3
                low = 0x90 if c == 0xF0 else low
                top = 0x8F if c == 0xF4 else top
            else:
                return i
            for k in range(1, more + 1):
                if i + k >= n or data[i + k] < low or data[i + k] > top:
                    return i
                low, top = 0x80, 0xBF
            i += more + 1
    return -1
