"""What is wrong with forests as files have them, against a search by brute force."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.tiers import examples
from tunesmith.data.raw_forest import RawForest, RawForestError

#: A hyperedge: its head and its tails.
Edge = tuple[int, list[int]]


def raw(nodes: int, goal: int, edges: list[Edge], lines: bool = False) -> RawForest:
    tails = [tail for _, own in edges for tail in own]
    start = np.cumsum([0, *(len(own) for _, own in edges)])
    slots = [-k - 1 for _, own in edges for k in range(len(own))]
    return RawForest(
        0,
        nodes,
        goal,
        np.array([head for head, _ in edges], np.int64),
        start,
        np.array(tails, np.int64),
        np.zeros(len(edges) + 1, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0),
        start,
        np.array(slots, np.int32),
        np.full(nodes, -1, np.int32),
        np.arange(len(edges)) + 7 if lines else None,
    )


def made_of(edges: list[Edge]) -> set[int]:
    """Return the nodes that have a derivation."""
    made: set[int] = set()
    while more := {head for head, tails in edges if made.issuperset(tails)} - made:
        made |= more
    return made


def below(nodes: Iterable[int], edges: list[Edge]) -> set[int]:
    """Return the nodes that are reached from some by hyperedges, these among them."""
    found = set(nodes)
    while more := {t for head, tails in edges if head in found for t in tails} - found:
        found |= more
    return found


def wrong_edges(goal: int, edges: list[Edge]) -> tuple[str, set[int | None]]:
    """Return what is wrong, and the hyperedges that show it."""
    made = made_of(edges)
    if goal in made:
        some = {e: edge for e, edge in enumerate(edges) if made.issuperset(edge[1])}
    else:
        unmade = [(head, [t for t in tails if t not in made]) for head, tails in edges]
        some = {e: edge for e, edge in enumerate(unmade) if edge[0] not in made}
    held = list(some.values())
    reached = below([goal], held)
    own = {e: (head, tails) for e, (head, tails) in some.items() if head in reached}
    cycle = {e for e, (head, tails) in own.items() if head in below(tails, held)}
    if cycle:
        return "is in a cycle", {*cycle}
    if goal in made:
        return "", set()
    heads = {head for head, _ in edges}
    if goal not in heads:
        return "no hyperedge leads to it", {None}
    return "has a tail that no", {e for e, (_, tails) in own.items() if not heads.issuperset(tails)}


@st.composite
def drawn_graph(draw: st.DrawFn) -> tuple[int, int, list[Edge]]:
    nodes = draw(st.integers(1, 6))
    node = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(node, st.lists(node, max_size=2)), min_size=1, max_size=8))
    return nodes, draw(node), edges


@settings(max_examples=examples(500))
@given(drawn_graph())
def test_cycles_and_missing_nodes_are_told_apart(graph) -> None:
    nodes, goal, edges = graph
    problem, shown = wrong_edges(goal, edges)
    if not problem:
        arrays, left_out = raw(nodes, goal, edges).ordered()
        assert len(arrays.tail_start) - 1 + len(left_out) == len(edges)
        return
    with pytest.raises(RawForestError, match=problem) as caught:
        raw(nodes, goal, edges).ordered()
    assert caught.value.edge in shown


def test_an_error_names_the_line_or_else_the_number() -> None:
    loop: list[Edge] = [(0, []), (1, [2]), (2, [1])]
    with pytest.raises(RawForestError, match=r"^hyperedge [23] is in a cycle"):
        raw(3, 2, loop).ordered()
    found = raw(3, 2, loop, lines=True)
    with pytest.raises(RawForestError, match=r"^this hyperedge is in a cycle") as caught:
        found.ordered()
    assert found.line_of(caught.value.edge) in {8, 9}
