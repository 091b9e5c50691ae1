"""Rules in any order, and the trie over their source sides."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Flags, Floats, Ids, Ints, Number, Words
from tunesmith.data.rows import offsets
from tunesmith.hiero.store import frozen
from tunesmith.hiero.tables import GrammarArrays
from tunesmith.kernels import inlined, kernel
from tunesmith.kernels.bits import spread_bits
from tunesmith.kernels.copying import copy_to
from tunesmith.kernels.sorting import argsort

#: A place of the hash table where nothing is; no node has so high a number.
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_32 = np.uint64(32)
#: Up to this many features are sorted by insertion.
FEW = 50


class RuleRows(NamedTuple):
    """R rules in any order; symbols, targets, features and links as in :class:`GrammarArrays`.

    Features may come in any order, and links may be at nonterminals.
    """

    heads: Ids
    source_start: Ints
    sources: Ids
    target_start: Ints
    targets: Ids
    feature_start: Ints
    feature_ids: Ids
    feature_values: Floats
    link_start: Ints
    links: Ids


def build_trie(rows: RuleRows, limit: int) -> tuple[GrammarArrays, Ints]:
    """Put rules in a trie; return it, and which row became each rule.

    The rules of a node keep their order. Features that are 0 are left out, and so are links at
    nonterminals. Nothing is checked here, see :mod:`tunesmith.hiero.grammar.rule_checks`.
    """
    ends, parents, symbols = _trie(rows)
    order = np.argsort(ends, kind="stable")
    counts = np.bincount(ends, minlength=len(parents))
    feature_kept = rows.feature_values != 0.0
    link_kept = np.ones(len(rows.links), np.bool_)
    _mark_words(rows, link_kept)
    target_start, targets = _chosen(rows.target_start, rows.targets, None, order)
    link_start, links = _chosen(rows.link_start, rows.links, link_kept, order)
    feature_start, feature_ids = _chosen(rows.feature_start, rows.feature_ids, feature_kept, order)
    _, feature_values = _chosen(rows.feature_start, rows.feature_values, feature_kept, order)
    sort_features(feature_start, feature_ids, feature_values)
    arrays = GrammarArrays(
        roots=np.zeros(1, np.int32),
        limits=np.array([limit], np.int32),
        **children(parents, symbols),
        parents=parents,
        symbols=symbols,
        rule_start=offsets(counts),
        heads=rows.heads[order],
        target_start=target_start,
        targets=targets,
        feature_start=feature_start,
        feature_ids=feature_ids,
        feature_values=feature_values,
        link_start=link_start,
        links=links,
    )
    return GrammarArrays(*(frozen(array) for array in arrays)), order


def some_rows(rows: RuleRows, selection: Ints) -> RuleRows:
    """Return some of the rules, in the order given."""
    source_start, sources = _chosen(rows.source_start, rows.sources, None, selection)
    target_start, targets = _chosen(rows.target_start, rows.targets, None, selection)
    feature_start, feature_ids = _chosen(rows.feature_start, rows.feature_ids, None, selection)
    _, feature_values = _chosen(rows.feature_start, rows.feature_values, None, selection)
    link_start, links = _chosen(rows.link_start, rows.links, None, selection)
    return RuleRows(
        rows.heads[selection],
        source_start,
        sources,
        target_start,
        targets,
        feature_start,
        feature_ids,
        feature_values,
        link_start,
        links,
    )


def children(parents: Ids, symbols: Ids) -> dict[str, NDArray[Any]]:
    """Return the children of each node of a trie, or of several: ``child_...``."""
    inner = np.flatnonzero(parents >= 0)
    keys = (parents[inner].astype(np.int64) << 32) + symbols[inner]
    nodes = inner[np.argsort(keys, kind="stable")]
    counts = np.bincount(parents[nodes], minlength=len(parents))
    return {
        "child_start": offsets(counts),
        "child_symbols": symbols[nodes],
        "child_nodes": nodes.astype(np.int32),
    }


def _trie(rows: RuleRows) -> tuple[Ids, Ids, Ids]:
    """Return the node in which each source side ends, and the parents and symbols of nodes."""
    ends = np.zeros(len(rows.heads), np.int32)
    room = len(rows.sources) + 1
    parents, symbols = np.full(room, -1, np.int32), np.zeros(room, np.int32)
    keys, nodes = np.full(1 << 10, EMPTY), np.zeros(1 << 10, np.int32)
    progress = np.array([0, 1], np.int64)
    while not _insert(
        rows.source_start, rows.sources, ends, parents, symbols, keys, nodes, progress
    ):
        more = 2 * len(keys) if len(keys) >= 1 << 22 else 4 * len(keys)
        new_keys, new_nodes = np.full(more, EMPTY), np.zeros(more, np.int32)
        _rehash(keys, nodes, new_keys, new_nodes)
        keys, nodes = new_keys, new_nodes
    used = int(progress[1])
    return ends, parents[:used].copy(), symbols[:used].copy()


@inlined
def _key(node: Number, symbol: Number) -> Number:
    return (np.uint64(node) << _32) | np.uint64(np.uint32(symbol))


@kernel
def _insert(
    start: Ints,
    sources: Ids,
    ends: Ids,
    parents: Ids,
    symbols: Ids,
    keys: Words,
    nodes: Ids,
    progress: Ints,
) -> bool:
    """Go on at ``progress`` (rule, nodes); false where the hash table is half full."""
    mask = np.uint64(keys.shape[0] - 1)
    used = progress[1]
    for rule in range(progress[0], ends.shape[0]):
        if 2 * (used + start[rule + 1] - start[rule]) > keys.shape[0]:
            progress[0], progress[1] = rule, used
            return False
        node: Number = 0
        for k in range(start[rule], start[rule + 1]):
            key = _key(node, sources[k])
            slot = spread_bits(key) & mask
            while keys[slot] != EMPTY and keys[slot] != key:
                slot = (slot + np.uint64(1)) & mask
            if keys[slot] == EMPTY:
                keys[slot] = key
                nodes[slot] = used
                parents[used] = node
                symbols[used] = sources[k]
                used += 1
            node = np.int64(nodes[slot])
        ends[rule] = node
    progress[0], progress[1] = ends.shape[0], used
    return True


@kernel
def _rehash(keys: Words, nodes: Ids, new_keys: Words, new_nodes: Ids) -> None:
    mask = np.uint64(new_keys.shape[0] - 1)
    for old in range(keys.shape[0]):
        if keys[old] != EMPTY:
            slot = spread_bits(keys[old]) & mask
            while new_keys[slot] != EMPTY:
                slot = (slot + np.uint64(1)) & mask
            new_keys[slot] = keys[old]
            new_nodes[slot] = nodes[old]


@kernel
def _mark_words(rows: RuleRows, flags: Flags) -> None:
    """Mark links that are not at nonterminals; those out of range are left to be found."""
    for rule in range(rows.heads.shape[0]):
        source = rows.sources[rows.source_start[rule] : rows.source_start[rule + 1]]
        target = rows.targets[rows.target_start[rule] : rows.target_start[rule + 1]]
        for k in range(rows.link_start[rule], rows.link_start[rule + 1]):
            i, j = rows.links[k, 0], rows.links[k, 1]
            if 0 <= i < source.shape[0] and 0 <= j < target.shape[0]:
                flags[k] = source[i] >= 0 and target[j] >= 0


def _chosen(
    start: Ints, values: NDArray[Any], flags: Flags | None, order: Ints
) -> tuple[Ints, NDArray[Any]]:
    """Return some rows, in the order given, without the values that are not kept."""
    if values.ndim == 2:
        twice = None if flags is None else np.repeat(flags, 2)
        row_start, flat = _chosen(2 * start, values.reshape(-1), twice, order)
        return row_start // 2, flat.reshape(-1, 2)
    if flags is not None and not flags.all():
        before = offsets(flags)
        start, values = before[start], values[flags]
    row_start = offsets(np.diff(start)[order])
    out = np.empty(row_start[-1], values.dtype)
    _gather(start, values, order, row_start, out)
    return row_start, out


@kernel
def _gather(
    start: Ints, values: NDArray[Any], order: Ints, offsets: Ints, out: NDArray[Any]
) -> None:
    for k in range(order.shape[0]):
        first = start[order[k]]
        for i in range(offsets[k + 1] - offsets[k]):
            out[offsets[k] + i] = values[first + i]


@kernel
def sort_features(start: Ints, ids: Ids, values: Floats) -> None:
    """Sort the features of each rule by their ids."""
    for rule in range(start.shape[0] - 1):
        rule_ids, of = ids[start[rule] : start[rule + 1]], values[start[rule] : start[rule + 1]]
        if rule_ids.shape[0] > FEW:
            order = argsort(rule_ids)
            copy_to(rule_ids, 0, rule_ids[order])
            copy_to(of, 0, of[order])
            continue
        for k in range(1, rule_ids.shape[0]):
            name, value = rule_ids[k], of[k]
            at = k
            while at > 0 and rule_ids[at - 1] > name:
                rule_ids[at], of[at] = rule_ids[at - 1], of[at - 1]
                at -= 1
            rule_ids[at], of[at] = name, value


def with_features(arrays: GrammarArrays, start: Ints, ids: Ids, values: Floats) -> GrammarArrays:
    """Put further features, with higher ids, after those of each rule."""
    size = np.diff(arrays.feature_start) + np.diff(start)
    new_start = offsets(size)
    new_ids, new_values = np.empty(new_start[-1], np.int32), np.empty(new_start[-1], np.float64)
    _lay(
        arrays.feature_start,
        arrays.feature_ids,
        arrays.feature_values,
        new_start[:-1],
        new_ids,
        new_values,
    )
    after = new_start[:-1] + np.diff(arrays.feature_start)
    _lay(start, ids, values, after, new_ids, new_values)
    return arrays._replace(
        feature_start=frozen(new_start),
        feature_ids=frozen(new_ids),
        feature_values=frozen(new_values),
    )


@kernel
def _lay(start: Ints, ids: Ids, values: Floats, at: Ints, new_ids: Ids, new_values: Floats) -> None:
    for rule in range(at.shape[0]):
        shift = at[rule] - start[rule]
        for k in range(start[rule], start[rule + 1]):
            new_ids[k + shift] = ids[k]
            new_values[k + shift] = values[k]
