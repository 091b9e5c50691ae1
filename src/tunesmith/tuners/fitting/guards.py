"""Warnings of what makes a score look better than it is.

Sets that overlap, a test set that is looked at again and again, and scores of a model that were
tuned for: none is an error, and all of them make figures that do not hold for other sentences.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunesmith.arrays import Flags, Floats, Ints
from tunesmith.data.candidates import CandidateSet, References, Texts
from tunesmith.inference.lists.axes import MOST_AXES, eigenvectors
from tunesmith.kernels import kernel
from tunesmith.kernels.bits import STEP, spread_bits
from tunesmith.metrics.base import METRICS, Metric
from tunesmith.tasks.base import Task

#: A sentence of so many words is hardly in two sets by chance; shorter ones recur.
LONG = 8
#: If so large a share of a set is in another, and so many sentences, short ones are no chance
#: either.
SHARE, MANY = 0.1, 5
#: Features whose correlation within sentences is this large can stand for each other.
COLLINEAR = 0.99
#: Candidates for each feature that a correlation is believed of.
ENOUGH_CANDIDATES = 50
#: An eigenvalue of their correlations below this is 0: some features are combinations of others.
DEPENDENT = 1e-9
#: A score with so few values is a judgement or a count; models give numbers of all kinds.
FEW_VALUES = 10

#: The sets, as messages call them.
CALLED = {"tune": "tuning set", "dev": "held-out set", "test": "test set"}

_is_on: ContextVar[bool] = ContextVar("guards", default=True)


@contextmanager
def unguarded() -> Iterator[None]:
    """Warn of nothing within the block: whoever asks for it has looked already."""
    token = _is_on.set(False)
    try:
        yield
    finally:
        _is_on.reset(token)


def guard(
    tuning: Task,
    dev: Task | None,
    test: Task | None,
    others: Sequence[Metric | str] = (),
    settings: int = 1,
) -> None:
    """Warn of sets that overlap, of a model's scores, and of a test set that several have.

    Parameters
    ----------
    tuning, dev, test
        The sets.
    others
        Metrics that are also reported.
    settings
        Among how many settings of the tuner the held-out set chooses.
    """
    if not _is_on.get() or (dev is None and test is None):
        return
    every = zip(CALLED.values(), (tuning, dev, test), strict=True)
    sets = [(name, task) for name, task in every if task is not None]
    for k, (name, task) in enumerate(sets):
        for before, other in sets[:k]:
            text = told_overlap(overlap(other, task), name, before)
            if text is not None:
                warnings.warn(text, stacklevel=3)
    candidates = None if tuning.lists is None else tuning.lists.candidates
    guard_scores(tuning.metric, candidates, others, settings, test is not None)


def guard_scores(
    metric: Metric,
    candidates: CandidateSet | None,
    others: Sequence[Metric | str],
    settings: int = 1,
    has_test: bool = False,
) -> None:
    """Warn of a model's scores that are tuned for and reported, and of choices by a test set."""
    bias = None if candidates is None else metric_bias(metric, candidates, others)
    if bias is not None:
        warnings.warn(bias, stacklevel=3)
    if settings > 1 and has_test:
        warnings.warn(
            f"the test set is scored with each of {settings} settings; the held-out set chooses "
            "among them, and if you choose by the test scores they say too much",
            stacklevel=3,
        )


def guard_features(task: Task) -> None:
    """Warn of features that say nothing, or the same as others: their weights mean little."""
    if not _is_on.get() or task.is_live:
        return
    names = task.names[: int(task.dense.sum())]
    if not 0 < len(names) <= MOST_AXES or task.freedom < ENOUGH_CANDIDATES * len(names):
        return
    matrix = task.correlations()
    for text in told_features(matrix, names):
        warnings.warn(text, stacklevel=3)


def told_features(matrix: Floats, names: Sequence[str]) -> Iterator[str]:
    """Yield what there is to say of features, given their correlations within sentences."""
    varies = np.diag(matrix) > 0.0
    constant = [names[int(d)] for d in np.flatnonzero(~varies)]
    if constant:
        yield (
            f"{listed(constant)}: the same for all candidates of every sentence, so that the "
            "weight changes nothing; drop it"
        )
    alone = varies.copy()
    for i, j in zip(*np.nonzero(np.triu(np.abs(matrix) >= COLLINEAR, 1)), strict=True):
        alone[j] = False
        relation = "proportional" if abs(matrix[i, j]) >= 1.0 - DEPENDENT else "nearly collinear"
        yield (
            f"{names[i]} and {names[j]} are {relation} within sentences (correlation "
            f"{matrix[i, j]:.4f}): their weights count together, and either alone means little"
        )
    independent = np.flatnonzero(alone)
    if len(independent) > 2:
        values, vectors = eigenvectors(matrix[np.ix_(independent, independent)])
        if values[-1] < DEPENDENT:
            parts = np.abs(vectors[:, -1])
            together = [
                names[int(independent[k])] for k in np.flatnonzero(parts > 0.01 * parts.max())
            ]
            yield (
                f"{listed(together, 8)}: one is a combination of the others within sentences, so "
                "that their weights alone mean little; drop one"
            )


