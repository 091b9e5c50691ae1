"""Texts that are no words yet: pieces, factors and segmentations, made into words or told of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.io.text.tokens import Interner, tokenize

#: Groups that are looked at, and how many there must be to tell other sentences from bad ones.
LOOKED_AT, ENOUGH = 300, 20
#: Texts have at least so many times as many words of their references as of others, and so large
#: a share of their words more.
OWN, MARGIN = 1.1, 0.02
#: The mark of SentencePiece.
PIECE = "\u2581"

_SEGMENT = re.compile(r"\|\d+(-\d+)?\|")
_FACTORS = re.compile(r"[^|]+(\|[^|]+)+")


def join_bpe(words: Sequence[str]) -> list[str]:
    """Join pieces that end in @@ with what follows."""
    return " ".join(words).replace("@@ ", "").removesuffix("@@").split()


def join_pieces(words: Sequence[str]) -> list[str]:
    """Join pieces of SentencePiece: a word begins with its mark."""
    return "".join(words).replace(PIECE, " ").split()


def without_factors(words: Sequence[str]) -> list[str]:
    """Keep the first factor of each word, and leave out marks of a segmentation."""
    kept = (word for word in words if not _SEGMENT.fullmatch(word))
    return [word.partition("|")[0] if _FACTORS.fullmatch(word) else word for word in kept]


@dataclass(frozen=True)
class _Kind:
    """What texts may be made of beside words, the option that makes words of it, and how often."""

    what: str
    option: str
    is_one: Callable[[str], bool]
    least: float


KINDS = (
    _Kind("pieces that end in @@", "--join-bpe", lambda word: word.endswith("@@"), 0.01),
    _Kind("pieces of SentencePiece (▁)", "--detokenise-pieces", lambda w: w[:1] == PIECE, 0.05),
    _Kind("words with factors", "--drop-factors", lambda w: bool(_FACTORS.fullmatch(w)), 0.5),
    _Kind(
        "marks of a segmentation (|0-1|)",
        "--drop-factors",
        lambda w: bool(_SEGMENT.fullmatch(w)),
        0.02,
    ),
)


def in_words(
    candidates: CandidateSet, ways: Sequence[Callable[[Sequence[str]], list[str]]]
) -> CandidateSet:
    """Return the same candidates with their texts made into words; references stay."""
    words = Interner()
    lines = []
    for row in range(len(candidates)):
        text = candidates.text(row).split(" ")
        for way in ways:
            text = way(text)
        lines.append(" ".join(text))
    texts = tokenize("\n".join([*lines, ""]).encode(), words)
    held = candidates.references
    if held is not None:
        new = tokenize("\n".join([*candidates.vocabulary, ""]).encode(), words).ids
        held = References(held.group_start, Texts(held.texts.start, new[held.texts.ids]))
    return replace(
        candidates,
        texts=texts,
        references=held,
        vocabulary=tuple(words.words()),
        originals=None,
    )


def suspicions(candidates: CandidateSet) -> Iterator[str]:
    """Say what of texts and references does not look as if they belonged together."""
    if candidates.references is None or not candidates.has_texts:
        return
    groups = np.linspace(0, candidates.groups - 1, min(candidates.groups, LOOKED_AT))
    looked_at = np.unique(groups.astype(np.int64)).tolist()
    texts = [candidates.text(int(candidates.start[g])).split() for g in looked_at]
    references = [candidates.reference_texts(g) for g in looked_at]
    first = [of[0].split() if of else [] for of in references]
    found = [*_of_kinds(texts, first), *_of_kinds(first, texts, "references", "texts")]
    yield from found
    if not found and len(looked_at) >= ENOUGH:
        yield from _of_others(texts, first)


def _of_kinds(
    texts: Sequence[Sequence[str]],
    others: Sequence[Sequence[str]],
    called: str = "texts",
    other: str = "references",
) -> Iterator[str]:
    count = sum(map(len, texts)) or 1
    other_count = sum(map(len, others)) or 1
    for kind in KINDS:
        share = sum(kind.is_one(word) for text in texts for word in text) / count
        if share < kind.least:
            continue
        elsewhere = sum(kind.is_one(word) for text in others for word in text) / other_count
        if elsewhere < kind.least / 2:
            remedy = f"give {kind.option}" if called == "texts" else f"make words of the {called}"
            yield f"{called} have {kind.what}, and {other} have none ({share:.0%} of all); {remedy}"


def _of_others(
    texts: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Tell references of other sentences: texts have no more words of theirs than of the next."""
    count = len(texts)

    def shared(shift: int) -> float:
        return float(
            np.mean([_overlap(texts[k], references[(k + shift) % count]) for k in range(count)])
        )

    own = shared(0)
    chance = float(np.mean([shared(shift) for shift in (count // 3, count // 2, 2 * count // 3)]))
    if own >= OWN * chance and own - chance >= MARGIN:
        return
    near = {shift: shared(shift) for shift in (1, -1)}
    best = max(near, key=near.__getitem__)
    lower = [[[w.lower() for w in text] for text in side] for side in (texts, references)]
    lowered = np.mean([_overlap(t, r) for t, r in zip(*lower, strict=True)])
    if near[best] > 2 * max(own, chance, 0.01):
        where = "after" if best > 0 else "before"
        yield (
            f"texts look like those of the reference lines {where} theirs; check that a line is "
            "missing in neither file"
        )
    elif lowered > 2 * max(own, 0.01):
        yield (
            "texts and references have hardly a word in common but for upper and lower case; give "
            "--metric with lowercase=true, or make them alike"
        )
    else:
        yield (
            f"texts have no more words of their references than of others ({own:.0%} and "
            f"{chance:.0%}); check that the references are of these sentences, and cut into "
            "words alike"
        )


def _overlap(text: Sequence[str], reference: Sequence[str]) -> float:
    """Return the share of a text's words that a reference has, clipped."""
    if not text:
        return 0.0
    common = Counter(text) & Counter(reference)
    return sum(common.values()) / len(text)
