"""Slow readers of forests, and their derivations by enumeration; see ``fuzz.files.plain``."""

from __future__ import annotations

import ast
import itertools
import json
import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fuzz.files.plain_text import Forbidden, Unclear, lines_of, number

#: More derivations are not looked at.
MOST = 200
#: Words that are none.
ENDS = ("<s>", "</s>")
Derivation = tuple[tuple[str, ...], dict[str, float]]


@dataclass
class Forest:
    """Hyperedges by their heads: tails, target side (a number is a slot), features."""

    goal: int
    edges: dict[int, list[tuple[list[int], list[str | int], dict[str, float]]]] = field(
        default_factory=dict
    )


def derivations_of(forest: Forest) -> list[Derivation]:
    """Return all derivations of a forest, in order."""

    def below(node: int, depth: int) -> list[Derivation]:
        if depth > 60:
            raise Unclear
        found: list[Derivation] = []
        for tails, side, features in forest.edges.get(node, []):
            parts = [below(tail, depth + 1) for tail in tails]
            for chosen in itertools.product(*parts):
                words: list[str] = []
                for symbol in side:
                    words += chosen[symbol][0] if isinstance(symbol, int) else (symbol,)
                total = dict(features)
                for _, values in chosen:
                    for name, value in values.items():
                        total[name] = total.get(name, 0.0) + value
                found.append((tuple(w for w in words if w not in ENDS), total))
                if len(found) > MOST:
                    raise Unclear
        return found

    return sorted(below(forest.goal, 0), key=_order)


def _order(one: Derivation) -> tuple[Any, ...]:
    return one[0], sorted((name, round(value, 6)) for name, value in one[1].items() if value)


def derivations_read(found: Any, index: int) -> list[Derivation]:
    """Return all derivations of a forest that was read."""
    arrays, first, last = found.block(index, index + 1)
    begin, end = arrays.node_start[first], arrays.node_start[last]
    forest = Forest(int(end - begin - 1))
    for node in range(begin, end):
        for e in range(arrays.edge_start[node], arrays.edge_start[node + 1]):
            tails = arrays.tails[arrays.tail_start[e] : arrays.tail_start[e + 1]].tolist()
            words = arrays.words[arrays.word_start[e] : arrays.word_start[e + 1]].tolist()
            side = [-w - 1 if w < 0 else found.vocabulary[w] for w in words]
            span = slice(arrays.feature_start[e], arrays.feature_start[e + 1])
            names = [found.names[f] for f in arrays.feature_ids[span]]
            values = dict(zip(names, arrays.feature_values[span].tolist(), strict=True))
            forest.edges.setdefault(int(node - begin), []).append((tails, side, values))
    return derivations_of(forest)


def cdec_forest(text: str) -> dict[int | str, Forest]:
    """Read JSON, one forest per line."""
    found: dict[int | str, Forest] = {}
    for line in lines_of(text.encode()):
        try:
            given = json.loads(line, object_pairs_hook=_once_each)
        except ValueError as error:
            raise Unclear from error  # numbers as -0. are read, too
        try:
            forest = Forest(len(given["nodes"]) - 1)
            for edge in given["edges"]:
                side = [one if isinstance(one, str) else one[0] for one in edge["e"]]
                feats = edge.get("feats") or []
                names = [given["features"][k] for k in feats[::2]]
                values: dict[str, float] = {}
                for name, value in zip(names, feats[1::2], strict=True):
                    values[name] = values.get(name, 0.0) + float(value)
                split = [
                    w for one in side for w in (one.split() if isinstance(one, str) else [one])
                ]
                forest.edges.setdefault(edge["head"], []).append((edge["tails"], split, values))
            found[given["id"]] = forest
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise Unclear from error
    return found


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise Unclear
    return dict(pairs)


