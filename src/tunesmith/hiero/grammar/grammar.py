"""Grammars of synchronous rules: made, joined, written to disk and mapped from there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunesmith.arrays import Ids
from tunesmith.data.candidates import FileDigest
from tunesmith.data.rows import offsets
from tunesmith.errors import FormatError
from tunesmith.hiero.grammar.rule_checks import (
    FAULTS,
    FINE,
    first_fault,
    offsets_fault,
    trie_fault,
    unary_circle,
)
from tunesmith.hiero.grammar.rule_trie import RuleRows, build_trie, children, sort_features
from tunesmith.hiero.store import Portable, frozen, load_array, read_header, save_arrays
from tunesmith.hiero.tables import GrammarArrays
from tunesmith.hiero.vocabulary import Vocabulary

SCHEMA = "tunesmith.grammar/1"
#: How many words of the source a rule may cover if nothing else is said.
SPAN = 15
#: The limit of rules that begin at the sentence's first word and cover any number.
FROM_START = -1

_TYPES = {"feature_values": np.float64} | {
    name: np.int64 for name in GrammarArrays._fields if name.endswith("_start")
}


@dataclass(frozen=True)
class Nonterminal:
    """A place in a source side that holds whatever makes its category."""

    category: str


@dataclass(frozen=True)
class Rule:
    """One synchronous rule.

    Attributes
    ----------
    head
        The category that it makes.
    source
        Words and nonterminals.
    target
        Words, and k for the k-th nonterminal of the source side, from 1 on.
    features
        Values by name; those that are 0 need not be there.
    links
        Which words go with each other: places in source and target, nonterminals counted.
    """

    head: str
    source: tuple[str | Nonterminal, ...]
    target: tuple[str | int, ...]
    features: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    links: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Grammar(Portable):
    """Rules in a trie over their source sides; the arrays may be on disk.

    Attributes
    ----------
    arrays
        What kernels see.
    vocabulary
        The words of both sides.
    categories, names
        The names of categories and of features, in the order of their ids.
    files
        What it was read from.
    """

    arrays: GrammarArrays
    vocabulary: Vocabulary
    categories: tuple[str, ...]
    names: tuple[str, ...]
    files: tuple[FileDigest, ...] = ()

    def __len__(self) -> int:
        return len(self.arrays.heads)

    @property
    def bytes(self) -> int:
        """What its rules take in memory, or on disk."""
        return sum(array.nbytes for array in self.arrays)

    def rule(self, rule: int) -> Rule:
        """Return one rule as words and names."""
        arrays = self.arrays
        node = int(np.searchsorted(arrays.rule_start, rule, side="right")) - 1
        source: list[str | Nonterminal] = []
        while arrays.parents[node] >= 0:
            symbol = int(arrays.symbols[node])
            category = Nonterminal(self.categories[-1 - symbol]) if symbol < 0 else None
            source.append(category or self.vocabulary[symbol])
            node = int(arrays.parents[node])
        target = arrays.targets[arrays.target_start[rule] : arrays.target_start[rule + 1]]
        features = slice(arrays.feature_start[rule], arrays.feature_start[rule + 1])
        ids, values = arrays.feature_ids[features], arrays.feature_values[features]
        links = arrays.links[arrays.link_start[rule] : arrays.link_start[rule + 1]]
        return Rule(
            self.categories[arrays.heads[rule]],
            tuple(reversed(source)),
            tuple(-t if t < 0 else self.vocabulary[t] for t in target.tolist()),
            {self.names[k]: v for k, v in zip(ids.tolist(), values.tolist(), strict=True)},
            tuple((i, j) for i, j in links.tolist()),
        )

    def rules(self) -> Iterator[Rule]:
        """Yield all rules, those with the same source side one after the other."""
        return map(self.rule, range(len(self)))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write it into a folder, from which :meth:`load` maps it."""
        header = {
            "schema": SCHEMA,
            "categories": self.categories,
            "names": self.names,
            "files": [asdict(file) for file in self.files],
        }
        save_arrays(folder, {**self.arrays._asdict(), **self.vocabulary.arrays()}, header)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Grammar:
        """Map a grammar that was saved; it is checked, so that no kernel can stumble."""
        header = read_header(folder, SCHEMA)
        arrays = GrammarArrays(
            *(
                load_array(folder, name, _TYPES.get(name, np.int32))
                for name in GrammarArrays._fields
            )
        )
        words = Vocabulary(
            load_array(folder, "word_start", np.int64),
            load_array(folder, "word_letters", np.uint8),
            load_array(folder, "word_hashes", np.uint64),
            load_array(folder, "word_order", np.int32),
        )
        try:
            categories, names = (tuple(map(str, header[key])) for key in ("categories", "names"))
            files = tuple(FileDigest(**file) for file in header["files"])
        except (KeyError, TypeError):
            problem = "it does not say what the grammar has"
            raise FormatError(os.fspath(folder), None, problem, "make the folder again") from None
        new = cls(arrays, words, categories, names, files)
        if not words.is_sound():
            problem = "the vocabulary is damaged"
            raise FormatError(os.fspath(folder), None, problem, "make the folder again")
        try:
            new.check(os.fspath(folder))
        except FormatError as error:  # which says how a rule is written
            raise FormatError(error.path, None, error.problem, "make the folder again") from None
        return new

    def check(
        self, path: str, place: Callable[[int], tuple[str, int | None]] | None = None
    ) -> None:
        """Raise an error if a kernel could stumble over something, or decode without end.

        Parameters
        ----------
        path
            Where the rules come from.
        place
            Tells the file and the line that a rule was on.
        """
        fault = offsets_fault(self.arrays)
        if fault:
            raise FormatError(path, None, f"{fault} is damaged", "make the folder again")
        depths, arities = (np.zeros(len(self.arrays.parents), np.int64) for _ in range(2))
        sizes = len(self.vocabulary), len(self.categories)
        if trie_fault(self.arrays, *sizes, depths, arities) != FINE:
            raise FormatError(path, None, "the trie of rules is damaged", "make the folder again")
        rule, fault = first_fault(self.arrays, *sizes, len(self.names), depths, arities)
        circle = unary_circle(self.arrays) if fault == FINE else []
        if circle:
            rule = circle[-1][0]
            names = [self.categories[head] for _, head in circle]
            shown = " -> ".join(f"[{name}]" for name in [names[-1], *names])
            problem = f"rules over a single nonterminal go in a circle: {shown}"
            remedy = "leave one of them out"
        elif fault != FINE:
            problem, remedy = FAULTS[fault]
        else:
            return
        raise FormatError(*(place(rule) if place else (path, None)), problem, remedy)


