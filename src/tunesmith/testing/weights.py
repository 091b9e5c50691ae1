"""Conformance of formats of weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError, TunesmithError, UsageError
from tunesmith.io.text.utf8 import check_utf8
from tunesmith.io.weights.base import WEIGHTS_FORMATS, WeightsFormat
from tunesmith.registry import Registry
from tunesmith.testing.checks import (
    Broken,
    Check,
    checks_of,
    demand,
    described,
    instance_of,
    name_of,
    run_all,
)
from tunesmith.testing.options import has_a_name

PLACE = "some/weights.file"
#: The first value of each set: it is found in the text, and replaced by what is no number.
MARK = 0.30000000000000004
SETS = {
    "plain weights": {"lm": MARK, "WordPenalty0": -1.0, "tm_1": 0.5, "tm_2": 1 / 3},
    "one weight": {"lm": MARK},
    "very large and very small weights": {
        **{"a": MARK, "b": 1e-300, "c": -1.7976931348623157e308, "d": 5e-324},
        **{"e": 1e22, "f": 123456789.12345679, "g": 0.0, "h": 7.0},
    },
    "unusual names": {"größe": MARK, "猫": 1.5, "a.b-c/d": -2.0, "X_1": 0.5, "on": 1.0, "3": 4.0},
}
NO_WEIGHTS = (
    b"",
    b"\n",
    b"Once upon a time there was a cat.\nIt sat on a mat.\n",
    b"<html><body>a page</body></html>\n",
    b"3.5\n-7\n1e5\n",
    b"\x89PNG\r\n\x1a\n",
)


def check_weights_format(format: WeightsFormat | type[WeightsFormat]) -> None:  # noqa: A002
    """Raise a ConformanceError if a format of weights breaks a rule.

    Parameters
    ----------
    format
        A format, or its class.
    """
    run_all(weights_format_checks(format))


def weights_format_checks(
    format: WeightsFormat | type[WeightsFormat],  # noqa: A002
) -> list[Check[Any]]:
    """Return the checks of a format of weights, for ``pytest.mark.parametrize``.

    ``format`` is as for :func:`check_weights_format`.
    """
    instance = instance_of(format)
    return checks_of(RULES, name_of(instance), _WeightsProbe(instance))


@dataclass
class _WeightsProbe:
    """A format under test."""

    registry: ClassVar[Registry[Any]] = WEIGHTS_FORMATS

    format: WeightsFormat

    @property
    def plugin(self) -> WeightsFormat:
        """What is checked."""
        return self.format

    def texts(self) -> Iterator[tuple[str, Weights, bytes]]:
        """Yield what the format can write: a description, the weights and the text."""
        refused = ""
        done = 0
        for description, values in SETS.items():
            weights = Weights.from_dict(values)
            try:
                text = self.format.write(weights, b"")
            except UsageError as error:
                refused = str(error)
                continue
            demand(isinstance(text, bytes), f"write returns {type(text).__name__}", "return bytes")
            done += 1
            yield description, weights, text
        demand(done, f"it writes no weights at all ({refused})", "take plain names at least")

    def demand_same(self, written: Weights, text: bytes, description: str) -> None:
        read = self.format.read(text, PLACE)
        demand(isinstance(read, Weights), f"read returns {type(read).__name__}", "return Weights")
        for name in {**written, **read}:
            demand(
                written.get(name) == read.get(name),
                f"{description}: '{name}' is {read.get(name, 'missing')!r}, "
                f"was {written.get(name, 'missing')!r}",
                "write numbers with repr(float(value)), and read every one",
            )
        demand(
            written.names == read.names,
            f"{description}: the names are in the order {read.names}, were {written.names}",
            "keep their order",
        )


def what_is_written_is_read_back(probe: _WeightsProbe) -> None:
    """Read weights back value for value, in their order."""
    for description, weights, text in probe.texts():
        probe.demand_same(weights, text, description)


def a_file_is_written_again(probe: _WeightsProbe) -> None:
    """Put other values into the text of a file, and new names beside them."""
    for description, weights, text in probe.texts():
        changed = {name: 2.0 * np.sign(value) + 0.25 for name, value in weights.items()}
        others = Weights.from_dict(changed | {"a-new-one": -0.125})
        probe.demand_same(others, probe.format.write(others, text), f"{description}, written again")


def it_recognises_its_own(probe: _WeightsProbe) -> None:
    """Recognise every text that it writes."""
    for description, _, text in probe.texts():
        demand(
            probe.format.recognises(text) is True,
            f"it does not recognise what it writes ({description}): {text[:60]!r}",
            "fix recognises",
        )


def it_leaves_others_alone(probe: _WeightsProbe) -> None:
    """Recognise neither other formats nor what holds no weights."""
    remedy = "look in recognises for what only such files have, and return True or False"
    for text in NO_WEIGHTS:
        answer = probe.format.recognises(text)
        demand(answer is False, f"recognises({text[:40]!r}) is {answer!r}", remedy)
    rng = np.random.default_rng(41)
    recognised = sum(
        bool(probe.format.recognises(rng.bytes(int(n)))) for n in rng.integers(1, 99, 200)
    )
    demand(
        recognised <= 5,
        f"it recognises {recognised} of 200 files of random bytes as its own",
        remedy,
    )
    for name in WEIGHTS_FORMATS.names():
        other: Any = WEIGHTS_FORMATS.get(name)
        if name == name_of(probe.format) or other is type(probe.format):
            continue
        for text in _texts_of(other()):
            demand(
                not probe.format.recognises(text),
                f"it recognises weights of the format {name} as its own: {text[:60]!r}",
                remedy,
            )


def _texts_of(other: WeightsFormat) -> list[bytes]:
    """Return texts that another format writes, and recognises itself."""
    with contextlib.suppress(Broken, TunesmithError):
        return [text for _, _, text in _WeightsProbe(other).texts() if other.recognises(text)]
    return []


def wrong_weights_are_an_error(probe: _WeightsProbe) -> None:
    """Raise a FormatError for values that are no finite numbers."""
    for description, _, text in probe.texts():
        for value in (b"nan", b"inf", b"-inf", b"1e999", b"a-word"):
            damaged = text.replace(repr(MARK).encode(), value)
            demand(
                damaged != text, f"{description} are written with fewer digits", "use repr(value)"
            )
            if probe.format.recognises(damaged):
                error = _error_of(probe, damaged, f"the value {value.decode()}")
                demand(
                    error is not None,
                    f"the value {value.decode()} is read without an error",
                    "raise FormatError(name, line, problem, remedy)",
                )


def damaged_files_are_an_error(probe: _WeightsProbe) -> None:
    """Read whatever a file holds, or raise a FormatError that names it."""
    rng = np.random.default_rng(42)
    marks = (b"\n", b"\t", b"=", b":", b"#", b"[", b'"', b"{", b"-", b"9" * 40, "ä".encode())
    for _, _, text in probe.texts():
        for _ in range(60):
            at, length = int(rng.integers(len(text))), int(rng.integers(1, 20))
            put = marks[int(rng.integers(len(marks)))]
            for damaged in (
                text[:at],
                text[:at] + put + text[at + 1 :],
                text[:at] + text[at + length :],
            ):
                _error_of(probe, damaged, f"the text {damaged[:80]!r}")


def _error_of(probe: _WeightsProbe, text: bytes, description: str) -> TunesmithError | None:
    """Read as a user's file is read, and return the error; one of another kind is a failure."""
    try:
        check_utf8(text, PLACE, 1)
    except FormatError:
        return None  # refused before the format sees it
    if not probe.format.recognises(text):
        return None
    try:
        weights = probe.format.read(text, PLACE)
    except TunesmithError as error:
        demand(
            PLACE in str(error) and "\n" not in str(error),
            f"{description} gives the error '{error}', which is not one line with the file's name",
            "raise FormatError(name, line, problem, remedy)",
        )
        return error
    except Exception as error:
        raise Broken(
            f"{description} raises {described(error)}; "
            "catch it and raise FormatError(name, line, problem, remedy)"
        ) from error
    demand(isinstance(weights, Weights), f"read returns {type(weights).__name__}", "return Weights")
    return None


#: From the simple to the involved: the first that fails is the one to fix first.
RULES = (
    has_a_name,
    what_is_written_is_read_back,
    a_file_is_written_again,
    it_recognises_its_own,
    it_leaves_others_alone,
    wrong_weights_are_an_error,
    damaged_files_are_an_error,
)
