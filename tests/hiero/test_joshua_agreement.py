"""What a joshua.config names scores as in Joshua: enumerated here from its definitions.

Apache Joshua 6: unlabelled values of a rule are negated and called by the grammar's owner
(Rule.java, FeatureVector.java); WordPenalty is -log10(e) for each target word of a rule, and the
glue rules' <s> and </s> are words (WordPenalty.java); OOVPenalty is -100 for a word that is passed
through, which every word may be, or what the oov-list says of its category (OOVPenalty.java);
PhrasePenalty is 1 for a rule of its owner; language models are log10.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.hiero.joshua import GLUE
from tests.helpers.hiero.model_files import MODEL
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Sentence
from tunesmith.hiero import HieroDecoder
from tunesmith.inference.forests.lists import kbest_lists

GRAMMAR = """\
[X] ||| das ||| the ||| 0.5 1.25 p=0.75
[X] ||| das ||| that ||| 1.5 0.25
[X] ||| haus ||| house ||| 0.25 0.5
[X] ||| ist ||| is ||| 0 1 q=-0.5
[X] ||| [X,1] ist [X,2] ||| [X,1] is [X,2] ||| 0.125 2
[X] ||| ist [X,1] ||| [X,1] is ||| 2 -1
"""
CONFIG = """\
# As Joshua's own tests have them.
tm = thrax -owner pt -maxspan 3 -path grammar
{glue}
feature-function = LanguageModel -lm_type kenlm -lm_order 3 -lm_file lm
feature-function = WordPenalty
feature-function = OOVPenalty
feature-function = PhrasePenalty -owner pt
mark_oovs = {mark}
default-non-terminal = X
goalSymbol = GOAL
pop-limit = 1000
top-n = 5
{more}

