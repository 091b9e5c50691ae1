"""What kernels see of grammars and language models: arrays that may be on disk."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Floats, Ids, Ints

#: Single precision: what files have of probabilities.
Singles = NDArray[np.float32]

#: Of an n-gram, 16 bytes, so that what a search finds stands in one line of the cache.
ENTRY = np.dtype([("key", np.uint64), ("probability", np.float32), ("backoff", np.float32)])
#: Flags in the key of an n-gram: a longer one ends in it; a longer one begins with it, or it has a
#: back-off, or what it is the end of has one.
EXTENDS_LEFT, EXTENDS_RIGHT = np.uint64(1 << 63), np.uint64(1 << 62)
#: The rest of a key.
PLAIN = np.uint64((1 << 62) - 1)
#: The key of an empty place.
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
#: Columns of ``ModelArrays.layout``.
FIRST, TABLE, MASK, HASHED = 0, 1, 2, 3


class ModelArrays(NamedTuple):
    """M language models, as kernels see them.

    An n-gram is a node. It is found from its last word backwards: the node of "a b c" is the
    child of that of "b c" for the word "a". Words are the nodes of their unigrams, so that each
    model has words of its own, and nodes are counted within the model. Node k of model m is
    ``entries[layout[m, FIRST] + k]``. Those that are no unigrams stand in a table with open
    addressing: the search for the child of a node for a word begins at the entry
    ``layout[m, TABLE] + (spread_bits(key) & layout[m, MASK])`` with the ``child_key`` of both, and
    ends at the child, whose key this is but for its flags, or at an empty place. The table is
    exact, as no two pairs of a node and a word share a key, but where the model is hashed.

    Attributes
    ----------
    orders : int64[M]
        The greatest length of an n-gram of each model.
    begins, ends, unknowns : int32[M]
        The nodes of ``<s>``, ``</s>`` and ``<unk>``.
    layout : int64[M, 4]
        Where the entries of a model begin, where its table begins, the size of the table, a
        power of two, less 1, and whether the model is hashed: its keys are hashes of words.
    entries : ENTRY[...]
        Keys with flags, and logarithms to base 10.
    """

    orders: Ints
    begins: Ids
    ends: Ids
    unknowns: Ids
    layout: Ints
    entries: NDArray[Any]


class GrammarArrays(NamedTuple):
    """Synchronous rules, in a trie over their source sides with T nodes; R rules.

    A symbol is the id of a word, 0 or above, or ``-1 - c`` for a nonterminal of category c.

    Attributes
    ----------
    roots, limits : int32[...]
        Where the source sides of each part of the grammar begin, and how many words of the source
        a rule of that part may cover at most; -1 for those that cover any number from the
        sentence's first word on, as glue rules do.
    child_start : int64[T + 1], child_symbols, child_nodes : int32[...]
        The children of each node, symbols ascending.
    parents, symbols : int32[T]
        Which node each is a child of, and for which symbol; -1 and 0 for roots.
    rule_start : int64[T + 1]
        The rules whose source side ends in node t are ``rule_start[t]`` to
        ``rule_start[t + 1] - 1``.
    heads : int32[R]
        The category that a rule makes.
    target_start : int64[R + 1], targets : int32[...]
        Target sides: ids of words, and -k for the k-th nonterminal of the source side, from 1 on.
        Each nonterminal has one place.
    feature_start : int64[R + 1], feature_ids : int32[...], feature_values : float64[...]
        The features of each rule, ids ascending, none twice.
    link_start : int64[R + 1], links : int32[..., 2]
        Which word of the source side goes with which of the target side: their places among all
        symbols, nonterminals included.
    """

    roots: Ids
    limits: Ids
    child_start: Ints
    child_symbols: Ids
    child_nodes: Ids
    parents: Ids
    symbols: Ids
    rule_start: Ints
    heads: Ids
    target_start: Ints
    targets: Ids
    feature_start: Ints
    feature_ids: Ids
    feature_values: Floats
    link_start: Ints
    links: Ids
