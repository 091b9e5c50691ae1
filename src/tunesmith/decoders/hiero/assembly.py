"""What a decoder is made of: read from wherever its options say, and put together."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tunesmith.data.candidates import FileDigest, GroupId
from tunesmith.data.forests import ForestArrays, ForestSet, joined
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import digest_of
from tunesmith.decoders.hiero import grammar as grammars
from tunesmith.decoders.hiero.conventions import CDEC, Conventions
from tunesmith.decoders.hiero.engine import Engine, Settings
from tunesmith.decoders.hiero.grammar import FROM_START, SPAN, Grammar, glue
from tunesmith.decoders.hiero.grammar_text import read_grammar, segment
from tunesmith.decoders.hiero.joshua_config import JoshuaConfig
from tunesmith.decoders.hiero.language_model import LanguageModel, LanguageModels
from tunesmith.decoders.hiero.lexical import frequent_in_rules, with_lexical
from tunesmith.decoders.hiero.model import ABOUT, HieroModel
from tunesmith.decoders.hiero.store import frozen
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.decoders.hiero.decoder import HieroDecoder

#: Grammars of single sentences that are kept.
KEPT = 64
#: A language model that is given a name: what comes before is no path.
NAMED = re.compile(r"([A-Za-z_][\w.-]*)=(.+)", re.DOTALL)


@dataclass(frozen=True)
class Input:
    """A sentence: its words, and a grammar of its own if it names one."""

    words: tuple[str, ...]
    grammar: str = ""


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
    """

    engine: Engine
    conventions: Conventions
    start: Weights | None
    files: tuple[FileDigest, ...]
    limit: int
    _own: OrderedDict[str, Engine] = field(default_factory=OrderedDict)

    def read(self, text: str) -> Input:
        """Take apart what is to be translated: words, or cdec's ``<seg>`` around them."""
        attributes, text = segment(text)
        return Input(tuple(self.conventions.escaped(text).split()), attributes.get("grammar", ""))

    def engines(self, inputs: Sequence[Input]) -> list[Engine]:
        """Return what searches each sentence; all of them name their features alike."""
        files = dict.fromkeys(one.grammar for one in inputs if one.grammar)
        if not files:
            return [self.engine] * len(inputs)
        held = {file: self._engine(file) for file in files}
        names = tuple(dict.fromkeys(name for engine in held.values() for name in engine.names))
        for file, engine in held.items():
            if engine.names != names:
                held[file] = self._engine(file, names)
        whole = self.engine
        if whole.names != names:
            whole = Engine(whole.grammar, whole.models, _with_names(whole.settings, names))
        return [held[one.grammar] if one.grammar else whole for one in inputs]

    def _engine(self, file: str, names: tuple[str, ...] = ()) -> Engine:
        """Return what searches with a sentence's own grammar beside that of all."""
        kept = self._own.get(file)
        if kept is not None and (not names or kept.names == names):
            self._own.move_to_end(file)
            return kept
        own = read_grammar(file, self.limit, self.conventions, may_be_empty=True)
        whole = self.engine
        made = Engine(
            grammars.joined([whole.grammar, own]),
            whole.models,
            _with_names(whole.settings, names or whole.names),
        )
        self._own[file] = made
        while len(self._own) > KEPT:
            self._own.popitem(last=False)
        return made

    def forest_set(
        self,
        arrays: Sequence[ForestArrays],
        engines: Sequence[Engine],
        ids: Sequence[GroupId],
        texts: Sequence[str],
    ) -> ForestSet:
        """Put forests into a set, over the words that occur in them."""
        words: dict[str, int] = {}
        renamed = []
        for one, engine in zip(arrays, engines, strict=True):
            said, place = np.unique(one.words, return_inverse=True)
            own = [
                w if w < 0 else words.setdefault(engine.word(w), len(words)) for w in said.tolist()
            ]
            renamed.append(one._replace(words=np.array(own, np.int32)[place].reshape(-1)))
        names = engines[0].names
        return ForestSet(tuple(ids), joined(renamed), names, tuple(words), sources=tuple(texts))

    def digests(self) -> dict[str, str]:
        """Return the digests of all files."""
        return {file.path: file.sha256 for file in self.files}


