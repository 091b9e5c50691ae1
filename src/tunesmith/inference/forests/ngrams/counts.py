"""What BLEU counts, at each hyperedge of a forest.

Chiang 2012, section 5.1. Nodes are split first, so that the n-grams that arise at a hyperedge are
determined: those that are not within one of its tails. Matches are not clipped: an n-gram that is
in a reference counts as often as it comes. The length of the reference goes to hyperedges by the
share of the source that each covers (equation 10). So counts add up over a derivation.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

import numpy as np

from tunesmith.arrays import Floats, Ids, Ints, Number
from tunesmith.data.candidates import References, Texts
from tunesmith.data.forests import Block, ForestArrays, Forests, cut
from tunesmith.data.memory import budget
from tunesmith.errors import TunesmithError, UsageError
from tunesmith.inference.forests.cache import cached
from tunesmith.inference.forests.derivations import grown
from tunesmith.inference.forests.ngrams.contexts import GAP, LENGTH, Trie, lay_out, room_of, trie_of
from tunesmith.inference.forests.ngrams.exact import counting, prepared_references
from tunesmith.inference.forests.ngrams.split import USUAL_LIMIT, SplitForest, rebuilt, split_forest
from tunesmith.io.forests.arrow.temporary import made_like
from tunesmith.kernels import kernel
from tunesmith.kernels.copying import copy_to
from tunesmith.metrics.base import Metric
from tunesmith.metrics.bleu import BLEU
from tunesmith.metrics.ngrams.tables import NgramTables, longer
from tunesmith.metrics.preparation import WORD_BY_WORD
from tunesmith.parallel.engine import current_engine, map_over

#: How many times the memory forests with counts take, with what splitting needs at a time.
GROWTH = 7.0


class CountedForests(NamedTuple):
    """Some forests with counts.

    Attributes
    ----------
    parts
        The arrays of each.
    widths : int32[S]
        How many words the contexts have by which nodes were split, -1 for none; with fewer than
        ``order - 1``, matches of long n-grams may be missed.
    """

    parts: list[ForestArrays]
    widths: Ids


def can_count(metric: Metric) -> TypeGuard[BLEU]:
    """Tell whether hyperedges can have what a metric counts.

    That is BLEU, and not a class made of it, which may count in another way. Forests have words
    one by one, and so they must be tokenised.
    """
    return type(metric) is BLEU and metric.tokenize in WORD_BY_WORD


def counted_once(forests: Forests, metric: BLEU) -> Forests:
    """Return forests with counts; they are kept for the next who asks."""
    make = functools.partial(_count_with_widths, forests, metric, USUAL_LIMIT)
    whole, widths = cached(forests, "counts", counting(metric), make)
    warn_of_fewer(widths, metric)
    return whole


def forests_with_counts(forests: Forests, metric: BLEU, limit: float = USUAL_LIMIT) -> Forests:
    """Split nodes, and count for each hyperedge what BLEU counts.

    What is on disk stays there: the forests with counts go to a temporary file. So they do where
    they would take too much of the memory.

    Parameters
    ----------
    metric
        Its statistics are the columns of ``counts``.
    limit
        How many times its hyperedges a forest may grow to; see
        :mod:`tunesmith.inference.forests.ngrams.split`.
    """
    whole, widths = _count_with_widths(forests, metric, limit)
    warn_of_fewer(widths, metric)
    return whole


def _count_with_widths(forests: Forests, metric: BLEU, limit: float) -> tuple[Forests, Ids]:
    """Count, and say how many words the contexts have by which each forest was split."""
    counter = BlockCounter(forests, metric, limit)
    widths: list[Ids] = []

    def parts() -> Iterator[ForestArrays]:
        pieces, together = forests.pieces(made=GROWTH), current_engine().workers
        for i in range(0, len(pieces), together):
            for part in map_over((forests, counter), _count_piece, pieces[i : i + together]):
                widths.append(part.widths)
                yield from part.parts

    plain = 0 if forests.bytes_per_edge > 0.0 else forests.block(0, 1).arrays.bytes
    whole = made_like(forests, parts(), budget() / 2 - plain)
    return whole, np.concatenate(widths)


def _count_piece(data: tuple[Forests, BlockCounter], piece: slice) -> CountedForests:
    forests, counter = data
    return counter.of(forests.block(piece.start, piece.stop), piece.start)


def warn_of_fewer(widths: Ids, metric: BLEU) -> None:
    """Say how many forests would have grown too large."""
    fewer = int((widths < metric.order - 1).sum())
    if fewer:
        warnings.warn(
            f"n-grams across some hyperedges are not counted in {fewer} of {len(widths)} forests, "
            "which would grow too large; texts are still scored exactly",
            stacklevel=3,
        )


class BlockCounter:
    """Counts for BLEU in blocks of forests.

    Parameters
    ----------
    forests
        What the blocks are of: their vocabulary and references.
    metric, limit
        See :func:`forests_with_counts`.
    """

    def __init__(self, forests: Forests, metric: BLEU, limit: float = USUAL_LIMIT) -> None:
        if forests.references is None:
            raise TunesmithError(
                "bleu needs references, and the forests have none; give --references"
            )
        if metric.tokenize not in WORD_BY_WORD:
            raise UsageError(
                f"bleu with tokenize={metric.tokenize} cannot be counted on forests, whose words "
                "are seen one by one; use --forest-search kbest, or tokenise the forests and the "
                "references beforehand"
            )
        self._metric = metric
        self._limit = limit
        self._parts, self._references = prepared_references(forests, metric)

    def of(self, block: Block, first: int) -> CountedForests:
        """Count in a block whose first forest has a number in the whole set."""
        last = first + block.last - block.first
        order = self._metric.order
        if self._parts is not None:
            block = Block(cut(block), 0, last - first)  # not the words of all other forests
        arrays = block.arrays
        tables = NgramTables.of(self._references, first, last, order)
        lengths = reference_lengths(self._references, first, last, self._metric.reference_length)
        blocks, widths = [], []
        sides = self._sides(arrays)
        for s in range(last - first):
            known = trie_of(tables, s)
            forest = block.first + s
            trie, split = split_forest(arrays, sides, forest, known, order - 1, self._limit)
            new = rebuilt(arrays, forest, split)
            edge0 = arrays.edge_start[arrays.node_start[forest]]
            counts = _count(new, sides.start, sides.ids, edge0, split, trie, order, lengths[s])
            blocks.append(new._replace(counts=counts))
            widths.append(split.width)
        return CountedForests(blocks, np.array(widths, np.int32))

    def _sides(self, arrays: ForestArrays) -> Texts:
        """Return the target sides of all hyperedges as the metric sees their words."""
        if self._parts is None:
            return Texts(arrays.word_start, arrays.words)
        parts = self._parts
        return Texts(*replaced_words(arrays.word_start, arrays.words, parts.start, parts.ids))


def reference_lengths(references: References, first: int, last: int, choice: str) -> Floats:
    """Return the length of the reference for each of some groups.

    A forest cannot tell which one is closest to a derivation: it has the average then.
    """
    groups = [slice(*references.group_start[g : g + 2]) for g in range(first, last)]
    lengths = references.texts.lengths
    choose = np.min if choice == "shortest" else np.mean
    return np.array([choose(lengths[group_lengths]) for group_lengths in groups], np.float64)


@kernel
def replaced_words(word_start: Ints, words: Ids, part_start: Ints, parts: Ids) -> tuple[Ints, Ids]:
    """Put the parts of each word in its place, in target sides with slots."""
    start = np.zeros(word_start.shape[0], np.int64)
    replaced = np.empty(words.shape[0], np.int32)
    count = 0
    for e in range(word_start.shape[0] - 1):
        for k in range(word_start[e], word_start[e + 1]):
            if words[k] < 0:
                replaced = grown(replaced, count + 1)
                replaced[count] = words[k]
                count += 1
            else:
                lo, hi = part_start[words[k]], part_start[words[k] + 1]
                replaced = grown(replaced, count + hi - lo)
                copy_to(replaced, count, parts[lo:hi])
                count += hi - lo
        start[e + 1] = count
    return start, replaced[:count]


@kernel
def _count(
    arrays: ForestArrays,
    word_start: Ints,
    words: Ids,
    edge0: int,
    split: SplitForest,
    trie: Trie,
    order: int,
    reference: float,
) -> Floats:
    """Return the counts of a forest that was split."""
    edges = split.origin.shape[0]
    counts = np.zeros((edges, 2 + 2 * order))
    last = 0
    for e in range(edges):
        last = max(last, split.origin[e])
    room = room_of(word_start, edge0, edge0 + last + 1, order - 1)
    laid, ends = np.empty(room, np.int32), np.empty(room, np.int32)
    for e in range(edges):
        edge = edge0 + split.origin[e]
        side = words[word_start[edge] : word_start[edge + 1]]
        tails = arrays.tails[arrays.tail_start[e] : arrays.tail_start[e + 1]]
        size, _ = lay_out(side, tails, trie.sequences, split.nodes, order - 1, laid, ends)
        _count_edge(side, tails, split.nodes, laid, ends, size, trie, order, counts[e])
    _share_out(arrays, reference, counts)
    return counts


@kernel
def _count_edge(
    side: Ids,
    tails: Ids,
    nodes: Ids,
    laid: Ids,
    ends: Ids,
    size: int,
    trie: Trie,
    order: int,
    row: Floats,
) -> None:
    """Count the n-grams that arise at a hyperedge, and its own words."""
    length = 0
    for k in range(side.shape[0]):
        length += 1 if side[k] >= 0 else nodes[tails[-side[k] - 1], LENGTH]
    row[0] = side.shape[0] - tails.shape[0]
    for n in range(order):
        new = max(length - n, 0)
        for k in range(tails.shape[0]):
            new -= max(nodes[tails[k], LENGTH] - n, 0)
        row[2 + order + n] = new
    # A tail's length is at least order - 1 or as it is, so that unigrams are not its length.
    row[2 + order] = row[0]
    keys, child = trie.keys, trie.child
    for i in range(size):
        node: Number = 0
        first, last = ends[i], min(i + order, size)
        if first < 0 or first >= last:
            continue
        for j in range(i, last):
            if laid[j] == GAP:
                break
            node = longer(keys, child, node, laid[j])
            if node < 0:
                break
            if j >= first:
                row[2 + j - i] += 1.0


@kernel
def _share_out(arrays: ForestArrays, reference: float, counts: Floats) -> None:
    """Give each hyperedge its share of the length of the reference (equation 10).

    Where it is not known how much of the source nodes cover, those of the goal have all of it.
    """
    covered = arrays.covered
    goal = covered.shape[0] - 1
    known = covered[goal] > 0
    for n in range(goal):
        known &= covered[n] >= 0
    if not known:
        for e in range(arrays.edge_start[goal], arrays.edge_start[goal + 1]):
            counts[e, 1] = reference
        return
    for n in range(goal + 1):
        for e in range(arrays.edge_start[n], arrays.edge_start[n + 1]):
            covered_by_rule = covered[n]
            for k in range(arrays.tail_start[e], arrays.tail_start[e + 1]):
                covered_by_rule -= covered[arrays.tails[k]]
            counts[e, 1] = reference * covered_by_rule / covered[goal]
