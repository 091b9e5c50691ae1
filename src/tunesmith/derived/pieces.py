"""Pieces of words by a tokenizer of subwords."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunesmith.derived.base import DERIVED, OfWords, WithFile
from tunesmith.errors import MissingExtraError, TunesmithError

#: Begins a file of codes that subword-nmt learns.
VERSION = b"#version:"


@DERIVED.register("pieces")
@dataclass(frozen=True)
class Pieces(WithFile, OfWords):
    """How many pieces a tokenizer cuts the words into, each word by itself.

    The file is a model of SentencePiece, a ``tokenizer.json`` of Hugging Face, or codes of
    subword-nmt.
    """

    argument_is = "FILE"

    def load(self, data: bytes, path: str) -> None:
        """Make the tokenizer."""
        if data.startswith(VERSION):
            vars(self)["_count"] = _Codes(data, path).count
        elif data.lstrip()[:1] == b"{":
            vars(self)["_count"] = _hugging_face(data, path)
        else:
            vars(self)["_count"] = _sentencepiece(data, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Load the file again where it is needed."""
        return type(self), (self.argument, self.folders)

    def of_word(self, word: str) -> int:
        """Count its pieces."""
        count: Callable[[str], int] = vars(self)["_count"]
        return count(word)


def _hugging_face(data: bytes, path: str) -> Callable[[str], int]:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError("tokenizer.json", "tokenizers") from None
    try:
        json.loads(data)
        tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:  # noqa: BLE001  (the library raises Exception itself)
        text = str(error).splitlines()[0]
        raise TunesmithError(f"{path}: this is no tokenizer.json ({text}); correct it") from None
    return lambda word: len(tokenizer.encode(word, add_special_tokens=False).ids)


def _sentencepiece(data: bytes, path: str) -> Callable[[str], int]:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        raise MissingExtraError("a model of SentencePiece", "tokenizers") from None
    try:
        processor = SentencePieceProcessor(model_proto=data)
    except RuntimeError:
        raise TunesmithError(
            f"{path}: this is no model of SentencePiece, no tokenizer.json and no codes of "
            "subword-nmt (which begin with #version); give one of them"
        ) from None
    return lambda word: len(processor.encode(word))


class _Codes:
    """Codes of subword-nmt: pairs of symbols in the order in which they are joined.

    Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units" (ACL
    2016). In version 0.2 the last character of a word has ``</w>`` behind it; in 0.1 that is a
    symbol by itself.
    """

    def __init__(self, data: bytes, path: str) -> None:
        head, *lines = data.decode("utf-8", "replace").splitlines()
        self.is_old = head.split()[-1] == "0.1"
        self.rank: dict[tuple[str, str], int] = {}
        for number, line in enumerate(lines, 2):
            pair = line.strip("\r\n ").split(" ")
            if not line.strip():
                continue
            if len(pair) != 2:
                raise TunesmithError(f"{path}:{number}: '{line}' is no pair; write two symbols")
            self.rank.setdefault((pair[0], pair[1]), number)

    def count(self, word: str) -> int:
        """Return how many pieces a word has."""
        symbols = [*word, "</w>"] if self.is_old else [*word[:-1], word[-1] + "</w>"]
        while len(symbols) > 1:
            pairs = list(itertools.pairwise(symbols))
            first = min(pairs, key=lambda pair: self.rank.get(pair, len(self.rank) + 2))
            if first not in self.rank:
                break
            joined, k = [], 0
            while k < len(symbols):
                if tuple(symbols[k : k + 2]) == first:
                    joined.append(symbols[k] + symbols[k + 1])
                    k += 2
                else:
                    joined.append(symbols[k])
                    k += 1
            symbols = joined
        return len(symbols) - int(symbols[-1] == "</w>")
