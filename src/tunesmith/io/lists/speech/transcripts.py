"""Transcripts: the id of an utterance and its words on each line, as Kaldi's scripts have them."""

from __future__ import annotations

from collections.abc import Mapping

from tunesmith.data.candidates import GroupId
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.streams import Source


def read_transcripts(source: Source) -> dict[str, tuple[str, int]]:
    """Return the words of each utterance, and the line where they stand."""
    transcripts: dict[str, tuple[str, int]] = {}
    for line, text in source.lines():
        name, *rest = text.split(None, 1)
        if name in transcripts:
            remedy = "begin each line with an utterance's id, and drop what is there twice"
            raise FormatError(source.name, line, f"'{name}' is there twice", remedy)
        transcripts[name] = "".join(rest), line
    return transcripts


class Transcripts:
    """The references of utterances, in a file that may hold more of them."""

    def __init__(self, path: str) -> None:
        self.source = Source(path)
        self.texts = read_transcripts(self.source)
        self._is_noted = False

    def add_to(self, collector: Collector, utterances: Mapping[str, GroupId], remedy: str) -> None:
        """Give groups their references; one that is missing is an error."""
        if not self._is_noted:
            collector.files.append(self.source.digest("text"))
            self._is_noted = True
        for name, group in utterances.items():
            if name not in self.texts:
                problem = f"there is no transcript of '{name}'"
                raise FormatError(self.source.name, None, problem, remedy)
            text, line = self.texts[name]
            collector.add_reference_texts(group, [text], (self.source.name, line))
