"""The suite for formats of candidates: all of ours pass, deliberately broken ones are caught."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from tests.helpers.conformance import caught, failing
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.lists.moses import MosesFormat
from tunesmith.io.values import feature_values
from tunesmith.registry import option
from tunesmith.testing import ConformanceError, NotApplicable, check_format, format_checks

#: Formats that are known by the names of their features.
NAMES = {
    "joshua": ("lm_0", "tm_pt_0", "tm_pt_1", "OOVPenalty"),
    "marian": ("F0", "F1", "F2", "F3"),
}
#: Formats that have to be told how many candidates a group has; the samples have three.
PER_SOURCE = {"nemo", "parallel"}


def checks_of(name: str):
    made = FORMATS.create(f"{name}:per-source=3" if name in PER_SOURCE else name)
    return format_checks(made, **({"features": NAMES[name]} if name in NAMES else {}))


BUILT_IN = [check for name in FORMATS.names() for check in checks_of(name)]


@pytest.mark.parametrize("check", BUILT_IN)
def test_built_in_formats_conform(check):
    check()


class Bars(CandidateFormat):
    """Id, text and features with § between them."""

    name = "paragraphs"

    @staticmethod
    def recognises(head):
        return head.split(b"\n", 1)[0].count("§".encode()) == 2

    def read(self, source, collector):
        for number, line in source.lines():
            try:
                group, text, features = self.parsed(line)
            except ValueError:
                raise FormatError(source.name, number, "no candidate", "write one") from None
            collector.add(group, text, features, place=(source.name, number))

    def parsed(self, line):
        group, text, pairs = line.split("§")
        named = [pair.rsplit("=", 1) for pair in pairs.split()]
        return int(group), text, {name: self.number(value) for name, value in named}

    def number(self, text):
        return float(text)

    def lines(self, candidates, order, scores):
        if not all(isinstance(i, int) for i in candidates.ids):
            raise UsageError("ids are texts; write jsonl")
        values = self.values(candidates)
        groups = np.repeat(candidates.ids, np.diff(candidates.start))
        for i in order:
            pairs = [f"{name}={self.shown(v[i])}" for name, v in values.items() if v[i]]
            yield f"{groups[i]}§{candidates.text(i)}§{' '.join(pairs)}"

    def values(self, candidates):
        return feature_values(candidates)

    def shown(self, value):
        return repr(float(value))


def test_the_format_that_the_broken_ones_derive_from_conforms():
    assert failing(format_checks(Bars)) == {}


class DropsTheLastLine(Bars):
    def read(self, source, collector):
        lines = list(source.lines())
        for number, line in lines[:-1] or lines:
            try:
                group, text, features = self.parsed(line)
            except ValueError:
                raise FormatError(source.name, number, "no candidate", "write one") from None
            collector.add(group, text, features, place=(source.name, number))


class NeedsTheLastEnd(Bars):
    """Takes what stands before each end of a line."""

    def read(self, source, collector):
        text = source.read()
        for line in text[: text.rfind(b"\n") + 1].decode(errors="replace").split("\n"):
            if line.strip():
                try:
                    group, words, features = self.parsed(line)
                except ValueError:
                    raise FormatError(source.name, None, "no candidate", "write one") from None
                collector.add(group, words, features, place=(source.name, None))


class ReadsOneBlock(Bars):
    def read(self, source, collector):
        block = next(iter(source.blocks())).decode(errors="replace")
        for line in filter(str.strip, block.split("\n")):
            try:
                group, text, features = self.parsed(line)
            except ValueError:
                raise FormatError(source.name, None, "no candidate", "write one") from None
            collector.add(group, text, features, place=(source.name, None))


class LosesDigits(Bars):
    def shown(self, value):
        return f"{value:.6f}"


class ReadsSingles(Bars):
    """Numbers of 32 bits, as far as they go."""

    def number(self, text):
        value = float(text)
        return float(np.float32(value)) if abs(value) < 1e38 else value


class LosesSparseFeatures(Bars):
    def values(self, candidates):
        features = candidates.features
        return dict(zip(features.dense_names, features.dense, strict=True))


class RecognisesEverything(Bars):
    @staticmethod
    def recognises(head):
        return True


class RecognisesNumbers(Bars):
    """Takes every list with a number and names for its own."""

    @staticmethod
    def recognises(head):
        line = head.split(b"\n", 1)[0]
        return line[:1].isdigit() and b"=" in line


class RecognisesNothing(Bars):
    @staticmethod
    def recognises(head):
        return head.startswith(b"PARAGRAPHS")


class StumblesOverHeads(Bars):
    @staticmethod
    def recognises(head):
        return head.split(b"\n")[0].decode().split("§")[1] != ""


class RaisesValueErrors(Bars):
    def read(self, source, collector):
        for _, line in source.lines():
            collector.add(*self.parsed(line))


class NamesNoFile(Bars):
    def read(self, source, collector):
        for number, line in source.lines():
            try:
                found = self.parsed(line)
            except ValueError:
                raise TunesmithError("a line is wrong; mend it") from None
            collector.add(*found, place=(source.name, number))


class TakesAnyNumber(Bars):
    """What is no finite number becomes 0."""

    def number(self, text):
        try:
            value = float(text)
        except ValueError:
            return 0.0
        return value if math.isfinite(value) else 0.0


class ForgetsTheOthers(Bars):
    """Clears the collector first."""

    def read(self, source, collector):
        collector.__init__()
        super().read(source, collector)


class WritesOneOrder(Bars):
    def lines(self, candidates, order, scores):
        return super().lines(candidates, [i for k, i in enumerate(order) if i >= k], scores)


class WritesMoses(MosesFormat):
    """Moses' lists under another name."""

    name = "also-moses"


