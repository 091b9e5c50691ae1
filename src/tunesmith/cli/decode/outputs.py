"""What comes of sentences: texts, lists, traces and forests."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.arrays import Floats
    from tunesmith.cli.options.forests import Pruning
    from tunesmith.data.candidates import CandidateSet
    from tunesmith.data.weights import Weights
    from tunesmith.decoders.base import Sentence
    from tunesmith.hiero import HieroDecoder
    from tunesmith.hiero.traces import Trace
    from tunesmith.io.forests.base import ForestFormat
    from tunesmith.io.lists.base import CandidateFormat

#: What lists and forests are where no ending and no option says so.
LISTS, FORESTS = "cdec", "moses-hypergraph"


def list_writer_of(out: str, to: str | None, alignments: bool) -> CandidateFormat:
    """Return who writes lists, part by part."""
    from tunesmith.io.lists.bars.format import BarsFormat
    from tunesmith.io.lists.base import FORMATS, CandidateFormat
    from tunesmith.io.write import format_of

    name = to
    if name is None:
        try:
            name = format_of(out)
        except UsageError:
            name = LISTS
    writer = FORMATS.create(name)
    kind = type(writer)
    if kind.lines is CandidateFormat.lines or kind.write is not CandidateFormat.write:
        raise UsageError(
            f"lists are written line by line, and format '{writer.name}' is none of lines; write "
            "cdec, moses or jsonl, and convert it"
        )
    if alignments and not isinstance(writer, BarsFormat):
        raise UsageError(
            f"format '{writer.name}' has no place for alignments; write cdec or moses, or --trace"
        )
    return writer


def forest_writer_of(path: str, to: str | None) -> ForestFormat:
    """Return the writer of forests; raise an error if they cannot be written."""
    from tunesmith.io.compression import without_suffix
    from tunesmith.io.forests.base import FOREST_FORMATS, ForestFormat
    from tunesmith.io.forests.folders import check_new_folder
    from tunesmith.io.forests.write import forest_format_of
    from tunesmith.io.streams import check_writable

    if to is None:
        try:
            to = forest_format_of(path)
        except UsageError:
            if path == "-" or "." in os.path.basename(path):
                raise UsageError(
                    f"the ending of '{path}' is of no format of forests; name one with --to"
                ) from None
            to = FORESTS
    writer = FOREST_FORMATS.create(to)
    if type(writer).write is ForestFormat.write:
        raise UsageError(f"format '{to}' can be read only; name another one with --to")
    single = writer.single_endings
    if single and not without_suffix(path).lower().endswith(single):
        check_new_folder(path)
    else:
        check_writable(path)
    return writer


@dataclass(frozen=True)
class OutputLines:
    """Makes the lines of some sentences.

    Attributes
    ----------
    decoder, weights
        What translates.
    size
        How many translations of a sentence; None for the best one, as text.
    unique
        Whether no text of a sentence is there twice.
    writer
        Writes lists.
    alignments
        Whether links of words follow each translation.
    traces
        Where derivations go, if anywhere.
    """

    decoder: HieroDecoder
    weights: Weights
    size: int | None
    unique: bool
    writer: CandidateFormat | None
    alignments: bool
    traces: BinaryIO | None

    def of(self, sentences: Sequence[Sentence]) -> Iterator[str]:
        """Yield the lines of texts or lists, and write the traces."""
        if self.writer is None and not self.alignments and self.traces is None:
            yield from self.decoder.translate(self.weights, sentences)
            return
        candidates, traces = self._candidates(sentences)
        scores = candidates.features.dot(self.weights.aligned(candidates.features.names))
        if self.traces is not None:
            self.traces.writelines(_trace_lines(candidates, scores, traces))
        lines = self._lines(candidates, scores)
        if not self.alignments:
            yield from lines
            return
        for line, trace in zip(lines, traces, strict=True):
            yield f"{line} ||| {trace.alignment}".rstrip(" ")

    def _candidates(self, sentences: Sequence[Sentence]) -> tuple[CandidateSet, list[Trace]]:
        if self.alignments or self.traces is not None:
            return self.decoder.traced(self.weights, sentences, self.size or 1, self.unique)
        if self.unique:
            return self.decoder.decode(self.weights, sentences), []
        from tunesmith.inference.forests.lists import kbest_lists

        forests = self.decoder.forests(self.weights, sentences)
        vector = self.weights.aligned(forests.names)
        return kbest_lists(forests, vector, self.size or 1, unique=False), []

    def _lines(self, candidates: CandidateSet, scores: Floats) -> Iterator[str]:
        import numpy as np

        if self.writer is None:
            yield from map(candidates.text, range(len(candidates)))
            return
        try:
            yield from self.writer.lines(candidates, np.arange(len(candidates)), scores)
        except UsageError as error:  # of what the format has no place for
            raise UsageError(str(error).replace("; write jsonl", "; give --to jsonl")) from None


def _trace_lines(
    candidates: CandidateSet, scores: Floats, traces: Sequence[Trace]
) -> Iterator[bytes]:
    """Yield a line of JSON for each candidate: how it was derived."""
    for name, (first, last) in zip(
        candidates.ids, itertools.pairwise(candidates.start.tolist()), strict=True
    ):
        for row in range(first, last):
            identity = {"id": name, "rank": row - first + 1, "text": candidates.text(row)}
            whole = {**identity, "score": float(scores[row]), **traces[row].to_dict()}
            yield json.dumps(whole, ensure_ascii=False).encode() + b"\n"


def write_forests(
    decoder: HieroDecoder,
    weights: Weights,
    blocks: Iterator[list[Sentence]],
    writer: ForestFormat,
    path: str,
    pruning: Pruning | None,
) -> None:
    """Write the forests of all sentences; what memory does not hold waits on disk."""
    from tunesmith.data.forests import Forests
    from tunesmith.loop.forests import ForestCollector, Words

    words, collected = Words(), ForestCollector()
    ids: list[int | str] = []
    texts: list[str] = []
    for block in blocks:
        forests: Forests = decoder.forests(weights, block)
        if pruning is not None:
            forests = pruning.pruned(forests, weights.aligned(forests.names))
        whole = forests.in_memory()
        collected.add(words.renumbered(whole.arrays, whole.vocabulary))
        ids += whole.ids
        texts += whole.sources or ()
        decoder.forget()
    whole_set = collected.finish(ids, decoder.names, words.all, tuple(texts))
    try:
        writer.write(whole_set, path)
    except UsageError as error:  # of what the format has no place for
        remedy = "; give --forest FILE.arrow"
        raise UsageError(re.sub("; write [^;]*arrow[^;]*$", remedy, str(error))) from None