def _with_names(settings: Settings, names: tuple[str, ...]) -> Settings:
    return dataclasses.replace(settings, names=names)


def assembled(options: HieroDecoder) -> Parts:
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
    about = Path(options.model) / ABOUT
    files = (FileDigest(str(about), digest_of(about), "model"), *models.files)
    limit = options.span_limit or model.settings.span_limit
    return _parts(options, model.grammar, models, settings, CDEC, model.start, files, limit)


def _of_files(options: HieroDecoder) -> Parts:
    limit = options.span_limit or SPAN
    parts = [read_grammar(options.grammar, limit, CDEC)] if options.grammar else []
    if options.glue and not any(_is_whole(part, CDEC.goal) for part in parts):
        parts.append(glue(CDEC.category, CDEC.goal, CDEC.glue))
    whole = grammars.joined(parts)
    models = _named_models(options.lm, CDEC)
    top = CDEC.goal if CDEC.goal in whole.categories else CDEC.category
    settings = Settings(pop_limit=CDEC.pops, top=top, passed=((CDEC.category, CDEC.passed_value),))
    files = (*whole.files, *models.files)
    return _parts(options, whole, models, settings, CDEC, None, files, limit)


def _is_whole(grammar: Grammar, top: str) -> bool:
    """Whether a file has glue rules itself."""
    if top not in grammar.categories:
        return False
    return bool((grammar.arrays.heads == grammar.categories.index(top)).any())


def _of_joshua(options: HieroDecoder) -> Parts:
    config = JoshuaConfig.read(options.joshua)
    rules = config.conventions
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
        passed=config.passed,
        passed_suffix="_OOV" if config.marks_passed else "",
    )
    whole = config.grammar()
    file = FileDigest(config.path, digest_of(config.path), "joshua.config")
    files = (file, *whole.files, *models.files)
    limit = options.span_limit or rules.span
    return _parts(options, whole, models, settings, rules, config.weights, files, limit)


def _named_models(given: Sequence[str], rules: Conventions) -> LanguageModels:
    """Read language models, whose features have the names given or the usual ones."""
    if not given:
        raise UsageError("decoder 'hiero' has no language model; give --lm FILE")
    usual = rules.model_names(len(given))
    found: dict[str, LanguageModel] = {}
    for text, usual_name in zip(given, usual, strict=True):
        name, path = usual_name, text
        if (named := NAMED.fullmatch(text)) and not os.path.exists(text):
            name, path = named.groups()
        if name in found:
            raise UsageError(f"two language models are called {name}; give NAME=FILE for each")
        found[name] = LanguageModel.read(path)
    return LanguageModels(found)


def _parts(
    options: HieroDecoder,
    grammar: Grammar,
    models: LanguageModels,
    settings: Settings,
    conventions: Conventions,
    start: Weights | None,
    files: tuple[FileDigest, ...],
    limit: int,
) -> Parts:
    """Apply the options that are the same wherever a decoder comes from."""
    if options.span_limit is not None:
        arrays = grammar.arrays
        limits = np.where(arrays.limits == FROM_START, FROM_START, options.span_limit)
        limited = arrays._replace(limits=frozen(limits.astype(np.int32)))
        grammar = dataclasses.replace(grammar, arrays=limited)
    if options.lexical:
        grammar = with_lexical(grammar, *frequent_in_rules(grammar, options.lexical))
    given: dict[str, Any] = {
        name: getattr(options, name)
        for name in ("pop_limit", "option_limit", "passes")
        if getattr(options, name) is not None
    }
    unknown = conventions.unknown_suffix
    names = tuple(f"{name}{unknown}" for name in models.names) if unknown else ()
    settings = dataclasses.replace(settings, unknown=options.unknown, unknown_names=names, **given)
    return Parts(Engine(grammar, models, settings), conventions, start, files, limit)
