"""Depth-first search over cones: what a dive has done, and what it leaves open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.builders import tuning_set
from tests.helpers.search.brute_force import choices, is_attainable, random_problem
from tests.helpers.search.exact_checks import plain_loss
from tests.helpers.tiers import examples
from tunesmith.search.exact.cones import dive as dives
from tunesmith.search.exact.cones.dive import (
    BEST,
    DONE,
    NODES,
    ROOT,
    STOPPED,
    TESTS,
    dive,
    new_tree,
)
from tunesmith.search.exact.extreme import lists_of
from tunesmith.search.exact.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
FEW = examples(120, interpreted=8)


def attainable(problem, tolerance, towards=None, cosine=-1.0):
    """Return every attainable choice, the least loss first."""
    every = choices(problem)
    return [c for c in every if is_attainable(problem, c, tolerance, towards, cosine)]


def begun(problem, best, chosen=()):
    """Return a tree at whose root the first groups have chosen."""
    tree = new_tree(problem, len(chosen))
    tree.groups[: len(chosen)] = np.arange(len(chosen))
    tree.chosen[: len(chosen)] = chosen
    tree.lost[0] = problem.loss[list(chosen)].sum()
    tree.numbers[BEST] = best
    return tree


def small(rng, least=1):
    """Make a problem with few choices, all of which can be tested."""
    while True:
        problem = random_problem(rng)
        if problem.combinations <= 300 and problem.size >= least:
            return problem


@settings(max_examples=FEW)
@given(SEEDS, st.sampled_from([1e-6, 0.05]), st.integers(1, 12), st.integers(1, 3), st.booleans())
def test_what_is_open_holds_all_that_is_better(seed, tolerance, most, levels, near):
    rng = np.random.default_rng(seed)
    problem = small(rng)
    towards, cosine = (rng.standard_normal(problem.dimensions), 0.5) if near else (None, -1.0)
    every = attainable(problem, tolerance, towards, cosine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dives, "LEVELS", levels)
        tree = begun(problem, int(problem.loss.sum()) + 1)
    status, level = dive(lists_of(problem, tolerance, towards, cosine), tree, most)
    best = int(tree.numbers[BEST])
    optimum = int(problem.loss[every[0]].sum()) if every else int(problem.loss.sum()) + 1
    assert optimum <= best
    if best <= problem.loss.sum():
        assert plain_loss(problem, tree.best / np.linalg.norm(tree.best), tolerance) == best
    if status == DONE:
        assert best == optimum
        return
    assert status == STOPPED
    open_nodes = range(level + 1)
    for choice in every:
        inside = [k for k in open_nodes if is_inside(tree, k, level, choice)]
        assert len(inside) <= 1  # nothing is looked at twice
        lost = problem.loss[choice].sum()
        if inside:
            assert tree.bound[inside[0]] <= lost
        else:
            assert lost >= best


def is_inside(tree, k, level, choice):
    """Tell whether a choice is below the node of a level, and not below the next one."""
    path = tree.groups[:k]
    alive = tree.alive[k].copy()
    if k < level:
        alive[tree.chosen[tree.groups[k]]] = 0
    rest = np.setdiff1d(np.arange(len(choice)), path)
    return bool((tree.chosen[path] == choice[path]).all() and alive[choice[rest]].all())


@settings(max_examples=FEW)
@given(SEEDS, st.integers(1, 12))
def test_vectors_of_the_pool_lie_where_they_are_said_to(seed, most):
    problem = small(np.random.default_rng(seed))
    tree = begun(problem, int(problem.loss.sum()) + 1)
    _, level = dive(lists_of(problem, 1e-6), tree, most)
    for k in range(level + 1):
        for slot in np.flatnonzero(tree.member[k]):
            vector = tree.pool[slot] / np.linalg.norm(tree.pool[slot])
            for group in range(problem.size):
                scores = vector @ problem.block(group)
                point = problem.start[group] + scores.argmax()
                if group in tree.groups[:k]:
                    assert tree.chosen[group] == tree.wins[group, slot] == point
                second = np.sort(scores)[-2]
                clear = scores.max() - second >= 1e-6
                assert tree.wins[group, slot] == (point if clear else -1)


@settings(max_examples=FEW)
@given(SEEDS, st.sampled_from([1e-6, 0.05]))
def test_from_a_node_on(seed, tolerance):
    rng = np.random.default_rng(seed)
    problem = small(rng, 2)
    every = attainable(problem, tolerance)
    starts = problem.start
    for point in range(starts[0], starts[1]):
        below = [int(problem.loss[c].sum()) for c in every if c[0] == point]
        none = int(problem.loss.sum()) + 1
        tree = begun(problem, none, [point])
        assert tree.numbers[ROOT] == 1
        status, _ = dive(lists_of(problem, tolerance), tree, 10**9)
        assert status == DONE
        assert tree.numbers[BEST] == min([none, *below])


def test_nothing_is_better_than_the_best_known():
    problem = Problem.of(tuning_set([[[0], [1]], [[0], [1]]], [[3, 2], [0, 3]]))
    tree = begun(problem, 1)
    assert dive(lists_of(problem, 1e-6), tree, 10**9) == (DONE, 0)
    assert (tree.numbers[BEST], tree.best.tolist()) == (1, [0.0])
    assert tree.numbers[NODES] >= 1
    assert tree.numbers[TESTS] >= 1
