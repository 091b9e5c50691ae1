"""What the tokens of a vocabulary are made of: characters, or other words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tunesmith.data.candidates import Texts


def characters(words: Sequence[str]) -> Texts:
    """Return the code points of each word."""
    start = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=start[1:])
    # JSON may hold lone surrogates.
    points = "".join(words).encode("utf-32-le", "surrogatepass")
    return Texts(start, np.frombuffer(points, np.int32))


def split_words(words: Sequence[str], split: Callable[[str], list[str]]) -> tuple[Texts, int]:
    """Replace each word by those that ``split`` makes of it.

    Returns them as ids of a vocabulary of their own, and its size.
    """
    numbers: dict[str, int] = {}
    parts = [[numbers.setdefault(w, len(numbers)) for w in split(word)] for word in words]
    start = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=start[1:])
    return Texts(start, np.array([i for part in parts for i in part], np.int32)), len(numbers)


def substitute(texts: Texts, parts: Texts) -> Texts:
    """Replace each token by its parts."""
    if (parts.lengths == 1).all():
        return Texts(texts.start, parts.ids[texts.ids])
    lengths = parts.lengths[texts.ids]
    end = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(end[-1]) - np.repeat(end[:-1], lengths)
    ids = parts.ids[np.repeat(parts.start[texts.ids], lengths) + within]
    return Texts(end[texts.start], ids)
