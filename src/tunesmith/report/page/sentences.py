"""Which sentences changed between two weights, with what influence, and why.

Of some sentences candidates are shown too, with what speaks for each and against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tunesmith.arrays import Flags, Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.data.features import Features
from tunesmith.metrics.base import Metric
from tunesmith.metrics.sentence_level import scores_by_sentence, sentence_level
from tunesmith.report.page.differences import differences, truncated
from tunesmith.report.page.run.record import RunRecord, RunSet
from tunesmith.report.page.view import CandidateView, Sentences, SentenceView
from tunesmith.report.page.words import metric_name
from tunesmith.tasks.lists import TuningSet


@dataclass(frozen=True)
class Changes:
    """What became of the output of a set.

    Attributes
    ----------
    before, after : [S, K]
        Statistics of both outputs.
    changed : bool[S]
        Whose text changed, or what it is worth.
    influence : float64[S]
        By how much the metric of the whole set falls if only that sentence goes back to what it
        was, in the metric's unit with the sign that makes more better; 0 where nothing changed.
    """

    before: Stats
    after: Stats
    changed: Flags
    influence: Floats


def sentences_of(record: RunRecord, most: int = 100) -> tuple[Sentences, ...]:
    """Return what changed in each set, with the ``most`` sentences of each that changed most."""
    return tuple(_of_set(record, which, run_set, most) for which, run_set in record.sets.items())


def changes_of(run_set: RunSet, metric: Metric) -> Changes:
    """Compare the outputs of a set."""
    before, after = (TuningSet(output, metric).stats for output in (run_set.before, run_set.after))
    other = ~(before == after).all(axis=1)
    texts = [run_set.before.text(g) != run_set.after.text(g) for g in range(run_set.after.groups)]
    influence = np.zeros(len(after))
    total = after.sum(axis=0)
    # A sum that equal statistics are taken from and added to may differ by rounding.
    gone_back = total - after[other] + before[other]
    sign = 1.0 if metric.higher_is_better else -1.0
    influence[other] = sign * (metric.score(total) - metric.score(gone_back))
    return Changes(before, after, other | np.array(texts, np.bool_), influence)


def most_changed(changes: Changes, most: int) -> Ints:
    """Return the groups with the largest influence, the largest first.

    Half of them were for the better and half for the worse, as far as there are enough:
    otherwise a good run would show none of its mistakes.
    """
    groups = np.flatnonzero(changes.changed)
    influence = changes.influence[groups]
    order = groups[np.argsort(-np.abs(influence), kind="stable")]
    sign = np.sign(changes.influence[order])
    better, worse, same = order[sign > 0], order[sign < 0], order[sign == 0]
    few = min(len(better), len(worse), most // 2)
    rest = most - few
    if len(better) <= len(worse):
        parts = [better[: max(few, most - len(worse))], worse[:rest]]
    else:
        parts = [better[:rest], worse[: max(few, most - len(better))]]
    chosen = np.concatenate(parts)
    chosen = chosen[np.argsort(-np.abs(changes.influence[chosen]), kind="stable")]
    return np.concatenate([chosen, same])[:most]


def _of_set(record: RunRecord, which: str, run_set: RunSet, most: int) -> Sentences:
    metric = record.metric
    changes = changes_of(run_set, metric)
    groups = most_changed(changes, most)
    before, after = (
        finite(scores_by_sentence(metric, stats[groups]))
        for stats in (changes.before, changes.after)
    )
    looked = look_into(record, run_set, groups, changes.after)
    shown = [
        _shown(run_set, int(group), before[k], after[k], float(changes.influence[group]), looked, k)
        for k, group in enumerate(groups)
    ]
    return Sentences(
        which=which,
        sentences=run_set.after.groups,
        changed=int(changes.changed.sum()),
        better=int((changes.influence > 0).sum()),
        worse=int((changes.influence < 0).sum()),
        features=looked.features,
        score_name=metric_name(metric.name)
        if sentence_level(metric) is metric
        else "sentence BLEU+1",
        shown=tuple(shown),
    )


def _shown(
    run_set: RunSet,
    group: int,
    before: float | None,
    after: float | None,
    influence: float,
    looked: Details,
    place: int,
) -> SentenceView:
    lists = run_set.lists.candidates
    old, new = differences(run_set.before.text(group), run_set.after.text(group))
    return SentenceView(
        id=str(lists.ids[group]),
        source=truncated(lists.sources[group]) if lists.sources is not None else "",
        references=tuple(truncated(text) for text in _references(run_set, group)),
        before=old,
        after=new,
        score_before=before,
        score_after=after,
        influence=influence,
        candidates=looked.candidates[place],
        count=int(lists.start[group + 1] - lists.start[group]),
    )


def _references(run_set: RunSet, group: int) -> list[str]:
    sets: tuple[CandidateSet, ...] = (run_set.lists.candidates, run_set.after)
    return next((texts for s in sets if (texts := s.reference_texts(group))), [])


#: Candidates of a sentence, and how many of them are the first under either weights and the
#: best by the metric.
MOST, FIRST, BEST = 8, 3, 2
#: The most features that are listed.
MOST_FEATURES = 20


@dataclass(frozen=True)
class Details:
    """What is shown of some sentences.

    Attributes
    ----------
    features
        Those of contributions; the last may stand for all others.
    candidates
        Of each sentence.
    """

    features: tuple[str, ...]
    candidates: tuple[tuple[CandidateView, ...], ...]


@dataclass(frozen=True)
class _Taken:
    """Candidates of one group that are shown, as they are in the set.

    Attributes
    ----------
    rows, base
        Which, and the one that contributions are relative to.
    ranks_before, ranks_after
        Their places.
    """

    rows: list[int]
    base: int
    ranks_before: list[int]
    ranks_after: list[int]


def look_into(record: RunRecord, run_set: RunSet, groups: Ints, after: Stats) -> Details:
    """Choose candidates of some groups, and say what each feature has to do with it.

    Parameters
    ----------
    after : [S, K]
        Statistics of the output with the tuned weights, of all groups.
    """
    if not len(groups):
        return Details((), ())
    part = run_set.lists.part(groups)
    names = part.names
    tuned = record.weights.aligned(names)
    models = part.candidates.features.dot(np.stack([record.start.aligned(names), tuned]))
    total = after.sum(axis=0)
    parts = [
        _choose_candidates(
            part, k, models, run_set.before.text(g), run_set.after.text(g), total - after[g]
        )
        for k, g in enumerate(groups.tolist())
    ]
    rows = np.array([row for part_rows in parts for row in part_rows.rows], np.int64)
    bases = np.array([part_rows.base for part_rows in parts for _ in part_rows.rows], np.int64)
    features, shares = contributions(part.candidates.features, tuned, rows, bases)
    sentence_scores = finite(scores_by_sentence(record.metric, part.stats[rows]))
    views = iter(
        CandidateView(
            truncated(part.candidates.text(row)),
            rank_before,
            rank_after,
            score,
            float(models[1, row]),
            tuple(share),
        )
        for row, rank_before, rank_after, score, share in zip(
            rows.tolist(),
            _joined(part_rows.ranks_before for part_rows in parts),
            _joined(part_rows.ranks_after for part_rows in parts),
            sentence_scores,
            shares.tolist(),
            strict=True,
        )
    )
    return Details(
        features, tuple(tuple(next(views) for _ in part_rows.rows) for part_rows in parts)
    )


def finite(scores: Floats) -> list[float | None]:
    """Return scores of sentences, with None where there is none."""
    return [float(score) if np.isfinite(score) else None for score in scores]


def contributions(
    features: Features, weights: Floats, rows: Ints, bases: Ints
) -> tuple[tuple[str, ...], Floats]:
    """Return weight times difference to the base of each feature, for some candidates.

    The features with the largest shares come by name; the others are added up in a last column.
    """
    dense = weights[: len(features.dense_names), None] * (
        features.dense[:, rows] - features.dense[:, bases]
    )
    matrix = csr_array(features.sparse)
    sparse = csr_array((matrix[rows] - matrix[bases]).multiply(weights[len(dense) :][None, :]))
    sizes = np.concatenate([np.abs(dense).sum(axis=1), np.ravel(abs(sparse).sum(axis=0))])
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0.0]
    named = np.sort(order[:MOST_FEATURES])
    split = len(dense)
    shares = np.concatenate(
        [dense[named[named < split]].T, sparse[:, named[named >= split] - split].toarray()], axis=1
    )
    names = tuple(features.names[d] for d in named)
    others = len(order) - len(named)
    if others:
        every = dense.sum(axis=0) + np.ravel(sparse.sum(axis=1))
        shares = np.column_stack([shares, every - shares.sum(axis=1)])
        names = (*names, f"{others} other features together")
    return names, rounded(shares)


def rounded(values: Floats) -> Floats:
    """Round to visible digits: more would be most of a page's size."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(values)
    digits = 6 - int(np.ceil(np.log10(largest)))
    return np.round(values, digits) + 0.0 if abs(digits) < 300 else values


