"""Grammar, language models and settings put together: sentences in, charts out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids
from tunesmith.data.forests import ForestArrays
from tunesmith.data.memory import budget
from tunesmith.decoders.hiero.chart_forest import chart_forest, chart_of_nothing
from tunesmith.decoders.hiero.cubes import Chart, searched
from tunesmith.decoders.hiero.grammar import Grammar
from tunesmith.decoders.hiero.language_model import LanguageModels
from tunesmith.decoders.hiero.parse import Parse, parsed, unary_order
from tunesmith.decoders.hiero.sentence_rules import (
    OwnFeatures,
    SentenceRules,
    rule_scores,
    rules_of,
)
from tunesmith.decoders.hiero.store import frozen
from tunesmith.errors import TunesmithError

#: The ends of a sentence, as language models and some grammars write them.
BEGIN, END = "<s>", "</s>"
#: Parses that are kept take at most this share of the memory.
SHARE = 0.25


@dataclass(frozen=True)
class Settings:
    """What a sentence is searched with, beside grammar and language models.

    Attributes
    ----------
    pop_limit
        Hyperedges of a vertex at most; 0 for no limit.
    option_limit
        Rules with the same source side and category that are tried; 0 for no limit.
    top
        The category of the whole.
    passes
        Which words may be passed through: all of them, those that no rule has, or none.
    unknown
        What such a word becomes: itself, or nothing.
    has_end_words
        The ends of a sentence are words of it, and of rules.
    unknown_names
        Count the words that a language model does not know; by model.
    word_name, word_unit
        The feature that counts words, and what one counts; no feature if the name is empty.
    rule_name
        The feature that counts rules.
    passed_name, passed
        The feature of words that are passed through; the categories that they become, and what
        one counts as each.
    passed_suffix
        What is added to such words.
    names
        Features that others have, and that come before further ones of the grammar.
    """

    pop_limit: int = 200
    option_limit: int = 0
    top: str = "S"
    passes: Literal["all", "unknown", "none"] = "all"
    unknown: Literal["copy", "drop"] = "copy"
    has_end_words: bool = False
    unknown_names: tuple[str, ...] = ()
    word_name: str = "WordPenalty"
    word_unit: float = float(-np.log10(np.e))
    rule_name: str = "RuleCount"
    passed_name: str = "PassThrough"
    passed: tuple[tuple[str, float], ...] = (("X", 1.0),)
    passed_suffix: str = ""
    names: tuple[str, ...] = ()


class Prepared(NamedTuple):
    """What is known of a sentence before there are weights."""

    parse: Parse
    rules: SentenceRules

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        arrays = [part for held in self for part in held if isinstance(part, np.ndarray)]
        return sum(array.nbytes for array in arrays)


class Found(NamedTuple):
    """What was found for a sentence; ``parse`` and ``rules`` say what its numbers mean.

    Words that are ``hidden`` are none of the output.
    """

    chart: Chart
    parse: Parse
    rules: SentenceRules
    hidden: Ids

    def forest(self, best_alone: bool = False) -> ForestArrays:
        """Return all derivations, packed, or the best alone; words are ids of the engine."""
        return chart_forest(*self[:3], best_alone, self.hidden)


class Engine:
    """Translates: parses are kept, weights may be others at each search.

    Attributes
    ----------
    names
        All features: first those of the language models, then what rules have.
    """

    def __init__(self, grammar: Grammar, models: LanguageModels, settings: Settings) -> None:
        self.grammar = grammar
        self.models = models
        self.settings = settings
        passed = dict(settings.passed)
        for category in (settings.top, *passed):
            if category not in grammar.categories:
                raise TunesmithError(
                    f"no rule of the grammar has [{category}]; give the name that it uses"
                )
        own = [*settings.unknown_names, settings.word_name, settings.rule_name]
        if settings.passes != "none":
            own.append(settings.passed_name)
        names = dict.fromkeys([*models.names, *filter(None, own), *settings.names, *grammar.names])
        self.names = tuple(names)
        if len(models.names) != len(set(models.names)) or set(models.names) & set(grammar.names):
            raise TunesmithError("a language model has the name of another feature; rename it")
        number = {name: k for k, name in enumerate(self.names)}
        self._renamed = frozen(np.array([number[name] for name in grammar.names], np.int32))
        self._own = OwnFeatures(
            np.array([number[name] for name in settings.unknown_names], np.int32),
            number.get(settings.word_name, -1),
            settings.word_unit,
            number.get(settings.rule_name, -1),
            grammar.categories.index(settings.top),
            number.get(settings.passed_name, -1),
            np.array([passed.get(category, 0.0) for category in grammar.categories]),
        )
        self._order = unary_order(grammar.arrays, len(grammar.categories))
        self._passed = np.array([grammar.categories.index(c) for c in passed], np.int32)
        self._top = grammar.categories.index(settings.top)
        self._strange: dict[str, int] = {}
        self._strange_words: list[str] = []
        self._nodes = self._lookup(grammar.vocabulary.words)
        self._kept: OrderedDict[str, Prepared] = OrderedDict()
        self._kept_bytes = 0
        self._lock = threading.Lock()
        if settings.has_end_words:
            self.learn_words([[BEGIN, END]])
        self._hidden = self._ids([BEGIN, END] if settings.has_end_words else [])

    def _lookup(self, words: Sequence[str]) -> Ids:
        """Return the nodes of words in each language model [M, n]."""
        nodes = np.array(self.models.lookup(words), np.int32)
        if not self.settings.has_end_words:
            # In a text they are words like any other.
            ends = [k for k, word in enumerate(words) if word in (BEGIN, END)]
            nodes[:, ends] = self.models.arrays.unknowns[:, None]
        return nodes

    def word(self, number: int) -> str:
        """Return the word of an id."""
        known = len(self.grammar.vocabulary)
        return self._strange_words[number - known] if number >= known else self._words[number]

    @property
    def _words(self) -> tuple[str, ...]:
        return self.grammar.vocabulary.words

    def learn_words(self, texts: Iterable[Sequence[str]]) -> None:
        """Give ids to words that the grammar does not have, before sentences are searched."""
        with self._lock:
            every = dict.fromkeys(word for text in texts for word in text)
            fresh = [word for word in every if word not in self._strange]
            ids = self.grammar.vocabulary.ids_of(fresh)
            fresh = [word for word, k in zip(fresh, ids.tolist(), strict=True) if k < 0]
            if not fresh:
                return
            size = len(self.grammar.vocabulary) + len(self._strange)
            self._nodes = np.concatenate([self._nodes, self._lookup(fresh)], axis=1)
            self._strange_words += fresh
            self._strange |= {word: size + k for k, word in enumerate(fresh)}

    def _ids(self, words: Sequence[str]) -> Ids:
        """Return the ids of words that have been learnt."""
        ids = self.grammar.vocabulary.ids_of(words)
        return np.array(
            [self._strange[w] if k < 0 else k for w, k in zip(words, ids.tolist(), strict=True)],
            np.int32,
        )

    def prepare(self, words: Sequence[str]) -> Prepared | None:
        """Parse a sentence, or remember how it was parsed; None if it has no words."""
        if self.settings.has_end_words:
            words = [BEGIN, *words, END]
        if not words:
            return None
        key = " ".join(words)
        with self._lock:
            held = self._kept.get(key)
            if held is not None:
                self._kept.move_to_end(key)
                return held
        prepared = self._prepared(words)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = prepared
                self._kept_bytes += prepared.bytes
            while self._kept_bytes > SHARE * budget() and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._kept_bytes -= dropped.bytes
        return prepared

    def forget(self) -> None:
        """Let go of parses: the sentences do not come again."""
        with self._lock:
            self._kept.clear()
            self._kept_bytes = 0

    def _prepared(self, words: Sequence[str]) -> Prepared:
        settings, grammar = self.settings, self.grammar
        self.learn_words([words])
        ids = self._ids(words)
        is_end = np.array([settings.has_end_words and word in (BEGIN, END) for word in words])
        if settings.passes == "all":
            passed = ~is_end
        else:
            passed = ~is_end & ~self._has_rule(ids) & (settings.passes == "unknown")
        drops = np.full(len(ids), settings.unknown == "drop") & ~self._has_rule(ids)
        parse = parsed(grammar.arrays, self._order, ids, passed, self._passed, self._top)
        if parse.goal < 0:
            text = " ".join(words[:8])
            raise TunesmithError(
                f"no derivation of the grammar covers '{text}'; let words pass through, and give "
                "glue rules"
            )
        copies = ids
        if settings.passed_suffix:
            copied = [f"{word}{settings.passed_suffix}" for word in words]
            self.learn_words([copied])
            copies = self._ids(copied)
        rules = rules_of(
            parse,
            grammar.arrays,
            self._renamed,
            self._nodes,
            copies,
            drops,
            self.models.arrays,
            self._own,
        )
        return Prepared(parse, rules)

    def _has_rule(self, ids: Ids) -> Flags:
        """Return which words occur in a source side by themselves."""
        arrays = self.grammar.arrays
        found = np.zeros(len(ids), np.bool_)
        for root, limit in zip(arrays.roots.tolist(), arrays.limits.tolist(), strict=True):
            if limit < 0:
                continue
            first, last = arrays.child_start[root], arrays.child_start[root + 1]
            symbols = arrays.child_symbols[first:last]
            at = np.minimum(np.searchsorted(symbols, ids), max(0, len(symbols) - 1))
            if len(symbols):
                nodes = arrays.child_nodes[first:last][at]
                rules = arrays.rule_start[nodes + 1] > arrays.rule_start[nodes]
                found |= (symbols[at] == ids) & rules
        return found

    def search(self, words: Sequence[str], weights: Floats) -> Found:
        """Find good derivations of a sentence under weights [D] in the order of ``names``."""
        own = np.ascontiguousarray(weights[: len(self.models.names)])
        prepared = self.prepare(words)
        has_ends = not self.settings.has_end_words
        if prepared is None:
            return Found(
                chart_of_nothing(self.models.arrays, own, has_ends), *NOTHING, self._hidden
            )
        parse, rules = prepared
        scores = rule_scores(rules, weights)
        limits = self.settings.pop_limit, self.settings.option_limit
        chart = searched(parse, rules, scores, self.models.arrays, own, *limits, has_ends)
        return Found(chart, parse, rules, self._hidden)


def _nothing() -> Prepared:
    """Return the parse and the rules of a sentence without words."""
    ids, ints, floats = np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0)
    parse = Parse(
        ids, ids, ids, np.zeros(0, np.bool_), ints, ids, ints, ids, ids, ids, -1
    )  # fmt: skip
    rules = SentenceRules(
        ints, ints, ids, np.zeros((0, 0), np.int32), ints, ids, floats, np.zeros((0, 0))
    )
    return Prepared(parse, rules)


NOTHING = _nothing()
