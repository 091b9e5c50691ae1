"""A small grammar and language models as files, and what they can say, by enumeration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.hiero.arpa_files import Arpa
from tests.helpers.hiero.enumeration import Said, everything
from tunesmith.hiero import HieroDecoder
from tunesmith.hiero.grammar.grammar import Nonterminal, Rule

X = Nonterminal("X")


def _rule(source: str, target: str, p: float, q: float) -> Rule:
    left = tuple(X if word == "[X]" else word for word in source.split())
    right = tuple(int(word[1:-1]) if word[0] == "[" else word for word in target.split())
    return Rule("X", left, right, {"PhraseModel_0": p, "PhraseModel_1": q})


RULES = [
    _rule("das", "the", 0.25, 0.5),
    _rule("das", "that", 1.0, 0.25),
    _rule("haus", "house", 0.5, 0.25),
    _rule("haus", "home", 0.75, 1.0),
    _rule("ist", "is", 0.125, 0.25),
    _rule("ist", "", 2.0, 1.0),
    _rule("klein", "small", 0.5, 0.5),
    _rule("klein", "a little", 1.0, 0.75),
    _rule("[X] ist [X]", "[1] is [2]", 0.25, 0.75),
    _rule("ist [X]", "[1] is", 1.5, 1.0),
    _rule("das haus", "the house", 0.25, 0.25),
]
MODEL = Arpa(
    3,
    {
        ("<unk>",): (-2.0, 0.0),
        ("<s>",): (-12.0, -0.5),
        ("</s>",): (-1.0, 0.0),
        ("the",): (-0.75, -0.25),
        ("house",): (-1.25, -0.5),
        ("home",): (-1.5, -0.125),
        ("is",): (-1.0, -0.25),
        ("small",): (-1.75, -0.5),
        ("a",): (-1.125, 0.0),
        ("<s>", "the"): (-0.5, -0.25),
        ("the", "house"): (-0.5, -0.125),
        ("house", "is"): (-0.375, -0.5),
        ("is", "small"): (-0.625, -0.25),
        ("small", "</s>"): (-0.25, 0.0),
        ("<s>", "the", "house"): (-0.125, 0.0),
        ("the", "house", "is"): (-0.25, 0.0),
    },
)
#: Of single words, others than those of the first model.
OTHER = Arpa(
    1,
    {
        ("<unk>",): (-3.0, 0.0),
        ("<s>",): (-12.0, 0.0),
        ("</s>",): (-0.5, 0.0),
        ("that",): (-0.25, 0.0),
    },
)
WEIGHTS = {
    "LanguageModel": 1.0,
    "LanguageModel_OOV": -0.5,
    "WordPenalty": -0.75,
    "RuleCount": 0.25,
    "PassThrough": -2.0,
    "PhraseModel_0": -0.5,
    "PhraseModel_1": -0.25,
    "Glue": 0.125,
}
SENTENCES = [
    "das haus ist klein",
    "",
    "klein ist das neue haus",
    "haus",
    "ist das klein",
    "das <b> [X] ||| haus",
    "das haus ist klein",
]


def text_of(rules: Iterable[Rule]) -> str:
    """Write rules as cdec does; each word is aligned to the first of the other side."""
    lines = []
    for rule in rules:
        source, slots = [], 0
        for symbol in rule.source:
            slots += isinstance(symbol, Nonterminal)
            source.append(
                f"[{symbol.category},{slots}]" if isinstance(symbol, Nonterminal) else symbol
            )
        target = [f"[{symbol}]" if isinstance(symbol, int) else symbol for symbol in rule.target]
        features = " ".join(f"{name}={value!r}" for name, value in rule.features.items())
        first = next(k for k, symbol in enumerate(rule.source) if isinstance(symbol, str))
        links = [f"{first}-{k}" for k, symbol in enumerate(rule.target) if isinstance(symbol, str)]
        fields = [f"[{rule.head}]", " ".join(source), " ".join(target), features, " ".join(links)]
        lines.append(" ||| ".join(fields) + "\n")
    return "".join(lines)


def written(folder: Path, rules: Sequence[Rule] = tuple(RULES)) -> dict[str, Path]:
    """Write grammar, models and weights, and return where they are."""
    contents = {
        "grammar": text_of(rules),
        "lm": MODEL.text(),
        "other": OTHER.text(),
        "weights": "".join(f"{name} {value}\n" for name, value in WEIGHTS.items()),
        "input": "".join(f"{sentence}\n" for sentence in SENTENCES),
    }
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {name: folder / name for name in contents}


def decoder_of(files: Mapping[str, Path], **options) -> HieroDecoder:
    given = {"grammar": (str(files["grammar"]),), "lm": (str(files["lm"]),), **options}
    return HieroDecoder(**given)


@dataclass(frozen=True)
class Candidate:
    """A derivation: its words, its features, and w·h."""

    text: str
    features: dict[str, float]
    score: float


def candidates(
    sentence: str,
    weights: Mapping[str, float] = WEIGHTS,
    rules: Sequence[Rule] = tuple(RULES),
    limit: int = 15,
    passes: str = "all",
    unknown: str = "copy",
) -> list[Candidate]:
    """Return all derivations of a sentence, the best first."""
    found = []
    words = tuple(sentence.split())
    # A sentence without words becomes one without words.
    every = everything(list(rules), words, limit, passes, unknown) if words else [Said((), ())]
    for one in every:
        features = dict(one.features)
        features["LanguageModel"] = sum(MODEL.sentence([*one.words, "</s>"]))
        features["LanguageModel_OOV"] = float(sum(MODEL.word(w) == "<unk>" for w in one.words))
        score = sum(weights.get(name, 0.0) * value for name, value in features.items())
        found.append(Candidate(" ".join(one.words), features, score))
    return sorted(found, key=lambda c: -c.score)


def best_by_text(found: Iterable[Candidate]) -> dict[str, float]:
    """Return the best score of each text."""
    best: dict[str, float] = {}
    for one in found:
        best[one.text] = max(one.score, best.get(one.text, one.score))
    return best
