"""Words that were replaced by the field's own do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tunesmith
from tests.helpers.docs.blocks import ROOT as DOCS
from tests.helpers.docs.blocks import pages
from tunesmith.decoders.base import DECODERS
from tunesmith.io.lists.base import FORMATS
from tunesmith.metrics.base import METRICS
from tunesmith.registry import options_of
from tunesmith.tuners.base import TUNERS

ROOT = Path(tunesmith.__file__).parent
#: A word or a phrase that is gone, and what to write instead. Words are found within identifiers
#: too: ``seat`` in ``_seat_of`` and in ``SeatLost``.
RETIRED = {
    "audience": "callbacks",
    "desk": "server",
    "disobedient": "misranked",
    "hear": "callback words: handle, on_...",
    "heard": "callback words: handle, on_...",
    "hearing": "callback words: handle, on_...",
    "hears": "callback words: handle, on_...",
    "kindly": "graceful",
    "eased": "reduced penalty",
    "made apart": "map in workers",
    "mend": "fix",
    "mended": "fixed",
    "our fault": "internal error",
    "a row a candidate": "one row per candidate",
    "a file a forest": "one file per forest",
    "shelf": "cache",
    "seat": "slot",
    "seats": "slots",
    "crew": "workers",
    "pupil": "learner",
    "student": "learner",
    "found program": "find program",
    "kept by thot": "single precision",
    "read about": "read header",
    "write about": "write header",
    "scores alone": "scores by sentence",
    "starred": "mark",
    "shall not": "must not",
    "what it comes to": "the result",
    "a colour a": "one colour per",
}
#: Names of variables and parameters that say nothing; name the thing.
VAGUE = {
    *("about", "asked", "begun", "found", "got", "held", "kept", "made", "meant", "one", "own"),
    *("said", "thing", "told"),
}
#: Rooms and modules without such names: all.
ROOMS = tuple(sorted({path.relative_to(ROOT).parts[0] for path in ROOT.rglob("*.py")}))
#: Rooms without the phrases below.
PLAIN = (
    *("decoders", "hiero", "inference", "loop", "metrics", "parallel", "report", "significance"),
    *("search/line", "search/plane", "search/space", "search/working_set"),
)
#: Parameters of public functions keep their names.
PUBLIC = {
    *("Forests.pieces", "Inputs.from_dict", "Normalisation.from_dict", "Tuner.choose", "write_map"),
}
PHRASES = ("so many", "whoever", "nobody asks", "told otherwise")
#: A page that is made of docstrings.
UNCHECKED = {"docs/map.md"}
#: What pages and help do not say, as regular expressions, and what to write instead.
PROSE = {
    r"shall": "must, should, may",
    r"what (it|they|this) comes? to": "the result",
    r"(?<!fifty )one has to": "you must, or who must",
    r"nobody knows": "it is unknown",
    r"for ever": "forever",
    r"whoever": "anyone who, or name who it is",
    r"as ever": "as before",
    r"in the place of": "in place of, instead of",
    r"does the contrary": "does the opposite",
    r"as good as it can be": "maximise",
    r"could have said": "considered",
    r"does as well": "works too",
    r"scored beside( it)?": "also reported",
    r"reported beside( it)?": "also reported",
    r"how strong (it|they) (is|are) the": "... chooses the strength",
    r"as \w+ (have|has) it\b": "as in ...",
    r"(is|are) told in": "is reported in",
    r"(one|number|text|reference|sentence|forest|lattice|object|row|value) an? "
    r"(line|row|candidate|sentence|file|prompt|forest|utterance)(?=[\s,.;:)|])": "one per line",
    r"\d (ns|µs|ms|s|bytes|words|sentences) an? \w+": "per",
}


def words_of(text: str) -> str:
    """Return a text in lower case, with identifiers split into their words."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.sub(r"[\W_]+", " ", text).lower()


#: The words of each source file.
TEXTS = {
    path: f" {words_of(path.read_text())} "
    for path in sorted(ROOT.rglob("*"))
    if path.suffix in {".py", ".pyi", ".js", ".html", ".css"}
}


def test_identifiers_are_split() -> None:
    assert words_of("self._seat_of(SeatLost, our\n# fault)") == "self seat of seat lost our fault "


@pytest.mark.parametrize("word", RETIRED)
def test_a_retired_word_is_gone(word: str) -> None:
    found = [str(path.relative_to(ROOT)) for path, text in TEXTS.items() if f" {word} " in text]
    assert not found, f"'{word}' is back; write {RETIRED[word]}"


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        methods = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for function in methods:
            if isinstance(function, ast.FunctionDef):
                yield owner + function.name, function


def _names(function: ast.FunctionDef) -> set[str]:
    nodes = list(ast.walk(function))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in nodes if isinstance(n, ast.arg)}


def _modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py")) or [ROOT / room]


@pytest.mark.parametrize("room", ROOMS)
def test_local_names_say_what_a_thing_is(room: str) -> None:
    vague = [
        f"{path.relative_to(ROOT)}: {name}: {word}"
        for path in _modules(room)
        for name, function in _functions(ast.parse(path.read_text()))
        if name not in PUBLIC
        for word in _names(function) & VAGUE
    ]
    assert not vague, f"name the thing: {vague}"


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_gone_from_these_rooms(phrase: str) -> None:
    back = [
        str(path.relative_to(ROOT))
        for path, text in TEXTS.items()
        if f" {phrase} " in text and str(path.relative_to(ROOT)).startswith(PLAIN)
    ]
    assert not back, f"'{phrase}' is back; say which number, or who"


def _prose(text: str) -> str:
    """Return a page without code blocks and code, on one line."""
    plain = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    return " ".join(plain.split())


def _help() -> Iterator[tuple[str, str]]:
    """Yield what commands and options say of themselves."""
    for path in sorted((ROOT / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "help":
                yield path.name, " ".join(ast.unparse(node.value).split())
    for registry in (TUNERS, METRICS, DECODERS, FORMATS):
        for name in registry.names():
            for option in options_of(registry.get(name)):
                yield name, option.help


def test_prose_is_what_readers_see() -> None:
    assert _prose("It `shall`\n```text\nshall\n```\nnot\n") == "It not"


@pytest.mark.parametrize("phrase", PROSE)
def test_pages_and_help_are_in_plain_english(phrase: str) -> None:
    texts = [(str(page), _prose((DOCS / page).read_text())) for page in pages()]
    back = [
        f"{where}: ...{text[max(0, match.start() - 30) : match.end() + 20]}"
        for where, text in [*texts, *_help()]
        if where not in UNCHECKED
        for match in re.finditer(rf"\b(?:{phrase})(?!\w)", text, re.IGNORECASE)
    ]
    assert not back, f"write: {PROSE[phrase]}"
