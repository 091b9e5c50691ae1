"""Reading: the format is found from the content, and everything lands in one set."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Ints
from tunesmith.data.assembly import Piece
from tunesmith.data.candidates import CandidateSet, Texts
from tunesmith.errors import FormatError
from tunesmith.io.collector import Collector
from tunesmith.io.formats import FORMATS
from tunesmith.io.streams import Source
from tunesmith.io.tokens import Interner, tokenize
from tunesmith.io.utf8 import check_utf8

Path = str | os.PathLike[str]

#: First bytes of compressed files that are not read.
COMPRESSIONS = {"bzip2": b"BZh", "xz": b"\xfd7zXZ\0", "zstd": b"\x28\xb5\x2f\xfd"}


def read(
    candidates: Path | Sequence[Path],
    references: Path | Sequence[Path] = (),
    format: str | None = None,  # noqa: A002
) -> CandidateSet:
    """Read candidates, and the references to score them against.

    Parameters
    ----------
    candidates
        One file, or several whose candidates are merged: the same group in two files
        becomes one, a candidate with the same text and features is kept once.
    references
        Files with one reference a line; a group's id is its line number, from 0.
    format
        A name from ``tunesmith list formats``; None recognises it from the content.

    Returns
    -------
    CandidateSet
    """
    collector = Collector()
    for path in _several(candidates):
        source = Source(path)
        blocks = source.blocks()
        first = next(blocks)
        found = format or _recognise(first, source.name)
        FORMATS.get(found)().read(itertools.chain([first], blocks), source.name, collector)
        collector.files.append(source.digest(found))
    held = []
    for path in _several(references):
        source = Source(path)
        held.append((source.name, read_lines(source, collector.vocabulary)))
        collector.files.append(source.digest("text"))
    result = collector.finish(held)
    for name, texts in held:
        if len(texts) > result.groups:
            missing = len(texts) - result.groups
            warnings.warn(
                f"{name}: {missing} of {len(texts)} lines have no candidates and do not count",
                stacklevel=2,
            )
    return result


def read_hypotheses(hypotheses: Path, references: Path | Sequence[Path]) -> CandidateSet:
    """Read an output, one text a line, as a set with one candidate per group."""
    collector = Collector()
    source = Source(hypotheses)
    texts = read_lines(source, collector.vocabulary)
    collector.files.append(source.digest("text"))
    held = []
    for path in _several(references):
        other = Source(path)
        held.append((other.name, read_lines(other, collector.vocabulary)))
        collector.files.append(other.digest("text"))
        if len(held[-1][1]) != len(texts):
            problem = f"it has {len(held[-1][1])} lines and {source.name} has {len(texts)}"
            raise FormatError(other.name, None, problem, "give one reference line per hypothesis")
    collector.pieces.append(_without_features(collector.groups(range(len(texts))), texts))
    return collector.finish(held)


def _without_features(group: Ints, texts: Texts) -> Piece:
    none = np.zeros(0, np.int64)
    values = np.zeros((0, len(texts)))
    return Piece(group, texts, none, values, none, none, np.zeros(0), none, none)


def read_lines(source: Source, vocabulary: Interner) -> Texts:
    """Read plain text, one text a line."""
    parts = []
    line = 1
    for block in source.blocks():
        check_utf8(block, source.name, line)
        line += block.count(b"\n")
        parts.append(tokenize(block, vocabulary))
    lengths = np.concatenate([part.lengths for part in parts])
    return Texts(
        np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([part.ids for part in parts])
    )


def _several(paths: Path | Sequence[Path]) -> list[Path]:
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


def _recognise(head: bytes, name: str) -> str:
    for format_name in FORMATS.names():
        if FORMATS.get(format_name).recognises(head):
            return format_name
    for kind, magic in COMPRESSIONS.items():
        if head.startswith(magic):
            raise FormatError(
                name, None, f"it is compressed with {kind}", "decompress it, or use gzip"
            )
    raise FormatError(
        name,
        1,
        "the format is not recognised",
        f"name it with --format, one of {', '.join(FORMATS.names())}",
    )
