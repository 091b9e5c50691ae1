"""Lists that processes wrote: whether each is whole, and all of them as one set."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tunesmith.data.candidates import CandidateSet, GroupId, Texts
from tunesmith.data.features import Gap
from tunesmith.decoders.base import DecoderError
from tunesmith.io.collector import Collector
from tunesmith.io.compression import kind_of

#: First bytes of formats that are not lines of text.
BINARY = (b"ARROW1", b"PAR1")
HEAD = 16


def check_there(path: Path) -> None:
    """Raise an error if a list is not there, is empty, or lacks the end of its last line.

    A line that is cut off may still be read, with wrong numbers.
    """
    if not path.exists():
        raise DecoderError(f"{path}: it is not there; have the program write it")
    if not path.is_file():
        raise DecoderError(f"{path}: this is no plain file; have the program write one")
    with open(path, "rb") as file:
        head = file.read(HEAD)
        if not head:
            raise DecoderError(f"{path}: it is empty; have the program write candidates")
        if head.startswith(BINARY) or kind_of(head) is not None:
            return  # the readers of these know where they end
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            raise DecoderError(
                f"{path}: the last line has no end, it may be cut off; have every line end in a "
                "line feed"
            )


def check_ids(collector: Collector, count: int) -> None:
    """Raise an error if a shard's groups are not its sentences, counted from 0."""
    present = set(collector.ids)
    if lacking := [i for i in range(count) if i not in present]:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise DecoderError(
            f"there is no candidate of sentence {lacking[0]}{more}, of {count} counted from 0; "
            "have it give at least one for each line of its input"
        )
    if len(present) > count:
        strange = next(i for i in collector.ids if not isinstance(i, int) or not 0 <= i < count)
        raise DecoderError(
            f"there are candidates of sentence '{strange}', but its input has {count}, counted "
            "from 0; have it number the lines of its input"
        )


def join_parts(parts: Sequence[Collector]) -> CandidateSet:
    """Return the candidates of all parts, the same whatever the parts are."""
    whole = Collector()
    # A part meets features in its own order.
    whole.columns(sorted({name for part in parts for name in part.names}, key=natural))
    done = 0
    for part in parts:
        ids: dict[GroupId, GroupId] = {i: i + done for i in part.ids if isinstance(i, int)}
        whole.take(part, ids)
        done += len(ids)
    candidates = whole.finish()
    for values in (candidates.features.dense, candidates.features.sparse.data):
        if not np.isfinite(values).all():
            raise DecoderError("a feature is not finite; fix the decoder's model")
    words, texts = _in_order(candidates)
    # A table has gaps, where another one lacks the whole column: what was noted depends on parts.
    gaps = {
        name: Gap(gap.count, "the decoder's output")
        for name, gap in candidates.features.gaps.items()
        if gap.count is not None
    }
    features = dataclasses.replace(candidates.features, gaps=gaps)
    return dataclasses.replace(
        candidates, features=features, vocabulary=words, texts=texts, files=()
    )


def _in_order(candidates: CandidateSet) -> tuple[tuple[str, ...], Texts]:
    """Return the words in the order in which they first occur, and the texts over them."""
    ids = candidates.texts.ids
    first = np.full(len(candidates.vocabulary), len(ids), np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]  # of several the last assigned stays
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(ids))]
    place = np.zeros(len(first), np.int32)
    place[order] = np.arange(len(order))
    words = tuple(candidates.vocabulary[k] for k in order)
    return words, Texts(candidates.texts.start, place[ids])


def natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Return what to sort names by so that TM_10 comes after TM_2."""
    parts = re.split(r"0*([0-9]+)", name)
    return [(len(part) if k % 2 else 0, part) for k, part in enumerate(parts)], name
