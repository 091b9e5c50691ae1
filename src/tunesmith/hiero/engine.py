"""Grammar, language models and settings put together: sentences in, charts out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from tunesmith.arrays import Flags, Floats, Ids
from tunesmith.data.forests import ForestArrays
from tunesmith.data.memory import budget
from tunesmith.data.rows import offsets
from tunesmith.errors import TunesmithError
from tunesmith.hiero.chart.cubes import Chart, search
from tunesmith.hiero.chart.forest import chart_forest, chart_of_nothing
from tunesmith.hiero.chart.parse import Parse, parse_sentence, unary_order
from tunesmith.hiero.chart.sentence_rules import (
    ForcedWords,
    OwnFeatures,
    SentenceRules,
    rule_scores,
    rules_of,
)
from tunesmith.hiero.grammar.grammar import Grammar
from tunesmith.hiero.lattice import WordLattice
from tunesmith.hiero.lm.language_model import LanguageModels
from tunesmith.hiero.markup import FORCED, Forced
from tunesmith.hiero.store import frozen
from tunesmith.hiero.vocabulary import Vocabulary

#: The ends of a sentence, as language models and some grammars write them.
BEGIN, END = "<s>", "</s>"
#: Parses that are kept take at most this share of the memory.
SHARE = 0.25
#: Of inputs that bring no features.
NO_NUMBERS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Settings:
    """Settings for searching a sentence, besides grammar and language models.

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
    forced_alone
        Whether words with a forced translation have no other.
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
    forced_alone: bool = True


class Prepared(NamedTuple):
    """What depends on a sentence but not on weights: its parse, its rules.

    Attributes
    ----------
    parse, rules
        Its derivations, and what they are made of.
    vocabulary, strange
        The grammar's words, and those that it does not have: their ids come after the grammar's.
    hidden
        Words that are none of the output.
    words
        All words that rules cover, of a lattice those of its arcs.
    forced
        Forced translations, their places among these.
    """

    parse: Parse
    rules: SentenceRules
    vocabulary: Vocabulary
    strange: tuple[str, ...]
    hidden: Ids
    words: tuple[str, ...] = ()
    forced: tuple[Forced, ...] = ()

    def word(self, number: int) -> str:
        """Return the word of an id."""
        known = len(self.vocabulary)
        return self.strange[number - known] if number >= known else self.vocabulary[number]

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        arrays = [part for tables in self[:2] for part in tables if isinstance(part, np.ndarray)]
        return sum(array.nbytes for array in arrays)


class Translation(NamedTuple):
    """What was found for a sentence."""

    chart: Chart
    prepared: Prepared

    def forest(self, best_only: bool = False) -> ForestArrays:
        """Return all derivations, packed, or the best alone."""
        prepared = self.prepared
        return chart_forest(self.chart, prepared.parse, prepared.rules, best_only, prepared.hidden)


