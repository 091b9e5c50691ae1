"""What a decoder is made of: read from wherever its options say, and put together."""

from __future__ import annotations

import dataclasses
import os
import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from tunesmith.arrays import Floats
from tunesmith.data.candidates import FileDigest, GroupId
from tunesmith.data.forests import ForestArrays, ForestSet, joined
from tunesmith.data.memory import budget
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import DecoderError, digest_of
from tunesmith.errors import FormatError, UsageError
from tunesmith.hiero.conventions import CDEC, Conventions
from tunesmith.hiero.engine import NO_NUMBERS, HieroEngine, Settings, Translation
from tunesmith.hiero.grammar import grammar as grammars
from tunesmith.hiero.grammar.grammar import FROM_START, SPAN, Grammar, glue
from tunesmith.hiero.grammar.lexical import frequent_in_rules, with_lexical
from tunesmith.hiero.grammar.text import read_grammar, segment
from tunesmith.hiero.joshua_config import JoshuaConfig
from tunesmith.hiero.lattice import LATTICE, WordLattice, lattice_in
from tunesmith.hiero.lm.language_model import LanguageModel, LanguageModels
from tunesmith.hiero.markup import FORCED, Forced, forced_in
from tunesmith.hiero.model import HieroModel
from tunesmith.hiero.store import frozen

if TYPE_CHECKING:
    from tunesmith.hiero.decoder import HieroDecoder

T = TypeVar("T", "Grammar", "HieroEngine")

#: How many grammars of single sentences are kept, and what searches with them; each of both takes
#: at most this share of the memory.
KEPT, SHARE = 64, 0.25
#: A language model that is given a name: what comes before is no path.
NAMED = re.compile(r"([A-Za-z_][\w.-]*)=(.+)", re.DOTALL)


#: Words of the source and of the target side that have lexical features of their own.
Frequent: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Input:
    """A sentence, or a lattice.

    Attributes
    ----------
    text
        How it stands in a file.
    words
        Its words; those of all arcs of a lattice.
    grammar
        The grammar of its own, if it names one.
    forced
        Forced translations.
    lattice
        None for a sentence.
    """

    text: str
    words: tuple[str, ...]
    grammar: str = ""
    forced: tuple[Forced, ...] = ()
    lattice: WordLattice | None = None


class WordForest(NamedTuple):
    """Forests over words of their own, in the order in which they first occur in them."""

    arrays: ForestArrays
    words: tuple[str, ...]


