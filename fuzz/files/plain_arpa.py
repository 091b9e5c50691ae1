"""A slow reader of language models; see ``fuzz.files.plain``."""

from __future__ import annotations

import math
import re
from typing import Any

from fuzz.files.plain_text import Unclear, number

WORDS = ("the", "house", "x")


def ngrams_of(text: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the logarithms of the probability and of the back-off of each n-gram."""
    found: dict[tuple[str, ...], tuple[float, float]] = {}
    size = 0
    for line in text.split("\n"):
        mark = re.fullmatch(r"\\([0-9])-grams:", line.strip())
        if mark:
            size = int(mark[1])
        elif size and line.strip() and not line.startswith("\\"):
            value, *rest = line.split()
            if len(rest) not in (size, size + 1):
                raise Unclear
            words = tuple(rest[:size])
            if words in found:
                raise Unclear
            if "inf" in line.lower():
                raise Unclear
            found[words] = number(value), number(rest[size]) if len(rest) > size else 0.0
    return found


def scores(ngrams: dict[tuple[str, ...], tuple[float, float]], order: int) -> list[float]:
    """Return the logarithm of each word's probability after those before it, by definition."""

    def after(context: tuple[str, ...], word: str) -> float:
        if (*context, word) in ngrams:
            return ngrams[(*context, word)][0]
        if not context:
            raise Unclear  # there is no such word, and none for unknown ones
        return ngrams.get(context, (0.0, 0.0))[1] + after(context[1:], word)

    said = ["<s>"]
    found = []
    for word in (*WORDS, "</s>"):
        known = word if (word,) in ngrams else "<unk>"
        found.append(after(tuple(said[-order + 1 :]) if order > 1 else (), known))
        said.append(known)
    return found


def compare_model(text: str, model: Any) -> str | None:
    """Return what differs between a model and what its file says."""
    if re.search(r"[^\S \t\n]", text) or "<UNK>" in text:
        raise Unclear
    ngrams = ngrams_of(text)
    order = max(map(len, ngrams), default=0)
    if order != model.order:
        raise Unclear
    wanted = scores(ngrams, order)
    read = [one.log10 for one in model.score(list(WORDS))]
    for one, other in zip(wanted, read, strict=True):
        if not math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-5):
            return f"a language model says something else: {read} and {wanted}"
    return None
