"""Texts as a metric sees them: in lower case, in other tokens, in characters.

A vocabulary is far smaller than the texts. What can be done word by word is done once for
each word of it, and a kernel puts the parts of each word in its place.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tunesmith.arrays import Ids, Ints
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.data.rows import offsets
from tunesmith.errors import MissingExtraError, TunesmithError, UnknownNameError
from tunesmith.kernels import kernel
from tunesmith.parallel.local import map_pieces, pieces_of

#: Tokenizers of sacrebleu that do the same to a text and to each of its words alone.
WORD_BY_WORD = frozenset({"none", "13a", "char"})
#: Those that do so but for the ends of a text: in "in 2000." the full stop is not cut off,
#: in "2000. In" it is.
ENDS_DIFFER = frozenset({"intl", "zh"})


@dataclass(frozen=True)
class Preparation:
    """What is done to texts before a metric counts.

    Attributes
    ----------
    tokenize
        One of sacrebleu's tokenizers; ``none`` keeps the tokens as they are.
    lowercase
        Before that.
    """

    tokenize: str = "none"
    lowercase: bool = False

    def words(self, text: str) -> list[str]:
        """Return the tokens of one text."""
        if self.lowercase:
            text = text.lower()
        return str(_tokenizer(self.tokenize)(text.rstrip())).split()

    def numbered(self, hypothesis: str, references: Sequence[str]) -> tuple[Texts, References]:
        """Return one hypothesis and its references as token ids."""
        known: dict[str, int] = {}

        def ids(texts: Sequence[str]) -> Texts:
            return numbered([self.words(text) for text in texts], known)

        reference_ids = References(np.array([0, len(references)]), ids(references))
        return ids([hypothesis]), reference_ids

    def candidates(self, candidates: CandidateSet) -> tuple[Texts, References]:
        """Return all texts, with ids over a vocabulary of their own."""
        references = candidates.references
        assert references is not None
        if self == Preparation():
            return candidates.texts, references
        known: dict[str, int] = {}
        if self.tokenize in WORD_BY_WORD:
            parts = numbered([self.words(word) for word in candidates.vocabulary], known)
            texts, reference_ids = (
                replace_tokens(candidates.texts, parts),
                replace_tokens(references.texts, parts),
            )
        elif self.tokenize in ENDS_DIFFER:
            parts = numbered(self._words_in_places(candidates.vocabulary), known)
            texts = replace_tokens(_with_places(candidates.texts), parts)
            reference_ids = replace_tokens(_with_places(references.texts), parts)
        else:
            texts = text_by_text(candidates, candidates.texts, known, self.words)
            reference_ids = text_by_text(candidates, references.texts, known, self.words)
        return texts, References(references.group_start, reference_ids)

    def _words_in_places(self, vocabulary: Sequence[str]) -> list[list[str]]:
        """Tokenise each word in the middle, as the first, as the last and as the only one."""
        words = []
        for word in vocabulary:
            words.append(self.words(f"a {word} a")[1:-1])
            words.append(self.words(f"{word} a")[:-1])
            words.append(self.words(f"a {word}")[1:])
            words.append(self.words(word))
        return words


def text_by_text(
    candidates: CandidateSet,
    texts: Texts,
    known: dict[str, int],
    units_of: Callable[[str], Sequence[str]],
) -> Texts:
    """Turn each distinct text into units, and these into ids; new units are added to those known.

    Parameters
    ----------
    candidates
        Whose vocabulary the texts are over.
    """
    rows_of_text: dict[bytes, list[int]] = {}
    ids, start = array("i"), array("q", [0])
    for i in range(len(texts)):
        key = texts[i].tobytes()
        if key not in rows_of_text:
            units = units_of(candidates.join(texts[i]))
            rows_of_text[key] = [known.setdefault(unit, len(known)) for unit in units]
        ids.extend(rows_of_text[key])
        start.append(len(ids))
    return Texts(np.array(start, np.int64), np.array(ids, np.int32))


def numbered(texts: Sequence[Sequence[str]], known: dict[str, int]) -> Texts:
    """Turn words into ids; new words are added to those known."""
    ids = [known.setdefault(word, len(known)) for words in texts for word in words]
    start = offsets([len(words) for words in texts])
    return Texts(start.astype(np.int64), np.array(ids, np.int32))


def characters_of(vocabulary: Sequence[str]) -> tuple[Texts, int]:
    """Return the characters of each word as ids, and the id of the space between words."""
    text = "".join(vocabulary)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    distinct, ids = np.unique(points, return_inverse=True)
    start = offsets([len(word) for word in vocabulary])
    return Texts(start.astype(np.int64), ids.astype(np.int32)), len(distinct)


def _with_places(texts: Texts) -> Texts:
    """Say of each token whether it is the first (1) of its text, the last (2), or both (3)."""
    ids = 4 * texts.ids
    filled = texts.lengths > 0
    ids[texts.start[:-1][filled]] += 1
    ids[texts.start[1:][filled] - 1] += 2
    return Texts(texts.start, ids)


def replace_tokens(texts: Texts, parts: Texts, separator: int = -1) -> Texts:
    """Put the parts of each token in its place.

    Parameters
    ----------
    texts
        Token ids.
    parts
        The new ids that stand for each of the old.
    separator
        An id to stand between what were two tokens; none if it is negative.
    """
    start = np.zeros(len(texts) + 1, np.int64)
    _new_starts(texts.start, texts.ids, parts.start, separator, start)
    ids = np.empty(start[-1], np.int32)

    def fill(rows: slice) -> None:
        # A slice of the texts begins where the text before it ends.
        old, new = texts.start[rows.start : rows.stop + 1], start[rows.start : rows.stop + 1]
        _replace(old, texts.ids, parts.start, parts.ids, separator, new, ids)

    map_pieces(fill, pieces_of(len(texts), weights=texts.lengths))
    return Texts(start, ids)


@lru_cache
def _tokenizer(name: str) -> Callable[[str], str]:
    if name == "none":
        return str
    try:
        from sacrebleu.metrics import bleu
    except ImportError:
        raise MissingExtraError(f"tokenize={name}", "tokenizers") from None
    known: list[Any] = list(bleu._TOKENIZERS)
    if name not in known:
        raise UnknownNameError("tokenizer", name, known)
    try:
        tokenizer: Callable[[str], str] = bleu._get_tokenizer(name)()
    except (RuntimeError, ImportError):
        extra = name.partition("-")[0]  # ja-mecab is in sacrebleu[ja]
        raise TunesmithError(
            f"tokenize={name} needs an extra of sacrebleu; pip install 'sacrebleu[{extra}]'"
        ) from None
    return tokenizer


@kernel
def _new_starts(
    text_start: Ints, tokens: Ids, part_start: Ints, separator: int, start: Ints
) -> None:
    at = 0
    for t in range(text_start.shape[0] - 1):
        for i in range(text_start[t], text_start[t + 1]):
            at += part_start[tokens[i] + 1] - part_start[tokens[i]]
        if separator >= 0:
            at += max(text_start[t + 1] - text_start[t] - 1, 0)
        start[t + 1] = at


@kernel
def _replace(
    text_start: Ints,
    tokens: Ids,
    part_start: Ints,
    parts: Ids,
    separator: int,
    start: Ints,
    out: Ids,
) -> None:
    for t in range(text_start.shape[0] - 1):
        at = start[t]
        for i in range(text_start[t], text_start[t + 1]):
            if separator >= 0 and i > text_start[t]:
                out[at] = separator
                at += 1
            for j in range(part_start[tokens[i]], part_start[tokens[i] + 1]):
                out[at] = parts[j]
                at += 1
