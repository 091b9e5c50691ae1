"""What lp_mert.py tunes on: parts of real lists, under sentence BLEU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

import tunesmith as ts
from tunesmith.data.candidates import Texts
from tunesmith.inference.lists.hypotheses import best
from tunesmith.search.exact import certificate, in_plane
from tunesmith.search.exact.problem import NEAR, Problem
from tunesmith.search.plane import search as plane

#: Lists and their references.
FILES = {
    "catalogs": ("catalogs-nbest/tune.nbest.gz", "catalogs-nbest/tune.ref"),
    "m30k": ("m30k-de-en/run5.nbest.gz", "m30k-de-en/val.ref"),
    "m30k-big": ("m30k-de-en/big.nbest.gz", "m30k-de-en/val.ref"),
}
#: Those with which everything but Figure 2 is measured.
USUAL = ("catalogs", "m30k")
METRIC = "sentence-bleu"
#: Features in the order in which they are added: what matters most first.
FEATURES = (
    "LM0",
    "WordPenalty0",
    "TranslationModel0_1",
    "TranslationModel0_3",
    "PhrasePenalty0",
    "Distortion0",
    "TranslationModel0_2",
    "TranslationModel0_4",
    *(f"LexicalReordering0_{k}" for k in range(1, 7)),
)


def with_features(tuning: ts.TuningSet, count: int) -> ts.TuningSet:
    """Return the same candidates with the first few features."""
    candidates = tuning.candidates.with_features(FEATURES[:count])
    return ts.TuningSet(candidates, tuning.metric, tuning.stats)


@contextmanager
def processor_time() -> Iterator[Callable[[], float]]:
    """Have limits count the processor time of one thread, which others do not take; yield it.

    What others do on the machine then hardly matters: 60 seconds of one thread alone.
    """
    modules = certificate, in_plane, plane
    before = [module.working_seconds for module in modules]
    for module in modules:
        module.working_seconds = time.process_time
    try:
        with ts.threads(1):
            yield time.process_time
    finally:
        for module, clock in zip(modules, before, strict=True):
            module.working_seconds = clock


def read(shared: Path, name: str) -> ts.TuningSet:
    """Read lists, with the statistics of sentence BLEU; texts are not needed after that."""
    lists, references = FILES[name]
    candidates = ts.read(shared / lists, references=[shared / references])
    tuning = ts.TuningSet(candidates, METRIC)
    bare = replace(candidates, texts=_no_texts(len(candidates)), references=None)
    return ts.TuningSet(bare, tuning.metric, tuning.stats)


def _no_texts(count: int) -> Texts:
    return Texts(np.zeros(count + 1, np.int64), np.zeros(0, np.int32))


def drawn(tuning: ts.TuningSet, size: int, count: int, seed: int = 1) -> list[ts.TuningSet]:
    """Return random parts of a tuning set; the first ones do not depend on how many there are."""
    rng = np.random.default_rng([seed, size])
    return [
        tuning.part(np.sort(rng.permutation(tuning.candidates.groups)[:size])) for _ in range(count)
    ]


def choice_of(problem: Problem, tuning: ts.TuningSet, weights: ts.Weights) -> np.ndarray:
    """Return the points that weights choose: the winners, or what stands for them."""
    lists = tuning.candidates
    features = lists.features.dense / problem.spread[:, None]
    winners = best(lists, weights.aligned(lists.features.names))[problem.groups]
    chosen = np.empty(problem.size, np.int64)
    for k, winner in enumerate(winners):
        points = np.arange(problem.start[k], problem.start[k + 1])
        away = features[:, problem.candidate[points]] - features[:, [winner]]
        distance = (away**2).sum(axis=0)
        chosen[k] = points[distance.argmin()]
        if distance.min() > NEAR * NEAR:
            raise SystemExit("nothing in the problem stands for a winner")
    return chosen
