"""The suite for formats of weights: all of ours pass, deliberately broken ones are caught."""

from __future__ import annotations

import re

import pytest

from tests.helpers.conformance import caught, failing
from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError
from tunesmith.io.weights.base import WEIGHTS_FORMATS
from tunesmith.testing import ConformanceError, check_weights_format, weights_format_checks

BUILT_IN = [
    check
    for name in WEIGHTS_FORMATS.names()
    for check in weights_format_checks(WEIGHTS_FORMATS.get(name))
]


@pytest.mark.parametrize("check", BUILT_IN)
def test_built_in_formats_of_weights_conform(check):
    check()


class Arrows:
    """Weights as ``name -> value`` a line."""

    name = "arrows"

    @staticmethod
    def recognises(head):
        return b" -> " in head.split(b"\n", 1)[0]

    def read(self, text, name):
        found = {}
        for number, line in enumerate(text.decode().splitlines(), 1):
            try:
                feature, value = line.split(" -> ")
                found[feature] = self.number(value)
            except ValueError:
                raise FormatError(name, number, "this is no weight", "write name -> 1") from None
            if not -1e309 < found[feature] < 1e309:
                raise FormatError(name, number, "a weight is not finite", "give a number")
        return Weights.from_dict(found)

    def number(self, text):
        return float(text)

    def write(self, weights, template):
        return "".join(f"{name} -> {self.shown(v)}\n" for name, v in weights.items()).encode()

    def shown(self, value):
        return repr(float(value))


def test_the_format_that_the_broken_ones_derive_from_conforms():
    assert failing(weights_format_checks(Arrows)) == {}


class LosesDigits(Arrows):
    def shown(self, value):
        return f"{value:.6g}"


class RecognisesAll(Arrows):
    @staticmethod
    def recognises(head):
        return True


class RecognisesPairs(Arrows):
    """Takes cdec's weights for its own."""

    @staticmethod
    def recognises(head):
        return re.match(rb"\S+ (-> )?[-\d]", head) is not None


class RaisesValueErrors(Arrows):
    def read(self, text, name):
        pairs = [line.split(" -> ") for line in text.decode().splitlines()]
        return Weights.from_dict({feature: float(value) for feature, value in pairs})


class SortsNames(Arrows):
    def write(self, weights, template):
        return super().write(Weights.from_dict({n: weights[n] for n in sorted(weights)}), template)


class KeepsOldValues(Arrows):
    def write(self, weights, template):
        old = self.read(template, "template") if template else {}
        return super().write(Weights.from_dict({**weights, **old}), b"")


class TakesAnyNumber(Arrows):
    def number(self, text):
        try:
            return min(max(float(text), -1.0e308), 1.0e308)
        except ValueError:
            return 0.0


class ReturnsText(Arrows):
    def write(self, weights, template):
        return super().write(weights, template).decode()


READ_BACK, AGAIN = "what_is_written_is_read_back", "a_file_is_written_again"
OTHERS, WRONG = "it_leaves_others_alone", "wrong_weights_are_an_error"
DAMAGED = "damaged_files_are_an_error"
BROKEN = [
    (LosesDigits, READ_BACK, {WRONG}, "repr(float(value))"),
    (RecognisesAll, OTHERS, set(), "recognises(b'') is True"),
    (RecognisesPairs, OTHERS, set(), "weights of the format"),
    (RaisesValueErrors, WRONG, {DAMAGED}, "not one line with the file's name"),
    (SortsNames, READ_BACK, {AGAIN}, "keep their order"),
    (KeepsOldValues, AGAIN, set(), "written again"),
    (TakesAnyNumber, READ_BACK, {WRONG}, "was -1.79"),
]


@pytest.mark.parametrize(
    ("made", "first", "others", "said"), BROKEN, ids=[case[0].__name__ for case in BROKEN]
)
def test_broken_formats_of_weights_are_caught(made, first, others, said):
    caught(weights_format_checks(made), first, others, said)


def test_bytes_are_asked_for():
    with pytest.raises(ConformanceError, match="write returns str; return bytes"):
        check_weights_format(ReturnsText())