def _choose_candidates(
    part: TuningSet, group: int, models: Floats, before: str, after: str, others: Stats
) -> _Taken:
    """Choose candidates of a group: those put out, the first ones, and the best by the metric."""
    candidates = part.candidates
    lo, hi = candidates.start[group : group + 2].tolist()
    orders = [lo + np.argsort(-scores[lo:hi], kind="stable") for scores in models]
    gains = part.metric.gain(others + part.stats[lo:hi])
    best = lo + np.argsort(-gains, kind="stable")
    texts = {row: candidates.text(row) for row in range(lo, hi)}
    put_out = [
        next((row for row in order.tolist() if texts[row] == text), None)
        for order, text in zip(orders, (before, after), strict=True)
    ]
    rows = _distinct(candidates, put_out, orders, best)
    places = [np.empty(hi - lo, np.int64) for _ in orders]
    for place, order in zip(places, orders, strict=True):
        place[order - lo] = np.arange(1, hi - lo + 1)
    rows.sort(key=lambda row: int(places[1][row - lo]))
    base = put_out[1] if put_out[1] is not None else int(orders[1][0])
    ranks = [[int(place[row - lo]) for row in rows] for place in places]
    return _Taken(rows, base, *ranks)


def _distinct(
    candidates: CandidateSet, put_out: list[int | None], orders: list[Ints], best: Ints
) -> list[int]:
    """Return candidates of which no two have the same text, unless there are no texts."""
    rows: dict[str | int, int] = {}

    def add(some: Iterable[int], count: int) -> None:
        for row in some:
            if count == 0 or len(rows) == MOST:
                return
            key = candidates.text(row) if candidates.has_texts else row
            count -= rows.setdefault(key, row) == row

    add((row for row in reversed(put_out) if row is not None), 2)
    add(best[:BEST].tolist(), BEST)
    for order in reversed(orders):
        add(order.tolist(), FIRST)
    return list(rows.values())


def _joined(parts: Iterable[list[int]]) -> list[int]:
    return [item for part in parts for item in part]
