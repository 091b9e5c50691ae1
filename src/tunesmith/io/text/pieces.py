"""Texts that are no words yet: pieces, factors and segmentations, made into words or told of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.io.text.tokens import Interner, tokenize

#: Groups that are looked at, and how many there must be to tell other sentences from bad ones.
LOOKED_AT, ENOUGH = 300, 20
#: Texts have at least so many times as many words of their references as of others, and so large
#: a share of their words more.
OWN, MARGIN = 1.1, 0.02
#: References shorter than texts by this factor are answers.
ANSWERS = 3
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
    plain = (word for word in words if not _SEGMENT.fullmatch(word))
    return [word.partition("|")[0] if _FACTORS.fullmatch(word) else word for word in plain]


#: Makes words of what a text has been split into.
Way = Callable[[Sequence[str]], list[str]]


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


#: Parts of words; factors may be meant.
PIECES = KINDS[:2]
#: What each way makes words of.
OF: dict[Way, tuple[_Kind, ...]] = {
    join_bpe: KINDS[:1],
    join_pieces: KINDS[1:2],
    without_factors: KINDS[2:],
}


def in_words(candidates: CandidateSet, ways: Sequence[Way]) -> CandidateSet:
    """Return the same candidates with their texts made into words.

    References are made into words as well where they are of the same kind, as those that a
    decoder prints itself; others stay.
    """
    words = Interner()
    texts = _in_words((candidates.text(row) for row in range(len(candidates))), ways, words)
    references = candidates.references
    if references is not None:
        every = [t for g in range(candidates.groups) for t in candidates.reference_texts(g)]
        split = [text.split() for text in every]
        same = [way for way in ways if any(_share(kind, split) >= kind.least for kind in OF[way])]
        references = References(references.group_start, _in_words(every, same, words))
    return replace(
        candidates,
        texts=texts,
        references=references,
        vocabulary=tuple(words.words()),
        originals=None,
    )


def _in_words(texts: Iterable[str], ways: Sequence[Way], words: Interner) -> Texts:
    lines = []
    for given in texts:
        text = given.split(" ")
        for way in ways:
            text = way(text)
        lines.append(" ".join(text))
    return tokenize("\n".join([*lines, ""]).encode(), words)


def _share(kind: _Kind, texts: Sequence[Sequence[str]]) -> float:
    """Return the share of words that are of a kind."""
    count = sum(map(len, texts)) or 1
    return sum(kind.is_one(word) for text in texts for word in text) / count


def suspicions(candidates: CandidateSet, ignores_case: bool = False) -> Iterator[str]:
    """Say what of texts and references does not look as if they belonged together."""
    if candidates.references is None or not candidates.has_texts:
        return
    groups = np.linspace(0, candidates.groups - 1, min(candidates.groups, LOOKED_AT))
    looked_at = np.unique(groups.astype(np.int64)).tolist()
    texts = [candidates.text(int(candidates.start[g])).split() for g in looked_at]
    references = [candidates.reference_texts(g) for g in looked_at]
    first = [of[0].split() if of else [] for of in references]
    if _are_numbers(texts) and not _are_numbers(first) and any(first):
        is_kaldi = any(file.format == "kaldi" for file in candidates.files)
        remedy = "name their table: --format kaldi:words=FILE" if is_kaldi else "write words"
        yield f"texts consist of numbers, and references of words; {remedy}"
        return
    problems = [*_of_kinds(texts, first), *_of_kinds(first, texts, "references", "texts")]
    yield from problems
    if not problems and len(looked_at) >= ENOUGH:
        if ignores_case:
            texts, first = ([[w.lower() for w in text] for text in side] for side in (texts, first))
        yield from _of_others(texts, first)


def _are_numbers(texts: Sequence[Sequence[str]]) -> bool:
    """Tell whether all words are whole numbers, and there are some."""
    return any(texts) and all(word.isdigit() for text in texts for word in text)


def _of_kinds(
    texts: Sequence[Sequence[str]],
    others: Sequence[Sequence[str]],
    called: str = "texts",
    other: str = "references",
) -> Iterator[str]:
    for kind in KINDS:
        share = _share(kind, texts)
        if share < kind.least:
            continue
        elsewhere = _share(kind, others)
        if elsewhere >= kind.least and called == "texts" and kind in PIECES:
            yield (
                f"texts and references have {kind.what}, so that pieces are counted, not words; "
                f"give {kind.option} to join them in both"
            )
        if elsewhere < kind.least / 2:
            remedy = f"give {kind.option}" if called == "texts" else f"make words of the {called}"
            yield f"{called} have {kind.what}, and {other} have none ({share:.0%} of all); {remedy}"


def _of_others(
    texts: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Tell references of other sentences: texts have no more words of theirs than of the next."""
    count = len(texts)
    if ANSWERS * sum(map(len, references)) < sum(map(len, texts)):
        return  # answers at the end of long texts, not other words for the same

    def shared(shift: int) -> float:
        return float(
            np.mean([_overlap(texts[k], references[(k + shift) % count]) for k in range(count)])
        )

    overlap = shared(0)
    chance = float(np.mean([shared(shift) for shift in (count // 3, count // 2, 2 * count // 3)]))
    if overlap >= OWN * chance and overlap - chance >= MARGIN:
        return
    near = {shift: shared(shift) for shift in (1, -1)}
    best = max(near, key=near.__getitem__)
    lower = [[[w.lower() for w in text] for text in side] for side in (texts, references)]
    lowered = np.mean([_overlap(t, r) for t, r in zip(*lower, strict=True)])
    if near[best] > 2 * max(overlap, chance, 0.01):
        where = "after" if best > 0 else "before"
        yield (
            f"texts look like those of the reference lines {where} theirs; check that a line is "
            "missing in neither file"
        )
    elif lowered > 2 * max(overlap, 0.01):
        yield (
            "texts and references have hardly a word in common but for upper and lower case; give "
            "--metric with lowercase=true, or make them alike"
        )
    else:
        yield (
            f"texts have no more words of their references than of others ({overlap:.0%} and "
            f"{chance:.0%}); check that the references are of these sentences, and cut into "
            "words alike"
        )


def _overlap(text: Sequence[str], reference: Sequence[str]) -> float:
    """Return the share of a text's words that a reference has, clipped."""
    if not text:
        return 0.0
    common = Counter(text) & Counter(reference)
    return sum(common.values()) / len(text)