def grammar_of(rules: Iterable[Rule], limit: int = SPAN) -> Grammar:
    """Make a grammar of rules.

    Parameters
    ----------
    rules
        Equal ones stay apart, in the order given.
    limit
        How many words of the source a rule may cover; -1 for rules that cover any number from
        the sentence's first word on.
    """
    ids = _Ids()
    heads: list[int] = []
    sources, targets, names, values, links = _Rows(), _Rows(), _Rows(), _Rows(), _Rows()
    for rule in rules:
        heads.append(ids.category(rule.head))
        sources.add(ids.symbol(symbol) for symbol in rule.source)
        targets.add(-t if isinstance(t, int) else ids.symbol(t) for t in rule.target)
        names.add(ids.name(name) for name in rule.features)
        values.add(rule.features.values())
        links.add(rule.links)
    rows = RuleRows(
        np.array(heads, np.int32),
        *sources.arrays(np.int32),
        *targets.arrays(np.int32),
        *names.arrays(np.int32),
        values.arrays(np.float64)[1],
        links.arrays(np.int32)[0],
        links.arrays(np.int32)[1].reshape(-1, 2),
    )
    arrays, order = build_trie(rows, limit)
    new = Grammar(arrays, Vocabulary.of(list(ids.words)), tuple(ids.categories), tuple(ids.names))
    new.check("rules", lambda rule: ("rules", int(order[rule]) + 1))
    return new


