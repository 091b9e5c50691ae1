"""n-best lists of Travatar: ``id ||| text ||| score ||| Name=value ...``."""

from __future__ import annotations

import math

from tunesmith.io.lists.bars.format import BarsFormat, first_fields
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.lists.marian import marian_field
from tunesmith.io.text.numbers import float_or_nan


@FORMATS.register("travatar")
class TravatarFormat(BarsFormat):
    """n-best lists of Travatar, with the score before the features."""

    skipped = 1
    score_first = True

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the third field is a number and the fourth holds ``Name=value``."""
        fields = first_fields(head)
        if len(fields) < 4 or len(fields[2]) != 1 or marian_field(fields) is not None:
            return False
        named = all(b"=" in token for token in fields[3])
        return named and not math.isnan(float_or_nan(fields[2][0]))

    def line(self, group: str, text: str, features: str, score: str) -> str:
        """Return a line as it is written; there is always a score."""
        score = "0" if score == "nan" else score
        return f"{group} ||| {text} ||| {score} ||| {features}"
