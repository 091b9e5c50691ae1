"""Conformance of formats of candidates."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tunesmith.errors import MissingExtraError, TunesmithError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.streams import Source
from tunesmith.testing.checks import (
    Broken,
    Check,
    NotApplicable,
    checks_of,
    demand,
    described,
    instance_of,
    name_of,
    run_all,
)
from tunesmith.testing.format_files import FormatProbe, WrittenFile
from tunesmith.testing.format_samples import (
    FEATURES,
    VALUES,
    contents,
    first_difference,
    texts_alone,
)
from tunesmith.testing.options import has_a_name, options_are_documented

#: How many damaged files are tried.
DAMAGED = 120
#: Beginnings of files of no format.
NO_FORMAT = (
    b"",
    b"\n",
    b" ",
    b"Once upon a time there was a cat.\nIt sat on a mat.\n",
    b"3.5\n-7\n1e5\n",
    b"[1, 2, 3]\n",
    b"<html><body>a page</body></html>\n",
    b"LM0= 0.5\nTM0= 0.2 0.2\n",
    b"# a comment\nname: value\n",
    b"\x00\x01\x02\x03\xff\xfe",
    b"\x89PNG\r\n\x1a\n",
)


def check_format(
    format: CandidateFormat | type[CandidateFormat],  # noqa: A002
    sample: bytes | None = None,
    features: Sequence[str] = FEATURES,
) -> None:
    """Raise a ConformanceError if a format of candidates breaks a rule.

    Parameters
    ----------
    format
        A format with its options, or a class, whose defaults are taken.
    sample
        The content of a small file; needed if the format has no writer.
    features
        Names of features in such files, if its reader recognises the format by them.
    """
    run_all(format_checks(format, sample, features))


def format_checks(
    format: CandidateFormat | type[CandidateFormat],  # noqa: A002
    sample: bytes | None = None,
    features: Sequence[str] = FEATURES,
) -> list[Check[Any]]:
    """Return the checks of a format of candidates, for ``pytest.mark.parametrize``.

    ``format``, ``sample`` and ``features`` are as for :func:`check_format`.
    """
    instance = instance_of(format)
    return checks_of(RULES, name_of(instance), FormatProbe(instance, sample, tuple(features)))


def what_is_written_is_read_back(probe: FormatProbe) -> None:
    """Read a set back value for value: ids, order, texts, features and what else it holds."""
    with probe.files() as files:
        for file in files:
            if file.candidates is None:
                continue
            candidates = probe.read(file.path, file.data)
            written, read = contents(file.candidates), contents(candidates)
            if file.siblings() and not candidates.features.names:
                # Numbers are in separate files, which a user names.
                written, read = texts_alone(written), texts_alone(read)
            difference = first_difference(written, read)
            demand(
                difference is None,
                f"{file.description} does not come back as it was: {difference}",
                "write numbers with repr(float(value)), and read every line",
            )


def any_order_is_written(probe: FormatProbe) -> None:
    """Write the candidates of a group in another order without losing one."""
    with probe.file() as file:
        if file.candidates is None:
            raise NotApplicable("it can be read only")
        candidates, start = file.candidates, file.candidates.start
        spans = [np.arange(a, b)[::-1] for a, b in itertools.pairwise(start)]
        path = os.path.join(file.folder, f"other-{os.path.basename(file.path)}")
        scores = np.zeros(len(candidates))
        probe.format.write(candidates, np.concatenate(spans), scores, path)
        with open(path, "rb") as other:
            reread = contents(probe.read(path, other.read()))
        for i, group in contents(candidates).items():
            texts, read = (
                sorted(text for text, _, _ in contents_of_group["candidates"])
                for contents_of_group in (group, reread[i])
            )
            demand(
                texts == read,
                f"written from the last to the first, group {i!r} has the texts {read}, "
                f"had {texts}",
                "write the candidates that `order` lists",
            )


def blocks_do_not_matter(probe: FormatProbe) -> None:
    """Read a file that comes in small blocks of lines as one that comes whole."""
    with probe.file() as file:
        whole = contents(probe.read(file.path, file.data))
        for lines in (1, 2, 5):
            in_blocks = contents(probe.read(file.path, file.data, lines))
            demand(
                in_blocks == whole,
                f"in blocks of {lines} lines: {first_difference(whole, in_blocks)}",
                "go through all of source.blocks(), or take source.lines()",
            )


def line_ends_do_not_matter(probe: FormatProbe) -> None:
    """Read a last line without an end, and lines that end as on Windows."""
    with probe.file() as file:
        if not file.is_text:
            raise NotApplicable("it is not text")
        whole = contents(probe.read(file.path, file.data))
        for data, how in (
            (file.data.removesuffix(b"\n"), "without an end of the last line"),
            (file.data.replace(b"\n", b"\r\n"), "with \\r\\n at the ends of lines"),
        ):
            read = contents(probe.read(file.path, data))
            demand(read == whole, f"{how}: {first_difference(whole, read)}", "take source.lines()")


def it_adds_to_what_is_there(probe: FormatProbe) -> None:
    """Leave what the collector holds already as it is."""
    with probe.file() as file:
        separate = probe.read(file.path, file.data)
        has_numbers = all(isinstance(i, int) for i in separate.ids)
        first = 10**9 if has_numbers else "the first"
        columns = dict.fromkeys(separate.columns, 0.5)
        collector = Collector()
        collector.add(first, "was here before", {"its own": 2.5}, columns)
        if separate.references is not None:
            collector.add_references(first, [np.zeros(0, np.int32)], "before")
        probe.read_into(collector, file.path, file.data)
        # Sources must be given for all groups or for none.
        expected, together = (
            contents(replace(candidates, sources=None))
            for candidates in (separate, collector.finish())
        )
        demand(
            together.pop(first, {}).get("candidates")
            == [("was here before", {"its own": 2.5}, columns)],
            "a candidate that the collector held before is lost or changed",
            "add candidates with collector.add and leave the rest of it alone",
        )
        difference = first_difference(expected, together)
        demand(difference is None, f"beside other candidates {difference}", "use collector.add")


def empty_files_are_an_error(probe: FormatProbe) -> None:
    """Raise a FormatError for a file without a candidate."""
    with probe.file() as file:
        _demand_an_error(probe, file, b"", "an empty file")
        for data in (b"\n", b"\n \n\n"):  # an empty line may be an empty text
            _error_of(probe, file, data, f"a file that holds {data!r}")


def values_that_are_no_numbers_are_refused(probe: FormatProbe) -> None:
    """Raise a FormatError where a feature's value is a word, nan, inf or 1e999."""
    with probe.file() as file:
        if not probe.read(file.path, file.data).features.names:
            raise NotApplicable("it reads no features")
        shown = next((repr(v).encode() for v in VALUES if repr(v).encode() in file.data), None)
        if shown is not None and file.is_text:
            for text in (b"a-word", b"nan", b"-inf", b"1e999"):
                data = file.data.replace(shown, text)
                _demand_an_error(probe, file, data, f"a file with the value {text.decode()}")
        if file.candidates is not None:
            for value in (np.nan, np.inf, -np.inf):
                with contextlib.suppress(UsageError):  # better still: it is not written
                    data = _with_value(probe, file, value)
                    _demand_an_error(probe, file, data, f"a file with the value {value}")
        elif shown is None:
            raise NotApplicable("there is no value to replace in the sample")


