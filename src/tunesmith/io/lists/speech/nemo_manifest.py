"""Manifests of NeMo with what was recognised: JSON lines that ``transcribe_speech.py`` writes.

With ``decoding.beam.return_best_hypothesis=false`` a line has ``beams``, pairs of a text and its
score; else it has ``pred_text``, or with ``append_pred`` a ``pred_text_MODEL`` for each model.
"""

from __future__ import annotations

from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.lists.evaluation.values import Values
from tunesmith.io.streams import Source
from tunesmith.io.text.json_lines import first_keys, json_objects

AUDIO, BEAMS, TEXT, PREDICTED = "audio_filepath", "beams", "text", "pred_text"
REMEDY = "write it with transcribe_speech.py, decoding.beam.return_best_hypothesis=false"


@FORMATS.register("nemo-manifest")
class NemoManifestFormat(CandidateFormat):
    """Manifests of NeMo with beams or pred_text; feature score, references from text."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first object names its audio and what was recognised."""
        keys = first_keys(head)
        return AUDIO in keys and (BEAMS in keys or any(key.startswith(PREDICTED) for key in keys))

    def read(self, source: Source, collector: Collector) -> None:
        """Add what was recognised of each utterance; they are counted from 0."""
        with_references: bool | None = None
        for group, (number, record) in enumerate(json_objects(source)):
            line = Values(record, (source.name, number), REMEDY)
            for text, features in _candidates(line):
                collector.add(group, text, features, place=line.place)
            if with_references is None:
                with_references = TEXT in record
            if with_references != (TEXT in record):
                problem = "some utterances have a 'text' and some have not"
                raise FormatError(*line.place, problem, "give the reference of each, or of none")
            if with_references:
                collector.add_reference_texts(group, [line.text(TEXT)], line.place)


def _candidates(line: Values) -> list[tuple[str, dict[str, float]]]:
    """Return the texts of an utterance, with their scores where there are any."""
    if BEAMS in line.record:
        beams = []
        for pair in line.lists(BEAMS):
            if len(pair) != 2 or not isinstance(pair[0], str):
                raise line.error("a beam is no pair of a text and a score")
            beams.append((pair[0], {"score": line.finite("the score of a beam", pair[1])}))
        if not beams:
            raise line.error("there is no beam")
        return beams
    names = [name for name in line.record if name.startswith(PREDICTED)]
    if not names:
        raise line.error(f"there is neither '{BEAMS}' nor '{PREDICTED}'")
    return [(line.text(name), {}) for name in names]
