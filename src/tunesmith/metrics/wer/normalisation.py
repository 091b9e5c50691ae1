"""What error rates compare: words without case, punctuation, contractions, numerals or fillers."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass, field

from tunesmith.errors import TunesmithError, UsageError
from tunesmith.metrics.wer.numerals import spelled_out
from tunesmith.metrics.wer.transform import Transform

#: English contractions and what they stand for, in the order in which they are expanded. Those
#: of jiwer's ``ExpandCommonEnglishContractions``, of any case.
CONTRACTIONS = (
    ("won't", "will not"),
    ("can't", "can not"),
    ("let's", "let us"),
    ("n't", " not"),
    ("'re", " are"),
    ("'s", " is"),
    ("'d", " would"),
    ("'ll", " will"),
    ("'t", " not"),
    ("'ve", " have"),
    ("'m", " am"),
)
#: Sounds of hesitation in English.
FILLERS = "ah eh er erm hm hmm huh mhm mm mmm uh uhm um umm"


@dataclass(frozen=True)
class TextNormalisation:
    """What is done to texts before words or characters are compared, in this order.

    None of it but a transform looks beyond a word: it does the same to a text as to each of its
    words alone, so that a lattice can be searched for the fewest errors.

    Attributes
    ----------
    transform
        A user's; ``by_word`` says whether it is given texts, or each word by itself.
    lowercase
        Ignore case.
    numbers
        The language in which numerals are read and written out; empty for none.
    contractions
        Expand English contractions.
    no_punct
        Remove what Unicode calls punctuation.
    fillers
        Words that do not count, of any case.
    of_characters
        Whether a list that a transform returns has characters, and not words.
    """

    transform: Transform | None = None
    by_word: bool = False
    lowercase: bool = False
    numbers: str = ""
    contractions: bool = False
    no_punct: bool = False
    fillers: frozenset[str] = field(default=frozenset())
    of_characters: bool = False

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether words are compared as they are."""
        return self == TextNormalisation(of_characters=self.of_characters)

    @property
    def is_word_by_word(self) -> bool:
        """Whether words are changed whatever stands beside them."""
        return self.transform is None or self.by_word

    def words(self, text: str) -> list[str]:
        """Return the words of a text that are compared."""
        if self.transform is None:
            return self._cleaned(text)
        parts = text.split() if self.by_word else [text]
        words: list[str] = []
        for part in parts:
            result = self.transform(part)
            if isinstance(result, list) and self.of_characters:
                result = _text_of(result, self.transform)
            if isinstance(result, str):
                words += self._cleaned(result)
            elif self._is_transform_alone:
                words += result
            else:
                words += [word for unit in result for word in self._cleaned(unit)]
        return words

    @functools.cached_property
    def _is_transform_alone(self) -> bool:
        return self == TextNormalisation(self.transform, self.by_word)

    def _cleaned(self, text: str) -> list[str]:
        if self.lowercase:
            text = text.lower()
        if self.numbers:
            text = spelled_out(text, self.numbers)
        if self.contractions:
            text = _expanded(text)
        if self.no_punct:
            text = _without_punctuation(text)
        words = text.split()
        if not self.fillers:
            return words
        return [word for word in words if word.casefold() not in self._fillers_left]

    @functools.cached_property
    def _fillers_left(self) -> frozenset[str]:
        """The fillers as they are when words are compared with them."""
        if not self.no_punct:
            return self.fillers
        return frozenset(map(_without_punctuation, self.fillers))


def _without_punctuation(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c)[0] != "P")


def fillers_of(text: str) -> frozenset[str]:
    """Return the words of ``english``, or of ``uh+um``."""
    if not text:
        return frozenset()
    words = FILLERS.split() if text == "english" else text.split("+")
    if not all(words) or any(len(word.split()) != 1 for word in words):
        raise UsageError(f"fillers is '{text}'; write english, or words as uh+um")
    return frozenset(word.casefold() for word in words)


def _text_of(characters: list[str], transform: Transform) -> str:
    if any(len(character) != 1 for character in characters):
        raise TunesmithError(
            f"transform {transform} returns words, and cer counts characters; return a text, or "
            "end it with ReduceToListOfListOfChars"
        )
    return "".join(characters)


def _expanded(text: str) -> str:
    text = text.replace("’", "'")
    if "'" not in text:
        return text
    for pattern, replacement in _contractions():
        text = pattern.sub(functools.partial(_cased, replacement), text)
    return text


@functools.cache
def _contractions() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(short, re.I), whole) for short, whole in CONTRACTIONS]


def _cased(replacement: str, match: re.Match[str]) -> str:
    """Return what a contraction stands for, in its case: DO NOT, Will not."""
    short = match[0]
    if short == short.lower():
        return replacement
    if short == short.upper():
        return replacement.upper()
    return replacement[:1].upper() + replacement[1:] if short[0].isupper() else replacement
