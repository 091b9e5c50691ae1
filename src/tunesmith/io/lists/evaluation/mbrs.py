"""What ``mbrs-decode --format json`` writes: a line for each sentence that it has selected.

Ranks count from 0 within an input, so that a rank of 0 begins the next one.
"""

from __future__ import annotations

from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.lists.evaluation.values import Values
from tunesmith.io.streams import Source
from tunesmith.io.text.json_lines import first_keys, json_objects

KEYS = {"rank", "sentence", "selected_idx", "expected_score"}
REMEDY = "give what mbrs-decode --format json writes"


@FORMATS.register("mbrs")
class MbrsFormat(CandidateFormat):
    """Output of mbrs-decode --format json, with the feature expected_score."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first object has the keys of a selected sentence."""
        return first_keys(head) >= KEYS

    def read(self, source: Source, collector: Collector) -> None:
        """Add all sentences to the collector; inputs are counted from 0."""
        group = expected = -1
        for number, record in json_objects(source):
            line = Values(record, (source.name, number), REMEDY)
            rank = line.number("rank")
            group, expected = (group + 1, 0) if rank == 0 else (group, expected + 1)
            if rank != expected or group < 0:
                raise line.error(f"rank {rank:g} does not follow rank {expected - 1}")
            features = {"expected_score": line.number("expected_score")}
            collector.add(group, line.text("sentence"), features, place=line.place)
