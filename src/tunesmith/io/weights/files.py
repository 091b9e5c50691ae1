"""Weights files of any format: read, and written back in the format they came in."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from tunesmith.data.weights import Weights
from tunesmith.errors import FormatError
from tunesmith.io.streams import Source
from tunesmith.io.text.utf8 import check_utf8
from tunesmith.io.weights.base import WEIGHTS_FORMATS

#: A section of weights as Moses had them before 2013: distortion, language models, translation.
OLD_SECTION = re.compile(rb"(?m)^\[weight-\w+\]\s*$")


@dataclass(frozen=True)
class WeightsFile:
    """Weights, and what is needed to write others in the same format."""

    weights: Weights
    format: str
    text: bytes

    def rewritten(self, weights: Weights) -> bytes:
        """Return the file's text with other values; whatever else stands in it stays."""
        return WEIGHTS_FORMATS.get(self.format)().write(weights, self.text)


def read_weights(path: str | os.PathLike[str]) -> WeightsFile:
    """Read weights; the format is recognised from the content.

    Parameters
    ----------
    path
        The file, plain or compressed.

    Returns
    -------
    WeightsFile
        Its ``weights``, and what is needed to write others in the same form.
    """
    source = Source(path)
    text = source.read()
    check_utf8(text, source.name, 1)
    for name in WEIGHTS_FORMATS.names():
        if WEIGHTS_FORMATS.get(name).recognises(text):
            weights = WEIGHTS_FORMATS.get(name)().read(text, source.name)
            if not weights:
                raise FormatError(source.name, None, "there is no weight in it", "give some")
            return WeightsFile(weights, name, text)
    known = ", ".join(WEIGHTS_FORMATS.names())
    if OLD_SECTION.search(text):
        problem = "this is a moses.ini of before 2013, with a section for each kind of weight"
        remedy = (
            "write each section's weights on a line, as d= 0.3 0.3, with the names of the lists"
        )
        raise FormatError(source.name, None, problem, remedy)
    raise FormatError(
        source.name, 1, "this is not a weights file", f"give one of the formats {known}"
    )
