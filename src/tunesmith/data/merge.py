"""Sets of several rounds made into one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunesmith.arrays import Ids, Ints
from tunesmith.data.assembly import Piece, assemble_traced
from tunesmith.data.candidates import CandidateSet, GroupId, References, Texts, pack_texts
from tunesmith.data.features import Features
from tunesmith.errors import TunesmithError


def merge(sets: Sequence[CandidateSet]) -> CandidateSet:
    """Merge the candidates of several rounds into one set.

    Groups are matched by id and features by name; a feature that a set lacks is 0 there.
    A candidate with the text and the features of an earlier one is dropped. References
    and sources come from the first set that has the group.

    Parameters
    ----------
    sets
        The candidates of each round, the earliest first.
    """
    return merge_traced(sets)[0]


def merge_traced(sets: Sequence[CandidateSet]) -> tuple[CandidateSet, Ints]:
    """Merge as :func:`merge`, and say where the candidates come from.

    Returns
    -------
    candidates
        The merged set.
    origin : int64[N]
        Which of all candidates, one set after the other, each one is.
    """
    if not sets:
        raise TunesmithError("there is nothing to merge; give at least one set of candidates")
    ids = {i: k for k, i in enumerate(dict.fromkeys(i for s in sets for i in s.ids))}
    names = {x: k for k, x in enumerate(dict.fromkeys(x for s in sets for x in s.features.names))}
    words = {x: k for k, x in enumerate(dict.fromkeys(x for s in sets for x in s.vocabulary))}
    pieces = [_piece(candidates, ids, names, words) for candidates in sets]
    merged, origin = assemble_traced(pieces, list(ids), list(names), words)

    references: list[Texts] = []
    owners: dict[GroupId, tuple[int, int]] = {}
    for k, candidates in enumerate(sets):
        renamed = np.array([words[w] for w in candidates.vocabulary], np.int32)
        held = candidates.references.texts if candidates.references else Texts.empty()
        references.append(Texts(held.start, renamed[held.ids]))
        for g, i in enumerate(candidates.ids):
            owners.setdefault(i, (k, g))
    found = CandidateSet(
        merged.ids,
        merged.start,
        merged.features,
        merged.texts,
        merged.vocabulary,
        _merge_references(sets, references, [owners[i] for i in merged.ids]),
        merged.columns,
        _merge_sources(sets, [owners[i] for i in merged.ids]),
        tuple(file for candidates in sets for file in candidates.files),
    )
    return found, origin


def _piece(
    candidates: CandidateSet, ids: dict[GroupId, int], names: dict[str, int], words: dict[str, int]
) -> Piece:
    return piece_of(
        candidates,
        np.array([ids[i] for i in candidates.ids], np.int64),
        np.array([names[x] for x in candidates.features.names], np.int64),
        np.array([words[w] for w in candidates.vocabulary], np.int32),
    )


def piece_of(candidates: CandidateSet, groups: Ints, columns: Ints, words: Ids) -> Piece:
    """Return a whole set as a piece of another, given its groups, features and words there."""
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
        len(candidates) - np.array([_lacking(features, d) for d in features.dense_names], np.int64),
        candidates.columns,
        candidates.files[0].path if candidates.files else "a set to merge",
    )


def _lacking(features: Features, name: str) -> int:
    gap = features.gaps.get(name)
    return 0 if gap is None else gap.count or 0


def _merge_references(
    sets: Sequence[CandidateSet], references: Sequence[Texts], owners: Sequence[tuple[int, int]]
) -> References | None:
    if all(candidates.references is None for candidates in sets):
        return None
    if any(candidates.references is None for candidates in sets):
        raise TunesmithError("only some of the sets have references; read all with them or none")
    counts = [0]
    texts: list[Ids] = []
    for k, g in owners:
        held = sets[k].references
        assert held is not None
        lo, hi = int(held.group_start[g]), int(held.group_start[g + 1])
        counts.append(hi - lo)
        texts.extend(references[k][r] for r in range(lo, hi))
    return References(np.cumsum(counts), pack_texts(texts))


def _merge_sources(
    sets: Sequence[CandidateSet], owners: Sequence[tuple[int, int]]
) -> tuple[str, ...] | None:
    sources = [candidates.sources for candidates in sets]
    if any(s is None for s in sources):
        return None
    return tuple((sources[k] or ())[g] for k, g in owners)
