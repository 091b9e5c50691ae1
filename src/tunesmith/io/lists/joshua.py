"""n-best lists of Joshua: ``id ||| text ||| tm_pt_0=value lm_0=value ... ||| score``.

Lists of older versions, and those for Z-MERT, have the values alone. They become the features
``feature_1``, ``feature_2`` ... in their order.
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

#: Names that Joshua gives: models of translation by owner, language models by number.
_NAME = re.compile(rb"(tm_\w+_\d+|lm_\d+|OOVPenalty)=.+")
_FIRST_FIELDS = re.compile(rb"^[^\n]*?(?<!\S)\|\|\|(?!\S)[^\n]*?(?<!\S)\|\|\|(?!\S)", re.M)


def is_joshua(fields: list[list[bytes]]) -> bool:
    """Tell whether a line's features have names of Joshua."""
    return any(_NAME.fullmatch(token) for token in fields[2])


def is_unnamed(fields: list[list[bytes]]) -> bool:
    """Tell whether a line's features are values alone, and not a score before features."""
    values = fields[2]
    if not values or any(math.isnan(float_or_nan(v)) for v in values):
        return False
    score_first = len(values) == 1 and len(fields) > 3 and all(b"=" in t for t in fields[3])
    return not score_first and marian_field(fields) is None


@FORMATS.register("joshua")
class JoshuaFormat(BarsFormat):
    """n-best lists of Joshua and Z-MERT."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether names are Joshua's, or there are values alone."""
        fields = first_fields(head)
        return bool(fields) and (is_joshua(fields) or is_unnamed(fields))

    def read(self, source: Source, collector: Collector) -> None:
        """Add all candidates to the collector."""
        fields = first_fields(source.head())
        if fields and is_unnamed(fields):
            source = EditedSource(source, _with_name)
        super().read(source, collector)


def _with_name(block: bytes) -> bytes:
    """Put a name before the values of lines that have none."""
    return _FIRST_FIELDS.sub(rb"\g<0> feature= ", block)
