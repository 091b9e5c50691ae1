"""Output of fairseq-generate and fairseq-interactive: lines S-, T-, H-, D- and P- of a sample.

``H-7<tab>score<tab>text``, ``D-7<tab>score<tab>text``, ``P-7<tab>score score ...``. Whatever
else the program prints (its log, times, alignments, steps) is passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from tunesmith.arrays import Floats, Ints
from tunesmith.data.candidates import CandidateSet
from tunesmith.errors import FormatError, UsageError
from tunesmith.io.collector import Collector
from tunesmith.io.lists.base import FORMATS, CandidateFormat
from tunesmith.io.streams import Source
from tunesmith.io.text.numbers import float_or_nan, number_error, shortest
from tunesmith.io.text.tokens import tokenize
from tunesmith.io.values import check_one_line, feature_values
from tunesmith.registry import option

_RECORD = re.compile(r"([STHDP])-(\S*)(?:\t(.*))?")
_HYPOTHESIS = re.compile(rb"(?m)^H-\d+\t\S+\t")
NAMES = ("score", "logprob", "length")


@FORMATS.register("fairseq")
@dataclass(frozen=True)
class FairseqFormat(CandidateFormat):
    """Output of fairseq-generate; features score, logprob and length."""

    holds = frozenset({"references", "sources"})

    text: Literal["detokenised", "tokenised"] = option(
        "detokenised", "take texts from the lines D-, or from H- alone"
    )

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether there is a line ``H-number<tab>score<tab>text``."""
        if not head.startswith(b"H-") and b"\nH-" not in head:
            return False
        return _HYPOTHESIS.search(head) is not None

    def read(self, source: Source, collector: Collector) -> None:
        """Add all hypotheses to the collector."""
        _FairseqReader(source.name, collector, self.text == "detokenised").read(source)

    def lines(self, candidates: CandidateSet, order: Ints, scores: Floats) -> Iterator[str]:
        """Write the lines of each sample.

        Scores of single tokens are not kept, so the first value of a line P- is their sum and
        the others are 0.
        """
        values = feature_values(candidates)
        _check_writable(candidates, values)
        ordered = iter(order)
        for g, name in enumerate(candidates.ids):
            if candidates.sources is not None:
                yield f"S-{name}\t{' '.join(candidates.sources[g].splitlines())}"
            if candidates.references is not None:
                yield f"T-{name}\t{candidates.reference_texts(g)[0]}"
            for _ in range(candidates.start[g], candidates.start[g + 1]):
                i = next(ordered)
                score = shortest(values["score"][i])
                yield f"H-{name}\t{score}\t{candidates.text(i)}"
                yield f"D-{name}\t{score}\t{candidates.text(i)}"
                if "length" in values:
                    length = int(values["length"][i])
                    sum_first = [shortest(values["logprob"][i]), *["0"] * (length - 1)]
                    yield f"P-{name}\t{' '.join(sum_first[:length])}"


def _check_writable(candidates: CandidateSet, values: dict[str, Floats]) -> None:
    check_one_line(candidates)
    if set(values) not in ({"score"}, set(NAMES)):
        raise UsageError(
            f"fairseq has the features {', '.join(NAMES)} or score alone; write jsonl for others"
        )
    for i in candidates.ids:
        if not isinstance(i, int) or i < 0:
            raise UsageError(f"the id '{i}' is not a whole number; write jsonl")
    if candidates.references is not None and (candidates.references.counts != 1).any():
        raise UsageError("fairseq has one reference a sample; write jsonl for several")
    if "length" in values:
        length, logprob = values["length"], values["logprob"]
        if ((length < 0) | (length % 1 != 0) | (length > 1e6)).any() or logprob[length == 0].any():
            raise UsageError("a length is not the number of tokens; write jsonl")


