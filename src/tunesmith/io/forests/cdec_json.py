"""cdec's own JSON hypergraphs, as its versions until 2014 wrote them: one file per forest.

An object with ``rules`` (number, rule, number, rule ...), ``features`` (names), and then, for
each node in topological order, ``edges``, which are numbered through all nodes, and ``node``
with the numbers of the hyperedges into it; so these two keys come again and again. A hyperedge
has ``tail``, ``spans``, ``feats`` (index or name, value ...) and ``rule``, a number or the rule
itself, whose target side has ``[1]`` or ``[X,1]`` where the first tail goes. The last node is the
goal. Later versions write a binary form of Boost's in place of it, which nobody else can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from tunesmith.arrays import Ids
from tunesmith.data.raw_forest import RawForest
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError
from tunesmith.io.forests.base import FOREST_FORMATS, ForestFormat, Numbering
from tunesmith.io.forests.cdec import WRONG, ForestFaultError, numbers, parsed, whole
from tunesmith.io.streams import Source

BEGINNING = re.compile(rb'\s*\{\s*("rules"\s*:|"is_sorted"\s*:|\}\s*$)')
SLOT = re.compile(r"\[(?:[^\s\[\],]+,)?([1-9][0-9]?)\]")


@FOREST_FORMATS.register("cdec-json")
class CdecJson(ForestFormat):
    """cdec's own JSON hypergraphs: a folder with one file per forest, or single files."""

    suffixes = (".json",)
    one_a_file = True

    @staticmethod
    def recognises(head: bytes) -> bool:
        """Tell whether it begins with rules, or has nodes one by one."""
        has_rules = BEGINNING.match(head) is not None
        return has_rules or (head.lstrip().startswith(b"{") and b'"in_edges"' in head)

    def read(self, source: Source, names: Numbering, words: Numbering) -> Iterator[RawForest]:
        """Yield the one forest of a file."""
        lines = list(source.lines())
        if not lines:
            raise FormatError(source.name, None, "the file is empty", "give a file with content")
        line = lines[0][0]
        text = "\n".join([text for _, text in lines])
        record = parsed(text, source.name, line, _object)
        try:
            yield _Hypergraph(record, names, words).forest(line)
        except WRONG as error:
            problem, remedy = "this is no hypergraph as cdec writes it", "write it again"
            if isinstance(error, ForestFaultError):
                problem, remedy = error.problem, error.remedy
            raise FormatError(source.name, line, problem, remedy) from None


def _object(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object as a dict, but as pairs if a key comes twice."""
    distinct = dict(pairs)
    return distinct if len(distinct) == len(pairs) else pairs


class _Hypergraph:
    """One hypergraph, taken apart."""

    def __init__(self, record: Any, names: Numbering, words: Numbering) -> None:
        self.names, self.words = names, words
        pairs: Iterable[tuple[str, Any]] = record.items() if isinstance(record, dict) else record
        self.rules: dict[int, str] = {}
        self.features: list[str] = []
        self.edges: list[dict[str, Any]] = []
        self.in_edges: list[list[int]] = []
        for key, value in pairs:
            if key == "rules":
                self.rules = dict(zip(value[::2], value[1::2], strict=True))
            elif key == "features":
                self.features = value or []
            elif key == "edges":
                self.edges += value
            elif key == "node":
                self.in_edges.append(value.get("in_edges") or [])
        self.sides: dict[int | str, list[int]] = {}

    def forest(self, line: int) -> RawForest:
        """Return it as a forest."""
        nodes = len(self.in_edges)
        if nodes == 0 or not self.edges:
            raise ForestFaultError("the forest is empty", "leave it out, or write it again")
        heads = self._heads()
        order = np.argsort(heads, kind="stable")
        # cdec's own order: that in which a node names its hyperedges.
        place = {e: k for k, e in enumerate(chain.from_iterable(self.in_edges))}
        order = np.array(sorted(order.tolist(), key=place.__getitem__), np.int64)
        edges = [self.edges[e] for e in order]
        tails = [edge.get("tail") or [] for edge in edges]
        feats = [edge.get("feats") or [] for edge in edges]
        sides = [self._side(edge, k) for k, edge in zip(order.tolist(), edges, strict=True)]
        flat = list(chain.from_iterable(feats))
        if any(len(entries) % 2 for entries in feats):
            raise ForestFaultError("a feature has no value", "write name, value, name, value")
        return RawForest(
            0,
            nodes,
            nodes - 1,
            heads[order],
            offsets([len(entries) for entries in tails]),
            whole(list(chain.from_iterable(tails))),
            offsets([len(entries) // 2 for entries in feats]),
            np.array([self._feature(key) for key in flat[::2]], np.int32),
            numbers(flat[1::2]),
            offsets([len(side) for side in sides]),
            np.array(list(chain.from_iterable(sides)), np.int32),
            self._covered(heads),
            line=line,
        )

    def _heads(self) -> Any:
        heads = np.full(len(self.edges), -1, np.int64)
        for node, incoming in enumerate(self.in_edges):
            for e in whole(incoming).tolist():
                if not 0 <= e < len(heads) or heads[e] >= 0:
                    raise ForestFaultError(
                        f"hyperedge {e} of node {node} is not there, or another node's",
                        "number hyperedges from 0 on, and name each once",
                    )
                heads[e] = node
        if (heads < 0).any():
            e = int(np.argmin(heads))
            raise ForestFaultError(f"no node names hyperedge {e}", "name each once")
        return heads

    def _feature(self, key: int | str) -> int:
        if isinstance(key, str):
            return self.names[key]
        if type(key) is not int or not 0 <= key < len(self.features):
            raise ForestFaultError(
                f"feature {key!r} is not among the {len(self.features)} names", "name it"
            )
        return self._feature(str(self.features[key]))

    def _side(self, edge: dict[str, Any], count: int) -> list[int]:
        """Return the target side of a hyperedge."""
        rule = edge.get("rule")
        if rule is None:
            raise ForestFaultError(
                f"hyperedge {count} has no rule, so that its words are not known",
                "write the hypergraph with its rules",
            )
        if rule not in self.sides:
            text = rule if isinstance(rule, str) else self.rules.get(rule)
            if not isinstance(text, str) or len(parts := text.split("|||")) < 3:
                raise ForestFaultError(
                    f"rule {rule!r} of hyperedge {count} is no rule of three fields",
                    "write it as [X] ||| source ||| target",
                )
            self.sides[rule] = [self._token(token) for token in parts[2].split()]
        return self.sides[rule]

    def _token(self, token: str) -> int:
        slot = SLOT.fullmatch(token)
        return self.words[token] if slot is None else -int(slot[1])

    def _covered(self, heads: Any) -> Ids:
        """Return how many words nodes cover; -1 where the spans make no sense, or are missing."""
        covered = np.full(len(self.in_edges), -1, np.int32)
        for edge, head in zip(self.edges, heads.tolist(), strict=True):
            first, last = (edge.get("spans") or [-1, -1])[:2]
            if type(first) is int and type(last) is int and 0 <= first <= last < 1 << 15:
                covered[head] = last - first
        return covered
