"""The sets of generalisation.py: what is tuned on, what is reported, and the start."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import tunesmith as ts
from tunesmith.data.features import Features
from tunesmith.data.merge import merge
from tunesmith.tasks.base import Task

#: Of m30k's test set, development looked at the sentences before this one, and Test begins here.
HALF = 500


@dataclass(frozen=True)
class Sets:
    """What is tuned on, unseen text to report on, and the weights to begin with.

    ``more`` is further unseen text of the same kind.
    """

    tune: Task
    test: Task
    start: ts.Weights | None
    more: tuple[Task, ...] = ()

    @cached_property
    def all_lists(self) -> ts.TuningSet:
        """All sentences as one set, of which random parts are alike."""
        parts = [task.lists.candidates for task in (self.tune, self.test, *self.more)]
        apart = [
            dataclasses.replace(part, ids=tuple(f"{k} {one}" for one in part.ids))
            for k, part in enumerate(parts)
        ]
        return ts.TuningSet(merge(apart), self.tune.metric)


def with_words(candidates: ts.CandidateSet) -> ts.CandidateSet:
    """Add the number of words as a feature."""
    features = candidates.features
    words = np.diff(candidates.texts.start).astype(np.float64)
    dense = np.vstack([features.dense, words])
    names = (*features.dense_names, "words")
    return dataclasses.replace(
        candidates, features=Features(names, dense, features.sparse_names, features.sparse)
    )


def moses(shared: Path) -> Sets:
    """Moses lists of software messages, 14 features."""
    here = shared / "catalogs-nbest"
    tune, dev, test = (
        ts.TuningSet(ts.read(here / f"{n}.nbest.gz", here / f"{n}.ref"))
        for n in ("tune", "dev", "test")
    )
    return Sets(tune, test, ts.read_weights(here / "weights.initial").weights, (dev,))


def neural(shared: Path) -> Sets:
    """Neural lists of the same messages, six scores and the number of words."""
    here = shared / "catalogs-neural"
    tune, dev, test = (
        ts.TuningSet(with_words(ts.read(here / f"{n}.jsonl.gz", here / f"{n}.ref")))
        for n in ("tune", "dev", "test")
    )
    return Sets(tune, test, None, (dev,))


def m30k(shared: Path) -> Sets:
    """Moses lists of picture captions, 14 features; Test is the second half of the test set."""
    here = shared / "m30k-de-en"
    tune = ts.TuningSet(ts.read(here / "run5.nbest.gz", here / "val.ref"))
    whole = ts.TuningSet(ts.read(here / "test.nbest.gz", here / "test.ref"))
    start = ts.read_weights(here / "weights.run1.dense").weights
    test = whole.part(np.arange(HALF, whole.groups))
    return Sets(tune, test, start, (whole.part(np.arange(HALF)),))


def bundled(shared: Path) -> Sets:
    """Read the Moses lists of the package, 200 sentences; the start is Moses' default weights."""
    here = shared / "catalogs-nbest" / "bundle"
    tune, test = (
        ts.TuningSet(ts.read(here / f"{n}.nbest.gz", here / f"{n}.ref")) for n in ("tune", "test")
    )
    return Sets(tune, test, ts.read_weights(here / "weights.initial").weights)


def sparse(shared: Path) -> Sets:
    """Read lists of the same captions by a system with 4,000 sparse features."""
    here, lists = shared / "m30k-de-en", shared / "m30k-de-en-sparse"
    tune = ts.TuningSet(ts.read(lists / "run2.nbest.gz", here / "val.ref"))
    whole = ts.TuningSet(ts.read(lists / "test.nbest.gz", here / "test.ref"))
    start = ts.read_weights(lists / "weights.run2.dense").weights
    test = whole.part(np.arange(HALF, whole.groups))
    return Sets(tune, test, start)


def forests(shared: Path) -> Sets:
    """Search graphs of Moses, 100 sentences, of which the second half is Test."""
    here = shared / "m30k-forests"
    whole = ts.ForestTuning(ts.read_forests(here / "hg", here / "ref"), "bleu")
    start = ts.read_weights(here / "weights.dense").weights
    middle = whole.groups // 2
    return Sets(whole.part(np.arange(middle)), whole.part(np.arange(middle, whole.groups)), start)


SETS: dict[str, Callable[[Path], Sets]] = {
    "catalogs-nbest": moses,
    "catalogs-neural": neural,
    "m30k-de-en": m30k,
    "bundled": bundled,
    "m30k-de-en-sparse": sparse,
    "m30k-forests": forests,
}
