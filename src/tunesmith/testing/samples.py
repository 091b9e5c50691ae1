"""Test data for plug-ins: small corpora and sets, the same at every run."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tunesmith.arrays import Ids
from tunesmith.data.candidates import CandidateSet, GroupId
from tunesmith.io.collector import Collector
from tunesmith.io.text.tokens import tokenize
from tunesmith.metrics.column import Column, Cost
from tunesmith.tasks.lists import TuningSet
from tunesmith.testing.checks import demand

WORDS = (
    *("the", "a", "cat", "sat", "on", "mat", ",", ".", "The", "THE", "dog's", "7", "3.5", "don't"),
    *("naïve", "Übung", "猫", "が", "いる", "кот", "🐈", "e\u0301"),
)
#: Words without a character of those above, for texts that match nothing.
GARBAGE = ("ψξ", "δφ", "ωζ", "λλ", "ґ", "ћђ")


@dataclass(frozen=True)
class Candidate:
    """One candidate of a sample."""

    text: str
    features: Mapping[str, float]
    columns: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """One group of a sample."""

    id: GroupId
    candidates: tuple[Candidate, ...]
    references: tuple[str, ...] = ()
    source: str | None = None


def as_set(groups: Sequence[Group]) -> CandidateSet:
    """Make a set of groups."""
    collector = Collector()

    def tokens(text: str) -> Ids:
        return tokenize(f"{text}\n".encode(), collector.vocabulary)[0]

    for group in groups:
        for candidate in group.candidates:
            text, features, columns = candidate.text, candidate.features, candidate.columns
            collector.add(group.id, text, features, columns, ("sample", None))
        if group.references:
            collector.add_references(group.id, [tokens(r) for r in group.references], "sample")
        if group.source is not None:
            collector.add_source(group.id, group.source)
    return collector.finish()


def sentence(rng: np.random.Generator, most: int = 9) -> str:
    """Draw a text of 3 words or more."""
    return " ".join(rng.choice(WORDS, rng.integers(3, most)))


def noisy(text: str, rng: np.random.Generator) -> str:
    """Change a text: words replaced, dropped, doubled and exchanged."""
    words: list[str] = []
    for word in text.split():
        kind = rng.integers(10)
        words += {0: [], 1: [word, word], 2: [str(rng.choice(WORDS))]}.get(int(kind), [word])
    if len(words) > 2 and rng.random() < 0.3:
        at = int(rng.integers(len(words) - 1))
        words[at], words[at + 1] = words[at + 1], words[at]
    return " ".join(words)


def corpus(columns: Sequence[str] = (), seed: int = 0, groups: int = 14) -> list[Group]:
    """Return groups with 1 to 3 references; empty texts, copies and garbage are among them."""
    rng = np.random.default_rng(seed)
    corpus_groups = []
    for g in range(groups):
        references = [sentence(rng) for _ in range(1 + g % 3)]
        texts = [noisy(references[0], rng) for _ in range(3)]
        texts += [references[-1], references[0].lower(), " ".join(rng.choice(GARBAGE, 4))]
        if g % 4 == 1:
            texts.append("")
        if g == groups - 1:
            references, texts[0] = [""], ""
        corpus_groups.append(_group(g, texts[: 4 + g % 4], references, columns, rng))
    return corpus_groups


def small_corpora(columns: Sequence[str], count: int = 40) -> list[list[Group]]:
    """Return corpora of three groups with three candidates: few enough to try all choices."""
    rng = np.random.default_rng(1)
    corpora = []
    for _ in range(count):
        references = [sentence(rng, 7) for _ in range(3)]
        texts = [[noisy(noisy(r, rng), rng) for _ in range(3)] for r in references]
        corpora.append(
            [_group(g, texts[g], [references[g]], columns, rng) for g in range(len(references))]
        )
    return corpora


def _group(
    group: int,
    texts: Sequence[str],
    references: Sequence[str],
    columns: Sequence[str],
    rng: np.random.Generator,
) -> Group:
    # A feature with distinct values keeps candidates from being dropped as duplicates.
    candidates = [
        Candidate(text, {"place": k + 1.0}, {name: float(rng.uniform(0, 1)) for name in columns})
        for k, text in enumerate(texts)
    ]
    return Group(group, tuple(candidates), tuple(references))


def line_problem(
    names: Sequence[str], lower: bool = False, seed: int = 0, groups: int = 24
) -> TuningSet:
    """Return a set on which a single feature makes the best choice everywhere.

    The feature ``good`` is the quality, ``bad`` about the opposite; all others are noise.
    With ``lower`` the metric is a cost.
    """
    rng = np.random.default_rng(seed)
    samples = []
    for g in range(groups):
        candidates = []
        for k in range(5):
            quality = float(rng.uniform(0, 1))
            values = {name: float(rng.normal()) for name in names}
            values["good"] = 3.0 * quality - 1.0
            values["bad"] = -quality + 0.2 * float(rng.normal())
            value = 4.0 * (1.0 - quality) if lower else quality
            features = {name: values[name] for name in names}
            candidates.append(Candidate(f"{g} {k}", features, {"value": value}))
        samples.append(Group(g, tuple(candidates)))
    return TuningSet(as_set(samples), Cost("value") if lower else Column("value"))


def rough_problems() -> list[TuningSet]:
    """Return sets with local optima, for a metric and for a cost."""
    return [rough_problem(seed, lower) for seed in (0, 1) for lower in (False, True)]


def rough_problem(seed: int, lower: bool = False, width: int = 3) -> TuningSet:
    """Return a set whose features say little about the metric: many local optima."""
    rng = np.random.default_rng(seed)
    groups = []
    for g in range(12):
        candidates = tuple(
            Candidate(
                f"{g} {k}",
                {f"f{d}": float(rng.normal()) for d in range(width)},
                {"value": float(rng.integers(0, 10))},
            )
            for k in range(int(rng.integers(1, 7)))
        )
        groups.append(Group(g, candidates))
    return TuningSet(as_set(groups), Cost("value") if lower else Column("value"))


def odd_problems() -> dict[str, TuningSet]:
    """Return valid but unusual sets, by what is unusual about them."""
    rng = np.random.default_rng(5)

    def problem(sizes: Sequence[int], features: Any, values: Any = None) -> TuningSet:
        groups = []
        for g, size in enumerate(sizes):
            candidates = tuple(
                Candidate(
                    f"{g} {k}",
                    features(g, k),
                    {"value": float(rng.uniform(0, 1)) if values is None else values(g, k)},
                )
                for k in range(size)
            )
            groups.append(Group(g, candidates))
        return TuningSet(as_set(groups), Column("value"))

    def draw() -> float:
        return float(rng.normal())

    def rare(g: int, k: int) -> dict[str, float]:
        return {"a": draw()} | ({f"rare{(g + k) % 5}": 1.0} if rng.random() < 0.3 else {})

    return {
        "one candidate in each group": problem([1] * 6, lambda g, k: {"a": draw(), "b": draw()}),
        "one group": problem([6], lambda g, k: {"a": draw(), "b": draw()}),
        "one feature": problem([4] * 8, lambda g, k: {"a": draw()}),
        "equal feature vectors": problem(
            [4] * 8, lambda g, k: {"a": float(k // 2), "b": 1.0 + k // 2}
        ),
        "a constant feature": problem([4] * 8, lambda g, k: {"a": draw(), "constant": 2.5}),
        "sparse features": problem([6] * 8, rare),
        "features of very different size": problem(
            [4] * 8, lambda g, k: {"small": 1e-7 * draw(), "large": 1e7 * draw()}
        ),
        "nothing to gain": problem(
            [4] * 8, lambda g, k: {"a": draw(), "b": draw()}, lambda g, k: 0.5
        ),
    }


def fingerprint(data: CandidateSet | TuningSet) -> dict[str, str]:
    """Return a digest of every array, to detect changes."""
    if not isinstance(data, CandidateSet):
        return {"stats": _digest(data.stats), **fingerprint(data.candidates)}
    features, references = data.features, data.references
    arrays: dict[str, Any] = {
        "start": data.start,
        "dense features": features.dense,
        "sparse features": features.sparse.data,
        "rows of sparse features": features.sparse.indices,
        "columns of sparse features": features.sparse.indptr,
        "offsets of texts": data.texts.start,
        "texts": data.texts.ids,
    }
    if references is not None:
        arrays |= {
            "groups of references": references.group_start,
            "offsets of references": references.texts.start,
            "references": references.texts.ids,
        }
    arrays |= {f"column {name}": column for name, column in data.columns.items()}
    return {name: _digest(array) for name, array in arrays.items()}


def _digest(array: Any) -> str:
    values = np.ascontiguousarray(array)
    return hashlib.sha256(f"{values.dtype}{values.shape}".encode() + values.tobytes()).hexdigest()


def demand_unchanged(
    data: CandidateSet | TuningSet, before: Mapping[str, str], description: str
) -> None:
    """Raise an error if an array has changed since its fingerprint was taken."""
    after = fingerprint(data)
    changed = [name for name in before if before[name] != after[name]]
    demand(not changed, f"it changes the {description}: {', '.join(changed)}", "work on copies")


def all_choices(candidates: CandidateSet) -> list[Any]:
    """Return every choice of one candidate per group."""
    spans = [range(a, b) for a, b in itertools.pairwise(candidates.start.tolist())]
    return [np.array(choice) for choice in itertools.product(*spans)]
