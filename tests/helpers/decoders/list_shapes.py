"""How lists look, whatever they say; and whether two sets are the same to the last bit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tunesmith.data.candidates import CandidateSet
from tunesmith.data.weights import Weights
from tunesmith.decoders.base import Sentence

STANDINS = Path(__file__).parent / "standins"
_NUMBER = re.compile(rb"-?\d+(\.\d+)?(e[+-]\d\d)?(?![^\s|])")


def sentences_of(*texts: str) -> list[Sentence]:
    """Return sentences numbered from 0."""
    return [Sentence(number, text) for number, text in enumerate(texts)]


def shape(line: bytes) -> bytes:
    """Return a line of a list with T for each word and N for each number; all blanks stay."""
    number, text, rest = line.split(b" ||| ", 2)
    rest = re.sub(rb"=-?[\d.]+(e[+-]\d\d)?(?=\s)", b"=N", rest)
    parts = [_NUMBER.sub(b"N", number), re.sub(rb"\S+", b"T", text), _NUMBER.sub(b"N", rest)]
    return b"|||".join(parts)


def without_words(shapes: Iterable[bytes]) -> set[bytes]:
    """Return shapes with one word for several."""
    return {re.sub(rb"T( T)*", b"T", one) for one in shapes}


def bits(decoded: CandidateSet) -> list[object]:
    """Return all that a set holds, to compare."""
    features = decoded.features
    arrays = [decoded.start, decoded.texts.start, decoded.texts.ids, features.dense]
    arrays += [features.sparse.data, features.sparse.indices, features.sparse.indptr]
    names: list[object] = [decoded.ids, decoded.vocabulary, features.names, features.dense_names]
    return [*names, features.gaps, *((a.dtype, a.tobytes()) for a in arrays)]


def falling(decoded: CandidateSet, weights: Weights, digits: int) -> bool:
    """Tell whether each group's scores fall, as far as so many digits of the values tell."""
    features = decoded.features
    scores = weights.aligned(features.dense_names) @ features.dense
    scores = scores + features.sparse @ weights.aligned(features.sparse_names)
    room = 10.0**-digits * (1 + sum(map(abs, weights.values())))
    return all(
        bool(np.all(np.diff(scores[lo:hi]) < room)) for lo, hi in itertools.pairwise(decoded.start)
    )


def outputs(decoded: CandidateSet) -> list[str]:
    """Return the first text of each group."""
    return [
        " ".join(decoded.vocabulary[k] for k in decoded.texts[int(first)])
        for first in decoded.start[:-1]
    ]
