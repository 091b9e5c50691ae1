"""One forest as a file has it: nodes in any order, and perhaps not a forest at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids, Ints, Number
from tunesmith.data.candidates import GroupId
from tunesmith.data.forests import ForestArrays
from tunesmith.data.rows import gathered
from tunesmith.kernels import kernel

#: No hyperedge has more tails.
MOST_TAILS = 256

FINE, NO_NODE, WRONG_SLOT, TOO_WIDE, NO_DERIVATION, CYCLE = range(6)


class RawForestError(Exception):
    """What is wrong with a forest, and the hyperedge that shows it; None for the whole."""

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
        Its name.
    nodes, goal
        How many nodes there are, and which is the goal.
    heads : int64[E]
        The node that each hyperedge makes.
    tail_start : int64[E + 1], tails : int64[...]
        The nodes that it is made of.
    feature_start : int64[E + 1], feature_ids : int32[...], feature_values : float64[...]
        Its features; a feature that comes twice counts twice.
    word_start : int64[E + 1], words : int32[...]
        Its target side: token ids, and -k for the k-th tail, from 1 on.
    covered : int32[nodes]
        How many words of the source each node covers; -1 where that is not known.
    lines : int64[E]
        The line of the file that each hyperedge stands in, for errors; None if all are in one.
    line
        The line that the forest begins in; None where a file has no lines.
    source, references
        Its input, and its references as token ids, where the file has them.
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
        """Return the line to name in an error about a hyperedge."""
        if edge is None or self.lines is None:
            return self.line
        return int(self.lines[edge])

    def ordered(self) -> tuple[ForestArrays, Ints]:
        """Put the nodes in order, and leave out what is in no derivation of the goal.

        Returns
        -------
        The arrays of the one forest, and which hyperedges were left out.

        Raises
        ------
        RawForestError
            If nodes are numbered wrongly, the target side does not name each tail once, no
            derivation reaches the goal, or derivations go round in circles.
        """
        if self.nodes < 1 or len(self.heads) == 0 or not 0 <= self.goal < self.nodes:
            raise RawForestError(None, "the forest is empty", "leave it out, or write it again")
        edges = (self.heads, self.tail_start, self.tails)
        code, edge = _check(self.nodes, *edges, self.word_start, self.words)
        if code == FINE:
            code, edge, number, kept = _order(self.nodes, self.goal, *edges)
        if code != FINE:
            raise self._error(code, None if edge < 0 else edge)
        return self._arrays(number, kept), np.flatnonzero(~kept)

    def name_of(self, edge: int) -> str:
        """Return what an error calls a hyperedge: where its line is known no number is needed."""
        return f"hyperedge {edge + 1}" if self.lines is None else "this hyperedge"

    def _error(self, code: int, edge: int | None) -> RawForestError:
        shown = "no hyperedge" if edge is None else self.name_of(edge)
        last = self.nodes - 1
        why = f"{shown} needs a node that none makes" if edge is not None else f"{shown} makes it"
        problem, remedy = {
            NO_NODE: (f"{shown} has a node that is not there", f"number nodes from 0 to {last}"),
            WRONG_SLOT: (
                f"the target side of {shown} does not name each of its tails once",
                "name each of them once",
            ),
            TOO_WIDE: (f"{shown} has more than {MOST_TAILS} tails", "binarise the grammar"),
            NO_DERIVATION: (
                f"no derivation reaches the goal, the forest is not connected: {why}",
                "write the forest again with all its hyperedges",
            ),
            CYCLE: (
                f"{shown} is in a cycle: a derivation may contain itself",
                "remove the cycle; a forest has none",
            ),
        }[code]
        return RawForestError(edge, problem, remedy)

    def _arrays(self, number: Ints, kept: Flags) -> ForestArrays:
        """Return the arrays with nodes renumbered; those that are left out have -1."""
        edges = np.flatnonzero(kept)
        heads = number[self.heads[edges]]
        edges = edges[np.argsort(heads, kind="stable")]
        nodes = int(number.max()) + 1
        per_node = np.bincount(heads, minlength=nodes)
        tail_start, tails = gathered(self.tail_start, edges)
        feature_start, feature_ids, feature_values = _merged(
            edges, self.feature_start, self.feature_ids, self.feature_values
        )
        word_start, words = gathered(self.word_start, edges)
        covered = np.empty(nodes, np.int32)
        covered[number[number >= 0]] = self.covered[number >= 0]
        return ForestArrays(
            np.array([0, nodes]),
            np.concatenate([[0], np.cumsum(per_node)]),
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
def _merged(rows: Ints, start: Ints, ids: Ids, values: Floats) -> tuple[Ints, Ids, Floats]:
    """Return the features of some rows with ids ascending, each once, and none that is 0."""
    found_start = np.zeros(rows.shape[0] + 1, np.int64)
    found = np.empty(ids.shape[0], np.int32)
    sums = np.empty(ids.shape[0])
    count = 0
    for i in range(rows.shape[0]):
        begin = count
        for k in range(start[rows[i]], start[rows[i] + 1]):
            # Rows are short: insertion costs less than sorting.
            at = count
            while at > begin and found[at - 1] > ids[k]:
                at -= 1
            if at > begin and found[at - 1] == ids[k]:
                sums[at - 1] += values[k]
                continue
            for j in range(count, at, -1):
                found[j] = found[j - 1]
                sums[j] = sums[j - 1]
            found[at] = ids[k]
            sums[at] = values[k]
            count += 1
        end = begin
        for k in range(begin, count):
            if sums[k] != 0.0:
                found[end] = found[k]
                sums[end] = sums[k]
                end += 1
        count = end
        found_start[i + 1] = count
    return found_start, found[:count].copy(), sums[:count].copy()


@kernel
def _check(
    nodes: int, heads: Ints, tail_start: Ints, tails: Ints, word_start: Ints, words: Ids
) -> tuple[int, int]:
    """Return what is wrong with single hyperedges, and with which."""
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
        used[:arity] = False
        slots = 0
        for k in range(word_start[e], word_start[e + 1]):
            if words[k] < 0:
                slot = -words[k] - 1
                if slot >= arity or used[slot]:
                    return WRONG_SLOT, e
                used[slot] = True
                slots += 1
        if slots != arity:
            return WRONG_SLOT, e
    return FINE, -1


@kernel
def _order(
    nodes: int, goal: int, heads: Ints, tail_start: Ints, tails: Ints
) -> tuple[int, int, Ints, Flags]:
    """Return the new number of each node, -1 for those in no derivation, and which edges stay."""
    edges = heads.shape[0]
    number = np.full(nodes, -1, np.int64)
    kept = np.zeros(edges, np.bool_)
    # Hyperedges by the nodes that they use, and by the node that they make.
    use_start, uses = _by_node(nodes, tail_start, tails)
    into_start, into = _by_node(nodes, np.arange(edges + 1), heads)
    # What can be made at all: hyperedges all of whose tails can.
    missing = tail_start[1:] - tail_start[:-1]
    made = np.zeros(nodes, np.bool_)
    queue = np.empty(nodes, np.int64)
    first = last = 0
    for e in range(edges):
        if missing[e] == 0 and not made[heads[e]]:
            made[heads[e]] = True
            queue[last] = heads[e]
            last += 1
    while first < last:
        node = queue[first]
        first += 1
        for k in range(use_start[node], use_start[node + 1]):
            e = uses[k]
            missing[e] -= 1
            if missing[e] == 0 and not made[heads[e]]:
                made[heads[e]] = True
                queue[last] = heads[e]
                last += 1
    if not made[goal]:
        for e in range(edges):
            kept[e] = not made[heads[e]]
        wrong = _numbered(goal, heads, tail_start, tails, into, into_start, kept, made, number)
        if wrong >= 0:
            return CYCLE, wrong, number, kept
        wrong = _unmade(goal, tail_start, tails, into, into_start, made)
        return NO_DERIVATION, wrong, number, kept
    # What the goal uses of it, from the goal down.
    wanted = np.zeros(nodes, np.bool_)
    wanted[goal] = True
    queue[0] = goal
    first, last = 0, 1
    while first < last:
        node = queue[first]
        first += 1
        for i in range(into_start[node], into_start[node + 1]):
            e = into[i]
            if missing[e] > 0:
                continue
            kept[e] = True
            for k in range(tail_start[e], tail_start[e + 1]):
                if not wanted[tails[k]]:
                    wanted[tails[k]] = True
                    queue[last] = tails[k]
                    last += 1
    wrong = _numbered(goal, heads, tail_start, tails, into, into_start, kept, wanted, number)
    return (CYCLE if wrong >= 0 else FINE), wrong, number, kept


@kernel
def _unmade(
    goal: int, tail_start: Ints, tails: Ints, into: Ints, into_start: Ints, made: Flags
) -> Number:
    """Return a hyperedge below the goal that needs a node without any, or -1 if that is the goal.

    There must be no cycle among what is not made.
    """
    node, found = goal, -1
    while into_start[node] < into_start[node + 1]:
        found = into[into_start[node]]
        for k in range(tail_start[found], tail_start[found + 1]):
            if not made[tails[k]]:
                node = tails[k]
                break
    return found


@kernel
def _by_node(nodes: int, tail_start: Ints, tails: Ints) -> tuple[Ints, Ints]:
    """Return, for each node, the hyperedges that it is a tail of, as often as it is one."""
    start = np.zeros(nodes + 1, np.int64)
    for k in range(tails.shape[0]):
        start[tails[k] + 1] += 1
    for n in range(nodes):
        start[n + 1] += start[n]
    at = start[:-1].copy()
    uses = np.empty(tails.shape[0], np.int64)
    for e in range(tail_start.shape[0] - 1):
        for k in range(tail_start[e], tail_start[e + 1]):
            uses[at[tails[k]]] = e
            at[tails[k]] += 1
    return start, uses


@kernel
def _numbered(
    goal: int,
    heads: Ints,
    tail_start: Ints,
    tails: Ints,
    into: Ints,
    into_start: Ints,
    kept: Flags,
    wanted: Flags,
    number: Ints,
) -> Number:
    """Give what is wanted its topological number; return a hyperedge in a cycle, or -1.

    Nodes keep the order of the file where that is one. Otherwise they are numbered as they are
    finished from the goal down, tails in the order of the file.
    """
    in_order = True
    for e in range(heads.shape[0]):
        if kept[e]:
            for k in range(tail_start[e], tail_start[e + 1]):
                in_order = in_order and tails[k] < heads[e]
    count = 0
    if in_order:
        for n in range(wanted.shape[0]):
            if wanted[n]:
                number[n] = count
                count += 1
        return -1
    # Depth first, without recursion: -1 not seen, -2 open, otherwise done.
    stack = np.empty(wanted.shape[0], np.int64)
    at_edge = into_start[:-1].copy()
    at_tail = np.zeros(wanted.shape[0], np.int64)
    stack[0] = goal
    number[goal] = -2
    depth = 1
    while depth > 0:
        node = stack[depth - 1]
        deeper = False
        while at_edge[node] < into_start[node + 1] and not deeper:
            e = into[at_edge[node]]
            k = tail_start[e] + at_tail[node]
            if not kept[e] or k == tail_start[e + 1]:
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
