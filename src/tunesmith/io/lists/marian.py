"""n-best lists of Marian (``--n-best``): ``id ||| text ||| F0= v F1= v ... ||| score``.

With ``--alignment`` and ``--word-scores``, the alignment and the scores of words stand
between text and features.
"""

from __future__ import annotations

from tunesmith.io.lists.bars.format import BarsFormat, first_fields
from tunesmith.io.lists.base import FORMATS


def marian_field(fields: list[list[bytes]]) -> int | None:
    """Return which field of a line holds Marian's features, None where none does."""
    for k, field in enumerate(fields[2:5], 2):
        if field and field[0].startswith(b"F0="):
            return k
    return None


@FORMATS.register("marian")
class MarianFormat(BarsFormat):
    """n-best lists of Marian."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether a field of the first line begins with ``F0=``, the first scorer."""
        return marian_field(first_fields(head)) is not None

    def fields_skipped(self, head: bytes) -> int:
        """Return whether alignment and word scores stand before the features."""
        field = marian_field(first_fields(head))
        return 0 if field is None else field - 2

    def feature(self, name: str, value: str) -> str:
        """Return a feature as it is written."""
        return f"{name}= {value}"