lm_0 1.25
tm_pt_0 -0.5
tm_pt_1 0.25
tm_glue_0 0.75
p 0.5
q -1
WordPenalty -3.5
OOVPenalty 0.125
PhrasePenalty 0.25
"""
WEIGHTS = {
    "lm_0": 1.25,
    "tm_pt_0": -0.5,
    "tm_pt_1": 0.25,
    "tm_glue_0": 0.75,
    "p": 0.5,
    "q": -1.0,
    "WordPenalty": -3.5,
    "OOVPenalty": 0.125,
    "PhrasePenalty": 0.25,
}
OMEGA = -math.log10(math.e)
SENTENCES = ("das haus ist klein", "ist das", "ist", "das ist ist das", "")
Span = tuple[int, int, str]


@dataclass(frozen=True)
class JoshuaRule:
    """A line of a grammar with the features that Joshua gives it."""

    head: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    limit: int
    features: dict[str, float] = field(hash=False)

    @classmethod
    def of(cls, line: str, owner: str, limit: int) -> JoshuaRule:
        head, source, target, values = (part.strip() for part in line.split("|||"))
        features, index = {}, 0
        for value in values.split():
            name, equals, number = value.rpartition("=")
            if equals:
                features[name] = float(number)
            else:
                features[f"tm_{owner}_{index}"] = -float(number)
                index += 1
        words = [part for part in target.split() if not part.startswith("[")]
        features["WordPenalty"] = OMEGA * len(words)
        if owner == "pt":
            features["PhrasePenalty"] = 1.0
        return cls(head[1:-1], tuple(source.split()), tuple(target.split()), limit, features)


Derived = tuple[tuple[str, ...], tuple[tuple[str, float], ...]]


def derived(
    rules: list[JoshuaRule], sentence: str, passed: dict[str, float], suffix: str
) -> list[Derived]:
    """Return the words and the features but for language models of all derivations."""
    words = ("<s>", *sentence.split(), "</s>")

    def of(i: int, j: int, category: str) -> Iterator[Derived]:
        for rule in rules:
            may = i == 0 if rule.limit < 0 else j - i <= rule.limit
            if rule.head == category and may:
                for spans in fillers(rule.source, i, j):
                    for parts in itertools.product(*(list(of(*span)) for span in spans)):
                        yield said(rule, parts)
        if j == i + 1 and category in passed and words[i] not in {"<s>", "</s>"}:
            own = {"OOVPenalty": passed[category], "WordPenalty": OMEGA}
            yield (words[i] + suffix,), tuple(own.items())

    def fillers(source: tuple[str, ...], i: int, j: int) -> Iterator[list[Span]]:
        if not source:
            if i == j:
                yield []
        elif source[0].startswith("["):
            category = source[0][1:-1].partition(",")[0]
            for k in range(i + 1, j + 1):
                if (i, k) != (0, len(words)):  # nothing is made of itself
                    for rest in fillers(source[1:], k, j):
                        yield [(i, k, category), *rest]
        elif i < j and words[i] == source[0]:
            yield from fillers(source[1:], i + 1, j)

    def said(rule: JoshuaRule, parts: tuple[Derived, ...]) -> Derived:
        text: list[str] = []
        for part in rule.target:
            if part.startswith("["):
                text += parts[int(part[1:-1].rpartition(",")[2]) - 1][0]
            else:
                text.append(part)
        total = Counter(rule.features)
        for _, features in parts:
            for name, value in features:
                total[name] += value
        return tuple(text), tuple(total.items())

    return list(of(0, len(words), "GOAL"))


def rules_of() -> list[JoshuaRule]:
    own = [JoshuaRule.of(line, "pt", 3) for line in GRAMMAR.splitlines()]
    return own + [JoshuaRule.of(line, "glue", -1) for line in GLUE.splitlines()]


def made(folder: Path, mark: str = "false", more: str = "", glue: bool = True) -> HieroDecoder:
    (folder / "grammar").write_text(GRAMMAR)
    (folder / "glue").write_text(GLUE)
    (folder / "lm").write_text(MODEL.text())
    line = "tm = thrax -owner glue -maxspan -1 -path glue" if glue else ""
    (folder / "joshua.config").write_text(CONFIG.format(mark=mark, more=more, glue=line))
    return HieroDecoder(joshua=str(folder / "joshua.config"), pop_limit=0)


def check(decoder: HieroDecoder, passed: dict[str, float], suffix: str = "") -> None:
    """Compare all derivations of all sentences, with features and scores."""
    weights = decoder.start()
    assert weights == Weights.from_dict(WEIGHTS)
    asked = [Sentence(k, text) for k, text in enumerate(SENTENCES)]
    forests = decoder.forests(weights, asked)
    found = kbest_lists(forests, weights.aligned(forests.names), 10_000, unique=False)
    scores = found.features.dot(weights.aligned(found.features.names))
    names = found.features.names
    assert set(names) == set(WEIGHTS)
    for g, sentence in enumerate(SENTENCES):
        span = range(int(found.start[g]), int(found.start[g + 1]))
        own = Counter()
        for i in span:
            values = np.round(found.features.dense[:, i], 3) + 0.0
            own[(found.text(i), tuple(values), round(float(scores[i]), 2))] += 1
        wanted = Counter()
        for words, features in derived(rules_of(), sentence, passed, suffix):
            assert (words[0], words[-1]) == ("<s>", "</s>")
            values = dict(features)
            values["lm_0"] = sum(MODEL.sentence(words[1:]))
            row = tuple(round(values.get(name, 0.0), 3) + 0.0 for name in names)
            score = sum(WEIGHTS[name] * values.get(name, 0.0) for name in names)
            wanted[(" ".join(words[1:-1]), row, round(score, 2))] += 1
        assert sum(wanted.values()) == len(span) >= 1
        assert own == wanted
        assert (np.diff(scores[span.start : span.stop]) <= 1e-9).all()


def test_all_derivations(tmp_path: Path) -> None:
    check(made(tmp_path), {"X": -100.0})


def test_words_that_are_marked(tmp_path: Path) -> None:
    check(made(tmp_path, mark="true"), {"X": -100.0}, "_OOV")


def test_a_list_of_categories(tmp_path: Path) -> None:
    # What no rule has is of no use.
    check(made(tmp_path, more="oov-list = X 0.25 NP 0.75"), {"X": math.log(0.25)})


def test_glue_that_joshua_makes(tmp_path: Path) -> None:
    check(made(tmp_path, glue=False), {"X": -100.0})


def test_few_options(tmp_path: Path) -> None:
    """The best rule of each source side by its own score, language model included."""
    decoder = made(tmp_path, more="num-translation-options = 1")
    weights = decoder.start()
    assert weights is not None
    forests = decoder.forests(weights, [Sentence(0, "das")])
    found = kbest_lists(forests, weights.aligned(forests.names), 100, unique=False)
    # the: -0.5 * -0.5 + 0.25 * -1.25 + 0.5 * 0.75 + 1.25 * -0.75 of the language model;
    # that: -0.5 * -1.5 + 0.25 * -0.25 + 1.25 * -2 of it.
    assert 0.25 - 0.3125 + 0.375 - 0.9375 > 0.75 - 0.0625 - 2.5
    assert {found.text(i) for i in range(len(found))} == {"the", "das"}


@pytest.mark.parametrize("text", ["a [b] c|d", "[X,1] ||| ["])
def test_what_means_something_in_a_grammar(tmp_path: Path, text: str) -> None:
    decoder = made(tmp_path)
    weights = decoder.start()
    assert weights is not None
    # Within it stands -lsb- for [ and so on, as in Joshua; what comes out has it again.
    assert decoder.translate(weights, [Sentence(0, text)]) == [text]


def test_long_sentences_are_cut_off(tmp_path: Path) -> None:
    decoder = made(tmp_path, more="max-len = 3\n")
    weights = decoder.start()
    assert weights is not None
    with pytest.warns(UserWarning, match="cut off after 3 words, as the joshua.config says"):
        found = decoder.translate(weights, [Sentence(0, "q r s t u")])
    assert found == ["q r s"]


def test_the_configuration_with_other_weights(tmp_path: Path) -> None:
    decoder = made(tmp_path)
    weights = decoder.start()
    assert weights is not None
    text = decoder.rewritten(weights.updated(Weights.from_dict({"lm_0": 0.625})))
    assert text is not None
    (tmp_path / "joshua.config").write_bytes(text)
    again = HieroDecoder(joshua=str(tmp_path / "joshua.config")).start()
    assert again is not None
    assert dict(again) == {**weights, "lm_0": 0.625}
