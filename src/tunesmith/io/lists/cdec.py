"""k-best lists of cdec: ``id ||| text ||| Name=value ... ||| score``."""

from __future__ import annotations

from tunesmith.io.lists.bars.format import BarsFormat, first_fields
from tunesmith.io.lists.base import FORMATS
from tunesmith.io.lists.joshua import is_joshua
from tunesmith.io.lists.marian import marian_field


@FORMATS.register("cdec")
class CdecFormat(BarsFormat):
    """k-best lists of cdec, and others with ``Name=value``."""

    suffixes = (".kbest",)

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the features begin with ``Name=value`` and are not another's."""
        fields = first_fields(head)
        if not fields or not fields[2] or is_joshua(fields) or marian_field(fields) is not None:
            return False
        return b"=" in fields[2][0][:-1] and not fields[2][0].endswith(b"=")