def _with_value(probe: FormatProbe, file: WrittenFile, value: float) -> bytes:
    """Overwrite the file with the set in which one value is not finite."""
    assert file.candidates is not None
    dense = file.candidates.features.dense.copy()
    dense[0, 1] = value
    features = replace(file.candidates.features, dense=dense)
    changed = replace(file.candidates, features=features)
    probe.format.write(changed, np.arange(len(changed)), np.zeros(len(changed)), file.path)
    with open(file.path, "rb") as written:
        return written.read()


def _demand_an_error(probe: FormatProbe, file: WrittenFile, data: bytes, description: str) -> None:
    error = _error_of(probe, file, data, description)
    demand(
        error is not None,
        f"{description} is read without an error",
        "raise FormatError(source.name, line, problem, remedy)",
    )


def damaged_files_are_an_error(probe: FormatProbe) -> None:
    """Read whatever a file holds, or raise a FormatError that names it."""
    with probe.file() as file:
        for data, how in _damaged(file.data):
            _error_of(probe, file, data, f"a file that is {how}")


def _damaged(data: bytes) -> Iterator[tuple[bytes, str]]:
    rng = np.random.default_rng(21)
    inserts = (
        *(b"\xff", b"\0", b"\n", b"\t", b" ", b"=", b"|||", b"nan", b"-", b"9" * 40, b"{", b'"'),
    )
    for cut in (*range(1, min(24, len(data))), *rng.integers(0, len(data), DAMAGED // 3)):
        yield data[: -int(cut)], f"cut off {int(cut)} bytes before its end"
    for _ in range(DAMAGED // 3):
        at = int(rng.integers(len(data)))
        insert = inserts[int(rng.integers(len(inserts)))]
        yield data[:at] + insert + data[at + 1 :], f"damaged at byte {at}, which became {insert!r}"
        length = int(rng.integers(1, 30))
        yield data[:at] + data[at + length :], f"damaged: bytes {at} to {at + length} are missing"
    yield rng.bytes(300), "300 random bytes"
    yield b"Once upon a time\nthere was a cat\n", "a story"


def _error_of(
    probe: FormatProbe, file: WrittenFile, data: bytes, description: str
) -> TunesmithError | None:
    """Read, and return the error; an error of another kind is a failure."""
    try:
        candidates = probe.read(file.path, data)
    except NotApplicable:
        raise
    except TunesmithError as error:
        demand(
            file.folder in str(error) and "\n" not in str(error),
            f"{description} gives the error '{error}', which is not one line with the file's name",
            "raise FormatError(source.name, line, problem, remedy)",
        )
        return error
    except Exception as error:
        raise Broken(
            f"{description} raises {described(error)}; "
            "catch it and raise FormatError(source.name, line, problem, remedy)"
        ) from error
    features = candidates.features
    finite = np.isfinite(features.dense).all() and np.isfinite(features.sparse.data).all()
    demand(finite, f"{description} is read with values that are not finite", "raise a FormatError")
    return None


def it_recognises_its_own(probe: FormatProbe) -> None:
    """Recognise every file that it writes from its first bytes."""
    probe.needs_recognition()
    with probe.files() as files:
        for file in files:
            demand(
                probe.format.recognises(Source(file.path, file.data).head()) is True,
                f"it does not recognise a file of its own ({file.description}): {file.data[:60]!r}",
                "fix recognises, or give check_format the names of features by which it knows them",
            )


def it_leaves_others_alone(probe: FormatProbe) -> None:
    """Recognise no file of another format, and none of no format."""
    probe.needs_recognition()
    remedy = "look in recognises for what only such files have, and return True or False"
    for head in NO_FORMAT:
        answer = probe.format.recognises(head)
        demand(answer is False, f"recognises({head[:40]!r}) is {answer!r}", remedy)
    rng = np.random.default_rng(31)
    noise = [rng.bytes(int(n)) for n in rng.integers(1, 200, 200)]
    recognised = sum(bool(probe.format.recognises(head)) for head in noise)
    # A format that looks for a single byte finds it by chance now and then.
    demand(
        recognised <= 5,
        f"it recognises {recognised} of 200 files of random bytes as its own",
        remedy,
    )
    for name, head in _heads_of_others(probe):
        demand(
            probe.format.recognises(head) is False,
            f"it recognises a file of the format {name} as its own: {head[:60]!r}",
            "look in recognises for what only such files have",
        )


def others_leave_it_alone(probe: FormatProbe) -> None:
    """Write what no other format takes for its own."""
    probe.needs_recognition()
    with probe.files() as files:
        for file in files:
            head = Source(file.path, file.data).head()
            for name in FORMATS.names():
                other = FORMATS.get(name)
                if other is type(probe.format) or name == name_of(probe.format):
                    continue
                demand(
                    not other.recognises(head),
                    f"the format {name} recognises {head[:60]!r} too",
                    "write what tells it from that one, or let recognises return False, so that "
                    "users name the format",
                )


def _heads_of_others(probe: FormatProbe) -> Iterator[tuple[str, bytes]]:
    for name in FORMATS.names():
        cls = FORMATS.get(name)
        if name != name_of(probe.format) and cls is not type(probe.format):
            for head in _heads_of(cls):
                yield name, head


@cache
def _heads_of(cls: type[CandidateFormat]) -> list[bytes]:
    """Return the beginnings of files of a format that it recognises itself."""
    try:
        with FormatProbe(cls(), None, FEATURES).files() as files:
            heads = [Source(file.path, file.data).head() for file in files]
    except (NotApplicable, Broken, MissingExtraError):
        return []
    return [head for head in heads if cls.recognises(head)]


#: From the simple to the involved: the first that fails is the one to fix first.
RULES = (
    has_a_name,
    options_are_documented,
    what_is_written_is_read_back,
    any_order_is_written,
    blocks_do_not_matter,
    line_ends_do_not_matter,
    it_adds_to_what_is_there,
    empty_files_are_an_error,
    values_that_are_no_numbers_are_refused,
    damaged_files_are_an_error,
    it_recognises_its_own,
    it_leaves_others_alone,
    others_leave_it_alone,
)
