"""What kernels see of grammars and language models: arrays that may be on disk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Floats, Ids, Ints, Words

#: Single precision: what files have of probabilities.
Singles = NDArray[np.float32]

#: Flags of an n-gram: a longer one ends in it; a longer one begins with it, or it has a back-off.
EXTENDS_LEFT, EXTENDS_RIGHT = 1, 2


class ModelArrays(NamedTuple):
    """M language models, as kernels see them.

    An n-gram is a node. It is found from its last word backwards: the node of "a b c" is the
    child of that of "b c" for the word "a". Words are the nodes of their unigrams, so that each
    model has words of its own. The table of children is exact: no two pairs of a node and a word
    share a key.

    Attributes
    ----------
    orders : int64[M]
        The greatest length of an n-gram of each model.
    begins, ends, unknowns : int32[M]
        The nodes of ``<s>``, ``</s>`` and ``<unk>``.
    probabilities, backoffs : float32[n]
        Logarithms to base 10, of each node.
    flags : uint8[n]
        EXTENDS_LEFT and EXTENDS_RIGHT.
    keys : uint64[2^k], children : int32[2^k]
        Open addressing: ``node << 32 | word`` and the child; -1 for an empty place, which ends
        the search. The first place to look is ``spread_bits(key) & (2^k - 1)``.
    """

    orders: Ints
    begins: Ids
    ends: Ids
    unknowns: Ids
    probabilities: Singles
    backoffs: Singles
    flags: NDArray[np.uint8]
    keys: Words
    children: Ids


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
