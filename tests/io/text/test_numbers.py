from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tunesmith.io.text.numbers import float_or_nan, parse_decimal, parse_plain, shortest


def as_bytes(text: str):
    return np.frombuffer(text.encode(), np.uint8)


decimals = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?[0-9]{1,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"-?[0-9]{1,7}\.[0-9]{1,6}", fullmatch=True),
)


@given(decimals)
@example("9007199254740993")
@example("-0")
@example("0e999")
@example("1e-22")
@example("1e23")
@example(".5")
@example("5.")
def test_a_number_is_read_as_python_reads_it_or_left_to_python(text):
    expected = float(text)
    quick = parse_decimal(as_bytes(text), 0, len(text))
    if not math.isnan(quick):
        assert quick == expected
        assert math.copysign(1, quick) == (1 if expected == 0 else math.copysign(1, expected))
    slow = float_or_nan(text.encode())
    assert slow == expected if math.isfinite(expected) else math.isnan(slow)


@given(st.floats(1e-90, 1e90), st.sampled_from(["", "-"]))
def test_what_python_writes_is_read_at_once(value, sign):
    text = f"{sign}{value!r}"
    assert parse_decimal(as_bytes(text), 0, len(text)) == float(text)
    plain, end = parse_plain(as_bytes(text), 0, 32)
    assert (plain, end) == ((0.0, -1) if "e" in text else (float(text), len(text)))


@given(st.integers(2**53, 10**18 - 1), st.integers(-150, 150))
@example(2**53 + 1, 0)
@example(2**53 + 3, 0)
@example(2**54 + 2, 0)
@example(2**54 + 6, 0)
@example((2**53 + 1) * 5, -1)
@example((2**53 + 1) * 25, -2)
@example(9223372036854775, 3)
def test_many_digits_are_rounded_as_python_rounds_them(mantissa, exponent):
    text = f"{mantissa}e{exponent}"
    value = parse_decimal(as_bytes(text), 0, len(text))
    assert value == float(text) or (math.isnan(value) and abs(exponent) > 128)


@given(st.integers(2**52, 2**53 - 1), st.integers(-60, 6))
def test_between_two_doubles_the_even_one_is_nearest(mantissa, power):
    """Halves of the last bit are written out, as far as they have few digits."""
    exact = Fraction(2 * mantissa + 1) * Fraction(2) ** power
    digits = exact * 10**4
    text = f"{digits.numerator // digits.denominator}e-4"
    if digits.denominator == 1 and len(text) < 22:
        assert parse_decimal(as_bytes(text), 0, len(text)) == float(text)


@given(st.text("0123456789.-e, \n", max_size=24))
def test_plain_numbers_end_where_digits_do(text):
    """A word of eight bytes has whatever comes behind the number."""
    number = re.match(r"-?(\d+\.?\d*|\.\d+)", text)
    data = as_bytes(text + " ")
    value, end = parse_plain(data, 0, ord(","))
    ends_well = number is not None and data[number.end()] in b", \n"
    significant = re.sub(r"^0+|\.", "", number[0].lstrip("-")) if number else ""
    if ends_well and len(significant.lstrip("0")) <= 18:
        assert (value, end) == (float(number[0]), number.end())
        assert math.copysign(1, value) == (1 if value == 0 else math.copysign(1, float(number[0])))
    else:
        assert end == -1


@given(decimals, st.sampled_from(["", " ", "\n", "\t"]))
def test_the_plain_way_is_exact_where_it_says_so(text, after):
    value, end = parse_plain(as_bytes(text + after), 0, 32)
    if end >= 0:
        assert end == len(text)
        assert value == float(text)


@pytest.mark.parametrize("text", ["44.1181", "-6.34396", "0", "-9", "123456789.123456"])
def test_what_decoders_write_goes_the_plain_way(text):
    assert parse_plain(as_bytes(text + " "), 0, 32) == (float(text), len(text))


@pytest.mark.parametrize(
    "text", ["", "-", ".", "1.2.3", "1e", "1e+", "nan", "inf", "0x10", "1_000", "1,5", "--1", "1-"]
)
def test_what_is_no_number_is_refused(text):
    assert math.isnan(parse_decimal(as_bytes(text + " ")[: len(text)], 0, len(text)))
    assert math.isnan(float_or_nan(text.encode()))
    assert parse_plain(as_bytes(text + " "), 0, 32)[1] == -1


@given(st.text("0123456789+-.eE_ \n\tnaif\N{ARABIC-INDIC DIGIT FIVE}") | st.floats().map(repr))
def test_text_and_bytes_follow_one_grammar(text):
    decimal = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text)
    expected = float(text) + 0.0 if decimal and math.isfinite(float(text)) else math.nan
    for value in (float_or_nan(text), float_or_nan(text.encode())):
        assert value == expected or (math.isnan(value) and math.isnan(expected))
        assert math.copysign(1.0, value) == math.copysign(1.0, expected) or math.isnan(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shortest_reads_back(value):
    assert float(shortest(value)) == value
