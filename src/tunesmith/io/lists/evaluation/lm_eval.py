"""Samples of lm-evaluation-harness (``--log_samples``): one object a document.

``resps`` are the answers: texts of one request, or for multiple choice a log-probability and
whether it was the greedy one for each choice, whose text is in ``arguments``.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from typing import Any

from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.streams import Source
from tunesmith.io.text.json_lines import first_keys, json_objects
from tunesmith.io.text.numbers import float_or_nan

#: Keys that every sample has.
KEYS = {"doc_id", "resps", "filtered_resps"}
_ONE = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d+"""
_LIST = re.compile(rf"\[(?:{_ONE})(?:, (?:{_ONE}))*\]")
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
        unknown = 0
        for number, record in json_objects(source):
            chosen = record.get("filter") if chosen is None else chosen
            if record.get("filter") == chosen:
                sample = _Sample(record, source.name, number)
                sample.add_to(collector)
                unknown += sample.is_unknown
        if unknown:
            text = f"{source.name}: 'target' of {unknown} samples names no choice"
            warnings.warn(f"{text}, so none of these is marked as correct", stacklevel=2)


class _Sample:
    """One line."""

    def __init__(self, sample: dict[str, Any], path: str, number: int) -> None:
        self.sample = sample
        self.place = path, number
        #: Whether there are choices of which none is known to be right.
        self.is_unknown = False

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
        if all(isinstance(text, str) for answers in resps for text in answers):
            self._add_texts(group, [text for answers in resps for text in answers], collector)
        else:
            self._add_choices(group, resps, collector)

    def _add_texts(self, group: int | str, texts: list[str], collector: Collector) -> None:
        for text in texts:
            collector.add(group, text, {}, None, self.place)
        target = self.sample.get("target")
        several = _listed(target)
        targets = [target] if several is None else several
        if references := [t for t in targets if isinstance(t, str) and t.strip()]:
            collector.add_reference_texts(group, references, self.place)

    def _add_choices(self, group: int | str, resps: list[Any], collector: Collector) -> None:
        values = [self._logprob(k, response) for k, response in enumerate(resps)]
        if len(values) == 1:
            raise self._error("there is one continuation alone, and nothing to choose from")
        requests = self._requests(len(values))
        features = [{"logprob": value} for value in values]
        half, is_odd = divmod(len(values), 2)
        if not is_odd and all(before == "" for before, _ in requests[half:]):
            # With acc_mutual_info each choice has been asked for without its question too.
            features = [
                {**entry, "unconditional": values[half + k]}
                for k, entry in enumerate(features[:half])
            ]
            requests = requests[:half]
        texts = [after.strip() for _, after in requests]
        lengths = [float(len(text)) for text in texts]
        if len(set(texts)) == 1:  # what comes before differs
            texts = [f"{before}{after}" for before, after in requests]
        right = self._right(texts)
        self.is_unknown = right is None
        for k, text in enumerate(texts):
            entry = {**features[k], "characters": lengths[k]}
            correct = None if right is None else {"correct": float(k in right)}
            collector.add(group, text, entry, correct, self.place)

    def _logprob(self, choice: int, answers: list[Any]) -> float:
        pair = answers[0] if answers else None
        value = math.nan
        if isinstance(pair, list) and pair:
            value = float_or_nan(str(pair[0]).strip().encode())
        if not math.isfinite(value):
            raise self._error(f"choice {choice} has no log-probability")
        return value

    def _requests(self, count: int) -> list[tuple[str, str]]:
        """Return what each request was to continue, and with what."""
        arguments = self.sample.get("arguments")
        if isinstance(arguments, dict):
            arguments = [arguments.get(f"gen_args_{k}") for k in range(count)]
        pairs = []
        for argument in arguments if isinstance(arguments, list) else ():
            pair = (
                [argument.get("arg_0"), argument.get("arg_1")]
                if isinstance(argument, dict)
                else argument
            )
            if isinstance(pair, list) and len(pair) > 1 and all(isinstance(t, str) for t in pair):
                pairs.append((pair[0], pair[1]))
        if len(pairs) != count:
            raise self._error(f"'arguments' has {len(pairs)} choices and 'resps' {count}")
        return pairs

    def _right(self, choices: list[str]) -> set[int] | None:
        """Return which choices are right; None where their numbers or texts are not given."""
        target = self.sample.get("target")
        several = _listed(target)
        right = set()
        for answer in [target] if several is None else several:
            text = str(answer).strip()
            number = float_or_nan(text.encode())
            if 0 <= number < len(choices) and number == int(number):
                right.add(int(number))
            elif text in choices:
                right.add(choices.index(text))
            else:
                return None
        return right or None


def _listed(target: Any) -> list[Any] | None:
    """Return several targets, which are a list as Python prints it; None where there is one."""
    if isinstance(target, list):
        return target
    if not isinstance(target, str) or not _LIST.fullmatch(target):
        return None
    try:
        targets: list[Any] = ast.literal_eval(target)  # texts and numbers alone, as has been seen
    except (ValueError, SyntaxError):
        return None
    return targets