def moses_hypergraph(text: str) -> dict[int | str, Forest]:
    """Read Moses' hypergraph of one sentence."""
    lines = [line for line in lines_of(text.encode()) if not line.startswith("#")]
    if "\n#" in text[1:]:
        raise Unclear
    try:
        nodes, count = map(int, lines[0].split())
        at, forest = 1, Forest(nodes - 1)
        for node in range(nodes):
            size = int(lines[at])
            for line in lines[at + 1 : at + 1 + size]:
                if re.search(r"\S\|\|\||\|\|\|\S", line):
                    raise Unclear
                fields = re.split(r"(?:^|\s)\|\|\|(?:\s|$)", line)
                tails: list[int] = []
                side: list[str | int] = []
                for token in fields[0].split():
                    if re.fullmatch(r"\[[0-9]+\]", token):
                        side.append(len(tails))
                        tails.append(int(token[1:-1]))
                    else:
                        side.append(token)
                values: dict[str, float] = {}
                for token in fields[1].split():
                    name, _, value = token.rpartition("=")
                    values[name] = values.get(name, 0.0) + number(value)
                forest.edges.setdefault(node, []).append((tails, side, values))
            at += 1 + size
    except (ValueError, IndexError) as error:
        raise Unclear from error
    if at != len(lines) or sum(map(len, forest.edges.values())) != count:
        raise Forbidden("there are more or fewer hyperedges than told")
    return {0: forest}


def plf(text: str) -> dict[int | str, Forest]:
    """Read one lattice per line: columns of arcs, each a word, its scores, and how far it leads."""
    found: dict[int | str, Forest] = {}
    if not text.endswith("\n") or re.search(r"\\[^'\"\\]", text):
        raise Unclear  # what other escapes mean is not told
    for number_of_line, line in enumerate(text.split("\n")[:-1]):
        try:
            columns = ast.literal_eval(line)
            if _names_twice(line):
                raise Unclear  # whether the last counts, or the sum, is not told
            forest = Forest(len(columns), {0: [([], [], {})]})
            for state, arcs in enumerate(columns):
                for word, *scores, jump in arcs:
                    if not isinstance(word, str) or "*" in word or not 0 < jump <= len(columns):
                        raise Unclear
                    values = _scores(scores)
                    forest.edges.setdefault(state + jump, []).append(
                        ([state], [0, *word.split()], values)
                    )
        except (ValueError, SyntaxError, TypeError, MemoryError) as error:
            raise Unclear from error
        found[number_of_line] = forest
    return found


def _scores(scores: list[Any]) -> dict[str, float]:
    """Name the scores of an arc."""
    if len(scores) == 1 and isinstance(scores[0], dict):
        return {str(name): float(value) for name, value in scores[0].items()}
    values = [one for given in scores for one in (given if isinstance(given, tuple) else [given])]
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
        raise Unclear
    names = ["PLF"] if len(values) == 1 else [f"PLF_{k}" for k in range(1, len(values) + 1)]
    return dict(zip(names, map(float, values), strict=True))


def _names_twice(line: str) -> bool:
    """Tell whether a score has the name of another of the same arc."""
    for node in ast.walk(ast.parse(line.strip(), mode="eval")):
        if isinstance(node, ast.Dict):
            names = [ast.unparse(key) for key in node.keys if key is not None]
            if len(set(names)) < len(names):
                return True
    return False


def kaldi_lattice(text: str) -> dict[int | str, Forest]:
    """Read an archive of lattices as text: a key, arcs and final states, an empty line."""
    if any(letter.isspace() and letter not in string.whitespace for letter in text):
        raise Unclear  # fields end at white space of ASCII, words at any
    found: dict[int | str, Forest] = {}
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if not block.strip():
            continue
        if len(lines) < 2 or len(lines[0].split()) != 1 or not all(map(str.strip, lines)):
            raise Unclear
        first = lines[1].split()[0]
        goal = -1
        forest = Forest(goal, {_state(first): [([], [], {})]})
        for line in lines[1:]:
            fields = line.split()
            if len(fields) > 4:
                raise Unclear  # the other type of lattices
            is_arc = len(fields) > 2
            weight = fields[3 if is_arc else 1] if len(fields) > (3 if is_arc else 1) else "0,0,"
            if weight.count(",") != 2:
                raise Unclear
            graph, acoustic, _ = weight.split(",")
            values = {"graph": -number(graph), "acoustic": -number(acoustic)}
            words = [fields[2]] if is_arc and fields[2] not in {"0", "<eps>"} else []
            head = _state(fields[1]) if is_arc else goal
            forest.edges.setdefault(head, []).append(([_state(fields[0])], [0, *words], values))
        found[lines[0].strip()] = forest
    return found


def _state(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise Unclear
    return int(text)


FORESTS: dict[str, Callable[[str], dict[int | str, Forest]]] = {
    "cdec-forest": cdec_forest,
    "moses-hypergraph": moses_hypergraph,
    "plf": plf,
    "kaldi-lattice": kaldi_lattice,
}
