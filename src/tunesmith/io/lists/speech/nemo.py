"""Candidates of NeMo's beam search: ``text<tab>score`` a line, so many for each utterance.

``eval_beamsearch_ngram_ctc.py`` writes them to its ``preds_output_folder``, and
``eval_neural_rescorer.py`` reads them and writes them again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.lists.parallel_text import check_multiple, check_per_source
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan, number_error, shortest
from tunesmith.io.values import check_one_length, check_one_line, feature_values
from tunesmith.registry import option


@FORMATS.register("nemo")
@dataclass(frozen=True)
class NemoFormat(CandidateFormat):
    """Candidates of NeMo's beam search, text and score."""

    per_source: int = option(0, "candidates for each utterance, the beam width; needed to read")

    def read(self, source: Source, collector: Collector) -> None:
        """Add all candidates to the collector."""
        check_per_source(self.name, self.per_source)
        count = 0
        for line, row in source.lines():
            text, tab, score = row.rpartition("\t")
            if not tab:
                problem = "there is no tab between text and score"
                raise FormatError(source.name, line, problem, "write text<tab>score")
            number = score.strip().encode()
            value = float_or_nan(number)
            if math.isnan(value):
                raise number_error(number, source.name, line, "a score")
            place = (source.name, line)
            collector.add(count // self.per_source, text, {"score": value}, place=place)
            count += 1
        if not count:
            raise FormatError(source.name, None, "there is no candidate in it", "give some")
        check_multiple(count, self.per_source, source.name)

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Write text and score."""
        values = feature_values(candidates)
        if list(values) != ["score"]:
            raise UsageError("nemo has the feature score alone; write parallel or jsonl for others")
        check_one_length(candidates, "nemo")
        check_one_line(candidates)
        for i in order:
            yield f"{candidates.text(i)}\t{shortest(values['score'][i])}"
