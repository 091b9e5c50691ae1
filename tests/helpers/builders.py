"""Small candidate sets for tests, from plain Python values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csc_array

from tunesmith.data.candidates import CandidateSet, References, pack_texts
from tunesmith.data.features import Features
from tunesmith.metrics.base import Metric
from tunesmith.tasks.lists import TuningSet


class Mean(Metric):
    """The mean of one number per candidate; its statistics are (value, 1)."""

    name = "mean"
    is_sum = True
    needs_references = False
    scale = 1.0

    @property
    def stat_names(self):
        return ("value", "count")

    def stats(self, hypothesis, references):
        return np.array([float(hypothesis), 1.0])

    def score(self, stats):
        return stats[..., 0] / stats[..., 1]

    def signature(self):
        return "mean"


class Loss(Mean):
    """The same number, less of it being better."""

    name = "loss"
    higher_is_better = False


def candidate_set(
    groups: Sequence[Sequence[Sequence[float]]],
    sparse_columns: Sequence[int] = (),
    texts: Sequence[str] | None = None,
    references: Sequence[Sequence[str]] | None = None,
) -> CandidateSet:
    """Make a set from feature vectors; some columns are kept sparse."""
    rows = np.array([vector for group in groups for vector in group], float)
    n, width = rows.shape
    dense = [d for d in range(width) if d not in set(sparse_columns)]
    features = Features(
        tuple(f"f{d}" for d in dense),
        np.ascontiguousarray(rows[:, dense].T),
        tuple(f"f{d}" for d in sparse_columns),
        csc_array(rows[:, list(sparse_columns)]),
    )
    words: dict[str, int] = {}

    def ids(text: str):
        return np.array([words.setdefault(w, len(words)) for w in text.split()], np.int32)

    held = [ids(text) for text in (texts if texts is not None else [""] * n)]
    if references is None:
        refs = None
    else:
        counts = np.concatenate([[0], np.cumsum([len(r) for r in references])]).astype(np.int64)
        refs = References(counts, pack_texts([ids(t) for r in references for t in r]))
    start = np.concatenate([[0], np.cumsum([len(g) for g in groups])]).astype(np.int64)
    return CandidateSet(
        tuple(range(len(groups))), start, features, pack_texts(held), tuple(words), refs
    )


def tuning_set(
    groups: Sequence[Sequence[Sequence[float]]],
    values: Sequence[Sequence[float]],
    sparse_columns: Sequence[int] = (),
    metric: Metric | None = None,
) -> TuningSet:
    """Make a set whose metric is the mean of one number per candidate."""
    flat = [value for group in values for value in group]
    stats = np.array([[value, 1] for value in flat])
    return TuningSet(candidate_set(groups, sparse_columns), metric or Mean(), stats)


def best_by_hand(vectors, weights) -> int:
    """Return the winner of one group: the highest score, the first among equals."""
    scores = [sum(w * h for w, h in zip(weights, v, strict=True)) for v in vectors]
    return scores.index(max(scores))


def random_set(
    seed: int,
    references: int = 1,
    ids: str = "numbers",
    sparse: bool = True,
    columns: bool = True,
    sources: bool = True,
) -> CandidateSet:
    """Make a set with everything in it: odd texts and numbers, sparse features, columns."""
    from tunesmith.io.collector import Collector
    from tunesmith.io.text.tokens import tokenize

    rng = np.random.default_rng(seed)
    words = ["a", "b", "don't", '"quoted"', "x,y", "ü", "漢字", "-1.5", "=", "e\u0301"]
    odd = [0.0, -0.1, 1e-300, 1e300, 1 / 3, -123456.789, 2**53 + 2.0, 5e-324, 0.1 + 0.2]
    collector = Collector()

    def text(least: int = 0) -> str:
        return " ".join(rng.choice(words, rng.integers(least, 6)))

    for g in range(int(rng.integers(1, 6))):
        name = g if ids == "numbers" else f"utt {g}"
        for _ in range(int(rng.integers(1, 5))):
            features = {"lm": float(rng.normal()), "id": float(rng.choice(odd))}
            if sparse and rng.random() < 0.2:
                features[f"s{rng.integers(9)}"] = float(rng.choice(odd))
            held = {"comet": float(rng.random()), "bleu.length": 3.0} if columns else {}
            collector.add(name, text(), features, held, ("made", g + 1))
        if references:
            lines = "".join(text(1) + "\n" for _ in range(references)).encode()
            tokens = tokenize(lines, collector.vocabulary)
            collector.add_references(name, [tokens[r] for r in range(references)], "made")
        if sources:
            collector.add_source(name, text(1))
    return collector.finish()


def assert_same_set(found: CandidateSet, expected: CandidateSet) -> None:
    """Compare two sets value for value; features may come in another order."""
    assert found.ids == expected.ids
    assert found.start.tolist() == expected.start.tolist()
    n = len(expected)
    assert [found.text(i) for i in range(n)] == [expected.text(i) for i in range(n)]

    def values(candidates: CandidateSet) -> dict[str, list[float]]:
        features = candidates.features
        block = np.vstack([features.dense, features.sparse.toarray().T])
        return {
            name: row.tolist() for name, row in zip(features.names, block, strict=True) if row.any()
        }

    assert values(found) == values(expected)
    assert {k: v.tolist() for k, v in found.columns.items()} == {
        k: v.tolist() for k, v in expected.columns.items()
    }
    groups = range(expected.groups)
    assert [found.reference_texts(g) for g in groups] == [
        expected.reference_texts(g) for g in groups
    ]
    assert found.sources == expected.sources


def as_records(candidates: CandidateSet) -> dict:
    """Return group -> list of (text, features that are not 0), in order."""
    matrix = candidates.features.sparse.toarray()
    found: dict = {}
    for g, name in enumerate(candidates.ids):
        for i in range(candidates.start[g], candidates.start[g + 1]):
            values = dict(
                zip(candidates.features.dense_names, candidates.features.dense[:, i], strict=True)
            )
            values |= dict(zip(candidates.features.sparse_names, matrix[i], strict=True))
            kept = {k: float(v) for k, v in values.items() if v != 0}
            found.setdefault(name, []).append((candidates.text(i), kept))
    return found
