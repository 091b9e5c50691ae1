"""Hypergraphs as Joshua dumps them: one file per sentence.

``-dump-hypergraph hg/%d`` of Joshua 6.0 to 6.0.5, and ``HyperGraph.dump`` of 6.1 and 6.2, write
the fields' names, then how many nodes and hyperedges there are; each node is its number, from 1 on,
and a line for each hyperedge into it: the target side with ``[n]`` for node n, and ``name=value``
features. That is Moses' form without counts at the nodes and without the last field; the dump of
Joshua 5 (nodes by their addresses, no features) and the two files of ``save_disk_hg`` before it
are other formats, and are not read.

Joshua leaves out the goal, which has no rule: if several nodes are used by none, the goal is made
here, with a hyperedge without features from each. The id is the number in the file's name, as with
Moses, and folders are read and written in the same way. ``<s>`` and ``</s>`` are no words.
Joshua writes three decimals; we write all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tunesmith.data.forests import ForestArrays, Forests
from tunesmith.data.raw_forest import RawForest
from tunesmith.errors import FormatError
from tunesmith.io.forests.base import FOREST_FORMATS, Numbering, whole_number
from tunesmith.io.forests.moses import BAR, HypergraphReader, MosesHypergraph, edge_texts
from tunesmith.io.streams import Source

HEADER = "# target ||| features"
#: What Joshua writes for a tail that it has not numbered yet.
UNKNOWN_TAIL = "[null]"


@FOREST_FORMATS.register("joshua-hypergraph")
class JoshuaHypergraph(MosesHypergraph):
    """Joshua's hypergraphs: a folder with one file per forest, or single files."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    program: ClassVar[str] = "Joshua"

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether the first line names two fields."""
        return head.partition(b"\n")[0].rstrip() == HEADER.encode()

    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield the one forest of a file."""
        yield _HypergraphReader(source, names, words).forest()

    def lines(self, arrays: ForestArrays, forests: Forests) -> Iterator[str]:
        """Yield the lines of one forest of a set."""
        yield HEADER
        yield f"{int(arrays.node_start[1])} {int(arrays.edge_start[-1])}"
        for node, texts in enumerate(edge_texts(arrays, forests, first=1), 1):
            yield str(node)
            yield from texts


class _HypergraphReader(HypergraphReader):
    """Reads one file."""

    def forest(self) -> RawForest:
        """Read all nodes."""
        self.line, first = next(self.lines, (1, ""))
        if first.rstrip() != HEADER:
            problem = f"the line '{HEADER}' is missing"
            raise FormatError(self.name, self.line, problem, "give what Joshua 6 dumps")
        nodes, edges = self._counts()
        first_line = self.line
        node_lines = self._nodes(nodes)
        if len(node_lines) != nodes:
            problem = f"{nodes} nodes are announced and there are {len(node_lines)}"
            remedy = "copy or write it again, it is truncated"
            raise FormatError(self.name, self.line, problem, remedy)
        self._check_edges(edges, first_line)
        self._check_tails(nodes)
        goal = self._goal(node_lines)
        nodes = max(nodes, goal + 1)
        return self._raw(nodes, goal, [-1] * nodes, first_line)

    def _nodes(self, nodes: int) -> list[int]:
        """Read all nodes and return their lines."""
        node_lines: list[int] = []
        for line, text in self.lines:
            self.line = line
            target, bar, features = text.partition(BAR)
            if not bar:
                number = whole_number(text.strip(), self.name, line, "the number of a node")
                if number != len(node_lines) + 1 or number > nodes:
                    problem = f"here is node {number} and should be node {len(node_lines) + 1}"
                    if len(node_lines) == nodes:
                        problem = f"{nodes} nodes are announced and there are more"
                    remedy = f"number nodes from 1 to {nodes}"
                    raise FormatError(self.name, line, problem, remedy)
                node_lines.append(line)
                continue
            if not node_lines or BAR in features:
                problem = (
                    "a hyperedge has a third field" if node_lines else "a hyperedge has no node"
                )
                raise FormatError(
                    self.name, line, problem, "write its node before it, and two fields"
                )
            if UNKNOWN_TAIL in target.split():
                problem = "a tail is [null]: the hyperedge is in a cycle"
                raise FormatError(self.name, line, problem, "remove the cycle; a forest has none")
            self._target(target, len(node_lines) - 1)
            self._features(features)
        return node_lines

    def _check_tails(self, nodes: int) -> None:
        """Raise an error if a tail is no node, and count tails from 0 on."""
        edges = self.edges
        at = 0
        for arity, line in zip(edges.arity, edges.lines, strict=True):
            for tail in edges.tails[at : at + arity]:
                if not 0 < tail <= nodes:
                    problem = f"a tail is [{tail}], which is no node"
                    remedy = f"number nodes from 1 to {nodes}"
                    raise FormatError(self.name, line, problem, remedy)
            at += arity
        edges.tails = [tail - 1 for tail in edges.tails]

    def _goal(self, node_lines: list[int]) -> int:
        """Return the node that is no tail; if there are several, a new one that they lead to."""
        edges = self.edges
        used = set(edges.tails)
        tops = [node for node in range(len(node_lines)) if node not in used]
        if len(tops) <= 1:  # none at all: there is a cycle, which is found later
            return tops[0] if tops else len(node_lines) - 1
        goal = len(node_lines)
        for top in tops:
            edges.heads.append(goal)
            edges.arity.append(1)
            edges.tails.append(top)
            edges.sizes.append(0)
            edges.lengths.append(1)
            edges.words.append(-1)
            edges.lines.append(node_lines[top])
        return goal