@dataclass(eq=False)
class Parts:
    """All that a decoder is made of.

    Attributes
    ----------
    engine
        Of the sentences that have no grammar of their own.
    conventions
        How rules are read and features are named.
    start
        Weights to begin with, where they are known.
    files
        What it was made of.
    limit
        The words that a rule may cover.
    longest
        Words of a sentence that are read; 0 for all.
    reads_markup
        Whether elements of XML force translations.
    lattices
        What the scores of lattices are; None where sentences are read.
    frequent
        The source and the target words that have lexical features, if there are such.
    names
        All features. Those that grammars of single sentences add come last, as they are met, so
        that a feature keeps its place.
    """

    engine: HieroEngine
    conventions: Conventions
    start: Weights | None
    files: tuple[FileDigest, ...]
    limit: int
    frequent: Frequent | None = None
    longest: int = 0
    reads_markup: bool = False
    lattices: Literal["plain", "probabilities"] | None = None
    names: tuple[str, ...] = field(init=False)
    _met: set[str] = field(default_factory=set)
    _arc_scores: int | None = None
    _grammars: OrderedDict[str, Grammar] = field(default_factory=OrderedDict)
    _engines: OrderedDict[str, HieroEngine] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _names_lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.names = self.engine.names

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: what is kept of sentences stays behind."""
        left = {"_lock", "_names_lock", "_grammars", "_engines"}
        return {name: value for name, value in vars(self).items() if name not in left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _grammars=OrderedDict(), _engines=OrderedDict())
        self._lock, self._names_lock = threading.Lock(), threading.Lock()

    @property
    def added(self) -> tuple[str, ...]:
        """The features that grammars of single sentences have added."""
        return self.names[len(self.engine.names) :]

    def take(self, added: tuple[str, ...]) -> None:
        """Know features that were met elsewhere, in the same places."""
        if len(self.names) < len(self.engine.names) + len(added):
            self.names = self.engine.names + added

    def read(self, text: str) -> Input:
        """Take apart what is to be translated: words or a lattice, in cdec's ``<seg>`` or not."""
        attributes, text = segment(text)
        if self.lattices is not None and text.strip():
            return self._lattice(text, attributes.get("grammar", ""))
        if LATTICE.match(text.strip()):
            raise DecoderError(
                "it is a lattice (PLF), and words are decoded; read lattices with lattice-input"
            )
        plain, forced = forced_in(text) if self.reads_markup else (text.split(), ())
        escaped = self.conventions.escaped
        words = tuple(map(escaped, plain))
        forced = tuple(
            dataclasses.replace(span, translation=tuple(map(escaped, span.translation)))
            for span in forced
        )
        if self.longest and len(words) > self.longest:
            warnings.warn(
                f"sentences are cut off after {self.longest} words, as the joshua.config says",
                stacklevel=2,
            )
            words = words[: self.longest]
            forced = tuple(span for span in forced if span.end <= self.longest)
        return Input(text, words, attributes.get("grammar", ""), forced)

    def _lattice(self, text: str, grammar: str) -> Input:
        """Take a lattice apart."""
        lattice = lattice_in(text, self.lattices == "probabilities")
        lattice = lattice.spelled(self.conventions.escaped)
        with self._names_lock:  # of two threads, one has the first lattice
            if self._arc_scores is None:
                self._arc_scores = lattice.unnamed
        if lattice.unnamed != self._arc_scores:
            raise DecoderError(
                f"its arcs have {lattice.unnamed} scores, and those before "
                f"{self._arc_scores}; give all arcs the same number of scores"
            )
        if clash := set(lattice.names).intersection(self.engine.models.names):
            raise DecoderError(
                f"its arcs have the feature '{min(clash)}', as a language model; rename one"
            )
        if self.longest and lattice.size > self.longest:
            raise DecoderError(
                f"the lattice has {lattice.size + 1} nodes, and by the joshua.config sentences end "
                f"after {self.longest} words; raise maxlen"
            )
        return Input(text, lattice.words, grammar, (), lattice)

    def learn(self, inputs: Sequence[Input]) -> None:
        """Add the features of sentences' own grammars, before the sentences are searched."""
        with self._names_lock:  # two threads may meet two grammars, and neither's features are lost
            for file in dict.fromkeys(sentence.grammar for sentence in inputs):
                if file and file not in self._met:
                    new = self._grammar(file).names
                    self.names = tuple(dict.fromkeys([*self.names, *new]))
                    self._met.add(file)
            if any(span.log_probability for sentence in inputs for span in sentence.forced):
                self.names = tuple(dict.fromkeys([*self.names, FORCED]))
            lattices = [sentence.lattice for sentence in inputs if sentence.lattice is not None]
            arcs = dict.fromkeys(name for lattice in lattices for name in lattice.names)
            if not arcs.keys() <= set(self.names):
                self.names = tuple(dict.fromkeys([*self.names, *arcs]))

    def translation_of(self, sentence: Input, weights: Floats) -> Translation:
        """Search a sentence under weights in the order of ``names``."""
        numbers: Mapping[str, int] = NO_NUMBERS
        if sentence.forced or sentence.lattice is not None:
            numbers = {name: k for k, name in enumerate(self.names)}
        words = sentence.words if sentence.lattice is None else sentence.lattice
        return self.engine_of(sentence).search(words, weights, sentence.forced, numbers)

    def engine_of(self, sentence: Input) -> HieroEngine:
        """Return the engine for a sentence; its features are those of ``names``, or the first."""
        if not sentence.grammar:
            return self.engine
        with self._lock:
            cached = self._engines.get(sentence.grammar)
        if cached is not None:
            return cached
        whole = self.engine
        rules = grammars.joined([whole.grammar, self._grammar(sentence.grammar)])
        settings = dataclasses.replace(whole.settings, names=self.names)
        engine = HieroEngine(rules, whole.models, settings)
        return _cache_entry(self._engines, self._lock, sentence.grammar, engine)

    def forget(self) -> None:
        """Let go of what is kept of sentences that do not come again."""
        self.engine.forget()
        with self._lock:
            self._grammars.clear()
            self._engines.clear()

    def _grammar(self, file: str) -> Grammar:
        """Return a sentence's own grammar."""
        with self._lock:
            cached = self._grammars.get(file)
        if cached is not None:
            return cached
        settings = self.engine.settings
        whole = None if settings.top in dict(settings.passed) else settings.top
        grammar = read_grammar(file, self.limit, self.conventions, may_be_empty=True, whole=whole)
        if self.frequent is not None and len(grammar):
            grammar = with_lexical(grammar, *self.frequent)
        return _cache_entry(self._grammars, self._lock, file, grammar)

    def forest_set(
        self, forests: Sequence[WordForest], ids: Sequence[GroupId], texts: Sequence[str]
    ) -> ForestSet:
        """Put forests into a set, over the words that occur in them."""
        arrays, words = together(forests)
        return ForestSet(tuple(ids), arrays, self.names, words, sources=tuple(texts))

    def digests(self) -> dict[str, str]:
        """Return the digests of all files."""
        return {file.path: file.sha256 for file in self.files}


