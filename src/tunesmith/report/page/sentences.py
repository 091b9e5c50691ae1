"""Which sentences changed between two weights, what that was worth, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunesmith.arrays import Flags, Floats, Ints, Stats
from tunesmith.data.candidates import CandidateSet
from tunesmith.metrics.base import Metric
from tunesmith.metrics.sentence_level import alone, scores_alone
from tunesmith.report.page.differences import differences, truncated
from tunesmith.report.page.looked_into import Details, finite, look_into
from tunesmith.report.page.run.record import RunRecord, RunSet
from tunesmith.report.page.view import Sentences, SentenceView
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
        finite(scores_alone(metric, stats[groups])) for stats in (changes.before, changes.after)
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
        score_name=metric_name(metric.name) if alone(metric) is metric else "sentence BLEU+1",
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
