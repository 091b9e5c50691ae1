"""What a joshua.config says of grammars, language models, features and the search.

Joshua 5 and 6. Paths are relative to the file. What would change translations and is not known
here is an error; what only concerns Joshua's output or speed is passed over.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tunesmith.data.weights import Weights
from tunesmith.decoders.joshua import JoshuaConfiguration, normal
from tunesmith.errors import FormatError
from tunesmith.hiero.conventions import JOSHUA, Conventions
from tunesmith.hiero.grammar.grammar import (
    FROM_START,
    Grammar,
    Nonterminal,
    Rule,
    grammar_of,
    joined,
)
from tunesmith.hiero.grammar.rule_trie import with_features
from tunesmith.hiero.grammar.text import read_grammar
from tunesmith.io.weights.files import read_weights

#: The words around every sentence.
BEGIN, END = "<s>", "</s>"
#: What a word that is passed through adds to OOVPenalty in Joshua 5 and before.
OLD_PASSED = 1.0
#: Formats of grammars that are read.
FORMATS = frozenset({"hiero", "thrax"})
#: Settings that are whole numbers.
NUMBERS = {
    "poplimit": "pops",
    "numtranslationoptions": "options",
    "topn": "nbest",
    "maxlen": "longest",
}
#: Settings that change no translation.
PASSED_OVER = frozenset(
    {
        "addcombinedcost",
        "amortize",
        "c",
        "config",
        "dumphypergraph",
        "filtergrammar",
        "includealignindex",
        "inputfile",
        "inputtype",
        "nbestlist",
        "nodotchart",
        "numparalleldecoders",
        "outputformat",
        "reorderinglimit",
        "serverport",
        "servertype",
        "showweights",
        "threads",
        "translationthreadtimeout",
        "trueoovsonly",
        "usecubeprune",
        "usekenlm",
        "useposlabels",
        "usesentspecifictm",
        "usetreenbest",
        "useuniquenbest",
        "v",
        "weightfile",
        "weightoverwrite",
        "weightsfile",
    }
)
#: Settings that are fine as long as they are not turned on.
OFF = frozenset(
    {
        "constrainparse",
        "fuzzymatching",
        "latticedecoding",
        "lowercase",
        "moses",
        "parse",
        "projectcase",
        "regexpgrammar",
        "rescoreforest",
        "segmentoovs",
        "sourceannotations",
        "usebeamandthresholdprune",
    }
)


@dataclass(frozen=True)
class JoshuaGrammar:
    """A grammar: its file, its owner, and how many words a rule covers, -1 for glue."""

    path: str
    owner: str
    limit: int


@dataclass(frozen=True)
class JoshuaConfig:
    """A joshua.config as the decoder needs it.

    Attributes
    ----------
    path
        The file.
    grammars, models
        Grammars, and the files of language models, whose features are lm_0, lm_1, ...
    weights
        Of the weights-file, and above them those of the file itself.
    conventions
        Joshua's, with the categories, limits and features of this file; the name of a feature
        that it does not turn on is empty.
    passed
        The categories that words are passed through as, and what each adds to OOVPenalty.
    penalised
        Owners whose rules count for PhrasePenalty.
    marks_passed
        Whether ``_OOV`` is added to words that are passed through.
    nbest
        How many translations of a sentence are asked for.
    longest
        Words of a sentence after which Joshua cuts it off; 0 for no limit.
    """

    path: str
    grammars: tuple[JoshuaGrammar, ...]
    models: tuple[str, ...]
    weights: Weights
    conventions: Conventions
    passed: tuple[tuple[str, float], ...]
    penalised: tuple[str, ...] = ()
    marks_passed: bool = False
    nbest: int = 1
    longest: int = 200

    @classmethod
    def read(cls, path: str | os.PathLike[str], version: int = 6) -> JoshuaConfig:
        """Read a file.

        Parameters
        ----------
        path
            A joshua.config.
        version
            Of Joshua. Until 5, a word that is passed through adds 1 to OOVPenalty, since then
            -100.
        """
        return _ConfigReader(os.fspath(path), version).result()

    def grammar(self) -> Grammar:
        """Read all grammars, each with its limit; glue rules are added where there are none."""
        parts = [self._part(grammar) for grammar in self.grammars]
        if not any(entry.owner == "glue" or entry.limit == FROM_START for entry in self.grammars):
            parts.append(glue(self.conventions))
        return joined(parts)

    def _part(self, grammar: JoshuaGrammar) -> Grammar:
        part = read_grammar(grammar.path, grammar.limit, self.conventions, grammar.owner)
        if grammar.owner not in self.penalised:
            return part
        rules = len(part)
        arrays = with_features(
            part.arrays,
            np.arange(rules + 1),
            np.full(rules, len(part.names), np.int32),
            np.ones(rules),
        )
        return replace(part, arrays=arrays, names=(*part.names, "PhrasePenalty"))


def glue(conventions: Conventions = JOSHUA) -> Grammar:
    """Return the glue grammar that Joshua makes where it is given none."""
    top, phrase = Nonterminal(conventions.goal), Nonterminal(conventions.category)
    rules = [
        Rule(conventions.goal, (BEGIN,), (BEGIN,)),
        Rule(conventions.goal, (top, phrase), (1, 2), {conventions.glue: 1.0}),
        Rule(conventions.goal, (top, END), (1, END)),
    ]
    return grammar_of(rules, FROM_START)


@dataclass
class _ConfigReader:
    """Takes one setting after the other."""

    path: str
    version: int
    line: int = 0
    grammars: list[JoshuaGrammar] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    passed: list[tuple[str, float]] = field(default_factory=list)
    penalised: list[str] = field(default_factory=list)
    marks_passed: bool = False
    category: str = JOSHUA.category
    goal: str = JOSHUA.goal
    pops: int = JOSHUA.pops
    options: int = JOSHUA.options
    nbest: int = 1
    longest: int = 200
    word_penalty: str = ""
    word_unit: float = JOSHUA.word_unit
    oov_penalty: str = ""

    def result(self) -> JoshuaConfig:
        """Read the file."""
        file = JoshuaConfiguration.read(self.path)
        for self.line, line in enumerate(file.text.decode().split("\n"), 1):
            key, equals, value = line.partition("=")
            if equals and not line.lstrip().startswith("#"):
                self._take(normal(key.strip()), value.strip(), key.strip())
        weights = dict(file.inline)
        if file.weights_file:
            weights = {**read_weights(self._file(file.weights_file)).weights, **weights}
        if not self.grammars:
            raise FormatError(self.path, None, "it names no grammar", "add a line tm = ...")
        passed_value = JOSHUA.passed_value if self.version >= 6 else OLD_PASSED
        conventions = replace(
            JOSHUA,
            category=self.category,
            goal=self.goal,
            pops=self.pops,
            options=self.options,
            word_penalty=self.word_penalty,
            word_unit=self.word_unit,
            passed=self.oov_penalty,
            passed_value=passed_value,
        )
        return JoshuaConfig(
            path=self.path,
            grammars=tuple(self.grammars),
            models=tuple(self.models),
            weights=Weights.from_dict(weights),
            conventions=conventions,
            passed=tuple(self.passed) or ((self.category, passed_value),),
            penalised=tuple(self.penalised),
            marks_passed=self.marks_passed,
            nbest=self.nbest,
            longest=self.longest,
        )

    def _take(self, key: str, value: str, shown: str) -> None:
        takers: Mapping[str, Callable[[str], None]] = {
            "tm": self._take_grammar,
            "lm": self._take_old_model,
            "featurefunction": self._take_feature,
            "oovlist": self._take_passed,
        }
        if key in takers:
            if not value:
                raise self._error(f"'{shown}' has no words after it", "say which")
            takers[key](value)
        elif key in ("defaultnonterminal", "goalsymbol"):
            name = value.removeprefix("[").removesuffix("]")
            setattr(self, "goal" if key == "goalsymbol" else "category", name)
        elif key in NUMBERS:
            setattr(self, NUMBERS[key], self._whole(value, shown))
        elif key == "markoovs":
            self.marks_passed = value.lower() == "true"
        elif key == "search":
            if value != "cky":
                raise self._error(f"the search '{value}' is not hierarchical", "give search = cky")
        elif key in OFF:
            if value.lower() not in ("false", "0"):
                raise self._error(f"'{shown}' is not known here", "turn it off")
        elif key not in PASSED_OVER:
            raise self._error(f"'{shown}' is no setting of Joshua", "take the line out")

    def _take_grammar(self, value: str) -> None:
        kind, *words = value.split()
        if words and not words[0].startswith("-"):  # tm = TYPE OWNER MAXSPAN PATH
            if len(words) != 3:
                raise self._error("a grammar has an owner, a span and a path", "give all three")
            words = ["-owner", words[0], "-maxspan", words[1], "-path", words[2]]
        if kind not in FORMATS:
            known = " or ".join(sorted(FORMATS))
            raise self._error(f"grammars of the format '{kind}' are not read", f"give {known}")
        arguments = _arguments(words)
        for name in ("owner", "maxspan", "path"):
            if name not in arguments:
                raise self._error(f"a grammar has no -{name}", "add it to the line")
        path = self._file(arguments["path"])
        if os.path.isdir(path):
            raise self._error(
                f"{path} is a packed grammar", "give the text that it was packed from"
            )
        limit = self._whole(arguments["maxspan"], "maxspan", least=-1)
        self.grammars.append(JoshuaGrammar(path, arguments["owner"], limit))

    def _take_old_model(self, value: str) -> None:
        """Take ``lm = kenlm 5 false false 100 lm.gz``."""
        words = value.split()
        if len(words) != 6:
            raise self._error(
                "a language model has six words", "write lm = kenlm 5 false false 100 F"
            )
        self.models.append(self._file(words[5]))

    def _take_feature(self, value: str) -> None:
        name, *words = value.split()
        arguments = _arguments(words)
        name = name.removesuffix("FF")
        if name in ("LanguageModel", "StateMinimizingLanguageModel"):
            if "class_map" in arguments:
                raise self._error("models of word classes are not known here", "take it out")
            if "lm_file" not in arguments:
                raise self._error("a language model has no -lm_file", "add it to the line")
            self.models.append(self._file(arguments["lm_file"]))
        elif name == "WordPenalty":
            self.word_penalty = JOSHUA.word_penalty
            if "value" in arguments:
                self.word_unit = self._number(arguments["value"], "value")
        elif name in ("OOVPenalty", "OOV"):
            self.oov_penalty = JOSHUA.passed
        elif name == "PhrasePenalty":
            self.penalised.append(arguments.get("owner", "pt"))
        else:
            raise self._error(f"the feature function '{name}' is not known here", "take it out")

    def _take_passed(self, value: str) -> None:
        """Take ``oov-list = X 1.0 NP 0.2``, or a file with such pairs."""
        path = self._file(value)
        if os.path.isfile(path):
            value = Path(path).read_text(encoding="utf-8", errors="replace")
        words = value.split()
        if len(words) % 2 or not words:
            raise self._error("oov-list has no pairs", "write categories and weights in turn")
        for name, weight in zip(words[::2], words[1::2], strict=True):
            number = self._number(weight, "oov-list")
            if number <= 0.0:
                raise self._error(f"the weight of '{name}' is {weight}", "give one above 0")
            self.passed.append((name.removeprefix("[").removesuffix("]"), math.log(number)))

    def _file(self, path: str) -> str:
        return os.fspath(Path(self.path).parent / path)

    def _whole(self, value: str, name: str, least: int = 0) -> int:
        try:
            number = int(value)
        except ValueError:
            number = least - 1
        if number < least:
            raise self._error(f"{name} is '{value}'", f"give a whole number from {least} on")
        return number

    def _number(self, value: str, name: str) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self._error(f"{name} is '{value}', not a number", "give a number")
        return number

    def _error(self, problem: str, remedy: str) -> FormatError:
        return FormatError(self.path, self.line, problem, remedy)


def _arguments(words: Sequence[str]) -> dict[str, str]:
    """Return ``-key value`` pairs as Joshua finds them: a key has two letters at least."""
    arguments: dict[str, str] = {}
    key = ""
    for word in words:
        if len(word) > 2 and word[0] == "-" and word[1].isascii() and word[1].isalpha():
            key = word[1:]
            arguments[key] = ""
        elif key:
            arguments[key] = word
            key = ""
    return arguments
