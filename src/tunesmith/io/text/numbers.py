"""Parsing and printing decimal numbers, with exactly the values that Python gives them."""

from __future__ import annotations

import math
import re

import numpy as np

from tunesmith.arrays import Bytes, Number
from tunesmith.errors import FormatError
from tunesmith.kernels import kernel

_DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

#: A message shows at most this many characters of what is not a number.
SHOWN = 60

# 10^0 to 10^22 are exact in binary64.
_POWERS = np.array([float(f"1e{k}") for k in range(23)])


@kernel
def parse_decimal(data: Bytes, lo: int, hi: int) -> Number:
    """Return the number in ``data[lo:hi]``, or NaN if the fast path is not exact.

    A whole number up to 2^53 times or over a power of ten up to 10^22 is rounded
    once, so the result is the nearest double (Clinger 1990). Everything else,
    including text that is not a number, is left to :func:`float_or_nan`.
    """
    i = lo
    negative = False
    if i < hi and (data[i] == 45 or data[i] == 43):
        negative = data[i] == 45
        i += 1
    mantissa: Number = 0
    digits = 0
    exponent: Number = 0
    point = False
    while i < hi:
        c = np.int64(data[i]) - 48
        if 0 <= c <= 9 and digits < 19:
            mantissa = mantissa * 10 + c
            digits += 1
            if point:
                exponent -= 1
        elif c == -2 and not point:
            point = True
        else:
            break
        i += 1
    if digits == 0 or digits > 18:
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
    if mantissa > 9007199254740992 or exponent > 22 or exponent < -22:
        return np.nan if mantissa != 0 else 0.0
    value: Number = float(mantissa)
    if exponent < 0:
        value /= _POWERS[-exponent]
    else:
        value *= _POWERS[exponent]
    # Zero has no sign, so that candidates that differ only in it are equal.
    return -value if negative and value != 0.0 else value


@kernel
def parse_plain(data: Bytes, i: int, stop: int) -> tuple[Number, Number]:
    """Parse a plain number that begins at i and ends at white space or at a byte, in one pass.

    Returns the number and its end; the end is -1 if the number is not plain: at most 15 digits,
    perhaps with a point and a minus sign.
    """
    n = data.shape[0]
    negative = data[i] == 45
    if negative:
        i += 1
    mantissa: Number = 0
    digits = 0
    point = -1
    while i < n:
        c = np.int64(data[i]) - 48
        if 0 <= c <= 9 and digits < 16:
            mantissa = mantissa * 10 + c
            digits += 1
        elif c == -2 and point < 0:
            point = i
        else:
            break
        i += 1
    if digits == 0 or digits > 15:
        return 0.0, -1
    if i < n:
        c = np.int64(data[i])
        if c not in (stop, 32, 9, 10, 13):
            return 0.0, -1
    value = float(mantissa)
    if point >= 0:
        value /= _POWERS[i - point - 1]
    return -value if negative and mantissa != 0 else value, i


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
