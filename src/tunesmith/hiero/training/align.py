"""Word alignment: by Thot's aligners, or from a file.

Brown et al., "The mathematics of statistical machine translation" (Computational Linguistics 19,
1993); Vogel, Ney and Tillmann, "HMM-based word alignment in statistical translation" (COLING
1996); Dyer, Chahuneau and Smith, "A simple, fast, and effective reparameterization of IBM model 2"
(NAACL 2013). The Python module is sil-thot.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from tunesmith.arrays import Ids
from tunesmith.data.candidates import FileDigest, Texts
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError, MissingExtraError, UnknownNameError, UsageError
from tunesmith.hiero.training.links import Links
from tunesmith.hiero.training.parallel_text import ParallelText
from tunesmith.io.streams import Source
from tunesmith.io.text.utf8 import check_utf8
from tunesmith.progress import progress

ALIGNERS = ("ibm1", "ibm2", "hmm", "fast-align")
#: Rounds of training of each model.
ITERATIONS = 5
#: Pairs that are aligned at a time.
BATCH = 10_000

_LINK = re.compile(r"(\d{1,9})-(\d{1,9})")


def check_aligner(aligner: str, iterations: int) -> None:
    """Raise an error if an aligner is not there, before anything is read."""
    if aligner not in ALIGNERS:
        raise UnknownNameError("aligner", aligner, ALIGNERS)
    if iterations < 1:
        raise UsageError(f"an aligner is trained in {iterations} rounds; give 1 or more")
    _thot()


def align(text: ParallelText, aligner: str, iterations: int = ITERATIONS) -> tuple[Ids, Ids]:
    """Train a model in both directions, and align the text with each.

    Returns
    -------
    to_source : int32[target words], to_target : int32[source words]
        The place of the other word within the pair; -1 for none.
    """
    check_aligner(aligner, iterations)
    rounds = iterations * len(_models(aligner))
    steps = itertools.count(1)

    def step() -> None:
        progress("aligning words", next(steps), 2 * rounds)

    # Thot's fast_align adds up what its threads find in the order in which they are done; the
    # other models come out the same for any number of threads.
    only = 1 if aligner == "fast-align" else None
    with threadpool_limits(only, user_api="openmp"):
        return (
            _one_way(text.source, text.target, aligner, iterations, step),
            _one_way(text.target, text.source, aligner, iterations, step),
        )


def _one_way(
    source: Texts, target: Texts, aligner: str, iterations: int, step: Callable[[], None]
) -> Ids:
    """Return the place of the source word of each target word."""
    models = _models(aligner)
    last = models[-1]
    for batch in _batches(source, target):
        for sentence, its in zip(*batch, strict=True):
            last.add_sentence_pair(sentence, its, 1)
    for model in models:
        model.start_training()
        for _ in range(iterations):
            model.train()
            step()
        model.end_training()
    links: list[int] = []
    for sources, other in _batches(source, target):
        for _, matrix in last.get_best_alignments(sources, other):
            links.extend(matrix.to_list())  # from 1, 0 for none
    last.clear()
    return np.array(links, np.int32) - np.int32(1)


def _batches(source: Texts, target: Texts) -> Iterator[tuple[list[list[str]], list[list[str]]]]:
    """Yield pairs with the numbers of words for words: none is special to Thot then."""
    for first in range(0, len(source), BATCH):
        last = min(first + BATCH, len(source))
        yield (
            [list(map(str, source[k].tolist())) for k in range(first, last)],
            [list(map(str, target[k].tolist())) for k in range(first, last)],
        )


def _models(aligner: str) -> list[Any]:
    """Return the models that are trained one after the other; the last one aligns."""
    thot = _thot()
    if aligner == "fast-align":
        return [thot.FastAlignModel()]
    first = thot.Ibm1AlignmentModel()
    kinds = {"ibm1": None, "ibm2": thot.Ibm2AlignmentModel, "hmm": thot.HmmAlignmentModel}
    kind = kinds[aligner]
    return [first] if kind is None else [first, kind(first)]


def _thot() -> Any:
    try:
        import thot.alignment
    except ImportError:
        raise MissingExtraError("aligning words without --alignment FILE", "thot") from None
    return thot.alignment


def read_alignment(path: str | os.PathLike[str], text: ParallelText) -> tuple[Links, FileDigest]:
    """Read a line ``0-0 1-2 ...`` for each pair: places of a source and of a target word.

    Lines of pairs that are not used are passed over.
    """
    source = Source(path)
    source.check_line_ends()
    pair_of = np.full(text.total, -1, np.int64)
    pair_of[text.lines] = np.arange(len(text))
    sizes = np.stack([text.source.lengths, text.target.lengths], axis=1)
    counts, places = np.zeros(len(text), np.int64), []
    number = 0
    for block in source.blocks():
        check_utf8(block, source.name, number + 1)
        for line in block.decode().removesuffix("\n").split("\n"):
            if number < text.total and (pair := int(pair_of[number])) >= 0:
                links = _links(line, source.name, number + 1, sizes[pair])
                counts[pair] = len(links)
                places.append(links)
            number += 1
    if number != text.total:
        problem = f"it has {number} lines and the text has {text.total}"
        raise FormatError(source.name, None, problem, "give an alignment line for each pair")
    start = offsets(counts)
    return Links(start, np.concatenate(places)), source.digest("alignment")


def _links(line: str, name: str, number: int, sizes: Any) -> Ids:
    """Return the links of a line, ascending and none twice."""
    links = set()
    for part in line.split():
        match = _LINK.fullmatch(part)
        if match is None:
            problem = f"'{part}' is no link"
            raise FormatError(name, number, problem, "write 0-0 1-2: source and target places")
        source, other = int(match[1]), int(match[2])
        for place, size, side in ((source, sizes[0], "source"), (other, sizes[1], "target")):
            if place >= size:
                problem = f"link '{part}', and the {side} side has {size} words"
                raise FormatError(name, number, problem, "count words from 0")
        links.add((source, other))
    return np.array(sorted(links), np.int32).reshape(-1, 2)
