"""Compile kernels in a process of its own each, then load all of them in one and run them.

Run as a program, with the cache in a folder of its own. Arguments ``NAME=NUMBER`` have the process
that compiles a kernel count from this number, as numba by itself counts from 1 in every process.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Callable

import numpy as np
from numba.core.bytecode import FunctionIdentity

from tests.kernels.samples import KERNELS
from tunesmith.data.forests import ForestArrays
from tunesmith.hiero.grammar.rule_trie import sort_features
from tunesmith.inference.forests.expectation import combine_edges

VALUES = np.random.default_rng(1).integers(-5, 6, 40).astype(np.int32)
FEATURES = np.array([5, 1, 4, 1, 0, 2, 5, 3], np.int32)


def forest() -> ForestArrays:
    """Return a forest of one node with four hyperedges of two features each."""
    nothing, offsets = np.zeros(0, np.int32), np.zeros(5, np.int64)
    return ForestArrays(
        node_start=np.array([0, 1]),
        edge_start=np.array([0, 4]),
        tail_start=offsets,
        tails=nothing,
        feature_start=np.arange(0, 9, 2),
        feature_ids=FEATURES,
        feature_values=np.ones(8),
        word_start=offsets,
        words=nothing,
        covered=nothing,
        counts=np.zeros((4, 0)),
    )


def combined() -> np.ndarray:
    """Return the features of all hyperedges: what once came out of order."""
    return combine_edges(forest(), 0, np.ones(4), 6)[0]


def sorted_features() -> np.ndarray:
    """Return the features of a rule that has many of them."""
    many = np.arange(40, 0, -1, dtype=np.int32)
    sort_features(np.array([0, 40]), many, np.ones(40))
    return many


Sample = tuple[str, Callable[[], np.ndarray], np.ndarray]


def samples() -> list[Sample]:
    """Return what is run, and what numpy says."""
    found: list[Sample] = [
        (one.__name__, functools.partial(one, VALUES), one.py_func(VALUES)) for one in KERNELS
    ]
    found.append(("combine_edges", combined, np.unique(FEATURES)))
    found.append(("sort_features", sorted_features, np.arange(1, 41)))
    return found


def agree(name: str, found: np.ndarray, expected: np.ndarray) -> bool:
    """Compare; of equal values a sort that is not stable may give any order."""
    if name == "numba_argsort":
        found, expected = VALUES[found], VALUES[expected]
    return np.array_equal(found, expected)


def apart(work: Callable[[], object], number: str | None) -> None:
    """Do something in a forked process."""
    child = os.fork()
    if child == 0:
        if number is not None:
            FunctionIdentity._unique_ids = itertools.count(int(number))
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status


def main() -> None:
    """Print the names of kernels that gave something else than numpy."""
    todo = samples()
    if "--backwards" in sys.argv:
        todo.reverse()
    numbers = dict(one.split("=") for one in sys.argv[1:] if "=" in one)
    for name, run, _ in todo:
        apart(run, numbers.get(name))
    if "--only" in sys.argv:  # where the wrong function is called anything can happen
        return
    sys.stdout.write(" ".join(name for name, run, right in todo if not agree(name, run(), right)))


if __name__ == "__main__":
    main()