class _Ids:
    """Numbers of words, categories and features in the order in which they come."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.categories: dict[str, int] = {}
        self.names: dict[str, int] = {}

    def category(self, name: str) -> int:
        return self.categories.setdefault(name, len(self.categories))

    def name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def symbol(self, symbol: str | Nonterminal) -> int:
        if isinstance(symbol, Nonterminal):
            return -1 - self.category(symbol.category)
        return self.words.setdefault(symbol, len(self.words))


class _Rows:
    """Rows of different lengths that come one by one."""

    def __init__(self) -> None:
        self.start = [0]
        self.values: list[object] = []

    def add(self, values: Iterable[object]) -> None:
        self.values.extend(values)
        self.start.append(len(self.values))

    def arrays(self, dtype: type[np.generic]) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.array(self.start, np.int64), np.array(self.values, dtype)


def glue(category: str = "X", top: str = "S", feature: str = "Glue") -> Grammar:
    """Return cdec's glue grammar: a sentence is a sequence of phrases."""
    first, more = Nonterminal(category), Nonterminal(top)
    rules = [Rule(top, (first,), (1,)), Rule(top, (more, first), (1, 2), {feature: 1.0})]
    return grammar_of(rules, FROM_START)


def joined(grammars: Sequence[Grammar]) -> Grammar:
    """Put several grammars into one: each keeps its roots and limits, and the order of its rules.

    Words, categories and features of the same name become one; those of the first grammar keep
    their ids.
    """
    if len(grammars) == 1:
        return grammars[0]
    words = _union([grammar.vocabulary.words for grammar in grammars])
    categories = _union([grammar.categories for grammar in grammars])
    names = _union([grammar.names for grammar in grammars])
    parts = [
        _renumbered(grammar.arrays, *maps)
        for grammar, *maps in zip(grammars, words.maps, categories.maps, names.maps, strict=True)
    ]
    starts = {name: _offsets(parts, name) for name in _TYPES if name.endswith("_start")}
    nodes = np.cumsum([0, *(len(part.parents) for part in parts)])[:-1]
    parents = np.concatenate(
        [np.where(p.parents < 0, -1, p.parents + n) for p, n in zip(parts, nodes, strict=True)]
    ).astype(np.int32)
    together = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in GrammarArrays._fields
        if name not in starts
    }
    together["roots"] = np.concatenate(
        [part.roots + n for part, n in zip(parts, nodes, strict=True)]
    ).astype(np.int32)
    together["parents"] = parents
    arrays = {**together, **starts, **children(parents, together["symbols"])}
    new = Grammar(
        GrammarArrays(**{name: frozen(array) for name, array in arrays.items()}),
        grammars[0].vocabulary
        if len(words.all) == len(words.maps[0])
        else Vocabulary.of(words.all),
        tuple(categories.all),
        tuple(names.all),
        tuple(dict.fromkeys(file for grammar in grammars for file in grammar.files)),
    )
    new.check(", ".join(file.path for file in new.files) or "rules")
    return new


@dataclass(frozen=True)
class _Union:
    """Distinct texts of several lists, and the number of each text of each list."""

    all: list[str]
    maps: list[Ids]


def _union(lists: Sequence[Sequence[str]]) -> _Union:
    ids: dict[str, int] = {}
    maps = [
        np.array([ids.setdefault(text, len(ids)) for text in texts], np.int32) for texts in lists
    ]
    return _Union(list(ids), maps)


def _renumbered(arrays: GrammarArrays, words: Ids, categories: Ids, names: Ids) -> GrammarArrays:
    """Give words, categories and features other ids; children are not in order then."""
    if all(np.array_equal(ids, np.arange(len(ids))) for ids in (words, categories, names)):
        return arrays
    # So that ids can be taken even where there are none.
    words, categories, names = (np.append(ids, np.int32(0)) for ids in (words, categories, names))
    symbols, targets = arrays.symbols, arrays.targets
    inner = arrays.parents >= 0
    new_words = words[np.maximum(symbols, 0)]
    new_symbols = np.where(symbols < 0, -1 - categories[np.maximum(-1 - symbols, 0)], new_words)
    feature_ids, feature_values = names[arrays.feature_ids], arrays.feature_values.copy()
    sort_features(arrays.feature_start, feature_ids, feature_values)
    return arrays._replace(
        symbols=np.where(inner, new_symbols, 0).astype(np.int32),
        heads=categories[arrays.heads],
        targets=np.where(targets < 0, targets, words[np.maximum(targets, 0)]).astype(np.int32),
        feature_ids=feature_ids,
        feature_values=feature_values,
    )


def _offsets(parts: Sequence[GrammarArrays], name: str) -> NDArray[np.int64]:
    """Return the offsets of rows of all parts, one after the other."""
    sizes = [np.diff(getattr(part, name)) for part in parts]
    return offsets(np.concatenate(sizes))
