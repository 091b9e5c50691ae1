"""One forest as read from a file, not yet checked, its nodes in any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints, Number
from tunesmith.data.candidates import GroupId
from tunesmith.data.forests import ForestArrays
from tunesmith.data.rows import gather_rows, offsets
from tunesmith.kernels import kernel

#: The largest number of tails of a hyperedge.
MOST_TAILS = 256

FINE, NO_NODE, WRONG_SLOT, TOO_WIDE, NO_DERIVATION, CYCLE = range(6)


class RawForestError(Exception):
    """What is wrong with a forest, and with which hyperedge; None for the whole forest."""

    def __init__(self, edge: int | None, problem: str, remedy: str) -> None:
        self.edge = edge
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}; {remedy}")


@dataclass(frozen=True)
class RawForest:
    """A forest with its hyperedges in the order of the file.

    Attributes
    ----------
    id
        The id of the forest.
    nodes, goal
        The number of nodes, and the index of the goal.
    heads : int64[E]
        The head of each hyperedge.
    tail_start : int64[E + 1], tails : int64[...]
        Its tails.
    feature_start : int64[E + 1], feature_ids : int32[...], feature_values : float64[...]
        Its features; the values of a repeated feature are added up.
    word_start : int64[E + 1], words : int32[...]
        Its target side: token ids, and -k for the k-th tail, from 1 on.
    covered : int32[nodes]
        How many words of the source each node covers; -1 if unknown.
    lines : int64[E]
        The line of each hyperedge in the file, for errors; None if all are on one line.
    line
        The first line of the forest; None if a file has no lines.
    source, references
        Its input, and its references as token ids, if the file has them.
    """

    id: GroupId
    nodes: int
    goal: int
    heads: Ints
    tail_start: Ints
    tails: Ints
    feature_start: Ints
    feature_ids: Ids
    feature_values: Floats
    word_start: Ints
    words: Ids
    covered: Ids
    lines: Ints | None = None
    line: int | None = None
    source: str | None = None
    references: tuple[Ids, ...] = ()

    def line_of(self, edge: int | None) -> int | None:
        """Return the line that an error about a hyperedge names."""
        if edge is None or self.lines is None:
            return self.line
        return int(self.lines[edge])

    def ordered(self) -> tuple[ForestArrays, Ints]:
        """Sort the nodes topologically, and leave out what is in no derivation of the goal.

        Returns
        -------
        The arrays of the forest, and the hyperedges that were left out.

        Raises
        ------
        RawForestError
            If nodes are numbered wrongly, a target side does not name each tail once, no
            derivation reaches the goal, or there is a cycle.
        """
        if self.nodes < 1 or len(self.heads) == 0 or not 0 <= self.goal < self.nodes:
            raise RawForestError(None, "the forest is empty", "leave it out, or write it again")
        edges = (self.heads, self.tail_start, self.tails)
        code, edge = _check(self.nodes, *edges, self.word_start, self.words)
        if code == FINE:
            code, edge, number, edge_used = _order(self.nodes, self.goal, *edges)
        if code != FINE:
            raise self._error(code, None if edge < 0 else edge)
        return self._arrays(number, edge_used), np.flatnonzero(~edge_used)

    def name_of(self, edge: int) -> str:
        """Return what an error calls a hyperedge; without a number if the error has its line."""
        return f"hyperedge {edge + 1}" if self.lines is None else "this hyperedge"

    def _error(self, code: int, edge: int | None) -> RawForestError:
        name = "no hyperedge" if edge is None else self.name_of(edge)
        last = self.nodes - 1
        reason = f"{name} leads to it"
        if edge is not None:
            reason = f"{name} has a tail that no hyperedge leads to"
        problem, remedy = {
            NO_NODE: (f"{name} has a node that does not exist", f"number nodes from 0 to {last}"),
            WRONG_SLOT: (
                f"the target side of {name} does not name each of its tails once",
                "name each of them once",
            ),
            TOO_WIDE: (f"{name} has more than {MOST_TAILS} tails", "binarise the grammar"),
            NO_DERIVATION: (
                f"no derivation reaches the goal, the forest is not connected: {reason}",
                "write the forest again with all its hyperedges",
            ),
            CYCLE: (
                f"{name} is in a cycle: a derivation may contain itself",
                "remove the cycle; a forest has none",
            ),
        }[code]
        return RawForestError(edge, problem, remedy)

    def _arrays(self, number: Ints, edge_used: Flags) -> ForestArrays:
        """Return the arrays with nodes renumbered; nodes with the number -1 are left out."""
        edges = np.flatnonzero(edge_used)
        heads = number[self.heads[edges]]
        edges = edges[np.argsort(heads, kind="stable")]
        nodes = int(number.max()) + 1
        tail_start, tails = gather_rows(self.tail_start, edges)
        feature_start, feature_ids, feature_values = _merge_features(
            edges, self.feature_start, self.feature_ids, self.feature_values
        )
        word_start, words = gather_rows(self.word_start, edges)
        covered = np.empty(nodes, np.int32)
        covered[number[number >= 0]] = self.covered[number >= 0]
        return ForestArrays(
            np.array([0, nodes]),
            offsets(np.bincount(heads, minlength=nodes)),
            tail_start,
            number[self.tails[tails]].astype(np.int32),
            feature_start,
            feature_ids,
            feature_values,
            word_start,
            self.words[words].astype(np.int32),
            covered,
            np.zeros((len(edges), 0)),
        )


@kernel
def _merge_features(rows: Ints, start: Ints, ids: Ids, values: Floats) -> tuple[Ints, Ids, Floats]:
    """Return the features of some rows with ids ascending, each once, and without zeros."""
    new_start = np.zeros(rows.shape[0] + 1, np.int64)
    new_ids = np.empty(ids.shape[0], np.int32)
    sums = np.empty(ids.shape[0])
    count = 0
    for i in range(rows.shape[0]):
        begin = count
        for k in range(start[rows[i]], start[rows[i] + 1]):
            # Rows are short: insertion costs less than sorting.
            at = count
            while at > begin and new_ids[at - 1] > ids[k]:
                at -= 1
            if at > begin and new_ids[at - 1] == ids[k]:
                sums[at - 1] += values[k]
                continue
            for j in range(count, at, -1):
                new_ids[j] = new_ids[j - 1]
                sums[j] = sums[j - 1]
            new_ids[at] = ids[k]
            sums[at] = values[k]
            count += 1
        end = begin
        for k in range(begin, count):
            if sums[k] != 0.0:
                new_ids[end] = new_ids[k]
                sums[end] = sums[k]
                end += 1
        count = end
        new_start[i + 1] = count
    return new_start, new_ids[:count].copy(), sums[:count].copy()


@kernel
def _check(
    nodes: int, heads: Ints, tail_start: Ints, tails: Ints, word_start: Ints, words: Ids
) -> tuple[int, int]:
    """Return the first problem of a single hyperedge, and which hyperedge that is."""
    used = np.zeros(MOST_TAILS, np.bool_)
    for e in range(heads.shape[0]):
        arity = tail_start[e + 1] - tail_start[e]
        if arity > MOST_TAILS:
            return TOO_WIDE, e
        if not 0 <= heads[e] < nodes:
            return NO_NODE, e
        for k in range(tail_start[e], tail_start[e + 1]):
            if not 0 <= tails[k] < nodes:
                return NO_NODE, e
        if not names_each_tail_once(words, word_start[e], word_start[e + 1], arity, used):
            return WRONG_SLOT, e
    return FINE, -1


@kernel
def names_each_tail_once(words: Ids, begin: int, end: int, arity: int, used: Flags) -> bool:
    """Tell whether the target side ``words[begin:end]`` has each of -1 to -arity once.

    ``used`` is working memory for at least ``arity`` flags.
    """
    used[:arity] = False
    slots = 0
    for k in range(begin, end):
        if words[k] < 0:
            slot = -np.int64(words[k]) - 1
            if slot >= arity or used[slot]:
                return False
            used[slot] = True
            slots += 1
    return slots == arity


@kernel
def _order(
    nodes: int, goal: int, heads: Ints, tail_start: Ints, tails: Ints
) -> tuple[int, int, Ints, Flags]:
    """Return the new number of each node, -1 for those in no derivation, and which edges stay."""
    edges = heads.shape[0]
    number = np.full(nodes, -1, np.int64)
    edge_used = np.zeros(edges, np.bool_)
    # Outgoing and incoming hyperedges of each node.
    out_start, outgoing = _edges_by_node(nodes, tail_start, tails)
    in_start, incoming = _edges_by_node(nodes, np.arange(edges + 1), heads)
    # Nodes that have a derivation: heads of hyperedges all of whose tails have one.
    missing = tail_start[1:] - tail_start[:-1]
    derivable = np.zeros(nodes, np.bool_)
    queue = np.empty(nodes, np.int64)
    first = last = 0
    for e in range(edges):
        if missing[e] == 0 and not derivable[heads[e]]:
            derivable[heads[e]] = True
            queue[last] = heads[e]
            last += 1
    while first < last:
        node = queue[first]
        first += 1
        for k in range(out_start[node], out_start[node + 1]):
            e = outgoing[k]
            missing[e] -= 1
            if missing[e] == 0 and not derivable[heads[e]]:
                derivable[heads[e]] = True
                queue[last] = heads[e]
                last += 1
    if not derivable[goal]:
        for e in range(edges):
            edge_used[e] = not derivable[heads[e]]
        wrong = _number_nodes(
            goal, heads, tail_start, tails, incoming, in_start, edge_used, derivable, number
        )
        if wrong >= 0:
            return CYCLE, wrong, number, edge_used
        wrong = _dead_end(goal, tail_start, tails, incoming, in_start, derivable)
        return NO_DERIVATION, wrong, number, edge_used
    # Nodes that derivations of the goal use, from the goal down.
    reached = np.zeros(nodes, np.bool_)
    reached[goal] = True
    queue[0] = goal
    first, last = 0, 1
    while first < last:
        node = queue[first]
        first += 1
        for i in range(in_start[node], in_start[node + 1]):
            e = incoming[i]
            if missing[e] > 0:
                continue
            edge_used[e] = True
            for k in range(tail_start[e], tail_start[e + 1]):
                if not reached[tails[k]]:
                    reached[tails[k]] = True
                    queue[last] = tails[k]
                    last += 1
    wrong = _number_nodes(
        goal, heads, tail_start, tails, incoming, in_start, edge_used, reached, number
    )
    return (CYCLE if wrong >= 0 else FINE), wrong, number, edge_used


@kernel
def _dead_end(
    goal: int, tail_start: Ints, tails: Ints, incoming: Ints, in_start: Ints, derivable: Flags
) -> Number:
    """Return a hyperedge below the goal with a tail that has none, or -1 if the goal has none.

    There must be no cycle among nodes without a derivation.
    """
    node, edge = goal, -1
    while in_start[node] < in_start[node + 1]:
        edge = incoming[in_start[node]]
        for k in range(tail_start[edge], tail_start[edge + 1]):
            if not derivable[tails[k]]:
                node = tails[k]
                break
    return edge


@kernel
def _edges_by_node(nodes: int, tail_start: Ints, tails: Ints) -> tuple[Ints, Ints]:
    """Return, for each node, the hyperedges that it is a tail of, as often as it is one."""
    start = np.zeros(nodes + 1, np.int64)
    for k in range(tails.shape[0]):
        start[tails[k] + 1] += 1
    for n in range(nodes):
        start[n + 1] += start[n]
    at = start[:-1].copy()
    edges = np.empty(tails.shape[0], np.int64)
    for e in range(tail_start.shape[0] - 1):
        for k in range(tail_start[e], tail_start[e + 1]):
            edges[at[tails[k]]] = e
            at[tails[k]] += 1
    return start, edges


@kernel
def _number_nodes(
    goal: int,
    heads: Ints,
    tail_start: Ints,
    tails: Ints,
    incoming: Ints,
    in_start: Ints,
    edge_used: Flags,
    selected: Flags,
    number: Ints,
) -> Number:
    """Give selected nodes topological numbers; return a hyperedge in a cycle, or -1.

    Nodes keep the order of the file if it is topological. Otherwise they are numbered in
    post-order of a depth-first search from the goal, tails in the order of the file.
    """
    in_order = True
    for e in range(heads.shape[0]):
        if edge_used[e]:
            for k in range(tail_start[e], tail_start[e + 1]):
                in_order = in_order and tails[k] < heads[e]
    count = 0
    if in_order:
        for n in range(selected.shape[0]):
            if selected[n]:
                number[n] = count
                count += 1
        return -1
    # Without recursion: -1 not seen, -2 open, otherwise done.
    stack = np.empty(selected.shape[0], np.int64)
    at_edge = in_start[:-1].copy()
    at_tail = np.zeros(selected.shape[0], np.int64)
    stack[0] = goal
    number[goal] = -2
    depth = 1
    while depth > 0:
        node = stack[depth - 1]
        deeper = False
        while at_edge[node] < in_start[node + 1] and not deeper:
            e = incoming[at_edge[node]]
            k = tail_start[e] + at_tail[node]
            if not edge_used[e] or k == tail_start[e + 1]:
                at_edge[node] += 1
                at_tail[node] = 0
                continue
            at_tail[node] += 1
            if number[tails[k]] == -2:
                return e
            if number[tails[k]] == -1:
                number[tails[k]] = -2
                stack[depth] = tails[k]
                depth += 1
                deeper = True
        if not deeper:
            number[node] = count
            count += 1
            depth -= 1
    return -1
