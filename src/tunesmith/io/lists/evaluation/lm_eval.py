"""Samples of lm-evaluation-harness (``--log_samples``): one object a document.

``resps`` are the answers: texts of one request, or for multiple choice a log-probability and
whether it was the greedy one for each choice, whose text is in ``arguments``.
"""

from __future__ import annotations

import json
import math
from typing import Any

from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.streams import Source
from tunesmith.io.text.json_lines import first_keys, json_objects
from tunesmith.io.text.numbers import float_or_nan

#: Keys that every sample has.
KEYS = {"doc_id", "resps", "filtered_resps"}
REMEDY = "give a file samples_TASK_DATE.jsonl, as --log_samples writes it"


@FORMATS.register("lm-eval")
class LmEvalFormat(CandidateFormat):
    """Samples of lm-evaluation-harness: answers, or choices with their log-probabilities."""

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first object has the keys of a sample."""
        return first_keys(head) >= KEYS

    def read(self, source: Source, collector: Collector) -> None:
        """Add all answers to the collector; of several filters' samples those of the first."""
        chosen: Any = None
        for number, sample in json_objects(source):
            chosen = sample.get("filter") if chosen is None else chosen
            if sample.get("filter") == chosen:
                _Sample(sample, source.name, number).add_to(collector)


class _Sample:
    """One line."""

    def __init__(self, sample: dict[str, Any], path: str, number: int) -> None:
        self.sample = sample
        self.place = path, number

    def _error(self, problem: str) -> FormatError:
        return FormatError(*self.place, problem, REMEDY)

    def add_to(self, collector: Collector) -> None:
        """Hand the answers over."""
        group = self.sample.get("doc_id")
        if isinstance(group, bool) or not isinstance(group, int | str):
            raise self._error("there is no 'doc_id'")
        resps = self.sample.get("resps")
        if not isinstance(resps, list) or not resps or not all(isinstance(r, list) for r in resps):
            raise self._error("'resps' is no list of lists")
        if all(isinstance(text, str) for one in resps for text in one):
            self._add_texts(group, [text for one in resps for text in one], collector)
        else:
            self._add_choices(group, resps, collector)

    def _add_texts(self, group: int | str, texts: list[str], collector: Collector) -> None:
        for text in texts:
            collector.add(group, text, {}, None, self.place)
        target = self.sample.get("target")
        if isinstance(target, str) and target.strip():
            collector.add_reference_texts(group, [target], self.place)

    def _add_choices(self, group: int | str, resps: list[Any], collector: Collector) -> None:
        right = float_or_nan(str(self.sample.get("target")).strip().encode())
        if not 0 <= right < len(resps):
            raise self._error(f"'target' is {json.dumps(self.sample.get('target'))}, no choice")
        choices = self._choices(len(resps))
        for k, one in enumerate(resps):
            pair = one[0] if one else None
            value = math.nan
            if isinstance(pair, list) and pair:
                value = float_or_nan(str(pair[0]).strip().encode())
            if not math.isfinite(value):
                raise self._error(f"choice {k} has no log-probability")
            features = {"logprob": value, "characters": float(len(choices[k]))}
            collector.add(group, choices[k], features, {"correct": float(k == right)}, self.place)

    def _choices(self, count: int) -> list[str]:
        """Return the texts of the choices: what each request was to continue with."""
        given = self.sample.get("arguments")
        if isinstance(given, dict):
            given = [given.get(f"gen_args_{k}") for k in range(count)]
        found = []
        for one in given if isinstance(given, list) else ():
            text = one.get("arg_1") if isinstance(one, dict) else one[1] if one else None
            if isinstance(text, str):
                found.append(text.strip())
        if len(found) < count:
            raise self._error(f"'arguments' has {len(found)} choices and 'resps' {count}")
        return found
