r"""What icefall and its kin write of each cut: ``CUT:\tref=[...]`` and ``CUT:\thyp=[...]``.

A file ``recogs-*.txt`` has one hypothesis for each cut; those of several settings or systems
become candidates when they are read together. Words are a list as Python prints it, or text.
"""

from __future__ import annotations

import ast
import re

from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.forests.lattices.base import id_of
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.streams import Source

_LINE = re.compile(r"(\S+?):\t(\w+)=(.*)")
_HEAD = re.compile(rb"\s*[^\s:][^\n\t]*:\tref=")
_TEXT = r"'(?:[^'\\\n]|\\.)*'|" + r'"(?:[^"\\\n]|\\.)*"'
_LIST = re.compile(rf"\[(?:(?:{_TEXT})(?:, (?:{_TEXT}))*)?\]")
REMEDY = "give a file recogs-*.txt, with a line ref= and a line hyp= for each cut"


@FORMATS.register("icefall")
class IcefallFormat(CandidateFormat):
    """Files recogs-*.txt of icefall, one hypothesis a cut; references with them."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line is a cut's reference."""
        return _HEAD.match(head) is not None

    def read(self, source: Source, collector: Collector) -> None:
        """Add the hypothesis of each cut to the collector."""
        pending: tuple[str, str] | None = None
        line = 0
        for line, text in source.lines():
            matched = _LINE.fullmatch(text)
            if matched is None:
                raise FormatError(source.name, line, "this is no line of a cut", REMEDY)
            cut, key, value = matched.groups()
            place = source.name, line
            if key == "ref":
                if pending is not None:
                    raise FormatError(*place, f"'{pending[0]}' has no hypothesis", REMEDY)
                pending = cut, _words(value, place)
            elif key == "hyp":
                if pending is None or pending[0] != cut:
                    problem = f"the hypothesis of '{cut}' has no reference before it"
                    raise FormatError(*place, problem, REMEDY)
                group = id_of(cut)
                collector.add(group, _words(value, place), {}, place=place)
                collector.add_reference_texts(group, [pending[1]], place)
                pending = None
            # Times of words, which some recipes add, are passed over.
        if pending is not None:
            problem = f"'{pending[0]}' has no hypothesis: the file is cut off"
            raise FormatError(source.name, line, problem, "copy the file again")


def _words(value: str, place: tuple[str, int]) -> str:
    """Return the text of a list of words, or of text."""
    if not value.startswith("["):
        return value
    if not _LIST.fullmatch(value):
        problem = "the words are no list of texts"
        raise FormatError(*place, problem, "write it as Python prints one: ['a', 'b']")
    try:
        return " ".join(ast.literal_eval(value))  # nothing but texts, as has been seen
    except (ValueError, SyntaxError):
        raise FormatError(*place, "a word is no text of Python", "write it again") from None