def listed(names: Sequence[str], most: int = 3) -> str:
    """Name a few, and say how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


@dataclass(frozen=True)
class Overlap:
    """What two sets have in common.

    Attributes
    ----------
    common, of
        How many sentences of the second are in the first, and how many it has.
    is_certain
        Whether that cannot be chance.
    file
        A file that both were read from, where sentences cannot be compared.
    """

    common: int
    of: int
    is_certain: bool
    file: str | None = None


def told_overlap(shared: Overlap, set_name: str, other: str) -> str | None:
    """Say what a set has in common with another; None if that is nothing, or may be chance."""
    remedy = "take them out, or give another set"
    if shared.is_certain and shared.common:
        how_many = f"{shared.common} of {shared.of}"
        if shared.common == shared.of:
            how_many = f"all {shared.of}" if shared.of > 1 else "all"
        so = "its scores say little of other sentences"
        if shared.common < SHARE * shared.of:
            so = "its scores are a little too good"
        return f"{how_many} sentences of the {set_name} are in the {other} too, so {so}; {remedy}"
    if shared.file is not None:
        return f"{shared.file} is in the {other} and in the {set_name}; give another set"
    return None


def overlap(first_task: Task, second_task: Task) -> Overlap:
    """Find out how many sentences of the second set are in the first.

    A sentence is its references together with its source, or with a candidate that both lists
    have. Where there are no references, or all are others, its whole list counts; of forests with
    nothing but references, those that are long, and of forests with nothing at all the files.
    """
    first, second = _held(first_task), _held(second_task)
    if first is None or second is None:
        return Overlap(0, second_task.groups, False)
    if first is second:
        return Overlap(second.groups, second.groups, True)
    have_lists = isinstance(first, CandidateSet) and isinstance(second, CandidateSet)
    if first.references is not None and second.references is not None:
        is_common, is_long = _by_references(first, second)
        if have_lists and not is_common.any():
            # The same lists may have been given with other references, or with changed ones.
            is_common, is_long = _by_lists(first, second)
            is_common &= is_long
    elif have_lists:
        is_common, is_long = _by_lists(first, second)
    else:
        digests = {file.sha256 for file in first_task.files}
        shared = [file.path for file in second_task.files if file.sha256 in digests]
        return Overlap(0, second.groups, False, shared[0] if shared else None)
    return _judged(int(is_common.sum()), second.groups, bool((is_common & is_long).any()))


def overlap_of_texts(
    first: Sequence[tuple[str, tuple[str, ...]]], second: Sequence[tuple[str, tuple[str, ...]]]
) -> Overlap:
    """Find out the same of sources and their references, as texts."""
    known = set(first)
    common = [pair for pair in second if pair in known]
    longest = [
        max(len(text.split()) for text in (source, *references)) for source, references in common
    ]
    is_long = any(length >= LONG for length in longest)
    return _judged(len(common), len(second), is_long)


def _judged(common: int, of: int, has_long: bool) -> Overlap:
    """Tell whether sentences that two sets have in common may be there by chance."""
    are_many = common == of or common >= max(MANY, SHARE * of)
    return Overlap(common, of, common > 0 and (has_long or are_many))


def metric_bias(
    metric: Metric, candidates: CandidateSet, others: Sequence[Metric | str] = ()
) -> str | None:
    """Say that a model's scores are tuned for, and nothing else is reported; None if not so.

    Numbers that take few values, or whole ones, are right and wrong or counts: no model's.
    """
    columns = [name for name in metric.columns if _is_models(candidates.columns.get(name))]
    if not columns:
        return None
    every = [METRICS.create(other) if isinstance(other, str) else other for other in others]
    if any(not set(columns) & set(other.columns) for other in every):
        return None
    return (
        f"'{columns[0]}' looks like a model's scores, which are tuned for and reported too: that "
        "finds what the model likes, also where it is wrong (metric bias); report another metric "
        "beside it, by giving --metric twice"
    )


def _is_models(values: Floats | None) -> bool:
    if values is None or not len(values):
        return False
    return bool((values != np.rint(values)).any()) and len(np.unique(values)) > FEW_VALUES


def _held(tuning: Task) -> Any:
    """Return candidates or forests: both have groups, a vocabulary, references and sources."""
    return tuning.inputs


def _by_references(first: Any, second: Any) -> tuple[Flags, Flags]:
    """Tell which groups of the second set are in the first, and which of its groups are long."""
    marks, lengths = zip(*map(_of_references, (first, second)), strict=True)
    is_long = lengths[1] >= LONG
    known: Flags = np.isin(marks[1], marks[0])
    rows = np.flatnonzero(known)
    if not len(rows):
        return known, is_long
    if first.sources is not None and second.sources is not None:
        pairs = set(zip(marks[0].tolist(), first.sources, strict=True))
        mine = marks[1].tolist()
        known[rows] = [(mine[g], second.sources[g]) in pairs for g in rows]
    elif all(isinstance(side, CandidateSet) and side.has_texts for side in (first, second)):
        like = np.flatnonzero(np.isin(marks[0], marks[1][rows]))
        texts = np.unique(_of_candidates(first, like, marks[0])[0])
        second_texts, group = _of_candidates(second, rows, marks[1])
        known[rows] = np.bincount(group, np.isin(second_texts, texts), len(rows)) > 0
    else:
        known &= is_long
    return known, is_long


def _by_lists(first: CandidateSet, second: CandidateSet) -> tuple[Flags, Flags]:
    """Tell which lists of the second set are in the first, and which have long texts.

    Without texts the values of dense features count as words.
    """
    if len(first.texts.ids) and len(second.texts.ids):
        marks = [
            _folded(_texts_of(side.texts, side.vocabulary).view(np.uint64), side.start)
            for side in (first, second)
        ]
        words = np.add.reduceat(second.texts.lengths, second.start[:-1])
        return np.isin(marks[1], marks[0]), words >= LONG * np.diff(second.start)
    names = second.features.dense_names
    if not names or first.features.dense_names != names:
        return np.zeros(second.groups, bool), np.zeros(second.groups, bool)
    marks = []
    for side in (first, second):
        rows = np.ascontiguousarray(side.features.dense.T + 0.0).view(np.uint64).ravel()
        marks.append(_folded(rows, side.start * len(names)))
    return np.isin(marks[1], marks[0]), np.diff(second.start) * len(names) >= LONG


def _of_references(inputs: Any) -> tuple[Ints, Ints]:
    """Return a number for the references of each group, and the length of the longest."""
    references: References = inputs.references
    every = _texts_of(references.texts, inputs.vocabulary)
    start = references.group_start
    lengths = np.zeros(inputs.groups, np.int64)
    group = np.repeat(np.arange(inputs.groups), references.counts)
    np.maximum.at(lengths, group, references.texts.lengths)
    return _folded(every.view(np.uint64), start), lengths


def _of_candidates(candidates: CandidateSet, groups: Ints, marks: Ints) -> tuple[Ints, Ints]:
    """Return a number for each candidate with its references, and which of the groups has it."""
    sizes = np.diff(candidates.start)[groups]
    group = np.repeat(np.arange(len(groups)), sizes)
    before = np.cumsum(sizes) - sizes
    rows = np.arange(len(group)) + (candidates.start[groups] - before)[group]
    texts = _texts_of(candidates.texts.take(rows), candidates.vocabulary)
    both = np.column_stack([marks[groups][group], texts]).ravel()
    return _folded(both.view(np.uint64), np.arange(0, len(both) + 1, 2)), group


def _texts_of(texts: Texts, vocabulary: Sequence[str]) -> Ints:
    """Return a number for each text, which texts over another vocabulary have too."""
    used = np.flatnonzero(np.bincount(texts.ids, minlength=len(vocabulary)))
    marks = b"".join(
        hashlib.blake2b(vocabulary[k].encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for k in used.tolist()
    )
    words = np.zeros(len(vocabulary), np.uint64)
    words[used] = np.frombuffer(marks, np.uint64)
    return _folded(words[texts.ids], texts.start)


def _folded(words: Any, start: Ints) -> Ints:
    """Return a number for each run of words."""
    out = np.empty(len(start) - 1, np.uint64)
    _fold(np.ascontiguousarray(words), np.ascontiguousarray(start, np.int64), out)
    return out.view(np.int64)


@kernel
def _fold(words: Any, start: Any, out: Any) -> None:
    for row in range(len(out)):
        folded = STEP
        for k in range(start[row], start[row + 1]):
            folded = spread_bits((folded ^ words[k]) + STEP)
        out[row] = folded
