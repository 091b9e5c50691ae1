"""Moses n-best lists: ``id ||| text ||| Name= v v ... ||| score``.

Written as ``Name= value``; a name with several values comes back as Name_1, Name_2 ...
"""

from __future__ import annotations

from tunesmith.io.lists.bars import BarsFormat, first_fields
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.lists.marian import marian_field


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
        return not fields[2] or fields[2][0].endswith(b"=")

    def feature(self, name: str, value: str) -> str:
        """Return a feature as it is written."""
        return f"{name}= {value}"
