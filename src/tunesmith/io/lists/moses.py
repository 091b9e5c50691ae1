"""Moses n-best lists: ``id ||| text ||| Name= v v ... ||| score``.

Written as ``Name= value``; a name with several values comes back as Name_1, Name_2 ... Lists of
versions before 2013 have ``Name: v v``.
"""

from __future__ import annotations

import math
import re

from tunesmith.io.collector import Collector
from tunesmith.io.lists.bars.format import BarsFormat, EditedSource, first_fields
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.lists.marian import marian_field
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan


@FORMATS.register("moses")
class MosesFormat(BarsFormat):
    """n-best lists of Moses."""

    suffixes = (".nbest",)

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the features of the first line begin with ``Name=`` and a space."""
        fields = first_fields(head)
        if not fields or marian_field(fields) is not None:
            return False
        return not fields[2] or fields[2][0].endswith(b"=") or is_old(fields)

    def read(self, source: Source, collector: Collector) -> None:
        """Add all candidates to the collector."""
        fields = first_fields(source.head())
        if fields and is_old(fields):
            source = EditedSource(source, _with_equals_signs)
        super().read(source, collector)

    def feature(self, name: str, value: str) -> str:
        """Return a feature as it is written."""
        return f"{name}= {value}"


def is_old(fields: list[list[bytes]]) -> bool:
    """Tell whether names end in a colon: ``d: -2 lm: -12.25 w: -4``, as Moses wrote until 2013."""
    tokens = fields[2]
    names = [token for token in tokens if token.endswith(b":") and len(token) > 1]
    others = [token for token in tokens if not token.endswith(b":")]
    is_named = bool(names) and tokens[0] in names and len(names) + len(others) == len(tokens)
    return is_named and not any(math.isnan(float_or_nan(token)) for token in others)


_FEATURES = re.compile(
    rb"^([^\n]*?(?<!\S)\|\|\|(?!\S)[^\n]*?(?<!\S)\|\|\|(?!\S))([^\n]*?)(?=(?<!\S)\|\|\||\r?$)", re.M
)
_COLON = re.compile(rb"(?<=\s)([^\s:]+):(?=\s)")


def _with_equals_signs(block: bytes) -> bytes:
    """Put ``=`` in place of the colon behind the names of an old list."""
    return _FEATURES.sub(lambda line: line[1] + _COLON.sub(rb"\1=", line[2]), block)
