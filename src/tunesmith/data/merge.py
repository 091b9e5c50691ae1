"""Merging candidate sets of several rounds into one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from tunesmith.arrays import Ids, Ints
from tunesmith.data.assembly import Piece, assemble_traced
from tunesmith.data.candidates import CandidateSet, GroupId, References, Texts, pack_references
from tunesmith.data.features import lacking
from tunesmith.errors import TunesmithError

Key = TypeVar("Key", bound=Hashable)


def merge(sets: Sequence[CandidateSet]) -> CandidateSet:
    """Merge the candidates of several rounds into one set.

    Groups are matched by id and features by name; a feature that a set lacks is 0 there. A
    candidate with the same text and features as an earlier one is dropped. References and sources
    come from the first set that has the group.

    Parameters
    ----------
    sets
        The candidates of each round, the earliest first.
    """
    return merge_traced(sets)[0]


def merge_traced(sets: Sequence[CandidateSet]) -> tuple[CandidateSet, Ints]:
    """Merge as :func:`merge`, and return where the candidates come from.

    Returns
    -------
    candidates
        The merged set.
    origin : int64[N]
        The index of each one among all candidates, one set after the other.
    """
    if not sets:
        raise TunesmithError("there is nothing to merge; give at least one set of candidates")
    ids = _numbered(i for s in sets for i in s.ids)
    names = _numbered(name for s in sets for name in s.features.names)
    words = _numbered(word for s in sets for word in s.vocabulary)
    pieces = []
    word_ids = []
    first_with: dict[GroupId, tuple[int, int]] = {}
    for k, candidates in enumerate(sets):
        groups = np.array([ids[i] for i in candidates.ids], np.int64)
        columns = np.array([names[name] for name in candidates.features.names], np.int64)
        word_ids.append(np.array([words[word] for word in candidates.vocabulary], np.int32))
        pieces.append(piece_of(candidates, groups, columns, word_ids[k]))
        for g, i in enumerate(candidates.ids):
            first_with.setdefault(i, (k, g))
    merged, origin = assemble_traced(pieces, list(ids), list(names), words)
    owners = [first_with[i] for i in merged.ids]
    merged = replace(
        merged,
        references=_merge_references(sets, word_ids, owners),
        sources=_merge_sources(sets, owners),
        files=tuple(file for candidates in sets for file in candidates.files),
    )
    return merged, origin


def _numbered(keys: Iterable[Key]) -> dict[Key, int]:
    """Return distinct keys with their numbers, in the order of their first occurrence."""
    return {key: k for k, key in enumerate(dict.fromkeys(keys))}


def piece_of(candidates: CandidateSet, groups: Ints, columns: Ints, words: Ids) -> Piece:
    """Return a set as a piece of another, given the other's ids of its groups, features, words."""
    features = candidates.features
    dense, sparse = np.split(columns, [len(features.dense_names)])
    entries = features.sparse.tocoo()
    return Piece(
        np.repeat(groups, np.diff(candidates.start)),
        Texts(candidates.texts.start, words[candidates.texts.ids]),
        dense,
        features.dense,
        entries.row.astype(np.int64),
        sparse[entries.col] if len(sparse) else np.zeros(0, np.int64),
        entries.data,
        dense,
        len(candidates) - np.array([lacking(features, d) for d in features.dense_names], np.int64),
        candidates.columns,
        candidates.files[0].path if candidates.files else "a set to merge",
        {} if candidates.originals is None else candidates.originals.by_row(),
    )


def _merge_references(
    sets: Sequence[CandidateSet], word_ids: Sequence[Ids], owners: Sequence[tuple[int, int]]
) -> References | None:
    references = [candidates.references for candidates in sets if candidates.references is not None]
    if not references:
        return None
    if len(references) < len(sets):
        raise TunesmithError("only some of the sets have references; read all with them or none")
    return pack_references(
        [[word_ids[k][text] for text in references[k].of_group(g)] for k, g in owners]
    )


def _merge_sources(
    sets: Sequence[CandidateSet], owners: Sequence[tuple[int, int]]
) -> tuple[str, ...] | None:
    sources = [candidates.sources for candidates in sets]
    if any(s is None for s in sources):
        return None
    return tuple((sources[k] or ())[g] for k, g in owners)
