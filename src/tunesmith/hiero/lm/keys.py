"""Kernels: under which key an n-gram stands in the table of a model."""

from __future__ import annotations

import numpy as np

from tunesmith.arrays import Number
from tunesmith.kernels import inlined

# By what KenLM multiplies the key of an n-gram, and the number of the word before it.
_OF_NGRAM, _OF_WORD = np.uint64(8978948897894561157), np.uint64(17894857484156487943)
_1, _31, _62_BITS = np.uint64(1), np.uint64(31), np.uint64((1 << 62) - 1)


@inlined
def child_key(is_hashed: Number, key: Number, node: Number, word: Number) -> Number:
    """Return the key of an n-gram with a word before it.

    Of a node and a word it is exact. Models that were hashed when they were made do not say which
    words an n-gram has; there it is a hash of the words, from the last to the first, of which the
    lower 62 bits are enough: no bit depends on higher ones.

    Parameters
    ----------
    is_hashed
        Which of the two.
    key, node
        The n-gram's own key, its flags included, and its node.
    word
        The word, a unigram's node.
    """
    return (
        ((key * _OF_NGRAM) ^ ((np.uint64(word) + _1) * _OF_WORD)) & _62_BITS
        if is_hashed
        else (np.uint64(node) << _31) | np.uint64(word)
    )