def spell_out(translation: Translation, best_only: bool, rules: Conventions) -> WordForest:
    """Write out the words of a forest: ids depend on the grammar, and on the sentence."""
    arrays = translation.forest(best_only)
    side = arrays.words
    used, first, place = np.unique(side[side >= 0], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    words = side.copy()
    words[side >= 0] = rank[place]
    texts = [rules.unescaped(translation.prepared.word(w)) for w in used[order].tolist()]
    return WordForest(arrays._replace(words=words), tuple(texts))


def together(forests: Sequence[WordForest]) -> WordForest:
    """Lay forests one after the other, over one vocabulary."""
    if len(forests) == 1:
        return forests[0]
    words: dict[str, int] = {}
    renamed = []
    for result in forests:
        ids = np.array([words.setdefault(w, len(words)) for w in result.words] or [0], np.int32)
        side = result.arrays.words
        renumbered_words = np.where(side < 0, side, ids[np.maximum(side, 0)])
        renamed.append(result.arrays._replace(words=renumbered_words))
    return WordForest(joined(renamed), tuple(words))


def _cache_entry(cache: OrderedDict[str, T], lock: threading.Lock, key: str, value: T) -> T:
    """Keep what was made last; return what is kept, which may be another thread's."""
    with lock:
        stored = cache.setdefault(key, value)
        cache.move_to_end(key)
        most = SHARE * budget()
        while len(cache) > 1 and (
            len(cache) > KEPT or sum(entry.bytes for entry in cache.values()) > most
        ):
            cache.popitem(last=False)
    return stored


def parts_of(options: HieroDecoder) -> Parts:
    """Read what the options of a decoder name."""
    if options.joshua:
        return _of_joshua(options)
    return _of_model(options) if options.model else _of_files(options)


def _of_model(options: HieroDecoder) -> Parts:
    model = HieroModel.load(options.model)
    settings = Settings(
        pop_limit=model.settings.pop_limit,
        top=model.settings.top,
        passed=((model.settings.category, 1.0),),
    )
    models = (
        _named_models(options.lm, CDEC)
        if options.lm
        else LanguageModels({CDEC.model: model.language_model})
    )
    lm_files = models.files if options.lm else ()
    files = (FileDigest(os.fspath(options.model), model.digest, "model"), *lm_files)
    limit = options.span_limit or model.settings.span_limit
    arguments = settings, CDEC, model.start, files, limit
    return _parts(options, model.grammar, models, *arguments, model.frequent)


def _of_files(options: HieroDecoder) -> Parts:
    limit = options.span_limit or SPAN
    parts = [read_grammar(options.grammar, limit, CDEC, whole=CDEC.goal)] if options.grammar else []
    if options.glue and not any(_makes(part, CDEC.goal) for part in parts):
        if not all(_makes(part, CDEC.category) for part in parts):
            raise UsageError(
                f"no rule of the grammar makes [{CDEC.category}], which our glue rules join; give "
                f"a file with rules that make [{CDEC.goal}] of its categories"
            )
        parts.append(glue(CDEC.category, CDEC.goal, CDEC.glue))
    if not parts:
        raise UsageError("decoder 'hiero' has neither a grammar nor glue rules; give one of them")
    whole = grammars.joined(parts)
    models = _named_models(options.lm, CDEC)
    top = CDEC.goal if CDEC.goal in whole.categories else CDEC.category
    settings = Settings(pop_limit=CDEC.pops, top=top, passed=((CDEC.category, CDEC.passed_value),))
    files = (*whole.files, *models.files)
    return _parts(options, whole, models, settings, CDEC, None, files, limit)


def _makes(grammar: Grammar, category: str) -> bool:
    """Tell whether a rule makes a category."""
    if category not in grammar.categories:
        return False
    return bool((grammar.arrays.heads == grammar.categories.index(category)).any())


def _of_joshua(options: HieroDecoder) -> Parts:
    config = JoshuaConfig.read(options.joshua)
    rules = config.conventions
    if not config.models and not options.lm:
        problem = "it names no language model"
        raise FormatError(config.path, None, problem, "name one, or give --lm FILE")
    models = (
        _named_models(options.lm, rules)
        if options.lm
        else LanguageModels(
            dict(
                zip(
                    rules.model_names(len(config.models)),
                    map(LanguageModel.read, config.models),
                    strict=True,
                )
            )
        )
    )
    whole = config.grammar()
    settings = Settings(
        pop_limit=rules.pops,
        option_limit=rules.options,
        top=rules.goal,
        passes="all" if rules.passes_known else "unknown",
        has_end_words=rules.ends_are_words,
        word_name=rules.word_penalty,
        word_unit=rules.word_unit,
        rule_name="",
        passed_name=rules.passed,
        # As what no rule has, a word is of no use; Joshua says nothing of it.
        passed=tuple(weight for weight in config.passed if weight[0] in whole.categories),
        passed_suffix="_OOV" if config.marks_passed else "",
    )
    file = FileDigest(config.path, digest_of(config.path), "joshua.config")
    files = (file, *whole.files, *models.files)
    limit = options.span_limit or rules.span
    parts = _parts(options, whole, models, settings, rules, config.weights, files, limit)
    parts.longest = config.longest
    return parts


def _named_models(specs: Sequence[str], rules: Conventions) -> LanguageModels:
    """Read language models, whose features have the names given or the usual ones."""
    if not specs:
        raise UsageError("decoder 'hiero' has no language model; give --lm FILE")
    usual = rules.model_names(len(specs))
    models: dict[str, LanguageModel] = {}
    for text, usual_name in zip(specs, usual, strict=True):
        name, path = usual_name, text
        if (named := NAMED.fullmatch(text)) and not os.path.exists(text):
            name, path = named.groups()
        if name in models:
            raise UsageError(f"two language models are called {name}; give NAME=FILE for each")
        models[name] = LanguageModel.read(path)
    return LanguageModels(models)


def _parts(
    options: HieroDecoder,
    grammar: Grammar,
    models: LanguageModels,
    settings: Settings,
    conventions: Conventions,
    start: Weights | None,
    files: tuple[FileDigest, ...],
    limit: int,
    most_frequent: Callable[[int], Frequent] | None = None,
) -> Parts:
    """Apply the options that are the same wherever a decoder comes from."""
    if options.span_limit is not None:
        arrays = grammar.arrays
        limits = np.where(arrays.limits == FROM_START, FROM_START, options.span_limit)
        limited = arrays._replace(limits=frozen(limits.astype(np.int32)))
        grammar = dataclasses.replace(grammar, arrays=limited)
    frequent: Frequent | None = None
    if options.lexical:
        if most_frequent is None:
            most_frequent = partial(frequent_in_rules, grammar)
        frequent = most_frequent(options.lexical)
        if not any(frequent):
            raise UsageError("there are no words for lexical features; give a grammar for all")
        grammar = with_lexical(grammar, *frequent)
    search_fields: dict[str, Any] = {
        name: getattr(options, name)
        for name in ("pop_limit", "option_limit", "passes")
        if getattr(options, name) is not None
    }
    unknown = conventions.unknown_suffix
    names = tuple(f"{name}{unknown}" for name in models.names) if unknown else ()
    settings = dataclasses.replace(
        settings,
        unknown=options.unknown,
        unknown_names=names,
        forced_alone=options.xml_input != "inclusive",
        **search_fields,
    )
    engine = HieroEngine(grammar, models, settings)
    markup = options.xml_input is not None
    parts = Parts(engine, conventions, start, files, limit, frequent, reads_markup=markup)
    parts.lattices = options.lattice_input
    return parts