@dataclass(frozen=True)
class Undocumented(Bars):
    """An option without a word about it."""

    strict: bool = option(False, "")


class RefusesAll(Bars):
    def lines(self, candidates, order, scores):
        raise UsageError("only on Sundays; write jsonl")


READ_BACK = "what_is_written_is_read_back"
DAMAGED = "damaged_files_are_an_error"
EMPTY = "empty_files_are_an_error"
OWN, OTHERS = "it_recognises_its_own", "it_leaves_others_alone"
NUMBERS = "values_that_are_no_numbers_are_refused"
BROKEN = [
    (DropsTheLastLine, READ_BACK, {"any_order_is_written"}, "4 candidates, had 5"),
    (NeedsTheLastEnd, "line_ends_do_not_matter", set(), "take source.lines()"),
    (ReadsOneBlock, "blocks_do_not_matter", {"line_ends_do_not_matter"}, "source.blocks()"),
    (LosesDigits, READ_BACK, set(), "repr(float(value))"),
    (ReadsSingles, READ_BACK, set(), "'lm' is"),
    (LosesSparseFeatures, READ_BACK, set(), "is 'missing', was"),
    (RecognisesEverything, OTHERS, set(), "recognises(b'') is True"),
    (RecognisesNumbers, OTHERS, set(), "a file of the format cdec"),
    (RecognisesNothing, OWN, set(), "fix recognises"),
    (StumblesOverHeads, OTHERS, set(), "IndexError"),
    (RaisesValueErrors, NUMBERS, {DAMAGED}, "raise FormatError(source.name"),
    (NamesNoFile, NUMBERS, {DAMAGED}, "not one line with the file's name"),
    (TakesAnyNumber, NUMBERS, set(), "is read without an error"),
    (ForgetsTheOthers, "it_adds_to_what_is_there", set(), "collector.add"),
    (WritesOneOrder, "any_order_is_written", set(), "that `order` lists"),
    (WritesMoses, OTHERS, {"others_leave_it_alone"}, "a file of the format moses"),
    (Undocumented, "options_are_documented", set(), "no help text"),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("made", "first", "others", "said"), BROKEN, ids=[case[0].__name__ for case in BROKEN]
)
def test_broken_formats_are_caught(made, first, others, said):
    caught(format_checks(made), first, others, said)


def test_a_writer_that_refuses_everything_does_not_pass_for_a_sound_one():
    with pytest.raises(ConformanceError, match=r"refuses to write any set .*only on Sundays"):
        check_format(RefusesAll)


class ReadOnly(Bars):
    """A reader alone."""

    lines = CandidateFormat.lines


def test_a_format_that_is_read_only_is_checked_with_a_sample():
    checks = {check.name: check for check in format_checks(ReadOnly)}
    with pytest.raises(NotApplicable, match="give check_format a sample"):
        checks[DAMAGED]()
    sample = "0§a text§lm=0.1 tm=2\n0§another§lm=0.3\n1§§tm=1\n".encode()
    assert failing(format_checks(ReadOnly, sample)) == {}
    readers_own = type("R", (ReadOnly,), {"read": RaisesValueErrors.read, "__doc__": "A reader."})
    assert set(failing(format_checks(readers_own, sample))) == {NUMBERS, DAMAGED}


def test_a_format_that_needs_options_is_skipped_with_what_it_says():
    checks = {check.name: check for check in format_checks(FORMATS.get("parallel"))}
    with pytest.raises(NotApplicable, match="per-source=N"):
        checks[READ_BACK]()
