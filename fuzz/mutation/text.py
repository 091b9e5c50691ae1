"""Changes of lines, fields, numbers and separators."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

#: What may stand where a number is.
NUMBERS = (
    *(b"nan", b"NaN", b"-nan", b"inf", b"-inf", b"Infinity", b"1e400", b"-1e400", b"1e-400"),
    *(b"-0", b"-0.0", b"0", b"+1", b"1.", b".5", b"-.5e3", b"1e5", b"1E+05", b"0x10", b"1_000"),
    *(b"5e-324", b"1.7976931348623157e308", b"1.7976931348623159e308", b"2.2250738585072011e-308"),
    *(b"9007199254740993", b"2147483647", b"2147483648", b"-2147483649", b"4294967296"),
    *(b"9223372036854775807", b"9223372036854775808", b"18446744073709551616"),
    *(b"123456789012345678", b"1234567890123456789", b"00", b"007", b"1" * 400, b"-1", b"2", b"99"),
    *(b"0.1", b"0.30000000000000004", b"1e22", b"1e23", b"123456789.123456789e-7"),
    *("１２".encode(), "٣".encode(), "½".encode(), b"1,5", b"1 000", b"--1", b"1e", b"e5", b"-"),
)
#: What may stand where anything is.
ODD = (
    *(b"", b" ", b"\t", b"|||", b"|", b"||| |||", b"=", b"a=", b"=1", b"a=b=1", b"[0]", b"[1]"),
    *(b"[-1]", b"[99]", b"[X,1]", b"<s>", b"</s>", b"<eps>", b"<unk>", b"!NULL", b"#", b"\\"),
    *(b"'", b'"', b'""', b"\\'", b"\\x", b"\\u0000", b"(", b")", b"((", b"),)", b",", b",,", b":"),
    *("\u00a0".encode(), "\u2028".encode(), "\u0085".encode(), "\u3000".encode(), b"\x0b", b"\x1c"),
    *("é".encode(), "e\u0301".encode(), "\U0001f600".encode(), "\ufeff".encode(), b"\x00", b"\x7f"),
    *(b"null", b"true", b"%", b"%s", b"{}", b"[]", b"-", b"_", b".", b"..", b"/", b"../../x"),
    *(b"x" * 300, b"a" * 70000, b"(" * 2000, b"[" * 2000),
)
#: Separators, and what takes their place.
SEPARATORS = (
    *((b"|||", b"||"), (b" ||| ", b"|||"), (b"|||", b"|||||"), (b"=", b"= "), (b"= ", b"=")),
    *((b"\n", b"\r\n"), (b"\n", b"\r"), (b"\n", b"\n\n"), (b" ", b"\t"), (b"\t", b" ")),
    *((b" ", b"  "), (b" ", "\u00a0".encode()), (b",", b";"), (b",", b", "), (b":", b" : ")),
    *((b"-", b"_"), (b"'", b'"'), (b".", b","), (b"\n", b""), (b"\t", b""), (b"_", b"")),
)
NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
FIELD = re.compile(rb"\|\|\||[^\s=,:()\[\]{}'\"|]+|[=,:()\[\]{}'\"]")


def changed(rng: random.Random, data: bytes) -> bytes:
    """Make one change."""
    return rng.choice(WAYS)(rng, data)


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True) or [b""]


def delete_line(rng: random.Random, data: bytes) -> bytes:
    """Leave a line out."""
    lines = _lines(data)
    del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def repeat_line(rng: random.Random, data: bytes) -> bytes:
    """Write a line twice, there or elsewhere."""
    lines = _lines(data)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"".join(lines)


def swap_lines(rng: random.Random, data: bytes) -> bytes:
    """Exchange two lines."""
    lines = _lines(data)
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def cut_line(rng: random.Random, data: bytes) -> bytes:
    """End a line, or the file, too early."""
    lines = _lines(data)
    k = rng.randrange(len(lines))
    lines[k] = lines[k][: rng.randrange(len(lines[k]) + 1)]
    if rng.random() < 0.5:
        return b"".join(lines[: k + 1])
    return b"".join(lines)


def _spans(pattern: re.Pattern[bytes], data: bytes) -> list[tuple[int, int]]:
    return [found.span() for found in pattern.finditer(data)]


def _replaced(data: bytes, span: tuple[int, int], value: bytes) -> bytes:
    return data[: span[0]] + value + data[span[1] :]


def change_number(rng: random.Random, data: bytes) -> bytes:
    """Put another number, or something like one, in place of a number."""
    spans = _spans(NUMBER, data)
    if not spans:
        return data
    span = rng.choice(spans)
    if rng.random() < 0.3:
        now = data[slice(*span)]
        near = [b"-" + now, now + b"0", now + b".5", b"0" + now, now + b"e1", now[:-1], now * 2]
        if now.isdigit():
            near += [str(int(now) + 1).encode(), str(int(now) - 1).encode()]
        return _replaced(data, span, rng.choice(near))
    return _replaced(data, span, rng.choice(NUMBERS))


def change_field(rng: random.Random, data: bytes) -> bytes:
    """Change, leave out, repeat or exchange fields."""
    spans = _spans(FIELD, data)
    if not spans:
        return data + rng.choice(ODD)
    span, other = rng.choice(spans), rng.choice(spans)
    now, its = data[slice(*span)], data[slice(*other)]
    way = rng.randrange(5)
    if way == 0:
        return _replaced(data, span, b"")
    if way == 1:
        return _replaced(data, span, rng.choice(ODD))
    if way == 2:
        return _replaced(data, span, its)
    if way == 3:
        return _replaced(data, span, now + rng.choice((b" ", b"", b"\t")) + now)
    return _replaced(data, span, now + rng.choice(ODD))


def change_separators(rng: random.Random, data: bytes) -> bytes:
    """Write a separator otherwise, once or everywhere."""
    old, new = rng.choice(SEPARATORS)
    count = data.count(old)
    if not count:
        return data
    if rng.random() < 0.3:
        return data.replace(old, new)
    parts = data.split(old)
    k = rng.randrange(count)
    return old.join(parts[: k + 1]) + new + old.join(parts[k + 1 :])


def insert_odd(rng: random.Random, data: bytes) -> bytes:
    """Put something odd anywhere."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(ODD) + data[at:]


WAYS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    *(delete_line, repeat_line, swap_lines, cut_line, insert_odd, change_separators),
    *(change_number, change_number, change_number, change_field, change_field, change_field),
)
