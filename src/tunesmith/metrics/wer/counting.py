"""Edits between texts in units, for all candidates at once; rapidfuzz counts them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from tunesmith.arrays import Ids, Ints, Stats
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.kernels import kernel
from tunesmith.parallel.local import thread_count

#: Tokens that are in memory as Python strings at a time.
BATCH = 1 << 20
#: The greatest number that a character of a string can have.
LAST_CHARACTER = 0x10FFFF


def window(texts: Texts, first: int, last: int) -> Texts:
    """Return some of the texts, as if there were no others."""
    start = texts.start[first : last + 1]
    return Texts(start - start[0], texts.ids[start[0] : start[-1]])


def batches(candidates: CandidateSet) -> list[slice]:
    """Cut the groups into runs of a bounded number of tokens."""
    done = candidates.texts.start[candidates.start]
    edges = [0]
    while edges[-1] < candidates.groups:
        after = int(np.searchsorted(done, done[edges[-1]] + BATCH, side="right")) - 1
        edges.append(max(after, edges[-1] + 1))
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def fill_edits(start: Ints, texts: Texts, references: References, stats: Stats) -> None:
    """Compute the statistics of some groups.

    Parameters
    ----------
    start : int64[S + 1]
        The texts of each group.
    texts, references
        In units.
    stats : int32[N, 3]
        To be filled.
    """
    hypotheses, others = _as_strings(start, texts, references)
    sizes = np.diff(start)
    lengths = np.diff(references.texts.start)
    first = references.group_start[0]
    stats[:, 0] = np.iinfo(np.int32).max
    stats[:, 2] = texts.lengths
    for k in range(int(references.counts.max())):
        # The k-th reference of every group that has that many.
        has = np.repeat(references.counts > k, sizes)
        reference = np.repeat(references.group_start[:-1] + k, sizes)[has]
        errors = process.cpdist(
            [others[r] for r in (reference - first).tolist()],
            hypotheses if has.all() else [hypotheses[i] for i in np.flatnonzero(has).tolist()],
            scorer=Levenshtein.distance,
            dtype=np.int32,
            workers=thread_count(),
        )
        rows = np.flatnonzero(has)
        fewer = errors < stats[rows, 0]
        stats[rows[fewer], 0] = errors[fewer]
        stats[rows[fewer], 1] = lengths[reference[fewer]]


def _as_strings(start: Ints, texts: Texts, references: References) -> tuple[list[Any], list[Any]]:
    """Write texts and references of some groups with one character for each unit.

    Units are numbered anew in each group, and those that are in none of its references are
    all the same: they match nothing. So one byte is nearly always enough, and no vocabulary
    is too large.
    """
    reference_window = window(
        references.texts, references.group_start[0], references.group_start[-1]
    )
    size = 1 + max(int(texts.ids.max(initial=0)), int(reference_window.ids.max(initial=0)))
    codes = np.empty(len(texts.ids), np.int32)
    held_codes = np.empty(len(reference_window.ids), np.int32)
    most = _number(
        start,
        texts.start,
        texts.ids,
        references.group_start - references.group_start[0],
        reference_window.start,
        reference_window.ids,
        np.zeros(size, np.int32),
        codes,
        held_codes,
    )
    return _cut(_string(codes, most), texts.start), _cut(
        _string(held_codes, most), reference_window.start
    )


def _string(codes: Ids, most: int) -> str | list[int]:
    """Return codes as characters; as numbers where there are more codes than characters."""
    if most < 256:
        return codes.astype(np.uint8).tobytes().decode("latin-1")
    if most <= LAST_CHARACTER:
        # Halves of surrogate pairs are characters like others here.
        return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    numbers: list[int] = codes.tolist()
    return numbers


def _cut(units: str | list[int], start: Ints) -> list[Any]:
    edges = start.tolist()
    return [units[a:b] for a, b in itertools.pairwise(edges)]


@kernel
def _number(
    start: Ints,
    text_start: Ints,
    units: Ids,
    group_references: Ints,
    reference_start: Ints,
    reference_units: Ids,
    place: Ids,
    codes: Ids,
    reference_codes: Ids,
) -> int:
    """Give numbers from 1 to the units of each group's references; return the greatest.

    ``place`` is 0 for all units, before and after.
    """
    most = 0
    for g in range(start.shape[0] - 1):
        lo = reference_start[group_references[g]]
        hi = reference_start[group_references[g + 1]]
        used = 0
        for i in range(lo, hi):
            unit = reference_units[i]
            if place[unit] == 0:
                used += 1
                place[unit] = used
            reference_codes[i] = place[unit]
        most = max(most, used)
        for i in range(text_start[start[g]], text_start[start[g + 1]]):
            codes[i] = place[units[i]]
        for i in range(lo, hi):
            place[reference_units[i]] = 0
    return most
