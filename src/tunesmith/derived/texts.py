"""Features of whole texts, which no sum over words gives."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import CandidateSet
from tunesmith.derived.base import DERIVED, Derived

#: What opens, and what closes it.
PAIRS = dict(zip("([{«“„（「『【", ")]}»””）」』】", strict=True))
#: What opens and closes.
BOTH = '"'


@DERIVED.register("balance")
class Balance(Derived):
    """How many brackets and quotation marks have no partner."""

    def values(self, candidates: CandidateSet) -> Floats:
        """Count them, in each distinct text once."""
        known: dict[bytes, int] = {}
        values = np.empty(len(candidates))
        for i in range(len(candidates)):
            key = candidates.texts[i].tobytes()
            if key not in known:
                known[key] = unpaired(candidates.text(i))
            values[i] = known[key]
        return values


def unpaired(text: str) -> int:
    """Count the brackets and quotation marks of a text that have no partner.

    What closes belongs to the last that is open, if that is of its kind; else it has no partner.
    Straight quotation marks stand in pairs, as they come. “ also closes „, as in German.
    """
    open_ones: list[str] = []
    alone = sum(text.count(mark) % 2 for mark in BOTH)
    closing = {*PAIRS.values()}
    for character in text:
        if open_ones and (
            character == PAIRS[open_ones[-1]] or (open_ones[-1], character) == ("„", "“")
        ):
            open_ones.pop()
        elif character in PAIRS:
            open_ones.append(character)
        elif character in closing:
            alone += 1
    return alone + len(open_ones)