@dataclass
class _Hypothesis:
    """What the lines of one hypothesis say."""

    group: int
    line: int
    score: float
    text: str
    detokenised: str | None = None
    tokens: list[float] | None = None

    @property
    def kinds(self) -> str:
        """The kinds of lines that there are."""
        more = "D" * (self.detokenised is not None) + "P" * (self.tokens is not None)
        return f"H{more}"


@dataclass
class _FairseqReader:
    name: str
    collector: Collector
    detokenised: bool
    pending: _Hypothesis | None = None
    kinds: str = ""
    inputs: dict[int, list[tuple[str, str, int]]] = field(default_factory=dict)

    def read(self, source: Source) -> None:
        """Take all lines."""
        for number, text in source.lines():
            match = _RECORD.match(text)
            if match is not None:
                self._take(number, *match.groups())
        self._finish()
        if not self.kinds:
            raise FormatError(
                self.name, None, "there is no line H- in it", "run fairseq-generate without --quiet"
            )

    def _take(self, line: int, kind: str, sample: str, rest: str | None) -> None:
        if not (sample.isascii() and sample.isdigit()) or len(sample) > 18:
            problem = f"the sample of '{kind}-{sample}' is not a whole number"
            raise FormatError(self.name, line, problem, "write the sample's number after the -")
        group = int(sample)
        fields = (rest or "").split("\t", 1)
        needed = 2 if kind in "HD" else 1
        if rest is None or len(fields) < needed:
            problem = f"the line {kind}- has fewer than {needed + 1} fields"
            raise FormatError(self.name, line, problem, "put tabs between them; it may be cut off")
        if kind in "ST":
            self._finish()
            self.inputs.setdefault(group, []).append((kind, rest, line))
        elif kind == "H":
            self._finish()
            self.pending = _Hypothesis(group, line, self._number(fields[0], line), fields[1])
        elif self.pending is None or self.pending.group != group:
            problem = f"the line {kind}-{group} has no line H-{group} before it"
            raise FormatError(self.name, line, problem, "keep the lines in fairseq's order")
        elif (self.pending.detokenised if kind == "D" else self.pending.tokens) is not None:
            problem = f"the hypothesis has two lines {kind}-"
            raise FormatError(self.name, line, problem, "keep the lines in fairseq's order")
        elif kind == "D":
            self._number(fields[0], line)  # H-'s, but no sign of damage may pass
            self.pending.detokenised = fields[1]
        else:
            self.pending.tokens = [self._number(v, line) for v in rest.split()]

    def _number(self, text: str, line: int) -> float:
        value = float_or_nan(text.encode())
        if math.isnan(value):
            raise number_error(text.encode(), self.name, line, "a score")
        return value

    def _finish(self) -> None:
        """Add the hypothesis whose lines are over."""
        hypothesis, self.pending = self.pending, None
        if hypothesis is None:
            return
        self.kinds = self.kinds or hypothesis.kinds
        if hypothesis.kinds != self.kinds:
            problem = f"the hypothesis has lines {_shown(hypothesis)} and others {_shown(self)}"
            raise FormatError(
                self.name, hypothesis.line, problem, "copy the file again, it is cut off"
            )
        features = {"score": hypothesis.score}
        if hypothesis.tokens is not None:
            # Rounded once, whatever the order.
            features |= {"logprob": math.fsum(hypothesis.tokens), "length": len(hypothesis.tokens)}
        text = (
            hypothesis.detokenised
            if self.detokenised and hypothesis.detokenised is not None
            else hypothesis.text
        )
        self.collector.add(hypothesis.group, text, features, place=(self.name, hypothesis.line))
        # Samples without a hypothesis are not there.
        for kind, line_text, line in self.inputs.pop(hypothesis.group, ()):
            if kind == "S":
                self.collector.add_source(hypothesis.group, line_text)
            else:
                tokens = tokenize(f"{line_text}\n".encode(), self.collector.vocabulary)
                self.collector.add_references(hypothesis.group, [tokens[0]], f"{self.name}:{line}")


def _shown(source: _Hypothesis | _FairseqReader) -> str:
    return ", ".join(f"{kind}-" for kind in source.kinds)
