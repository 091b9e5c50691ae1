"""Grammars as text, in the form that cdec and Joshua read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from tunesmith.arrays import Ids
from tunesmith.hiero.grammar.grammar import Grammar
from tunesmith.io.streams import writing
from tunesmith.progress import progress

#: Rules that are written at a time.
BLOCK = 20_000

_SPECIAL = re.compile(r"\|\|\||\[.*\]")


def write_grammar_text(grammar: Grammar, path: str | os.PathLike[str]) -> int:
    """Write a rule a line: ``[X] ||| [X,1] haus ||| house [X,1] ||| Name=value ||| 1-0``.

    Values have all their digits, rules keep their order, and the first has all features, so that
    what is read from there searches as the grammar itself does, to the last bit. Rules with a word
    that means something else in this form (``|||``, ``[X]``) are left out; how many is returned.
    """
    words = tuple("" if _SPECIAL.fullmatch(word) else word for word in grammar.vocabulary.words)
    left_out = 0
    with writing(path) as file:
        block: list[str] = []
        for rule, line in enumerate(_lines(grammar, words)):
            if line is None:
                left_out += 1
            else:
                block.append(line)
            if len(block) == BLOCK:
                progress("writing rules", rule, len(grammar))
                file.write("".join(block).encode("utf-8", "surrogatepass"))
                block.clear()
        file.write("".join(block).encode("utf-8", "surrogatepass"))
    progress("writing rules", len(grammar), len(grammar))
    return left_out


def _lines(grammar: Grammar, words: tuple[str, ...]) -> Iterator[str | None]:
    """Yield the line of each rule, None for those that cannot be written."""
    arrays = grammar.arrays
    is_first = True
    for node in range(len(arrays.parents)):
        first, last = int(arrays.rule_start[node]), int(arrays.rule_start[node + 1])
        if first == last:
            continue
        source, categories = _source(grammar, node, words)
        starts = {
            name: getattr(arrays, f"{name}_start")[first : last + 1].tolist()
            for name in ("target", "feature", "link")
        }
        for k in range(last - first):
            target = _target(arrays.targets[slice(*starts["target"][k : k + 2])], words, categories)
            if source is None or target is None:
                yield None
                continue
            features_of_rule = slice(*starts["feature"][k : k + 2])
            ids, values = (
                arrays.feature_ids[features_of_rule].tolist(),
                arrays.feature_values[features_of_rule].tolist(),
            )
            by_id = dict(zip(ids, values, strict=True))
            if is_first:  # names have their order from where they come first
                by_id = {i: by_id.get(i, 0.0) for i in range(len(grammar.names))}
                is_first = False
            features = " ".join(f"{grammar.names[i]}={v!r}" for i, v in by_id.items())
            links = arrays.links[slice(*starts["link"][k : k + 2])].tolist()
            head = grammar.categories[arrays.heads[first + k]]
            pairs = " ".join(f"{i}-{j}" for i, j in links)
            yield f"[{head}] ||| {source} ||| {target} ||| {features} ||| {pairs}\n"


def _source(grammar: Grammar, node: int, words: tuple[str, ...]) -> tuple[str | None, list[str]]:
    """Return a source side, None if it cannot be written, and its categories."""
    symbols: list[int] = []
    while grammar.arrays.parents[node] >= 0:
        symbols.append(int(grammar.arrays.symbols[node]))
        node = int(grammar.arrays.parents[node])
    categories: list[str] = []
    side = []
    for symbol in reversed(symbols):
        if symbol < 0:
            categories.append(grammar.categories[-1 - symbol])
            side.append(f"[{categories[-1]},{len(categories)}]")
        else:
            side.append(words[symbol])
    return (" ".join(side) if all(side) else None), categories


def _target(symbols: Ids, words: tuple[str, ...], categories: list[str]) -> str | None:
    side = [words[s] if s >= 0 else f"[{categories[-1 - s]},{-s}]" for s in symbols.tolist()]
    return " ".join(side) if all(side) else None
