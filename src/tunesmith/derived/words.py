"""Features that are sums over words; on forests they belong to hyperedges."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from tunesmith.derived.base import DERIVED, OfWords, WithFile
from tunesmith.errors import TunesmithError

#: What decoders write for a word that they do not know.
UNKNOWN = frozenset({"<unk>", "<UNK>", "[UNK]", "UNK", "⁇", "<unknown>"})


@DERIVED.register("words")
class WordCount(OfWords):
    """How many words a text has."""

    def of_word(self, word: str) -> int:
        """Count the word."""
        return 1


@DERIVED.register("chars")
class Characters(OfWords):
    """How many characters a text has, white space apart."""

    def of_word(self, word: str) -> int:
        """Count its characters."""
        return len(word)


@DERIVED.register("punctuation")
class Punctuation(OfWords):
    """How many characters are punctuation."""

    def of_word(self, word: str) -> int:
        """Count those that Unicode calls so."""
        return sum(unicodedata.category(character)[0] == "P" for character in word)


@DERIVED.register("unknown")
@dataclass(frozen=True)
class Unknown(WithFile, OfWords):
    """How many words are unknown: not in a list with a word a line, or written as <unk>."""

    argument_is = "[FILE]"

    def load(self, data: bytes, path: str) -> None:
        """Read the words."""
        try:
            known = frozenset(data.decode("utf-8-sig").split())
        except UnicodeDecodeError:
            raise TunesmithError(f"{path}: this is not UTF-8; write a word a line") from None
        if not known:
            raise TunesmithError(f"{path}: there is no word in it; write a word a line")
        vars(self)["_known"] = known

    def of_word(self, word: str) -> int:
        """Tell whether it is unknown."""
        known: frozenset[str] | None = vars(self).get("_known")
        return int(word in UNKNOWN if known is None else word not in known)
