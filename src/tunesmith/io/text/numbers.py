"""Parsing and printing decimal numbers, with exactly the values that Python gives them."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Bytes, Number
from tunesmith.errors import FormatError
from tunesmith.io.text.swar import (
    BITS,
    TOPS,
    bytes_below,
    first_of,
    leading_zeros,
    marks_of,
    word_at,
)
from tunesmith.kernels import inlined, kernel

_DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

#: A message shows at most this many characters of what is not a number.
SHOWN = 60

# 10^0 to 10^22 are exact in binary64.
_POWERS = np.array([float(f"1e{k}") for k in range(23)])
#: Exponents of ten for which there are powers of five below.
_LARGEST_POWER = 128
#: Significant digits that are read: a number of 64 bits has room for so many.
_DIGITS = 18
#: The largest whole number up to which all are exact in binary64.
_EXACT = 1 << 53


def _powers_of_five() -> NDArray[np.uint64]:
    """Return the first 128 bits of 5^k, from k = -128 on; those of negative k rounded up."""
    words = []
    for k in range(-_LARGEST_POWER, _LARGEST_POWER + 1):
        power = 5 ** abs(k)
        if k < 0:
            # 2^b / 5^-k has 128 bits, and more where 5^-k has more than 64.
            size = (power - 1).bit_length()
            power = (1 << (2 * size + 128 if k < -27 else size + 127)) // power + 1
        shift = power.bit_length() - 128
        power = power >> shift if shift > 0 else power << -shift
        words.append((power >> 64, power & (1 << 64) - 1))
    return np.array(words, np.uint64)


_FIVES = _powers_of_five()
# 2^-512 to 2^512.
_TWOS = np.array([2.0**k for k in range(-512, 513)])
_0, _1, _3, _7, _8, _9, _32, _63 = map(np.uint64, (0, 1, 3, 7, 8, 9, 32, 63))
_BYTE, _LOW, _ALL = np.uint64(0xFF), np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFFFFFFFF)

# Bytes of a word of eight, see swar; and a point, less a zero.
_POINT = 46 ^ 48
_ZEROS, _SIXES = np.uint64(0x3030303030303030), np.uint64(0x7676767676767676)


@kernel
def parse_decimal(data: Bytes, lo: int, hi: int) -> Number:
    """Return the number in ``data[lo:hi]``, or NaN if it is not known to be exact here.

    Numbers of up to 18 significant digits, but for the very large and the very small, are exact
    here. Everything else, including text that is not a number, is left to :func:`float_or_nan`.
    """
    i = lo
    negative = False
    if i < hi and (data[i] == 45 or data[i] == 43):
        negative = data[i] == 45
        i += 1
    first = i
    mantissa: Number = 0
    digits = 0
    exponent: Number = 0
    point = 0
    while i < hi:
        if mantissa != 0 and digits <= _DIGITS - 8 and i + 8 <= hi:
            word = _ZEROS ^ word_at(data, i)
            if (word | (word + _SIXES)) & TOPS == _0:
                mantissa = mantissa * 100_000_000 + _eight_digits(word)
                digits += 8
                exponent -= 8 * point
                i += 8
                continue
        c = np.int64(data[i]) - 48
        if 0 <= c <= 9 and digits <= _DIGITS:
            mantissa = mantissa * 10 + c
            digits += mantissa != 0
            exponent -= point
        elif c == -2 and point == 0:
            point = 1
        else:
            break
        i += 1
    if i - first == point or digits > _DIGITS:
        return np.nan
    if i < hi:
        if data[i] != 101 and data[i] != 69:
            return np.nan
        i += 1
        minus = False
        if i < hi and (data[i] == 45 or data[i] == 43):
            minus = data[i] == 45
            i += 1
        if i == hi or hi - i > 4:
            return np.nan
        power: Number = 0
        while i < hi:
            c = np.int64(data[i]) - 48
            if c < 0 or c > 9:
                return np.nan
            power = power * 10 + c
            i += 1
        exponent += -power if minus else power
    if mantissa == 0:
        return 0.0  # it has no sign, so that candidates that differ only in it are equal
    value = _rounded(mantissa, exponent)
    return -value if negative else value


@kernel
def parse_plain(data: Bytes, i: int, stop: int) -> tuple[Number, Number]:
    """Parse a plain number that begins at i and ends at white space or at a byte, in one pass.

    Returns the number and its end; the end is -1 if the number is not plain: at most 18
    significant digits, perhaps with a point and a minus sign.
    """
    negative = data[i] == 45
    if negative:
        i += 1
    value, size = 0.0, 0
    if i + 9 <= data.shape[0]:
        value, size = short_decimal(word_at(data, i), data[i + 8])
    end = i + size
    if size == 0:
        value, end = parse_digits(data, i)
    if 0 <= end < data.shape[0]:
        c = np.int64(data[end])
        if c not in (stop, 32, 9, 10, 13):
            return 0.0, -1
    return -value if negative and value != 0.0 else value, end


@inlined
def short_decimal(word: Number, ninth: Number) -> tuple[Number, Number]:
    """Return the number at the beginning of a word, and its size in bytes, 0 if it is none.

    There are digits, perhaps with a point between them, eight bytes at most with the byte that
    comes ninth being another.
    """
    # Without branches: whether there is a point, and where, cannot be foreseen.
    digits = word ^ _ZEROS
    marks = (digits | (digits + _SIXES)) & TOPS  # of what is no digit
    below = bytes_below(marks)
    point = np.int64(((below + _1) << _7 & marks_of(digits, _POINT)) != _0)
    whole = first_of(marks)
    size = first_of(marks & (marks - np.uint64(point)))
    below |= np.uint64(point) - _1
    digits = (digits & below) | ((digits >> _8) & ~below)
    count = size - point
    after = np.int64(ninth) if size == 8 else np.int64((word >> (np.uint64(size) << BITS)) & _BYTE)
    value = 0.0
    if count > 0 and after != 46 and (after < 48 or after > 57):
        value = float(_eight_digits(digits << (np.uint64(8 - count) << BITS)))
        value /= _POWERS[(size - whole - 1) * point]
    else:
        size = 0
    return value, size


@kernel
def parse_digits(data: Bytes, i: int) -> tuple[Number, Number]:
    """Read digits, perhaps with a point between them, and return the number and their end."""
    n = data.shape[0]
    first = i
    mantissa: Number = 0
    digits = 0
    point = -1
    while i < n:
        if mantissa != 0 and digits <= _DIGITS - 8 and i + 8 <= n:
            word = _ZEROS ^ word_at(data, i)
            if (word | (word + _SIXES)) & TOPS == _0:
                mantissa = mantissa * 100_000_000 + _eight_digits(word)
                digits += 8
                i += 8
                continue
        c = np.int64(data[i]) - 48
        if 0 <= c <= 9 and digits <= _DIGITS:
            mantissa = mantissa * 10 + c
            digits += mantissa != 0
        elif c == -2 and point < 0:
            point = i
        else:
            break
        i += 1
    if i - first == (point >= 0) or digits > _DIGITS:
        return 0.0, -1
    if mantissa == 0:
        return 0.0, i
    value = _rounded(mantissa, point - i + 1 if point >= 0 else 0)
    return value, i if value > 0.0 else -1


@inlined
def _eight_digits(word: Number) -> Number:
    """Return the number of eight digits, the first of which is in the lowest byte."""
    word = (word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(2561) >> np.uint64(8)
    word = (word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601) >> np.uint64(16)
    return np.int64((word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001) >> _32)


@kernel
def _rounded(mantissa: int, exponent: int) -> Number:
    """Return the double nearest to ``mantissa`` times a power of ten, NaN if it is not known.

    The mantissa is positive. Where both are exact, there is one rounding (Clinger 1990). Otherwise
    128 bits of the power of five decide, which is nearly always enough (Lemire 2021, "Number
    parsing at a gigabyte per second", algorithm 1).
    """
    if mantissa <= _EXACT and -23 < exponent < 23:
        value: Number = float(mantissa)
        return value / _POWERS[-exponent] if exponent < 0 else value * _POWERS[exponent]
    if exponent < -_LARGEST_POWER or exponent > _LARGEST_POWER:
        return np.nan
    shift = leading_zeros(np.uint64(mantissa))
    word = np.uint64(mantissa) << shift
    row = exponent + _LARGEST_POWER
    high, low = _product(word, _FIVES[row, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        carry, _ = _product(word, _FIVES[row, 1])
        low += carry
        if low < carry:
            high += _1
    if low == _ALL and (exponent < -27 or exponent > 55):
        return np.nan
    top = high >> _63
    # 53 bits and one to round by.
    bits = high >> (top + np.uint64(9))
    if (
        low <= _1
        and -4 <= exponent <= 23
        and bits & _3 == _1
        and bits << (top + np.uint64(9)) == high
    ):
        bits &= ~_1  # between two doubles: to the even one
    bits = (bits + (bits & _1)) >> _1
    # 152170 / 2^16 is the logarithm of five to the base of two.
    power = (((152170 + 65536) * exponent) >> 16) + 63 + np.int64(top) - np.int64(shift) - 52
    return float(np.int64(bits)) * _TWOS[power + 512]


@inlined
def _product(a: Number, b: Number) -> tuple[Number, Number]:
    """Return the upper and the lower 64 bits of a product."""
    a_low, a_high, b_low, b_high = a & _LOW, a >> _32, b & _LOW, b >> _32
    low = a_low * b_low
    first = a_high * b_low + (low >> _32)
    second = a_low * b_high + (first & _LOW)
    return a_high * b_high + (first >> _32) + (second >> _32), a * b


def float_or_nan(text: bytes | str) -> float:
    """Return the number in ``text``, NaN if it is not a number or not finite."""
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    # Python also accepts '_', digits of other scripts and white space around the number.
    if not text.isascii() or "_" in text or text[:1].isspace() or text[-1:].isspace():
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value + 0.0 if math.isfinite(value) else math.nan


def parse_number(text: bytes | str, path: str, line: int, quantity: str) -> float:
    """Return the number in ``text``; raise an error if it is not a finite number."""
    value = float_or_nan(text)
    if math.isnan(value):
        raise number_error(text if isinstance(text, bytes) else text.encode(), path, line, quantity)
    return value


def shortest(value: float) -> str:
    """Format a number with the fewest digits that give the same number when parsed."""
    return repr(float(value)).removesuffix(".0")


def number_error(text: bytes, path: str, line: int | None, quantity: str) -> FormatError:
    """Return the error that says why ``text`` is not accepted as a number."""
    shown = text.decode("utf-8", "replace")
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]} ..."
    unsigned = text.lstrip(b"+-").lower()
    if _DECIMAL.fullmatch(text) or unsigned in {b"nan", b"inf", b"infinity"}:
        problem = f"{quantity} is {shown}, which is not finite"
        return FormatError(path, line, problem, "give a finite number")
    return FormatError(path, line, f"{quantity} is '{shown}', not a number", "give a number")