class HieroEngine:
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
                whole = "a sentence" if category == settings.top else "a word that passes"
                rule = f"[{settings.top}] ||| [{category},1] ||| [1]"
                remedy = "that make it" if category == settings.top else f"with it, as {rule}"
                raise TunesmithError(
                    f"{whole} is [{category}], which no rule of the grammar has; add rules {remedy}"
                )
        own_names = [*settings.unknown_names, settings.word_name, settings.rule_name]
        if settings.passes != "none":
            own_names.append(settings.passed_name)
        names = dict.fromkeys(
            [*models.names, *filter(None, own_names), *settings.names, *grammar.names]
        )
        self.names = tuple(names)
        if clash := set(models.names).intersection([*own_names, *grammar.names]):
            raise TunesmithError(
                f"a language model has the name of another feature, {min(clash)}; rename it"
            )
        number = {name: k for k, name in enumerate(self.names)}
        self._renamed = frozen(np.array([number[name] for name in grammar.names], np.int32))
        self._own_features = OwnFeatures(
            np.array([number[name] for name in settings.unknown_names], np.int32),
            number.get(settings.word_name, -1),
            settings.word_unit,
            number.get(settings.rule_name, -1),
            # Where phrases are the whole, there is no glue.
            -1 if settings.top in passed else grammar.categories.index(settings.top),
            number.get(settings.passed_name, -1),
            np.array([passed.get(category, 0.0) for category in grammar.categories]),
        )
        self._order = unary_order(grammar.arrays, len(grammar.categories))
        self._passed = np.array([grammar.categories.index(c) for c in passed], np.int32)
        self._top = grammar.categories.index(settings.top)
        self._nodes = self._with_ends(
            models.lookup_all(grammar.vocabulary), grammar.vocabulary.ids_of([BEGIN, END])
        )
        self._cache: OrderedDict[str, Prepared] = OrderedDict()
        self._cached_bytes = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[HieroEngine], tuple[Grammar, LanguageModels, Settings]]:
        """Be made anew in another process: what is kept of sentences stays behind."""
        return HieroEngine, (self.grammar, self.models, self.settings)

    def _with_ends(self, nodes: Ids, ends: Ids) -> Ids:
        """Return the nodes of words, where the ends of sentences may be words like any other."""
        if not self.settings.has_end_words:
            nodes = nodes.copy()
            nodes[:, ends[ends >= 0]] = self.models.arrays.unknowns[:, None]
        return frozen(nodes)

    def prepare(
        self,
        words: Sequence[str] | WordLattice,
        forced: Sequence[Forced] = (),
        numbers: Mapping[str, int] = NO_NUMBERS,
    ) -> Prepared | None:
        """Parse a sentence, or remember how it was parsed; None if it has no words.

        The parameters are those of :meth:`search`.
        """
        lattice = words if isinstance(words, WordLattice) else WordLattice.chain(words)
        if self.settings.has_end_words:
            lattice = lattice.between(BEGIN, END)
            forced = [replace(span, begin=span.begin + 1, end=span.end + 1) for span in forced]
        if not lattice.words:
            return None
        key = " ".join(lattice.words) if lattice.is_chain else f"\n{lattice!r}"
        key += f"\n{forced!r}" if forced else ""
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None:
                self._cache.move_to_end(key)
                return cached
        prepared = self._prepared(lattice, tuple(forced), numbers)
        with self._lock:
            if key not in self._cache:
                self._cache[key] = prepared
                self._cached_bytes += prepared.bytes
            while self._cached_bytes > SHARE * budget() and len(self._cache) > 1:
                _, dropped = self._cache.popitem(last=False)
                self._cached_bytes -= dropped.bytes
        return prepared

    @property
    def bytes(self) -> int:
        """What it takes in memory: the grammar, its words in the models, and parses."""
        return self.grammar.bytes + self._nodes.nbytes + self._cached_bytes

    def forget(self) -> None:
        """Let go of parses: the sentences do not come again."""
        with self._lock:
            self._cache.clear()
            self._cached_bytes = 0

    def _prepared(
        self, lattice: WordLattice, forced: tuple[Forced, ...], numbers: Mapping[str, int]
    ) -> Prepared:
        settings, grammar, words = self.settings, self.grammar, lattice.words
        is_end = np.array([settings.has_end_words and word in (BEGIN, END) for word in words])
        copied = [f"{word}{settings.passed_suffix}" for word in words]
        translations = [word for span in forced for word in span.translation]
        strange, (ids, copies, forced_words) = self._numbered(words, copied, translations)
        has_rule = self._has_rule(ids)
        passed = ~is_end & (settings.passes != "none")
        if settings.passes == "unknown":
            passed &= ~has_rule
        drops = ~has_rule & (settings.unknown == "drop")
        hidden = np.unique(ids[is_end])
        if settings.forced_alone:
            for span in forced:  # no rule has such a word
                ids[span.begin : span.end] = len(grammar.vocabulary) + len(strange)
                passed[span.begin : span.end] = False
        spans = np.array([(span.begin, span.end) for span in forced], np.int32).reshape(-1, 2)
        arcs = lattice.arcs(ids)
        parse = parse_sentence(
            grammar.arrays, self._order, arcs, passed, self._passed, self._top, spans
        )
        if parse.goal < 0:
            text = " ".join(words[:8])
            shown = f"'{text}'" if lattice.is_chain else "a path of the lattice"
            raise TunesmithError(
                f"no derivation of the grammar covers {shown}; let words pass through, and give "
                "glue rules"
            )
        ends = np.array([k for k, word in enumerate(strange) if word in (BEGIN, END)], np.int32)
        rules = rules_of(
            parse,
            grammar.arrays,
            self._renamed,
            self._nodes,
            self._with_ends(self.models.lookup(strange), ends),
            copies,
            drops,
            self.models.arrays,
            self._own_features,
            ForcedWords(
                offsets([len(span.translation) for span in forced]),
                forced_words,
                np.array([span.log_probability for span in forced]),
                numbers.get(FORCED, -1),
            ),
            lattice.arc_scores(numbers),
        )
        return Prepared(parse, rules, grammar.vocabulary, strange, hidden, words, forced)

    def _numbered(self, *texts: Sequence[str]) -> tuple[tuple[str, ...], list[Ids]]:
        """Return the words that the grammar does not have, and the ids of all words of texts."""
        every = list(dict.fromkeys(word for text in texts for word in text))
        known = self.grammar.vocabulary.ids_of(every)
        strange = [word for word, k in zip(every, known.tolist(), strict=True) if k < 0]
        number = dict(zip(every, known.tolist(), strict=True))
        size = len(self.grammar.vocabulary)
        number |= {word: size + k for k, word in enumerate(strange)}
        return tuple(strange), [np.array([number[w] for w in text], np.int32) for text in texts]

    def _has_rule(self, ids: Ids) -> Flags:
        """Return which words occur in a source side by themselves."""
        arrays = self.grammar.arrays
        has_rule = np.zeros(len(ids), np.bool_)
        for root, limit in zip(arrays.roots.tolist(), arrays.limits.tolist(), strict=True):
            if limit < 0:
                continue
            first, last = arrays.child_start[root], arrays.child_start[root + 1]
            symbols = arrays.child_symbols[first:last]
            at = np.minimum(np.searchsorted(symbols, ids), max(0, len(symbols) - 1))
            if len(symbols):
                nodes = arrays.child_nodes[first:last][at]
                rules = arrays.rule_start[nodes + 1] > arrays.rule_start[nodes]
                has_rule |= (symbols[at] == ids) & rules
        return has_rule

    def search(
        self,
        words: Sequence[str] | WordLattice,
        weights: Floats,
        forced: Sequence[Forced] = (),
        numbers: Mapping[str, int] = NO_NUMBERS,
    ) -> Translation:
        """Find good derivations of a sentence, or of all paths of a lattice.

        Parameters
        ----------
        words
            The sentence.
        weights : float64[D]
            In the order of ``names``.
        forced
            Forced translations, of a sentence alone.
        numbers
            The features that the input itself brings, those of forced translations and of arcs,
            and their places among the weights.
        """
        lm_weights = np.ascontiguousarray(weights[: len(self.models.names)])
        prepared = self.prepare(words, forced, numbers)
        has_ends = not self.settings.has_end_words
        if prepared is None:
            chart = chart_of_nothing(self.models.arrays, lm_weights, has_ends)
            return Translation(chart, NOTHING)
        scores = rule_scores(prepared.rules, weights)
        chart = search(
            prepared.parse,
            prepared.rules,
            scores,
            self.models.arrays,
            lm_weights,
            self.settings.pop_limit,
            self.settings.option_limit,
            has_ends,
        )
        return Translation(chart, prepared)


def _nothing() -> Prepared:
    """Return the parse and the rules of a sentence without words."""
    ids, ints, floats = np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0)
    parse = Parse(
        ids, ids, ids, np.zeros(0, np.bool_), ints, ids, ints, ids, ids, ids, ids,
        np.zeros((0, 2), np.int32), -1,
    )  # fmt: skip
    rules = SentenceRules(
        ints, ints, ids, np.zeros((0, 0), np.int32), ints, ids, floats, np.zeros((0, 0))
    )
    return Prepared(parse, rules, Vocabulary.of(()), (), ids)


NOTHING = _nothing()
